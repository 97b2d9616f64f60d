package io.fovea.txn;

import io.fovea.btree.BTree;
import io.fovea.btree.HintedLeaf;
import io.fovea.btree.Lookahead;
import io.fovea.btree.Position;
import io.fovea.buffer.PageHeader;
import io.fovea.error.AbortCause;
import io.fovea.error.CorruptionException;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.DuplicateKeyException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.index.HintCounters;
import io.fovea.memory.Hash;
import io.fovea.memory.Mem;
import io.fovea.memory.Waits;
import io.fovea.wal.LogSession;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * A transaction at the level of bytes: a reusable context of the engine, in the hands of the thread
 * that began it.
 *
 * <pre>
 *   get ─► own writes? ─► tree: leaf version → content ─► item word, unlocked ─► leaf version again
 *                                                              │
 *                           read set: item → (word seen, place in the leaf)
 *   put, patch, delete ─► write set (deferred) ──commit──► lock, validate, install, publish
 * </pre>
 *
 * <b>Why one look at the word is enough.</b> RULES.md asks for version, content, words, words
 * again, version again. A writer holds the item's lock from before it changes the leaf until it
 * publishes the new timestamps, and a change of the leaf moves its version. Let the word be read,
 * unlocked, at t1 between the two equal looks at the version at t0 and t2. No install touched the
 * leaf in [t0, t2], so the content is that of t1; at t1 the item was unlocked, so every install
 * under a wts up to the one seen had happened and none above it had begun. Content and wts belong
 * together; a second look at the word could add nothing. The word's read may float within [t0, t2]
 * freely, for the same reason, so it needs no fence of its own.
 *
 * <p>Keys and values are native memory. Nothing here allocates on the way of a point operation once
 * the sets have grown to the transaction's size. No method is to be called from another thread than
 * the one that began the transaction; the API room checks that.
 */
public final class Tx {
  /** What {@link #get} returns for a key that is not there. */
  public static final int ABSENT = -1;

  private static final int NOT_ASKED = -1;

  /** How many scans a context keeps with their memory. */
  private static final int SCANS_KEPT = 4;

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

  private static final int CHECK_DEADLINE_EVERY = 256;

  final TxEngine engine;
  final Timestamps timestamps;
  final int id;
  final ReadSet reads = new ReadSet();
  final WriteSet writes;
  final Position position = new Position();

  /** Made when it is asked for: most contexts never read several keys at once. */
  private @Nullable Lookahead ahead;

  private final Position insertPlace = new Position();
  private @Nullable BTree insertTree;
  private int insertHandle;
  final TxCounters counters = new TxCounters();
  private final HintCounters hintCounters = new HintCounters();

  /** This context's way into the log. */
  final LogSession session;

  /** Whether what is read must be durable before anybody is told. */
  final boolean waits;

  /** What the protocol decides. */
  final Control control;

  private final Commit commit;
  private final int itemsMax;

  /** Whether places that were seen are begun from. */
  private final boolean placed;

  private TxScan[] scans = new TxScan[SCANS_KEPT];
  private int scansOpen;

  @SuppressWarnings("unused") // through BUSY
  private volatile int busy;

  private boolean active;
  private @Nullable Thread thread;
  private boolean readOnly;
  private boolean alone;
  private @Nullable AbortCause doomed;
  private long epoch;
  private long beganNanos;
  private long timeoutNanos;
  private int operationsToCheck;
  private int lastRead = -1;
  private int hinted = NOT_ASKED;
  private long readLsn;

  Tx(TxEngine engine, int id) {
    this.engine = engine;
    this.timestamps = engine.timestamps();
    this.id = id;
    this.itemsMax = engine.config().itemsMax();
    this.placed = engine.config().placesRemembered();
    this.session = engine.session();
    this.waits = engine.waits();
    this.writes =
        new WriteSet(new Scratch(engine.config().scratchBytesMax(), this, engine.memory()));
    this.control = new Control(this, engine.config().protocol(), engine.protocolMemory());
    this.commit = new Commit(this);
  }

  // ---------------------------------------------------------------- life

  boolean claim() {
    return busy == 0 && BUSY.compareAndSet(this, 0, 1);
  }

  /** A volatile store: whoever does it looks next whether somebody waits ({@link Admission}). */
  void unclaim() {
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

  void start(boolean readOnly, long timeoutNanos, boolean alone, @Nullable Attempts attempts) {
    this.readOnly = readOnly;
    this.timeoutNanos = timeoutNanos;
    this.alone = alone;
    beganNanos = System.nanoTime();
    operationsToCheck = CHECK_DEADLINE_EVERY;
    doomed = null;
    lastRead = -1;
    insertTree = null;
    epoch++;
    thread = Thread.currentThread();
    boolean begun = false;
    try {
      control.begin(attempts, timeoutNanos);
      begun = true;
    } finally {
      if (!begun) {
        notBegun();
      }
    }
    active = true;
  }

  /** The context is free for the next one; who runs alone gives it back himself. */
  private void notBegun() {
    thread = null;
    try {
      control.end();
    } finally {
      if (!alone) {
        unclaim();
      }
    }
  }

  /** Whose context it is. */
  public TxEngine engine() {
    return engine;
  }

  /** Whether operations are still accepted. */
  public boolean active() {
    return active;
  }

  /** Whether it reserves what it uses: {@link Reservations}. */
  public boolean pessimistic() {
    return control.pessimistic.on();
  }

  /** Whether {@link #put} and its like are refused. */
  public boolean readOnly() {
    return readOnly;
  }

  /** A number that no other transaction of this context had or will have; it moves at the end. */
  public long epoch() {
    return epoch;
  }

  /** {@link #epoch} as another thread sees it, a little behind. */
  long epochSeen() {
    return (long) EPOCH.getOpaque(this);
  }

  /** When it began, on the clock of {@link System#nanoTime}. */
  public long beganNanos() {
    return beganNanos;
  }

  /**
   * Commits: locks what is written, validates what was read, appends, installs, publishes. The
   * transaction has ended when this returns or throws; but nobody must be told before {@link
   * TxEngine#await} has returned, which is called after this, with nothing held.
   *
   * @return what to wait for: a position of the log, or 0 for nothing
   * @throws TransactionAbortedException if it can't be serialized, was doomed before, or is too old
   * @throws io.fovea.error.DurabilityLostException if the log takes nothing any more
   * @throws io.fovea.error.StorageFullException if there is no space for the log
   */
  public long commit() {
    if (!active) {
      throw refusal();
    }
    // Whatever is thrown from here on ends the transaction, an error of the JVM included: nothing
    // is called before. An abort was counted where it arose.
    try {
      if (doomed != null) {
        throw aborted(doomed, "the transaction was doomed by an earlier abort");
      }
      long now = System.nanoTime();
      checkDeadline(now);
      long lsn = commit.run();
      counters.commits++;
      // A short transaction notices a look at the clock; one that wrote nothing is done by now.
      counters.commitNanos += (hasWrites() ? System.nanoTime() : now) - beganNanos;
      return lsn;
    } finally {
      endAll();
    }
  }

  /** Ends the transaction without a trace. Does nothing when it has ended. */
  public void rollback() {
    if (!active) {
      return;
    }
    if (doomed == null) {
      counters.rollbacks++;
    }
    endAll();
  }

  /**
   * Whether all that was read belongs to one state of the database. A result or an exception may
   * leave a transaction's body only when it does: a doomed read can show an impossible state.
   */
  public boolean readsValid() {
    requireActive();
    return doomed == null && control.readsValid() && !engine.halted();
  }

  /**
   * Before a mistake of the program, or damage, is inferred from what was read: two reads that a
   * commit came between show what never was, and that is a conflict.
   *
   * @throws TransactionAbortedException if what was read belongs to no state of the database
   */
  public void requireReadsValid() {
    if (!readsValid()) {
      throw abort(AbortCause.VALIDATION, "what was read has changed");
    }
  }

  /**
   * The largest pageLsn of the leaves that were read: when the log is durable up to here, so is all
   * that was seen, and that something was not there. 0 where nobody waits.
   */
  public long readLsn() {
    return readLsn;
  }

  /** Whether it would change anything, as far as is known. */
  public boolean hasWrites() {
    return writes.size() > 0;
  }

  void sawLsn(long lsn) {
    if (lsn > readLsn) {
      readLsn = lsn;
    }
  }

  private void endAll() {
    active = false;
    thread = null;
    readLsn = 0;
    epoch++;
    // Whatever fails on the way: locks and pins go, and the context is given back.
    try {
      endLocks();
      endScans();
      counters.take(position);
      Lookahead a = ahead;
      if (a != null) {
        counters.pageAccesses += a.takePageAccesses();
      }
      clear();
    } catch (Throwable t) {
      endLocks(); // what is left of them
      clear();
      throw t;
    } finally {
      engine.ended(this, alone);
    }
  }

  private void endLocks() {
    boolean done = false;
    try {
      control.end();
      done = true;
    } finally {
      if (!done) {
        control.end(); // what is left of it
      }
    }
  }

  private void endScans() {
    while (scansOpen > 0) {
      scans[--scansOpen].abandon();
    }
    if (scans.length > SCANS_KEPT) {
      forgetScans();
    }
  }

  private void clear() {
    scansOpen = 0;
    reads.clear();
    writes.clear();
    writes.scratch.clear();
  }

  /** What many scans at a time took goes; a few stay for the next transaction. */
  private void forgetScans() {
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
    return get(tree, key, keyOffset, keyLength, out, outOffset, cap, null);
  }

  /**
   * The lookahead of this transaction: {@link #get(int, BTree, MemorySegment, long, int,
   * MemorySegment, long, int)} takes its hints.
   */
  public Lookahead lookahead() {
    Lookahead a = ahead;
    if (a == null) {
      a = new Lookahead();
      ahead = a;
    }
    return a;
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
    return get(tree, key, keyOffset, keyLength, out, outOffset, cap, lookahead().place(expected));
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
    operation();
    hinted = NOT_ASKED;
    long item = item(tree, key, keyOffset, keyLength);
    int w = writes.find(tree, item, key, keyOffset, keyLength);
    if (w >= 0) {
      return getOwn(w, item, key, keyOffset, out, outOffset, cap);
    }
    if (reads.find(item) >= 0) {
      return read(tree, item, key, keyOffset, keyLength, out, outOffset, cap, null);
    }
    Position p = position;
    p.copyFrom(hint);
    hinted = HintedLeaf.locate(tree, key, keyOffset, keyLength, p, cap);
    if ((hinted & HintedLeaf.NO_PAGE) != 0) {
      tree.find(key, keyOffset, keyLength, p);
    }
    return readAt(tree, item, key, keyOffset, keyLength, out, outOffset, cap, -1, -1);
  }

  /**
   * Looks for a key in the tree, without what this transaction has written, and does not remember
   * that it did: what it finds is a guess. For who proves by what else he reads that it was right.
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
    operation();
    Position p = position;
    tree.find(key, keyOffset, keyLength, p);
    int length = p.found ? tree.copyValue(p, out, outOffset, cap) : ABSENT;
    place.copyFrom(p);
    return tree.valid(p) ? length : ABSENT;
  }

  /**
   * What the hint of the last {@link #getHinted} was worth.
   *
   * @return what {@link HintedLeaf#locate} says; negative where it was not asked, because the
   *     transaction knew the record already
   */
  public int hinted() {
    return hinted;
  }

  /** What this context has counted of hints in entries. */
  public HintCounters hintCounters() {
    return hintCounters;
  }

  /** The number of this context: no two transactions at a time have the same. */
  public int context() {
    return id;
  }

  /** The hash of the record of a read. */
  public long item(int handle) {
    return reads.item(handle);
  }

  /** Puts the place of a read into a position, as a hint. */
  public void placeOfRead(int handle, Position p) {
    reads.locate(handle, p);
  }

  /**
   * Puts what this transaction knows of the place of a key into a position, as a hint: where it was
   * when it was read or, if it was absent, where it would be. Nowhere, if it knows nothing.
   */
  public void placeOf(BTree tree, MemorySegment key, long keyOffset, int keyLength, Position p) {
    long item = item(tree, key, keyOffset, keyLength);
    int w = writes.find(tree, item, key, keyOffset, keyLength);
    int handle = w >= 0 ? writes.handle(w) : reads.find(item);
    if (handle >= 0) {
      reads.locate(handle, p);
    } else {
      p.clear();
    }
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
    operation();
    long item = item(tree, key, keyOffset, keyLength);
    int w = writes.find(tree, item, key, keyOffset, keyLength);
    return w >= 0
        ? getOwn(w, item, key, keyOffset, out, outOffset, cap)
        : read(tree, item, key, keyOffset, keyLength, out, outOffset, cap, near);
  }

  /** Whether the transaction itself has written or deleted a key. */
  public boolean wrote(BTree tree, MemorySegment key, long keyOffset, int keyLength) {
    return writes.find(tree, item(tree, key, keyOffset, keyLength), key, keyOffset, keyLength) >= 0;
  }

  private int getOwn(
      int w,
      long item,
      MemorySegment key,
      long keyOffset,
      MemorySegment out,
      long outOffset,
      int cap) {
    switch (writes.kind(w)) {
      case WriteSet.INSERT, WriteSet.PUT -> {
        int length = writes.valueLength(w);
        Mem.copy(
            writes.scratch.segment(), writes.valueOffset(w), out, outOffset, Math.min(length, cap));
        lastRead = writes.handle(w);
        return length;
      }
      case WriteSet.PATCH -> {
        BTree tree = writes.tree(w);
        int length =
            read(tree, item, key, keyOffset, writes.keyLength(w), out, outOffset, cap, null);
        writes.applyPatches(w, out, outOffset, Math.min(length, cap));
        return length;
      }
      default -> {
        lastRead = writes.handle(w);
        return ABSENT;
      }
    }
  }

  /** Reads from the tree and enters the read set; the protocol of the class comment. */
  private int read(
      BTree tree,
      long item,
      MemorySegment key,
      long keyOffset,
      int keyLength,
      MemorySegment out,
      long outOffset,
      int cap,
      @Nullable Position hint) {
    Position p = position;
    int handle = reads.find(item);
    int slot = -1;
    if (handle >= 0) {
      slot = reads.slot(handle);
    }
    if (handle >= 0 && placed) {
      reads.locate(handle, p);
      tree.locate(key, keyOffset, keyLength, p);
    } else if (hint != null) {
      p.copyFrom(hint);
      tree.locate(key, keyOffset, keyLength, p);
    } else {
      tree.find(key, keyOffset, keyLength, p);
    }
    return readAt(tree, item, key, keyOffset, keyLength, out, outOffset, cap, handle, slot);
  }

  /** The rest of it, from where the position is. */
  private int readAt(
      BTree tree,
      long item,
      MemorySegment key,
      long keyOffset,
      int keyLength,
      MemorySegment out,
      long outOffset,
      int cap,
      int handle,
      int pinned) {
    Position p = position;
    int slot = pinned;
    for (int attempt = 0; ; attempt++) {
      int length = p.found ? tree.copyValue(p, out, outOffset, cap) : ABSENT;
      if (length >= 0 || !p.found) {
        if (slot < 0) {
          slot = pin(item);
        }
        long word = control.look(slot);
        if (!Word.isLocked(word) || engine.switches.readLocked()) {
          long lsn = waits ? pageLsn(tree, p) : 0;
          if (tree.valid(p)) {
            sawLsn(lsn);
            if (word == Mvto.OLD && control.versioned) {
              return readOld(tree, item, key, keyOffset, keyLength, out, outOffset, cap, slot);
            }
            enterRead(handle, item, slot, Word.withoutLock(word), p, length);
            return length;
          }
        } else {
          control.await(slot);
        }
      }
      if (attempt > 64) {
        pause(attempt);
      }
      tree.find(key, keyOffset, keyLength, p);
    }
  }

  /** What a record was, where what it is belongs to a later transaction. Its place is not known. */
  private int readOld(
      BTree tree,
      long item,
      MemorySegment key,
      long keyOffset,
      int keyLength,
      MemorySegment out,
      long outOffset,
      int cap,
      int slot) {
    int length = control.mvto.read(tree, item, key, keyOffset, keyLength, out, outOffset, cap);
    int entry = enter(reads.find(item), item, slot, 0);
    reads.place(entry, -1, 0, 0, -1, length);
    lastRead = entry;
    return length;
  }

  /** In the line that the search began with. To be validated like all else. */
  private static long pageLsn(BTree tree, Position p) {
    return PageHeader.pageLsn(tree.pool().pages(), tree.pool().base(p.frame));
  }

  /** Reads a value whose item this transaction has locked: nobody else changes it. */
  void readUnderLock(int e, MemorySegment out, int length) {
    BTree tree = writes.tree(e);
    MemorySegment s = writes.scratch.segment();
    Position p = position;
    place(e, p);
    tree.locate(s, writes.keyOffset(e), writes.keyLength(e), p);
    for (int attempt = 0; ; attempt++) {
      int found = p.found ? tree.copyValue(p, out, 0, length) : ABSENT;
      if (tree.valid(p) && (found >= 0 || !p.found)) {
        if (found != length) {
          throw new IllegalStateException(
              "A value of " + length + " bytes changed under its lock: " + found + ".");
        }
        return;
      }
      pause(attempt);
      tree.find(s, writes.keyOffset(e), writes.keyLength(e), p);
    }
  }

  /** Puts what is known of the place of a written key into a position. */
  void place(int e, Position p) {
    int handle = writes.handle(e);
    if (!placed) {
      p.clear();
    } else if (handle >= 0) {
      reads.locate(handle, p);
    } else {
      writes.locate(e, p);
    }
  }

  private void enterRead(int handle, long item, int slot, long word, Position p, int length) {
    int entry = enter(handle, item, slot, word);
    reads.place(entry, p.frame, p.version, p.pid, p.slot, length);
    lastRead = entry;
  }

  /**
   * Enters an unlocked word into the read set.
   *
   * @param handle of the item, or -1 where it is new
   * @return its handle
   */
  int enter(int handle, long item, int slot, long word) {
    if (handle < 0) {
      return reads.add(item, slot, word);
    }
    // One entry per item: another wts means that the first read is already stale. Not so where the
    // item is reserved: its wts may be raised, but what was read is as it was.
    if (Word.wts(reads.word(handle)) != Word.wts(word) && !control.pessimistic.on()) {
      throw abort(AbortCause.VALIDATION, "a key that was read twice has changed in between");
    }
    return handle;
  }

  /** Where the last read ended, for who finds that wrong which it found: a page id, or -1. */
  public long page() {
    return position.frame < 0 ? -1 : position.pid;
  }

  /** A point read past the write set, for a scan whose record has its value outside of the leaf. */
  int readScanned(
      BTree tree, MemorySegment key, long keyOffset, int keyLength, MemorySegment out, int cap) {
    int length =
        read(
            tree,
            item(tree, key, keyOffset, keyLength),
            key,
            keyOffset,
            keyLength,
            out,
            0,
            cap,
            null);
    if (length < 0) {
      // Both reads have the same wts, or the second had aborted: if they still hold, nobody has
      // taken the record away, and doing it all again would show the same.
      requireReadsValid();
      throw new CorruptionException(
          "a record that a scan meets and a search does not",
          position.pid,
          position.pid * tree.pool().pageSize(),
          1,
          0);
    }
    return length;
  }

  void scanning() {
    operation();
  }

  /** The handle of the last read, for {@link #patch}: it names the record's place. */
  public int lastRead() {
    return lastRead;
  }

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
    operation();
    if (scansOpen == scans.length) {
      scans = java.util.Arrays.copyOf(scans, scansOpen * 2);
    }
    TxScan scan = scans[scansOpen];
    if (scan == null) {
      scan = new TxScan(this, engine.pageSize());
      scans[scansOpen] = scan;
    }
    scan.index = scansOpen++;
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

  void closed(TxScan scan) {
    int last = --scansOpen;
    TxScan other = scans[last];
    scans[scan.index] = other;
    other.index = scan.index;
    scans[last] = scan;
    scan.index = last;
    counters.pageAccesses += scan.takePageAccesses();
  }

  // ---------------------------------------------------------------- writes

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
    writing(tree, keyLength, valueLength);
    long item = item(tree, key, keyOffset, keyLength);
    int w = writes.find(tree, item, key, keyOffset, keyLength);
    if (w >= 0) {
      byte kind = writes.kind(w);
      if (kind != WriteSet.DELETE && kind != WriteSet.NONE) {
        throw new DuplicateKeyException("the tree " + tree.treeId());
      }
      writes.value(w, replacing(w), value, valueOffset, valueLength);
      return;
    }
    intend(item);
    // Outside of an own write, a present key is a read like any other: the exception is a result.
    // Keys that are inserted one after the other often belong to one leaf: begin where the last
    // was.
    Position near = null;
    if (insertTree == tree && placed) {
      near = insertPlace;
      reads.locate(insertHandle, near);
    }
    int length = read(tree, item, key, keyOffset, keyLength, key, keyOffset, 0, near);
    if (length >= 0) {
      throw new DuplicateKeyException("the tree " + tree.treeId());
    }
    insertTree = tree;
    insertHandle = lastRead;
    w =
        writes.add(
            tree,
            item,
            key,
            keyOffset,
            keyLength,
            WriteSet.INSERT,
            WriteSet.ABSENT,
            lastRead,
            reads.slot(lastRead));
    writes.value(w, WriteSet.INSERT, value, valueOffset, valueLength);
  }

  private byte replacing(int w) {
    return writes.existed(w) == WriteSet.ABSENT ? WriteSet.INSERT : WriteSet.PUT;
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
    writing(tree, keyLength, valueLength);
    long item = item(tree, key, keyOffset, keyLength);
    int w = writes.find(tree, item, key, keyOffset, keyLength);
    if (w < 0) {
      intend(item);
      int handle = reads.find(item);
      int slot = handle >= 0 ? reads.slot(handle) : pin(item);
      w =
          writes.add(
              tree, item, key, keyOffset, keyLength, WriteSet.PUT, WriteSet.UNKNOWN, handle, slot);
    }
    writes.value(w, replacing(w), value, valueOffset, valueLength);
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
    writing(tree, keyLength, 0);
    long item = handle >= 0 ? reads.item(handle) : item(tree, key, keyOffset, keyLength);
    int w = writes.find(tree, item, key, keyOffset, keyLength);
    if (w < 0) {
      intend(item);
      int recordLength;
      if (handle >= 0) {
        recordLength = reads.length(handle);
      } else {
        recordLength = read(tree, item, key, keyOffset, keyLength, key, keyOffset, 0, null);
        handle = lastRead;
      }
      checkPatch(at, length, recordLength);
      w =
          writes.add(
              tree,
              item,
              key,
              keyOffset,
              keyLength,
              WriteSet.PATCH,
              WriteSet.PRESENT,
              handle,
              reads.slot(handle));
      writes.addPatch(w, at, bytes, offset, length);
      return;
    }
    switch (writes.kind(w)) {
      case WriteSet.INSERT, WriteSet.PUT -> {
        checkPatch(at, length, writes.valueLength(w));
        writes.overwrite(w, at, bytes, offset, length);
      }
      case WriteSet.PATCH -> {
        checkPatch(at, length, reads.length(writes.handle(w)));
        writes.addPatch(w, at, bytes, offset, length);
      }
      default -> checkPatch(at, length, ABSENT);
    }
  }

  private void checkPatch(int at, int length, int recordLength) {
    if (at >= 0 && length >= 0 && at <= recordLength - length) {
      return;
    }
    requireReadsValid();
    if (recordLength < 0) {
      throw new InvalidUseException("There is no record with this key to be changed.");
    }
    throw new InvalidUseException(
        "Bytes " + at + " to " + (at + length) + " of a record of " + recordLength + " bytes.");
  }

  /**
   * Removes a key.
   *
   * @return whether it was there
   * @throws TransactionAbortedException if the transaction can't go on
   */
  public boolean delete(BTree tree, MemorySegment key, long keyOffset, int keyLength) {
    writing(tree, keyLength, 0);
    long item = item(tree, key, keyOffset, keyLength);
    int w = writes.find(tree, item, key, keyOffset, keyLength);
    if (w >= 0) {
      byte kind = writes.kind(w);
      if (kind == WriteSet.DELETE || kind == WriteSet.NONE) {
        return false;
      }
      writes.discard(w, writes.existed(w) == WriteSet.ABSENT ? WriteSet.NONE : WriteSet.DELETE);
      return true;
    }
    intend(item);
    int length = read(tree, item, key, keyOffset, keyLength, key, keyOffset, 0, null);
    if (length < 0) {
      return false;
    }
    writes.add(
        tree,
        item,
        key,
        keyOffset,
        keyLength,
        WriteSet.DELETE,
        WriteSet.PRESENT,
        lastRead,
        reads.slot(lastRead));
    return true;
  }

  // ---------------------------------------------------------------- support

  /** item(tree, key): key and the gap below it. Never 0. */
  static long item(BTree tree, MemorySegment key, long offset, int length) {
    long h = Hash.hash(seed(tree), key, offset, length);
    return h == 0 ? 1 : h;
  }

  /** item(tree, +inf): the gap above the last key. */
  static long itemAtEnd(BTree tree) {
    long h = seed(tree) ^ 0x5851_F42D_4C95_7F2DL;
    h = (h ^ (h >>> 32)) * 0xD6E8_FEB8_6659_FD93L;
    return h | 1;
  }

  private static long seed(BTree tree) {
    return tree.treeId() * 0x9E37_79B9_7F4A_7C15L;
  }

  int pin(long item) {
    if (reads.size() + writes.size() >= itemsMax) {
      throw abort(
          AbortCause.TOO_LARGE,
          "The transaction reads or writes more than "
              + itemsMax
              + " records, which is the limit: do it in several transactions, each of which goes on"
              + " where the last one ended.");
    }
    try {
      return control.touch(item);
    } catch (TransactionAbortedException e) {
      throw counted(e);
    }
  }

  /** Under some protocols a write is more than a note. */
  private void intend(long item) {
    if (control.eager) {
      control.intend(item);
    }
  }

  /** An abort that arose where nobody knows transactions. */
  private TransactionAbortedException counted(TransactionAbortedException e) {
    if (doomed == null) {
      doomed = e.abortCause();
      counters.abort(doomed);
    }
    return e;
  }

  private void operation() {
    if (!active || doomed != null) {
      throw refusal();
    }
    if (--operationsToCheck == 0) {
      operationsToCheck = CHECK_DEADLINE_EVERY;
      checkDeadline();
    }
  }

  private void writing(BTree tree, int keyLength, int valueLength) {
    operation();
    requireWritable();
    tree.checkSizes(keyLength, valueLength);
  }

  /**
   * Does nothing in a transaction that may write.
   *
   * @throws InvalidUseException in a read-only one, with the reason
   */
  public void requireWritable() {
    if (readOnly) {
      throw new InvalidUseException(engine.whyReadOnly());
    }
  }

  private RuntimeException refusal() {
    if (!active) {
      return new InvalidUseException("The transaction has ended.");
    }
    return aborted(doomed, "the transaction was doomed by an earlier abort");
  }

  private void requireActive() {
    if (!active) {
      throw refusal();
    }
  }

  void checkDeadline() {
    checkDeadline(timeoutNanos > 0 ? System.nanoTime() : 0);
  }

  /** Any thread: a moment's truth, which is exact for the thread itself. */
  boolean belongsTo(Thread other) {
    return thread == other;
  }

  /** In the middle of an operation, with nothing latched. After the append nothing ends it. */
  void checkWaiting() {
    if (active && !commit.happened()) {
      if (engine.refuses()) {
        throw new DatabaseClosedException();
      }
      checkDeadline();
    }
  }

  private void checkDeadline(long now) {
    engine.checkUsable(readOnly);
    if (timeoutNanos > 0 && now - beganNanos > timeoutNanos) {
      throw abort(
          AbortCause.TIMEOUT,
          "the transaction is older than its limit of " + timeoutNanos / 1_000_000 + " ms");
    }
  }

  /** One step of waiting: first a few spins, then the core goes to who may be holding the lock. */
  void pause(int attempt) {
    if (attempt < 32) {
      Thread.onSpinWait();
    } else {
      Waits.giveWay();
      if ((attempt & 63) == 63) {
        checkDeadline();
      }
    }
  }

  /** The same where the wait is for a lock, which stays if its holder has broken the engine. */
  void pauseForHolder(int attempt) {
    if ((attempt & 63) == 63) {
      engine.requireHolder();
    }
    pause(attempt);
  }

  /** Dooms the transaction; the caller throws what this returns. */
  TransactionAbortedException abort(AbortCause cause, String message) {
    if (doomed == null) {
      doomed = cause;
      counters.abort(cause);
      if (cause == AbortCause.VALIDATION) {
        timestamps.conflict(id);
      }
    }
    return aborted(cause, message);
  }

  private static TransactionAbortedException aborted(@Nullable AbortCause cause, String message) {
    return new TransactionAbortedException(cause == null ? AbortCause.VALIDATION : cause, message);
  }
}
