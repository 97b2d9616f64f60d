package io.fovea.tpcc;

import io.fovea.Database;
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
import io.fovea.tpcc.bench.Series;
import io.fovea.tpcc.bench.Shutdown;
import io.fovea.tpcc.bench.ThreadTimes;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.SingleWriterRecorder;

/** Executes one run: starts the clients, warms up, measures, and returns the results. */
final class Runner {
  /** Separates the random numbers of a run from those of a load with the same seed. */
  private static final long RUN_PART = 1_000;

  private final Settings settings;
  private final Tables tables;
  private final Meta meta;
  private final Progress progress;
  private final Shutdown shutdown;
  private final boolean pipelined;
  private final boolean virtual;
  private final int latencyDigits;
  private final List<Worker> workers = new ArrayList<>();
  private final Histogram[][] recycled;
  private final Histogram[] totals = new Histogram[TxnType.COUNT];

  private final Histogram interval;

  private Tally.Totals counts;

  Runner(Settings settings, Tables tables, Meta meta, Progress progress, Shutdown shutdown) {
    this.settings = settings;
    this.tables = tables;
    this.meta = meta;
    this.progress = progress;
    this.shutdown = shutdown;
    this.pipelined = settings.pipelined();
    this.virtual = settings.shared() && !pipelined && Carriers.limit(settings.threads());
    this.latencyDigits = Percentiles.latencyDigits(settings.clients());
    this.recycled = new Histogram[TxnType.COUNT][settings.clients()];
    this.interval = new Histogram(Percentiles.LATENCY_MAX_NANOS, latencyDigits);
  }

  /**
   * The results of the measured time, without the warm-up.
   *
   * @param pipelined whether a thread served other clients while commits waited for the log
   * @param latencies in nanoseconds by type; null for types outside the mix
   * @param series values per second, including the warm-up
   * @param times processor time of threads in the measured time; empty if Linux does not count it
   */
  record Result(
      double seconds,
      boolean virtual,
      boolean pipelined,
      Tally.Totals counts,
      Histogram[] latencies,
      DatabaseStats before,
      DatabaseStats after,
      Series series,
      List<ThreadTimes.Group> times) {

    /** Describes the threads of the clients, for reports. */
    String threads() {
      return virtual ? "virtual" : pipelined ? "pipelined" : "platform";
    }

    double perSecond() {
      return counts.get(Tally.What.COMMITS) / seconds;
    }

    /** Returns committed New-Orders per minute, without intentional rollbacks. */
    double newOrdersPerMinute() {
      return 60 * counts.get(TxnType.NEW_ORDER, Tally.What.COMMITS) / seconds;
    }
  }

  /**
   * Runs the workload.
   *
   * @return the results, up to the signal if there was one; with zero operations if it came during
   *     the warm-up
   * @throws DriverException if a worker failed or a file could not be written
   */
  Result run() {
    if (settings.acknowledged() == null) {
      return runWithSnapshot(null);
    }
    try (Acknowledged list = new Acknowledged(settings.acknowledged())) {
      return runWithSnapshot(list);
    }
  }

  private Result runWithSnapshot(Acknowledged list) {
    if (!settings.snapshot()) {
      return run(list);
    }
    try (Database frozen = tables.database().snapshot()) {
      Result result = run(list);
      DatabaseStats.Snapshots s = tables.database().stats().snapshots();
      progress.say(
          "%,d pages copied for %s, %,d MiB in memory and %,d MiB in the file",
          s.pagesCopied(), frozen.name(), s.memoryBytes() >> 20, s.fileBytes() >> 20);
      if (s.evicted() > 0) {
        throw new DriverException(Exit.ERROR, frozen.name() + " was closed early");
      }
      return result;
    }
  }

  private Result run(Acknowledged list) {
    int clients = settings.clients();
    if (settings.shared() && !pipelined && !virtual) {
      progress.say(
          "the JDK's scheduler of virtual threads cannot be set to %d threads:"
              + " each client gets its own platform thread",
          settings.threads());
    }
    int stream = Meta.beginRun(tables, clients);
    Rng rng = new Rng(Rng.derive(settings.seed(), RUN_PART, 0, 0));
    NuRand nuRand = NuRand.forRun(rng, meta.loadCLast());
    int threads = pipelined ? settings.threads() : clients;
    Crew crew = new Crew("client", threads, virtual, shutdown);
    for (int i = 0; i < clients; i++) {
      workers.add(worker(crew, i, stream + i, nuRand, list));
    }
    for (TxnType type : TxnType.values()) {
      if (settings.mix().has(type)) {
        totals[type.ordinal()] = new Histogram(Percentiles.LATENCY_MAX_NANOS, latencyDigits);
      }
    }
    if (pipelined) {
      // With affinity, the clients of a thread share warehouses, and neighbors have different ones.
      List<Pipeline> pipelines = new ArrayList<>();
      for (int t = 0; t < threads; t++) {
        List<Worker> own = new ArrayList<>();
        for (int i = t; i < clients; i += threads) {
          own.add(workers.get(i));
        }
        pipelines.add(new Pipeline(crew, own));
      }
      crew.start(i -> pipelines.get(i).work());
    } else {
      crew.start(i -> workers.get(i).work());
    }
    try {
      return measure(crew);
    } finally {
      crew.join();
    }
  }

  private Worker worker(
      Crew crew, int number, int stream, NuRand nuRand, Acknowledged acknowledged) {
    Rng rng = new Rng(Rng.derive(settings.seed(), RUN_PART, 1, number));
    int[] homes = homes(number, settings.clients(), meta.warehouses(), settings.affinity());
    int district = 0;
    if (settings.waiting()) {
      district = 1 + number / meta.warehouses() % Scale.DISTRICTS;
    }
    Session session =
        new Session(tables, meta.scale(), meta.warehouses(), nuRand, rng, stream, homes, district);
    Pacing pacing;
    if (settings.waiting()) {
      pacing = new Pacing.Waiting(rng);
    } else if (settings.rate() > 0) {
      pacing = new Pacing.Rated(settings.rate(), settings.clients(), number);
    } else {
      pacing = new Pacing.Unlimited();
    }
    boolean turns = virtual && settings.engine().durability() != Durability.SYNC;
    return new Worker(
        crew,
        session,
        settings.mix(),
        pacing,
        latencyDigits,
        acknowledged,
        virtual,
        turns,
        pipelined);
  }

  /**
   * Returns the warehouses of a worker: all, or with affinity its share. If there are more workers
   * than warehouses, several share one.
   */
  static int[] homes(int worker, int workers, int warehouses, boolean affinity) {
    if (!affinity) {
      return IntStream.rangeClosed(1, warehouses).toArray();
    }
    if (workers >= warehouses) {
      return new int[] {1 + worker % warehouses};
    }
    return IntStream.rangeClosed(1, warehouses).filter(w -> (w - 1) % workers == worker).toArray();
  }

  private Result measure(Crew crew) {
    collect(); // discard: the first interval begins here
    counts = counts();
    Sampler sampler =
        new Sampler(
            tables.database()::stats,
            counts.get(Tally.What.COMMITS),
            counts.get(Tally.What.RETRIES));
    if (!settings.inMemory()) {
      sampler.gauge("dataRatio", () -> dataRatio(tables.database().stats()));
    }
    long start = sampler.nanos();
    boolean ended = false;
    if (!settings.warmup().isZero()) {
      ended = phase(crew, sampler, start, settings.warmup().toNanos(), true, null);
      sampler.warmupEnds();
    }
    long from = sampler.nanos();
    Tally.Totals countsBefore = counts;
    DatabaseStats statsBefore = sampler.stats();
    ThreadTimes threads = new ThreadTimes();
    List<ThreadTimes.Group> times;
    try (Hlog hlog = settings.hlog() == null ? null : hlog()) {
      ended = ended || phase(crew, sampler, start, settings.duration().toNanos(), false, hlog);
      times = threads.since();
    } catch (IOException e) {
      throw new DriverException(Exit.ERROR, "cannot write " + settings.hlog() + ": " + e, e);
    }
    crew.end(ended);
    return new Result(
        (sampler.nanos() - from) / 1e9,
        virtual,
        pipelined,
        counts.since(countsBefore),
        totals,
        statsBefore,
        sampler.stats(),
        sampler.series(),
        times);
  }

  private Hlog hlog() throws IOException {
    return new Hlog(
        settings.hlog(),
        "TPC-C on Fovea, mix " + settings.mix() + ", durability " + settings.level(),
        Arrays.stream(TxnType.values()).map(type -> type.id).toList());
  }

  /**
   * Waits for a phase to end, sampling and reporting progress. The last sample is taken at the end,
   * so the intervals of the series add up to the totals. Returns true if the workers ended early or
   * a signal arrived.
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
        show(counts.since(before), (now - start) / 1e9, (now - lineAt) / 1e9, warmingUp);
        before = counts;
        lineAt = now;
      }
    }
  }

  /** Returns the size of the data in multiples of the pool. */
  private static double dataRatio(DatabaseStats stats) {
    DatabaseStats.Storage data = stats.storage();
    DatabaseStats.Buffer buffer = stats.buffer();
    return (double) (data.bytes() - data.freeBytes()) / (buffer.frames() * buffer.pageSize());
  }

  private void sample(Sampler sampler, boolean warmingUp, Hlog hlog) {
    Histogram[] intervals = collect();
    interval.reset();
    for (Histogram h : intervals) {
      if (h != null) {
        interval.add(h);
      }
    }
    counts = counts();
    sampler.sample(interval, counts.get(Tally.What.COMMITS), counts.get(Tally.What.RETRIES));
    if (!warmingUp) {
      keep(intervals, hlog);
    }
  }

  private void show(Tally.Totals delta, double at, double seconds, boolean warmingUp) {
    long commits = delta.get(Tally.What.COMMITS);
    long retries = delta.get(Tally.What.RETRIES);
    progress.running(
        at,
        warmingUp,
        commits / seconds,
        delta.get(TxnType.NEW_ORDER, Tally.What.COMMITS) / seconds,
        retries / (double) Math.max(1, commits + retries),
        settings.level());
  }

  private Tally.Totals counts() {
    return Tally.Totals.of(workers.stream().map(w -> w.tally).toList());
  }

  private Histogram[] collect() {
    Histogram[] intervals = new Histogram[TxnType.COUNT];
    for (TxnType type : TxnType.values()) {
      int t = type.ordinal();
      if (totals[t] == null) {
        continue;
      }
      intervals[t] = new Histogram(Percentiles.LATENCY_MAX_NANOS, latencyDigits);
      for (int i = 0; i < workers.size(); i++) {
        SingleWriterRecorder recorder = workers.get(i).latencies(type);
        recycled[t][i] = recorder.getIntervalHistogram(recycled[t][i]);
        intervals[t].add(recycled[t][i]);
      }
    }
    return intervals;
  }

  private void keep(Histogram[] intervals, Hlog hlog) {
    for (int t = 0; t < totals.length; t++) {
      if (totals[t] != null) {
        totals[t].add(intervals[t]);
      }
    }
    if (hlog != null) {
      hlog.write(intervals);
    }
  }
}
