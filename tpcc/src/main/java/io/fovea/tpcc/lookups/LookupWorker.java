package io.fovea.tpcc.lookups;

import io.fovea.Batch;
import io.fovea.Key;
import io.fovea.Row;
import io.fovea.Task;
import io.fovea.Transaction;
import io.fovea.TxOptions;
import io.fovea.tpcc.bench.Crew;
import io.fovea.tpcc.bench.Percentiles;
import io.fovea.tpcc.bench.Rng;
import io.fovea.tpcc.bench.Zipf;
import io.fovea.tpcc.lookups.LookupTally.What;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.HdrHistogram.SingleWriterRecorder;

/**
 * Runs the lookups of one client, one transaction after another. A transaction without updates is
 * read-only. One thread.
 */
final class LookupWorker implements Task<RuntimeException> {
  /** How long a virtual thread runs before it yields to others on its carrier. */
  private static final long TURN_NANOS = 1_000_000;

  private static final long GIVE_WAY_NANOS = 1_000;

  final LookupTally tally = new LookupTally();

  /** Latencies of read-only transactions, in nanoseconds. */
  final SingleWriterRecorder reads;

  final SingleWriterRecorder changes;

  private final Crew crew;
  private final LookupTable lookup;
  private final Supplier<WorkingSet.Range> range;
  private final Rng rng;
  private final Zipf zipf;
  private final int depth;
  private final int writes;
  private final boolean turns;
  private final long[] keys;

  /** The keys to update: a subset of the keys, without duplicates. */
  private final long[] changing;

  private int changingCount;
  private int attempts;
  private final Key key;
  private final Row row;

  private final Batch batch;

  /**
   * Creates a worker.
   *
   * @param zipf the distribution over the range, or null for uniform
   */
  LookupWorker(
      Crew crew,
      LookupTable lookup,
      LookupSettings settings,
      Supplier<WorkingSet.Range> range,
      Rng rng,
      Zipf zipf,
      boolean turns) {
    this.crew = crew;
    this.lookup = lookup;
    this.range = range;
    this.rng = rng;
    this.zipf = zipf;
    this.depth = settings.depth();
    this.writes = settings.writes();
    this.turns = turns;
    this.keys = new long[depth];
    this.changing = new long[writes == 0 ? 0 : depth];
    this.key = lookup.table.key();
    this.row = lookup.table.row();
    this.batch = depth == 1 ? null : lookup.table.batch(depth);
    int digits = Percentiles.latencyDigits(settings.clients());
    this.reads = new SingleWriterRecorder(Percentiles.LATENCY_MAX_NANOS, digits);
    this.changes = new SingleWriterRecorder(Percentiles.LATENCY_MAX_NANOS, digits);
  }

  void work() {
    TxOptions reading = TxOptions.forReading();
    TxOptions writing = TxOptions.defaults();
    long start = System.nanoTime();
    long turnEnds = start + TURN_NANOS;
    while (!crew.stopping()) {
      draw();
      attempts = 0;
      lookup.database.run(changingCount == 0 ? reading : writing, this);
      long end = System.nanoTime();
      SingleWriterRecorder latencies = changingCount == 0 ? reads : changes;
      latencies.recordValue(Math.min(end - start, Percentiles.LATENCY_MAX_NANOS));
      tally.add(What.OPERATIONS, 1);
      tally.add(What.LOOKUPS, depth);
      if (changingCount > 0) {
        tally.add(What.CHANGES, 1);
        tally.add(What.UPDATES, changingCount);
        tally.add(What.RETRIES, attempts - 1);
      }
      start = end;
      if (turns && end - turnEnds >= 0) {
        LockSupport.parkNanos(GIVE_WAY_NANOS);
        start = System.nanoTime();
        turnEnds = start + TURN_NANOS;
      }
    }
  }

  private void draw() {
    WorkingSet.Range now = range.get();
    changingCount = 0;
    for (int i = 0; i < depth; i++) {
      long k = draw(now);
      keys[i] = k;
      if (writes > 0 && rng.percent(writes) && !changing(k)) {
        changing[changingCount++] = k;
      }
    }
  }

  private long draw(WorkingSet.Range now) {
    // The high half of a product: uniform up to a bias of size / 2^64.
    long random = zipf == null ? rng.nextLong() : Rng.derive(zipf.next(rng), 0, 0, 0);
    long at = now.first() + Math.unsignedMultiplyHigh(random, now.size());
    return at < lookup.records ? at : at - lookup.records;
  }

  private boolean changing(long k) {
    for (int i = 0; i < changingCount; i++) {
      if (changing[i] == k) {
        return true;
      }
    }
    return false;
  }

  /** Runs one attempt. */
  @Override
  public void run(Transaction tx) {
    attempts++;
    if (batch == null) {
      if (changingCount == 0) {
        require(lookup.table.get(tx, key.set(keys[0]), row), row, keys[0]);
      }
    } else {
      batch.clear();
      for (long k : keys) {
        batch.add().int64(k);
      }
      lookup.table.getAll(tx, batch);
      for (int i = 0; i < depth; i++) {
        require(batch.found(i), batch.row(i), keys[i]);
      }
    }
    for (int i = 0; i < changingCount; i++) {
      long k = changing[i];
      require(lookup.table.getForUpdate(tx, key.set(k), row), row, k);
      row.setLong(lookup.updates, row.getLong(lookup.updates) + 1);
      lookup.table.update(tx, row);
    }
  }

  private void require(boolean found, Row row, long k) {
    if (!found || row.getLong(lookup.number) != k) {
      throw new IllegalStateException(
          found
              ? "record " + k + " holds the number " + row.getLong(lookup.number)
              : "missing record " + k);
    }
  }
}
