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
 * A transaction at the level of bytes: a reusable context of the engine, in the hands of the thread
 * that began it.
 *
 * <pre>
 *   TxReads    get: own writes, tree, item word, read set; why one look at the word is enough
 *   TxHints    get by a hint, peek, lookahead; hints at places that were read
 *   TxScans    scans: TxScan
 *   TxWrites   insert, put, patch, delete ─► write set (deferred)
 *   Commit     lock, validate, append, install, publish
 *   ---
 *   ConcurrencyControl  what the protocol decides
 *   Workspace  read set, write set, the position that operations use
 *   TxLife     active, doomed, too old: may it go on?
 *   TxShared   what all transactions of the engine share
 * </pre>
 *
 * <p>This class is the facade and the order of begin and end. Each part knows those below it, and
 * none knows this class.
 *
 * <p>Keys and values are native memory. Nothing here allocates on the way of a point operation once
 * the sets have grown to the transaction's size. No method is to be called from another thread than
 * the one that began the transaction; the API room checks that.
 */
public final class Tx {
  // It has more than 600 lines because it is the one facade of all parts, with their contracts.

  /** What {@link #get} returns for a key that is not there. */
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

  /** What the protocol decides. */
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
   * A statement uses a table.
   *
   * @param bit of the table: {@code 1L << (id & 63)}
   * @return whether this transaction may have dropped the table
   */
  public boolean use(long bit) {
    work.tables |= bit;
    return (work.dropped & bit) != 0;
  }

  /** This transaction drops tables with these bits. */
  public void drops(long bits) {
    work.dropped |= bits;
  }

  /** From now on the transaction changes the catalog, or depends on it. Until its end. */
  public void catalog(CatalogPart part) {
    life.operation();
    work.catalog = part;
  }

  /** What the transaction was told is durable when the log is durable up to a position. */
  public void sawLsn(long lsn) {
    work.sawLsn(lsn);
  }

  /** Dooms the transaction; the caller throws what this returns. */
  public TransactionAbortedException abort(AbortCause cause, String message) {
    return life.abort(cause, message);
  }

  // ---------------------------------------------------------------- life

  boolean claim() {
    return busy == 0 && BUSY.compareAndSet(this, 0, 1);
  }

  /** A volatile store: who does it looks next whether somebody waits ({@link Admission}). */
  void unclaim() {
    assert busy != 0 : "the context is given back twice";
    busy = 0;
  }

  /** A volatile look, for who wants to be alone and the meters. */
  boolean claimed() {
    return busy != 0;
  }

  /** Gives back what the last commit has left for the next one. */
  void releasePages() {
    commit.releasePages();
  }

  /**
   * Begins. Where that fails nothing is left of it, and the context is still claimed: who has
   * claimed it gives it back, once. A context that was given back twice would be handed to two
   * threads.
   */
  void start(boolean readOnly, long timeoutNanos, boolean alone, @Nullable Attempts attempts) {
    assert busy != 0 && life.thread == TxLife.NOBODY : "the context has another transaction";
    this.alone = alone;
    epoch++;
    boolean begun = false;
    try {
      if (!work.clean) {
        sweep(); // the end of the last transaction was cut short
      }
      work.clean = false;
      life.begin(readOnly, timeoutNanos);
      reader.begin();
      writer.begin();
      concurrencyControl.begin(attempts, timeoutNanos);
      boolean reads = readOnly && !concurrencyControl.pessimistic.on();
      work.leaves.begin(reads, false);
      begun = true;
    } finally {
      if (!begun) {
        life.thread = TxLife.NOBODY;
        endLocks(); // the next begin does the rest
      }
    }
    life.active = true;
  }

  /**
   * Says that the caller begins the transaction again where it is aborted. If it only reads, its
   * scans may then read leaves instead of records, and a read that is its only one may leave no
   * trace. Before anything is read.
   */
  public void repeated() {
    boolean reads = life.readOnly() && !concurrencyControl.pessimistic.on();
    work.leaves.begin(reads, true);
    if (reads) {
      reader.repeated();
    }
  }

  /** Whose context it is. */
  public TxEngine engine() {
    return engine;
  }

  /** Whether operations are still accepted. */
  public boolean active() {
    return life.active;
  }

  /** Whether it reserves what it uses: {@link Reservations}. */
  public boolean pessimistic() {
    return concurrencyControl.pessimistic.on();
  }

  /** Whether {@link #put} and its like are refused. */
  public boolean readOnly() {
    return life.readOnly();
  }

  /**
   * The generation: no other transaction of this context had or will have it. It moves at the end,
   * so that {@link #commit} and {@link #rollback}, which ask for it, refuse a stale handle.
   */
  public long epoch() {
    return epoch;
  }

  /** {@link #epoch} as another thread sees it, a little behind. */
  long epochSeen() {
    return (long) EPOCH.getOpaque(this);
  }

  /**
   * Commits: locks what is written, validates what was read, appends, installs, publishes. The
   * transaction has ended when this returns or throws; but nobody must be told before {@link
   * TxEngine#await} has returned, which is called after this, with nothing held.
   *
   * @param generation {@link #epoch} since the begin
   * @return what to wait for: a position of the log, or 0 for nothing
   * @throws InvalidUseException if it has ended
   * @throws TransactionAbortedException if it can't be serialized, was doomed before, or is too old
   * @throws io.fovea.error.DurabilityLostException if the log takes nothing any more
   * @throws io.fovea.error.StorageFullException if there is no space for the log
   */
  public long commit(long generation) {
    if (epoch != generation) {
      throw TxLife.ended();
    }
    // What is thrown from here on ends it, an error of the JVM included: nothing is called before.
    // An abort was counted where it arose.
    try {
      life.requireUndoomed();
      // Who has written and reserved nothing ends here, whatever its age: an abort helps nobody.
      if (hasWrites() || concurrencyControl.pessimistic.on()) {
        life.checkDeadline();
        long lsn = commit.run();
        life.counters.committed(System.nanoTime() - life.beganNanos());
        return lsn;
      }
      life.health.checkUsable(life.readOnly());
      long lsn = commit.run();
      life.counters.committedReading(life.beganNanos());
      return lsn;
    } finally {
      endAll();
    }
  }

  /**
   * Ends the transaction without a trace. Leaves alone what has ended; but that is a fault of the
   * caller, because {@link #commit(long)} ends a transaction whatever it throws.
   */
  public void rollback(long generation) {
    if (epoch != generation) {
      assert false : "the transaction has ended, and its context may be another thread's";
      return;
    }
    if (life.doomed == null) { // a call might fail
      life.counters.rollbacks++;
    }
    endAll();
  }

  /**
   * Whether all that was read belongs to one state of the database. A result or an exception may
   * leave a transaction's body only when it does: a doomed read can show an impossible state.
   */
  public boolean readsValid() {
    return reader.valid();
  }

  /**
   * Before a mistake of the program, or damage, is inferred from what was read: two reads that a
   * commit came between show what never was, and that is a conflict.
   *
   * @throws TransactionAbortedException if what was read belongs to no state of the database
   */
  public void requireReadsValid() {
    reader.requireValid();
  }

  /**
   * The largest pageLsn of the leaves that were read: when the log is durable up to here, so is all
   * that was seen, and that something was not there. 0 where nobody waits.
   */
  public long readLsn() {
    return work.readLsn;
  }

  /**
   * A digest of the records that it has written so far, the same in each database with the same
   * records.
   *
   * @param names gives the name of a tree's table, as bytes; empty for other trees, which are left
   *     out
   * @param deletes whether records that go count
   */
  public long digest(Function<BTree, byte[]> names, boolean deletes) {
    return new WriteDigest(work.writes, names).of(deletes);
  }

  /** Whether it would change anything, as far as is known. */
  public boolean hasWrites() {
    CatalogPart catalog = work.catalog;
    return work.writes.size() > 0 || catalog != null && catalog.changes();
  }

  private void endAll() {
    // Stores only: whatever is called may fail, and then the transaction has ended all the same.
    life.active = false;
    life.thread = TxLife.NOBODY;
    work.readLsn = 0;
    work.tables = 0;
    work.dropped = 0;
    CatalogPart catalog = work.catalog;
    work.catalog = null;
    work.move = null;
    epoch++;
    // Whatever fails: locks and pins go, and the context is given back. What is left goes at start.
    try {
      endLocks();
      scans.end();
      hints.count(work.position);
      life.counters.take(work.position);
      work.clear();
    } catch (Throwable t) {
      sweep(); // what is left
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
        concurrencyControl.end(); // what is left of it
      }
    }
  }

  /** Throws {@link InvalidUseException} in a read-only one, with the reason. */
  public void requireWritable() {
    life.requireWritable();
  }

  /** In the middle of an operation, with nothing latched. After the append nothing ends it. */
  void checkWaiting(Supplier<String> waitsFor) {
    if (life.active && !commit.happened()) {
      life.checkWaiting(waitsFor);
    }
  }

  /** Whether it may go on, and what this context has counted. */
  TxLife life() {
    return life;
  }

  // ---------------------------------------------------------------- reads

  /**
   * Reads the value of a key.
   *
   * @param out where up to {@code cap} bytes of the value go; native memory
   * @return the length of the value, which may exceed {@code cap}, or {@link #ABSENT}
   * @throws TransactionAbortedException if the transaction can't go on
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

  /**
   * {@link #get} of a key that was looked for a moment ago.
   *
   * @param near where it may be, checked as any hint; it stays as it is. Null for a descent
   */
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
   * {@link #get} for who has no use for {@link #lastRead}: where it is all that a transaction does,
   * it takes no timestamps ({@link SingleReadFastPath}).
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
   * Says that a key is going to be read and then changed: waits for other transactions that have
   * said so of this key, unless that takes long, so that this one need not be aborted for them.
   * Nothing in a transaction that only reads.
   *
   * @throws TransactionAbortedException if the transaction can't go on
   */
  public void lockForUpdate(BTree tree, MemorySegment key, long keyOffset, int keyLength) {
    if (!life.readOnly()) {
      life.operation();
      concurrencyControl.lockForUpdate(Items.of(tree, key, keyOffset, keyLength));
    }
  }

  /** Whether the transaction itself has written or deleted a key. */
  public boolean wrote(BTree tree, MemorySegment key, long keyOffset, int keyLength) {
    return reader.wrote(tree, key, keyOffset, keyLength);
  }

  /** The handle of the last read, for {@link #patch}: it names the record's place. */
  public int lastRead() {
    return reader.lastRead();
  }

  /** Where the last read ended, for who finds that wrong which it found: a page id, or -1. */
  public long page() {
    return reader.page();
  }

  /** The number of this context: no two transactions at a time have the same. */
  public int context() {
    return life.id;
  }

  /** The hash of the record of a read. */
  public long item(int handle) {
    return work.reads.item(handle);
  }

  // ---------------------------------------------------------------- scans

  /**
   * Opens a scan of an interval. A bound of negative length is no bound.
   *
   * @throws TransactionAbortedException if the transaction can't go on
   */
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

  /** How many scans of this transaction are open. */
  public int openScans() {
    return scans.open();
  }

  // ---------------------------------------------------------------- writes

  /** Whether it has written or deleted anything in a tree: a look at all that it has written. */
  public boolean hasWrites(BTree tree) {
    return work.writes.has(tree);
  }

  /**
   * Adds a key with its value.
   *
   * @throws DuplicateKeyException if the key is there
   * @throws TransactionAbortedException if the transaction can't go on
   */
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

  /**
   * Sets the value of a key, whether it is there or not. Reads nothing.
   *
   * @throws TransactionAbortedException if the transaction can't go on
   */
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
   * Changes {@code length} bytes of a value from {@code at} on. The record must have been read, by
   * this transaction, or be one that it wrote.
   *
   * @param handle {@link #lastRead} of that read, or negative: then the record is read here
   * @throws InvalidUseException if there is no such record, or it is shorter than that
   * @throws TransactionAbortedException if the transaction can't go on
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

  /**
   * Moves the pages of a long value. That is all that the transaction does; the commit does it.
   *
   * @param how moves them
   * @throws TransactionAbortedException if the transaction can't go on
   */
  public void moveChain(
      BTree tree, MemorySegment key, long keyOffset, int keyLength, ChainMove how) {
    writer.move(tree, key, keyOffset, keyLength);
    work.move = how;
  }

  /**
   * Removes a key.
   *
   * @return whether it was there
   * @throws TransactionAbortedException if the transaction can't go on
   */
  public boolean delete(BTree tree, MemorySegment key, long keyOffset, int keyLength) {
    return writer.delete(tree, key, keyOffset, keyLength);
  }

  /**
   * Removes the record that a scan stands on, which was opened {@link TxScan#toDelete to delete}.
   *
   * @throws TransactionAbortedException if the transaction can't go on
   */
  public void delete(TxScan scan) {
    writer.delete(scan);
  }

  // ---------------------------------------------------------------- hints

  /**
   * The lookahead of this transaction: {@link #get(int, BTree, MemorySegment, long, int,
   * MemorySegment, long, int)} takes its hints.
   */
  public Lookahead lookahead() {
    return hints.lookahead();
  }

  /**
   * Has the lookahead go down for the keys that were added to it. The lines of their timestamps are
   * loaded first, so that the reads that follow do not wait for them one after the other.
   *
   * @param n how many keys
   * @param bytes how much of each value will be read
   */
  public void descend(BTree tree, int n, int bytes) {
    hints.descend(tree, n, bytes);
  }

  /**
   * {@link #get} of a key that {@link #lookahead} has gone down for.
   *
   * @param expected its number there
   */
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
        tree, key, keyOffset, keyLength, out, outOffset, cap, lookahead().place(expected));
  }

  /**
   * {@link #get} of a key of which something outside of the tree remembers where it was. What the
   * hint was worth, {@link #hinted} says afterwards.
   *
   * @param hint what is remembered, as {@link HintedLeaf#locate} takes it; it stays as it is
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
   * What the hint of the last {@link #getHinted} was worth.
   *
   * @return what {@link HintedLeaf#locate} says; negative where it was not asked, because the
   *     transaction knew the record already
   */
  public int hinted() {
    return hints.hinted();
  }

  /**
   * Looks for a key in the tree, without what this transaction has written, and does not remember
   * that it did: what it finds is a hint. For a caller that proves by its other reads that it was
   * right.
   *
   * @param place out: where the key was, or would be
   * @return the length of the value; negative where the key is not found at once, and has to be
   *     asked for by {@link #get}
   */
  public int peek(
      BTree tree,
      MemorySegment key,
      long keyOffset,
      int keyLength,
      MemorySegment out,
      long outOffset,
      int cap,
      Position place) {
    return hints.peek(tree, key, keyOffset, keyLength, out, outOffset, cap, place);
  }

  /** Puts the place of a read into a position, as a hint. */
  public void placeOfRead(int handle, Position p) {
    hints.placeOfRead(handle, p);
  }

  /**
   * Puts what this transaction knows of the place of a key into a position, as a hint: where it was
   * when it was read or, if it was absent, where it would be. Nowhere, if it knows nothing.
   */
  public void placeOf(BTree tree, MemorySegment key, long keyOffset, int keyLength, Position p) {
    hints.placeOf(tree, key, keyOffset, keyLength, p);
  }

  /** What this context has counted of hints in entries. */
  public HintCounters hintCounters() {
    return hints.hintCounters();
  }
}
