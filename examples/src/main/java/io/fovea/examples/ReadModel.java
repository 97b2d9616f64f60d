package io.fovea.examples;

import io.fovea.Change;
import io.fovea.ChangeBatch;
import io.fovea.ChangePosition;
import io.fovea.Changes;
import io.fovea.Database;
import io.fovea.ObjectSpec;
import io.fovea.Options;
import io.fovea.Table;
import io.fovea.Transaction;
import io.fovea.error.ChangesLostException;
import io.fovea.schema.Id;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * A read model: another database subscribes to the changes of the orders, and maintains the total
 * of each customer's orders.
 *
 * <p>The position in the changes is stored in the database of the read model, by the transaction
 * that applies a batch. So each batch is applied <i>exactly once</i>, whenever the subscriber ends.
 * It needs no lock on the orders and delays none of their transactions. It lags slightly behind
 * them.
 *
 * <p>When an order is changed or deleted, its old amount must be subtracted. A change has only the
 * new value, so the read model also stores the orders it knows.
 *
 * <p>The log retains a limited number of bytes for subscribers. A subscriber that was down too long
 * gets a {@link ChangesLostException} and starts over with a snapshot, which knows its position.
 *
 * <p>Usage: {@code ReadModel FOLDER}
 */
public final class ReadModel {
  private static final int ORDERS = 300;
  private static final int CUSTOMERS = 7;
  private static final long KEPT = 256 << 10;

  record Order(@Id long id, String customer, long cents, String note) {}

  record Total(@Id String customer, long orders, long cents) {}

  record Place(@Id String of, String position) {}

  private static final ObjectSpec<Long, Order> ORDER_TABLE =
      ObjectSpec.of("orders", Long.class, Order.class);
  private static final ObjectSpec<String, Total> TOTAL_TABLE =
      ObjectSpec.of("totals", String.class, Total.class);
  private static final ObjectSpec<String, Place> PLACE_TABLE =
      ObjectSpec.of("places", String.class, Place.class);

  private final Database db;
  private final Table<Long, Order> orders;

  private final Database model;
  private final Table<Long, Order> known;
  private final Table<String, Total> totals;
  private final Table<String, Place> places;

  private ReadModel(Database db, Database model) {
    this.db = db;
    this.orders = db.table(ORDER_TABLE);
    this.model = model;
    this.known = model.table(ORDER_TABLE);
    this.totals = model.table(TOTAL_TABLE);
    this.places = model.table(PLACE_TABLE);
  }

  public static void main(String[] args) throws Exception {
    Path folder = Path.of(args[0]);
    Options followed =
        Options.defaults()
            .log(
                l ->
                    l.changeRetentionBytes(KEPT)
                        .maxBytes(512 << 10)
                        .segmentBytes(64 << 10)
                        .bufferBytes(64 << 10));
    try (Database db = Database.open(folder.resolve("orders.fovea"), followed);
        Database model = Database.open(folder.resolve("model.fovea"))) {
      ReadModel m = new ReadModel(db, model);
      m.follow(0); // starts with the existing orders
      m.order("");
      int before = m.follow(100); // the subscriber ends in the middle
      int after = m.follow(Integer.MAX_VALUE);
      System.out.println("taken: " + (before + after) + ", right: " + m.isRight());
      m.correct();
      m.follow(Integer.MAX_VALUE);
      System.out.println("corrected: right: " + m.isRight());
      for (int i = 0; i < 5; i++) {
        m.order(("a long note, and no subscriber: " + i).repeat(40));
      }
      db.checkpoint(); // discards changes beyond the retained bytes
      System.out.println("too late: " + (m.follow(Integer.MAX_VALUE) < 0));
      System.out.println("restarted: right: " + m.isRight());
    }
  }

  // ------------------------------------------------------------------------------- the orders

  /** Places all orders, or places them again, from several threads. */
  private void order(String note) {
    try (ExecutorService clients = Executors.newVirtualThreadPerTaskExecutor()) {
      for (long i = 1; i <= ORDERS; i++) {
        Order order = new Order(i, "customer " + i % CUSTOMERS, 100 + i, note);
        clients.submit(() -> db.run(tx -> orders.put(tx, order)));
      }
    }
  }

  /** Deletes some orders and moves others to another customer: one transaction, one batch. */
  private void correct() {
    db.run(
        tx -> {
          for (long i = 1; i <= 20; i++) {
            orders.delete(tx, i);
            orders.put(tx, new Order(i + 20, "customer 0", 5, ""));
          }
        });
  }

  // --------------------------------------------------------------------------- the read model

  /**
   * Applies the available changes. A server does this in a separate thread and lets {@code poll}
   * wait.
   *
   * @param most the maximum number of batches
   * @return the number of batches; -1 if changes were lost and it has started over
   */
  private int follow(int most) {
    Place at = model.read(tx -> places.get(tx, "orders"));
    int taken = 0;
    try (Changes changes =
        db.changes(at == null ? beginAnew() : ChangePosition.parse(at.position()))) {
      while (taken < most) {
        ChangeBatch batch = changes.poll(Duration.ZERO);
        if (batch == null) {
          break;
        }
        take(batch);
        taken++;
      }
      return taken;
    } catch (ChangesLostException e) {
      beginAnew();
      return -1;
    }
  }

  /** Applies a batch and stores its position, in one transaction. */
  private void take(ChangeBatch batch) {
    model.run(
        tx -> {
          for (Change c : batch.changes()) {
            boolean ofRecord = c.kind() == Change.Kind.PUT || c.kind() == Change.Kind.DELETE;
            if (ofRecord && c.table().equals("orders")) {
              long id = c.key(orders);
              count(tx, known.get(tx, id), -1);
              Order now = c.value(orders); // null: deleted
              if (now == null) {
                known.delete(tx, id);
              } else {
                known.put(tx, now);
                count(tx, now, 1);
              }
            }
          }
          places.put(tx, new Place("orders", batch.position().toString()));
        });
  }

  private void count(Transaction tx, Order order, int sign) {
    if (order != null) {
      Total t = totals.get(tx, order.customer());
      Total before = t == null ? new Total(order.customer(), 0, 0) : t;
      totals.put(
          tx,
          new Total(
              order.customer(), before.orders() + sign, before.cents() + sign * order.cents()));
    }
  }

  /** Copies all orders from a snapshot; returns the position of the changes after it. */
  private ChangePosition beginAnew() {
    try (Database then = db.snapshot()) {
      Table<Long, Order> frozen = then.table(ORDER_TABLE);
      ChangePosition at = then.changesPosition();
      model.run(
          tx -> {
            known.deleteRange(tx, null, null);
            totals.deleteRange(tx, null, null);
            then.run(
                read ->
                    frozen.forEach(
                        read,
                        null,
                        null,
                        (id, order) -> {
                          known.put(tx, order);
                          count(tx, order, 1);
                        }));
            places.put(tx, new Place("orders", at.toString()));
          });
      return at;
    }
  }

  /** Returns whether the totals match the current orders. */
  private boolean isRight() {
    long[] sum = new long[2];
    db.run(tx -> orders.forEach(tx, null, null, (id, o) -> add(sum, 1, o.cents())));
    model.run(tx -> totals.forEach(tx, null, null, (c, t) -> add(sum, -t.orders(), -t.cents())));
    return sum[0] == 0 && sum[1] == 0;
  }

  private static void add(long[] sum, long orders, long cents) {
    sum[0] += orders;
    sum[1] += cents;
  }
}
