package io.fovea.txn;

import io.fovea.btree.BTree;
import io.fovea.btree.ChainMove;
import io.fovea.btree.HintedLeaf;
import io.fovea.btree.Lookahead;
import io.fovea.btree.Position;
import io.fovea.error.AbortCause;
import io.fovea.error.DuplicateKeyException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.TransactionAbortedException;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A transaction at the level of bytes: a reusable context of the engine, used by the thread that
 * began it.
 *
 * <pre>
 *   TxReads    get: own writes, tree, item word, read set
 *   TxHints    get by a hint, peek, lookahead; hints of locations that were read
 *   TxScans    scans: TxScan
 *   TxWrites   insert, put, patch, delete ─► write set (deferred)
 *   Commit     lock, validate, append, install, publish
 *   ---
 *   ConcurrencyControl  the protocol
 *   Workspace  read set, write set, the position that operations use
 *   TxLife     active, rollback-only, timed out
 *   TxShared   what all transactions of the engine share
 * </pre>
 *
 * <p>This class is the facade and the order of begin and end. Each part knows those below it, and
 * none knows this class.
 *
 * <p>Keys and values are native memory. Point operations do not allocate once the sets have grown.
 * Only the thread that began the transaction may call methods; the API checks that. Every operation
 * throws {@link TransactionAbortedException} if the transaction can't continue.
 */
public final class Tx {

  /** The result of {@link #get} for an absent key. */
  public static final int ABSENT = TxReads.ABSENT;

  private static final VarHandle BUSY;
  private static final VarHandle EPOCH;

  static {
    try {
      BUSY = MethodHandles.lookup().findVarHandle(Tx.class, "busy", int.class);
      EPOCH = MethodHandles.lookup().findVarHandle(Tx.class, "epoch", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final TxEngine engine;
  private final TxLife life;
  private final Workspace work;

  private final ConcurrencyControl concurrencyControl;

  private final TxReads reader;
  private final TxHints hints;
  private final TxScans scans;
  private final TxWrites writer;
  private final Commit commit;

  @SuppressWarnings("unused") // through BUSY
  private volatile int busy;

  private boolean alone;
  private long epoch;

  Tx(TxEngine engine, TxShared shared, int id) {
    this.engine = engine;
    this.life = new TxLife(shared, id);
    this.work = new Workspace(life);
    this.concurrencyControl = new ConcurrencyControl(life, work);
    this.reader = new TxReads(life, work, concurrencyControl);
    this.hints = new TxHints(life, work, reader, concurrencyControl);
    this.scans = new TxScans(life, work, concurrencyControl, reader);
    this.writer = new TxWrites(life, work, concurrencyControl, reader);
    this.commit = new Commit(life, work, concurrencyControl, reader);
  }

  // ---------------------------------------------------------------- the catalog

  /**
   * Records that a statement uses a table, {@code 1L << (id & 63)}; returns whether this
   * transaction may have dropped it.
   */
  public boolean useTable(long bit) {
    work.tables |= bit;
    return (work.dropped & bit) != 0;
  }

  /** Records that this transaction drops tables with these bits. */
  public void addDropped(long bits) {
    work.dropped |= bits;
  }

  /** Attaches catalog changes or reads until the end of the transaction. */
  public void setCatalogPart(CatalogPart part) {
    life.operation();
    work.catalog = part;
  }

  /** Records a read that is durable when the log is durable up to a position. */
  public void dependsOnLsn(long lsn) {
    work.dependsOnLsn(lsn);
  }

  /** Marks the transaction rollback-only; the caller throws the result. */
  public TransactionAbortedException abort(AbortCause cause, String message) {
    return life.abort(cause, message);
  }

  /** Returns the cause of the first abort of a transaction still active, or null. */
  public @Nullable AbortCause abortCause(long generation) {
    return epoch == generation ? life.rollbackOnly : null;
  }

  // ---------------------------------------------------------------- life

  boolean claim() {
    return busy == 0 && BUSY.compareAndSet(this, 0, 1);
  }

  /** Volatile: the caller then checks for waiters ({@link Admission}). */
  void unclaim() {
    assert busy != 0 : "the context is released twice";
    busy = 0;
  }

  /** Volatile; for exclusive operations and statistics. */
  boolean isClaimed() {
    return busy != 0;
  }

  /** Releases the page reservations that the last commit kept for the next one. */
  void releasePages() {
    commit.releasePages();
  }

  /**
   * Begins. If this fails, the context is still claimed, and the caller releases it, once.
   * Otherwise it could be handed to two threads.
   */
  void start(boolean readOnly, long timeoutNanos, boolean alone, @Nullable Attempts attempts) {
    assert busy != 0 && life.thread == TxLife.NO_THREAD : "the context has another transaction";
    this.alone = alone;
    epoch++;
    boolean begun = false;
    try {
      if (!work.clean) {
        sweep(); // an error interrupted the end of the last transaction
      }
      work.clean = false;
      life.begin(readOnly, timeoutNanos);
      reader.begin();
      writer.begin();
      concurrencyControl.begin(attempts, timeoutNanos);
      boolean reads = readOnly && !concurrencyControl.pessimistic.isOn();
      work.leaves.begin(reads, false);
      begun = true;
    } finally {
      if (!begun) {
        life.thread = TxLife.NO_THREAD;
        endLocks(); // the next begin does the rest
      }
    }
    life.active = true;
  }

  /**
   * Declares that the caller retries after an abort, before any read. A read-only transaction may
   * then scan leaves instead of items, and pin nothing for a single read.
   */
  public void declareRetry() {
    boolean reads = life.isReadOnly() && !concurrencyControl.pessimistic.isOn();
    work.leaves.begin(reads, true);
    if (reads) {
      reader.declareRetry();
    }
  }

  /** Returns the engine of the context. */
  public TxEngine engine() {
    return engine;
  }

  /** Returns whether operations are accepted. */
  public boolean isActive() {
    return life.active;
  }

  /** Returns whether it reserves what it uses: {@link Reservations}. */
  public boolean isPessimistic() {
    return concurrencyControl.pessimistic.isOn();
  }

  /** Returns whether writes are refused. */
  public boolean isReadOnly() {
    return life.isReadOnly();
  }

  /**
   * Returns the generation, unique in this context. It changes at the end, so that {@link #commit}
   * and {@link #rollback} refuse a stale handle.
   */
  public long epoch() {
    return epoch;
  }

  long epochSeen() {
    return (long) EPOCH.getOpaque(this);
  }

  /**
   * Commits: locks what is written, validates what was read, appends, installs, publishes. The
   * transaction has ended when this returns or throws, but must be acknowledged only after {@link
   * TxEngine#await}, which is called with nothing held.
   *
   * @param generation the value of {@link #epoch} since the transaction began
   * @return the log position to wait for, or 0
   * @throws InvalidUseException if it has ended
   * @throws TransactionAbortedException if it can't be serialized, was marked rollback-only, or is
   *     too old
   * @throws io.fovea.error.DurabilityLostException if the log has failed
   * @throws io.fovea.error.StorageFullException if there is no space for the log
   */
  public long commit(long generation) {
    if (epoch != generation) {
      throw TxLife.ended();
    }
    // Every exception from here on ends it, even an error of the JVM: nothing is called before.
    // Aborts are counted where they arise.
    try {
      life.requireNotRollbackOnly();
      // Without writes and reservations there is no age limit here: an abort would help no other.
      if (hasWrites() || concurrencyControl.pessimistic.isOn()) {
        life.checkDeadline();
        long lsn = commit.run();
        life.counters.committed(System.nanoTime() - life.beganNanos());
        return lsn;
      }
      life.health.checkUsable(life.isReadOnly());
      long lsn = commit.run();
      life.counters.committedReading(life.beganNanos());
      return lsn;
    } finally {
      endAll();
    }
  }

  /**
   * Ends the transaction without effects. Does nothing if it has already ended. To call it then is
   * an error of the caller, because {@link #commit(long)} always ends the transaction.
   */
  public void rollback(long generation) {
    if (epoch != generation) {
      assert false : "the transaction has ended, and its context may be another thread's";
      return;
    }
    if (life.rollbackOnly == null) { // a call might fail
      life.counters.rollbacks++;
    }
    endAll();
  }

  /** Returns whether all reads belong to one state. Only then may a result leave the body. */
  public boolean readsValid() {
    return reader.valid();
  }

  /** Aborts unless all reads belong to one state; before misuse or corruption is inferred. */
  public void requireReadsValid() {
    reader.requireValid();
  }

  /**
   * Returns the largest pageLsn read: when the log is durable up to it, so are all reads. 0 if
   * readers do not wait.
   */
  public long readLsn() {
    return work.readLsn;
  }

  /**
   * Returns a digest of the writes so far, equal in all databases with the same records.
   *
   * @param names returns the name of a tree's table; empty for trees to leave out
   */
  public long digest(Function<BTree, byte[]> names, boolean deletes) {
    return new WriteDigest(work.writes, names).of(deletes);
  }

  /** Returns whether it has changes, as far as known. */
  public boolean hasWrites() {
    CatalogPart catalog = work.catalog;
    return work.writes.size() > 0 || catalog != null && catalog.changes();
  }

  private void endAll() {
    // Stores only: calls may fail, and the transaction must have ended nevertheless.
    life.active = false;
    life.thread = TxLife.NO_THREAD;
    work.readLsn = 0;
    work.tables = 0;
    work.dropped = 0;
    CatalogPart catalog = work.catalog;
    work.catalog = null;
    work.move = null;
    epoch++;
    // Locks, pins and the context are released in every case. The next start does the rest.
    try {
      endLocks();
      scans.end();
      hints.count(work.position);
      life.counters.take(work.position);
      work.clear();
    } catch (Throwable t) {
      sweep(); // the rest
      throw t;
    } finally {
      try {
        if (catalog != null) {
          catalog.ended();
        }
      } finally {
        engine.ended(this, alone);
      }
    }
  }

  private void sweep() {
    endLocks();
    scans.clear();
    work.clear();
  }

  private void endLocks() {
    boolean done = false;
    try {
      concurrencyControl.end();
      done = true;
    } finally {
      if (!done) {
        concurrencyControl.end(); // the rest
      }
    }
  }

  /** Throws {@link InvalidUseException} with the reason if it is read-only. */
  public void requireWritable() {
    life.requireWritable();
  }

  /**
   * Checks a wait within an operation, with nothing latched. After the append, nothing ends the
   * wait.
   */
  void checkWaiting(Supplier<String> waitsFor) {
    if (life.active && !commit.happened()) {
      life.checkWaiting(waitsFor);
    }
  }

  TxLife life() {
    return life;
  }

  // ---------------------------------------------------------------- reads

  /**
   * Reads up to {@code cap} bytes of a value into native memory; returns the value's length, which
   * may exceed {@code cap}, or {@link #ABSENT}.
   */
  public int get(
      BTree tree,
      MemorySegment key,
      long keyOffset,
      int keyLength,
      MemorySegment out,
      long outOffset,
      int cap) {
    return reader.get(tree, key, keyOffset, keyLength, out, outOffset, cap, null);
  }

  /** {@link #get}, starting at {@code near}, a hint that stays unchanged; null: at the root. */
  public int get(
      BTree tree,
      MemorySegment key,
      long keyOffset,
      int keyLength,
      MemorySegment out,
      long outOffset,
      int cap,
      @Nullable Position near) {
    return reader.get(tree, key, keyOffset, keyLength, out, outOffset, cap, near);
  }

  /**
   * {@link #get} without {@link #lastRead}: the only read of a transaction takes no timestamps
   * ({@link SingleReadFastPath}).
   */
  public int getAlone(
      BTree tree,
      MemorySegment key,
      long keyOffset,
      int keyLength,
      MemorySegment out,
      long outOffset,
      int cap) {
    return reader.getAlone(tree, key, keyOffset, keyLength, out, outOffset, cap);
  }

  /**
   * Announces that a key will be read and then changed: waits up to a limit for other transactions
   * that announced it, to avoid an abort. No effect in a read-only transaction.
   */
  public void lockForUpdate(BTree tree, MemorySegment key, long keyOffset, int keyLength) {
    if (!life.isReadOnly()) {
      life.operation();
      concurrencyControl.lockForUpdate(Items.of(tree, key, keyOffset, keyLength));
    }
  }

  /** Returns whether the transaction has written or deleted a key. */
  public boolean wrote(BTree tree, MemorySegment key, long keyOffset, int keyLength) {
    return reader.wrote(tree, key, keyOffset, keyLength);
  }

  /** Returns the handle of the last read, for {@link #patch}. */
  public int lastRead() {
    return reader.lastRead();
  }

  /** Returns the page id where the last read ended, or -1; for reports of corruption. */
  public long page() {
    return reader.page();
  }

  /** Returns the number of this context, unique among active transactions. */
  public int context() {
    return life.id;
  }

  /** Returns the item of a read. */
  public long item(int handle) {
    return work.reads.item(handle);
  }

  // ---------------------------------------------------------------- scans

  /** Opens a scan of an interval. A negative length means no bound. */
  public TxScan scan(
      BTree tree,
      MemorySegment low,
      long lowOffset,
      int lowLength,
      boolean lowInclusive,
      MemorySegment high,
      long highOffset,
      int highLength,
      boolean highInclusive,
      boolean descending) {
    return scans.open(
        tree,
        low,
        lowOffset,
        lowLength,
        lowInclusive,
        high,
        highOffset,
        highLength,
        highInclusive,
        descending);
  }

  public int openScans() {
    return scans.open();
  }

  // ---------------------------------------------------------------- writes

  /** Returns whether it has written or deleted anything in a tree; searches the whole write set. */
  public boolean hasWrites(BTree tree) {
    return work.writes.has(tree);
  }

  /** Adds a key with its value; throws {@link DuplicateKeyException} if the key exists. */
  public void insert(
      BTree tree,
      MemorySegment key,
      long keyOffset,
      int keyLength,
      MemorySegment value,
      long valueOffset,
      int valueLength) {
    writer.insert(tree, key, keyOffset, keyLength, value, valueOffset, valueLength);
  }

  /** Sets the value of a key, present or absent. Reads nothing. */
  public void put(
      BTree tree,
      MemorySegment key,
      long keyOffset,
      int keyLength,
      MemorySegment value,
      long valueOffset,
      int valueLength) {
    writer.put(tree, key, keyOffset, keyLength, value, valueOffset, valueLength);
  }

  /**
   * Changes {@code length} bytes of the value of a record that this transaction has read or
   * written. Throws {@link InvalidUseException} if the record is absent or too short.
   *
   * @param handle {@link #lastRead} of that read; negative: the record is read here
   */
  public void patch(
      BTree tree,
      MemorySegment key,
      long keyOffset,
      int keyLength,
      int handle,
      int at,
      MemorySegment bytes,
      long offset,
      int length) {
    writer.patch(tree, key, keyOffset, keyLength, handle, at, bytes, offset, length);
  }

  /** Moves the pages of a long value at the commit; the only operation of its transaction. */
  public void moveChain(
      BTree tree, MemorySegment key, long keyOffset, int keyLength, ChainMove how) {
    writer.move(tree, key, keyOffset, keyLength);
    work.move = how;
  }

  /** Removes a key; returns whether it existed. */
  public boolean delete(BTree tree, MemorySegment key, long keyOffset, int keyLength) {
    return writer.delete(tree, key, keyOffset, keyLength);
  }

  /**
   * Removes the current record of a scan that was opened {@link TxScan#prepareForDeletes to
   * delete}.
   */
  public void delete(TxScan scan) {
    writer.delete(scan);
  }

  // ---------------------------------------------------------------- hints

  /** Returns the lookahead, whose hints {@code get} with a number uses. */
  public Lookahead lookahead() {
    return hints.lookahead();
  }

  /**
   * Descends for the lookahead's {@code n} keys; {@code bytes} of each value will be read. Loads
   * the cache lines of their timestamps first.
   */
  public void descend(BTree tree, int n, int bytes) {
    hints.descend(tree, n, bytes);
  }

  /** {@link #get} of the key with number {@code expected} in the {@link #lookahead}. */
  public int get(
      int expected,
      BTree tree,
      MemorySegment key,
      long keyOffset,
      int keyLength,
      MemorySegment out,
      long outOffset,
      int cap) {
    return reader.get(
        tree, key, keyOffset, keyLength, out, outOffset, cap, lookahead().hint(expected));
  }

  /**
   * {@link #get} with a hint from outside of the tree, as for {@link HintedLeaf#locate}; {@link
   * #hinted} rates it afterwards.
   */
  public int getHinted(
      BTree tree,
      MemorySegment key,
      long keyOffset,
      int keyLength,
      MemorySegment out,
      long outOffset,
      int cap,
      Position hint) {
    return hints.getHinted(tree, key, keyOffset, keyLength, out, outOffset, cap, hint);
  }

  /**
   * Rates the hint of the last {@link #getHinted}, as {@link HintedLeaf#locate} does; negative: not
   * used.
   */
  public int hinted() {
    return hints.hinted();
  }

  /**
   * Searches for a key, without own writes and without a read-set entry: the result is a hint, for
   * callers that verify it. Returns the length of the value; negative if {@link #get} has to be
   * used. {@code position} receives the location of the key, or where it would be.
   */
  public int peek(
      BTree tree,
      MemorySegment key,
      long keyOffset,
      int keyLength,
      MemorySegment out,
      long outOffset,
      int cap,
      Position position) {
    return hints.peek(tree, key, keyOffset, keyLength, out, outOffset, cap, position);
  }

  /** Copies the location of a read to a position, as a hint. */
  public void locationOfRead(int handle, Position p) {
    hints.locationOfRead(handle, p);
  }

  /** Copies the known location of a key, or where it would be, as a hint. Cleared if unknown. */
  public void locationOf(BTree tree, MemorySegment key, long keyOffset, int keyLength, Position p) {
    hints.locationOf(tree, key, keyOffset, keyLength, p);
  }

  /** Returns the context's statistics of hints in index entries. */
  public HintCounters hintCounters() {
    return hints.hintCounters();
  }
}
