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
import java.util.function.LongSupplier;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;

/**
 * What a database on files has besides pages: the log, the double-write area, the checkpointer. It
 * knows in which order they open, recover and close.
 *
 * <pre>
 *   state of the file     what is done
 *   none                  superblock 0 ─► log ─► superblock 1: in use ─► catalog, logged
 *   clean                 log, at the end that the superblock names; in use at the first write
 *   in use with a log     torn pages ─► analysis ─► superblock: incarnation ─► log
 *                         ─► superblock: how far the log is durable ─► replay
 *
 *   close                 log durable ─► pages ─► superblock: clean, end of the log ─► log
 *                         ─► log cut to a segment
 * </pre>
 *
 * <p>The log has a segment that can be found before the superblock says that it is needed. The
 * incarnation is in the superblock, durably, before anything is appended.
 *
 * <p>Opening and closing: one thread. The rest: any.
 */
public final class Journal {
  private static final System.Logger LOG = System.getLogger("io.fovea");

  private static final int REPLAY_WORKERS_MAX = 16;
  private static final int REPLAY_WORKERS_PER_CPU = 2;

  /** Tables are noted each time that the log has grown by this part of what it may have. */
  private static final int TABLES_PART = 16;

  private final String name;

  /** Whether another process may have the file open. */
  private final boolean beside;

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

  /** Sessions that were handed over: each holds back the redo point until its pages are free. */
  private final List<LogSession> taken = new CopyOnWriteArrayList<>();

  private @Nullable Checkpointer checkpointer;

  /** Null where nobody follows changes. */
  private @Nullable TablesLog tables;

  /** From where on the log has changes as who follows them needs them; 0 where nobody does. */
  private long changesFrom;

  private RecoveryReport report = RecoveryReport.NONE;

  /** What a recovery has found; null where there was none. */
  private @Nullable RecoveredRowCounts counts;

  private long incarnation;

  /** Of this opening; see {@link LogIdentity}. */
  private final long mine = LogIdentity.newSession();

  /** Whether the file says that it needs no log, durably. */
  private boolean clean;

  private volatile SchemaHooks hooks = SchemaHooks.NONE;

  private Journal(
      String name,
      boolean beside,
      StoreConfig config,
      SuperblockFile superblocks,
      BlockDevice data,
      BlockDevice logFile,
      @Nullable BlockDevice copies,
      @Nullable DoubleWrite doubleWrite,
      LogGate gate,
      long pagesRestored) {
    this.name = name;
    this.beside = beside;
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
   * Opens the files beside the data file, and makes torn pages whole. To be called before anything
   * reads the pages.
   *
   * @param beside whether another process may have the file open, of which this is a copy in memory
   * @param superblock what the file says, or what a new one will
   */
  static Journal prepare(
      String name,
      boolean beside,
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
              beside,
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

  /** A pool that this is the log of. */
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
                // Above a closed mark too, or the mark would count for what is appended.
                Math.max(superblock.durable().segment(), LogIdentity.of(logFile).lastSegment()),
                followed ? changesFrom : Long.MAX_VALUE,
                mine,
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
   * Opens the log; recovers where the file was not closed, and makes the catalog where it is new.
   *
   * @param pool the pages
   * @param fresh whether the file is new
   * @param treeIds the first id that no tree ever had; a recovery may find a higher one
   * @param trees finds the trees that the catalog knows
   * @return the catalog
   */
  BTree open(BufferPool pool, boolean fresh, AtomicInteger treeIds, Recovery.Catalog trees) {
    // Before anything is read of the log, and once: from here to the first write of Log.open the
    // log is only read, and nobody else has the file. So this one sync is for both:
    // 1. A recovery writes no page because of a record that a killed process left in the system's
    //    cache only, and that the next failure takes back.
    // 2. Log.open gives out no number again that the file has behind an end which trimLog has moved
    //    and nobody has synced.
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
      superblocks.write(s.changes(0)); // before the first segment is used for another
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
   * Sets a file's length again: after a failed sync it may not be durable until it is set anew. A
   * length that is not a multiple of the block size was left by a write, not set by the engine.
   */
  private static void settleLength(BlockDevice device) {
    long size = device.size();
    if (size % device.blockSize() == 0) {
      device.resize(size);
    }
  }

  /** The log has them from where it had them, if it always had them since; else from its start. */
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
        () -> hooks.freeStrays(),
        () -> hooks.counted(),
        tables,
        config.log().keepBytes(),
        config.checkpointNanos(),
        config.quietNanos());
  }

  private BTree recover(
      BufferPool pool, Superblock s, AtomicInteger treeIds, Recovery.Catalog trees) {
    Recovery recovery = new Recovery(name, beside, s, pool, data, logFile, gate);
    recovery.analyze();
    incarnation = recovery.incarnation();
    changesFrom = changesFrom(s, recovery.end());
    superblocks.write(s.opened(incarnation, config.log().segmentBytes()).changes(changesFrom));
    List<Long> before = LogIdentity.sessions(logFile, s.id(), recovery.end());
    long previous = before.isEmpty() ? 0 : before.getLast();
    Log opened = openLog(s, recovery.end(), s.redoLsn(), previous);
    // From here on the segment of this opening is known to be there, should it be lost as a whole.
    superblocks.write(
        superblocks.current().recovered(before).session(mine).durable(opened.watermark()));
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
   * Says that the file is in use, durably, before anything is appended.
   *
   * @throws io.fovea.error.DurabilityLostException if that, or anything before, could not be made
   *     durable
   */
  void mark(AllocatorState pages, int nextTreeId) {
    Log l = log();
    l.requireAlive(); // a sync that has failed is not tried again
    long start = l.tail();
    Superblock staged =
        superblocks.stage(
            superblocks
                .current()
                .opened(incarnation, config.log().segmentBytes())
                .session(mine)
                .logged(start, pages, start, nextTreeId, l.watermark())
                .changes(changesFrom));
    try {
      superblocks.sync(staged);
    } catch (StorageException e) {
      l.fail(e); // nobody knows what the file says now
      throw e;
    }
  }

  /** Says in the log how many records trees have, once the file says that it is in use. */
  void counts() {
    checkpointer().counts(superblocks.current().redoLsn());
  }

  /** Checkpoints may be made: the file says that it is in use, and is recovered. */
  void begin() {
    checkpointer().begin();
  }

  // --------------------------------------------------------------------------------------- parts

  /** See {@link Store#attach}. */
  void attach(SchemaHooks of) {
    hooks = of;
    TablesLog notes = tables;
    if (notes != null) {
      notes.of(of.tables());
    }
  }

  /** Notes which trees are tables; null where nobody follows changes. */
  public @Nullable TablesLog tables() {
    return tables;
  }

  /** Writes the tables into the log where they are not there yet, if they are needed. */
  void noteTables() {
    TablesLog t = tables;
    if (t != null) {
      t.appendFirst();
    }
  }

  /** From where on there are changes to follow; {@link Long#MAX_VALUE} where there are none yet. */
  public long changesFrom() {
    long from = superblocks.current().changes();
    return from == 0 ? Long.MAX_VALUE : Math.max(from, log().firstLsn());
  }

  /** What a recovery has found out about the counts of trees; null where there was none. */
  @Nullable RecoveredRowCounts recoveredRowCounts() {
    return counts;
  }

  public Log log() {
    Log l = log;
    if (l == null) {
      throw new IllegalStateException("The log of " + name + " is not open.");
    }
    return l;
  }

  /** The session of changes of the schema, which are made one at a time. */
  LogSession session() {
    LogSession s = session;
    if (s == null) {
      throw new IllegalStateException("The log of " + name + " is not open.");
    }
    return s;
  }

  /** Another one, which holds back the redo point until such a change is in the log as a whole. */
  LogSession hold() {
    LogSession s = hold;
    if (s == null) {
      throw new IllegalStateException("The log of " + name + " is not open.");
    }
    return s;
  }

  /** Hands the session over to the caller; {@link #hold} returns another one from now on. */
  LogSession takeHold() {
    LogSession given = hold();
    hold = log().session();
    taken.add(given);
    return given;
  }

  Checkpointer checkpointer() {
    Checkpointer c = checkpointer;
    if (c == null) {
      throw new IllegalStateException("The log of " + name + " is not open.");
    }
    return c;
  }

  RecoveryReport report() {
    return report;
  }

  BlockDevice logFile() {
    return logFile;
  }

  // --------------------------------------------------------------------------------------- closing

  /**
   * Writes everything and says that the file is complete. Nobody changes anything any more.
   *
   * <p>If pages outside of all trees could not be freed, this throws as well: recovery frees them.
   *
   * <p>Where the log is full to its end and the disk gives no more, this throws: what is behind the
   * durable end of the log is lost then, as by a crash, and nobody was told of it.
   *
   * @param save puts the counts of trees into the catalog; see {@link SchemaHooks#saveCounts}
   */
  void finish(BufferPool pool, int nextTreeId, LongSupplier save) {
    Checkpointer c = checkpointer();
    c.close();
    Log l = log();
    l.requireAlive();
    hooks.freeStrays();
    if (taken.stream().anyMatch(LogSession::begun)) {
      persist();
      throw new DurabilityLostException(
          name
              + " is not marked clean, for the log had no room to free the pages of a table that"
              + " could not be created. The next opening frees them, and everything that was"
              + " committed is there.",
          null);
    }
    // Where that has failed at the mark, and no checkpoint came since: a crash while the catalog
    // gets new counts must not add to them what they have already. Else this writes nothing.
    counts();
    long number = save.getAsLong();
    noteTables();
    l.awaitDurableUnlessFull(l.tail());
    pool.flushAll();
    // The log may be about to begin one more segment, nearer to the start of its file.
    long lastSegment = l.watermark().segment() + 1;
    superblocks.write(
        superblocks
            .current()
            .closed(pool.allocatorState(), nextTreeId, l.tail(), lastSegment)
            .counted(number)
            .changes(keptFrom(l.tail())));
    clean = true;
  }

  /** From where on the log is kept for who follows changes, if no recovery needs what is before. */
  private long keptFrom(long redo) {
    TablesLog t = tables;
    return t == null ? 0 : t.keptFrom(superblocks.current(), redo);
  }

  /**
   * Nothing was written since the file was opened, and found clean.
   *
   * @throws io.fovea.error.DurabilityLostException if that was tried, and it is not known what the
   *     file says
   */
  void leave() {
    log().requireAlive();
    clean = superblocks.current().clean();
  }

  /** A commit that is in the log already waits for room no more: see {@link Log#abortWaits}. */
  void abortWaits() {
    Log l = log;
    if (l != null) {
      l.abortWaits();
    }
  }

  /** See {@link Log#failWhereStuck}. */
  void failWhereStuck() {
    Log l = log;
    if (l != null) {
      l.failWhereStuck();
    }
  }

  /** Makes what is in the log durable, if that is possible: for a database that has stopped. */
  void persist() {
    Log l = log();
    try {
      l.awaitDurableUnlessFull(l.tail());
    } catch (DurabilityLostException | StorageFullException e) {
      LOG.log(Level.DEBUG, name + ": the end of the log is lost", e);
    }
  }

  /** Ends all threads; what is not written is not written. */
  void stop() {
    Checkpointer c = checkpointer;
    if (c != null) {
      c.cancel();
    }
    Log l = log;
    if (l != null) {
      l.abandon(); // who waits for it, the checkpointer too, waits no longer
    }
    if (c != null) {
      c.close();
    }
  }

  /**
   * The file is clean and the log is not needed: a segment of it stays, to be used again. All of it
   * stays where changes are followed.
   */
  private void trimLog() {
    if (superblocks.current().changes() > 0) {
      return;
    }
    long segment = log().segmentBytes();
    if (logFile.size() > segment) {
      // First the mark: what is left may be of an earlier session than the file says.
      logFile.sync();
      logFile.resize(segment);
    }
  }

  /** Nothing beside the data file is needed from here on, and what is there says so. */
  private void markClosed() {
    try {
      Superblock s = superblocks.current();
      LogIdentity.markClosed(logFile, s.id(), s.changes());
      if (doubleWrite != null) {
        doubleWrite.empty();
      }
      trimLog();
    } catch (FoveaException e) {
      LOG.log(Level.DEBUG, name + ": its log is larger than it need be, or not marked closed", e);
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
