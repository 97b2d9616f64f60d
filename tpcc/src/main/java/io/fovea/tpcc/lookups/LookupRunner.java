package io.fovea.tpcc.lookups;

import com.sun.management.OperatingSystemMXBean;
import io.fovea.Batch;
import io.fovea.DatabaseStats;
import io.fovea.TxOptions;
import io.fovea.config.Durability;
import io.fovea.tpcc.bench.Carriers;
import io.fovea.tpcc.bench.Crew;
import io.fovea.tpcc.bench.DriverException;
import io.fovea.tpcc.bench.Percentiles;
import io.fovea.tpcc.bench.Progress;
import io.fovea.tpcc.bench.Rng;
import io.fovea.tpcc.bench.Sampler;
import io.fovea.tpcc.bench.Shutdown;
import io.fovea.tpcc.bench.Zipf;
import io.fovea.tpcc.lookups.LookupTally.What;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.SingleWriterRecorder;

/**
 * Executes one run with one working set: fills the pool, warms up, measures, and returns the
 * results.
 */
final class LookupRunner {
  /** Separates the random numbers of clients from all others of the seed. */
  private static final long PART = 2_000;

  private static final int FILL_DEPTH = 64;

  private final LookupSettings settings;
  private final LookupTable lookup;
  private final Progress progress;
  private final Shutdown shutdown;
  private final Share share;
  private final WorkingSet set;
  private final long poolRecords;
  private final boolean virtual;
  private final List<LookupWorker> workers = new ArrayList<>();
  private final List<Recycled> recycled = new ArrayList<>();
  private final Histogram reads;
  private final Histogram changes;
  private final Histogram interval;

  /** The current working set; written by the measuring thread. */
  private volatile WorkingSet.Range range;

  private LookupTally.Totals counts;

  /** A worker's histograms of the previous interval, for reuse. */
  private static final class Recycled {
    private Histogram reads;
    private Histogram changes;
  }

  LookupRunner(
      LookupSettings settings,
      LookupTable lookup,
      Share share,
      Progress progress,
      Shutdown shutdown) {
    this.settings = settings;
    this.lookup = lookup;
    this.share = share;
    this.progress = progress;
    this.shutdown = shutdown;
    this.poolRecords = lookup.poolRecords();
    this.set = settings.workingSet(share, poolRecords);
    this.range = set.at(0);
    this.virtual = settings.shared() && Carriers.limit(settings.threads());
    int digits = Percentiles.latencyDigits(settings.clients());
    this.reads = new Histogram(Percentiles.LATENCY_MAX_NANOS, digits);
    this.changes = new Histogram(Percentiles.LATENCY_MAX_NANOS, digits);
    this.interval = new Histogram(Percentiles.LATENCY_MAX_NANOS, digits);
  }

  private double ratio() {
    return (double) range.size() / poolRecords;
  }

  /**
   * Runs the workload.
   *
   * @return the results, up to the signal if there was one; with zero operations if it came during
   *     the warm-up
   * @throws DriverException if a client failed
   */
  LookupResult run() {
    if (settings.shared() && !virtual) {
      progress.say(
          "the JDK's scheduler of virtual threads cannot be set to %d threads:"
              + " each client gets its own platform thread",
          settings.threads());
    }
    fill();
    Crew crew = new Crew("client", settings.clients(), virtual, shutdown);
    Zipf zipf = settings.theta() > 0 ? new Zipf(range.size(), settings.theta()) : null;
    boolean turns = virtual && settings.engine().durability() != Durability.SYNC;
    for (int i = 0; i < settings.clients(); i++) {
      Rng rng = new Rng(Rng.derive(settings.seed(), PART, range.size(), i));
      workers.add(new LookupWorker(crew, lookup, settings, () -> range, rng, zipf, turns));
      recycled.add(new Recycled());
    }
    crew.start(i -> workers.get(i).work());
    try {
      return measure(crew);
    } finally {
      crew.join();
    }
  }

  /**
   * Reads a key of each page of the working set, up to the size of the pool. A set that fits the
   * pool then starts without misses, a larger one with a full pool.
   */
  private void fill() {
    long start = System.nanoTime();
    int pageSize = settings.engine().pageSize();
    // Two keys per page on average, since pages are not equally full.
    long step = Math.max(1, (long) (pageSize / lookup.bytesPerRecord() / 2));
    long first = range.first();
    long size = Math.min(range.size(), poolRecords);
    int threads = settings.threads();
    Crew crew = new Crew("fill", threads, false, shutdown);
    crew.start(
        thread -> {
          Batch batch = lookup.table.batch(FILL_DEPTH);
          long end = first + size * (thread + 1) / threads;
          for (long at = first + size * thread / threads; at < end && !crew.stopping(); ) {
            batch.clear();
            for (; at < end && batch.size() < FILL_DEPTH; at += step) {
              batch.add().int64(at);
            }
            lookup.database.run(TxOptions.forReading(), tx -> lookup.table.getAll(tx, batch));
          }
        });
    while (!crew.await(Progress.INTERVAL_NANOS)) {
      progress.say("%6.0f s  filling the pool", (System.nanoTime() - start) / 1e9);
    }
    crew.end(false);
  }

  private LookupResult measure(Crew crew) {
    collect(); // discard: the first interval begins here
    counts = counts();
    Sampler sampler =
        new Sampler(lookup.database::stats, get(What.OPERATIONS), get(What.RETRIES))
            .gauge("workingSetRatio", this::ratio);
    long start = sampler.nanos();
    boolean ended = false;
    if (!settings.warmup().isZero()) {
      ended = phase(crew, sampler, start, settings.warmup().toNanos(), true);
      sampler.warmupEnds();
    }
    long from = sampler.nanos();
    long cpu = cpuNanos();
    LookupTally.Totals countsBefore = counts;
    DatabaseStats statsBefore = sampler.stats();
    DatabaseStats.Placement placedBefore = lookup.database.placement();
    ended = ended || phase(crew, sampler, start, settings.duration().toNanos(), false);
    cpu = cpuNanos() - cpu;
    DatabaseStats.Placement placedAfter = lookup.database.placement();
    crew.end(ended);
    for (WorkingSet.Mark mark : set.marks(sampler.nanos() - from)) {
      sampler.series().mark((from - start + mark.nanos()) / 1e9, mark.text());
    }
    return new LookupResult(
        share,
        ratio(),
        (sampler.nanos() - from) / 1e9,
        settings.clients(),
        virtual,
        counts.since(countsBefore),
        reads,
        changes,
        statsBefore,
        sampler.stats(),
        placedBefore,
        placedAfter,
        cpu,
        sampler.series());
  }

  /** Returns the processor time of the process; 0 if the JVM does not provide it. */
  private static long cpuNanos() {
    return ManagementFactory.getOperatingSystemMXBean() instanceof OperatingSystemMXBean os
        ? Math.max(0, os.getProcessCpuTime())
        : 0;
  }

  /**
   * Waits for a phase to end, moving the working set, sampling and reporting progress. The working set starts to move with the measured time. Returns true if the clients ended early or a signal arrived.
   */
  private boolean phase(Crew crew, Sampler sampler, long start, long nanos, boolean warmingUp) {
    long from = sampler.nanos();
    long until = from + nanos;
    long tick = from;
    long lineAt = from;
    LookupTally.Totals before = counts;
    DatabaseStats statsBefore = sampler.stats();
    while (true) {
      tick = Math.min(tick + Sampler.INTERVAL_NANOS, until);
      boolean ended = warmingUp ? stopped(crew, tick) : moved(crew, from, tick);
      if (ended && warmingUp) {
        return true;
      }
      sample(sampler, warmingUp); // the results so far
      if (ended) {
        return true;
      }
      long now = sampler.nanos();
      if (now - until >= 0) {
        return false;
      }
      if (now - lineAt >= Progress.INTERVAL_NANOS) {
        double seconds = (now - lineAt) / 1e9;
        LookupTally.Totals delta = counts.since(before);
        long device = sampler.stats().io().reads() - statsBefore.io().reads();
        progress.say(
            "%6.0f s  %-8s  %,11.0f lookups/s  %,9.0f reads/s  working set %.3f of the pool",
            (now - start) / 1e9,
            warmingUp ? "warm-up" : "running",
            delta.get(What.LOOKUPS) / seconds,
            device / seconds,
            ratio());
        before = counts;
        statsBefore = sampler.stats();
        lineAt = now;
      }
    }
  }

  private boolean stopped(Crew crew, long until) {
    return crew.endsWithin(until - System.nanoTime());
  }

  /** Waits until a time, moving the working set; true if the clients ended before. */
  private boolean moved(Crew crew, long from, long until) {
    while (true) {
      long now = System.nanoTime();
      long next = Math.min(set.nextChange(now - from), until - from);
      if (stopped(crew, from + next)) {
        return true;
      }
      range = set.at(System.nanoTime() - from);
      if (from + next - until >= 0) {
        return false;
      }
    }
  }

  private void sample(Sampler sampler, boolean warmingUp) {
    collect();
    counts = counts();
    sampler.sample(interval, get(What.OPERATIONS), get(What.RETRIES));
    if (!warmingUp) {
      for (Recycled r : recycled) {
        reads.add(r.reads);
        changes.add(r.changes);
      }
    }
  }

  private long get(What what) {
    return counts.get(what);
  }

  private LookupTally.Totals counts() {
    return LookupTally.Totals.of(workers.stream().map(w -> w.tally).toList());
  }

  private void collect() {
    interval.reset();
    for (int i = 0; i < workers.size(); i++) {
      LookupWorker worker = workers.get(i);
      Recycled r = recycled.get(i);
      r.reads = take(worker.reads, r.reads);
      r.changes = take(worker.changes, r.changes);
    }
  }

  private Histogram take(SingleWriterRecorder recorder, Histogram again) {
    Histogram taken = recorder.getIntervalHistogram(again);
    interval.add(taken);
    return taken;
  }
}
