package io.fovea.tpcc.ycsb;

import io.fovea.tpcc.bench.Memory;
import io.fovea.tpcc.settings.DurationConverter;
import io.fovea.tpcc.settings.EngineOptions;
import io.fovea.tpcc.settings.HlogOption;
import io.fovea.tpcc.settings.Mistakes;
import io.fovea.tpcc.settings.RecordOptions;
import io.fovea.tpcc.settings.RunOptions;
import io.fovea.tpcc.settings.WordConverter;
import io.fovea.tpcc.settings.WorkOptions;
import java.nio.file.Path;
import java.time.Duration;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.TypeConversionException;

/** The options of {@code ycsb}, in addition to {@link EngineOptions}; null if not given. */
final class YcsbArguments {
  private static final int MAX_OPS = 1_000;
  private static final int MAX_RETRIES = 1_000_000;
  private static final double MAX_THETA = 10;

  /**
   * Records needed per key of a transaction: drawing distinct keys from too few takes many
   * attempts.
   */
  private static final int RECORDS_PER_KEY = 4;

  /** Overhead of a record in addition to key and fields. */
  private static final int RECORD_OVERHEAD_BYTES = 16;

  /** Overhead of a page: header and fence keys. */
  private static final int PAGE_OVERHEAD_BYTES = 128;

  /** Factor on the size of the pool, for inserts and half-empty pages. */
  private static final double ROOM = 1.3;

  private static final int DEFAULT_RETRIES = 5;

  /** The options of the database. */
  static final class Store {
    @Mixin final RecordOptions where = new RecordOptions();
    @Mixin private final WorkOptions work = new WorkOptions();

    @Option(
        names = "--workload",
        paramLabel = "NAME",
        completionCandidates = WorkloadConverter.class,
        converter = WorkloadConverter.class,
        description = "${COMPLETION-CANDIDATES} (default: a)")
    Workload workload = Workload.A;

    @Option(
        names = "--pool",
        paramLabel = "PART",
        converter = PartConverter.class,
        description = "instead of --buffer: size of the pool as a part of the data, such as 10%%")
    Double pool;
  }

  /** The options of a measurement. */
  static final class Measure {
    @Mixin private final RunOptions run = new RunOptions();
    @Mixin private final HlogOption hlog = new HlogOption();

    @Option(
        names = "--ops",
        paramLabel = "N",
        description = "operations per transaction of workloads a to f (default: 1)")
    Integer ops;

    @Option(
        names = "--read-first",
        description =
            "writes of the other workloads read the record first, and replace a part of it"
                + " (default: they write it whole)")
    boolean readFirst;

    @Option(
        names = "--distribution",
        paramLabel = "KIND",
        completionCandidates = ShapeConverter.class,
        converter = ShapeConverter.class,
        description = "distribution of keys: ${COMPLETION-CANDIDATES} (default: the workload's)")
    Keys.Shape keys;

    @Option(
        names = "--theta",
        paramLabel = "T",
        description = "skew of the distributions zipfian and latest (default: the workload's)")
    Double theta;

    @Option(
        names = "--hot-keys",
        paramLabel = "PART",
        converter = PartConverter.class,
        description = "with --distribution hotspot: part of the keys that are hot (default: 20%%)")
    Double hotKeys;

    @Option(
        names = "--hot-operations",
        paramLabel = "PART",
        converter = PartConverter.class,
        description =
            "with --distribution hotspot: part of the operations on hot keys (default: 80%%)")
    Double hotOperations;

    @Option(
        names = "--retries",
        paramLabel = "N",
        description = "maximum number of retries of an aborted transaction (default: 5)")
    int retries = DEFAULT_RETRIES;

    @Option(
        names = "--backoff",
        paramLabel = "TIME",
        converter = DurationConverter.class,
        description =
            "first wait before a retry, doubled each time, such as 0.1ms (default: the engine's own,"
                + " which is short)")
    Duration backoff = Duration.ZERO;

    @Option(
        names = "--check",
        negatable = true,
        defaultValue = "true",
        fallbackValue = "true",
        description =
            "read all records after the run and compare them with committed transactions (default);"
                + " with --no-check, the report omits the result")
    boolean check = true;
  }

  private YcsbArguments() {}

  static String mistake(EngineOptions engine, Store store, Measure measure) {
    String mistake = store.where.mistake(store.work, measure.run);
    if (mistake == null) {
      mistake = workloadMistake(store, measure);
    }
    if (mistake != null) {
      return mistake;
    }
    if (store.pool != null && engine.buffer != null) {
      return "--pool and --buffer exclude each other";
    }
    mistake = store.where.mistake(engine);
    if (mistake != null) {
      return mistake;
    }
    int threads = store.work.threads();
    mistake = engine.mistake(threads, measure.run.clients(threads));
    if (mistake != null) {
      return mistake;
    }
    try {
      settle(engine, store, measure).engineOptions();
    } catch (IllegalArgumentException | ArithmeticException e) {
      return e.getMessage();
    }
    return Mistakes.misplaced(store.where.path, engine.json, measure.hlog.file);
  }

  private static String workloadMistake(Store store, Measure measure) {
    if (measure.ops != null && Mistakes.outside(measure.ops, MAX_OPS)) {
      return "--ops: 1 to " + MAX_OPS;
    }
    if (measure.ops != null && store.workload.transactional()) {
      return "--ops works only with workloads a to f: the others have fixed transaction sizes";
    }
    if (measure.readFirst && !store.workload.transactional()) {
      return "--read-first does not work with workloads a to f: their updates read the record anyway";
    }
    Keys.Shape keys = measure.keys != null ? measure.keys : store.workload.keys;
    boolean zipf = keys == Keys.Shape.ZIPFIAN || keys == Keys.Shape.LATEST;
    if (measure.theta != null && !zipf) {
      return "--theta works only with the distributions zipfian and latest";
    }
    if (measure.theta != null && !(measure.theta > 0 && measure.theta <= MAX_THETA)) {
      return "--theta must be more than 0 and at most 10; for 0, use --distribution uniform";
    }
    if ((measure.hotKeys != null || measure.hotOperations != null) && keys != Keys.Shape.HOTSPOT) {
      return "--hot-keys and --hot-operations need --distribution hotspot";
    }
    if (measure.retries < 0 || measure.retries > MAX_RETRIES) {
      return "--retries: 0 to " + MAX_RETRIES;
    }
    int most = 0;
    for (Kind kind : store.workload.kinds(measure.ops == null ? 1 : measure.ops, false)) {
      most = Math.max(most, kind.size());
    }
    if (most > 1 && store.where.records < (long) most * RECORDS_PER_KEY) {
      return "--records: at least "
          + most * RECORDS_PER_KEY
          + ", because a transaction uses up to "
          + most
          + " different ones";
    }
    return null;
  }

  static Settings settle(EngineOptions engine, Store store, Measure measure) {
    int threads = store.work.threads();
    int fields = store.workload.fields;
    long data = dataBytes(store.where.records, fields, engine.pageSize());
    return new Settings(
        store.where.path(engine, defaultPath(store, engine.pageSize())),
        store.workload,
        store.where.records,
        threads,
        measure.run.clients(threads),
        measure.run.virtual,
        measure.ops != null ? measure.ops : 1,
        measure.readFirst,
        measure.keys != null ? measure.keys : store.workload.keys,
        measure.theta != null ? measure.theta : store.workload.theta,
        measure.hotKeys != null ? measure.hotKeys : .2,
        measure.hotOperations != null ? measure.hotOperations : .8,
        measure.retries,
        measure.backoff,
        measure.check,
        measure.run.duration,
        measure.run.warmup,
        store.work.seed,
        engine.settle(
            () ->
                store.pool != null
                    ? (long) (store.pool * data)
                    : Memory.bounded((long) (ROOM * data))),
        engine.json,
        measure.hlog.file);
  }

  /** Returns the size of the leaves when full; inner nodes add less than 1 %. */
  private static long dataBytes(long records, int fields, int pageSize) {
    long perPage =
        (pageSize - PAGE_OVERHEAD_BYTES) / (Records.bytes(fields) + RECORD_OVERHEAD_BYTES);
    return (records + perPage - 1) / perPage * pageSize;
  }

  private static Path defaultPath(Store store, int pageSize) {
    return Path.of(
        "ycsb-"
            + store.where.records
            + "x"
            + store.workload.fields
            + EngineOptions.pages(pageSize)
            + ".fovea");
  }

  static final class WorkloadConverter extends WordConverter<Workload> {
    WorkloadConverter() {
      super(Workload.values());
    }
  }

  static final class ShapeConverter extends WordConverter<Keys.Shape> {
    ShapeConverter() {
      super(Keys.Shape.values());
    }
  }

  /** Parses 25% or 0.25; above 0 and below 1. */
  static final class PartConverter implements ITypeConverter<Double> {
    @Override
    public Double convert(String value) {
      String s = value.strip();
      boolean percent = s.endsWith("%");
      String number = percent ? s.substring(0, s.length() - 1).strip() : s;
      double part = number.matches("\\d+(\\.\\d*)?|\\.\\d+") ? Double.parseDouble(number) : 0;
      part = percent ? part / 100 : part;
      if (part <= 0 || part >= 1) {
        throw new TypeConversionException(
            "'" + value + "' is not a fraction: expected one such as 10% or 0.1");
      }
      return part;
    }
  }
}
