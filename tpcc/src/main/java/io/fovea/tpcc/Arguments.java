package io.fovea.tpcc;

import io.fovea.Durability;
import io.fovea.Io;
import io.fovea.Options;
import io.fovea.Protocol;
import io.fovea.Replacement;
import io.fovea.TimestampStore;
import io.fovea.Translation;
import io.fovea.tpcc.bench.Sizes;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Iterator;
import java.util.Locale;
import java.util.function.LongSupplier;
import java.util.stream.Stream;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Option;
import picocli.CommandLine.TypeConversionException;

/** The options as they are given on the command line; null and empty where they are not. */
public final class Arguments {
  public static final Duration DEFAULT_DURATION = Duration.ofSeconds(10);
  public static final Duration DEFAULT_WARMUP = Duration.ofSeconds(3);
  private static final int MAX_WAREHOUSES = 100_000;
  public static final int MAX_THREADS = 1_000;

  /** A run that was killed goes on where it was, and the figures are those of an engine at work. */
  static final Durability DEFAULT_DURABILITY = Durability.ASYNC;

  private static final int TERMINALS_PER_WAREHOUSE = 10;

  private Arguments() {}

  /** How a database is opened, and where the report goes. */
  public static class Engine {
    @Option(
        names = "--buffer",
        paramLabel = "SIZE",
        converter = SizeConverter.class,
        description = "the buffer pool, such as 512m or 2g (default: what the data needs)")
    public Long buffer;

    @Option(
        names = "--page-size",
        paramLabel = "SIZE",
        converter = SizeConverter.class,
        description = "4k to 64k (default: 4k)")
    Long pageSize;

    @Option(
        names = "--io",
        paramLabel = "KIND",
        completionCandidates = IoConverter.class,
        converter = IoConverter.class,
        description = "${COMPLETION-CANDIDATES} (default: auto)")
    public IoKind io = IoKind.AUTO;

    @Option(
        names = "--translation",
        paramLabel = "KIND",
        completionCandidates = TranslationConverter.class,
        converter = TranslationConverter.class,
        description = "how pages are found: ${COMPLETION-CANDIDATES} (default: predictive)")
    Translation translation = Options.defaults().translation();

    @Option(
        names = "--hints",
        paramLabel = "KIND",
        completionCandidates = HintConverter.class,
        converter = HintConverter.class,
        description =
            "which places are remembered: ${COMPLETION-CANDIDATES}: frames of children, places of"
                + " records (default: all)")
    HintKind hints = HintKind.ALL;

    @Option(
        names = "--replacement",
        paramLabel = "KIND",
        completionCandidates = ReplacementConverter.class,
        converter = ReplacementConverter.class,
        description =
            "which pages leave the buffer: ${COMPLETION-CANDIDATES} (default: second-chance)")
    Replacement replacement = Options.defaults().replacement();

    @Option(
        names = "--protocol",
        paramLabel = "KIND",
        completionCandidates = ProtocolConverter.class,
        converter = ProtocolConverter.class,
        description =
            "what makes transactions serializable: ${COMPLETION-CANDIDATES} (default: tictoc)")
    Protocol protocol = Options.defaults().protocol();

    @Option(
        names = "--timestamps",
        paramLabel = "KIND",
        completionCandidates = TimestampConverter.class,
        converter = TimestampConverter.class,
        description =
            "where timestamps of keys out of use are: ${COMPLETION-CANDIDATES} (default:"
                + " focus-sketch)")
    TimestampStore timestamps = Options.defaults().timestamps();

    @Option(
        names = "--sketch-bytes",
        paramLabel = "SIZE",
        converter = SizeConverter.class,
        description = "how large a sketch or a cache of timestamps is (default: 32k)")
    long sketchBytes = Options.defaults().sketchBytesMin();

    @Option(
        names = "--sketch-bytes-max",
        paramLabel = "SIZE",
        converter = SizeConverter.class,
        description =
            "up to which size a sketch grows where it makes transactions abort (default: it does"
                + " not)")
    Long sketchBytesMax;

    @Option(
        names = "--durability",
        paramLabel = "LEVEL",
        completionCandidates = DurabilityConverter.class,
        converter = DurabilityConverter.class,
        description =
            "what a commit survives: ${COMPLETION-CANDIDATES} (default: async; with --io memory"
                + " none)")
    public Durability durability;

    @Option(
        names = "--log",
        paramLabel = "SIZE",
        converter = SizeConverter.class,
        description =
            "how much log an opening may have to read: less of it, more checkpoints (default:"
                + " 512m)")
    Long log;

    @Option(names = "--json", paramLabel = "FILE", description = "write a report in JSON to FILE")
    public Path json;

    public int pageSize() {
      return pageSize != null ? Math.toIntExact(pageSize) : Options.defaults().pageSize();
    }

    /** Fills in the defaults. */
    public EngineSettings settle(LongSupplier defaultBuffer) {
      boolean memory = io == IoKind.MEMORY;
      return new EngineSettings(
          durability != null ? durability : memory ? Durability.NONE : DEFAULT_DURABILITY,
          log != null ? log : Options.defaults().logBytesMax(),
          buffer != null ? buffer : defaultBuffer.getAsLong(),
          pageSize(),
          memory ? Io.AUTO : Io.valueOf(io.name()),
          translation,
          hints,
          replacement,
          protocol,
          timestamps,
          sketchBytes,
          sketchBytesMax != null ? sketchBytesMax : sketchBytes);
    }
  }

  /** Which database of warehouses, and how it is opened. */
  static final class Store extends Engine {
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
    Duration duration = DEFAULT_DURATION;

    @Option(
        names = "--warmup",
        paramLabel = "TIME",
        converter = DurationConverter.class,
        description = "the time before it (default: 3s)")
    Duration warmup = DEFAULT_WARMUP;

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

  /** {@code --io}: the engine's kinds, and no file at all. */
  public enum IoKind {
    AUTO,
    URING,
    POSIX,
    MEMORY
  }

  /** The mistakes that a look at the options alone shows; a message, or null. */
  static String mistake(Store store, Work work, Measure measure) {
    if (store.warehouses != null && outside(store.warehouses, MAX_WAREHOUSES)) {
      return "--warehouses: 1 to " + MAX_WAREHOUSES;
    }
    if (work.threads != null && outside(work.threads, MAX_THREADS)) {
      return "--threads: 1 to " + MAX_THREADS;
    }
    if (measure.clients != null) {
      if (outside(measure.clients, MAX_THREADS)) {
        return "--clients: 1 to " + MAX_THREADS;
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
    return misplaced(store.path, store.json, measure.hlog, measure.acknowledge);
  }

  /**
   * Says which file, of those that are not null, can't be where it is to be; null where all can.
   */
  public static String misplaced(Path... files) {
    for (Path file : files) {
      Path folder = file == null ? null : file.toAbsolutePath().getParent();
      if (folder != null && !Files.isDirectory(folder)) {
        return "there is no folder " + folder;
      }
      if (file != null && Files.isDirectory(file)) {
        return file + " is a folder";
      }
    }
    return null;
  }

  public static boolean outside(int n, int max) {
    return n < 1 || n > max;
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
      threads = Math.min(TERMINALS_PER_WAREHOUSE * warehouses, MAX_THREADS);
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
    return Path.of("tpcc-" + warehouses + "w" + pages(pageSize) + ".fovea");
  }

  /** What a file's name says of pages that are not of the usual size. */
  public static String pages(int pageSize) {
    return pageSize == Options.defaults().pageSize() ? "" : "-" + Sizes.format(pageSize) + "-pages";
  }

  private static long size(Path path) {
    return path == null ? 0 : path.toFile().length();
  }

  /** 4096, 4k, 1g. */
  static final class SizeConverter implements ITypeConverter<Long> {
    @Override
    public Long convert(String value) {
      try {
        return Sizes.parse(value);
      } catch (IllegalArgumentException e) {
        throw new TypeConversionException(e.getMessage());
      }
    }
  }

  /** 10, 10s, 1.5s, 500ms, 5m, 1h. */
  public static final class DurationConverter implements ITypeConverter<Duration> {
    @Override
    public Duration convert(String value) {
      String s = value.strip().toLowerCase(Locale.ROOT);
      String number = s.replaceFirst("(?<=\\d)\\s*(ms|s|m|h)?$", "");
      double scale =
          switch (s.substring(number.length()).strip()) {
            case "ms" -> 1e6;
            case "m" -> 60e9;
            case "h" -> 3_600e9;
            default -> 1e9;
          };
      double nanos = number.matches("\\d+(\\.\\d+)?") ? Double.parseDouble(number) * scale : -1;
      if (nanos < 0 || nanos > Duration.ofDays(365).toNanos()) {
        throw new TypeConversionException(
            "'" + value + "' is no time: expected seconds, or a number with ms, s, m or h");
      }
      return Duration.ofNanos((long) nanos);
    }
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

  /** An enum's constants as {@code lower-case-words}. */
  public abstract static class WordConverter<E extends Enum<E>>
      implements ITypeConverter<E>, Iterable<String> {
    private final E[] constants;

    protected WordConverter(E[] constants) {
      this.constants = constants;
    }

    private static String word(Enum<?> e) {
      return e.name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    @Override
    public Iterator<String> iterator() {
      return words().iterator();
    }

    private Stream<String> words() {
      return Arrays.stream(constants).map(WordConverter::word);
    }

    @Override
    public E convert(String value) {
      for (E e : constants) {
        if (word(e).equalsIgnoreCase(value.replace('_', '-'))) {
          return e;
        }
      }
      throw new TypeConversionException(
          "'" + value + "' is not one of " + String.join(", ", words().toList()));
    }
  }

  static final class IoConverter extends WordConverter<IoKind> {
    IoConverter() {
      super(IoKind.values());
    }
  }

  static final class TranslationConverter extends WordConverter<Translation> {
    TranslationConverter() {
      super(Translation.values());
    }
  }

  static final class HintConverter extends WordConverter<HintKind> {
    HintConverter() {
      super(HintKind.values());
    }
  }

  static final class ReplacementConverter extends WordConverter<Replacement> {
    ReplacementConverter() {
      super(Replacement.values());
    }
  }

  static final class ProtocolConverter extends WordConverter<Protocol> {
    ProtocolConverter() {
      super(Protocol.values());
    }
  }

  static final class TimestampConverter extends WordConverter<TimestampStore> {
    TimestampConverter() {
      super(TimestampStore.values());
    }
  }

  static final class DurabilityConverter extends WordConverter<Durability> {
    DurabilityConverter() {
      super(Durability.values());
    }
  }
}
