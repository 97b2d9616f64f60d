package io.fovea.tpcc.lookups;

import io.fovea.tpcc.bench.Memory;
import io.fovea.tpcc.settings.DurationConverter;
import io.fovea.tpcc.settings.EngineOptions;
import io.fovea.tpcc.settings.Mistakes;
import io.fovea.tpcc.settings.RecordOptions;
import io.fovea.tpcc.settings.RunOptions;
import io.fovea.tpcc.settings.WorkOptions;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.TypeConversionException;

/** The options of {@code lookups}, in addition to {@link EngineOptions}. */
final class LookupArguments {
  private static final int DEFAULT_VALUE_BYTES = 120;
  private static final int MAX_DEPTH = 4_096;
  private static final double MAX_THETA = 10;

  /**
   * Size of a record in addition to its value: key, slot, timestamps, and its share of inner nodes.
   */
  private static final int RECORD_OVERHEAD_BYTES = 40;

  @Mixin final RecordOptions store = new RecordOptions();
  @Mixin private final WorkOptions work = new WorkOptions();
  @Mixin private final RunOptions run = new RunOptions();

  @Option(
      names = "--value-bytes",
      paramLabel = "N",
      description = "size of a value; the key takes 8 more bytes (default: 120)")
  private int valueBytes = DEFAULT_VALUE_BYTES;

  @Option(
      names = "--depth",
      paramLabel = "D",
      description = "keys that a transaction reads at once (default: 1)")
  private int depth = 1;

  @Option(
      names = "--writes",
      paramLabel = "P",
      description = "percentage of the keys that are also updated (default: 0)")
  private int writes;

  @Option(
      names = "--theta",
      paramLabel = "T",
      description =
          "draw keys from a scrambled Zipf distribution over a fixed working set (default:"
              + " uniform)")
  private double theta;

  @Option(
      names = "--working-set",
      paramLabel = "SIZE",
      converter = ShareConverter.class,
      description =
          "size of the range of records to look up: 1.1 means 1.1 times the pool, 50%% means half"
              + " of the records (default: 100%%)")
  private Share workingSet;

  @Option(
      names = "--grow",
      paramLabel = "FROM..TO",
      converter = GrowthConverter.class,
      description = "change the size of the working set linearly over the measured time")
  private List<Share> grow;

  @Option(
      names = "--shrink",
      description = "with --grow: shrink back in the second half of the measured time")
  private boolean shrink;

  @Option(
      names = "--drift",
      paramLabel = "PERCENT",
      converter = PartConverter.class,
      description = "part of the working set to replace at every interval, such as 25%%")
  private double drift;

  @Option(
      names = "--interval",
      paramLabel = "TIME",
      converter = DurationConverter.class,
      description = "with --drift: time between two replacements (default: 10s)")
  private Duration interval;

  @Option(
      names = "--sizes",
      paramLabel = "SIZE",
      split = ",",
      converter = ShareConverter.class,
      description =
          "measure these working sets in turn, each for --duration, and compare them with a"
              + " cost model based on misses, such as 0.5,0.9,1.0,1.1,2,3")
  private List<Share> sizes;

  String mistake(EngineOptions engine) {
    if (valueBytes < LookupTable.VALUE_BYTES_MIN || valueBytes > LookupTable.VALUE_BYTES_MAX) {
      return "--value-bytes: " + LookupTable.VALUE_BYTES_MIN + " to " + LookupTable.VALUE_BYTES_MAX;
    }
    String mistake = store.mistake(work, run);
    if (mistake != null) {
      return mistake;
    }
    if (run.virtual != (run.clients != null)) {
      return "--clients and --virtual need each other; without them there is one client per thread";
    }
    if (Mistakes.outside(depth, MAX_DEPTH)) {
      return "--depth: 1 to " + MAX_DEPTH;
    }
    if (writes < 0 || writes > 100) {
      return "--writes: 0 to 100";
    }
    if (!(theta >= 0 && theta <= MAX_THETA)) {
      return "--theta: 0 (uniform) to 10";
    }
    if (run.duration.isZero()) {
      return "--duration must be more than 0";
    }
    mistake = workingSetMistake();
    if (mistake == null) {
      mistake = store.mistake(engine);
    }
    if (mistake != null) {
      return mistake;
    }
    mistake = engine.mistake(work.threads(), run.clients(work.threads()));
    if (mistake != null) {
      return mistake;
    }
    try {
      settle(engine).engineOptions();
    } catch (IllegalArgumentException | ArithmeticException e) {
      return e.getMessage();
    }
    return Mistakes.misplaced(store.path, engine.json);
  }

  private String workingSetMistake() {
    int ways = (workingSet != null ? 1 : 0) + (grow != null ? 1 : 0) + (sizes != null ? 1 : 0);
    if (ways > 1) {
      return "--working-set, --grow and --sizes exclude each other";
    }
    boolean drifts = drift > 0;
    if (drifts && (grow != null || sizes != null)) {
      return "--drift excludes --grow and --sizes";
    }
    if (shrink && grow == null) {
      return "--shrink needs --grow";
    }
    if (interval != null && !drifts) {
      return "--interval needs --drift";
    }
    if (interval != null && interval.isZero()) {
      return "--interval must be more than 0";
    }
    if (theta > 0 && (drifts || grow != null)) {
      return "--theta excludes --grow and --drift";
    }
    return null;
  }

  LookupSettings settle(EngineOptions engine) {
    List<Share> shares = sizes;
    if (shares == null) {
      shares =
          List.of(grow != null ? grow.getFirst() : workingSet != null ? workingSet : Share.ALL);
    }
    return new LookupSettings(
        store.path(engine, defaultPath(engine.pageSize())),
        store.records,
        valueBytes,
        work.threads(),
        run.clients(work.threads()),
        depth,
        writes,
        theta,
        shares,
        grow != null ? grow.getLast() : null,
        shrink,
        drift,
        interval != null ? interval : RunOptions.DEFAULT_DURATION,
        run.duration,
        run.warmup,
        work.seed,
        engine.settle(
            () ->
                Memory.bounded(
                    store.records * (valueBytes + RECORD_OVERHEAD_BYTES)
                        + LookupLoader.room(work.threads(), engine.pageSize()))),
        engine.json);
  }

  private Path defaultPath(int pageSize) {
    return Path.of(
        "lookups-" + store.records + "x" + valueBytes + EngineOptions.pages(pageSize) + ".fovea");
  }

  /** See {@link Share#parse}. */
  static final class ShareConverter implements ITypeConverter<Share> {
    @Override
    public Share convert(String value) {
      try {
        return Share.parse(value);
      } catch (IllegalArgumentException e) {
        throw new TypeConversionException(e.getMessage());
      }
    }
  }

  /** Parses 0.5..3, or 10%..90%. */
  static final class GrowthConverter implements ITypeConverter<List<Share>> {
    @Override
    public List<Share> convert(String value) {
      String[] ends = value.split("\\.\\.", -1);
      if (ends.length != 2) {
        throw new TypeConversionException(
            "'" + value + "' is not a growth: expected two sizes, such as 0.5..3");
      }
      ShareConverter share = new ShareConverter();
      List<Share> growth = List.of(share.convert(ends[0]), share.convert(ends[1]));
      if (growth.getFirst().equals(growth.getLast())) {
        throw new TypeConversionException(
            "'" + value + "' is not a growth: both sizes are the same");
      }
      return growth;
    }
  }

  /** Parses 25% or 0.25; at most 1. */
  static final class PartConverter implements ITypeConverter<Double> {
    @Override
    public Double convert(String value) {
      try {
        double part = Share.parse(value).value();
        if (part <= 1) {
          return part;
        }
      } catch (IllegalArgumentException e) {
        // reported below
      }
      throw new TypeConversionException(
          "'" + value + "' is not a fraction: expected one such as 25% or 0.25");
    }
  }
}
