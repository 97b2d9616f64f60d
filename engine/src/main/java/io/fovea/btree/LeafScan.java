package io.fovea.btree;

import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageHeader;
import io.fovea.error.InvalidUseException;
import io.fovea.memory.Blocks;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Scans the leaves of a tree in key order, forward or backward. Each leaf is copied, and all reads
 * are from the copy.
 *
 * <pre>
 *   seek(tree, key, ...)                        sets the start; reads nothing
 *   while (load())                              copies the next leaf with keys in range
 *     for (slot = from(); slot &lt; to(); slot++)   forward; backward from to() - 1 down to from()
 *       copyKey(slot, ...), valueOffset(slot), ...
 *     stillValid()                              are the leaves unchanged since they were copied?
 * </pre>
 *
 * <ol>
 *   <li>A copy is consistent. The next leaf is found by the fences of the copy, so each key that
 *       stays in the tree is seen once, whatever splits and merges happen.
 *   <li>Forward, {@link #stillValid} covers all leaves from the one with the last key before this
 *       copy: the gap between that key and the first key here was empty when it was copied and
 *       still is. After {@link #load} returned false it covers everything after the last key. (An
 *       insert at the end of the previous leaf is protected by the item of the first key of this
 *       one.) Backward it covers only this copy.
 *   <li>{@link #reload} restarts after the last key that was returned before this copy.
 *   <li>Leaves that are not resident are read ahead, and leaves that are only passed do not count
 *       as used: {@link ReadAhead}.
 * </ol>
 *
 * <p>Owned by one thread at a time. Reusable; keeps its memory. Reads of the copy are in this class
 * to save an indirection per key.
 */
public final class LeafScan {
  /** Failed copies before the leaf is latched. */
  private static final int COPIES = 8;

  private static final KeyBuffer EMPTY = new KeyBuffer(0);

  private final Position leaf = new Position();
  private final ReadAhead ahead = new ReadAhead();
  private @Nullable BTree tree;
  private final Blocks memory;
  private MemorySegment page = Blocks.NONE;
  private KeyBuffer start = EMPTY;

  /** The key at which the next leaf begins or ends. */
  private KeyBuffer boundary = EMPTY;

  /**
   * The offset of the next boundary in the copy, or -1. Copied only when needed, since many scans
   * end before that.
   */
  private int boundaryAt;

  private int boundaryLength;
  private int pageSize;
  private boolean descending;
  private boolean inclusive;
  private boolean fresh;
  private boolean end;
  private long hint;

  /** The result of the prefetches; see {@link Siblings#touch}. */
  private long touched;

  private int from;
  private int to;

  /** The leaves before the current one that {@link #stillValid} covers. */
  private final LeafVersions passed = new LeafVersions();

  private long pageLsn;

  /** Receives each copied leaf; may be null. */
  private @Nullable LeafVersions versions;

  /** Creates a scan whose memory the garbage collector frees. */
  public LeafScan() {
    this(Blocks.COLLECTED);
  }

  /** Creates a scan that takes its memory from {@code memory} until {@link #free}. */
  public LeafScan(Blocks memory) {
    this.memory = memory;
  }

  /**
   * Sets the start of the scan without reading anything: a key or, with a negative length, the end
   * of the tree at which the scan begins.
   */
  public void seek(
      BTree t, MemorySegment key, long off, int len, boolean includes, boolean descends) {
    prepare(t);
    descending = descends;
    // A key longer than the maximum is cut: all stored keys that begin with the remaining bytes are
    // below the key.
    inclusive = len < 0 || (len > t.maxKeySize() ? descends : includes);
    if (len >= 0) {
      start.set(key, off, Math.min(len, t.maxKeySize()));
    } else if (descends) {
      // No key is above the longest key of 0xFF bytes.
      start.segment().asSlice(0, t.maxKeySize()).fill((byte) 0xFF);
      start.setLength(t.maxKeySize());
    } else {
      start.setLength(0);
    }
    fresh = true;
    end = false;
    boundaryAt = -1;
    passed.clear();
    from = 0;
    to = 0;
    pageLsn = 0;
    leaf.clear();
    ahead.clear();
  }

  /**
   * Sets the list that receives the frames and versions of all leaves copied from now on, including
   * leaves without keys in range; null for none. Together the leaves cover everything that the scan
   * passes, without gaps.
   */
  public void collectVersions(@Nullable LeafVersions into) {
    versions = into;
  }

  /** Frees the memory; {@link #seek} allocates it again. */
  public void free() {
    pageSize = 0;
    tree = null;
    MemorySegment copy = page;
    page = Blocks.NONE;
    memory.release(copy);
    KeyBuffer a = start;
    start = EMPTY;
    free(a);
    KeyBuffer b = boundary;
    boundary = EMPTY;
    free(b);
  }

  private void free(KeyBuffer buffer) {
    if (buffer != EMPTY) {
      buffer.free(memory);
    }
  }

  private void prepare(BTree t) {
    int size = t.pool().pageSize();
    if (pageSize != size) {
      free();
      page = memory.take(size + BTreeNode.SLACK);
      start = new KeyBuffer(t.maxKeySize(), memory);
      boundary = new KeyBuffer(t.maxKeySize(), memory);
      pageSize = size; // set last: after a failure the next call allocates the rest
    }
    tree = t;
  }

  private BTree tree() {
    BTree t = tree;
    if (t == null) {
      throw new InvalidUseException("The scan has no start: call seek first.");
    }
    return t;
  }

  // ---------------------------------------------------------------------------------------- load

  /** Copies the next leaf that has keys in range. Returns false if there is none. */
  public boolean load() {
    BTree t = tree();
    boolean more = !fresh;
    if (more) {
      if (from < to) {
        startAfterLast();
        passed.clear();
      }
      if (end) {
        from = 0;
        to = 0;
        return false;
      }
      addPassed();
    }
    takeBoundary();
    for (int i = 0; ; ) {
      find(t, i);
      if (!take(t, i)) {
        hint = 0;
        Pause.after(i++);
        continue;
      }
      fresh = false;
      if (from < to) {
        if (more && !end && hint != 0) {
          touched += Siblings.touch(t.pool(), hint);
        }
        return true;
      }
      if (end) {
        return false;
      }
      addPassed();
      takeBoundary();
      i = 0;
    }
  }

  /** Saves the boundary of the current copy before it is replaced. */
  private void takeBoundary() {
    if (boundaryAt >= 0) {
      boundary.set(page, boundaryAt, boundaryLength);
      boundaryAt = -1;
    }
  }

  /**
   * Copies again what follows the last key that was returned before the current copy. Returns false
   * if nothing follows it any more.
   */
  public boolean reload() {
    tree();
    fresh = true;
    end = false;
    boundaryAt = -1;
    passed.clear();
    from = 0;
    to = 0;
    return load();
  }

  /** Marks all keys up to the last one as returned. */
  private void startAfterLast() {
    startAfter(descending ? from : to - 1);
  }

  private void startAfter(int slot) {
    start.setLength(copyKey(slot, start.segment(), 0));
    inclusive = false;
  }

  /** Adds the leaf to those that {@link #stillValid} covers. */
  private void addPassed() {
    if (!descending) {
      passed.add(leaf.frame, leaf.version);
    }
  }

  private void find(BTree t, int attempt) {
    KeyBuffer key = fresh ? start : boundary;
    boolean after = !fresh && !descending;
    if (attempt >= COPIES) {
      t.descent().findShared(key.segment(), 0, key.length(), after, leaf);
    } else if (fresh) {
      t.descent().descendTo(key.segment(), 0, key.length(), after, 0, leaf);
    } else {
      ahead.find(t.descent(), hint, key, !descending, leaf);
    }
  }

  /** Copies the leaf that was found; false if it changed meanwhile. */
  private boolean take(BTree t, int attempt) {
    boolean valid;
    try {
      valid = copy(t);
    } finally {
      if (attempt >= COPIES) {
        t.releaseShared(leaf);
      }
    }
    if (!valid) {
      return false;
    }
    try {
      checkCopy(t);
      findRange();
      return true;
    } catch (IndexOutOfBoundsException e) {
      throw damaged(true, e);
    }
  }

  /**
   * Checks tree, fences and order of heads. The copy is consistent and dates from a time when the
   * leaf was where the descent led, so no concurrent change explains an error.
   */
  private void checkCopy(BTree t) {
    KeyBuffer key = fresh ? start : boundary;
    boolean after = !fresh && !descending;
    BTreeNode.checkSane(page, 0, pageSize, true);
    if (PageHeader.treeId(page, 0) != t.treeId()
        || !NodeSearch.covers(page, 0, pageSize, key.segment(), 0, key.length(), after)) {
      throw new NodeDamage("tree or fences of a leaf", t.treeId(), PageHeader.treeId(page, 0));
    }
    int count = BTreeNode.count(page, 0);
    long before = 0;
    long order = 0;
    for (int i = 0; i < count; i++) {
      long head = BTreeNode.leafSlot(page, 0, i) >>> 32;
      order |= head - before;
      before = head;
    }
    if (order < 0) {
      throw new NodeDamage("order of the keys of a leaf, by their heads", 0, -1);
    }
  }

  /** Finds the slots in range and the boundary. */
  private void findRange() {
    int nextSlot = leaf.slot + (leaf.found ? 1 : 0);
    if (descending) {
      from = 0;
      to = fresh && !inclusive ? leaf.slot : nextSlot;
    } else {
      from = fresh && inclusive ? leaf.slot : nextSlot;
      to = BTreeNode.leafCount(page, 0, pageSize);
    }
    int fence = descending ? BTreeNode.low(page, 0) : BTreeNode.high(page, 0);
    end = fence == BTreeNode.NONE;
    if (!end) {
      int at =
          descending ? BTreeNode.lowAt(page, 0, pageSize) : BTreeNode.highAt(page, 0, pageSize);
      int length = BTreeNode.fenceBytes(fence, pageSize);
      if (!fresh) {
        checkProgress(at, length);
      }
      boundaryAt = Objects.checkFromIndexSize(at, length, pageSize);
      boundaryLength = length;
      hint = descending ? BTreeNode.prev(page, 0) : BTreeNode.next(page, 0);
    }
  }

  /** The fences of a damaged leaf might make a scan loop forever. */
  private void checkProgress(int at, int length) {
    int c = Mem.compare(page, at, length, boundary.segment(), 0, boundary.length());
    if (descending ? c >= 0 : c <= 0) {
      throw TreeDamage.of(tree().pool(), leaf.pid, "order of the fences of a leaf", 1, c);
    }
  }

  private boolean copy(BTree t) {
    BufferPool pool = t.pool();
    MemorySegment s = pool.pages();
    long base = pool.base(leaf.frame);
    int slotsEnd = BTreeNode.slotsEnd(true, BTreeNode.leafCount(s, base, pageSize));
    int heap = Math.min(BTreeNode.heap(s, base), pageSize);
    Mem.copy(s, base, page, 0, slotsEnd);
    Mem.copy(s, base + pageSize - heap, page, pageSize - heap, heap);
    if (!t.valid(leaf)) {
      return false;
    }
    pageLsn = Math.max(pageLsn, PageHeader.pageLsn(page, 0));
    LeafVersions n = versions;
    if (n != null) {
      n.add(leaf.frame, leaf.version);
    }
    return true;
  }

  /**
   * Returns the largest LSN of all leaves copied since {@link #seek}, or 0; includes leaves without
   * keys in range, since absence may be a change.
   */
  public long pageLsn() {
    return pageLsn;
  }

  /** Returns whether the leaves are unchanged since they were copied; see the class comment. */
  public boolean stillValid() {
    BTree t = tree();
    return passed.unchanged(t.pool()) && t.valid(leaf);
  }

  // ------------------------------------------------------------------------------------ contents

  /** Returns the first slot of the copy that is in range. */
  public int from() {
    return from;
  }

  /** Returns the slot after the last one in range. */
  public int to() {
    return to;
  }

  /** Sets a position to a slot of the copied leaf, as a hint for operations on its keys. */
  public void position(Position p, int slot) {
    p.set(leaf.frame, leaf.version, leaf.pid, slot, true);
  }

  /** Returns the id of the copied page. */
  public long page() {
    return leaf.pid;
  }

  /** Returns the memory of the copy: native memory, the same until the next {@link #seek}. */
  public MemorySegment segment() {
    return page;
  }

  /** Copies the key of a slot and returns its length. */
  public int copyKey(int slot, MemorySegment dst, long dstOff) {
    try {
      return BTreeNode.copyKey(
          page, 0, pageSize, true, BTreeNode.leafSlot(page, 0, slot), dst, dstOff);
    } catch (IndexOutOfBoundsException e) {
      throw damaged(dst.byteSize() - dstOff >= tree().maxKeySize(), e);
    }
  }

  /** The copy is consistent, so an offset outside it is damage or the caller's error. */
  private RuntimeException damaged(boolean callerIsRight, IndexOutOfBoundsException e) {
    return callerIsRight ? TreeDamage.offsets(tree().pool(), leaf.pid, e) : e;
  }

  /**
   * Returns the first slot of the copy, in range or not, whose key is not below the given key; the
   * number of slots if there is none.
   */
  public int lowerBound(MemorySegment key, long off, int len) {
    return bound(key, off, len, false);
  }

  /**
   * Returns the first slot of the copy, in range or not, whose key is above the given key; the
   * number of slots if there is none.
   */
  public int upperBound(MemorySegment key, long off, int len) {
    return bound(key, off, len, true);
  }

  private int bound(MemorySegment key, long off, int len, boolean above) {
    try {
      if (NodeSearch.covers(page, 0, pageSize, key, off, len, false)) {
        int found = NodeSearch.searchLeaf(page, 0, pageSize, key, off, len);
        return (found >>> 1) + (above ? found & 1 : 0);
      }
    } catch (IndexOutOfBoundsException e) {
      throw damaged(off >= 0 && off + len <= key.byteSize(), e);
    }
    int high = BTreeNode.high(page, 0);
    boolean beyond =
        high != BTreeNode.NONE
            && Mem.compare(key, off, len, page, BTreeNode.highAt(page, 0, pageSize), high) > 0;
    return beyond ? BTreeNode.count(page, 0) : 0;
  }

  /** Returns whether the value of a slot is long: then use {@link #copyValue}. */
  public boolean isOverflow(int slot) {
    return field(slot) == BTreeNode.OVERFLOW;
  }

  private int field(int slot) {
    return BTreeNode.field(page, 0, pageSize, BTreeNode.leafSlot(page, 0, slot));
  }

  /** Returns the length of the value of a slot. */
  public int valueLength(int slot) {
    int field = field(slot);
    if (valueOffset(slot) + BTreeNode.inlineBytes(field) > pageSize) {
      throw damaged(true, new NodeDamage("end of a value in a leaf", pageSize, field));
    }
    return field == BTreeNode.OVERFLOW ? longLength(slot) : field;
  }

  private int longLength(int slot) {
    long said = Mem.getLong(page, valueOffset(slot) + 8);
    if (said <= tree().inlineMax() || said > OverflowChain.VALUE_BYTES_MAX) {
      throw damaged(
          true, new NodeDamage("length of a long value in a leaf", tree().inlineMax(), said));
    }
    return (int) said;
  }

  /** Returns the offset in {@link #segment} of the value of a slot, unless it is long. */
  public long valueOffset(int slot) {
    return BTreeNode.valueAt(0, pageSize, BTreeNode.leafSlot(page, 0, slot));
  }

  /** Returns the total number of page accesses: a plain counter. */
  public long pageAccesses() {
    return leaf.pageAccesses;
  }
}
