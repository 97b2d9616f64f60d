package io.fovea.tpcc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Row;
import io.fovea.tpcc.Schema.Customer;
import io.fovea.tpcc.Schema.District;
import io.fovea.tpcc.Schema.History;
import io.fovea.tpcc.Schema.Item;
import io.fovea.tpcc.Schema.Order;
import io.fovea.tpcc.Schema.OrderLine;
import io.fovea.tpcc.Schema.Stock;
import io.fovea.tpcc.bench.Rng;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Checks the effects of each transaction type on the tables against clause 2. */
class TxnTest {
  private static final Scale SCALE = SmallDatabase.SCALE;

  private SmallDatabase db;
  private Session session;
  private final Tally tally = new Tally();

  private void load(int warehouses) {
    db = new SmallDatabase(warehouses, 3, 1);
    Rng rng = new Rng(4);
    session =
        new Session(
            db.tables,
            SCALE,
            warehouses,
            NuRand.forRun(rng, db.meta.loadCLast()),
            rng,
            Meta.beginRun(db.tables, 1),
            IntStream.rangeClosed(1, warehouses).toArray(),
            0);
  }

  @AfterEach
  void conditionsHold() {
    for (Condition c : db.check()) {
      assertTrue(c.holds(), c.toString());
    }
    db.close();
  }

  private void execute(Txn txn) {
    txn.prepare(session.drawHome());
    txn.execute(tally, 0);
  }

  private int nextOrders() {
    int[] sum = {0};
    db.each(db.tables.district(), (key, row) -> sum[0] += row.getInt(District.NEXT_ORDER));
    return sum[0];
  }

  @Test
  void newOrder() {
    load(2);
    NewOrderTxn txn = new NewOrderTxn(session);
    int nextBefore = nextOrders();
    int commits = 0;
    int rollbacks = 0;
    for (int i = 0; i < 1_500; i++) {
      int before = nextOrders();
      execute(txn);
      if (txn.rolledBack()) {
        rollbacks++;
        assertEquals(before, nextOrders(), "a rollback leaves D_NEXT_O_ID unchanged");
      } else {
        commits++;
        assertTrue(txn.total > 0);
      }
    }
    assertEquals(15, rollbacks, 12, "1 % of 1,500");
    assertEquals(commits, nextOrders() - nextBefore);
    newOrderRows(commits);
  }

  /** Returns the rows of New-Orders, after those of the load. */
  private void newOrderRows(int commits) {
    Map<Integer, Long> prices = new HashMap<>();
    db.each(db.tables.item(), (k, row) -> prices.put(k.getInt(0), row.getLong(Item.PRICE)));
    Map<Long, Boolean> allLocal = new HashMap<>();
    int[] orders = {0};
    db.each(
        db.tables.order(),
        (key, row) -> {
          if (key.getInt(2) > SCALE.customers()) {
            orders[0]++;
            assertEquals(Schema.NONE, row.getInt(Order.CARRIER));
            allLocal.put(order(key), row.getInt(Order.ALL_LOCAL) == 1);
          }
        });
    assertEquals(commits, orders[0]);
    long[] quantity = {0};
    int[] lines = {0};
    int[] remote = {0};
    Set<Long> withRemote = new HashSet<>();
    Map<String, String> info = new HashMap<>();
    db.each(
        db.tables.stock(),
        (key, row) -> {
          for (int d = 1; d <= Scale.DISTRICTS; d++) {
            info.put(
                key.getInt(0) + "/" + key.getInt(1) + "/" + d, row.getText(Stock.DISTRICTS[d - 1]));
          }
        });
    db.each(
        db.tables.orderLine(),
        (key, row) -> {
          if (key.getInt(2) > SCALE.customers()) {
            int item = row.getInt(OrderLine.ITEM);
            int n = row.getInt(OrderLine.QUANTITY);
            int supply = row.getInt(OrderLine.SUPPLY_WAREHOUSE);
            assertTrue(n >= 1 && n <= 10);
            assertEquals(n * prices.get(item), row.getLong(OrderLine.AMOUNT), "excluding tax");
            assertEquals(Schema.NONE, row.getLong(OrderLine.DELIVERY_DATE));
            assertEquals(
                info.get(supply + "/" + item + "/" + key.getInt(1)),
                row.getText(OrderLine.DISTRICT_INFO));
            quantity[0] += n;
            lines[0]++;
            if (supply != key.getInt(0)) {
              remote[0]++;
              withRemote.add(order(key));
            }
          }
        });
    allLocal.forEach((o, local) -> assertEquals(!withRemote.contains(o), local));
    assertEquals(lines[0] / 100.0, remote[0], lines[0] / 100.0, "1 % of the lines");
    assertTrue(remote[0] > 0);
    long[] stock = new long[3];
    db.each(
        db.tables.stock(),
        (key, row) -> {
          int q = row.getInt(Stock.QUANTITY);
          assertTrue(q >= 10 && q <= 100, () -> "S_QUANTITY " + q);
          stock[0] += row.getLong(Stock.YTD);
          stock[1] += row.getInt(Stock.ORDERS);
          stock[2] += row.getInt(Stock.REMOTE_ORDERS);
        });
    assertEquals(quantity[0], stock[0], "sum of S_YTD");
    assertEquals(lines[0], stock[1], "sum of S_ORDER_CNT");
    assertEquals(remote[0], stock[2], "sum of S_REMOTE_CNT");
  }

  private static long order(io.fovea.Key key) {
    return (key.getInt(0) * 100L + key.getInt(1)) * 1_000_000 + key.getInt(2);
  }

  @Test
  void newOrderOfOneWarehouseIsLocal() {
    load(1);
    NewOrderTxn txn = new NewOrderTxn(session);
    for (int i = 0; i < 200; i++) {
      execute(txn);
    }
    db.each(db.tables.order(), (key, row) -> assertEquals(1, row.getInt(Order.ALL_LOCAL)));
    db.each(db.tables.stock(), (key, row) -> assertEquals(0, row.getInt(Stock.REMOTE_ORDERS)));
  }

  @Test
  void payment() {
    load(2);
    PaymentTxn txn = new PaymentTxn(session);
    int n = 1_000;
    for (int i = 0; i < n; i++) {
      execute(txn);
    }
    int[] counts = new int[3];
    int[] sequence = {0};
    db.each(
        db.tables.history(),
        (key, row) -> {
          if (key.getInt(0) == session.stream) {
            assertEquals(++sequence[0], key.getLong(1), "ascending without gaps");
            long amount = row.getLong(History.AMOUNT);
            assertTrue(amount >= 1_00 && amount <= 5_000_00);
            String data = row.getText(History.DATA);
            assertTrue(data.matches("\\w{6,10} {4}\\w{6,10}"), data);
            counts[0]++;
            if (row.getInt(History.WAREHOUSE) != row.getInt(History.CUSTOMER_WAREHOUSE)) {
              counts[1]++;
            } else {
              assertEquals(row.getInt(History.DISTRICT), row.getInt(History.CUSTOMER_DISTRICT));
            }
          }
        });
    assertEquals(n, counts[0]);
    assertEquals(0.15 * n, counts[1], 0.05 * n, "15 % are remote");
    int[] payments = {0};
    int[] longData = {0};
    db.each(
        db.tables.customer(),
        (key, row) -> {
          int more = row.getInt(Customer.PAYMENTS) - 1;
          payments[0] += more;
          String data = row.getText(Customer.DATA);
          assertTrue(data.length() <= 500);
          if (more > 0 && row.getText(Customer.CREDIT).equals("BC")) {
            String who = key.getInt(2) + " " + key.getInt(1) + " " + key.getInt(0);
            assertTrue(data.matches("(?s)" + who + " \\d+ \\d+ \\d+\\.\\d\\d\\|.*"), data);
            longData[0] += data.length() == 500 ? 1 : 0;
          } else {
            assertTrue(data.matches("\\w{300,500}"), data);
          }
        });
    assertEquals(n, payments[0]);
    assertTrue(longData[0] > 0, "C_DATA is truncated at 500");
  }

  @Test
  void paymentByNameSelectsTheMiddleCustomer() {
    load(1);
    for (int namesakes = 1; namesakes <= 6; namesakes++) {
      int n = namesakes;
      Map<String, Integer> byFirst = new java.util.TreeMap<>();
      db.database.run(
          tx -> {
            byFirst.clear();
            for (int c = 1; c <= n; c++) {
              Row row = db.tables.customer().row();
              assertTrue(
                  db.tables.customer().get(tx, db.tables.customer().key().set(1, 4, c), row));
              row.setText(Customer.LAST, "SAMESAMESAME");
              db.tables.customer().update(tx, row);
              byFirst.put(row.getText(Customer.FIRST), c);
            }
          });
      int expected = new ArrayList<>(byFirst.values()).get((n + 1) / 2 - 1);
      int found = db.database.call(tx -> session.findByName(tx, 1, 4, "SAMESAMESAME"));
      assertEquals(expected, found, n + " namesakes");
    }
  }

  @Test
  void orderStatus() {
    load(1);
    NewOrderTxn newOrder = new NewOrderTxn(session);
    for (int i = 0; i < 300; i++) {
      execute(newOrder);
    }
    Map<Integer, Integer> newest = new HashMap<>();
    db.each(
        db.tables.order(),
        (key, row) ->
            newest.put(key.getInt(1) * 1_000 + row.getInt(Order.CUSTOMER), key.getInt(2)));
    OrderStatusTxn txn = new OrderStatusTxn(session);
    for (int i = 0; i < 200; i++) {
      execute(txn);
      int c = txn.customerId;
      if (txn.customerLast != null) {
        String last = txn.customerLast;
        c = db.database.call(tx -> session.findByName(tx, txn.w, txn.d, last));
      }
      assertEquals(newest.get(txn.d * 1_000 + c), txn.orderId);
      assertTrue(txn.shown > 0);
    }
  }

  @Test
  void delivery() {
    load(1);
    DeliveryTxn txn = new DeliveryTxn(session);
    for (int round = 0; round < SCALE.undelivered(); round++) {
      int oldest = SCALE.firstUndelivered() + round;
      execute(txn);
      assertEquals(0, txn.skipped());
      List<Integer> left = new ArrayList<>();
      db.each(db.tables.newOrder(), (key, row) -> left.add(key.getInt(2)));
      assertTrue(left.stream().allMatch(o -> o > oldest), "the oldest was delivered, " + oldest);
      assertEquals((SCALE.undelivered() - round - 1) * Scale.DISTRICTS, left.size());
    }
    int[] deliveries = {0};
    db.each(db.tables.customer(), (key, row) -> deliveries[0] += row.getInt(Customer.DELIVERIES));
    assertEquals(SCALE.undelivered() * Scale.DISTRICTS, deliveries[0]);
    execute(txn);
    assertEquals(Scale.DISTRICTS, txn.skipped(), "no order is left in any district");
  }

  @Test
  void stockLevel() {
    load(2);
    NewOrderTxn newOrder = new NewOrderTxn(session);
    for (int i = 0; i < 300; i++) {
      execute(newOrder);
    }
    StockLevelTxn txn = new StockLevelTxn(session);
    for (int i = 0; i < 100; i++) {
      execute(txn);
      Set<Integer> items = new HashSet<>();
      int[] next = {0};
      db.each(
          db.tables.district(),
          (key, row) -> {
            if (key.getInt(0) == txn.w && key.getInt(1) == txn.d) {
              next[0] = row.getInt(District.NEXT_ORDER);
            }
          });
      db.each(
          db.tables.orderLine(),
          (key, row) -> {
            int o = key.getInt(2);
            if (key.getInt(0) == txn.w && key.getInt(1) == txn.d && o >= next[0] - 20) {
              items.add(row.getInt(OrderLine.ITEM));
            }
          });
      int[] low = {0};
      db.each(
          db.tables.stock(),
          (key, row) -> {
            if (key.getInt(0) == txn.w
                && items.contains(key.getInt(1))
                && row.getInt(Stock.QUANTITY) < txn.threshold) {
              low[0]++;
            }
          });
      assertEquals(low[0], txn.low);
    }
  }

  @Test
  void remoteWarehousesAreAllOthers() {
    load(2);
    for (int i = 0; i < 20; i++) {
      assertEquals(2, session.drawRemote(1));
      assertEquals(1, session.drawRemote(2));
    }
  }
}
