package io.fovea.btree;

import io.fovea.buffer.AllocatorRecord;
import io.fovea.buffer.BufferPool;
import io.fovea.buffer.LeafHints;
import io.fovea.buffer.PageHeader;
import io.fovea.error.CorruptionException;
import io.fovea.error.KeyTooLargeException;
import io.fovea.error.ValueTooLargeException;
import io.fovea.memory.LongList;
import io.fovea.wal.LogSession;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * An ordered map of byte strings in pages of the buffer pool.
 *
 * <pre>
 *                 root (moves by itself alone: RootMove)
 *                /            |            \
 *          inner            inner           inner         fences: (low, high] of each node,
 *         /  |  \          /  |  \         /  |  \        the node's keys lie within
 *      leaf leaf leaf    ...
 *       &lt;--&gt;  &lt;--&gt;            siblings know each other by hints
 * </pre>
 *
 * <pre>
 *   BTree  ─►  LeafWriter ─► Splitter, Merger      changes of a record, of the structure
 *          ─►  PointReads                          reads of a key
 *          ─►  LongValues                          values that no leaf can hold
 *          ─►  Successor                           the next key
 *                    all of them  ─►  Descent      from the root to a node
 * </pre>
 *
 * <p>This class is the facade: it checks what is passed and says what holds. It has more than 600
 * lines because every method of the room's contract is documented here, and nowhere else. {@link
 * LeafScan}, {@link LeafRun}, {@link Lookahead}, {@link HintedLeaf}, {@link BulkLoader}, {@link
 * TreeDrop} and {@link TreeVerifier} work on a tree from outside.
 *
 * <h2>Contract</h2>
 *
 * <p>All keys and values that are passed are in native memory. What a read returns holds only if
 * {@link #valid} says so afterwards. Writers latch inside, and one key is never written by two
 * threads at once: the caller sees to that.
 *
 * @since 0.1.0
 */
public final class BTree {
  /** The longest value. */
  public static final long VALUE_BYTES_MAX = OverflowChain.VALUE_BYTES_MAX;

  private final BufferPool pool;
  private final int pageSize;
  private final int treeId;
  private final TreeScratch.Stock scratches;
  private final Descent descent;
  private final PointReads reads;
  private final LongValues longs;
  private final LeafWriter writer;
  private final TreeCounts counts;

  /**
   * Where keys were seen last. Set once, at any time, with a plain store: what it leads to is
   * final, and who does not see it yet goes down from the root.
   */
  private @Nullable KeyLocationCache places;

  private BTree(BufferPool pool, int treeId, long rootPid, boolean mayHoldLong) {
    this.pool = pool;
    this.pageSize = pool.pageSize();
    this.treeId = treeId;
    this.scratches = new TreeScratch.Stock(pageSize, pool.memory());
    this.descent = new Descent(pool, treeId, rootPid);
    this.reads = new PointReads(descent);
    this.longs = new LongValues(pool, treeId, mayHoldLong);
    this.writer = new LeafWriter(descent, reads, longs, scratches);
    this.counts = new TreeCounts(!mayHoldLong); // one that was opened may have records
  }

  /**
   * Makes an empty tree. With a log that is a CREATE_TREE record: the tree belongs to nobody until
   * the record of a change of the schema names it, and what a crash leaves of it before is dropped.
   *
   * @param pool where its pages will be
   * @param treeId the number that its pages carry; never used by another tree of the file
   * @param log a session that has begun
   * @return the tree
   */
  public static BTree create(BufferPool pool, int treeId, LogSession log) {
    return create(pool, treeId, false, log);
  }

  /**
   * Makes an empty tree, as {@link #create(BufferPool, int, LogSession)}.
   *
   * @param pool where its pages will be
   * @param treeId the number that its pages carry; never used by another tree of the file
   * @param endInFrames whether values end with the number of a frame, which is taken out of what is
   *     written: see {@link LeafHints}. All its leaves say so from then on
   * @param log a session that has begun
   * @return the tree
   */
  public static BTree create(BufferPool pool, int treeId, boolean endInFrames, LogSession log) {
    log.grant(rootSpace(pool));
    return initRoot(pool, treeId, 0, endInFrames, log);
  }

  /**
   * Makes an empty tree whose root is a page that exists already and belongs to nobody: the
   * catalog.
   *
   * @param pool where its pages will be
   * @param treeId the number that its pages carry
   * @param rootPid the page
   * @param log a session that has begun
   * @return the tree
   */
  public static BTree createAt(BufferPool pool, int treeId, long rootPid, LogSession log) {
    log.grant(rootSpace(pool));
    return initRoot(pool, treeId, rootPid, false, log);
  }

  /**
   * What {@link #create} and {@link #createAt} take of a grant at most: a thread that begins a
   * session with it is refused at once where the log is full.
   *
   * @param pool where the pages will be
   * @return bytes
   */
  public static long rootSpace(BufferPool pool) {
    return StructureRecord.space(pool.pageSize(), 1) + AllocatorRecord.ALLOCATE_SPACE;
  }

  /** Makes an empty leaf of a page that belongs to nobody; 0: of a new one. */
  private static BTree initRoot(
      BufferPool pool, int treeId, long rootPid, boolean endInFrames, LogSession log) {
    int frame =
        rootPid == 0
            ? pool.allocate(treeId, PageHeader.LEAF, log)
            : pool.allocateAt(rootPid, treeId, PageHeader.LEAF, log);
    boolean whole = false;
    try {
      MemorySegment pages = pool.pages();
      long base = pool.base(frame);
      if (endInFrames) {
        PageHeader.setLayout(pages, base, LeafHints.LAYOUT);
      }
      int none = BTreeNode.NONE;
      NodeEditor.init(pages, base, pool.pageSize(), 0, pages, base, none, pages, base, none);
      // Before the log has it: from then on somebody must know it.
      BTree tree = new BTree(pool, treeId, pool.pid(frame), false);
      whole = true;
      StructureRecord.appendCreate(pool, log, treeId, frame);
      pool.releaseExclusive(frame);
      return tree;
    } catch (RuntimeException | Error e) {
      if (whole) {
        LatchErrorGuard.giveWhole(pool, frame, true, true, e);
      } else {
        pool.free(frame, log);
      }
      throw e;
    }
  }

  /**
   * Opens a tree.
   *
   * @param pool where its pages are
   * @param treeId the number that its pages carry
   * @param rootPid its root
   * @return the tree
   * @throws CorruptionException if the page is no node of this tree
   */
  public static BTree open(BufferPool pool, int treeId, long rootPid) {
    int frame = pool.fixShared(rootPid);
    int type;
    int owner;
    try {
      long base = pool.base(frame);
      type = PageHeader.type(pool.pages(), base);
      owner = PageHeader.treeId(pool.pages(), base);
    } finally {
      pool.releaseShared(frame);
    }
    if (type != PageHeader.LEAF && type != PageHeader.INNER) {
      throw TreeDamage.of(pool, rootPid, "type of a root page", PageHeader.INNER, type);
    }
    if (owner != treeId) {
      throw TreeDamage.of(pool, rootPid, "tree id of a root page", treeId, owner);
    }
    return new BTree(pool, treeId, rootPid, true);
  }

  /**
   * Says that no value of this tree is longer than so much, and none ever was. Where such values
   * stay in the leaves, {@link #mayHoldLong} is false from here on.
   *
   * @param bytes the longest value that there is and will be
   * @return this
   */
  public BTree valuesUpTo(long bytes) {
    if (bytes <= inlineMax()) {
      longs.none();
    }
    return this;
  }

  /**
   * The number that the tree's pages carry.
   *
   * @return the tree's id
   */
  public int treeId() {
    return treeId;
  }

  /**
   * How many records the tree has. Commits keep that, not the methods here.
   *
   * @return the counts
   */
  public TreeCounts counts() {
    return counts;
  }

  /**
   * The root. It moves only under the lock of the schema, and only of trees of tables and indexes
   * that are in use ({@link RootMove}).
   *
   * @return its page id
   */
  public long rootPid() {
    return descent.rootPid();
  }

  /**
   * Has point reads begin where keys were seen last. For as long as the tree is open.
   *
   * @param table that of the tree's pool
   */
  public void remember(@Nullable KeyLocationCache table) {
    places = table;
  }

  /**
   * Where keys were seen last.
   *
   * @return null where the tree is not {@link #remember remembered}
   */
  public @Nullable KeyLocationCache places() {
    return places;
  }

  /**
   * The pool that the tree's pages are in.
   *
   * @return the pool
   */
  public BufferPool pool() {
    return pool;
  }

  /**
   * The longest key.
   *
   * @return bytes: an eighth of a page
   */
  public int maxKeySize() {
    return BTreeNode.keyMax(pageSize);
  }

  /**
   * The longest value; values above a quarter of a page are kept in pages of their own.
   *
   * @return bytes
   */
  public long maxValueSize() {
    return VALUE_BYTES_MAX;
  }

  // --------------------------------------------------------------------------------- point reads

  /**
   * Finds where a key is or would be. Any thread, no latch.
   *
   * @param key where the key is; native memory
   * @param off where it begins
   * @param len how long it is
   * @param p out: the leaf, the first slot whose key is not below the key, whether it is the key
   */
  public void find(MemorySegment key, long off, int len, Position p) {
    descent.descendTo(key, off, len, false, 0, p);
  }

  /**
   * Finds where a key is or would be, beginning with what a position remembers: the same slot of
   * the unchanged leaf, else the same leaf if its fences bracket the key, else a descent.
   *
   * @param key where the key is; native memory
   * @param off where it begins
   * @param len how long it is
   * @param p in: any position of a tree of this pool, a cleared one included; out: as {@link #find}
   */
  public void locate(MemorySegment key, long off, int len, Position p) {
    reads.locate(key, off, len, p);
  }

  /**
   * Whether what was read through a position was of one moment: to be asked after reading.
   *
   * @param p a position that {@link #find} or another method filled
   * @return true if the leaf has not changed since
   */
  public boolean valid(Position p) {
    return pool.validate(p.frame, p.version);
  }

  /**
   * How long the value at a position is. The position was found.
   *
   * @param p the position
   * @return bytes; means nothing unless {@link #valid} afterwards
   */
  public int valueLength(Position p) {
    return reads.valueLength(p);
  }

  /**
   * Copies the value at a position, or what there is room for. The position was found.
   *
   * @param p the position
   * @param dst where to; native memory
   * @param dstOff where in it
   * @param cap how many bytes there is room for
   * @return how long the whole value is, or -1: the leaf has changed, find it again. Means nothing
   *     unless {@link #valid} afterwards
   */
  public int copyValue(Position p, MemorySegment dst, long dstOff, int cap) {
    return reads.copyValue(p, dst, dstOff, cap);
  }

  /**
   * As {@link #find}, but the leaf stays latched shared, so that {@link #valid} cannot fail until
   * {@link #releaseShared}: for a reader that writers disturb again and again. While it is held the
   * thread must not wait for anything and must not call other methods of a tree than {@link
   * #valueLength}, {@link #valid} and {@link #copyValue} of a value that is in the leaf.
   *
   * @param key where the key is; native memory
   * @param off where it begins
   * @param len how long it is
   * @param p out: as in {@link #find}
   */
  public void findShared(MemorySegment key, long off, int len, Position p) {
    descent.findShared(key, off, len, false, p);
  }

  /**
   * Gives back what {@link #findShared} latched.
   *
   * @param p the position
   */
  public void releaseShared(Position p) {
    pool.releaseShared(p.frame);
  }

  // ----------------------------------------------------------------------------------- successor

  /**
   * Finds the first key above a key. What it returns was true at one moment: no validation needed.
   *
   * @param key where the key is; native memory; may be the buffer that the answer goes to
   * @param off where it begins
   * @param len how long it is
   * @param p in: a hint, as in {@link #locate}; out: where the successor is, or the end of the
   *     tree, and where the gap below it begins: {@link Position#gapFrame}
   * @param out out: the successor
   * @return false if there is no key above
   */
  public boolean successor(MemorySegment key, long off, int len, Position p, KeyBuffer out) {
    return Successor.find(descent, reads, scratches, key, off, len, p, out);
  }

  // -------------------------------------------------------------------------------------- writes

  // With a log the record of a change is appended first, and LogSession.position says where it is.
  // Long values come and go by that record, too: their pages are in it. So the methods that write
  // and free chains themselves do that without a log only, and the record's author uses those that
  // leave the chains to him.

  /**
   * Sets the value of a key. With a log only where neither the old nor the new value is long.
   *
   * @param key where the key is; native memory
   * @param off where it begins
   * @param len how long it is
   * @param value where the value is; native memory
   * @param vOff where it begins
   * @param vLen how long it is
   * @param p in: a hint, as in {@link #locate}; out: where the key is
   * @param log where the change is logged
   * @return true if the key was absent
   * @throws IllegalStateException if there is a log and a chain would come or go; nothing has
   *     changed
   * @throws KeyTooLargeException if the key is longer than {@link #maxKeySize}
   * @throws ValueTooLargeException if the value is longer than {@link #maxValueSize}
   */
  public boolean upsert(
      MemorySegment key,
      long off,
      int len,
      MemorySegment value,
      long vOff,
      int vLen,
      Position p,
      LogSession log) {
    check(key, off, len, value, vOff, vLen);
    return writer.upsert(key, off, len, value, vOff, vLen, p, log);
  }

  /**
   * Removes a key. With a log only where its value is not long.
   *
   * @param key where the key is; native memory
   * @param off where it begins
   * @param len how long it is
   * @param p in: a hint, as in {@link #locate}; out: where the key was
   * @param log where the change is logged
   * @return false if it was absent
   * @throws IllegalStateException if there is a log and a chain would go; nothing has changed
   */
  public boolean delete(MemorySegment key, long off, int len, Position p, LogSession log) {
    check(key, off, len, key, off, 0);
    return writer.delete(key, off, len, false, true, p, log);
  }

  /**
   * Overwrites a part of a value.
   *
   * @param key where the key is; native memory
   * @param off where it begins
   * @param len how long it is
   * @param at from which byte of the value on
   * @param bytes where the new bytes are; native memory
   * @param bOff where they begin
   * @param bLen how many they are
   * @param p in: a hint, as in {@link #locate}; out: where the key is
   * @param log where the change is logged
   * @return false if the key is absent or the value too short, or, with a log, long; then nothing
   *     has changed
   */
  public boolean patch(
      MemorySegment key,
      long off,
      int len,
      int at,
      MemorySegment bytes,
      long bOff,
      int bLen,
      Position p,
      LogSession log) {
    check(key, off, len, bytes, bOff, bLen);
    return writer.patch(key, off, len, at, bytes, bOff, bLen, p, log);
  }

  /**
   * Whether values may be in chains of pages of their own. False only where none can be: in a tree
   * that was made since the file was opened and got none yet, and in one whose values are {@link
   * #valuesUpTo short}. A thread that may write a key sees what the key's last writer made true.
   *
   * @return false if {@link #chain} need not be asked
   */
  public boolean mayHoldLong() {
    return longs.possible();
  }

  /**
   * The longest value that a leaf holds itself.
   *
   * @return bytes: a quarter of a page
   */
  public int inlineMax() {
    return BTreeNode.inlineMax(pageSize);
  }

  /**
   * Writes a value to a chain of new pages, which no leaf knows yet; logged as CHAIN. If it fails,
   * what was written is free again.
   *
   * @param value where the value is; native memory
   * @param off where it begins
   * @param len how long it is: more than {@link #inlineMax}
   * @param pids gets the pages, in the order of the chain
   * @param log a session that has begun
   * @return the first page
   * @throws ValueTooLargeException if the value is longer than {@link #maxValueSize}
   */
  public long writeChain(MemorySegment value, long off, int len, LongList pids, LogSession log) {
    checkSizes(0, len);
    Objects.checkFromIndexSize(off, len, value.byteSize());
    requireLong(len);
    return longs.write(value, off, len, pids, log);
  }

  private void requireLong(int len) {
    if (len <= inlineMax()) {
      throw new IllegalArgumentException("A value of " + len + " bytes belongs into the leaf.");
    }
  }

  /**
   * The chain of a key's value. Nobody else may write the key meanwhile.
   *
   * @param key where the key is; native memory
   * @param off where it begins
   * @param len how long it is
   * @param p in: a hint, as in {@link #locate}; out: where the key is
   * @param pids gets the pages, in the order of the chain
   * @return how long the value is, or -1 where the key is absent or its value is in the leaf
   */
  public int chain(MemorySegment key, long off, int len, Position p, LongList pids) {
    return reads.chain(key, off, len, p, pids);
  }

  /**
   * Gives a key a value that is in a chain. Of the old value nothing is freed.
   *
   * @param key where the key is; native memory
   * @param off where it begins
   * @param len how long it is
   * @param first the first page of the chain
   * @param length how long the value is: more than {@link #inlineMax}
   * @param p in: a hint, as in {@link #locate}; out: where the key is
   * @param log where the change is logged
   * @return true if the key was absent
   */
  public boolean upsertChain(
      MemorySegment key, long off, int len, long first, int length, Position p, LogSession log) {
    check(key, off, len, key, off, 0);
    requireLong(length);
    longs.noteLong();
    return writer.putStub(key, off, len, first, length, p, log) < 0;
  }

  /**
   * Gives a key a value that fits into the leaf. Of the old value nothing is freed.
   *
   * @param key where the key is; native memory
   * @param off where it begins
   * @param len how long it is
   * @param value where the value is; native memory
   * @param vOff where it begins
   * @param vLen how long it is: {@link #inlineMax} at most
   * @param p in: a hint, as in {@link #locate}; out: where the key is
   * @param log where the change is logged
   * @return true if the key was absent
   */
  public boolean upsertInline(
      MemorySegment key,
      long off,
      int len,
      MemorySegment value,
      long vOff,
      int vLen,
      Position p,
      LogSession log) {
    check(key, off, len, value, vOff, vLen);
    if (vLen > inlineMax()) {
      throw new IllegalArgumentException("A value of " + vLen + " bytes is too long for a leaf.");
    }
    return writer.upsertInline(key, off, len, value, vOff, vLen, true, p, log);
  }

  /**
   * Removes a key. Of its value nothing is freed.
   *
   * @param key where the key is; native memory
   * @param off where it begins
   * @param len how long it is
   * @param merge whether a leaf that gets underfull is merged with a neighbour
   * @param p in: a hint, as in {@link #locate}; out: where the key was
   * @param log where the change is logged
   * @return false if it was absent
   */
  public boolean remove(
      MemorySegment key, long off, int len, boolean merge, Position p, LogSession log) {
    check(key, off, len, key, off, 0);
    return writer.delete(key, off, len, true, merge, p, log);
  }

  /**
   * Frees pages of chains that no leaf knows any more, the last first. What can't be freed now is
   * tried again with the next chain: this does not fail.
   *
   * @param pids the pages
   * @param log a session that has begun
   */
  public void freeChain(LongList pids, LogSession log) {
    longs.free(pids, log);
  }

  /**
   * Says no to what the tree could not store, before anything is done for it.
   *
   * @param keyLength how long the key is, in bytes
   * @param valueLength how long the value is, in bytes
   * @throws KeyTooLargeException for a key above {@link #maxKeySize}
   * @throws ValueTooLargeException for a value above {@link #maxValueSize}
   */
  public void checkSizes(int keyLength, int valueLength) {
    if (keyLength > BTreeNode.keyMax(pageSize)) {
      throw new KeyTooLargeException(keyLength, maxKeySize());
    }
    if (valueLength > VALUE_BYTES_MAX) {
      throw new ValueTooLargeException(valueLength, VALUE_BYTES_MAX);
    }
  }

  /**
   * Also that both are where they are said to be: an exception under a latch would leave it taken.
   */
  void check(MemorySegment key, long off, int len, MemorySegment value, long vOff, int vLen) {
    checkSizes(len, vLen);
    Objects.checkFromIndexSize(off, len, key.byteSize());
    Objects.checkFromIndexSize(vOff, vLen, value.byteSize());
  }

  // -------------------------------------------------------------------------------- whole trees

  /**
   * Whether there are strays: pages that were released and could not be freed then. Any thread.
   *
   * @return whether {@link #freeStrays} has something to do
   */
  public boolean hasStrays() {
    return longs.hasStrays();
  }

  /**
   * Frees strays, as far as that is possible now. Of a tree that was dropped, too. One thread.
   *
   * @param log a session that has begun, and that nobody else uses
   */
  public void freeStrays(LogSession log) {
    longs.freeStrays(log);
  }

  /**
   * How many levels the tree has: a moment's truth, for reports.
   *
   * @return 1 if the root is a leaf
   */
  public int height() {
    while (true) {
      long pid = rootPid();
      int frame = pool.fixShared(pid);
      try {
        if (pid == rootPid()) {
          return PageHeader.level(pool.pages(), pool.base(frame)) + 1;
        }
      } finally {
        pool.releaseShared(frame);
      }
    }
  }

  /**
   * The native memory that the tree keeps for changes of its structure, beside the pool. Any
   * thread.
   *
   * @return bytes
   */
  public long scratchBytes() {
    return scratches.bytes();
  }

  TreeScratch.Stock scratches() {
    return scratches;
  }

  LongValues longValues() {
    return longs;
  }

  LeafWriter writer() {
    return writer;
  }

  /** For parts that go down the tree themselves: scans, lookaheads, hints. */
  Descent descent() {
    return descent;
  }
}
