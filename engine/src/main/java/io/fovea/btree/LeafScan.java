package io.fovea.btree;

import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageHeader;
import io.fovea.error.InvalidUseException;
import io.fovea.memory.Blocks;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Walks the leaves of a tree in key order, forward or backward; each leaf is copied, and everything
 * is read from the copy.
 *
 * <pre>
 *   seek(tree, key, ...)                        where to begin: nothing is read yet
 *   while (load())                              the next leaf that has something in range
 *     for (slot = from(); slot &lt; to(); slot++)   forward; backward from to() - 1 down to from()
 *       copyKey(slot, ...), valueOffset(slot), ...
 *     stillValid()                              are the leaves what they were when they were copied?
 * </pre>
 *
 * <ol>
 *   <li>A copy is of one moment. Where the next leaf begins is known from the fences of the copy,
 *       so whatever splits and merges meanwhile, each key that stays in the tree is seen once.
 *   <li>Forward, {@link #stillValid} speaks of all leaves from the one with the last key before
 *       this copy on: what lies between that key and the first key here was empty at the time of
 *       the copies and still is. After {@link #load} returned false it speaks of everything behind
 *       the last key. (For the transaction layer: a key that is inserted at the end of the leaf
 *       before is protected by the item of the first key of this one.) Backward it speaks of this
 *       copy alone.
 *   <li>{@link #reload} goes back behind the last key that was handed out before this copy.
 *   <li>Leaves that are in no frame are read ahead, and leaves that are only passed do not count as
 *       used: {@link ReadAhead}.
 * </ol>
 *
 * <p>Owned by one thread at a time; keeps its memory when it is used again.
 *
 * <p>The file has more than 600 lines because the reads of the copy stay in this class: a class of
 * their own would be one more object between a scan and each of its keys.
 *
 * @since 0.1.0
 */
public final class LeafScan {
  /** Failed copies before the leaf is latched for the copy. */
  private static final int COPIES = 8;

  private static final KeyBuffer NOTHING = new KeyBuffer(0);

  private final Position leaf = new Position();
  private final ReadAhead ahead = new ReadAhead();
  private @Nullable BTree tree;
  private final Blocks memory;
  private MemorySegment page = Blocks.NONE;
  private KeyBuffer start = NOTHING;

  /** The key at which the next leaf begins, or ends. */
  private KeyBuffer boundary = NOTHING;

  /** Where in the copy the next boundary is, or -1: many a scan ends before it is asked for. */
  private int boundaryAt;

  private int boundaryLength;
  private int pageSize;
  private boolean descending;
  private boolean inclusive;
  private boolean fresh;
  private boolean end;
  private long hint;

  /** What was there of leaves that come next: see {@link Siblings#touch}. */
  private long touched;

  private int from;
  private int to;
  private int[] passedFrames = new int[8];
  private long[] passedVersions = new long[8];
  private int passed;
  private long pageLsn;

  /** Gets each leaf that is copied; null where nobody asks. */
  private @Nullable LeafVersions noted;

  /** Makes a scan that stands nowhere; the garbage collector gives its memory back. */
  public LeafScan() {
    this(Blocks.COLLECTED);
  }

  /**
   * Makes a scan that stands nowhere.
   *
   * @param memory where its memory is taken from, until {@link #free}
   */
  public LeafScan(Blocks memory) {
    this.memory = memory;
  }

  /**
   * Says where to begin; reads nothing.
   *
   * @param t the tree
   * @param key native memory with the key
   * @param off its offset
   * @param len how long it is; below 0: from the end of the tree that the direction begins at
   * @param includes whether the key itself belongs to the range
   * @param descends whether the scan goes backward
   */
  public void seek(
      BTree t, MemorySegment key, long off, int len, boolean includes, boolean descends) {
    prepare(t);
    descending = descends;
    // No key is longer than the longest: what is cut off decides on which side of the rest it is.
    inclusive = len < 0 || (len > t.maxKeySize() ? descends : includes);
    if (len >= 0) {
      start.set(key, off, Math.min(len, t.maxKeySize()));
    } else if (descends) {
      // No key is above the longest one of 0xFF only.
      start.segment().asSlice(0, t.maxKeySize()).fill((byte) 0xFF);
      start.setLength(t.maxKeySize());
    } else {
      start.setLength(0);
    }
    fresh = true;
    end = false;
    boundaryAt = -1;
    passed = 0;
    from = 0;
    to = 0;
    pageLsn = 0;
    leaf.clear();
    ahead.clear();
  }

  /**
   * Says where the leaves go that are copied from now on, those included that have nothing in
   * range. Together they cover all that the scan has passed, with no gap between two of them.
   *
   * @param into gets frames and versions; null for nowhere
   */
  public void note(@Nullable LeafVersions into) {
    noted = into;
  }

  /** Gives the memory back; a {@link #seek} takes some again. */
  public void free() {
    pageSize = 0;
    tree = null;
    MemorySegment copy = page;
    page = Blocks.NONE;
    memory.give(copy);
    KeyBuffer a = start;
    start = NOTHING;
    free(a);
    KeyBuffer b = boundary;
    boundary = NOTHING;
    free(b);
  }

  private void free(KeyBuffer buffer) {
    if (buffer != NOTHING) {
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
      pageSize = size; // last: what is missing when this fails is taken the next time
    }
    tree = t;
  }

  private BTree tree() {
    BTree t = tree;
    if (t == null) {
      throw new InvalidUseException("A scan stands nowhere before seek.");
    }
    return t;
  }

  // ---------------------------------------------------------------------------------------- load

  /**
   * Goes to the next leaf that has keys in range, and copies it.
   *
   * @return false at the end: there is no such leaf
   */
  public boolean load() {
    BTree t = tree();
    boolean goesOn = !fresh;
    if (goesOn) {
      if (from < to) {
        rememberLast();
        passed = 0;
      }
      if (end) {
        from = 0;
        to = 0;
        return false;
      }
      pass();
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
        if (goesOn && !end && hint != 0) {
          touched += Siblings.touch(t.pool(), hint);
        }
        return true;
      }
      if (end) {
        return false;
      }
      pass();
      takeBoundary();
      i = 0;
    }
  }

  /** Keeps the boundary of the present copy, before another one is taken. */
  private void takeBoundary() {
    if (boundaryAt >= 0) {
      boundary.set(page, boundaryAt, boundaryLength);
      boundaryAt = -1;
    }
  }

  /**
   * Takes the copy again: of the leaf, or leaves, behind the last key that was handed out before
   * the present copy.
   *
   * @return false if there is nothing behind it any more
   */
  public boolean reload() {
    tree();
    fresh = true;
    end = false;
    boundaryAt = -1;
    passed = 0;
    from = 0;
    to = 0;
    return load();
  }

  /**
   * Takes the copy again, of what is behind a key of the present copy.
   *
   * @param slot the slot of that key
   * @return false if there is nothing behind it
   */
  public boolean reloadBehind(int slot) {
    remember(slot);
    return reload();
  }

  /** Keys before and at this one are done with. */
  private void rememberLast() {
    remember(descending ? from : to - 1);
  }

  private void remember(int slot) {
    start.setLength(copyKey(slot, start.segment(), 0));
    inclusive = false;
  }

  /** Adds the leaf to those that the answer to stillValid is about. */
  private void pass() {
    if (descending) {
      return;
    }
    if (passed == passedFrames.length) {
      passedFrames = Arrays.copyOf(passedFrames, 2 * passed);
      passedVersions = Arrays.copyOf(passedVersions, 2 * passed);
    }
    passedFrames[passed] = leaf.frame;
    passedVersions[passed] = leaf.version;
    passed++;
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
    boolean whole;
    try {
      whole = copy(t);
    } finally {
      if (attempt >= COPIES) {
        t.releaseShared(leaf);
      }
    }
    if (!whole) {
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
   * Asks whether the leaf can be the one that was looked for, and its keys in their order. The copy
   * is of one moment, at which the leaf hung where the way to it led: no restart explains what is
   * wrong now. A look at two fences and at the heads a leaf, not a key.
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

  /** What of the copy is in range, and what follows it. */
  private void findRange() {
    int behind = leaf.slot + (leaf.found ? 1 : 0);
    if (descending) {
      from = 0;
      to = fresh && !inclusive ? leaf.slot : behind;
    } else {
      from = fresh && inclusive ? leaf.slot : behind;
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

  /** The fences of a damaged leaf might send a scan round in circles. */
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
    LeafVersions n = noted;
    if (n != null) {
      n.add(leaf.frame, leaf.version);
    }
    return true;
  }

  /**
   * The largest LSN of the leaves that were copied since {@link #seek}, those included that had
   * nothing in range: that a key is not there may be a change, too.
   *
   * @return a position in the log; 0 for none
   */
  public long pageLsn() {
    return pageLsn;
  }

  /**
   * Whether nothing has changed since the copies: see the class.
   *
   * @return true if what was read still is what is in the tree
   */
  public boolean stillValid() {
    BTree t = tree();
    for (int i = 0; i < passed; i++) {
      if (!t.pool().validate(passedFrames[i], passedVersions[i])) {
        return false;
      }
    }
    return t.valid(leaf);
  }

  // ------------------------------------------------------------------------------------ contents

  /**
   * The first slot of the copy that is in range.
   *
   * @return a slot
   */
  public int from() {
    return from;
  }

  /**
   * The slot behind the last one that is in range.
   *
   * @return a slot
   */
  public int to() {
    return to;
  }

  /**
   * How many keys of the copy are in range.
   *
   * @return the difference of {@link #to} and {@link #from}
   */
  public int count() {
    return to - from;
  }

  /**
   * The leaf that was copied, as location memory for operations on its keys; {@code slot} and
   * {@code found} are the caller's to set.
   *
   * @param p out: the leaf
   * @param slot the slot that it shall name
   */
  public void position(Position p, int slot) {
    p.set(leaf.frame, leaf.version, leaf.pid, slot, true);
  }

  /**
   * The page that was copied.
   *
   * @return its id
   */
  public long page() {
    return leaf.pid;
  }

  /**
   * Where the copy is.
   *
   * @return native memory, the same until the next {@link #seek}
   */
  public MemorySegment segment() {
    return page;
  }

  /**
   * How long the key of a slot is.
   *
   * @param slot a slot
   * @return bytes
   */
  public int keyLength(int slot) {
    return BTreeNode.keyLength(page, 0, pageSize, BTreeNode.leafSlot(page, 0, slot));
  }

  /**
   * Copies the key of a slot.
   *
   * @param slot a slot
   * @param dst where to; native memory
   * @param dstOff where in it
   * @return its length
   */
  public int copyKey(int slot, MemorySegment dst, long dstOff) {
    try {
      return BTreeNode.copyKey(
          page, 0, pageSize, true, BTreeNode.leafSlot(page, 0, slot), dst, dstOff);
    } catch (IndexOutOfBoundsException e) {
      throw damaged(dst.byteSize() - dstOff >= tree().maxKeySize(), e);
    }
  }

  /**
   * The copy is of one moment: an offset that leads out of it is damage, or the caller's mistake.
   */
  private RuntimeException damaged(boolean callerIsRight, IndexOutOfBoundsException e) {
    return callerIsRight ? TreeDamage.offsets(tree().pool(), leaf.pid, e) : e;
  }

  /**
   * Compares the key of a slot with another.
   *
   * @param slot a slot
   * @param key where the other key is; native memory
   * @param off its offset
   * @param len its length
   * @return below 0, 0, above 0: as the slot's key is below, equal to, above the other
   */
  public int compare(int slot, MemorySegment key, long off, int len) {
    try {
      return NodeSearch.compareKey(
          page, 0, pageSize, BTreeNode.leafSlot(page, 0, slot), key, off, len);
    } catch (IndexOutOfBoundsException e) {
      throw damaged(off >= 0 && off + len <= key.byteSize(), e);
    }
  }

  /**
   * The first slot of the copy, in range or not, whose key is not below a key.
   *
   * @param key native memory with the key
   * @param off its offset
   * @param len its length
   * @return a slot, or the number of keys in the copy
   */
  public int lowerBound(MemorySegment key, long off, int len) {
    return bound(key, off, len, false);
  }

  /**
   * The first slot of the copy, in range or not, whose key is above a key.
   *
   * @param key native memory with the key
   * @param off its offset
   * @param len its length
   * @return a slot, or the number of keys in the copy
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

  /**
   * Whether the value of a slot is not in the leaf: then {@link #copyValue} gets it.
   *
   * @param slot a slot
   * @return true for values above a quarter of a page
   */
  public boolean isOverflow(int slot) {
    return field(slot) == BTreeNode.OVERFLOW;
  }

  private int field(int slot) {
    return BTreeNode.field(page, 0, pageSize, BTreeNode.leafSlot(page, 0, slot));
  }

  /**
   * How long the value of a slot is.
   *
   * @param slot a slot
   * @return bytes
   */
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

  /**
   * Where the value of a slot is in {@link #segment}, unless it {@linkplain #isOverflow is
   * elsewhere}.
   *
   * @param slot a slot
   * @return an offset
   */
  public long valueOffset(int slot) {
    return BTreeNode.valueAt(0, pageSize, BTreeNode.leafSlot(page, 0, slot));
  }

  /**
   * Copies the value of a slot, wherever it is.
   *
   * @param slot a slot
   * @param dst where to; native memory
   * @param dstOff where in it
   * @param cap how many bytes there is room for
   * @return how long the whole value is; -1 if it is elsewhere and the leaf has changed since the
   *     copy
   */
  public int copyValue(int slot, MemorySegment dst, long dstOff, int cap) {
    int length = valueLength(slot);
    int bytes = Math.min(length, cap);
    long at = valueOffset(slot);
    if (!isOverflow(slot)) {
      Mem.copy(page, at, dst, dstOff, bytes);
      return length;
    }
    return OverflowChain.read(
            tree().pool(),
            tree().treeId(),
            leaf,
            OverflowChain.stubPid(page, at),
            length,
            dst,
            dstOff,
            bytes)
        ? length
        : -1;
  }

  /**
   * How many pages were looked at, ever: a plain counter.
   *
   * @return pages
   */
  public long pageAccesses() {
    return leaf.pageAccesses;
  }
}
