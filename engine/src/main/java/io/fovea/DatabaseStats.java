package io.fovea;

import io.fovea.btree.HintedLeaf;
import io.fovea.buffer.AllocatorState;
import io.fovea.buffer.PoolStats;
import io.fovea.catalog.Expirations;
import io.fovea.catalog.LoadCounters;
import io.fovea.catalog.Schema;
import io.fovea.config.Protocol;
import io.fovea.config.Translation;
import io.fovea.copies.PageCopies;
import io.fovea.error.AbortCause;
import io.fovea.io.IoOp;
import io.fovea.io.IoStats;
import io.fovea.recovery.Checkpointer;
import io.fovea.recovery.RecoveryReport;
import io.fovea.store.Store;
import io.fovea.txn.BodyCounters;
import io.fovea.txn.HintCounters;
import io.fovea.txn.TimestampStats;
import io.fovea.txn.TxStats;
import io.fovea.wal.LogStats;
import java.util.Collections;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Counters and sizes of a database at one point in time. Counters start when the database is
 * opened, and are exact only while it is idle. Times are in nanoseconds, and are totals unless
 * stated otherwise. A value; safe for any thread.
 *
 * @param commits committed transactions
 * @param rollbacks transactions rolled back by their own code, by a call or an exception
 * @param abortsByCause aborted attempts by cause; every cause is a key
 * @param retries attempts after the first
 * @param pessimisticAttempts pessimistic attempts ({@link TxOptions#pessimisticAfterAborts(int)})
 * @param activeTransactions transactions now running
 * @param waitingTransactions threads waiting to begin a transaction, because the maximum number is
 *     running
 * @param oldestTransactionNanos the age of the oldest running transaction; 0 if none is running
 * @param transactionNanos the duration of committed transactions; of the transactions that wrote
 *     nothing, one in seven is measured and stands for all of them
 * @param protocol the concurrency control protocol
 * @param health whether the database works
 * @param buffer the buffer pool
 * @param descents descents of trees, and the effect of hints
 * @param timestamps the timestamps of records in use
 * @param io the device of the data file
 * @param log the log
 * @param checkpoints the checkpoints
 * @param recovery the recovery when the database was opened
 * @param storage the files
 * @param memory the memory outside the Java heap
 * @param snapshots open snapshots and their page copies
 * @param hintedLookups lookups of records by hints in index entries
 * @param expiredRows rows that expire, and their removal
 * @param loads loads of tables and builds of indexes
 * @param bodies transaction bodies by {@linkplain TxOptions#name(String) name}, in order, for the
 *     first 64 names. The entry {@code other}, which is always present, sums up the bodies of
 *     further names. For bodies without a name it includes the retries and aborts, but not the runs
 *     and their duration
 * @since 0.1.0
 */
public record DatabaseStats(
    long commits,
    long rollbacks,
    Map<AbortCause, Long> abortsByCause,
    long retries,
    long pessimisticAttempts,
    long activeTransactions,
    long waitingTransactions,
    long oldestTransactionNanos,
    long transactionNanos,
    Protocol protocol,
    Health health,
    Buffer buffer,
    Descents descents,
    Timestamps timestamps,
    Device io,
    Log log,
    Checkpoints checkpoints,
    Recovery recovery,
    Storage storage,
    Memory memory,
    Snapshots snapshots,
    HintedLookups hintedLookups,
    ExpiredRows expiredRows,
    Loads loads,
    Map<String, Body> bodies) {
  /** The health of a database. */
  public enum Health {
    /** The database works. */
    OK,
    /**
     * A write or sync of the log, or a sync of the data file, failed, and no transaction can begin.
     * Acknowledged commits are present after the next opening.
     */
    DURABILITY_LOST,
    /**
     * A commit failed halfway, and no transaction can begin. With a log, reopening recovers
     * everything.
     */
    STOPPED
  }

  /** Copies the maps. */
  public DatabaseStats {
    abortsByCause = copy(abortsByCause);
    bodies = Collections.unmodifiableMap(new LinkedHashMap<>(bodies));
  }

  private static Map<AbortCause, Long> copy(Map<AbortCause, Long> of) {
    Map<AbortCause, Long> copy = new EnumMap<>(AbortCause.class);
    copy.putAll(of);
    return Collections.unmodifiableMap(copy);
  }

  /** {@return the number of aborted attempts, whatever the cause} */
  public long aborts() {
    return abortsByCause.values().stream().mapToLong(Long::longValue).sum();
  }

  /**
   * The transaction bodies of one {@linkplain TxOptions#name(String) name}. Bodies that {@linkplain
   * TxOptions#joining join} an enclosing one are part of that one. Transactions of {@link
   * Database#begin(TxOptions)} are not included.
   *
   * @param runs calls of {@link Database#run}, {@link Database#call}, {@link Database#read} and
   *     their variants that have returned or thrown
   * @param retries attempts after the first of each run
   * @param abortsByCause aborted attempts by cause; every cause is a key
   * @param nanos the duration of all runs: the attempts, the pauses between them, and the wait for
   *     durability. {@link Database#submit} and {@link Database#runPipelined} do not wait
   * @param maxNanos the duration of the longest run
   * @since 0.2.0
   */
  public record Body(
      long runs, long retries, Map<AbortCause, Long> abortsByCause, long nanos, long maxNanos) {
    /** Copies the map. */
    public Body {
      abortsByCause = copy(abortsByCause);
    }

    private static Body of(BodyCounters.Body body) {
      Map<AbortCause, Long> aborts = new EnumMap<>(AbortCause.class);
      for (AbortCause c : AbortCause.values()) {
        aborts.put(c, body.aborts(c));
      }
      return new Body(body.runs(), body.retries(), aborts, body.nanos(), body.maxNanos());
    }
  }

  /**
   * The buffer pool.
   *
   * @param maxBytes the limit of its memory
   * @param bytes its current memory
   * @param pageSize the size of a page, in bytes
   * @param frames its capacity in pages
   * @param framesFree frames without a page
   * @param framesDirty frames whose page is newer than the file
   * @param hits page accesses that needed no read from the device
   * @param misses page accesses that read from the device
   * @param hinted hits by a hint in a child's entry or in a read or write set; these promote no
   *     page
   * @param predicted other hits whose predicted frame was right, or that needed no prediction
   * @param mispredicted other hits whose page was in another frame and had to be searched
   * @param promotions pages moved to their preferred frame
   * @param evictionsClean pages evicted unchanged
   * @param evictionsDirty pages written and then evicted
   * @param frameWaits waits for a frame, because no page could be evicted without being written
   * @param frameWaitNanos the duration of these waits
   * @param readFailures pages that could not be read or had a wrong checksum
   * @param unswizzled references removed so that the pages they name could be evicted; 0 except
   *     with {@link Translation#SWIZZLED}. {@link Descents#hintRepairs} counts the references
   *     stored
   * @param unswizzlingsRefused pages not evicted because they hold such a reference to a child, or
   *     because their parent was latched
   */
  public record Buffer(
      long maxBytes,
      long bytes,
      int pageSize,
      long frames,
      long framesFree,
      long framesDirty,
      long hits,
      long misses,
      long hinted,
      long predicted,
      long mispredicted,
      long promotions,
      long evictionsClean,
      long evictionsDirty,
      long frameWaits,
      long frameWaitNanos,
      long readFailures,
      long unswizzled,
      long unswizzlingsRefused) {}

  /**
   * Descents of trees by transactions, and the effect of {@link Hints}. Scans and batched lookups
   * are not included.
   *
   * @param steps steps from an inner node to a child
   * @param stepsByHint steps that used the frame hint of the child's entry; 0 without such hints
   * @param hintsMissing steps whose entry had no frame hint
   * @param hintsStale steps whose frame hint was stale: the child was evicted or has moved
   * @param hintRepairs frame hints stored
   * @param hintRepairsMissed frame hints not stored because the entry's page was busy
   * @param positionHints accesses to a record that began at or near its location in the read or
   *     write set
   * @param positionHintsStale such accesses whose location was stale, so that they descended from
   *     the root
   * @param cachedLocations accesses to tables and indexes with {@linkplain
   *     io.fovea.schema.TableSpec#cacheLocations() cached key locations}
   * @param cachedLocationsRight such accesses whose key location was known and entirely right
   */
  public record Descents(
      long steps,
      long stepsByHint,
      long hintsMissing,
      long hintsStale,
      long hintRepairs,
      long hintRepairsMissed,
      long positionHints,
      long positionHintsStale,
      long cachedLocations,
      long cachedLocationsRight) {}

  /**
   * The placement of pages in the buffer pool, from {@link Database#placement}; not part of {@link
   * Database#stats}.
   *
   * @param pages frames that hold a page
   * @param pagesInPreferredFrame pages in their preferred frame, which is checked first; 0 if the
   *     {@link Translation} does not predict
   * @param promotions pages copied to their preferred frame since the database was opened
   * @param demotions pages copied out of their preferred frame to make room for another
   */
  public record Placement(
      long pages, long pagesInPreferredFrame, long promotions, long demotions) {}

  /**
   * The timestamps of records in use.
   *
   * @param live records that now have exact timestamps
   * @param capacity the maximum number of these records
   * @param materialised how often a record got exact timestamps
   * @param approximate how often a record's exact timestamps started from a bound that may be
   *     another record's
   * @param released how often exact timestamps were dropped
   * @param suspectedFalseConflicts conflicts that such a bound may have caused
   * @param sketchBytes the memory of the sketch, 0 if there is none
   * @param resizes resizes of the sketch
   * @param pageReads pages of timestamps read, if they are on disk
   * @param pageWrites pages of timestamps written, if they are on disk
   */
  public record Timestamps(
      long live,
      long capacity,
      long materialised,
      long approximate,
      long released,
      long suspectedFalseConflicts,
      long sketchBytes,
      long resizes,
      long pageReads,
      long pageWrites) {}

  /**
   * The device.
   *
   * @param kind the I/O backend, for example {@code io_uring}
   * @param reads read operations
   * @param writes write operations
   * @param syncs sync operations
   * @param readBytes bytes read
   * @param writtenBytes bytes written
   * @param readErrors failed reads
   * @param writeErrors failed writes
   * @param syncErrors failed syncs
   */
  public record Device(
      String kind,
      long reads,
      long writes,
      long syncs,
      long readBytes,
      long writtenBytes,
      long readErrors,
      long writeErrors,
      long syncErrors) {}

  /**
   * The log. All figures are 0 if there is none.
   *
   * @param enabled whether there is a log
   * @param records records appended
   * @param bytes bytes of these records
   * @param writtenBytes bytes written to the log file
   * @param groups writes of the log, each synced once
   * @param syncs syncs of the log
   * @param waits waits for durability
   * @param waitNanos the time that finished transactions spent waiting for durability
   * @param redoBytes the bytes of log that a recovery would read now
   */
  public record Log(
      boolean enabled,
      long records,
      long bytes,
      long writtenBytes,
      long groups,
      long syncs,
      long waits,
      long waitNanos,
      long redoBytes) {}

  /**
   * The checkpoints.
   *
   * @param made completed checkpoints
   * @param failed failed checkpoints
   * @param nanos the duration of completed checkpoints
   * @param commitWaits waits of commits for checkpoints that had fallen behind
   */
  public record Checkpoints(long made, long failed, long nanos, long commitWaits) {}

  /**
   * The recovery when the database was opened. All figures are 0 if the database had been closed
   * properly.
   *
   * @param logBytes bytes of log read
   * @param records log records
   * @param images page images
   * @param changes changes of records redone
   * @param pagesRestored torn pages restored
   * @param pagesReclaimed allocated pages without an owner
   * @param treesDropped trees dropped because their creation or removal was incomplete
   * @param nanos the duration
   */
  public record Recovery(
      long logBytes,
      long records,
      long images,
      long changes,
      long pagesRestored,
      long pagesReclaimed,
      long treesDropped,
      long nanos) {}

  /**
   * The files. The last three figures are counted from the opening of the database.
   *
   * @param bytes the size of the data file
   * @param freeBytes the bytes of its free pages
   * @param logBytes the size of the log file
   * @param bytesMoved bytes of pages moved by {@link Database#compact}
   * @param bytesReclaimed bytes of free pages cut off the end of the data file
   * @param bytesPunched bytes of free pages punched out within the file ({@link
   *     CompactOptions#punchHoles})
   */
  public record Storage(
      long bytes,
      long freeBytes,
      long logBytes,
      long bytesMoved,
      long bytesReclaimed,
      long bytesPunched) {}

  /**
   * Snapshots ({@link Database#snapshot}), and the copies of pages changed since they were opened.
   *
   * @param open open snapshots that can be read
   * @param pagesCopied pages copied before they changed, since the database was opened
   * @param memoryBytes copies in memory now
   * @param fileBytes copies in the file now
   * @param evicted snapshots evicted for lack of space since the database was opened
   */
  public record Snapshots(
      long open, long pagesCopied, long memoryBytes, long fileBytes, long evicted) {}

  /**
   * Rows that {@linkplain io.fovea.schema.TableSpec#expireAfter expire}, and the sweep that removes
   * them. Counters start when the database is opened.
   *
   * @param swept rows removed, including those that a load left out
   * @param deferred how often readers met an expired row that had not been removed yet
   * @param sweepTransactions transactions of the sweep, including those that found nothing
   * @param sweepFailures how often the background sweep failed and was postponed
   * @param sweepLagMillis how long the oldest row of the last sweep had been expired, in
   *     milliseconds; 0 if there was none
   */
  public record ExpiredRows(
      long swept, long deferred, long sweepTransactions, long sweepFailures, long sweepLagMillis) {}

  /**
   * Loads of tables ({@link RowTable#load(LoadOptions, LoadSource)}), and builds of indexes on
   * tables that contain records. All figures but the first are counted from the opening of the
   * database, and include loads and builds in progress or abandoned. An index build that runs in
   * transactions instead, because eight others are running, is not counted.
   *
   * @param running loads and builds now running
   * @param records records that loads took from their sources, in steps of 256
   * @param indexRecords records that index builds read
   * @param writtenBytes bytes of pages written for new tables and indexes; small ones are logged
   *     instead, and pages in memory are not written
   * @param runs sorted runs written to files because they did not fit into memory
   * @param runBytes bytes of these runs
   */
  public record Loads(
      long running, long records, long indexRecords, long writtenBytes, long runs, long runBytes) {}

  /**
   * The memory outside the Java heap of an open database, in bytes. This excludes page copies for
   * snapshots ({@link Snapshots}) and the buffers of snapshots; the memory of a recovery, of {@link
   * Database#verify} and of backups while they run; and keys and rows, which belong to the
   * application.
   *
   * @param bufferBytes the buffer pool: frames with their metadata, and copies of pages being
   *     written
   * @param bufferBytesMax its maximum: {@link Options#bufferBytes()}, less the timestamps
   *     {@linkplain ExperimentOptions#timestampsInBuffer() if they are part of it}
   * @param timestampBytes exact timestamps and bounds; memory once used stays allocated
   * @param timestampBytesMax its maximum: {@link MemoryOptions#timestampBytes()} and the sketch or
   *     pages
   * @param logBytes the buffer of the log, and the data being written from it
   * @param transactionBytes uncommitted writes of transactions, and their copies of the pages that
   *     they scan
   * @param treeBytes memory that tables and indexes keep for splits
   * @param locationCacheBytes cached key locations
   * @param locationCacheBytesMax their maximum: {@link MemoryOptions#locationCacheBytes()}
   */
  public record Memory(
      long bufferBytes,
      long bufferBytesMax,
      long timestampBytes,
      long timestampBytesMax,
      long logBytes,
      long transactionBytes,
      long treeBytes,
      long locationCacheBytes,
      long locationCacheBytesMax) {

    /** {@return the bytes in use} */
    public long bytes() {
      return bufferBytes
          + timestampBytes
          + logBytes
          + transactionBytes
          + treeBytes
          + locationCacheBytes;
    }

    /** {@return the maximum number of bytes in use with the present transactions and tables} */
    public long maxBytes() {
      return bufferBytesMax
          + timestampBytesMax
          + logBytes
          + transactionBytes
          + treeBytes
          + locationCacheBytesMax;
    }
  }

  /**
   * Lookups of records by the hints in index entries, for all indexes. A lookup whose hint is wrong
   * in several parts is counted for each of them.
   *
   * @param lookups lookups by an entry that may have a hint
   * @param hits lookups whose hint was right in all parts
   * @param unset entries without a stored hint
   * @param notResident pages that were busy or not in memory: a hint never causes a read
   * @param freed pages without an owner
   * @param otherTree pages of other tables or indexes, or that were no longer leaves
   * @param otherKeys leaves with other keys, or changed while they were read
   * @param frames frames that held another page
   * @param slots slots that held another key
   * @param pageRepairs hints repaired as a whole
   * @param frameRepairs hints whose frame was repaired
   * @param slotRepairs hints whose slot and frame were repaired
   * @param lineRepairs hints of which only the offset of the record in the page was repaired
   * @param repairsMissed repairs omitted because the leaf of the entry was busy
   * @param repairsSuppressed repairs omitted because they were disabled
   * @param repairsDisabled kinds of hints, summed over the indexes, that go stale too often for
   *     repair
   */
  public record HintedLookups(
      long lookups,
      long hits,
      long unset,
      long notResident,
      long freed,
      long otherTree,
      long otherKeys,
      long frames,
      long slots,
      long pageRepairs,
      long frameRepairs,
      long slotRepairs,
      long lineRepairs,
      long repairsMissed,
      long repairsSuppressed,
      long repairsDisabled) {}

  static DatabaseStats of(Options options, Store store, Schema schema, BodyCounters bodyCounters) {
    TxStats tx = store.engine().stats();
    PoolStats pool = store.pool().stats();
    IoStats io = store.device().stats();
    LogStats logged = store.logStats();
    AllocatorState allocator = store.pool().allocatorState();
    Map<AbortCause, Long> aborts = new EnumMap<>(AbortCause.class);
    for (AbortCause c : AbortCause.values()) {
      aborts.put(c, tx.aborts()[c.ordinal()]);
    }
    Map<String, Body> bodies = new LinkedHashMap<>();
    bodyCounters.byName().forEach((name, body) -> bodies.put(name, Body.of(body)));
    int pageSize = options.device().pageSize();
    Descents descents = descents(store.pool().usesFrameHints(), tx, pool);
    long hits = Math.max(0, tx.pageAccesses() - pool.misses());
    long hinted =
        Math.clamp(descents.stepsByHint() + tx.positionHints() - tx.positionHintsStale(), 0, hits);
    TimestampStats timestamps = store.engine().timestamps().stats();
    return new DatabaseStats(
        tx.commits(),
        tx.rollbacks(),
        aborts,
        bodyCounters.retries(),
        store.engine().pessimistic(),
        store.engine().active(),
        store.engine().waiting(),
        store.engine().oldestAgeNanos(),
        tx.durationNanos(),
        options.experiments().protocol(),
        health(store),
        new Buffer(
            options.bufferBytes(),
            pool.bytes(),
            pageSize,
            pool.frames(),
            pool.framesFree(),
            pool.framesDirty(),
            hits,
            pool.misses(),
            hinted,
            Math.max(0, hits - hinted - pool.slowElsewhere()),
            pool.slowElsewhere(),
            pool.promotions(),
            pool.evictionsClean(),
            pool.evictionsDirty(),
            pool.frameWaits(),
            pool.frameWaitNanos(),
            pool.readFailures(),
            pool.unswizzled(),
            pool.unswizzlingsRefused()),
        descents,
        new Timestamps(
            timestamps.live(),
            timestamps.capacity(),
            timestamps.materialised(),
            timestamps.approximate(),
            timestamps.released(),
            timestamps.suspectedFalseConflicts(),
            timestamps.sketchBytes(),
            timestamps.resizes(),
            timestamps.pageReads(),
            timestamps.pageWrites()),
        new Device(
            store.device().kind(),
            io.count(IoOp.READ),
            io.count(IoOp.WRITE),
            io.count(IoOp.SYNC),
            io.bytes(IoOp.READ),
            io.bytes(IoOp.WRITE),
            io.errors(IoOp.READ),
            io.errors(IoOp.WRITE),
            io.errors(IoOp.SYNC)),
        log(store, tx.durableWaitNanos()),
        checkpoints(store),
        recovery(store.recoveryReport()),
        new Storage(
            allocator.highWater() * pageSize,
            allocator.freePages() * pageSize,
            logged == null ? 0 : logged.fileBytes(),
            store.pool().checkpoint().space().pagesMoved() * pageSize,
            store.pool().checkpoint().space().pagesCut() * pageSize,
            store.pool().checkpoint().space().pagesPunched() * pageSize),
        memory(store, schema, pool, timestamps),
        snapshots(store.pool().copies()),
        hintedLookups(store.engine().hintCounters(), schema.repairsDisabled()),
        expiredRows(schema.expirations()),
        loads(schema, pageSize),
        bodies);
  }

  private static ExpiredRows expiredRows(Expirations e) {
    return new ExpiredRows(e.swept(), e.skipped(), e.pieces(), e.failures(), e.lagMillis());
  }

  private static Loads loads(Schema schema, int pageSize) {
    LoadCounters c = schema.loadCounters();
    return new Loads(
        schema.loadsRunning(),
        c.records.sum(),
        c.indexed.sum(),
        c.pages.sum() * pageSize,
        c.runs.sum(),
        c.runBytes.sum());
  }

  private static Snapshots snapshots(PageCopies copies) {
    return new Snapshots(
        copies.snapshots(),
        copies.copied(),
        copies.memoryBytes(),
        copies.fileBytes(),
        copies.evicted());
  }

  private static Health health(Store store) {
    Health works = store.canBeDurable() ? Health.OK : Health.DURABILITY_LOST;
    return store.engine().poison() != null ? Health.STOPPED : works;
  }

  private static Log log(Store store, long waitNanos) {
    LogStats l = store.logStats();
    Checkpointer.Stats c = store.checkpointStats();
    if (l == null || c == null) {
      return new Log(false, 0, 0, 0, 0, 0, 0, 0, 0);
    }
    return new Log(
        true,
        l.records(),
        l.bytes(),
        l.bytesWritten(),
        l.groups(),
        l.syncs(),
        l.waits(),
        waitNanos,
        c.redoBytes());
  }

  private static Checkpoints checkpoints(Store store) {
    Checkpointer.Stats c = store.checkpointStats();
    return c == null
        ? new Checkpoints(0, 0, 0, 0)
        : new Checkpoints(c.checkpoints(), c.failures(), c.nanos(), c.spaceWaits());
  }

  private static Recovery recovery(RecoveryReport r) {
    return new Recovery(
        r.logBytes(),
        r.records(),
        r.images(),
        r.operations(),
        r.pagesRestored(),
        r.pagesReclaimed(),
        r.treesDropped(),
        r.nanos());
  }

  private static HintedLookups hintedLookups(HintCounters c, long repairsOff) {
    return new HintedLookups(
        c.lookups,
        c.hits,
        c.stale(HintedLeaf.UNSET),
        c.stale(HintedLeaf.NOT_RESIDENT),
        c.stale(HintedLeaf.FREED),
        c.stale(HintedLeaf.OTHER_TREE),
        c.stale(HintedLeaf.FENCES) + c.stale(HintedLeaf.DISTURBED),
        c.stale(HintedLeaf.FRAME),
        c.stale(HintedLeaf.SLOT),
        c.repairs[HintCounters.Repair.PAGE.ordinal()],
        c.repairs[HintCounters.Repair.FRAME.ordinal()],
        c.repairs[HintCounters.Repair.SLOT.ordinal()],
        c.repairs[HintCounters.Repair.LINE.ordinal()],
        c.missed,
        c.suppressed,
        repairsOff);
  }

  private static Descents descents(boolean hinted, TxStats tx, PoolStats pool) {
    long slow = pool.hintsNone() + pool.hintsStale();
    return new Descents(
        tx.childSteps(),
        hinted ? Math.max(0, tx.childSteps() - slow) : 0,
        pool.hintsNone(),
        pool.hintsStale(),
        pool.hintRepairs(),
        pool.hintRepairsAbandoned(),
        tx.positionHints(),
        tx.positionHintsStale(),
        tx.cachedLocations(),
        tx.cachedLocationsRight());
  }

  private static Memory memory(
      Store store, Schema schema, PoolStats pool, TimestampStats timestamps) {
    return new Memory(
        pool.bytes(),
        store.bufferBytesMax(),
        timestamps.bytesLive(),
        timestamps.bytes(),
        store.logMemoryBytes(),
        store.engine().memoryBytes(),
        schema.scratchBytes(),
        store.locationCacheBytes(),
        store.locationCacheBytesMax());
  }
}
