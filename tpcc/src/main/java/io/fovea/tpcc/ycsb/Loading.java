package io.fovea.tpcc.ycsb;

import io.fovea.Database;
import io.fovea.Key;
import io.fovea.Row;
import io.fovea.tpcc.bench.Crew;
import io.fovea.tpcc.bench.Loaded;
import io.fovea.tpcc.bench.Progress;
import io.fovea.tpcc.bench.Rng;
import io.fovea.tpcc.bench.Shutdown;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;

/**
 * Fills an empty table in key order, which leaves full pages and reads none twice.
 *
 * <p>Keys are hashes of the numbers. The range of hashes is cut into parts of a few hundred
 * thousand records. A thread scans all numbers for those of its part, at about a nanosecond each,
 * and sorts them. The contents depend only on the number of records.
 */
final class Loading {
  private static final long POLL_NANOS = 100_000_000;
  private static final int ROWS_PER_TRANSACTION = 1_000;
  private static final int RECORDS_PER_PART = 500_000;

  private final Records records;
  private final long count;
  private final int parts;
  private final AtomicInteger nextPart = new AtomicInteger();
  private final LongAdder rows = new LongAdder();

  private Loading(Records records, long count, int threads) {
    this.records = records;
    this.count = count;
    this.parts = Math.toIntExact(Math.max(threads, count / RECORDS_PER_PART));
  }

  /**
   * Loads the table. Throws DriverException if a thread failed or a signal arrived; the load is then incomplete.
   */
  static Loaded load(
      Database db, int fields, long count, int threads, Progress progress, Shutdown shutdown) {
    long start = System.nanoTime();
    Meta meta = Meta.loading(fields, count);
    meta.write(db);
    Loading loading = new Loading(Records.open(db, fields), count, threads);
    Crew crew = new Crew("load", threads, false, shutdown);
    crew.start(thread -> loading.work(crew));
    long lastNanos = start;
    while (!crew.await(POLL_NANOS)) {
      long now = System.nanoTime();
      if (now - lastNanos >= Progress.INTERVAL_NANOS) {
        lastNanos = now;
        progress.loading(loading.rows.sum(), count, (now - start) / 1e9);
      }
    }
    crew.check(progress, Loaded.INCOMPLETE);
    meta.completed().write(db);
    return new Loaded(loading.rows.sum(), (System.nanoTime() - start) / 1e9);
  }

  private void work(Crew crew) {
    Rng rng = new Rng(0);
    byte[] filling = new byte[Records.FILLING_MAX];
    Key key = records.table.key();
    Row row = records.table.row();
    for (int part = nextPart.getAndIncrement();
        part < parts && !crew.stopping();
        part = nextPart.getAndIncrement()) {
      long[] hashes = hashes(part, parts, count);
      for (int at = 0; at < hashes.length && !crew.stopping(); at += ROWS_PER_TRANSACTION) {
        int from = at;
        int to = Math.min(at + ROWS_PER_TRANSACTION, hashes.length);
        records.database.run(
            tx -> {
              for (int i = from; i < to; i++) {
                long number = Records.number(hashes[i]);
                rng.seed(number);
                fill(filling, rng);
                records.fill(row, number, 0, filling, 0);
                records.table.insert(tx, Records.set(key, number), row);
              }
            });
        rows.add(to - from);
      }
    }
  }

  /** Inserts the missing records of a range of numbers. */
  static void fillGaps(Records records, long from, long to) {
    byte[] filling = new byte[Records.FILLING_MAX];
    Key key = records.table.key();
    Row row = records.table.row();
    for (long number = from; number < to; number++) {
      records.fill(row, number, 0, filling, 0);
      Records.set(key, number);
      records.database.run(
          tx -> {
            if (!records.table.exists(tx, key)) {
              records.table.insert(tx, key, row);
            }
          });
    }
  }

  private static void fill(byte[] filling, Rng rng) {
    for (int i = 0; i < filling.length; i++) {
      filling[i] = (byte) (' ' + rng.below(95));
    }
  }

  private static long part(long hash, int parts) {
    return Math.unsignedMultiplyHigh(hash ^ Long.MIN_VALUE, parts);
  }

  /** Returns the hashes of a part of the numbers below count, in order. */
  static long[] hashes(int part, int parts, long count) {
    long[] found = new long[Math.toIntExact(count / parts + count / parts / 8 + 16)];
    int n = 0;
    for (long number = 0; number < count; number++) {
      long hash = Records.hash(number);
      if (part(hash, parts) == part) {
        if (n == found.length) {
          found = Arrays.copyOf(found, 2 * n);
        }
        found[n++] = hash;
      }
    }
    found = Arrays.copyOf(found, n);
    Arrays.sort(found);
    return found;
  }
}
