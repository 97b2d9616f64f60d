package io.fovea.tpcc;

import io.fovea.Database;
import io.fovea.Key;
import io.fovea.Row;
import io.fovea.Transaction;
import io.fovea.tpcc.Schema.Order;
import io.fovea.tpcc.bench.Crew;
import io.fovea.tpcc.bench.DriverException;
import io.fovea.tpcc.bench.Loaded;
import io.fovea.tpcc.bench.Progress;
import io.fovea.tpcc.bench.Shutdown;
import java.util.BitSet;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;

/**
 * Fills an empty database: ITEM first, then the warehouses, each by one thread, in key order and in
 * transactions of a few hundred rows.
 *
 * <p>The contents depend only on seed and scale, see {@link Population}.
 */
final class Loader {
  private static final long POLL_NANOS = 100_000_000;
  private static final int ROWS_PER_TRANSACTION = 250;

  /** An order is a row of ORDER, several of ORDER-LINE and perhaps one of NEW-ORDER. */
  private static final int ORDERS_PER_TRANSACTION = ROWS_PER_TRANSACTION / 12;

  private final Tables tables;
  private final int warehouses;
  private final Scale scale;
  private final long seed;
  private final int threads;
  private final Progress progress;
  private final Shutdown shutdown;
  private final LongAdder rows = new LongAdder();

  Loader(
      Tables tables,
      int warehouses,
      Scale scale,
      long seed,
      int threads,
      Progress progress,
      Shutdown shutdown) {
    this.tables = tables;
    this.warehouses = warehouses;
    this.scale = scale;
    this.seed = seed;
    this.threads = Math.min(threads, warehouses);
    this.progress = progress;
    this.shutdown = shutdown;
  }

  /**
   * Loads the database. Throws DriverException if a thread failed or a signal arrived; the load is then incomplete.
   */
  Loaded load() {
    long start = System.nanoTime();
    long date = System.currentTimeMillis();
    int loadCLast = new Population(seed, scale, date).nuRand().cLast();
    Meta meta = new Meta(false, warehouses, scale, loadCLast, 0);
    meta.write(tables);

    // The first thread loads ITEM; the others begin with warehouses.
    AtomicInteger next = new AtomicInteger();
    Crew crew = new Crew("load", threads, false, shutdown);
    crew.start(
        thread -> {
          Part part = new Part(crew, new Population(seed, scale, date));
          for (int w = next.getAndIncrement(); w <= warehouses; w = next.getAndIncrement()) {
            if (w == 0) {
              part.items();
            } else {
              part.warehouse(w);
            }
          }
        });
    long expected = scale.rows(warehouses);
    long lastNanos = start;
    while (!crew.await(POLL_NANOS)) {
      long now = System.nanoTime();
      if (now - lastNanos >= Progress.INTERVAL_NANOS) {
        lastNanos = now;
        progress.loading(rows.sum(), expected, (now - start) / 1e9);
      }
    }
    crew.check(progress, Loaded.INCOMPLETE);
    new Meta(true, warehouses, scale, loadCLast, 0).write(tables);
    return new Loaded(rows.sum(), (System.nanoTime() - start) / 1e9);
  }

  /** The work of one thread. */
  private final class Part {
    private final Crew crew;
    private final Population population;
    private final Database db = tables.database();
    private final Row item = tables.item().row();
    private final Key itemKey = tables.item().key();
    private final Row warehouse = tables.warehouse().row();
    private final Key warehouseKey = tables.warehouse().key();
    private final Row district = tables.district().row();
    private final Key districtKey = tables.district().key();
    private final Row stock = tables.stock().row();
    private final Key stockKey = tables.stock().key();
    private final Row customer = tables.customer().row();
    private final Key customerKey = tables.customer().key();
    private final Row history = tables.history().row();
    private final Key historyKey = tables.history().key();
    private final Row order = tables.order().row();
    private final Key orderKey = tables.order().key();
    private final Row newOrder = tables.newOrder().row();
    private final Key newOrderKey = tables.newOrder().key();
    private final Row orderLine = tables.orderLine().row();
    private final Key orderLineKey = tables.orderLine().key();
    private int lines;

    Part(Crew crew, Population population) {
      this.crew = crew;
      this.population = population;
    }

    /** Loads items 1 to n in transactions of {@code step} items. */
    private void each(int n, int step, int rowsOfEach, Numbers body) {
      for (int from = 1; from <= n && !crew.stopping(); from += step) {
        int first = from;
        int last = Math.min(from + step - 1, n);
        lines = 0;
        db.run(
            tx -> {
              lines = 0;
              for (int i = first; i <= last; i++) {
                body.insert(tx, i);
              }
            });
        rows.add((long) rowsOfEach * (last - first + 1) + lines);
      }
    }

    void items() {
      BitSet original = population.originalItems();
      each(
          scale.items(),
          ROWS_PER_TRANSACTION,
          1,
          (tx, i) -> {
            population.item(i, original.get(i), item);
            tables.item().insert(tx, itemKey.set(i), item);
          });
    }

    void warehouse(int w) {
      db.run(
          tx -> {
            population.warehouse(w, warehouse);
            tables.warehouse().insert(tx, warehouseKey.set(w), warehouse);
            for (int d = 1; d <= Scale.DISTRICTS; d++) {
              population.district(w, d, district);
              tables.district().insert(tx, districtKey.set(w, d), district);
            }
          });
      rows.add(1 + Scale.DISTRICTS);
      BitSet original = population.originalStock(w);
      each(
          scale.items(),
          ROWS_PER_TRANSACTION,
          1,
          (tx, i) -> {
            population.stock(w, i, original.get(i), stock);
            tables.stock().insert(tx, stockKey.set(w, i), stock);
          });
      for (int d = 1; d <= Scale.DISTRICTS; d++) {
        customers(w, d);
        orders(w, d);
      }
    }

    private void customers(int w, int d) {
      BitSet badCredit = population.badCredit(w, d);
      each(
          scale.customers(),
          ROWS_PER_TRANSACTION / 2,
          2,
          (tx, c) -> {
            population.customer(w, d, c, badCredit.get(c), customer);
            tables.customer().insert(tx, customerKey.set(w, d, c), customer);
            population.history(w, d, c, history);
            long sequence = (long) (d - 1) * scale.customers() + c;
            historyKey.clear().int32(w).int64(sequence);
            tables.history().insert(tx, historyKey, history);
          });
    }

    private void orders(int w, int d) {
      int[] customers = population.orderCustomers(w, d);
      each(
          scale.customers(),
          ORDERS_PER_TRANSACTION,
          1,
          (tx, o) -> {
            population.order(w, d, o, customers[o - 1], order);
            tables.order().insert(tx, orderKey.set(w, d, o), order);
            int n = order.getInt(Order.LINES);
            population.beginOrderLines(w, d, o);
            for (int line = 1; line <= n; line++) {
              population.orderLine(w, o, orderLine);
              orderLineKey.clear().int32(w).int32(d).int32(o).int32(line);
              tables.orderLine().insert(tx, orderLineKey, orderLine);
            }
            lines += n;
            if (!population.delivered(o)) {
              tables.newOrder().insert(tx, newOrderKey.set(w, d, o), newOrder);
              lines++;
            }
          });
    }
  }

  /** Inserts one item of a sequence. */
  @FunctionalInterface
  private interface Numbers {
    void insert(Transaction tx, int number);
  }
}
