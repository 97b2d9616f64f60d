package io.fovea.tpcc.settings;

import io.fovea.Options;
import io.fovea.config.Durability;
import io.fovea.config.Io;
import io.fovea.config.LocationCacheLayout;
import io.fovea.config.Protocol;
import io.fovea.config.Replacement;
import io.fovea.config.TimestampStore;
import io.fovea.config.Translation;
import io.fovea.tpcc.bench.Sizes;
import java.nio.file.Path;
import java.util.function.LongSupplier;
import picocli.CommandLine.Option;

/** The options of a database and of the report; null if not given. */
public class EngineOptions {
  /** Lets a killed run continue, and measures the engine with its log. */
  private static final Durability DEFAULT_DURABILITY = Durability.ASYNC;

  @Option(
      names = "--buffer",
      paramLabel = "SIZE",
      converter = SizeConverter.class,
      description = "size of the buffer pool, such as 512m or 2g (default: fits the data)")
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
      description = "page translation: ${COMPLETION-CANDIDATES} (default: predictive)")
  private Translation translation = Options.defaults().experiments().translation();

  @Option(
      names = "--huge-pages",
      negatable = true,
      defaultValue = "true",
      fallbackValue = "true",
      description =
          "use huge pages for the buffer (default: yes); --no-huge-pages shows the cost of the"
              + " processor's page table")
  private boolean hugePages;

  @Option(
      names = "--hints",
      paramLabel = "KIND",
      completionCandidates = HintConverter.class,
      converter = HintConverter.class,
      description =
          "hints to use: ${COMPLETION-CANDIDATES}; frame: frames of child pages, page: locations of"
              + " records (default: all)")
  private HintKind hints = HintKind.ALL;

  @Option(
      names = "--replacement",
      paramLabel = "KIND",
      completionCandidates = ReplacementConverter.class,
      converter = ReplacementConverter.class,
      description = "page replacement policy: ${COMPLETION-CANDIDATES} (default: second-chance)")
  private Replacement replacement = Options.defaults().experiments().replacement();

  @Option(
      names = "--reads",
      paramLabel = "N",
      description =
          "maximum concurrent page reads of a thread in a batch of lookups, 1 to 64 (default: 64)")
  private int reads = Options.defaults().device().maxInFlightReads();

  @Option(
      names = "--protocol",
      paramLabel = "KIND",
      completionCandidates = ProtocolConverter.class,
      converter = ProtocolConverter.class,
      description = "concurrency control protocol: ${COMPLETION-CANDIDATES} (default: tictoc)")
  private Protocol protocol;

  @Option(
      names = "--timestamps",
      paramLabel = "KIND",
      completionCandidates = TimestampConverter.class,
      converter = TimestampConverter.class,
      description =
          "store for the timestamps of inactive keys: ${COMPLETION-CANDIDATES} (default:"
              + " focus-sketch)")
  private TimestampStore timestamps = Options.defaults().experiments().timestamps();

  @Option(
      names = "--sketch-bytes",
      paramLabel = "SIZE",
      converter = SizeConverter.class,
      description = "initial size of the sketch or cache of timestamps (default: 32k)")
  private long sketchBytes = Options.defaults().memory().sketchBytesMin();

  @Option(
      names = "--sketch-bytes-max",
      paramLabel = "SIZE",
      converter = SizeConverter.class,
      description =
          "size up to which a sketch grows when it causes aborts (default: it does" + " not)")
  private Long sketchBytesMax;

  @Option(
      names = "--active-timestamp-bytes",
      paramLabel = "SIZE",
      converter = SizeConverter.class,
      description = "size of the table of exact timestamps (default: 512k, with a cache 128k)")
  private Long activeTimestampBytes;

  @Option(
      names = "--timestamp-bytes",
      paramLabel = "SIZE",
      converter = SizeConverter.class,
      description =
          "limit for the memory of exact timestamps; memory needs 64 bytes per key (default:"
              + " 256m)")
  private long timestampBytes = Options.defaults().memory().timestampBytes();

  @Option(
      names = "--evict-immediately",
      description =
          "evict exact timestamps as soon as no transaction uses the key (default: when their"
              + " slot is needed)")
  private boolean evictImmediately;

  @Option(
      names = "--timestamps-in-buffer",
      description =
          "take the memory of timestamps from the buffer, for any store (default: separate"
              + " it)")
  private boolean timestampsInBuffer;

  @Option(
      names = "--cache-locations",
      description =
          "cache the locations of keys in all tables and indexes, for point reads (default:"
              + " in none)")
  private boolean cacheLocations;

  @Option(
      names = "--location-cache-layout",
      paramLabel = "KIND",
      completionCandidates = PlaceConverter.class,
      converter = PlaceConverter.class,
      description =
          "with --cache-locations, layout of the cache: ${COMPLETION-CANDIDATES}; shortcut: a directory of"
              + " virtual memory (default: flat)")
  private LocationCacheLayout locationCacheLayout;

  @Option(
      names = "--locks",
      paramLabel = "on|off",
      completionCandidates = LocksConverter.class,
      converter = LocksConverter.class,
      description =
          "off: no concurrency control, to measure its cost; needs one thread, and no"
              + " --protocol (default: on)")
  private Locks locks = Locks.ON;

  @Option(
      names = "--durability",
      paramLabel = "LEVEL",
      completionCandidates = DurabilityConverter.class,
      converter = DurabilityConverter.class,
      description =
          "durability of commits: ${COMPLETION-CANDIDATES} (default: async; with --io memory"
              + " none)")
  public Durability durability;

  @Option(
      names = "--log",
      paramLabel = "SIZE",
      converter = SizeConverter.class,
      description =
          "limit on the log read by recovery; a smaller value means more checkpoints (default:"
              + " 512m)")
  public Long log;

  @Option(names = "--json", paramLabel = "FILE", description = "write a JSON report to FILE")
  public Path json;

  public int pageSize() {
    return pageSize != null ? Math.toIntExact(pageSize) : Options.defaults().device().pageSize();
  }

  /** Tells whether the database is in memory only. */
  public boolean inMemory() {
    return io == IoKind.MEMORY;
  }

  /** Returns a message for a mistake, or null. */
  public String mistake() {
    if (reads < 1 || reads > Options.defaults().device().maxInFlightReads()) {
      return "--reads must be 1 to "
          + Options.defaults().device().maxInFlightReads()
          + ", not "
          + reads;
    }
    if (locationCacheLayout != null && !cacheLocations) {
      return "--location-cache-layout needs --cache-locations";
    }
    if (locks == Locks.OFF && protocol != null) {
      return "--locks off excludes --protocol";
    }
    return inMemory() && durability != null && durability != Durability.NONE
        ? "--io memory has no log: use --durability none"
        : null;
  }

  /** Returns a message if the options do not allow this many threads or clients, or null. */
  public String mistake(int threads, int clients) {
    return locks == Locks.OFF && Math.max(threads, clients) > 1
        ? "--locks off needs a single client: use --threads 1 without --clients"
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
        cacheLocations,
        locationCacheLayout != null
            ? locationCacheLayout
            : Options.defaults().experiments().locationCacheLayout(),
        locks == Locks.ON,
        hugePages);
  }

  /** Returns a suffix for file names of databases with unusual page sizes. */
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

  static final class PlaceConverter extends WordConverter<LocationCacheLayout> {
    PlaceConverter() {
      super(LocationCacheLayout.values());
    }
  }

  /** The values of {@code --locks}. */
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
