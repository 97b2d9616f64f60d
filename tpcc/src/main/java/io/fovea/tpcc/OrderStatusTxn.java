package io.fovea.tpcc;

import io.fovea.Key;
import io.fovea.Projection;
import io.fovea.Range;
import io.fovea.Row;
import io.fovea.RowCursor;
import io.fovea.RowTable;
import io.fovea.ScanOrder;
import io.fovea.Transaction;
import io.fovea.tpcc.Schema.Customer;
import io.fovea.tpcc.Schema.Order;
import io.fovea.tpcc.Schema.OrderLine;
import io.fovea.tpcc.bench.Rng;

/** Order-Status, clause 2.6: read only. */
final class OrderStatusTxn extends Txn {
  private static final Projection CUSTOMER_FIELDS =
      Projection.of(
          Customer.SPEC.layout(), Customer.BALANCE, Customer.LAST, Customer.FIRST, Customer.MIDDLE);

  private final RowTable customers = session.tables.customer();
  private final Key customerKey = customers.key();
  private final Row customer = customers.row();
  private final Key ordersKey = session.tables.orderByCustomer().key();
  private final Range ordersOfCustomer = Range.prefix(ordersKey);
  private final RowTable lines = session.tables.orderLine();
  private final Key linesKey = lines.key();
  private final Range linesOfOrder = Range.prefix(linesKey);

  // inputs
  int w;
  int d;
  int customerId;
  String customerLast;

  /** Output: C_BALANCE, the order, its carrier and the sum over its lines. */
  long balance;

  int orderId;
  int carrier;
  long shown;

  OrderStatusTxn(Session session) {
    super(session, true);
  }

  @Override
  void prepare(int home) {
    Rng rng = session.rng;
    w = home;
    d = session.drawDistrict();
    if (rng.percent(60)) {
      customerLast = LastNames.of(session.nuRand.lastName(rng, session.scale));
    } else {
      customerLast = null;
      customerId = session.nuRand.customer(rng, session.scale);
    }
  }

  @Override
  void body(Transaction tx) {
    int c = customerLast == null ? customerId : session.findByName(tx, w, d, customerLast);
    boolean found = customers.get(tx, customerKey.set(w, d, c), customer, CUSTOMER_FIELDS);
    Session.require(found, "customer", w, d, c);
    balance = customer.getLong(Customer.BALANCE);
    ordersKey.set(w, d, c);
    try (RowCursor newest =
        session.tables.orderByCustomer().scan(tx, ordersOfCustomer, ScanOrder.DESCENDING)) {
      Session.require(newest.next(), "orders", w, d, c);
      orderId = newest.key().getInt(2);
      carrier = newest.row().getInt(Order.CARRIER);
    }
    shown = 0;
    linesKey.set(w, d, orderId);
    try (RowCursor cursor = lines.scan(tx, linesOfOrder, ScanOrder.ASCENDING)) {
      while (cursor.next()) {
        Row line = cursor.row();
        shown +=
            line.getInt(OrderLine.ITEM)
                + line.getInt(OrderLine.SUPPLY_WAREHOUSE)
                + line.getInt(OrderLine.QUANTITY)
                + line.getLong(OrderLine.AMOUNT)
                + line.getLong(OrderLine.DELIVERY_DATE);
      }
    }
  }
}
