package io.fovea.tpcc;

import io.fovea.Durability;
import io.fovea.tpcc.settings.Defaults;
import io.fovea.tpcc.settings.DurationConverter;
import io.fovea.tpcc.settings.EngineOptions;
import io.fovea.tpcc.settings.EngineSettings;
import io.fovea.tpcc.settings.IoKind;
import io.fovea.tpcc.settings.Mistakes;
import java.nio.file.Path;
import java.time.Duration;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Option;
import picocli.CommandLine.TypeConversionException;

/** The options as they are given on the command line; null and empty where they are not. */
final class Arguments {
  private static final int MAX_WAREHOUSES = 100_000;

  private static final int TERMINALS_PER_WAREHOUSE = 10;

  private Arguments() {}

  /** Which database of warehouses, and how it is opened. */
  static final class Store extends EngineOptions {
    @Option(
        names = "--path",
        paramLabel = "FILE",
        description = "the database (default: tpcc-<warehouses>w.fovea in the current folder)")
    Path path;

    @Option(
        names = "--warehouses",
        paramLabel = "N",
        description = "how many warehouses (default: those that FILE has, or 1)")
    Integer warehouses;
  }

  /** What a load and a run share. */
  static final class Work {
    @Option(
        names = "--threads",
        paramLabel = "N",
        description =
            "how many threads load and run, or carry the clients (default: one a warehouse, as far"
                + " as there are processors; with --wait ten a warehouse)")
    Integer threads;

    @Option(
        names = "--seed",
        paramLabel = "N",
        description = "of all random numbers (default: ${DEFAULT-VALUE})")
    long seed = 1;
  }

  /** What is measured. */
  static final class Measure {
    @Option(
        names = "--clients",
        paramLabel = "N",
        description =
            "how many clients run transactions, each waiting for its own to be durable; more than"
                + " threads share them (default: one a thread)")
    Integer clients;

    @Option(
        names = "--virtual",
        description =
            "clients that share threads are virtual threads, as always with --rate and --wait; else"
                + " a thread works for one while the commit of another becomes durable")
    boolean virtual;

    @Option(
        names = "--duration",
        paramLabel = "TIME",
        converter = DurationConverter.class,
        description = "the measured time, such as 30, 30s or 5m (default: 10s)")
    Duration duration = Defaults.DURATION;

    @Option(
        names = "--warmup",
        paramLabel = "TIME",
        converter = DurationConverter.class,
        description = "the time before it (default: 3s)")
    Duration warmup = Defaults.WARMUP;

    @Option(
        names = "--mix",
        paramLabel = "MIX",
        converter = MixConverter.class,
        description =
            "full: a deck of 23 cards; half: New-Order and Payment 50/50; or five weights, such as"
                + " 45,43,4,4,4 (default: full)")
    Mix mix = Mix.FULL;

    @Option(
        names = "--affinity",
        negatable = true,
        defaultValue = "true",
        fallbackValue = "true",
        description =
            "every thread has warehouses of its own (default); with --no-affinity it draws one of"
                + " all for each transaction")
    boolean affinity = true;

    @Option(
        names = "--rate",
        paramLabel = "N",
        description =
            "transactions a second of all threads; latencies then count from the intended start"
                + " (default: as many as go)")
    double rate;

    @Option(
        names = "--wait",
        description = "threads are terminals with keying and think times (default: no)")
    boolean wait;

    @Option(
        names = "--hlog",
        paramLabel = "FILE",
        description = "write latencies in HdrHistogram's log format to FILE")
    Path hlog;

    @Option(
        names = "--acknowledge",
        paramLabel = "FILE",
        hidden = true,
        description = "add the transactions that were acknowledged to the list FILE")
    Path acknowledge;

    /** For the subcommands that measure nothing. */
    static Measure nothing() {
      Measure m = new Measure();
      m.duration = Duration.ZERO;
      m.warmup = Duration.ZERO;
      return m;
    }
  }

  /** The mistakes that a look at the options alone shows; a message, or null. */
  static String mistake(Store store, Work work, Measure measure) {
    if (store.warehouses != null && Mistakes.outside(store.warehouses, MAX_WAREHOUSES)) {
      return "--warehouses: 1 to " + MAX_WAREHOUSES;
    }
    if (work.threads != null && Mistakes.outside(work.threads, Mistakes.MAX_THREADS)) {
      return "--threads: 1 to " + Mistakes.MAX_THREADS;
    }
    if (measure.clients != null) {
      if (Mistakes.outside(measure.clients, Mistakes.MAX_THREADS)) {
        return "--clients: 1 to " + Mistakes.MAX_THREADS;
      }
      if (work.threads != null && measure.clients < work.threads) {
        return "--clients: no fewer than --threads, for a thread without a client has no work";
      }
    }
    if (!(measure.rate >= 0 && measure.rate <= 1e9)) {
      return "--rate: 0 (as many as go) to 1000000000 a second";
    }
    if (measure.rate > 0 && measure.wait) {
      return "--rate and --wait exclude each other";
    }
    if (store.io == IoKind.MEMORY && store.path != null) {
      return "--path and --io memory exclude each other";
    }
    if (store.io == IoKind.MEMORY
        && store.durability != null
        && store.durability != Durability.NONE) {
      return "--io memory has no log: --durability none is all there is";
    }
    if (measure.acknowledge != null && store.durability != Durability.SYNC) {
      return "--acknowledge needs --durability sync: only then nothing acknowledged is ever lost";
    }
    try {
      settle(store, work, measure, 1).engineOptions();
    } catch (IllegalArgumentException | ArithmeticException e) {
      return e.getMessage();
    }
    return Mistakes.misplaced(store.path, store.json, measure.hlog, measure.acknowledge);
  }

  /**
   * Fills in the defaults.
   *
   * @param warehousesFound those of the database, where {@code --warehouses} does not say
   */
  static Settings settle(Store store, Work work, Measure measure, int warehousesFound) {
    int warehouses = store.warehouses != null ? store.warehouses : warehousesFound;
    Path path =
        store.io == IoKind.MEMORY
            ? null
            : store.path != null ? store.path : defaultPath(warehouses, store.pageSize());
    int threads;
    if (work.threads != null) {
      threads = work.threads;
    } else if (measure.wait && measure.clients == null) {
      threads = Math.min(TERMINALS_PER_WAREHOUSE * warehouses, Mistakes.MAX_THREADS);
    } else {
      threads = Math.min(warehouses, Runtime.getRuntime().availableProcessors());
      if (measure.clients != null) {
        threads = Math.min(threads, measure.clients);
      }
    }
    int clients = measure.clients != null ? measure.clients : threads;
    double seconds = measure.warmup.plus(measure.duration).toNanos() / 1e9;
    int crew = threads;
    EngineSettings engine =
        store.settle(
            () ->
                WarehouseMemory.defaultBuffer(warehouses, size(path), crew, seconds, measure.rate));
    return new Settings(
        path,
        warehouses,
        threads,
        clients,
        measure.duration,
        measure.warmup,
        work.seed,
        engine,
        measure.mix,
        measure.affinity,
        measure.rate,
        measure.wait,
        store.json,
        measure.hlog,
        measure.acknowledge,
        measure.virtual);
  }

  /**
   * A file for each number of warehouses and page size, in plain sight in the current folder: runs
   * with other options need no other path, and {@code check} finds what {@code run} made.
   */
  static Path defaultPath(int warehouses, int pageSize) {
    return Path.of("tpcc-" + warehouses + "w" + EngineOptions.pages(pageSize) + ".fovea");
  }

  private static long size(Path path) {
    return path == null ? 0 : path.toFile().length();
  }

  /** See {@link Mix#parse}. */
  static final class MixConverter implements ITypeConverter<Mix> {
    @Override
    public Mix convert(String value) {
      try {
        return Mix.parse(value);
      } catch (IllegalArgumentException e) {
        throw new TypeConversionException(e.getMessage());
      }
    }
  }
}
