package io.fovea.tpcc;

import io.fovea.Batch;
import io.fovea.Key;
import io.fovea.Projection;
import io.fovea.Row;
import io.fovea.RowTable;
import io.fovea.Transaction;
import io.fovea.tpcc.Schema.Customer;
import io.fovea.tpcc.Schema.District;
import io.fovea.tpcc.Schema.Item;
import io.fovea.tpcc.Schema.Order;
import io.fovea.tpcc.Schema.OrderLine;
import io.fovea.tpcc.Schema.Stock;
import io.fovea.tpcc.Schema.Warehouse;
import io.fovea.tpcc.bench.Rng;
import java.nio.ByteBuffer;

/** New-Order, clause 2.4. */
final class NewOrderTxn extends Txn {
  private static final int LINES_MAX = 15;
  private static final Projection WAREHOUSE_FIELDS =
      Projection.of(Warehouse.SPEC.layout(), Warehouse.TAX);
  private static final Projection CUSTOMER_FIELDS =
      Projection.of(Customer.SPEC.layout(), Customer.DISCOUNT, Customer.CREDIT, Customer.LAST);
  private static final Projection ITEM_FIELDS =
      Projection.of(Item.SPEC.layout(), Item.PRICE, Item.NAME, Item.DATA);

  private final RowTable warehouses = session.tables.warehouse();
  private final Key warehouseKey = warehouses.key();
  private final Row warehouse = warehouses.row();
  private final RowTable districts = session.tables.district();
  private final Key districtKey = districts.key();
  private final Row district = districts.row();
  private final RowTable customers = session.tables.customer();
  private final Key customerKey = customers.key();
  private final Row customer = customers.row();
  private final RowTable orders = session.tables.order();
  private final Key orderKey = orders.key();
  private final Row order = orders.row();
  private final RowTable newOrders = session.tables.newOrder();
  private final Key newOrderKey = newOrders.key();
  private final Row newOrder = newOrders.row();
  private final RowTable orderLines = session.tables.orderLine();
  private final Key lineKey = orderLines.key();
  private final Row line = orderLines.row();
  private final Batch items = session.tables.item().batch(LINES_MAX);
  private final RowTable stocks = session.tables.stock();
  private final Batch stockBatch = stocks.batch(LINES_MAX);
  private final Key stockKey = stocks.key();
  private final Row stockAgain = stocks.row();

  // inputs
  private int w;
  private int d;
  private int c;
  private int lines;
  private boolean allLocal;
  private boolean lastUnused;
  private final int[] itemIds = new int[LINES_MAX];
  private final int[] supplies = new int[LINES_MAX];
  private final int[] quantities = new int[LINES_MAX];

  /** Output: O_ID. */
  int orderId;

  /** Output: the total, in cents. */
  long total;

  /** Output: "B" (brand) for the lines whose bit is set, "G" for the others. */
  int brands;

  NewOrderTxn(Session session) {
    super(session, false);
  }

  @Override
  void prepare(int home) {
    Rng rng = session.rng;
    w = home;
    d = session.drawDistrict();
    c = session.nuRand.customer(rng, session.scale);
    lines = rng.between(5, LINES_MAX);
    lastUnused = rng.percent(1);
    allLocal = true;
    for (int i = 0; i < lines; i++) {
      itemIds[i] = session.nuRand.item(rng, session.scale);
      supplies[i] = rng.percent(1) ? session.drawRemote(w) : w;
      allLocal &= supplies[i] == w;
      quantities[i] = rng.between(1, 10);
    }
    if (lastUnused) {
      itemIds[lines - 1] = session.scale.items() + 1;
    }
  }

  @Override
  void body(Transaction tx) {
    boolean found = warehouses.get(tx, warehouseKey.set(w), warehouse, WAREHOUSE_FIELDS);
    Session.require(found, "warehouse", w, 0, 0);
    found = districts.getForUpdate(tx, districtKey.set(w, d), district);
    Session.require(found, "district", w, d, 0);
    int o = district.getInt(District.NEXT_ORDER);
    orderId = o;
    district.setInt(District.NEXT_ORDER, o + 1);
    districts.update(tx, district);
    found = customers.get(tx, customerKey.set(w, d, c), customer, CUSTOMER_FIELDS);
    Session.require(found, "customer", w, d, c);
    readItemsAndStock(tx);

    order.setInt(Order.CARRIER, Schema.NONE);
    order.setInt(Order.CUSTOMER, c);
    order.setInt(Order.LINES, lines);
    order.setInt(Order.ALL_LOCAL, allLocal ? 1 : 0);
    long now = System.currentTimeMillis();
    order.setLong(Order.ENTRY_DATE, now);
    orders.insert(tx, orderKey.set(w, d, o), order);
    newOrders.insert(tx, newOrderKey.set(w, d, o), newOrder);

    long sum = 0;
    brands = 0;
    for (int i = 0; i < lines; i++) {
      if (!items.found(i)) {
        // Clause 2.4.2.3: after all other work, roll back.
        rollback(tx);
        return;
      }
      sum += orderLine(tx, o, i);
    }
    total =
        Money.orderTotal(
            sum,
            customer.getInt(Customer.DISCOUNT),
            warehouse.getInt(Warehouse.TAX),
            district.getInt(District.TAX));
  }

  @Override
  void acknowledge(Acknowledged list, ByteBuffer record) {
    list.newOrder(record, w, d, orderId, c, lines);
  }

  private void readItemsAndStock(Transaction tx) {
    items.clear();
    stockBatch.clear();
    for (int i = 0; i < lines; i++) {
      items.add().set(itemIds[i]);
      if (i < lines - 1 || !lastUnused) {
        stockBatch.add().set(supplies[i], itemIds[i]);
      }
    }
    session.tables.item().getAll(tx, items, ITEM_FIELDS);
    stocks.getAll(tx, stockBatch);
  }

  /** Processes one line. Returns OL_AMOUNT, without tax. */
  private long orderLine(Transaction tx, int o, int i) {
    Row item = items.row(i);
    Row stock = stockRow(tx, i);
    int wanted = quantities[i];
    int quantity = stock.getInt(Stock.QUANTITY);
    stock.setInt(
        Stock.QUANTITY, quantity >= wanted + 10 ? quantity - wanted : quantity - wanted + 91);
    stock.setLong(Stock.YTD, stock.getLong(Stock.YTD) + wanted);
    stock.setInt(Stock.ORDERS, stock.getInt(Stock.ORDERS) + 1);
    if (supplies[i] != w) {
      stock.setInt(Stock.REMOTE_ORDERS, stock.getInt(Stock.REMOTE_ORDERS) + 1);
    }
    stocks.update(tx, stock);

    byte[] scratch = session.scratch;
    if (Text.isOriginal(scratch, item.getBytes(Item.DATA, scratch))
        && Text.isOriginal(scratch, stock.getBytes(Stock.DATA, scratch))) {
      brands |= 1 << i;
    }

    long amount = wanted * item.getLong(Item.PRICE);
    line.setLong(OrderLine.DELIVERY_DATE, Schema.NONE);
    line.setLong(OrderLine.AMOUNT, amount);
    line.setInt(OrderLine.ITEM, itemIds[i]);
    line.setInt(OrderLine.SUPPLY_WAREHOUSE, supplies[i]);
    line.setInt(OrderLine.QUANTITY, wanted);
    int length = stock.getBytes(Stock.DISTRICTS[d - 1], scratch);
    line.setBytes(OrderLine.DISTRICT_INFO, scratch, 0, length);
    orderLines.insert(tx, lineKey.set(w, d, o, i + 1), line);
    return amount;
  }

  /** Returns the stock of a line. If an earlier line changed it, the batch's copy is stale. */
  private Row stockRow(Transaction tx, int i) {
    for (int j = 0; j < i; j++) {
      if (itemIds[j] == itemIds[i] && supplies[j] == supplies[i]) {
        boolean found = stocks.get(tx, stockKey.set(supplies[i], itemIds[i]), stockAgain);
        Session.require(found, "stock", supplies[i], 0, itemIds[i]);
        return stockAgain;
      }
    }
    Session.require(stockBatch.found(i), "stock", supplies[i], 0, itemIds[i]);
    return stockBatch.row(i);
  }
}
