package io.fovea.tpcc;

import io.fovea.Key;
import io.fovea.Row;
import io.fovea.RowTable;
import io.fovea.Transaction;
import io.fovea.tpcc.Schema.Customer;
import io.fovea.tpcc.Schema.District;
import io.fovea.tpcc.Schema.History;
import io.fovea.tpcc.Schema.Warehouse;
import io.fovea.tpcc.bench.Rng;
import java.nio.ByteBuffer;

/** Payment, clause 2.5. */
final class PaymentTxn extends Txn {
  private static final String BAD_CREDIT = "BC";

  private final RowTable warehouses = session.tables.warehouse();
  private final Key warehouseKey = warehouses.key();
  private final Row warehouse = warehouses.row();
  private final RowTable districts = session.tables.district();
  private final Key districtKey = districts.key();
  private final Row district = districts.row();
  private final RowTable customers = session.tables.customer();
  private final Key customerKey = customers.key();
  private final Row customer = customers.row();
  private final RowTable histories = session.tables.history();
  private final Key historyKey = histories.key();
  private final Row history = histories.row();

  /** The new C_DATA: the new entry, followed by the old text. */
  private final byte[] data = new byte[2 * Schema.CUSTOMER_DATA_MAX];

  // inputs
  private int w;
  private int d;
  private int customerWarehouse;
  private int customerDistrict;
  private int customerId;
  private String customerLast;
  private int amount;
  private long sequence;

  /** The paying customer, given by number or found by name. */
  private int payer;

  PaymentTxn(Session session) {
    super(session, false);
  }

  @Override
  void prepare(int home) {
    Rng rng = session.rng;
    w = home;
    d = session.drawDistrict();
    if (rng.percent(85)) {
      customerWarehouse = w;
      customerDistrict = d;
    } else {
      customerWarehouse = session.drawRemote(w);
      customerDistrict = session.drawDistrict();
    }
    if (rng.percent(60)) {
      customerLast = LastNames.of(session.nuRand.lastName(rng, session.scale));
    } else {
      customerLast = null;
      customerId = session.nuRand.customer(rng, session.scale);
    }
    amount = rng.between(1_00, 5_000_00);
    sequence++;
  }

  @Override
  void body(Transaction tx) {
    boolean found = warehouses.getForUpdate(tx, warehouseKey.set(w), warehouse);
    Session.require(found, "warehouse", w, 0, 0);
    warehouse.setLong(Warehouse.YTD, warehouse.getLong(Warehouse.YTD) + amount);
    warehouses.update(tx, warehouse);
    found = districts.getForUpdate(tx, districtKey.set(w, d), district);
    Session.require(found, "district", w, d, 0);
    district.setLong(District.YTD, district.getLong(District.YTD) + amount);
    districts.update(tx, district);

    int cw = customerWarehouse;
    int cd = customerDistrict;
    int c = customerLast == null ? customerId : session.findByName(tx, cw, cd, customerLast);
    payer = c;
    found = customers.getForUpdate(tx, customerKey.set(cw, cd, c), customer);
    Session.require(found, "customer", cw, cd, c);
    customer.setLong(Customer.BALANCE, customer.getLong(Customer.BALANCE) - amount);
    customer.setLong(Customer.YTD_PAYMENT, customer.getLong(Customer.YTD_PAYMENT) + amount);
    customer.setInt(Customer.PAYMENTS, customer.getInt(Customer.PAYMENTS) + 1);
    if (customer.textEquals(Customer.CREDIT, BAD_CREDIT)) {
      prependToData(c);
    }
    customers.update(tx, customer);

    history.setInt(History.CUSTOMER, c);
    history.setInt(History.CUSTOMER_DISTRICT, cd);
    history.setInt(History.CUSTOMER_WAREHOUSE, cw);
    history.setInt(History.DISTRICT, d);
    history.setInt(History.WAREHOUSE, w);
    history.setLong(History.DATE, System.currentTimeMillis());
    history.setLong(History.AMOUNT, amount);
    // H_DATA is W_NAME, four spaces and D_NAME. A row copies bytes to index 0 of an array only.
    byte[] scratch = session.scratch;
    int length = warehouse.getBytes(Warehouse.NAME, data);
    for (int i = 0; i < 4; i++) {
      data[length++] = ' ';
    }
    int districtName = district.getBytes(District.NAME, scratch);
    System.arraycopy(scratch, 0, data, length, districtName);
    history.setBytes(History.DATA, data, 0, length + districtName);
    historyKey.clear().int32(session.stream).int64(sequence);
    histories.insert(tx, historyKey, history);
  }

  @Override
  void acknowledge(Acknowledged list, ByteBuffer record) {
    list.payment(record, session.stream, sequence, payer, amount);
  }

  /** Clause 2.5.2.2, bad credit: prepends the payment to C_DATA, which is cut at 500 bytes. */
  private void prependToData(int c) {
    int at = Money.putNumber(data, 0, c);
    data[at++] = ' ';
    at = Money.putNumber(data, at, customerDistrict);
    data[at++] = ' ';
    at = Money.putNumber(data, at, customerWarehouse);
    data[at++] = ' ';
    at = Money.putNumber(data, at, d);
    data[at++] = ' ';
    at = Money.putNumber(data, at, w);
    data[at++] = ' ';
    at = Money.putAmount(data, at, amount);
    data[at++] = '|';
    byte[] scratch = session.scratch;
    int old = customer.getBytes(Customer.DATA, scratch);
    System.arraycopy(scratch, 0, data, at, old);
    customer.setBytes(Customer.DATA, data, 0, Math.min(at + old, Schema.CUSTOMER_DATA_MAX));
  }
}
