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
import io.fovea.txn.HintCounters;
import io.fovea.txn.TimestampStats;
import io.fovea.txn.TxStats;
import io.fovea.wal.LogStats;
import java.util.Collections;
import java.util.EnumMap;
import java.util.Map;

/**
 * Counters and sizes of a database at one moment. Counters run from when it was opened, and are
 * exact only while nothing happens.
 *
 * <p>A value; any thread.
 *
 * @param commits transactions that committed
 * @param rollbacks transactions that their own code rolled back, by a call or by an exception
 * @param abortsByCause attempts that were aborted, by cause; every cause is a key
 * @param retries attempts after the first
 * @param pessimisticAttempts attempts that reserved what they used ({@link
 *     TxOptions#pessimisticAfterAborts(int)})
 * @param activeTransactions transactions that run now
 * @param waitingTransactions threads that wait to begin one, because as many run as may
 * @param oldestTransactionNanos the age of the oldest transaction that runs, 0 if none does
 * @param transactionNanos how long the transactions that committed took, together; of those that
 *     wrote nothing, one in seven is measured, and counts for those before it
 * @param protocol what makes transactions serializable
 * @param health whether it works
 * @param buffer the buffer pool
 * @param descents the ways down trees, and what hints spared of them
 * @param timestamps the timestamps of records in use
 * @param io the device of the data file
 * @param log the log
 * @param checkpoints the checkpoints
 * @param recovery what had to be recovered when it was opened
 * @param storage the files
 * @param memory the memory outside of the Java heap
 * @param snapshots snapshots that are open, and what is copied for them
 * @param hintedLookups lookups of records by hints in entries of indexes
 * @param expiredRows rows that expire, and their removal
 * @param loads tables that are loaded, and indexes that are built
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
    Loads loads) {
  // The file has more than 600 lines because each figure has its description here.

  /**
   * Whether a database works.
   *
   * @since 0.1.0
   */
  public enum Health {
    /** It does. */
    OK,
    /**
     * A write or a sync of the log, or a sync of the data file, failed: no transaction begins any
     * more. Acknowledged commits are there when the database is opened again.
     */
    DURABILITY_LOST,
    /**
     * A commit failed halfway: no transaction begins any more. With a log, the next opening
     * recovers the database.
     */
    STOPPED
  }

  /** Copies the map. */
  public DatabaseStats {
    Map<AbortCause, Long> copy = new EnumMap<>(AbortCause.class);
    copy.putAll(abortsByCause);
    abortsByCause = Collections.unmodifiableMap(copy);
  }

  /**
   * Attempts that were aborted, whatever the cause.
   *
   * @return their number
   */
  public long aborts() {
    return abortsByCause.values().stream().mapToLong(Long::longValue).sum();
  }

  /**
   * The buffer pool.
   *
   * @param maxBytes the memory that it may take
   * @param bytes the memory that it has
   * @param pageSize the size of a page, in bytes
   * @param frames how many pages it holds
   * @param framesFree frames that hold no page
   * @param framesDirty frames whose page is newer than the file
   * @param hits page accesses that were answered without reading
   * @param misses page accesses that read from the device
   * @param hinted of the hits, those that a hint led to the frame: one in the entry of a child, or
   *     of what a transaction remembers. Such a page is not promoted, wherever it is
   * @param predicted those whose frame was predicted right, or found where there is no prediction
   * @param mispredicted those whose frame had to be searched: the page was in another one
   * @param promotions pages that were moved to their preferred frame
   * @param evictionsClean pages dropped from the pool unchanged
   * @param evictionsDirty pages written and then dropped
   * @param frameWaits how often a frame was waited for, because no page could leave unwritten
   * @param frameWaitNanos how long, together
   * @param readFailures pages that could not be read, or whose checksum was wrong
   * @param unswizzled references that a page was taken out of so that it could leave; 0 but under
   *     {@link Translation#SWIZZLED}. Those that were stored are {@link Descents#hintRepairs}
   * @param unswizzlingsRefused pages that stayed for it, and others left: an inner page with such a
   *     reference to a child, or one whose parent was latched
   * @since 0.1.0
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
   * The ways of transactions down the trees, and what hints spared of them: see {@link Hints}.
   * Scans and lookups of many keys at once are not in it.
   *
   * @param steps from an inner node to a child
   * @param stepsByHint steps that the frame hint of the child's entry led; 0 without such hints
   * @param hintsMissing steps whose entry had no frame hint
   * @param hintsStale steps whose entry had a frame hint that led elsewhere, for the child had left
   *     the buffer, or had moved
   * @param hintRepairs frame hints that were stored
   * @param hintRepairsMissed frame hints that were not, because the entry's page was busy
   * @param places accesses to a record that began where the transaction had seen it before, or
   *     close to it
   * @param placesStale how many of those went down from the root after all
   * @param cachedLocations accesses of tables and indexes that are {@linkplain
   *     io.fovea.schema.TableSpec#cacheLocations() remembered}, which began where the key was seen
   *     last if that was known
   * @param cachedLocationsRight those where all of that was right
   * @since 0.1.0
   */
  public record Descents(
      long steps,
      long stepsByHint,
      long hintsMissing,
      long hintsStale,
      long hintRepairs,
      long hintRepairsMissed,
      long places,
      long placesStale,
      long cachedLocations,
      long cachedLocationsRight) {}

  /**
   * Where the pages in the buffer pool lie. {@link Database#placement} counts them; it is no part
   * of the statistics.
   *
   * @param pages frames that hold a page
   * @param pagesInPreferredFrame how many of those pages are in the frame that is looked at first,
   *     their preferred frame; 0 for kinds of {@link Translation} that don't predict
   * @param promotions pages that were copied to their preferred frame since the database was opened
   * @param demotions pages that were copied out of their preferred frame to make room for another
   * @since 0.1.0
   */
  public record Placement(
      long pages, long pagesInPreferredFrame, long promotions, long demotions) {}

  /**
   * The timestamps of records in use.
   *
   * @param live records that have timestamps of their own now
   * @param capacity the most that may have
   * @param materialised how often a record got timestamps of its own
   * @param approximate how many of those began with a bound that may be another record's
   * @param released how often they were given up
   * @param suspectedFalseConflicts transactions that were aborted for a conflict after they had
   *     begun with such a bound, which may have been the reason
   * @param sketchBytes memory of the sketch, 0 where there is none
   * @param resizes how often the sketch got another size
   * @param pageReads pages of timestamps that were read, where they are on disk
   * @param pageWrites pages of timestamps that were written, where they are on disk
   * @since 0.1.0
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
   * @param kind how the file is reached, as in {@code io_uring}
   * @param reads read operations
   * @param writes write operations
   * @param syncs sync operations
   * @param readBytes bytes read
   * @param writtenBytes bytes written
   * @param readErrors reads that failed
   * @param writeErrors writes that failed
   * @param syncErrors syncs that failed
   * @since 0.1.0
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
   * The log. All numbers are 0 where there is none.
   *
   * @param enabled whether there is one
   * @param records records that were appended
   * @param bytes bytes of records that were appended
   * @param writtenBytes bytes that were written for it
   * @param groups writes of the log, each of which was synced once
   * @param syncs syncs of the log
   * @param waits waits for durability
   * @param waitNanos how long transactions waited for it after they had ended, together
   * @param redoBytes how much log a crash would need now
   * @since 0.1.0
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
   * @param made how many were made
   * @param failed how many failed
   * @param nanos how long those that were made took, together
   * @param commitWaits how often a commit waited because checkpoints were behind
   * @since 0.1.0
   */
  public record Checkpoints(long made, long failed, long nanos, long commitWaits) {}

  /**
   * The recovery at the opening of the database. All numbers are 0 if the database had been closed.
   *
   * @param logBytes how much log was read
   * @param records how many log records there were
   * @param images how many images of pages
   * @param changes how many changes of records were made again
   * @param pagesRestored how many torn pages were made whole
   * @param pagesReclaimed how many pages were given out and had no owner
   * @param treesDropped how many trees were dropped whose making or dropping was cut short
   * @param nanos how long it took
   * @since 0.1.0
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
   * The files.
   *
   * @param bytes the size of the data file
   * @param freeBytes the part of it that waits to be used again
   * @param logBytes the size of the log's file
   * @param bytesMoved how many bytes of pages {@link Database#compact} has moved since the database
   *     was opened
   * @param bytesReclaimed how many bytes of free pages were cut off the end of the data file since
   *     then
   * @param bytesPunched of how many bytes of free pages in the middle of it the space was given
   *     back since then ({@link CompactOptions#punchHoles})
   * @since 0.1.0
   */
  public record Storage(
      long bytes,
      long freeBytes,
      long logBytes,
      long bytesMoved,
      long bytesReclaimed,
      long bytesPunched) {}

  /**
   * Snapshots ({@link Database#snapshot}), and the copies of pages that were changed meanwhile.
   *
   * @param open snapshots that are open and can be read
   * @param pagesCopied pages that were copied before they changed, since the opening
   * @param memoryBytes what copies take of the memory now
   * @param fileBytes what they take of the file now
   * @param evicted snapshots evicted since the opening, for lack of space
   * @since 0.1.0
   */
  public record Snapshots(
      long open, long pagesCopied, long memoryBytes, long fileBytes, long evicted) {}

  /**
   * Rows that {@linkplain io.fovea.schema.TableSpec#expireAfter expire}, and the sweep that removes
   * them.
   *
   * @param swept rows that were removed since the opening, those included that a load has left out
   * @param deferred how often readers have met a row since then that had expired and was not
   *     removed yet
   * @param sweepTransactions transactions of the sweep since then, with those that found nothing
   * @param sweepFailures how often the background has given up until later, since then
   * @param sweepLagMillis for how long the oldest row that the sweep met when it looked last had
   *     been expired, in milliseconds; 0 if it met none
   * @since 0.1.0
   */
  public record ExpiredRows(
      long swept, long deferred, long sweepTransactions, long sweepFailures, long sweepLagMillis) {}

  /**
   * Loads of tables ({@link RowTable#load(LoadOptions, LoadSource)}), and builds of indexes of
   * tables that have records. Numbers but the first are of all since the opening, those included
   * that are under way or were given up.
   *
   * @param running loads and builds that are under way now. A build for which transactions make the
   *     entries, as eight are under way already, is not counted, here or below
   * @param records records that loads have taken from their sources, in steps of 256
   * @param indexRecords records that builds have read to make entries of them
   * @param writtenBytes bytes of pages that were written for the new tables and indexes; small ones
   *     are logged instead, and what is only in memory is not written
   * @param runs sorted runs that were written to a file beside the database, since there was no
   *     room in memory; 0 for what was sorted in memory
   * @param runBytes bytes that were written to such files
   * @since 0.1.0
   */
  public record Loads(
      long running, long records, long indexRecords, long writtenBytes, long runs, long runBytes) {}

  /**
   * The memory outside of the Java heap that the database has while it is open. Not in it are
   * copies of pages for snapshots ({@link Snapshots}) and the buffers of snapshots, the memory of
   * an opening after a crash, of {@link Database#verify} and of backups while they run, and keys
   * and rows, which belong to the application.
   *
   * @param bufferBytes of the buffer pool: frames and all that belongs to them, the copies of pages
   *     that are written among it
   * @param bufferBytesMax the most that may be, {@link Options#bufferBytes()} but for what
   *     timestamps take of it, {@linkplain ExperimentOptions#timestampsInBuffer() if they do}
   * @param timestampBytes of the timestamps of records in use, and of what there is for the others.
   *     What was used once stays with the process, up to the most
   * @param timestampBytesMax the most that may be, {@link MemoryOptions#timestampBytes()} and the
   *     sketch, or the pages
   * @param logBytes of the log's buffer, and of what is written from it
   * @param transactionBytes of what transactions have written and not committed, and of their
   *     copies of pages that they scan
   * @param treeBytes that tables and indexes keep for splits
   * @param locationCacheBytes of the places of records, where tables or indexes are remembered
   * @param placeBytesMax the most that may be, {@link MemoryOptions#locationCacheBytes()}
   * @since 0.1.0
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
      long placeBytesMax) {

    /**
     * All that is in use.
     *
     * @return bytes
     */
    public long bytes() {
      return bufferBytes
          + timestampBytes
          + logBytes
          + transactionBytes
          + treeBytes
          + locationCacheBytes;
    }

    /**
     * The most that it may become with the present transactions and tables.
     *
     * @return bytes
     */
    public long maxBytes() {
      return bufferBytesMax
          + timestampBytesMax
          + logBytes
          + transactionBytes
          + treeBytes
          + placeBytesMax;
    }
  }

  /**
   * Lookups of records by the hints in entries of indexes, of all indexes together. A lookup whose
   * hint is wrong in several parts counts in several.
   *
   * @param lookups lookups by an entry that may have a hint
   * @param hits those whose hint was right in all its parts
   * @param unset entries that remembered nothing
   * @param notResident pages that were not in memory, or busy: they are not read for a hint's sake
   * @param freed pages without an owner
   * @param otherTree pages of other tables or indexes, or that were no leaves any more
   * @param otherKeys leaves that had other keys, or were changed while they were looked at
   * @param frames frames that held another page
   * @param slots slots that had another key
   * @param pageRepairs hints that were put right as a whole
   * @param frameRepairs hints whose frame was put right
   * @param slotRepairs hints whose slot was put right, and whose frame with it
   * @param lineRepairs hints of which only was put right where in the page the record begins
   * @param repairsMissed repairs that were left out, as the leaf of the entry was busy
   * @param repairsSuppressed repairs that were left out, as they were switched off
   * @param repairsDisabled how many kinds of hints, summed over the indexes, are not repaired now,
   *     as they go wrong too often
   * @since 0.1.0
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

  // --------------------------------------------------------------------------- where it comes from

  static DatabaseStats of(Options options, Store store, Schema schema, long retries) {
    TxStats tx = store.engine().stats();
    PoolStats pool = store.pool().stats();
    IoStats io = store.device().stats();
    LogStats logged = store.logStats();
    AllocatorState allocator = store.pool().allocatorState();
    Map<AbortCause, Long> aborts = new EnumMap<>(AbortCause.class);
    for (AbortCause c : AbortCause.values()) {
      aborts.put(c, tx.aborts()[c.ordinal()]);
    }
    int pageSize = options.device().pageSize();
    Descents descents = descents(store.pool().hinted(), tx, pool);
    long hits = Math.max(0, tx.pageAccesses() - pool.misses());
    long hinted = Math.clamp(descents.stepsByHint() + tx.placesTried() - tx.placesStale(), 0, hits);
    TimestampStats timestamps = store.engine().timestamps().stats();
    return new DatabaseStats(
        tx.commits(),
        tx.rollbacks(),
        aborts,
        retries,
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
        loads(schema, pageSize));
  }

  private static ExpiredRows expiredRows(Expirations e) {
    return new ExpiredRows(e.swept(), e.passed(), e.pieces(), e.failures(), e.lagMillis());
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
        copies.givenUp());
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
        : new Checkpoints(c.checkpoints(), c.failures(), c.nanos(), c.roomWaits());
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
        pool.hintRepairsGivenUp(),
        tx.placesTried(),
        tx.placesStale(),
        tx.cachedLocations(),
        tx.rememberedRight());
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
        store.placeBytesMax());
  }
}
