package io.fovea.tpcc.ycsb;

import io.fovea.DatabaseStats;
import io.fovea.config.Durability;
import io.fovea.tpcc.bench.Carriers;
import io.fovea.tpcc.bench.Crew;
import io.fovea.tpcc.bench.DriverException;
import io.fovea.tpcc.bench.Exit;
import io.fovea.tpcc.bench.Hlog;
import io.fovea.tpcc.bench.Percentiles;
import io.fovea.tpcc.bench.Pipeline;
import io.fovea.tpcc.bench.Progress;
import io.fovea.tpcc.bench.Rng;
import io.fovea.tpcc.bench.Sampler;
import io.fovea.tpcc.bench.Shutdown;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.DoubleSupplier;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.SingleWriterRecorder;

/** Executes one run: starts the clients, warms up, measures, and returns the results. */
final class YcsbRunner {
  /** Separates the random numbers of clients from all others of the seed. */
  private static final long PART = 3_000;

  private final Settings settings;
  private final Records records;
  private final Progress progress;
  private final Shutdown shutdown;
  private final KeyCount count;
  private final List<Kind> kinds;
  private final boolean virtual;
  private final int digits;
  private final List<YcsbClient> clients = new ArrayList<>();
  private final Stamps[] stamps;

  /** Latencies of the measured time: by kind, followed by {@link Op}; null if there are none. */
  private final Histogram[] totals;

  private final Histogram interval;

  private final Histogram[][] recycled;
  private Tally.Totals counts;

  /** Creates a run. */
  YcsbRunner(
      Settings settings,
      Records records,
      int number,
      long count,
      Progress progress,
      Shutdown shutdown) {
    this.settings = settings;
    this.records = records;
    this.progress = progress;
    this.shutdown = shutdown;
    this.count = new KeyCount(count);
    this.kinds = settings.kinds();
    this.virtual = settings.shared() && settings.virtual() && Carriers.limit(settings.threads());
    this.digits = Percentiles.latencyDigits(settings.clients());
    this.stamps = new Stamps[settings.clients()];
    for (int i = 0; i < stamps.length; i++) {
      stamps[i] = new Stamps(number, i);
    }
    this.totals = new Histogram[kinds.size() + Op.COUNT];
    this.recycled = new Histogram[totals.length][stamps.length];
    this.interval = histogram();
  }

  private Histogram histogram() {
    return new Histogram(Percentiles.LATENCY_MAX_NANOS, digits);
  }

  /**
   * Runs the workload.
   *
   * @return the results, up to the signal if there was one; with zero operations if it came during
   *     the warm-up
   * @throws DriverException if a client failed or a file could not be written
   */
  Result run() {
    boolean pipelined = settings.pipelined();
    if (settings.shared() && settings.virtual() && !virtual) {
      progress.say(
          "the JDK's scheduler of virtual threads cannot be set to %d threads:"
              + " each client gets its own platform thread",
          settings.threads());
    }
    int threads = pipelined ? settings.threads() : settings.clients();
    Crew crew = new Crew("client", threads, virtual, shutdown);
    boolean turns = virtual && settings.engine().durability() != Durability.SYNC;
    for (int i = 0; i < stamps.length; i++) {
      Rng rng = new Rng(Rng.derive(settings.seed(), PART, 0, i));
      clients.add(new YcsbClient(crew, records, count, settings, rng, stamps[i], digits, turns));
    }
    for (int i = 0; i < totals.length; i++) {
      totals[i] = recorder(clients.getFirst(), i) == null ? null : histogram();
    }
    if (pipelined) {
      crew.start(thread -> pipeline(crew, thread, threads).work());
    } else {
      crew.start(i -> clients.get(i).work());
    }
    try {
      return measure(crew);
    } finally {
      crew.join();
    }
  }

  private Pipeline pipeline(Crew crew, int thread, int threads) {
    List<YcsbClient> own = new ArrayList<>();
    for (int i = thread; i < clients.size(); i += threads) {
      own.add(clients.get(i));
    }
    return new Pipeline(crew, own);
  }

  private SingleWriterRecorder recorder(YcsbClient client, int i) {
    return i < kinds.size() ? client.latencies(i) : client.latencies(Op.values()[i - kinds.size()]);
  }

  private Result measure(Crew crew) {
    collect(); // discard: the first interval begins here
    counts = counts();
    Sampler sampler = new Sampler(records.database::stats, operations(), retries());
    sampler.gauge("abortRate", new AbortRate());
    long start = sampler.nanos();
    boolean ended = false;
    if (!settings.warmup().isZero()) {
      ended = phase(crew, sampler, start, settings.warmup().toNanos(), true, null);
      sampler.warmupEnds();
    }
    long from = sampler.nanos();
    Tally.Totals countsBefore = counts;
    DatabaseStats statsBefore = sampler.stats();
    try (Hlog hlog = settings.hlog() == null ? null : hlog()) {
      ended = ended || phase(crew, sampler, start, settings.duration().toNanos(), false, hlog);
    } catch (IOException e) {
      throw new DriverException(Exit.ERROR, "cannot write " + settings.hlog() + ": " + e, e);
    }
    Tally.Totals countsAfter = counts;
    crew.end(ended);
    if (!shutdown.requested()) {
      fillGaps(); // otherwise, the next run counts the records and fills the gaps
    }
    Histogram[] byKind = new Histogram[kinds.size()];
    Histogram[] byOp = new Histogram[Op.COUNT];
    System.arraycopy(totals, 0, byKind, 0, byKind.length);
    System.arraycopy(totals, byKind.length, byOp, 0, byOp.length);
    return new Result(
        (sampler.nanos() - from) / 1e9,
        virtual ? "virtual" : settings.pipelined() ? "pipelined" : "platform",
        kinds,
        countsAfter.since(countsBefore),
        byKind,
        byOp,
        statsBefore,
        sampler.stats(),
        sampler.series(),
        clients.stream().mapToLong(YcsbClient::replaced).sum(),
        clients.stream().mapToLong(YcsbClient::inserted).sum() + filled,
        kinds.stream().anyMatch(k -> k.ops().contains(Op.WRITE)),
        stamps);
  }

  /** The abort rate of each interval, for the series. */
  private final class AbortRate implements DoubleSupplier {
    private Tally.Totals before = counts;

    @Override
    public double getAsDouble() {
      double rate = counts.since(before).abortRate();
      before = counts;
      return rate;
    }
  }

  private long filled;

  /** Inserts the records of abandoned transactions, so that numbers have no gaps. */
  private void fillGaps() {
    for (YcsbClient client : clients) {
      for (long number : client.pending()) {
        Loading.fillGaps(records, number, number + 1);
        filled++;
      }
    }
  }

  private Hlog hlog() throws IOException {
    List<String> tags = new ArrayList<>(kinds.stream().map(k -> k.id).toList());
    return new Hlog(
        settings.hlog(),
        "YCSB on Fovea, workload "
            + YcsbReport.name(settings.workload())
            + ", durability "
            + settings.engine().durability(),
        tags);
  }

  /**
   * Waits for a phase to end, sampling and reporting progress. Returns true if the clients ended early or a signal arrived.
   */
  private boolean phase(
      Crew crew, Sampler sampler, long start, long nanos, boolean warmingUp, Hlog hlog) {
    long tick = sampler.nanos();
    long until = tick + nanos;
    long lineAt = tick;
    Tally.Totals before = counts;
    while (true) {
      tick = Math.min(tick + Sampler.INTERVAL_NANOS, until);
      boolean ended = crew.endsWithin(tick - System.nanoTime());
      if (ended && warmingUp) {
        return true;
      }
      sample(sampler, warmingUp, hlog); // the results so far
      if (ended) {
        return true;
      }
      long now = sampler.nanos();
      if (now - until >= 0) {
        return false;
      }
      if (now - lineAt >= Progress.INTERVAL_NANOS) {
        Tally.Totals delta = counts.since(before);
        double seconds = (now - lineAt) / 1e9;
        progress.say(
            "%6.0f s  %-8s  %,9.0f tx/s  %,11.0f operations/s  %7.3f %% aborts  durability %s",
            (now - start) / 1e9,
            warmingUp ? "warm-up" : "running",
            delta.get(Tally.What.COMMITS) / seconds,
            delta.operations() / seconds,
            100 * delta.abortRate(),
            YcsbReport.level(settings));
        before = counts;
        lineAt = now;
      }
    }
  }

  private void sample(Sampler sampler, boolean warmingUp, Hlog hlog) {
    Histogram[] intervals = collect();
    interval.reset();
    for (int k = 0; k < kinds.size(); k++) {
      interval.add(intervals[k]);
    }
    counts = counts();
    sampler.sample(interval, operations(), retries());
    if (warmingUp) {
      return;
    }
    for (int i = 0; i < totals.length; i++) {
      if (totals[i] != null) {
        totals[i].add(intervals[i]);
      }
    }
    if (hlog != null) {
      hlog.write(Arrays.copyOf(intervals, kinds.size()));
    }
  }

  /** Counts transactions, as the operations of the series. */
  private long operations() {
    return counts.get(Tally.What.COMMITS);
  }

  private long retries() {
    return counts.get(Tally.What.RETRIES);
  }

  private Tally.Totals counts() {
    return Tally.Totals.of(clients.stream().map(c -> c.tally).toList(), kinds.size());
  }

  private Histogram[] collect() {
    Histogram[] intervals = new Histogram[totals.length];
    for (int i = 0; i < totals.length; i++) {
      if (totals[i] == null) {
        continue;
      }
      intervals[i] = histogram();
      for (int c = 0; c < clients.size(); c++) {
        recycled[i][c] = recorder(clients.get(c), i).getIntervalHistogram(recycled[i][c]);
        intervals[i].add(recycled[i][c]);
      }
    }
    return intervals;
  }
}
