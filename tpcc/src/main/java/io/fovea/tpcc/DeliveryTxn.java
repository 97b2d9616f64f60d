package io.fovea.tpcc;

import io.fovea.Key;
import io.fovea.Range;
import io.fovea.Row;
import io.fovea.RowCursor;
import io.fovea.RowTable;
import io.fovea.ScanOrder;
import io.fovea.Transaction;
import io.fovea.tpcc.Schema.Customer;
import io.fovea.tpcc.Schema.Order;
import io.fovea.tpcc.Schema.OrderLine;

/**
 * Delivery, clause 2.7: delivers the oldest new order of each of the ten districts in one
 * transaction.
 */
final class DeliveryTxn extends Txn {
  private final RowTable newOrders = session.tables.newOrder();
  private final Key newOrderKey = newOrders.key();
  private final Key districtKey = newOrders.key();
  private final Range newOrdersOfDistrict = Range.prefix(districtKey);
  private final RowTable orders = session.tables.order();
  private final Key orderKey = orders.key();
  private final Row order = orders.row();
  private final RowTable lines = session.tables.orderLine();
  private final Key linesKey = lines.key();
  private final Range linesOfOrder = Range.prefix(linesKey);
  private final RowTable customers = session.tables.customer();
  private final Key customerKey = customers.key();
  private final Row customer = customers.row();

  // inputs
  private int w;
  private int carrier;

  private int skipped;

  DeliveryTxn(Session session) {
    super(session, false);
  }

  @Override
  void prepare(int home) {
    w = home;
    carrier = session.rng.between(1, 10);
  }

  @Override
  void body(Transaction tx) {
    skipped = 0;
    long now = System.currentTimeMillis();
    for (int d = 1; d <= Scale.DISTRICTS; d++) {
      int o = oldest(tx, d);
      if (o < 0) {
        skipped++;
      } else {
        deliver(tx, d, o, now);
      }
    }
  }

  /** Returns the smallest NO_O_ID of a district, or -1. */
  private int oldest(Transaction tx, int d) {
    districtKey.set(w, d);
    try (RowCursor cursor = newOrders.scan(tx, newOrdersOfDistrict, ScanOrder.ASCENDING)) {
      return cursor.next() ? cursor.key().getInt(2) : -1;
    }
  }

  private void deliver(Transaction tx, int d, int o, long now) {
    Session.require(newOrders.delete(tx, newOrderKey.set(w, d, o)), "new_order", w, d, o);
    Session.require(orders.getForUpdate(tx, orderKey.set(w, d, o), order), "orders", w, d, o);
    int c = order.getInt(Order.CUSTOMER);
    order.setInt(Order.CARRIER, carrier);
    orders.update(tx, order);
    long sum = 0;
    linesKey.set(w, d, o);
    try (RowCursor cursor = lines.scan(tx, linesOfOrder, ScanOrder.ASCENDING)) {
      while (cursor.next()) {
        Row line = cursor.row();
        sum += line.getLong(OrderLine.AMOUNT);
        line.setLong(OrderLine.DELIVERY_DATE, now);
        lines.update(tx, line);
      }
    }
    boolean found = customers.getForUpdate(tx, customerKey.set(w, d, c), customer);
    Session.require(found, "customer", w, d, c);
    customer.setLong(Customer.BALANCE, customer.getLong(Customer.BALANCE) + sum);
    customer.setInt(Customer.DELIVERIES, customer.getInt(Customer.DELIVERIES) + 1);
    customers.update(tx, customer);
  }

  @Override
  int skipped() {
    return skipped;
  }
}
