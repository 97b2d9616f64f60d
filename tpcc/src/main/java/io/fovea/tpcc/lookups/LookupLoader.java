package io.fovea.tpcc.lookups;

import io.fovea.Database;
import io.fovea.Key;
import io.fovea.Row;
import io.fovea.tpcc.bench.Crew;
import io.fovea.tpcc.bench.DriverException;
import io.fovea.tpcc.bench.Loaded;
import io.fovea.tpcc.bench.Progress;
import io.fovea.tpcc.bench.Shutdown;
import java.util.concurrent.atomic.LongAdder;

/**
 * Fills an empty table. Each thread loads a range of keys in order, in transactions of a few hundred
 * rows, which leaves full pages.
 */
final class LookupLoader {
  private static final long POLL_NANOS = 100_000_000;
  private static final int ROWS_PER_TRANSACTION = 500;

  /** Pages that a commit reserves per row, at most; it returns what it does not need. */
  private static final int PAGES_PROMISED = 3;

  private LookupLoader() {}

  /** Returns the bytes that a load needs temporarily, in addition to its records. */
  static long room(int threads, int pageSize) {
    return (long) threads * ROWS_PER_TRANSACTION * PAGES_PROMISED * pageSize;
  }

  /**
   * Loads the table. Throws DriverException if a thread failed or a signal arrived; the load is then incomplete.
   */
  static Loaded load(
      Database db, LookupTable.Shape shape, int threads, Progress progress, Shutdown shutdown) {
    long start = System.nanoTime();
    shape.write(db);
    LookupTable table = LookupTable.open(db, shape);
    LongAdder rows = new LongAdder();
    Crew crew = new Crew("load", threads, false, shutdown);
    crew.start(
        thread ->
            load(
                table,
                shape.records() * thread / threads,
                shape.records() * (thread + 1) / threads,
                crew,
                rows));
    long lastNanos = start;
    while (!crew.await(POLL_NANOS)) {
      long now = System.nanoTime();
      if (now - lastNanos >= Progress.INTERVAL_NANOS) {
        lastNanos = now;
        progress.loading(rows.sum(), shape.records(), (now - start) / 1e9);
      }
    }
    crew.check(progress, Loaded.INCOMPLETE);
    shape.completed().write(db);
    return new Loaded(rows.sum(), (System.nanoTime() - start) / 1e9);
  }

  private static void load(LookupTable table, long from, long to, Crew crew, LongAdder rows) {
    Row row = table.row();
    Key key = table.table.key();
    for (long at = from; at < to && !crew.stopping(); at += ROWS_PER_TRANSACTION) {
      long first = at;
      long end = Math.min(at + ROWS_PER_TRANSACTION, to);
      table.database.run(
          tx -> {
            for (long i = first; i < end; i++) {
              row.setLong(table.number, i);
              table.table.insert(tx, key.set(i), row);
            }
          });
      rows.add(end - first);
    }
  }
}
