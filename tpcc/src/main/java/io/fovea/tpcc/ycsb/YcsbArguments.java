package io.fovea.tpcc.ycsb;

import io.fovea.Durability;
import io.fovea.tpcc.bench.Memory;
import io.fovea.tpcc.settings.Defaults;
import io.fovea.tpcc.settings.DurationConverter;
import io.fovea.tpcc.settings.EngineOptions;
import io.fovea.tpcc.settings.IoKind;
import io.fovea.tpcc.settings.Mistakes;
import io.fovea.tpcc.settings.WordConverter;
import java.nio.file.Path;
import java.time.Duration;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Option;
import picocli.CommandLine.TypeConversionException;

/** The options of {@code ycsb} beside those of {@link EngineOptions}; null where not given. */
final class YcsbArguments {
  static final long DEFAULT_RECORDS = 1_000_000;
  private static final long MAX_RECORDS = 100_000_000_000L;
  private static final int MAX_OPS = 1_000;
  private static final int MAX_RETRIES = 1_000_000;
  private static final double MAX_THETA = 10;

  /** Distinct keys are drawn again and again where they are nearly all. */
  private static final int RECORDS_PER_KEY = 4;

  /** What a record takes beside its key and fields. */
  private static final int RECORD_OVERHEAD_BYTES = 16;

  /** What a page has beside records: header and fence keys. */
  private static final int PAGE_OVERHEAD_BYTES = 128;

  /** Of the pool, for what inserts and half-empty pages need. */
  private static final double ROOM = 1.3;

  private static final int DEFAULT_RETRIES = 5;

  /** Which records, and where. */
  static final class Store {
    @Option(
        names = "--path",
        paramLabel = "FILE",
        description = "the database (default: ycsb-<records>x<fields>.fovea in the current folder)")
    Path path;

    @Option(
        names = "--fresh",
        description = "delete the database and load it anew, also where it has the right records")
    boolean fresh;

    @Option(
        names = "--workload",
        paramLabel = "NAME",
        completionCandidates = WorkloadConverter.class,
        converter = WorkloadConverter.class,
        description = "${COMPLETION-CANDIDATES} (default: a)")
    Workload workload = Workload.A;

    @Option(
        names = "--records",
        paramLabel = "N",
        description = "how many; must be those of FILE where it has some (default: 1000000)")
    long records = DEFAULT_RECORDS;

    @Option(
        names = "--pool",
        paramLabel = "PART",
        converter = PartConverter.class,
        description = "instead of --buffer: a part of what the records take, such as 10%%")
    Double pool;

    @Option(
        names = "--threads",
        paramLabel = "N",
        description = "how many threads load and run, or carry the clients (default: 1)")
    int threads = 1;

    @Option(
        names = "--seed",
        paramLabel = "N",
        description = "of all random numbers (default: ${DEFAULT-VALUE})")
    long seed = 1;
  }

  /** What is done with them. */
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
            "clients that share threads are virtual threads; else a thread works for one while the"
                + " commit of another becomes durable")
    boolean virtual;

    @Option(
        names = "--ops",
        paramLabel = "N",
        description = "operations of a transaction of the workloads a to f (default: 1)")
    Integer ops;

    @Option(
        names = "--read-first",
        description =
            "writes of the other workloads read the record before, and replace a part of it"
                + " (default: they write it whole)")
    boolean readFirst;

    @Option(
        names = "--distribution",
        paramLabel = "KIND",
        completionCandidates = ShapeConverter.class,
        converter = ShapeConverter.class,
        description = "which keys: ${COMPLETION-CANDIDATES} (default: the workload's)")
    Keys.Shape keys;

    @Option(
        names = "--theta",
        paramLabel = "T",
        description = "of the distributions zipfian and latest (default: the workload's)")
    Double theta;

    @Option(
        names = "--hot-keys",
        paramLabel = "PART",
        converter = PartConverter.class,
        description = "with --distribution hotspot: how many keys are hot (default: 20%%)")
    Double hotKeys;

    @Option(
        names = "--hot-operations",
        paramLabel = "PART",
        converter = PartConverter.class,
        description = "and how many of the operations they get (default: 80%%)")
    Double hotOperations;

    @Option(
        names = "--retries",
        paramLabel = "N",
        description = "how often an aborted transaction is done again at most (default: 5)")
    int retries = DEFAULT_RETRIES;

    @Option(
        names = "--backoff",
        paramLabel = "TIME",
        converter = DurationConverter.class,
        description =
            "the wait before that, doubled each time, such as 0.1ms (default: the engine's own,"
                + " which is short)")
    Duration backoff = Duration.ZERO;

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
        names = "--hlog",
        paramLabel = "FILE",
        description = "write latencies in HdrHistogram's log format to FILE")
    Path hlog;
  }

  private YcsbArguments() {}

  /** The mistakes that a look at the options alone shows; a message, or null. */
  static String mistake(EngineOptions engine, Store store, Measure measure) {
    if (store.records < 1 || store.records > MAX_RECORDS) {
      return "--records: 1 to " + MAX_RECORDS;
    }
    if (Mistakes.outside(store.threads, Mistakes.MAX_THREADS)) {
      return "--threads: 1 to " + Mistakes.MAX_THREADS;
    }
    if (measure.clients != null
        && (measure.clients < store.threads || measure.clients > Mistakes.MAX_THREADS)) {
      return "--clients: from --threads to " + Mistakes.MAX_THREADS;
    }
    String mistake = workloadMistake(store, measure);
    if (mistake != null) {
      return mistake;
    }
    if (store.pool != null && engine.buffer != null) {
      return "--pool and --buffer exclude each other";
    }
    if (engine.io == IoKind.MEMORY) {
      if (store.path != null || store.fresh) {
        return "--io memory excludes --path and --fresh";
      }
      if (engine.durability != null && engine.durability != Durability.NONE) {
        return "--io memory has no log: --durability none is all there is";
      }
    }
    try {
      settle(engine, store, measure).engineOptions();
    } catch (IllegalArgumentException | ArithmeticException e) {
      return e.getMessage();
    }
    return Mistakes.misplaced(store.path, engine.json, measure.hlog);
  }

  private static String workloadMistake(Store store, Measure measure) {
    if (measure.ops != null && Mistakes.outside(measure.ops, MAX_OPS)) {
      return "--ops: 1 to " + MAX_OPS;
    }
    if (measure.ops != null && store.workload.transactional()) {
      return "--ops is for the workloads a to f: transactions of the others have a size";
    }
    if (measure.readFirst && !store.workload.transactional()) {
      return "--read-first is not for the workloads a to f: their updates read the record anyway";
    }
    Keys.Shape keys = measure.keys != null ? measure.keys : store.workload.keys;
    boolean zipf = keys == Keys.Shape.ZIPFIAN || keys == Keys.Shape.LATEST;
    if (measure.theta != null && !zipf) {
      return "--theta is for the distributions zipfian and latest";
    }
    if (measure.theta != null && !(measure.theta > 0 && measure.theta <= MAX_THETA)) {
      return "--theta: more than 0, and 10 at most; --distribution uniform is 0";
    }
    if ((measure.hotKeys != null || measure.hotOperations != null) && keys != Keys.Shape.HOTSPOT) {
      return "--hot-keys and --hot-operations are for --distribution hotspot";
    }
    if (measure.retries < 0 || measure.retries > MAX_RETRIES) {
      return "--retries: 0 to " + MAX_RETRIES;
    }
    int most = 0;
    for (Kind kind : store.workload.kinds(measure.ops == null ? 1 : measure.ops, false)) {
      most = Math.max(most, kind.size());
    }
    if (most > 1 && store.records < (long) most * RECORDS_PER_KEY) {
      return "--records: at least "
          + most * RECORDS_PER_KEY
          + ", for a transaction uses up to "
          + most
          + " different ones";
    }
    return null;
  }

  /** Fills in the defaults. */
  static Settings settle(EngineOptions engine, Store store, Measure measure) {
    int clients = measure.clients != null ? measure.clients : store.threads;
    int fields = store.workload.fields;
    long data = dataBytes(store.records, fields, engine.pageSize());
    return new Settings(
        engine.io == IoKind.MEMORY
            ? null
            : store.path != null ? store.path : defaultPath(store, engine.pageSize()),
        store.workload,
        store.records,
        store.threads,
        clients,
        measure.virtual,
        measure.ops != null ? measure.ops : 1,
        measure.readFirst,
        measure.keys != null ? measure.keys : store.workload.keys,
        measure.theta != null ? measure.theta : store.workload.theta,
        measure.hotKeys != null ? measure.hotKeys : .2,
        measure.hotOperations != null ? measure.hotOperations : .8,
        measure.retries,
        measure.backoff,
        measure.duration,
        measure.warmup,
        store.seed,
        engine.settle(
            () ->
                store.pool != null
                    ? (long) (store.pool * data)
                    : Memory.bounded((long) (ROOM * data))),
        engine.json,
        measure.hlog);
  }

  /** What so many records take in full pages; the nodes above them are less than a hundredth. */
  private static long dataBytes(long records, int fields, int pageSize) {
    long perPage =
        (pageSize - PAGE_OVERHEAD_BYTES) / (Records.bytes(fields) + RECORD_OVERHEAD_BYTES);
    return (records + perPage - 1) / perPage * pageSize;
  }

  private static Path defaultPath(Store store, int pageSize) {
    return Path.of(
        "ycsb-"
            + store.records
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

  /** 25% or 0.25; above 0 and below 1. */
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
            "'" + value + "' is no part: expected one such as 10% or 0.1");
      }
      return part;
    }
  }
}
