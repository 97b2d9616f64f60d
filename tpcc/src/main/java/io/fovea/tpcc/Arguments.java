package io.fovea.tpcc;

import io.fovea.config.Durability;
import io.fovea.tpcc.settings.EngineOptions;
import io.fovea.tpcc.settings.EngineSettings;
import io.fovea.tpcc.settings.HlogOption;
import io.fovea.tpcc.settings.Mistakes;
import io.fovea.tpcc.settings.RunOptions;
import io.fovea.tpcc.settings.WorkOptions;
import java.nio.file.Path;
import java.time.Duration;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.TypeConversionException;

/** The options as given on the command line; null or empty if not given. */
final class Arguments {
  private static final int MAX_WAREHOUSES = 100_000;

  private static final int TERMINALS_PER_WAREHOUSE = 10;

  private Arguments() {}

  /** The options of a database of warehouses. */
  static final class Store extends EngineOptions {
    @Option(
        names = "--path",
        paramLabel = "FILE",
        description = "the database (default: tpcc-<warehouses>w.fovea in the current folder)")
    Path path;

    @Option(
        names = "--warehouses",
        paramLabel = "N",
        description =
            "number of warehouses; must match those of an existing FILE (default: as in FILE, or 1)")
    Integer warehouses;
  }

  /** The options of a measurement. */
  static final class Measure {
    @Mixin final RunOptions run = new RunOptions();
    @Mixin final HlogOption hlog = new HlogOption();

    @Option(
        names = "--mix",
        paramLabel = "MIX",
        converter = MixConverter.class,
        description =
            "full (a deck of 23 cards), half (New-Order and Payment 50/50), or five weights such as"
                + " 45,43,4,4,4 (default: full)")
    Mix mix = Mix.FULL;

    @Option(
        names = "--affinity",
        negatable = true,
        defaultValue = "true",
        fallbackValue = "true",
        description =
            "bind each thread to its own warehouses (default); with --no-affinity, draw the"
                + " warehouse of each transaction from all")
    boolean affinity = true;

    @Option(
        names = "--snapshot",
        description = "keep a snapshot open during warm-up and measurement (default: none)")
    boolean snapshot;

    @Option(
        names = "--check",
        negatable = true,
        defaultValue = "true",
        fallbackValue = "true",
        description =
            "check the consistency conditions of clause 3.3.2 after the run (default); reads all"
                + " data. With --no-check, the report omits them")
    boolean check = true;

    @Option(
        names = "--rate",
        paramLabel = "N",
        description =
            "transactions per second over all threads, with latencies from the intended start;"
                + " clients that share threads are then virtual threads (default: unlimited)")
    double rate;

    @Option(
        names = "--wait",
        description =
            "make clients terminals with keying and think times; clients that share threads are"
                + " then virtual threads (default: no)")
    boolean wait;

    @Option(
        names = "--acknowledge",
        paramLabel = "FILE",
        hidden = true,
        description = "append acknowledged transactions to the list FILE")
    Path acknowledge;

    static Measure nothing() {
      Measure m = new Measure();
      m.run.duration = Duration.ZERO;
      m.run.warmup = Duration.ZERO;
      return m;
    }
  }

  static String mistake(Store store, WorkOptions work, Measure measure) {
    if (store.warehouses != null && Mistakes.outside(store.warehouses, MAX_WAREHOUSES)) {
      return "--warehouses: 1 to " + MAX_WAREHOUSES;
    }
    if (work.mistake() != null) {
      return work.mistake();
    }
    if (measure.run.clients != null) {
      if (Mistakes.outside(measure.run.clients, WorkOptions.MAX_THREADS)) {
        return "--clients: 1 to " + WorkOptions.MAX_THREADS;
      }
      if (work.threads != null && measure.run.clients < work.threads) {
        return "--clients must not be less than --threads";
      }
    }
    if (!(measure.rate >= 0 && measure.rate <= 1e9)) {
      return "--rate: 0 (unlimited) to 1000000000 a second";
    }
    if (measure.rate > 0 && measure.wait) {
      return "--rate and --wait exclude each other";
    }
    if (store.inMemory() && store.path != null) {
      return "--path and --io memory exclude each other";
    }
    if (store.mistake() != null) {
      return store.mistake();
    }
    if (measure.acknowledge != null && store.durability != Durability.SYNC) {
      return "--acknowledge needs --durability sync: other levels may lose acknowledged transactions";
    }
    try {
      Settings settings = settle(store, work, measure, 1);
      String mistake = store.mistake(settings.threads(), settings.clients());
      if (mistake != null) {
        return mistake;
      }
      settings.engineOptions();
    } catch (IllegalArgumentException | ArithmeticException e) {
      return e.getMessage();
    }
    return Mistakes.misplaced(store.path, store.json, measure.hlog.file, measure.acknowledge);
  }

  /**
   * Fills in the defaults.
   *
   * @param warehousesFound the number of warehouses in the database, if {@code --warehouses} is not
   *     given
   */
  static Settings settle(Store store, WorkOptions work, Measure measure, int warehousesFound) {
    int warehouses = store.warehouses != null ? store.warehouses : warehousesFound;
    Path path =
        store.inMemory()
            ? null
            : store.path != null ? store.path : defaultPath(warehouses, store.pageSize());
    int threads;
    if (work.threads != null) {
      threads = work.threads;
    } else if (measure.wait && measure.run.clients == null) {
      threads = Math.min(TERMINALS_PER_WAREHOUSE * warehouses, WorkOptions.MAX_THREADS);
    } else {
      threads = Math.min(warehouses, Runtime.getRuntime().availableProcessors());
      if (measure.run.clients != null) {
        threads = Math.min(threads, measure.run.clients);
      }
    }
    int clients = measure.run.clients != null ? measure.run.clients : threads;
    double seconds = measure.run.warmup.plus(measure.run.duration).toNanos() / 1e9;
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
        measure.run.duration,
        measure.run.warmup,
        work.seed,
        engine,
        measure.mix,
        measure.affinity,
        measure.snapshot,
        measure.rate,
        measure.wait,
        store.json,
        measure.hlog.file,
        measure.acknowledge,
        measure.run.virtual);
  }

  /**
   * Returns a file in the current folder named after warehouses and page size, so that {@code
   * check} finds what {@code run} created without a {@code --path}.
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
