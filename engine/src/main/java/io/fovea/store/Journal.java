package io.fovea.store;

import io.fovea.btree.BTree;
import io.fovea.buffer.AllocatorState;
import io.fovea.buffer.BufferPool;
import io.fovea.buffer.DoubleWrite;
import io.fovea.error.CorruptionException;
import io.fovea.error.DurabilityLostException;
import io.fovea.error.FoveaException;
import io.fovea.error.StorageException;
import io.fovea.error.StorageFullException;
import io.fovea.io.BlockDevice;
import io.fovea.io.Storage;
import io.fovea.recovery.Checkpointer;
import io.fovea.recovery.LogGate;
import io.fovea.recovery.RecoveredRowCounts;
import io.fovea.recovery.Recovery;
import io.fovea.recovery.RecoveryReport;
import io.fovea.recovery.Superblock;
import io.fovea.recovery.SuperblockFile;
import io.fovea.recovery.TablesLog;
import io.fovea.wal.Log;
import io.fovea.wal.LogIdentity;
import io.fovea.wal.LogSession;
import io.fovea.wal.LogStart;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntSupplier;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The log, double-write area and checkpointer of a database, and the order in which they open,
 * recover and close.
 *
 * <pre>
 *   state of the file     what is done
 *   none                  superblock 0 ─► log ─► superblock 1: in use ─► catalog (logged)
 *   clean                 log opened at the end named by the superblock; in use at the first write
 *   in use with a log     torn pages ─► analysis ─► superblock: incarnation ─► log
 *                         ─► superblock: how far the log is durable ─► replay
 *
 *   close                 log durable ─► pages ─► superblock: clean, end of the log ─► log
 *                         ─► log cut to a segment
 * </pre>
 *
 * <p>The log contains a recognizable segment before the superblock says that the log is needed. The
 * incarnation is durable in the superblock before anything is appended.
 *
 * <p>Opening and closing are confined to one thread; other methods are thread-safe.
 */
public final class Journal {
  private static final System.Logger LOG = System.getLogger("io.fovea");

  private static final int REPLAY_WORKERS_MAX = 16;
  private static final int REPLAY_WORKERS_PER_CPU = 2;

  /** The tables are logged each time the log grows by this fraction of its maximum. */
  private static final int TABLES_PART = 16;

  private final String name;

  /** Whether another process may have the file open. */
  private final boolean foreign;

  private final StoreConfig config;
  private final SuperblockFile superblocks;
  private final BlockDevice data;
  private final BlockDevice logFile;
  private final @Nullable BlockDevice copies;
  private final @Nullable DoubleWrite doubleWrite;
  private final LogGate gate;
  private final long pagesRestored;

  /** Set once, by {@link #open}. */
  private @Nullable Log log;

  private @Nullable LogSession session;
  private @Nullable LogSession hold;

  /**
   * Sessions passed to callers; each holds back the redo point until the caller's pages are free.
   */
  private final List<LogSession> taken = new CopyOnWriteArrayList<>();

  private @Nullable Checkpointer checkpointer;

  /** Null if the change feed is disabled. */
  private @Nullable TablesLog tables;

  /** The LSN from which the log contains changes for subscribers; 0 if the feed is disabled. */
  private long changesFrom;

  private RecoveryReport report = RecoveryReport.NONE;

  /** The counts found by recovery; null if there was no recovery. */
  private @Nullable RecoveredRowCounts counts;

  private long incarnation;

  /** The session id of this opening; see {@link LogIdentity}. */
  private final long sessionId = LogIdentity.newSession();

  /** Whether the file durably says that it needs no log. */
  private boolean clean;

  private volatile SchemaHooks hooks = SchemaHooks.NONE;

  private Journal(
      String name,
      boolean foreign,
      StoreConfig config,
      SuperblockFile superblocks,
      BlockDevice data,
      BlockDevice logFile,
      @Nullable BlockDevice copies,
      @Nullable DoubleWrite doubleWrite,
      LogGate gate,
      long pagesRestored) {
    this.name = name;
    this.foreign = foreign;
    this.config = config;
    this.superblocks = superblocks;
    this.data = data;
    this.logFile = logFile;
    this.copies = copies;
    this.doubleWrite = doubleWrite;
    this.gate = gate;
    this.pagesRestored = pagesRestored;
  }

  // --------------------------------------------------------------------------------------- opening

  /**
   * Opens the companions of the data file and restores torn pages. Call this before pages are read.
   *
   * @param foreign whether this is an in-memory copy of a file that another process may have open
   * @param superblock the superblock read from the file, or to be written to a new file
   */
  static Journal prepare(
      String name,
      boolean foreign,
      Storage storage,
      StoreConfig config,
      SuperblockFile superblocks,
      Superblock superblock,
      BlockDevice data) {
    boolean unclean = superblock.state() == Superblock.LOGGED;
    if (unclean && !storage.exists(Storage.LOG)) {
      throw new CorruptionException(
          "the log of "
              + storage.name()
              + ", which was not closed and needs it: there is no file "
              + storage.name()
              + Storage.LOG,
          -1,
          -1,
          superblock.redoLsn(),
          0);
    }
    BlockDevice logFile = storage.open(Storage.LOG);
    BlockDevice copies = null;
    boolean done = false;
    try {
      long restored = 0;
      long nextBatch = 1;
      if (unclean && storage.exists(Storage.DOUBLE_WRITE)) {
        copies = storage.open(Storage.DOUBLE_WRITE);
        DoubleWrite.Restored r = DoubleWrite.restore(copies, data, superblock.pageSize());
        restored = r.pagesRestored();
        nextBatch = r.nextBatch();
      }
      DoubleWrite doubleWrite = null;
      if (config.doubleWrite()) {
        if (copies == null) {
          copies = storage.open(Storage.DOUBLE_WRITE);
        }
        doubleWrite = new DoubleWrite(copies, superblock.pageSize(), nextBatch, superblock.id());
      } else {
        if (copies != null) {
          copies.close();
          copies = null;
        }
        storage.delete(Storage.DOUBLE_WRITE);
      }
      Journal journal =
          new Journal(
              name,
              foreign,
              config,
              superblocks,
              data,
              logFile,
              copies,
              doubleWrite,
              new LogGate(),
              restored);
      done = true;
      return journal;
    } finally {
      if (!done) {
        logFile.close();
        if (copies != null) {
          copies.close();
        }
      }
    }
  }

  BufferPool pool(BlockDevice device, AllocatorState state) {
    return new BufferPool(device, config.dataPool(), state, gate, doubleWrite);
  }

  private Log openLog(Superblock superblock, long start, long redo, long previous) {
    boolean followed = changesFrom > 0;
    Log opened =
        Log.open(
            logFile,
            config.log(),
            new LogStart(
                superblock.id(),
                incarnation,
                start,
                redo,
                // Also above a closed mark; otherwise the mark would apply to new records.
                Math.max(superblock.durable().segment(), LogIdentity.of(logFile).lastSegment()),
                followed ? changesFrom : Long.MAX_VALUE,
                sessionId,
                previous,
                superblock.session()));
    log = opened;
    if (followed) {
      tables = new TablesLog(name, opened, config.log().keepBytes() / TABLES_PART);
    }
    session = opened.session();
    hold = opened.session();
    gate.open(opened);
    return opened;
  }

  /**
   * Opens the log, recovers a file that was not closed, and creates the catalog of a new file.
   *
   * @param treeIds the next unused tree id; recovery may raise it
   * @param trees finds the trees in the catalog
   * @return the catalog
   */
  BTree open(BufferPool pool, boolean fresh, AtomicInteger treeIds, Recovery.Catalog trees) {
    // Before the log is read. Until the first write of Log.open this process only reads the log,
    // and no other process uses it, so this one sync serves two purposes:
    // 1. Recovery writes no page because of a record that a killed process left only in the
    //    system's cache, and that the next failure would lose.
    // 2. Log.open reuses no LSN that the file contains after an end that trimLog moved without a
    //    sync.
    settleLength(data);
    settleLength(logFile);
    logFile.sync();
    Superblock s = superblocks.current();
    if (s.state() == Superblock.LOGGED && !fresh) {
      BTree catalog = recover(pool, s, treeIds, trees);
      checkpointer = checkpointer(pool, treeIds::get);
      return catalog;
    }
    incarnation = s.incarnation() + 1;
    long start = Math.max(Log.FIRST_LSN, s.endLsn());
    changesFrom = changesFrom(s, start);
    if (s.changes() > 0 && changesFrom == 0) {
      superblocks.write(s.withChangesFrom(0)); // before the first segment is reused
    }
    openLog(s, start, start, s.session());
    checkpointer = checkpointer(pool, treeIds::get);
    if (!fresh) {
      return BTree.open(pool, Superblock.CATALOG_TREE_ID, s.catalogRootPid());
    }
    mark(s.allocator(), s.nextTreeId());
    LogSession own = session();
    own.begin(BTree.rootSpace(pool));
    try {
      return BTree.createAt(pool, Superblock.CATALOG_TREE_ID, s.catalogRootPid(), own);
    } finally {
      own.end();
    }
  }

  /**
   * Sets a file's length again, because after a failed sync the length may not be durable until
   * then. A length that is not a multiple of the block size was left by a write, not set by the
   * engine.
   */
  private static void settleLength(BlockDevice device) {
    long size = device.size();
    if (size % device.blockSize() == 0) {
      device.resize(size);
    }
  }

  /**
   * Returns the LSN where changes begin: the recorded LSN if the log has been retained since then,
   * otherwise the start of the log.
   */
  private long changesFrom(Superblock s, long start) {
    if (config.log().changeRetentionBytes() == 0) {
      return 0;
    }
    return s.changes() > 0 ? s.changes() : start;
  }

  private Checkpointer checkpointer(BufferPool pool, IntSupplier nextTreeId) {
    return new Checkpointer(
        name,
        log(),
        pool,
        superblocks,
        nextTreeId,
        () -> hooks.freeUnfreedPages(),
        () -> hooks.counted(),
        tables,
        config.log().keepBytes(),
        config.checkpointNanos(),
        config.quietNanos());
  }

  private BTree recover(
      BufferPool pool, Superblock s, AtomicInteger treeIds, Recovery.Catalog trees) {
    Recovery recovery = new Recovery(name, foreign, s, pool, data, logFile, gate);
    recovery.analyze();
    incarnation = recovery.incarnation();
    changesFrom = changesFrom(s, recovery.end());
    superblocks.write(
        s.opened(incarnation, config.log().segmentBytes()).withChangesFrom(changesFrom));
    List<Long> before = LogIdentity.sessions(logFile, s.id(), recovery.end());
    long previous = before.isEmpty() ? 0 : before.getLast();
    Log opened = openLog(s, recovery.end(), s.redoLsn(), previous);
    // Once this is written, recovery knows that this opening has a segment, and notices if it is
    // lost.
    superblocks.write(
        superblocks
            .current()
            .withRecoveredSessions(before)
            .withSession(sessionId)
            .withDurable(opened.watermark()));
    int cpus = Runtime.getRuntime().availableProcessors();
    int workers = Math.min(REPLAY_WORKERS_MAX, REPLAY_WORKERS_PER_CPU * cpus);
    BTree catalog = recovery.replay(opened, trees, workers);
    recovery.finish(opened);
    report = recovery.report(pagesRestored);
    counts = recovery.counts();
    treeIds.set(recovery.nextTreeId());
    return catalog;
  }

  /**
   * Durably marks the file as in use, before anything is appended.
   *
   * @throws io.fovea.error.DurabilityLostException if this or an earlier write could not be made
   *     durable
   */
  void mark(AllocatorState pages, int nextTreeId) {
    Log l = log();
    l.requireAlive(); // do not retry after a failed sync
    long start = l.tail();
    Superblock staged =
        superblocks.stage(
            superblocks
                .current()
                .opened(incarnation, config.log().segmentBytes())
                .withSession(sessionId)
                .logged(start, pages, start, nextTreeId, l.watermark())
                .withChangesFrom(changesFrom));
    try {
      superblocks.sync(staged);
    } catch (StorageException e) {
      l.fail(e); // the state of the file is now unknown
      throw e;
    }
  }

  /** Logs the counts of trees, once the file is marked as in use. */
  void counts() {
    checkpointer().counts(superblocks.current().redoLsn());
  }

  /** Starts checkpoints, once the file is marked as in use and recovered. */
  void begin() {
    checkpointer().begin();
  }

  // --------------------------------------------------------------------------------------- parts

  void attach(SchemaHooks of) {
    hooks = of;
    TablesLog tablesLog = tables;
    if (tablesLog != null) {
      tablesLog.of(of.tables());
    }
  }

  /** Returns the log of tables; null if the change feed is disabled. */
  public @Nullable TablesLog tables() {
    return tables;
  }

  /** Logs the list of tables if subscribers need it and it is not logged yet. */
  void logTables() {
    TablesLog t = tables;
    if (t != null) {
      t.appendFirst();
    }
  }

  /** Returns the first LSN of the change feed; {@link Long#MAX_VALUE} if there is none yet. */
  public long changesFrom() {
    long from = superblocks.current().changes();
    return from == 0 ? Long.MAX_VALUE : Math.max(from, log().firstLsn());
  }

  @Nullable RecoveredRowCounts recoveredRowCounts() {
    return counts;
  }

  public Log log() {
    return requireOpen(log);
  }

  private <T> T requireOpen(@Nullable T part) {
    if (part == null) {
      throw new IllegalStateException("The log of " + name + " is not open.");
    }
    return part;
  }

  /** Returns the session of schema changes, which run one at a time. */
  LogSession session() {
    return requireOpen(session);
  }

  /**
   * Returns the session that holds back the redo point until a schema change is completely logged.
   */
  LogSession hold() {
    return requireOpen(hold);
  }

  /** Passes the {@link #hold} session to the caller and replaces it with a new session. */
  LogSession transferHold() {
    LogSession given = hold();
    hold = log().session();
    taken.add(given);
    return given;
  }

  Checkpointer checkpointer() {
    return requireOpen(checkpointer);
  }

  RecoveryReport report() {
    return report;
  }

  BlockDevice logFile() {
    return logFile;
  }

  // --------------------------------------------------------------------------------------- closing

  /**
   * Writes everything and marks the file clean. Nothing may change afterwards.
   *
   * @param save saves the counts in the catalog; see {@link SchemaHooks#saveCounts}
   * @throws DurabilityLostException if pages outside all trees could not be freed, which is left to
   *     recovery; or if a full log cannot be written to its end, in which case the unwritten part,
   *     which was never acknowledged, is lost
   */
  void finish(BufferPool pool, int nextTreeId, LongSupplier save) {
    Checkpointer c = checkpointer();
    c.close();
    Log l = log();
    l.requireAlive();
    hooks.freeUnfreedPages();
    if (taken.stream().anyMatch(LogSession::isActive)) {
      persist();
      throw new DurabilityLostException(
          name
              + " is not marked clean, because the log had no space to free "
              + "the pages of a table that could not be created. The next "
              + "opening frees them; no committed change is lost.",
          null);
    }
    // Logging the counts may have failed when the file was marked, with no checkpoint since. A
    // crash while new counts are written to the catalog must not cause changes to be added to them
    // twice. Otherwise this call writes nothing.
    counts();
    long number = save.getAsLong();
    logTables();
    l.awaitDurableUnlessFull(l.tail());
    pool.flushAll();
    // The log may be about to begin another segment, closer to the start of its file.
    long lastSegment = l.watermark().segment() + 1;
    superblocks.write(
        superblocks
            .current()
            .closed(pool.allocatorState(), nextTreeId, l.tail(), lastSegment)
            .withCounts(number)
            .withChangesFrom(keptFrom(l.tail())));
    clean = true;
  }

  /** Returns the first LSN to keep for change subscribers, given the redo point. */
  private long keptFrom(long redo) {
    TablesLog t = tables;
    return t == null ? 0 : t.keptFrom(superblocks.current(), redo);
  }

  /**
   * Finishes without writing, for a clean file that was not written since it was opened.
   *
   * @throws io.fovea.error.DurabilityLostException if marking the file failed, so that its state is
   *     unknown
   */
  void leave() {
    log().requireAlive();
    clean = superblocks.current().isClean();
  }

  /** Stops logged commits from waiting for space; see {@link Log#abortWaits}. */
  void abortWaits() {
    Log l = log;
    if (l != null) {
      l.abortWaits();
    }
  }

  void failIfBlocked() {
    Log l = log;
    if (l != null) {
      l.failIfBlocked();
    }
  }

  /** Tries to make the log of a stopped database durable. */
  void persist() {
    Log l = log();
    try {
      l.awaitDurableUnlessFull(l.tail());
    } catch (DurabilityLostException | StorageFullException e) {
      LOG.log(Level.DEBUG, name + ": the end of the log is lost", e);
    }
  }

  /** Ends all threads without writing. */
  void stop() {
    Checkpointer c = checkpointer;
    if (c != null) {
      c.cancel();
    }
    Log l = log;
    if (l != null) {
      l.abandon(); // ends all waits for the log, including the checkpointer's
    }
    if (c != null) {
      c.close();
    }
  }

  /** Shrinks the log of a clean file to one segment for reuse, unless the change feed needs it. */
  private void trimLog() {
    if (superblocks.current().changes() > 0) {
      return;
    }
    long segment = log().segmentBytes();
    if (logFile.size() > segment) {
      // Sync the mark first: the remaining segment may belong to a session earlier than the one
      // that the superblock names.
      logFile.sync();
      logFile.resize(segment);
    }
  }

  /** Marks companions as closed, so that the data file is complete without them. */
  private void markClosed() {
    try {
      Superblock s = superblocks.current();
      LogIdentity.markClosed(logFile, s.id(), s.changes());
      if (doubleWrite != null) {
        doubleWrite.empty();
      }
      trimLog();
    } catch (FoveaException e) {
      LOG.log(Level.DEBUG, name + ": its log is larger than necessary, or not marked closed", e);
    }
  }

  /** Closes the files, after the pool. */
  void closeFiles() {
    try {
      if (clean) {
        markClosed();
      }
      logFile.close();
    } finally {
      if (copies != null) {
        copies.close();
      }
    }
  }
}
