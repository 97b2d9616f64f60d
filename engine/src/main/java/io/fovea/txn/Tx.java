package io.fovea.txn;

import io.fovea.btree.BTree;
import io.fovea.btree.ChainMove;
import io.fovea.btree.HintedLeaf;
import io.fovea.btree.KeyLocationCache;
import io.fovea.btree.Lookahead;
import io.fovea.btree.Position;
import io.fovea.error.AbortCause;
import io.fovea.error.DuplicateKeyException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.TransactionAbortedException;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A transaction at the level of bytes: a reusable context of the engine, used by the thread that
 * began it.
 *
 * <pre>
 *   TxReads    get: own writes, tree, item word, read set
 *   TxScan     scans
 *   TxWrites   insert, put, patch, delete ─► write set (deferred)
 *   Commit     lock, validate, append, install, publish
 *   ---
 *   ConcurrencyControl  the protocol
 *   Workspace  read set, write set, the position that operations use
 *   TxLife     active, rollback-only, timed out
 *   TxShared   what all transactions of the engine share
 * </pre>
 *
 * <p>This class has the order of begin and end, the open scans, and the reads that start from a
 * hint. Each part knows those below it, and none knows this class.
 *
 * <p>Keys and values are native memory. Point operations do not allocate once the sets have grown.
 * Only the thread that began the transaction may call methods; the API checks that. Every operation
 * throws {@link TransactionAbortedException} if the transaction can't continue.
 */
public final class Tx {

  /** The result of {@link #get} for an absent key. */
  public static final int ABSENT = TxReads.ABSENT;

  private static final int SCANS_KEPT = 4;
  private static final int NOT_ASKED = -1;

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
  private final TxWrites writer;
  private final Commit commit;

  @SuppressWarnings("unused") // through BUSY
  private volatile int busy;

  private boolean alone;
  private long epoch;

  /** The open scans, then a few idle ones that keep their memory. */
  private TxScan[] scans = new TxScan[SCANS_KEPT];

  private int openScans;

  private final HintCounters hintCounters = new HintCounters();

  /** Created on demand: most contexts never read several keys at once. */
  private @Nullable Lookahead ahead;

  private int hinted = NOT_ASKED;

  /** Keeps the loads from being optimized away; the value has no meaning. */
  private long loaded;

  Tx(TxEngine engine, TxShared shared, int id) {
    this.engine = engine;
    this.life = new TxLife(shared, id);
    this.work = new Workspace(life);
    this.concurrencyControl = new ConcurrencyControl(life, work);
    this.reader = new TxReads(life, work, concurrencyControl);
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
      endScans();
      if (ahead != null) {
        ahead.count(work.position);
      }
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
    openScans = 0;
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
      concurrencyControl.lockForUpdate(tree.keyHash(key, keyOffset, keyLength));
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
    life.operation();
    if (openScans == scans.length) {
      scans = Arrays.copyOf(scans, openScans * 2);
    }
    TxScan scan = scans[openScans];
    if (scan == null) {
      scan = new TxScan(life, work, concurrencyControl, reader, this::closed);
      scans[openScans] = scan;
    }
    scan.index = openScans++;
    scan.open(
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
    return scan;
  }

  public int openScans() {
    return openScans;
  }

  private void closed(TxScan scan) {
    int last = --openScans;
    TxScan other = scans[last];
    scans[scan.index] = other;
    other.index = scan.index;
    scans[last] = scan;
    scan.index = last;
    life.counters.pageAccesses += scan.takePageAccesses();
  }

  private void endScans() {
    while (openScans > 0) {
      life.counters.pageAccesses += scans[--openScans].abandon();
    }
    if (scans.length > SCANS_KEPT) {
      shrinkScans();
    }
  }

  private void shrinkScans() {
    TxScan[] few = scans.length > 1 << 10 ? new TxScan[SCANS_KEPT] : scans;
    for (int i = SCANS_KEPT; i < scans.length; i++) {
      TxScan scan = scans[i];
      if (scan == null) {
        break;
      }
      scan.free();
    }
    scans = few;
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
    Lookahead a = ahead;
    if (a == null) {
      a = new Lookahead();
      ahead = a;
    }
    return a;
  }

  /**
   * Descends for the lookahead's {@code n} keys; {@code bytes} of each value will be read. Loads
   * the cache lines of their timestamps first.
   */
  public void descend(BTree tree, int n, int bytes) {
    Lookahead a = lookahead();
    if (concurrencyControl.stamped) {
      long seen = 0;
      for (int i = 0; i < n; i++) {
        seen += concurrencyControl.timestamps.load(a.hash(tree, i));
      }
      loaded += seen;
    }
    a.descend(tree, bytes);
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
    life.operation();
    hinted = NOT_ASKED;
    long item = tree.keyHash(key, keyOffset, keyLength);
    int w = work.writes.find(tree, item, key, keyOffset, keyLength);
    if (w >= 0) {
      return reader.getOwn(w, item, key, keyOffset, out, outOffset, cap);
    }
    if (work.reads.find(item) >= 0) {
      return reader.read(tree, item, key, keyOffset, keyLength, out, outOffset, cap, null);
    }
    Position p = work.position;
    p.copyFrom(hint);
    hinted = HintedLeaf.locate(tree, key, keyOffset, keyLength, p, cap);
    if ((hinted & HintedLeaf.NO_PAGE) != 0) {
      tree.find(key, keyOffset, keyLength, p);
    }
    return reader.readAt(tree, item, key, keyOffset, keyLength, out, outOffset, cap, -1, -1);
  }

  /**
   * Rates the hint of the last {@link #getHinted}, as {@link HintedLeaf#locate} does; negative: not
   * used.
   */
  public int hinted() {
    return hinted;
  }

  /**
   * Searches for a key, ignoring this transaction's writes and adding no read-set entry: the result
   * is a hint, for callers that verify it. Returns the length of the value; negative if {@link
   * #get} has to be used. {@code position} receives the location of the key, or where it would be.
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
    life.operation();
    Position p = work.position;
    KeyLocationCache locations = tree.keyLocations();
    if (locations != null) {
      return peekAtLocation(
          locations, tree, key, keyOffset, keyLength, out, outOffset, cap, position);
    }
    tree.find(key, keyOffset, keyLength, p);
    return peekAt(tree, p, out, outOffset, cap, position);
  }

  private int peekAtLocation(
      KeyLocationCache locations,
      BTree tree,
      MemorySegment key,
      long keyOffset,
      int keyLength,
      MemorySegment out,
      long outOffset,
      int cap,
      Position position) {
    Position p = work.position;
    long item = tree.keyHash(key, keyOffset, keyLength);
    boolean right = locations.find(tree, item, key, keyOffset, keyLength, p, cap);
    int length = peekAt(tree, p, out, outOffset, cap, position);
    if (!right) {
      locations.cache(tree, item, p);
    }
    return length;
  }

  private static int peekAt(
      BTree tree, Position p, MemorySegment out, long outOffset, int cap, Position position) {
    int length = p.found ? tree.copyValue(p, out, outOffset, cap) : TxReads.ABSENT;
    position.copyFrom(p);
    return tree.valid(p) ? length : TxReads.ABSENT;
  }

  /** Copies the location of a read to a position, as a hint. */
  public void locationOfRead(int handle, Position p) {
    work.reads.locate(handle, p);
  }

  /** Copies the known location of a key, or where it would be, as a hint. Cleared if unknown. */
  public void locationOf(BTree tree, MemorySegment key, long keyOffset, int keyLength, Position p) {
    long item = tree.keyHash(key, keyOffset, keyLength);
    int w = work.writes.find(tree, item, key, keyOffset, keyLength);
    int handle = w >= 0 ? work.writes.handle(w) : work.reads.find(item);
    if (handle >= 0) {
      work.reads.locate(handle, p);
    } else {
      p.clear();
    }
  }

  /** Returns the context's statistics of hints in index entries. */
  public HintCounters hintCounters() {
    return hintCounters;
  }
}
