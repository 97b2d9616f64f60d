package io.fovea.store;

import io.fovea.btree.BTree;
import io.fovea.btree.KeyLocationCache;
import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PoolSpace;
import io.fovea.changes.ChangePoint;
import io.fovea.changes.ChangeReader;
import io.fovea.error.CorruptionException;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.DurabilityLostException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.StorageException;
import io.fovea.error.StorageFullException;
import io.fovea.index.StatementContext;
import io.fovea.io.BlockDevice;
import io.fovea.io.Storage;
import io.fovea.recovery.Backup;
import io.fovea.recovery.Checkpointer;
import io.fovea.recovery.RecoveredRowCounts;
import io.fovea.recovery.RecoveryReport;
import io.fovea.recovery.Superblock;
import io.fovea.recovery.SuperblockFile;
import io.fovea.recovery.TablesLog;
import io.fovea.txn.Tx;
import io.fovea.txn.TxEngine;
import io.fovea.wal.LogSession;
import io.fovea.wal.LogStats;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.IntConsumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * An open database: the file and its lock, the pool and the transactions. {@link Opening} describes
 * the order in which they open, and {@link Closing} the order in which they close. One thread
 * closes a store; everything else is thread-safe.
 */
public final class Store {

  /** How long an operation waits for exclusive access. */
  private static final Duration ALONE_WAIT = Duration.ofSeconds(60);

  private final StoreComponents storeComponents;
  private final BufferPool pool;
  private final TxEngine engine;

  /** Null without a log. */
  private final @Nullable Journal journal;

  private final StatementContexts statementContexts;

  /** Online backups in progress. */
  private final Set<Object> backups = ConcurrentHashMap.newKeySet();

  /** Whether the file is marked as in use. */
  private volatile boolean marked;

  /** Whether transactions and long operations may begin. */
  private volatile boolean open = true;

  /** Whether active transactions may continue, as they may while a close waits for them. */
  private volatile boolean serving = true;

  /** Visible for tests. */
  volatile SchemaHooks hooks = SchemaHooks.NONE;

  /** In a snapshot, the point where later changes begin; null if the change feed is disabled. */
  private volatile @Nullable Supplier<ChangePoint> changePoint;

  /**
   * Creates an open store.
   *
   * @param marked whether the file is marked as in use
   */
  Store(StoreComponents storeComponents, boolean marked) {
    this.storeComponents = storeComponents;
    this.pool = storeComponents.pool();
    this.engine = storeComponents.engine();
    this.journal = storeComponents.journal();
    this.marked = marked;
    pool.poolStop().onStop(engine::halt);
    pool.poolStop().setWaitCheck(engine::checkWaiting);
    TimestampFile timestamps = storeComponents.timestamps();
    if (timestamps != null) {
      timestamps.onStop(engine::halt);
    }
    this.statementContexts =
        new StatementContexts(storeComponents.config().transactions().contexts(), engine);
  }

  // --------------------------------------------------------------------------------------- parts

  /** Returns whether this store was opened read-only. */
  public boolean isReadOnly() {
    return storeComponents.config().readOnly();
  }

  /** Returns whether this is a snapshot of another store. */
  public boolean isSnapshot() {
    return isReadOnly() && storeComponents.storage() == null;
  }

  public String name() {
    return storeComponents.name();
  }

  /** Returns the id of the database; a snapshot has the id of its database. */
  public UUID id() {
    return storeComponents.id();
  }

  public BlockDevice device() {
    return storeComponents.device();
  }

  public BufferPool pool() {
    return pool;
  }

  public TxEngine engine() {
    return engine;
  }

  public BTree catalog() {
    return storeComponents.catalog();
  }

  /** Attaches the schema, and starts checkpoints if the file is marked as in use. */
  public void attach(SchemaHooks of) {
    hooks = of;
    if (journal != null) {
      journal.attach(of);
      if (marked) {
        // After recovery, whose counts may come from the catalog, which the next close changes.
        journal.counts();
        journal.logTables();
        journal.begin(); // not earlier: a checkpoint without counts makes them unknown
      }
    }
  }

  /** Sets the point where the changes after this snapshot begin. */
  void changesFrom(Supplier<ChangePoint> point) {
    changePoint = point;
  }

  /**
   * Returns the position at which later changes begin: for a snapshot, changes of its database
   * after the snapshot; otherwise changes committed after this call. Everything before the position
   * is durable.
   */
  public ChangePoint changePoint() {
    if (isSnapshot()) {
      Supplier<ChangePoint> of = changePoint;
      if (of == null) {
        throw notFollowed();
      }
      return of.get();
    }
    requireOpen();
    requireNoTransaction("get the position of changes");
    Journal j = followed();
    long tables = tablesLsn(j);
    long lsn = j.log().tail();
    j.log().awaitDurable(lsn);
    return new ChangePoint(id(), tables, lsn);
  }

  /**
   * Returns the LSN of the list of tables for a change position; 0 if the change feed is disabled
   * or the log is too full.
   */
  long tablesLsn() {
    Journal j = journal;
    try {
      return j == null || !isFollowed() ? 0 : tablesLsn(j);
    } catch (StorageFullException e) {
      return 0;
    }
  }

  private long tablesLsn(Journal j) {
    willWrite();
    TablesLog tables = j.tables();
    return tables == null ? 0 : tables.require();
  }

  /** Reads changes from a position; close the reader before this store. */
  public ChangeReader changes(ChangePoint at) {
    requireOpen();
    Journal j = followed();
    return new ChangeReader(name(), j.log(), j::changesFrom, id(), pool.pageSize(), at);
  }

  /** Returns whether commits log whole values for change subscribers. */
  public boolean isFollowed() {
    Journal j = journal;
    return j != null && j.tables() != null && !isReadOnly();
  }

  private Journal followed() {
    Journal j = journal;
    if (j == null || !isFollowed()) {
      throw notFollowed();
    }
    return j;
  }

  private InvalidUseException notFollowed() {
    return new InvalidUseException(
        "Changes of database "
            + storeComponents.name()
            + " can't be followed: it has to be opened with a log, for writing, and with"
            + " LogOptions.changeRetentionBytes.");
  }

  /** Returns the trees whose records are counted. */
  List<BTree> counted() {
    return hooks.counted();
  }

  /** Returns the counts that override the catalog's; null if the catalog's are valid. */
  public @Nullable RecoveredRowCounts recoveredRowCounts() {
    return storeComponents.counts();
  }

  /**
   * Returns the number that identifies the valid counts in the catalog; 0 if no counts are valid.
   */
  public long countsNumber() {
    SuperblockFile superblocks = storeComponents.superblocks();
    return superblocks == null ? 0 : superblocks.current().counted();
  }

  /** Returns the path of the data file, or the name of a store without one. */
  public String fileName() {
    SuperblockFile superblocks = storeComponents.superblocks();
    return superblocks == null ? storeComponents.name() : superblocks.path();
  }

  StoreComponents storeComponents() {
    return storeComponents;
  }

  /** Returns the superblock of a complete copy without a log. */
  public Superblock complete() {
    return storeComponents.complete();
  }

  /** Makes an online backup; requires a log. */
  public Backup.Result backup(Backup backup) {
    Journal j = journal;
    SuperblockFile s = storeComponents.superblocks();
    if (j == null || s == null) {
      throw new IllegalStateException(storeComponents.name() + " has no log.");
    }
    willWrite();
    Object mine = new Object();
    // Before the backup's checkpoint: a backup that a load does not see has a later redo point.
    backups.add(mine);
    pool.checkpoint()
        .space()
        .blockCuts(); // keeps the pages that the checkpoint includes until they are copied
    try {
      return backup.copyOnline(
          storeComponents.device(),
          pool,
          j.log(),
          j.logFile(),
          () -> {
            j.checkpointer().checkpoint();
            return s.current();
          });
    } catch (CorruptionException | StorageException e) {
      if (open) {
        throw e;
      }
      // A close has truncated the log and closed the files, so this is not corruption.
      DatabaseClosedException closed = closedException();
      closed.initCause(e);
      throw closed;
    } finally {
      pool.checkpoint().space().unblockCuts();
      backups.remove(mine);
    }
  }

  /** Returns the online backups in progress, by identity. */
  public Set<Object> backups() {
    return Set.copyOf(backups);
  }

  /** Returns the files; null in memory. */
  public @Nullable Storage storage() {
    return storeComponents.storage();
  }

  public boolean isOpen() {
    return open;
  }

  /** Returns the log with recovery and checkpoints; null without a log. */
  public @Nullable Journal journal() {
    return journal;
  }

  /** Returns the session of schema changes, for the holder of the schema lock. */
  public LogSession session() {
    return journal == null ? LogSession.NONE : journal.session();
  }

  /** Returns a session to hold back the redo point during a schema change. */
  public LogSession hold() {
    // An incomplete change holds back the redo point permanently.
    engine().checkUsable(false);
    return journal == null ? LogSession.NONE : journal.hold();
  }

  /**
   * Passes the {@link #hold} session, which still holds back the redo point, to the caller. Later
   * calls of {@code hold} return a new session.
   */
  public LogSession transferHold() {
    return journal == null ? LogSession.NONE : journal.transferHold();
  }

  /** Returns a new session of the log, or {@link LogSession#NONE}. */
  public LogSession newSession() {
    return journal == null ? LogSession.NONE : journal.log().session();
  }

  /** Waits until the log is durable up to an LSN. */
  public void awaitDurable(long lsn) {
    if (journal != null) {
      journal.log().awaitDurable(lsn);
    }
  }

  /** Requests that the log become durable up to an LSN, without waiting. */
  public void requestDurable(long lsn) {
    if (journal != null) {
      journal.log().request(lsn);
    }
  }

  /** Returns an unused tree id. */
  public int nextTreeId() {
    return storeComponents.treeIds().getAndIncrement();
  }

  /**
   * Returns whether pages may be changed: the file is marked as in use, or there is no file to
   * mark.
   */
  public boolean isMarked() {
    return marked || storeComponents.superblocks() == null && !isReadOnly();
  }

  /** Refuses commits with changes, because the file is read-only. */
  void refuseWrites() {
    engine.whyReadOnly(readOnlyRefusal());
  }

  private String readOnlyRefusal() {
    return "Database "
        + storeComponents.name()
        + " was opened read-only: open it without Options.readOnly.";
  }

  /** Marks the file as in use before the first change of a page. */
  public void willWrite() {
    if (isReadOnly()) {
      throw new InvalidUseException(readOnlyRefusal());
    }
    if (!marked && mark()) {
      if (journal != null) {
        journal.counts();
        journal.logTables();
      }
      hooks.onMarked(); // last, because it may fail: the steps above must not be skipped
    }
  }

  private synchronized boolean mark() {
    SuperblockFile superblocks = storeComponents.superblocks();
    if (marked || !open || superblocks == null) {
      return false;
    }
    if (journal != null) {
      journal.mark(pool.allocatorState(), storeComponents.treeIds().get());
      journal.begin();
    } else {
      storeComponents.writeSuperblock(superblocks, false, superblocks.current().counted());
    }
    marked = true;
    return true;
  }

  /** Makes a checkpoint if there is a log and anything was written. */
  public void checkpoint() {
    if (journal != null && marked) {
      journal.checkpointer().checkpoint();
    }
  }

  /**
   * Truncates a file without a log at the high-water mark. The superblock is written first, so that
   * the file always contains all pages that the superblock names; the file stays marked as in use.
   * Call this on one thread at a time, and not during a close.
   */
  public void shrinkUnlogged() {
    if (journal != null || !open) {
      return;
    }
    SuperblockFile file = storeComponents.superblocks();
    if (file != null && marked) {
      storeComponents.writeSuperblock(file, false, file.current().counted());
    }
    long mark = pool.allocatorState().highWater();
    pool.checkpoint().space().shrink(mark, true);
  }

  /** Returns the end of the log; 0 without one. */
  public long logTail() {
    return journal == null ? 0 : journal.log().tail();
  }

  /** Returns how many log bytes recovery may need before commits wait; unlimited without a log. */
  public long logBytesMax() {
    return journal == null ? Long.MAX_VALUE : journal.checkpointer().maxBytes();
  }

  /** Returns the redo point. */
  public long redoLsn() {
    return journal == null ? Long.MAX_VALUE : journal.checkpointer().redoLsn();
  }

  /**
   * Returns the redo point of the superblock; -1 if the superblock does not allow holes in free
   * pages, and {@link PoolSpace#UNLOGGED} without a log, in which case nothing is replayed and a
   * close allows holes.
   */
  public long redoWithHoles() {
    SuperblockFile file = storeComponents.superblocks();
    if (journal == null) {
      return PoolSpace.UNLOGGED;
    }
    if (file == null) {
      return -1;
    }
    Superblock counts = file.current();
    return counts.allocator().holes() ? counts.redoLsn() : -1;
  }

  /** Returns whether commits can still become durable. */
  public boolean canBeDurable() {
    try {
      if (journal != null) {
        journal.log().requireAlive();
      }
      return true;
    } catch (DurabilityLostException e) {
      return false;
    }
  }

  /** Returns statistics of the log; null without one. */
  public @Nullable LogStats logStats() {
    return journal == null ? null : journal.log().stats();
  }

  /** Returns statistics of checkpoints; null without a log. */
  public Checkpointer.@Nullable Stats checkpointStats() {
    return journal == null ? null : journal.checkpointer().stats();
  }

  /** Returns the report of the recovery, if there was one. */
  public RecoveryReport recoveryReport() {
    return journal == null ? RecoveryReport.NONE : journal.report();
  }

  public long logMemoryBytes() {
    return journal == null ? 0 : journal.log().memoryBytes();
  }

  /** Returns the key location cache, created on first use; null if it is disabled. */
  public @Nullable KeyLocationCache keyLocations() {
    return storeComponents.keyLocations().cache();
  }

  /** Returns the memory used by the key location cache, in bytes. */
  public long locationCacheBytes() {
    return storeComponents.keyLocations().bytes();
  }

  /** Returns the memory limit of the key location cache in bytes. */
  public long locationCacheBytesMax() {
    return storeComponents.keyLocations().maxBytes();
  }

  /** Returns the memory limit of the pool in bytes. */
  public long bufferBytesMax() {
    return storeComponents.config().dataPool().bufferBytes();
  }

  /** Claims a statement context for the calling thread. */
  public StatementContext claimContext() {
    return statementContexts.claim();
  }

  /** Returns the number of active transactions of the calling thread. */
  public int transactionsOfCurrentThread() {
    return statementContexts.countOfCurrentThread();
  }

  // ---------------------------------------------------------------------------------- exclusion

  /** Throws unless the store is open. */
  public void requireOpen() {
    if (!open) {
      throw closedException();
    }
  }

  /** Throws unless the store is open; usable as a {@link io.fovea.memory.Waits.Check}. */
  public void checkWaiting(Supplier<String> waitsFor) {
    requireOpen();
  }

  /**
   * Throws unless active transactions may continue, which they may while a close waits for them.
   */
  public void requireServing() {
    if (!serving) {
      throw closedException();
    }
  }

  /**
   * Throws if the thread has a transaction, because the operation waits for transactions to end.
   */
  public void requireNoTransaction(String what) {
    if (transactionsOfCurrentThread() > 0) {
      requireOpen(); // a close ends transactions, but the thread keeps their contexts
      throw new InvalidUseException(
          "Can't " + what + " in a transaction: end the transaction of this thread first.");
    }
  }

  /**
   * Runs an action while no transaction is active and none can begin.
   *
   * @throws io.fovea.error.TransactionAbortedException if transactions do not end in time
   */
  public void runAlone(String what, Runnable work) {
    requireNoTransaction(what);
    Tx tx = engine.begin(false, ALONE_WAIT.toNanos(), true);
    try {
      work.run();
    } finally {
      tx.rollback(tx.epoch());
    }
  }

  // --------------------------------------------------------------------------------------- closing

  /**
   * Runs all steps of a close in order, even if some fail.
   *
   * @throws RuntimeException the first failure; an {@link Error} is rethrown in the same way
   */
  public static void closeAll(int count, IntConsumer step) {
    Closing.all(count, step);
  }

  /** Stops admission, lets transactions end, then refuses their operations. */
  public boolean quiesce(Duration timeout) {
    open = false;
    try {
      boolean quiet = Closing.quiesce(storeComponents, statementContexts, timeout);
      if (journal != null) {
        journal.failIfBlocked(); // a schema change waits for the log while it holds its lock
      }
      return quiet;
    } finally {
      serving = false;
    }
  }

  /**
   * Writes everything, unless this store is read-only, and releases all resources, even if writing
   * fails.
   *
   * @param quiet the result of {@link #quiesce}
   */
  public synchronized void close(boolean quiet) {
    try {
      if (!isReadOnly()) { // what recovery changed is in memory, and needs no further pages
        Closing.finish(storeComponents, marked, quiet, hooks);
      }
    } finally {
      Closing.releaseAll(storeComponents, hooks);
    }
  }

  /** Releases all resources without writing. */
  public void discard() {
    open = false;
    serving = false;
    engine.stopAdmission();
    engine.abortWaits();
    synchronized (this) {
      // Wait for a mark in progress; a later mark sees that the store is closed. The mark may be
      // running on a thread that is joined below.
    }
    Closing.releaseAll(storeComponents, hooks);
  }

  public DatabaseClosedException closedException() {
    return new DatabaseClosedException("Database " + storeComponents.name() + " is closed.");
  }
}
