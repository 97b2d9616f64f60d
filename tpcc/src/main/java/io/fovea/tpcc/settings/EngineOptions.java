package io.fovea.tpcc.settings;

import io.fovea.Options;
import io.fovea.config.Durability;
import io.fovea.config.Io;
import io.fovea.config.PlaceDirectory;
import io.fovea.config.Protocol;
import io.fovea.config.Replacement;
import io.fovea.config.TimestampStore;
import io.fovea.config.Translation;
import io.fovea.tpcc.bench.Sizes;
import java.nio.file.Path;
import java.util.function.LongSupplier;
import picocli.CommandLine.Option;

/** How a database is opened, and where the report goes; null where not given. */
public class EngineOptions {
  /** A run that was killed goes on where it was, and the figures are those of an engine at work. */
  private static final Durability DEFAULT_DURABILITY = Durability.ASYNC;

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
  private Long pageSize;

  @Option(
      names = "--io",
      paramLabel = "KIND",
      completionCandidates = IoConverter.class,
      converter = IoConverter.class,
      description = "${COMPLETION-CANDIDATES} (default: auto)")
  private IoKind io = IoKind.AUTO;

  @Option(
      names = "--translation",
      paramLabel = "KIND",
      completionCandidates = TranslationConverter.class,
      converter = TranslationConverter.class,
      description = "how pages are found: ${COMPLETION-CANDIDATES} (default: predictive)")
  private Translation translation = Options.defaults().experiments().translation();

  @Option(
      names = "--huge-pages",
      negatable = true,
      defaultValue = "true",
      fallbackValue = "true",
      description =
          "whether the buffer asks for huge pages (default: yes); with --no-huge-pages it is seen"
              + " what the processor's page table costs")
  private boolean hugePages;

  @Option(
      names = "--hints",
      paramLabel = "KIND",
      completionCandidates = HintConverter.class,
      converter = HintConverter.class,
      description =
          "which places are remembered: ${COMPLETION-CANDIDATES}: frames of children, places of"
              + " records (default: all)")
  private HintKind hints = HintKind.ALL;

  @Option(
      names = "--replacement",
      paramLabel = "KIND",
      completionCandidates = ReplacementConverter.class,
      converter = ReplacementConverter.class,
      description =
          "which pages leave the buffer: ${COMPLETION-CANDIDATES} (default: second-chance)")
  private Replacement replacement = Options.defaults().experiments().replacement();

  @Option(
      names = "--reads",
      paramLabel = "N",
      description = "how many pages a thread has read at a time, 1 to 64 (default: 64)")
  private int reads = Options.defaults().device().maxInFlightReads();

  @Option(
      names = "--protocol",
      paramLabel = "KIND",
      completionCandidates = ProtocolConverter.class,
      converter = ProtocolConverter.class,
      description =
          "what makes transactions serializable: ${COMPLETION-CANDIDATES} (default: tictoc)")
  private Protocol protocol;

  @Option(
      names = "--timestamps",
      paramLabel = "KIND",
      completionCandidates = TimestampConverter.class,
      converter = TimestampConverter.class,
      description =
          "where timestamps of keys out of use are: ${COMPLETION-CANDIDATES} (default:"
              + " focus-sketch)")
  private TimestampStore timestamps = Options.defaults().experiments().timestamps();

  @Option(
      names = "--sketch-bytes",
      paramLabel = "SIZE",
      converter = SizeConverter.class,
      description = "how large a sketch or a cache of timestamps is (default: 32k)")
  private long sketchBytes = Options.defaults().memory().sketchBytesMin();

  @Option(
      names = "--sketch-bytes-max",
      paramLabel = "SIZE",
      converter = SizeConverter.class,
      description =
          "up to which size a sketch grows where it makes transactions abort (default: it does"
              + " not)")
  private Long sketchBytesMax;

  @Option(
      names = "--active-timestamp-bytes",
      paramLabel = "SIZE",
      converter = SizeConverter.class,
      description =
          "how large the region of exact timestamps is (default: 512k; beside a cache 128k)")
  private Long activeTimestampBytes;

  @Option(
      names = "--timestamp-bytes",
      paramLabel = "SIZE",
      converter = SizeConverter.class,
      description =
          "what exact timestamps may take at most; memory needs 64 bytes for each key (default:"
              + " 256m)")
  private long timestampBytes = Options.defaults().memory().timestampBytes();

  @Option(
      names = "--evict-immediately",
      description =
          "exact timestamps leave as soon as no transaction uses the key (default: when their"
              + " place is wanted)")
  private boolean evictImmediately;

  @Option(
      names = "--timestamps-in-buffer",
      description =
          "the memory of timestamps is a part of the buffer, whatever the store (default: beside"
              + " it)")
  private boolean timestampsInBuffer;

  @Option(
      names = "--places",
      description =
          "point reads begin where a record was seen last: in all tables and indexes (default:"
              + " in none)")
  private boolean places;

  @Option(
      names = "--place-directory",
      paramLabel = "KIND",
      completionCandidates = PlaceConverter.class,
      converter = PlaceConverter.class,
      description =
          "with --places, how they lie in memory: ${COMPLETION-CANDIDATES}, behind a directory of"
              + " virtual memory (default: flat)")
  private PlaceDirectory placeDirectory;

  @Option(
      names = "--locks",
      paramLabel = "on|off",
      completionCandidates = LocksConverter.class,
      converter = LocksConverter.class,
      description =
          "off: no concurrency control, for what it costs; with one thread only, and without"
              + " --protocol (default: on)")
  private Locks locks = Locks.ON;

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
  public Long log;

  @Option(names = "--json", paramLabel = "FILE", description = "write a report in JSON to FILE")
  public Path json;

  public int pageSize() {
    return pageSize != null ? Math.toIntExact(pageSize) : Options.defaults().device().pageSize();
  }

  /** Whether there is no file at all. */
  public boolean inMemory() {
    return io == IoKind.MEMORY;
  }

  /** What is wrong, or null. */
  public String mistake() {
    if (reads < 1 || reads > Options.defaults().device().maxInFlightReads()) {
      return "--reads is 1 to " + Options.defaults().device().maxInFlightReads() + ", not " + reads;
    }
    if (placeDirectory != null && !places) {
      return "--place-directory is of --places, which is not given";
    }
    if (locks == Locks.OFF && protocol != null) {
      return "--locks off has no protocol: leave --protocol out";
    }
    return inMemory() && durability != null && durability != Durability.NONE
        ? "--io memory has no log: --durability none is all there is"
        : null;
  }

  /** What is wrong with so many threads or clients, or null. */
  public String mistake(int threads, int clients) {
    return locks == Locks.OFF && Math.max(threads, clients) > 1
        ? "--locks off is for one thread, which has nobody beside it: --threads 1, and no --clients"
        : null;
  }

  /** Fills in the defaults. */
  public EngineSettings settle(LongSupplier defaultBuffer) {
    boolean memory = inMemory();
    return new EngineSettings(
        durability != null ? durability : memory ? Durability.NONE : DEFAULT_DURABILITY,
        log != null ? log : Options.defaults().log().maxBytes(),
        buffer != null ? buffer : defaultBuffer.getAsLong(),
        pageSize(),
        memory ? Io.AUTO : Io.valueOf(io.name()),
        translation,
        hints,
        replacement,
        reads,
        protocol != null ? protocol : Options.defaults().experiments().protocol(),
        timestamps,
        sketchBytes,
        sketchBytesMax != null ? sketchBytesMax : sketchBytes,
        activeTimestampBytes != null ? activeTimestampBytes : 0,
        timestampBytes,
        evictImmediately,
        timestampsInBuffer,
        places,
        placeDirectory != null ? placeDirectory : Options.defaults().experiments().placeDirectory(),
        locks == Locks.ON,
        hugePages);
  }

  /** What a file's name says of pages that are not of the usual size. */
  public static String pages(int pageSize) {
    return pageSize == Options.defaults().device().pageSize()
        ? ""
        : "-" + Sizes.format(pageSize) + "-pages";
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

  static final class PlaceConverter extends WordConverter<PlaceDirectory> {
    PlaceConverter() {
      super(PlaceDirectory.values());
    }
  }

  /** Whether transactions are told apart. */
  enum Locks {
    ON,
    OFF
  }

  static final class LocksConverter extends WordConverter<Locks> {
    LocksConverter() {
      super(Locks.values());
    }
  }

  static final class DurabilityConverter extends WordConverter<Durability> {
    DurabilityConverter() {
      super(Durability.values());
    }
  }
}
