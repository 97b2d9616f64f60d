package io.fovea.btree;

import io.fovea.buffer.AllocatorRecord;
import io.fovea.buffer.BufferPool;
import io.fovea.buffer.LeafHints;
import io.fovea.buffer.PageHeader;
import io.fovea.error.CorruptionException;
import io.fovea.error.KeyTooLargeException;
import io.fovea.error.ValueTooLargeException;
import io.fovea.memory.Hash;
import io.fovea.memory.LongList;
import io.fovea.memory.Mem;
import io.fovea.wal.LogSession;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * An ordered map from byte-string keys to byte-string values, in pages of the buffer pool.
 *
 * <pre>
 *                 root (its page changes only by RootMove)
 *                /            |            \
 *          inner            inner           inner         fences: (low, high] of each node,
 *         /  |  \          /  |  \         /  |  \        which bound its keys
 *      leaf leaf leaf    ...
 *       &lt;--&gt;  &lt;--&gt;            sibling hints
 * </pre>
 *
 * <pre>
 *   BTree  ─►  LeafWriter ─► Splitter, Merger      record and structure changes
 *          ─►  LongValues                          values that no leaf can hold
 *          ─►  Successor                           the next key
 *                    all of them  ─►  Descent      from the root to a node
 * </pre>
 *
 * <p>This class reads the values of keys, checks arguments and documents the contract of each
 * operation. {@link LeafScan}, {@link LeafRun}, {@link Lookahead}, {@link HintedLeaf}, {@link
 * BulkLoader}, {@link TreeDrop} and {@link TreeVerifier} work on a tree from outside.
 *
 * <h2>Contract</h2>
 *
 * <p>Keys and values are passed as native memory, an offset and a length. A {@link Position}
 * argument is a hint on entry, as in {@link #locate}, and the position of the key on return; any
 * position of the pool works, including a cleared one. A {@link LogSession} argument must have
 * begun. The result of a read holds only if {@link #valid} returns true afterwards. Writers latch
 * internally. The caller ensures that no two threads write the same key at once.
 */
public final class BTree {
  /** The maximum length of a value. */
  public static final long VALUE_BYTES_MAX = OverflowChain.VALUE_BYTES_MAX;

  private final BufferPool pool;
  private final int pageSize;
  private final int treeId;

  /** Distinguishes the keys of this tree from those of other trees. */
  private final long hashSeed;

  private final TreeScratch.Stock scratches;
  private final Descent descent;
  private final LongValues longs;
  private final LeafWriter writer;
  private final TreeCounts counts;

  /**
   * The key location cache. Set with a plain store: the fields that a lookup needs are final,
   * except the mask, and an unset mask selects the first set. A thread that does not see the cache
   * yet descends from the root.
   */
  private @Nullable KeyLocationCache keyLocations;

  private BTree(BufferPool pool, int treeId, long rootPid, boolean mayHoldLong) {
    this.pool = pool;
    this.pageSize = pool.pageSize();
    this.treeId = treeId;
    this.hashSeed = treeId * 0x9E37_79B9_7F4A_7C15L;
    this.scratches = new TreeScratch.Stock(pageSize, pool.memory());
    this.descent = new Descent(pool, treeId, rootPid);
    this.longs = new LongValues(pool, treeId, mayHoldLong);
    this.writer = new LeafWriter(descent, scratches);
    this.counts = new TreeCounts(!mayHoldLong); // an opened tree may contain records
  }

  /**
   * Creates an empty tree, with a CREATE_TREE record. Recovery drops it unless a SCHEMA record
   * names it. No other tree of the file may ever have used the id.
   */
  public static BTree create(BufferPool pool, int treeId, LogSession log) {
    return create(pool, treeId, false, log);
  }

  /**
   * Like {@link #create(BufferPool, int, LogSession)}; with {@code endInFrames}, values end with a
   * frame number, which is zeroed when a page is written. All leaves then record this ({@link
   * LeafHints}).
   */
  public static BTree create(BufferPool pool, int treeId, boolean endInFrames, LogSession log) {
    log.grant(rootSpace(pool));
    return initRoot(pool, treeId, 0, endInFrames, log);
  }

  /** Creates an empty tree whose root is an existing page without an owner: the catalog. */
  public static BTree createAt(BufferPool pool, int treeId, long rootPid, LogSession log) {
    log.grant(rootSpace(pool));
    return initRoot(pool, treeId, rootPid, false, log);
  }

  /**
   * Returns the maximum log space that {@link #create} and {@link #createAt} take. With this
   * initial grant, a session fails at once if the log is full.
   */
  public static long rootSpace(BufferPool pool) {
    return StructureRecord.space(pool.pageSize(), 1) + AllocatorRecord.ALLOCATE_SPACE;
  }

  /** Turns a page without an owner, or a new page if {@code rootPid} is 0, into an empty leaf. */
  private static BTree initRoot(
      BufferPool pool, int treeId, long rootPid, boolean endInFrames, LogSession log) {
    int frame =
        rootPid == 0
            ? pool.allocate(treeId, PageHeader.LEAF, log)
            : pool.allocateAt(rootPid, treeId, PageHeader.LEAF, log);
    boolean done = false;
    try {
      MemorySegment pages = pool.pages();
      long base = pool.base(frame);
      if (endInFrames) {
        PageHeader.setLayout(pages, base, LeafHints.LAYOUT);
      }
      int none = BTreeNode.NONE;
      NodeEditor.init(pages, base, pool.pageSize(), 0, pages, base, none, pages, base, none);
      // Allocated before the record is appended: a logged tree must be known to the caller.
      BTree tree = new BTree(pool, treeId, pool.pid(frame), false);
      done = true;
      StructureRecord.appendCreate(pool, log, treeId, frame);
      pool.releaseExclusive(frame);
      return tree;
    } catch (RuntimeException | Error e) {
      if (done) {
        LatchErrorGuard.releaseWhole(pool, frame, true, true, e);
      } else {
        pool.free(frame, log);
      }
      throw e;
    }
  }

  /** Opens a tree, or throws {@link CorruptionException} if the root is not a node of this tree. */
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
   * Declares the maximum length of all past and future values. If such values stay in the leaves,
   * {@link #mayHaveLongValues} will return false.
   */
  public BTree declareMaxValueSize(long bytes) {
    if (bytes <= inlineMax()) {
      longs.declareNone();
    }
    return this;
  }

  /** Returns the tree id stored in the tree's pages. */
  public int treeId() {
    return treeId;
  }

  /**
   * Returns the hash by which transactions and the {@link KeyLocationCache} identify a key of this
   * tree, also together with the gap below it. Never 0; two keys may share a hash.
   */
  public long keyHash(MemorySegment key, long offset, int length) {
    return Hash.hash(hashSeed, key, offset, length);
  }

  /** Returns the hash by which transactions identify the gap above the last key. */
  public long endHash() {
    long h = hashSeed ^ 0x5851_F42D_4C95_7F2DL;
    h = (h ^ (h >>> 32)) * 0xD6E8_FEB8_6659_FD93L;
    return h | 1;
  }

  /** Returns the record counts. Commits maintain them; the methods of this class do not. */
  public TreeCounts counts() {
    return counts;
  }

  /**
   * Returns the root. It moves ({@link RootMove}) only under the schema lock, and only if the tree
   * is that of a table or index in use.
   */
  public long rootPid() {
    return descent.rootPid();
  }

  /** Lets point reads start at locations from a cache of the tree's pool. */
  public void setKeyLocations(@Nullable KeyLocationCache cache) {
    keyLocations = cache;
  }

  /** Returns the key location cache, or null. */
  public @Nullable KeyLocationCache keyLocations() {
    return keyLocations;
  }

  /** Returns the pool of the tree's pages. */
  public BufferPool pool() {
    return pool;
  }

  /** Returns the maximum length of a key: an eighth of a page. */
  public int maxKeySize() {
    return BTreeNode.keyMax(pageSize);
  }

  /** Returns the maximum length of a value. Above {@link #inlineMax} it is stored in a chain. */
  public long maxValueSize() {
    return VALUE_BYTES_MAX;
  }

  // --------------------------------------------------------------------------------- point reads

  /**
   * Finds a key, or else the first slot whose key is not below it, without a latch. Callable from
   * any thread.
   */
  public void find(MemorySegment key, long off, int len, Position p) {
    descent.descendTo(key, off, len, false, 0, p);
  }

  /**
   * Like {@link #find}, starting at a hint: the same slot of the unchanged leaf, then the same leaf
   * if its fences bracket the key, then a descent.
   */
  public void locate(MemorySegment key, long off, int len, Position p) {
    descent.locate(key, off, len, p);
  }

  /** Returns whether everything read through a position so far is consistent. */
  public boolean valid(Position p) {
    return pool.validate(p.frame, p.version);
  }

  /**
   * Returns the length of the value that was found; meaningless unless {@link #valid} returns true
   * afterwards.
   */
  public int valueLength(Position p) {
    MemorySegment s = pool.pages();
    long base = pool.base(p.frame);
    try {
      long slot = BTreeNode.leafSlot(s, base, p.slot);
      int field = BTreeNode.field(s, base, pageSize, slot);
      return field != BTreeNode.OVERFLOW
          ? field
          : OverflowChain.stubLength(s, BTreeNode.valueAt(base, pageSize, slot));
    } catch (IndexOutOfBoundsException e) {
      TreeDamage.requireTorn(pool, p.frame, p.version, p.pid, s, 0, 0, e);
      return 0;
    }
  }

  /**
   * Copies the value that was found, up to {@code cap} bytes. Returns the length of the whole
   * value, or -1 if the leaf has changed. The result is meaningless unless {@link #valid} returns
   * true afterwards.
   */
  public int copyValue(Position p, MemorySegment dst, long dstOff, int cap) {
    MemorySegment s = pool.pages();
    long base = pool.base(p.frame);
    try {
      long slot = BTreeNode.leafSlot(s, base, p.slot);
      int field = BTreeNode.field(s, base, pageSize, slot);
      if (field == BTreeNode.OVERFLOW) {
        return copyLong(p, BTreeNode.valueAt(base, pageSize, slot), dst, dstOff, cap);
      }
      long at = BTreeNode.valueAt(base, pageSize, slot);
      requireInside(base, at, field);
      Mem.copy(s, at, dst, dstOff, Math.min(field, cap));
      return field;
    } catch (IndexOutOfBoundsException e) {
      TreeDamage.requireTorn(pool, p.frame, p.version, p.pid, dst, dstOff, cap, e);
      return -1;
    }
  }

  /** Checks that a value ends within its page. */
  private void requireInside(long base, long at, int bytes) {
    if (at + bytes > base + pageSize) {
      throw new NodeDamage("end of a value in a leaf", pageSize, at + bytes - base);
    }
  }

  private int copyLong(Position p, long stubAt, MemorySegment dst, long dstOff, int cap) {
    long pid = OverflowChain.stubPid(pool.pages(), stubAt);
    long said = Mem.getLong(pool.pages(), stubAt + 8);
    int length = OverflowChain.stubLength(pool.pages(), stubAt);
    if (said != length || length <= BTreeNode.inlineMax(pageSize)) {
      throw new NodeDamage("length of a long value in a leaf", OverflowChain.VALUE_BYTES_MAX, said);
    }
    return OverflowChain.read(pool, treeId, p, pid, length, dst, dstOff, cap) ? length : -1;
  }

  /** Releases the shared latch of the leaf. */
  public void releaseShared(Position p) {
    pool.releaseShared(p.frame);
  }

  // ----------------------------------------------------------------------------------- successor

  /**
   * Finds the next key above a given key, which the buffer {@code out} may contain. The result was
   * true at one point in time and needs no validation. The position is that of the successor, or
   * the end of the tree; {@link Position#gapFrame} says where the gap below it begins.
   *
   * @return false if there is no key above
   */
  public boolean successor(MemorySegment key, long off, int len, Position p, KeyBuffer out) {
    return Successor.find(descent, scratches, key, off, len, p, out);
  }

  // -------------------------------------------------------------------------------------- writes

  // The caller appends the record of a change first; LogSession.position names it. The pages of
  // long values are in that record, too, so the caller also writes and frees the chains.

  /**
   * Overwrites value bytes starting at {@code at}. Returns false and changes nothing if the key is
   * absent, or if the value is too short or long.
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
   * Returns whether values may be in overflow chains. False only if the tree was created after the
   * file was opened and never had such a value, or if its values are {@linkplain
   * #declareMaxValueSize limited}. A thread that may write a key sees what the key's last writer
   * set.
   */
  public boolean mayHaveLongValues() {
    return longs.arePossible();
  }

  /** Returns the maximum length of a value stored in a leaf: a quarter of a page. */
  public int inlineMax() {
    return BTreeNode.inlineMax(pageSize);
  }

  /**
   * Writes a value longer than {@link #inlineMax} to a chain of new pages, logged as CHAIN, and
   * returns the first page. No leaf refers to the chain yet. On failure the written pages are
   * freed.
   *
   * @param pids receives the pages, in the order of the chain
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
      throw new IllegalArgumentException(
          "A value of " + len + " bytes belongs in the leaf, not in a chain.");
    }
  }

  /**
   * Collects the pages of the chain of a key's value, in order. No other thread may write the key
   * meanwhile. Returns the length of the value, or -1 if the key is absent or its value is inline.
   */
  public int chain(MemorySegment key, long off, int len, Position p, LongList pids) {
    MemorySegment s = pool.pages();
    for (int i = 0; ; i++) {
      locate(key, off, len, p);
      long first = 0;
      int length = -1;
      if (p.found) {
        long base = pool.base(p.frame);
        try {
          long slot = BTreeNode.leafSlot(s, base, p.slot);
          if (BTreeNode.field(s, base, pageSize, slot) == BTreeNode.OVERFLOW) {
            long at = BTreeNode.valueAt(base, pageSize, slot);
            first = OverflowChain.stubPid(s, at);
            length = OverflowChain.stubLength(s, at);
          }
        } catch (IndexOutOfBoundsException e) {
          TreeDamage.requireTorn(pool, p.frame, p.version, p.pid, key, off, len, e);
        }
      }
      if (valid(p)) {
        if (length >= 0
            && !OverflowChain.collect(pool, treeId, first, length, Long.MAX_VALUE, pids)) {
          throw TreeDamage.of(pool, first, "pages of a long value", length, pids.size());
        }
        return length;
      }
      Pause.after(i);
    }
  }

  /**
   * Sets the value of a key to a chain, without freeing the old value. Returns true if the key was
   * absent.
   */
  public boolean upsertChain(
      MemorySegment key, long off, int len, long first, int length, Position p, LogSession log) {
    check(key, off, len, key, off, 0);
    requireLong(length);
    longs.noteLong();
    return writer.putStub(key, off, len, first, length, p, log);
  }

  /**
   * Sets the value of a key to an inline one, without freeing the old value. Returns true if the
   * key was absent.
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
    return writer.upsertInline(key, off, len, value, vOff, vLen, p, log);
  }

  /**
   * Removes a key without freeing its value, and optionally merges an underfull leaf. Returns false
   * if the key was absent.
   */
  public boolean remove(
      MemorySegment key, long off, int len, boolean merge, Position p, LogSession log) {
    check(key, off, len, key, off, 0);
    return writer.delete(key, off, len, merge, p, log);
  }

  /**
   * Frees pages of chains that no leaf refers to any more, the last page first. Pages that cannot
   * be freed now are retried later.
   *
   * @throws io.fovea.error.StorageFullException if closing the database ends a commit on a full
   *     disk
   */
  public void freeChain(LongList pids, LogSession log) {
    longs.free(pids, log);
  }

  /**
   * Rejects keys and values that the tree cannot store.
   *
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
   * Like {@link #checkSizes}, but also checks the memory bounds: an exception thrown under a latch
   * after a change stops the pool.
   */
  void check(MemorySegment key, long off, int len, MemorySegment value, long vOff, int vLen) {
    checkSizes(len, vLen);
    Objects.checkFromIndexSize(off, len, key.byteSize());
    Objects.checkFromIndexSize(vOff, vLen, value.byteSize());
  }

  // -------------------------------------------------------------------------------- whole trees

  /**
   * Returns whether there are released pages that could not be freed yet. Callable from any thread.
   */
  public boolean hasUnfreedPages() {
    return longs.hasUnfreed();
  }

  /**
   * Frees as many unfreed pages as possible, including those of a dropped tree. Called by one
   * thread, with a session that no other thread uses.
   */
  public void freeUnfreedPages(LogSession log) {
    longs.freeUnfreed(log);
  }

  /** Returns the current number of levels, at least 1, for reports. */
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
   * Returns the size of the native memory kept for structure changes, outside the pool. Callable
   * from any thread.
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

  /** For classes that descend the tree themselves: scans, lookaheads, hints. */
  Descent descent() {
    return descent;
  }
}
