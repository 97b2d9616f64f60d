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
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What is behind a database: the file and its lock, the pool, the transactions. {@link Opening}
 * says in which order they open, {@link Closing} in which order they close.
 *
 * <p>The store lends its parts to the rooms above. It keeps whether the store is open, and whether
 * the file says that it is in use. One thread closes it; all else is for any.
 *
 * <p>The file has more than 600 lines because each part that is lent is a method with its contract.
 */
public final class Store {
  // The file has more than 600 lines because the parts of a store are lent one by one here.

  /** How long a change of the schema waits to be alone. */
  private static final Duration ALONE_WAIT = Duration.ofSeconds(60);

  private final StoreComponents storeComponents;
  private final BufferPool pool;
  private final TxEngine engine;

  /** Null where there is no log. */
  private final @Nullable Journal journal;

  private final Slots slots;

  /** Backups with a log that are under way. */
  private final Set<Object> backups = ConcurrentHashMap.newKeySet();

  /** Whether the file says that it is not clean. */
  private volatile boolean marked;

  /** Whether transactions may begin, and anything that takes a while. */
  private volatile boolean open = true;

  /** Whether transactions that have begun may go on: while a close waits for them, too. */
  private volatile boolean serving = true;

  /** Seen by the tests of the room. */
  volatile SchemaHooks hooks = SchemaHooks.NONE;

  /** Of a snapshot: where the changes go on that it does not have; null where nobody follows. */
  private volatile @Nullable Supplier<ChangePoint> moment;

  /**
   * A store that is open.
   *
   * @param marked whether the file says that it is in use
   */
  Store(StoreComponents storeComponents, boolean marked) {
    this.storeComponents = storeComponents;
    this.pool = storeComponents.pool();
    this.engine = storeComponents.engine();
    this.journal = storeComponents.journal();
    this.marked = marked;
    pool.stopping().onStop(engine::halt);
    pool.stopping().whileWaiting(engine::checkWaiting);
    TimestampFile timestamps = storeComponents.timestamps();
    if (timestamps != null) {
      timestamps.onStop(engine::halt);
    }
    this.slots = new Slots(storeComponents.config().transactions().contexts(), engine);
  }

  // --------------------------------------------------------------------------------------- parts

  /** Whether it was opened for reading only. */
  public boolean isReadOnly() {
    return storeComponents.config().readOnly();
  }

  /** Whether it is the state of a moment of another store. */
  public boolean isSnapshot() {
    return isReadOnly() && storeComponents.storage() == null;
  }

  public String name() {
    return storeComponents.name();
  }

  /** Tells one database from another; a snapshot has its database's. */
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

  /** Says what the schema does for it. Of a file that is in use checkpoints begin now. */
  public void attach(SchemaHooks of) {
    hooks = of;
    if (journal != null) {
      journal.attach(of);
      if (marked) {
        // Recovered: what it has found out may be from the catalog, which the next close changes.
        journal.counts();
        journal.noteTables();
        journal.begin(); // not before: a checkpoint without counts would make them unknown
      }
    }
  }

  /** Says where the changes go on that this snapshot does not have. */
  void changesFrom(Supplier<ChangePoint> point) {
    moment = point;
  }

  /**
   * Where changes go on that are not here: of a snapshot those of its database since its moment,
   * else those that are committed from now on. What is before it is durable.
   */
  public ChangePoint changePoint() {
    if (isSnapshot()) {
      Supplier<ChangePoint> of = moment;
      if (of == null) {
        throw notFollowed();
      }
      return of.get();
    }
    requireOpen();
    requireNoTransaction("tell the position of changes");
    Journal j = followed();
    long tables = tablesLsn(j);
    long lsn = j.log().tail();
    j.log().awaitDurable(lsn);
    return new ChangePoint(id(), tables, lsn);
  }

  /**
   * Where the list of tables begins that a position needs; 0 where nobody follows changes, and
   * where the log is too full for one.
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

  /** Reads changes from a position on; to be closed before this is. */
  public ChangeReader changes(ChangePoint at) {
    requireOpen();
    Journal j = followed();
    return new ChangeReader(name(), j.log(), j::changesFrom, id(), pool.pageSize(), at);
  }

  /**
   * Whether the log has to say of each record what a commit makes of it, for who follows changes.
   */
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

  /** The trees whose records are counted. */
  List<BTree> counted() {
    return hooks.counted();
  }

  /** What is known of counts beside the catalog; null: what the catalog has holds. */
  public @Nullable RecoveredRowCounts recoveredRowCounts() {
    return storeComponents.counts();
  }

  /** Which counts of trees in the catalog hold; 0 for none. */
  public long countsNumber() {
    SuperblockFile superblocks = storeComponents.superblocks();
    return superblocks == null ? 0 : superblocks.current().counted();
  }

  /** The path of the data file; what it is called where there is none. */
  public String fileName() {
    SuperblockFile superblocks = storeComponents.superblocks();
    return superblocks == null ? storeComponents.name() : superblocks.path();
  }

  StoreComponents storeComponents() {
    return storeComponents;
  }

  /** What the superblock of a copy says that is complete without a log. */
  public Superblock complete() {
    return storeComponents.complete();
  }

  /** Copies everything, beside everything else; there is a log. */
  public Backup.Result backup(Backup backup) {
    Journal j = journal;
    SuperblockFile s = storeComponents.superblocks();
    if (j == null || s == null) {
      throw new IllegalStateException(storeComponents.name() + " has no log.");
    }
    willWrite();
    Object mine = new Object();
    // Before its checkpoint: one that a load does not see has a redo point behind it.
    backups.add(mine);
    pool.checkpoint().space().keep(); // what the checkpoint counts stays until it was copied
    try {
      return backup.hot(
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
      // A close has cut the log and closed the files that are read here: that is no damage.
      DatabaseClosedException closed = closedException();
      closed.initCause(e);
      throw closed;
    } finally {
      pool.checkpoint().space().release();
      backups.remove(mine);
    }
  }

  /** Those backups that run beside everything else now; each is an object of its own. */
  public Set<Object> backups() {
    return Set.copyOf(backups);
  }

  /** Where files are; null where there are none. */
  public @Nullable Storage storage() {
    return storeComponents.storage();
  }

  public boolean isOpen() {
    return open;
  }

  /** Null where there is no log. */
  public @Nullable Journal journal() {
    return journal;
  }

  /** The session of changes of the schema, for the holder of its lock. */
  public LogSession session() {
    return journal == null ? LogSession.NONE : journal.session();
  }

  /** Another one, to hold back the redo point meanwhile. */
  public LogSession hold() {
    // What failed halfway holds the redo point back for ever.
    engine().checkUsable(false);
    return journal == null ? LogSession.NONE : journal.hold();
  }

  /**
   * Hands {@link #hold} over to the caller, and it still holds back the redo point. The next call
   * of {@code hold} returns another session.
   */
  public LogSession takeHold() {
    return journal == null ? LogSession.NONE : journal.takeHold();
  }

  /** A new session of the log, where there is one. */
  public LogSession newSession() {
    return journal == null ? LogSession.NONE : journal.log().session();
  }

  /** Returns when the log is durable up to a position, if there is one. */
  public void awaitDurable(long lsn) {
    if (journal != null) {
      journal.log().awaitDurable(lsn);
    }
  }

  /** Asks for the log to become durable up to a position, and does not wait. */
  public void requestDurable(long lsn) {
    if (journal != null) {
      journal.log().request(lsn);
    }
  }

  /** An id that no tree has or had. */
  public int nextTreeId() {
    return storeComponents.treeIds().getAndIncrement();
  }

  /** Whether pages may be changed: the file says that it is in use, or there is none to say so. */
  public boolean isMarked() {
    return marked || storeComponents.superblocks() == null && !isReadOnly();
  }

  /** From now on commits that have changed something are refused: the file is read only. */
  void refuseWrites() {
    engine.whyReadOnly(readOnlyRefusal());
  }

  private String readOnlyRefusal() {
    return "Database "
        + storeComponents.name()
        + " was opened for reading only: open it without Options.readOnly.";
  }

  /** Before the first change of a page: takes the clean flag off the disk. */
  public void willWrite() {
    if (isReadOnly()) {
      throw new InvalidUseException(readOnlyRefusal());
    }
    if (!marked && mark()) {
      if (journal != null) {
        journal.counts();
        journal.noteTables();
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

  /** Makes a checkpoint, where there is a log and something was written. */
  public void checkpoint() {
    if (journal != null && marked) {
      journal.checkpointer().checkpoint();
    }
  }

  /**
   * Where there is no log: gives the room behind the high-water mark back. The superblock gets the
   * mark first, so that the file has all pages of the one that counts. It says that the file is in
   * use, as before: only a close makes a file of it that can be opened.
   *
   * <p>One thread, and not while the store closes.
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

  /** Where the log ends now; 0 without one. */
  public long logTail() {
    return journal == null ? 0 : journal.log().tail();
  }

  /** How much log a crash may need before commits wait; no limit without one. */
  public long logBytesMax() {
    return journal == null ? Long.MAX_VALUE : journal.checkpointer().maxBytes();
  }

  /** What lies before it in the log a crash does not need. */
  public long redoLsn() {
    return journal == null ? Long.MAX_VALUE : journal.checkpointer().redoLsn();
  }

  /**
   * Where replay would begin, as the superblock says that counts; -1 where that does not know that
   * free pages may be holes. {@link PoolSpace#UNLOGGED} without a log: nothing is ever replayed, a
   * file that is in use can't be opened, and a close says that there may be holes.
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

  /** Whether what is committed can become durable. */
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

  /** What the log has done; null where there is none. */
  public @Nullable LogStats logStats() {
    return journal == null ? null : journal.log().stats();
  }

  /** What checkpoints have done; null where there are none. */
  public Checkpointer.@Nullable Stats checkpointStats() {
    return journal == null ? null : journal.checkpointer().stats();
  }

  /** What the recovery has done, if there was one. */
  public RecoveryReport recoveryReport() {
    return journal == null ? RecoveryReport.NONE : journal.report();
  }

  public long logMemoryBytes() {
    return journal == null ? 0 : journal.log().memoryBytes();
  }

  /** Where records were seen last; null where that is not remembered. Made when it is asked for. */
  public @Nullable KeyLocationCache places() {
    return storeComponents.keyLocations().table();
  }

  /** The memory that places of records have. */
  public long locationCacheBytes() {
    return storeComponents.keyLocations().bytes();
  }

  /** The memory that places of records may have. */
  public long placeBytesMax() {
    return storeComponents.keyLocations().maxBytes();
  }

  /** The memory that the pool of the records' pages may take. */
  public long bufferBytesMax() {
    return storeComponents.config().dataPool().bufferBytes();
  }

  /** A free slot for the calling thread. */
  public StatementContext claimSlot() {
    return slots.claim();
  }

  /** How many transactions of the calling thread are active. */
  public int mine() {
    return slots.mine();
  }

  // ---------------------------------------------------------------------------------- being alone

  /** Throws unless it is open. */
  public void requireOpen() {
    if (!open) {
      throw closedException();
    }
  }

  /**
   * The same for an operation that waits for another: a {@link io.fovea.memory.Waits.Check}.
   *
   * @param waitsFor for messages
   */
  public void checkWaiting(Supplier<String> waitsFor) {
    requireOpen();
  }

  /**
   * The same for what the body of a transaction needs that may go on while a close waits for it.
   */
  public void requireServing() {
    if (!serving) {
      throw closedException();
    }
  }

  /** Throws where the thread has a transaction: what is done here waits for transactions to end. */
  public void requireNoTransaction(String what) {
    if (mine() > 0) {
      throw new InvalidUseException(
          "Can't " + what + " in a transaction: end the transaction of this thread first.");
    }
  }

  /**
   * Runs something while no transaction is active and none begins.
   *
   * @throws io.fovea.error.TransactionAbortedException if transactions don't end in time
   */
  public void alone(String what, Runnable work) {
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
   * Takes the steps of a close in order, whatever some of them throw.
   *
   * @throws RuntimeException what the first throws that fails; so with an {@link Error}
   */
  public static void closeAll(Runnable... steps) {
    Closing.all(List.of(steps));
  }

  /** Begins nothing more, lets transactions end, then refuses their operations. */
  public boolean quiesce(Duration grace) {
    open = false;
    try {
      boolean quiet = Closing.quiesce(storeComponents, slots, grace);
      if (journal != null) {
        journal.failWhereStuck(); // a change of the schema waits for the log with its lock held
      }
      return quiet;
    } finally {
      serving = false;
    }
  }

  /**
   * Writes everything and gives everything back. The pages are given back even if writing fails.
   *
   * @param quiet what {@link #quiesce} returned
   */
  public synchronized void close(boolean quiet) {
    try {
      Closing.finish(storeComponents, marked, quiet, hooks);
    } finally {
      Closing.giveBack(storeComponents, hooks);
    }
  }

  /** Gives everything back without writing. */
  public void discard() {
    open = false;
    serving = false;
    engine.stopAdmission();
    engine.abortWaits();
    synchronized (this) {
      // A mark that is under way ends here, and one that comes later sees that the store is closed.
      // It may be of a thread that is awaited below.
    }
    Closing.giveBack(storeComponents, hooks);
  }

  public DatabaseClosedException closedException() {
    return new DatabaseClosedException("Database " + storeComponents.name() + " is closed.");
  }
}
