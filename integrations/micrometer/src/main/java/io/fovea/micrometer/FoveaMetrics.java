package io.fovea.micrometer;

import io.fovea.Database;
import io.fovea.DatabaseStats;
import io.fovea.error.AbortCause;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.InvalidUseException;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.FunctionTimer;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.TimeGauge;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.ToDoubleFunction;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * Publishes the meters of a database in a Micrometer registry.
 *
 * <p>docs/reference/meters.md lists the meters and their tags.
 *
 * <p>Every meter has the tags {@code db}, the database's name, and {@code db.id}, its {@linkplain
 * Database#id id}, which distinguishes databases of the same name in different directories. Copies
 * of a data file have the same id: give each a further tag. Meters only read counters that the
 * engine maintains anyway. They are removed when the database closes.
 *
 * <p>Thread-safe.
 *
 * @since 0.1.0
 */
public final class FoveaMetrics implements MeterBinder {
  // More than 600 lines, because each meter has its description here.

  private static final long FRESH_NANOS = 50_000_000;

  private final Database database;
  private final Tags tags;
  private final Source source;

  /**
   * Creates the meters of a database.
   *
   * @param database the database
   */
  public FoveaMetrics(Database database) {
    this(database, Tags.empty());
  }

  /**
   * Creates the meters of a database.
   *
   * @param database the database
   * @param tags further tags for all meters
   */
  public FoveaMetrics(Database database, Iterable<Tag> tags) {
    this.database = Objects.requireNonNull(database, "database");
    this.tags =
        Tags.of(Objects.requireNonNull(tags, "tags"))
            .and("db", database.name(), "db.id", database.id().toString());
    this.source = new Source(database);
  }

  /**
   * Registers the meters.
   *
   * @param registry the registry
   * @throws DatabaseClosedException if the database is closed
   * @throws InvalidUseException if the registry already has meters of this database, or of another
   *     one with the same name, id and tags; nothing is registered
   */
  @Override
  public void bindTo(MeterRegistry registry) {
    Binding b = new Binding(Objects.requireNonNull(registry, "registry"));
    boolean bound = false;
    try {
      b.all();
      source.forget();
      // The listener also keeps the source alive, to which registries have only weak references.
      database.onClose(b::remove);
      bound = true;
    } finally {
      if (!bound) {
        b.remove();
      }
    }
  }

  /** Caches the statistics, so that one read serves all meters of a scrape. */
  private static final class Source {
    private final Database database;
    private @Nullable DatabaseStats last;
    private long lastNanos;

    Source(Database database) {
      this.database = database;
    }

    double get(ToDoubleFunction<DatabaseStats> value) {
      DatabaseStats s = stats();
      return s == null ? Double.NaN : value.applyAsDouble(s);
    }

    Map<String, DatabaseStats.Body> bodies() {
      DatabaseStats s = stats();
      return s == null ? Map.of() : s.bodies();
    }

    /** Makes the next read current: binding has read the names of bodies. */
    synchronized void forget() {
      last = null;
    }

    private synchronized @Nullable DatabaseStats stats() {
      long now = System.nanoTime();
      if (last == null || now - lastNanos > FRESH_NANOS) {
        try {
          last = database.stats();
          lastNanos = now;
        } catch (DatabaseClosedException e) {
          // the last known figures
        }
      }
      return last;
    }
  }

  private final class Binding {
    private final MeterRegistry registry;
    private final OwnMeters meters;
    private final TableMeters tables;
    private final BodyMeters bodies;

    Binding(MeterRegistry registry) {
      this.registry = registry;
      this.meters = new OwnMeters(registry);
      this.tables = new TableMeters(database, registry, meters, tags);
      this.bodies = new BodyMeters(source::bodies, registry, meters, tags);
    }

    void all() {
      buffer();
      descents();
      transactions();
      named("bodies", "Names of bodies with figures", bodies, BodyMeters::bodies);
      timestamps();
      device();
      log();
      storage();
      memory();
      hints();
      snapshots();
      named("tables", "Tables", tables, TableMeters::tables);
      expiry();
      loads();
    }

    void remove() {
      tables.remove();
      bodies.remove();
      meters.removeAll();
      source.get(s -> 0); // keeps the source reachable until here
    }

    private void counter(
        String name,
        String what,
        @Nullable String unit,
        ToLongFunction<DatabaseStats> value,
        String... more) {
      meters.add(
          FunctionCounter.builder("fovea." + name, source, x -> x.get(s -> value.applyAsLong(s)))
              .description(what)
              .baseUnit(unit)
              .tags(tags.and(more))
              .register(registry));
    }

    private void gauge(
        String name,
        String what,
        @Nullable String unit,
        ToLongFunction<DatabaseStats> value,
        String... more) {
      meters.add(
          Gauge.builder("fovea." + name, source, x -> x.get(s -> value.applyAsLong(s)))
              .description(what)
              .baseUnit(unit)
              .tags(tags.and(more))
              .strongReference(true)
              .register(registry));
    }

    /** Adds a gauge of a number of names, whose reads add the meters of each; reads it once. */
    private <T> void named(String name, String what, T of, ToDoubleFunction<T> count) {
      meters.add(
          Gauge.builder("fovea." + name, of, count)
              .description(what)
              .tags(tags)
              .strongReference(true)
              .register(registry));
      count.applyAsDouble(of);
    }

    void buffer() {
      String gets = "Page accesses of transactions";
      counter("buffer.gets", gets, null, s -> s.buffer().hits(), "result", "hit");
      counter("buffer.gets", gets, null, s -> s.buffer().misses(), "result", "miss");
      String evictions = "Pages dropped from the buffer";
      counter(
          "buffer.evictions", evictions, null, s -> s.buffer().evictionsClean(), "state", "clean");
      counter(
          "buffer.evictions", evictions, null, s -> s.buffer().evictionsDirty(), "state", "dirty");
      timer(
          "buffer.eviction.wait",
          "Waits for a frame",
          s -> s.buffer().frameWaits(),
          s -> s.buffer().frameWaitNanos());
      String pages = "Frames of the buffer by content";
      gauge("buffer.pages", pages, null, s -> s.buffer().framesFree(), "state", "free");
      gauge("buffer.pages", pages, null, s -> s.buffer().framesDirty(), "state", "dirty");
      gauge("buffer.pages", pages, null, FoveaMetrics::framesClean, "state", "clean");
      gauge("buffer.size", "Memory of the buffer", "bytes", s -> s.buffer().bytes());
      gauge("buffer.max", "Limit of the buffer's memory", "bytes", s -> s.buffer().maxBytes());
      translations("hinted", DatabaseStats.Buffer::hinted);
      translations("predicted", DatabaseStats.Buffer::predicted);
      translations("mispredicted", DatabaseStats.Buffer::mispredicted);
      counter(
          "buffer.promotions",
          "Pages moved to their preferred frame",
          null,
          s -> s.buffer().promotions());
      String unswizzlings = "Evictions by whether a reference to the page was unswizzled";
      counter(
          "buffer.unswizzlings",
          unswizzlings,
          null,
          s -> s.buffer().unswizzled(),
          "result",
          "done");
      counter(
          "buffer.unswizzlings",
          unswizzlings,
          null,
          s -> s.buffer().unswizzlingsRefused(),
          "result",
          "refused");
    }

    void descents() {
      String steps = "Steps from an inner node to a child by state of the frame hint";
      counter("descents.steps", steps, null, s -> s.descents().stepsByHint(), "hint", "right");
      counter("descents.steps", steps, null, s -> s.descents().hintsStale(), "hint", "stale");
      counter("descents.steps", steps, null, FoveaMetrics::stepsWithoutHint, "hint", "none");
      String repairs = "Frame hints found wrong or missing by whether they were repaired";
      counter("descents.repairs", repairs, null, s -> s.descents().hintRepairs(), "result", "done");
      counter(
          "descents.repairs",
          repairs,
          null,
          s -> s.descents().hintRepairsMissed(),
          "result",
          "missed");
      String positions =
          "Accesses that began at a record's last location by whether it was still there";
      counter(
          "descents.position.hints",
          positions,
          null,
          FoveaMetrics::positionsRight,
          "result",
          "right");
      counter(
          "descents.position.hints",
          positions,
          null,
          s -> s.descents().positionHintsStale(),
          "result",
          "stale");
      String remembered = "Accesses by cached key location by whether the key was still there";
      counter(
          "descents.cached.locations",
          remembered,
          null,
          s -> s.descents().cachedLocationsRight(),
          "result",
          "right");
      counter(
          "descents.cached.locations",
          remembered,
          null,
          s -> Math.max(0, s.descents().cachedLocations() - s.descents().cachedLocationsRight()),
          "result",
          "other");
    }

    void transactions() {
      String what = "Ended attempts of transactions";
      counter(
          "transactions", what, null, DatabaseStats::commits, "outcome", "commit", "cause", "none");
      counter(
          "transactions",
          what,
          null,
          DatabaseStats::rollbacks,
          "outcome",
          "rollback",
          "cause",
          "user");
      for (AbortCause c : AbortCause.values()) {
        counter(
            "transactions",
            what,
            null,
            s -> s.abortsByCause().getOrDefault(c, 0L),
            "outcome",
            "abort",
            "cause",
            c.name().toLowerCase(Locale.ROOT));
      }
      gauge("transactions.active", "Running transactions", null, DatabaseStats::activeTransactions);
      gauge(
          "transactions.waiting",
          "Threads waiting to begin a transaction",
          null,
          DatabaseStats::waitingTransactions);
      meters.add(
          TimeGauge.builder(
                  "fovea.transactions.oldest.age",
                  source,
                  TimeUnit.NANOSECONDS,
                  x -> x.get(DatabaseStats::oldestTransactionNanos))
              .description("Age of the oldest running transaction")
              .tags(tags)
              .strongReference(true)
              .register(registry));
      meters.add(
          FunctionTimer.builder(
                  "fovea.transactions.duration",
                  source,
                  x -> (long) x.get(DatabaseStats::commits),
                  x -> x.get(DatabaseStats::transactionNanos),
                  TimeUnit.NANOSECONDS)
              .description("Time from begin to commit of a transaction")
              .tags(tags.and("outcome", "commit"))
              .register(registry));
      counter(
          "transactions.retries",
          "Attempts of transactions after the first",
          null,
          DatabaseStats::retries);
      counter(
          "transactions.pessimistic",
          "Pessimistic attempts of transactions",
          null,
          DatabaseStats::pessimisticAttempts);
    }

    void timestamps() {
      gauge("timestamps.live", "Records with exact timestamps", null, s -> s.timestamps().live());
      gauge(
          "timestamps.capacity",
          "Limit of records with exact timestamps",
          null,
          s -> s.timestamps().capacity());
      String lookups = "Records that got exact timestamps by whether they started from a bound";
      counter(
          "timestamps.lookups",
          lookups,
          null,
          s -> s.timestamps().approximate(),
          "result",
          "approximate");
      counter(
          "timestamps.lookups",
          lookups,
          null,
          s -> s.timestamps().materialised() - s.timestamps().approximate(),
          "result",
          "exact");
      counter(
          "timestamps.suspected.false.conflicts",
          "Aborts that the bound of another record may have caused",
          null,
          s -> s.timestamps().suspectedFalseConflicts());
      gauge("timestamps.sketch", "Size of the sketch", "bytes", s -> s.timestamps().sketchBytes());
      counter("timestamps.resizes", "Resizes of the sketch", null, s -> s.timestamps().resizes());
      String pages = "Pages of timestamps read and written";
      counter("timestamps.pages", pages, null, s -> s.timestamps().pageReads(), "op", "read");
      counter("timestamps.pages", pages, null, s -> s.timestamps().pageWrites(), "op", "write");
    }

    void log() {
      counter("wal.written", "Bytes written to the log", "bytes", s -> s.log().writtenBytes());
      counter("wal.syncs", "Syncs of the log", null, s -> s.log().syncs());
      counter("wal.group.size", "Records made durable by the syncs", null, s -> s.log().records());
      gauge("wal.size", "Log that recovery would read", "bytes", s -> s.log().redoBytes());
      timer(
          "wal.wait",
          "Waits of transactions for durability",
          s -> s.log().waits(),
          s -> s.log().waitNanos());
      timer(
          "checkpoints", "Checkpoints", s -> s.checkpoints().made(), s -> s.checkpoints().nanos());
      meters.add(
          TimeGauge.builder(
                  "fovea.recovery.duration",
                  source,
                  TimeUnit.NANOSECONDS,
                  x -> x.get(s -> s.recovery().nanos()))
              .description("Time that recovery took at opening")
              .tags(tags)
              .strongReference(true)
              .register(registry));
      gauge(
          "health",
          "1 while the database works",
          null,
          s -> s.health() == DatabaseStats.Health.OK ? 1 : 0);
      counter(
          "checksum.failures",
          "Pages that were unreadable or damaged",
          null,
          s -> s.buffer().readFailures());
    }

    private void timer(
        String name,
        String what,
        ToLongFunction<DatabaseStats> count,
        ToDoubleFunction<DatabaseStats> nanos) {
      meters.add(
          FunctionTimer.builder(
                  "fovea." + name,
                  source,
                  x -> (long) x.get(s -> count.applyAsLong(s)),
                  x -> x.get(nanos),
                  TimeUnit.NANOSECONDS)
              .description(what)
              .tags(tags)
              .register(registry));
    }

    void device() {
      String device = database.stats().io().kind();
      String operations = "Operations of the device";
      counter(
          "io.operations", operations, null, s -> s.io().reads(), "op", "read", "device", device);
      counter(
          "io.operations", operations, null, s -> s.io().writes(), "op", "write", "device", device);
      counter(
          "io.operations", operations, null, s -> s.io().syncs(), "op", "sync", "device", device);
      String transferred = "Bytes transferred by the device";
      counter("io.transferred", transferred, "bytes", s -> s.io().readBytes(), "op", "read");
      counter("io.transferred", transferred, "bytes", s -> s.io().writtenBytes(), "op", "write");
      String errors = "Failed operations of the device";
      counter("io.errors", errors, null, s -> s.io().readErrors(), "op", "read", "kind", "device");
      counter(
          "io.errors", errors, null, s -> s.io().writeErrors(), "op", "write", "kind", "device");
      counter("io.errors", errors, null, s -> s.io().syncErrors(), "op", "sync", "kind", "device");
    }

    void storage() {
      String what = "Size of the files by content";
      gauge(
          "storage.size",
          what,
          "bytes",
          s -> s.storage().bytes() - s.storage().freeBytes(),
          "kind",
          "data");
      gauge("storage.size", what, "bytes", s -> s.storage().freeBytes(), "kind", "free");
      gauge("storage.size", what, "bytes", s -> s.storage().logBytes(), "kind", "wal");
      counter(
          "storage.moved", "Pages moved by compactions", "bytes", s -> s.storage().bytesMoved());
      counter(
          "storage.reclaimed",
          "Free pages cut off the end of the data file",
          "bytes",
          s -> s.storage().bytesReclaimed());
      counter(
          "storage.punched",
          "Holes punched into the data file",
          "bytes",
          s -> s.storage().bytesPunched());
    }

    void memory() {
      memory("buffer", m -> m.bufferBytes());
      memory("timestamps", m -> m.timestampBytes());
      memory("log", m -> m.logBytes());
      memory("transactions", m -> m.transactionBytes());
      memory("trees", m -> m.treeBytes());
      memory("locations", m -> m.locationCacheBytes());
      String what = "Limit of off-heap memory";
      gauge("memory.max", what, "bytes", s -> s.memory().bufferBytesMax(), "part", "buffer");
      gauge("memory.max", what, "bytes", s -> s.memory().timestampBytesMax(), "part", "timestamps");
      gauge(
          "memory.max",
          what,
          "bytes",
          s -> s.memory().locationCacheBytesMax(),
          "part",
          "locations");
    }

    void hints() {
      String lookups = "Records looked up by the hint of an index entry";
      hints("lookups", lookups, "result", "hit", h -> h.hits());
      hints("lookups", lookups, "result", "stale", h -> h.lookups() - h.hits());
      String stale = "Stale hints in index entries by the stale part";
      hints("stale", stale, "part", "unset", h -> h.unset());
      hints("stale", stale, "part", "resident", h -> h.notResident());
      hints("stale", stale, "part", "freed", h -> h.freed());
      hints("stale", stale, "part", "tree", h -> h.otherTree());
      hints("stale", stale, "part", "keys", h -> h.otherKeys());
      hints("stale", stale, "part", "frame", h -> h.frames());
      hints("stale", stale, "part", "slot", h -> h.slots());
      String repairs = "Hints in index entries that were repaired, and those that were left";
      hints("repairs", repairs, "part", "page", h -> h.pageRepairs());
      hints("repairs", repairs, "part", "frame", h -> h.frameRepairs());
      hints("repairs", repairs, "part", "slot", h -> h.slotRepairs());
      hints("repairs", repairs, "part", "line", h -> h.lineRepairs());
      hints("repairs", repairs, "part", "missed", h -> h.repairsMissed());
      hints("repairs", repairs, "part", "suppressed", h -> h.repairsSuppressed());
      gauge(
          "hints.repairs.disabled",
          "Kinds of hints, over all indexes, that are currently not repaired",
          null,
          s -> s.hintedLookups().repairsDisabled());
    }

    void snapshots() {
      gauge("snapshots.open", "Open snapshots", null, s -> s.snapshots().open());
      counter(
          "snapshots.evicted",
          "Snapshots evicted for lack of space",
          null,
          s -> s.snapshots().evicted());
      counter(
          "snapshots.copies",
          "Pages copied for snapshots before they changed",
          null,
          s -> s.snapshots().pagesCopied());
      String size = "Copies of pages for snapshots";
      gauge("snapshots.size", size, "bytes", s -> s.snapshots().memoryBytes(), "place", "memory");
      gauge("snapshots.size", size, "bytes", s -> s.snapshots().fileBytes(), "place", "file");
    }

    void expiry() {
      counter("expiry.swept", "Expired rows that were removed", null, s -> s.expiredRows().swept());
      counter(
          "expiry.deferred",
          "Expired rows that readers met before their removal",
          null,
          s -> s.expiredRows().deferred());
      counter(
          "expiry.failures",
          "Failed sweeps of expired rows, which are retried later",
          null,
          s -> s.expiredRows().sweepFailures());
      gauge(
          "expiry.lag",
          "Time since the expiry of the oldest row that the sweep met",
          "milliseconds",
          s -> s.expiredRows().sweepLagMillis());
    }

    private void translations(String result, ToLongFunction<DatabaseStats.Buffer> count) {
      counter(
          "buffer.translations",
          "Page accesses by how the frame was found",
          null,
          s -> count.applyAsLong(s.buffer()),
          "result",
          result);
    }

    void loads() {
      gauge("load.running", "Loads and index builds", null, s -> s.loads().running());
      counter(
          "load.records",
          "Records that loads have read from sources",
          null,
          s -> s.loads().records());
      counter(
          "load.index.records",
          "Records that index builds have read",
          null,
          s -> s.loads().indexRecords());
      counter(
          "load.written",
          "Pages written for new tables and indexes",
          "bytes",
          s -> s.loads().writtenBytes());
      counter("load.runs", "Sorted runs written to files", null, s -> s.loads().runs());
      counter(
          "load.runs.written", "Sorted runs written to files", "bytes", s -> s.loads().runBytes());
    }

    private void hints(
        String name,
        String what,
        String tag,
        String value,
        ToLongFunction<DatabaseStats.HintedLookups> count) {
      counter("hints." + name, what, null, s -> count.applyAsLong(s.hintedLookups()), tag, value);
    }

    private void memory(String part, ToLongFunction<DatabaseStats.Memory> bytes) {
      gauge(
          "memory.used",
          "Off-heap memory",
          "bytes",
          s -> bytes.applyAsLong(s.memory()),
          "part",
          part);
    }
  }

  private static long stepsWithoutHint(DatabaseStats s) {
    DatabaseStats.Descents d = s.descents();
    return Math.max(0, d.steps() - d.stepsByHint() - d.hintsStale());
  }

  private static long positionsRight(DatabaseStats s) {
    return Math.max(0, s.descents().positionHints() - s.descents().positionHintsStale());
  }

  private static long framesClean(DatabaseStats s) {
    DatabaseStats.Buffer b = s.buffer();
    return Math.max(0, b.frames() - b.framesFree() - b.framesDirty());
  }
}
