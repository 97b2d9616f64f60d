package io.fovea.btree;

import io.fovea.buffer.AllocatorRecord;
import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageHeader;
import io.fovea.error.FoveaException;
import io.fovea.memory.LongList;
import io.fovea.wal.LogSession;
import java.lang.foreign.MemorySegment;

/**
 * Removes a range of keys from a tree, whole leaves at a time, while no other thread changes its
 * records.
 *
 * <pre>
 *   parent   ... s1:A  s2:B  s3:C  s4:D  s5:E ...      B, C, D lie within the range
 *      ->    ... s1:A              s4:B  s5:E ...      B has no records, and the fences s1 and s4
 *   one record: images of B and of the parent; C, D released. Then C and D are freed, unread.
 * </pre>
 *
 * <ol>
 *   <li>The cut proceeds from right to left, one parent of leaves at a time. The empty leaf that
 *       remains under each parent is merged with the one that remains to its right ({@link
 *       Merger}), and inner nodes likewise, so that at most one leaf remains in the end.
 *   <li>Records of the range in leaves that also contain others are removed one by one.
 *   <li>Nothing is allocated, so the cut cannot run out of pages. After a failure call {@link #run}
 *       again: this object keeps the released pages that are not free yet, and a second pass finds
 *       nothing to do where the first one succeeded.
 * </ol>
 *
 * <p><b>Why C and D are released without a latch.</b> A later descent does not find them. A reader
 * may still reach one by a hint, find a leaf of this tree with matching fences, and read removed
 * records. The caller ensures that every transaction that may read the tree between the removal of
 * the range and the end of {@link #run} is aborted. After {@link #run} the pages are free, which
 * the checks of hints detect. Until it is freed, each page is an intact leaf, so a reader that will
 * be aborted never reads anything but a leaf.
 *
 * <p><b>Crashes.</b> The record that empties the range comes first. If a part of the cut is missing
 * from the log, recovery repeats it, whatever the pages contain. Recovery also frees released
 * pages, as for any structure change.
 *
 * <p>Used by one thread.
 */
public final class RangeCut {
  /** The maximum number of page images per parent of leaves; see {@link #logBytes}. */
  private static final int PARENT_PAGES = 5;

  /** Log bytes of a freed page: half the grant, which includes space for a filler. */
  private static final long FREED_BYTES = AllocatorRecord.FREE_SPACE / 2;

  private final BTree tree;
  private final KeyRange range;
  private final LogSession log;
  private final Descent descent;
  private final StructureChange change;
  private final Merger merger;
  private final BufferPool pool;
  private final MemorySegment pages;
  private final int pageSize;

  /** The position, as a key: the cut is at the parent of the leaf that covers it. */
  private final KeyBuffer key;

  /** The low fence of that parent. */
  private final KeyBuffer lower;

  /** A key that belongs to the emptied leaf. */
  private final KeyBuffer inside;

  /** Released pages; the first {@link #releasedLeft} are not free yet. */
  private final LongList released = new LongList();

  private int releasedLeft;
  private boolean more;
  private long freed;

  // The first and last child of the visited parent within the range.
  private int first;
  private int last;
  private long firstPid;

  /**
   * Prepares a cut by a session that is positioned at the record that removes the range. The caller
   * frees long values, and no other thread changes records of the tree until the cut has ended.
   */
  public RangeCut(BTree tree, KeyRange range, LogSession log) {
    this.tree = tree;
    this.range = range.truncatedTo(tree.maxKeySize());
    this.log = log;
    this.descent = tree.descent();
    this.change = new StructureChange(descent, tree.scratches());
    this.merger = new Merger(change);
    this.pool = tree.pool();
    this.pages = pool.pages();
    this.pageSize = pool.pageSize();
    this.key = new KeyBuffer(tree.maxKeySize());
    this.lower = new KeyBuffer(tree.maxKeySize());
    this.inside = new KeyBuffer(tree.maxKeySize());
  }

  /** Returns the number of freed pages, excluding those freed by merges. */
  public long freed() {
    return freed;
  }

  /** Removes the keys. May be called again after a failure. */
  public void run() {
    freeReleased();
    moveToEnd();
    while (more) {
      cutUnderParent();
    }
    removeRest();
  }

  /**
   * Returns the maximum number of bytes that {@link #run} appends to the log if the tree does not
   * change before then. Reads the parents of the leaves.
   *
   * <p>A released page takes a FREE record and an id in the record of its parent. A parent takes up
   * to {@value #PARENT_PAGES} images: the parent and a leaf for the cut, two pages each for the
   * merges of the remaining leaf and of the parent; higher levels add little.
   */
  public long logBytes() {
    long bytes = 2L * PARENT_PAGES * pageSize;
    TreeScratch scratch = change.scratches.take();
    try {
      moveToEnd();
      do {
        for (int i = 0; !locateParent(scratch.parent); i++) {
          Pause.after(i); // the parent was read inconsistently
        }
        bytes += (long) PARENT_PAGES * pageSize;
        bytes += Math.max(0, last - first) * (FREED_BYTES + 8);
        key.set(lower.segment(), 0, lower.length());
      } while (more);
    } finally {
      change.scratches.release(scratch);
    }
    return bytes;
  }

  /** Sets the position to the end of the range. */
  private void moveToEnd() {
    if (range.highLength() < 0) {
      // No key is above the longest key of 0xFF bytes.
      key.segment().asSlice(0, tree.maxKeySize()).fill((byte) 0xFF);
      key.setLength(tree.maxKeySize());
    } else {
      key.set(range.high(), range.highOffset(), range.highLength());
    }
    more = true;
  }

  private void cutUnderParent() {
    TreeScratch scratch = change.scratches.take();
    int result = StructureChange.AGAIN;
    try {
      for (int i = 0; result == StructureChange.AGAIN; i++) {
        Pause.after(i);
        log.grant(change.space);
        result = tryCut(scratch);
      }
    } finally {
      change.scratches.release(scratch);
    }
    freeReleased();
    if (result == StructureChange.DONE) {
      merge();
    }
    if (more) {
      key.set(lower.segment(), 0, lower.length());
    }
  }

  private void freeReleased() {
    while (releasedLeft > 0) {
      log.grant(AllocatorRecord.FREE_SPACE);
      pool.freeUnread(released.get(releasedLeft - 1), tree.treeId(), log);
      releasedLeft--;
      freed++;
    }
    released.clear();
  }

  /** Merges the empty leaf, which fits into any sibling. */
  private void merge() {
    try {
      merger.merge(0, firstPid, inside.segment(), 0, inside.length(), log);
    } catch (FoveaException e) {
      // An empty leaf is harmless. An unreadable sibling is reported to the thread that needs it.
      if (pool.poolStop().stopped() != null) {
        throw e;
      }
    } catch (VirtualMachineError e) {
      if (pool.poolStop().stopped() != null) {
        throw e;
      }
    }
  }

  // ----------------------------------------------------------------------------------- one parent

  private int tryCut(TreeScratch scratch) {
    Position parent = scratch.parent;
    if (!locateParent(parent)) {
      return StructureChange.AGAIN;
    }
    if (first > last) {
      return StructureChange.NEEDLESS;
    }
    descent.requirePage(parent.pid, firstPid);
    int leaf = change.resolve(firstPid);
    if (first == last && BTreeNode.count(pages, pool.base(leaf)) == 0) {
      // from an earlier attempt; the unlatched read is only an optimization
      return StructureChange.NEEDLESS;
    }
    return cut(parent, leaf, scratch);
  }

  /**
   * Finds the parent at the position and its children in the range; false if it changed meanwhile.
   */
  private boolean locateParent(Position parent) {
    descent.descendTo(key.segment(), 0, key.length(), false, 1, parent);
    if (parent.frame < 0) {
      more = false; // the root is a leaf
      first = 0;
      last = -1;
      return true;
    }
    try {
      findChildren(pool.base(parent.frame));
    } catch (IndexOutOfBoundsException e) {
      TreeDamage.requireTorn(pool, parent.frame, parent.version, parent.pid, pages, 0, 0, e);
      return false;
    }
    return pool.validate(parent.frame, parent.version);
  }

  /** Finds the children within the range, in a page that may change. */
  private void findChildren(long base) {
    MemorySegment s = pages;
    int count = BTreeNode.innerCount(s, base, pageSize);
    int low = BTreeNode.low(s, base);
    int high = BTreeNode.high(s, base);
    long lowAt = base + BTreeNode.lowAt(s, base, pageSize);
    long highAt = base + BTreeNode.highAt(s, base, pageSize);
    int lowBytes = Math.min(BTreeNode.fenceBytes(low, pageSize), tree.maxKeySize());
    int highBytes = BTreeNode.fenceBytes(high, pageSize);
    // If false, the range ends within this parent.
    boolean begins =
        low == BTreeNode.NONE ? range.lowLength() < 0 : range.beginsAt(s, lowAt, lowBytes);
    boolean ends =
        high == BTreeNode.NONE ? range.highLength() < 0 : range.reaches(s, highAt, highBytes);
    if (begins) {
      first = 0;
    } else {
      int at =
          NodeSearch.searchInner(
              s, base, pageSize, range.low(), range.lowOffset(), range.lowLength());
      first = (at >>> 1) + 1;
    }
    if (ends) {
      last = count;
    } else {
      int at =
          NodeSearch.searchInner(
              s, base, pageSize, range.high(), range.highOffset(), range.highLength());
      last = Math.min((at >>> 1) - (range.highInclusive() ? 1 - (at & 1) : 1), count - 1);
    }
    firstPid = first <= last ? BTreeNode.child(s, base, first) : 0;
    more = low != BTreeNode.NONE && range.beginsAt(s, lowAt, lowBytes);
    if (more) {
      lower.set(s, lowAt, lowBytes);
    }
  }

  private int cut(Position parent, int leaf, TreeScratch scratch) {
    if (!pool.tryUpgrade(parent.frame, parent.version)) {
      return StructureChange.AGAIN;
    }
    MemorySegment s = pages;
    int latched = 1;
    boolean changed = false;
    boolean complete = false;
    boolean done = false;
    long prev = 0;
    long next = 0;
    long examined = parent.pid;
    try {
      if (change.tryLatch(leaf, firstPid)) {
        latched = 2;
        long base = pool.base(parent.frame);
        long leafBase = pool.base(leaf);
        NodeCheck.node(s, base, pageSize, 1, tree.treeId());
        int count = BTreeNode.count(s, base);
        for (int i = first + 1; i <= last; i++) {
          released.add(BTreeNode.child(s, base, i));
        }
        next = last < count ? BTreeNode.child(s, base, last + 1) : 0;
        examined = firstPid;
        if (!NodeCheck.isNode(s, leafBase, 0, tree.treeId())) {
          throw new NodeDamage("level of a node", 0, PageHeader.level(s, leafBase));
        }
        BTreeNode.checkSane(s, leafBase, pageSize, true);
        NodeCheck.child(s, base, first, leafBase, pageSize, scratch.key);
        prev = BTreeNode.prev(s, leafBase);
        changed = true;
        empty(base, leafBase, count, prev, next, scratch);
        pool.swizzling().clearParents(parent.frame, first + 1, last);
        removeChildren(base, pool.reference(firstPid, leaf, parent.frame), count, scratch);
        complete = true;
        StructureRecord.append(pool, log, released, leaf, parent.frame);
        done = true;
      }
    } catch (Throwable t) {
      released.clear();
      if (latched > 1) {
        LatchErrorGuard.releaseWhole(pool, leaf, complete, changed, t);
      }
      LatchErrorGuard.releaseWhole(pool, parent.frame, complete, changed, t);
      throw LatchErrorGuard.rethrow(pool, examined, t);
    }
    if (!done) {
      pool.releaseExclusiveUnchanged(parent.frame);
      return StructureChange.AGAIN;
    }
    long lastPid = released.size() > 0 ? released.get(released.size() - 1) : firstPid;
    releasedLeft = released.size();
    pool.releaseExclusive(leaf);
    pool.releaseExclusive(parent.frame);
    change.repairPrev(next, lastPid, firstPid);
    return StructureChange.DONE;
  }

  /** Removes all records from the first leaf and gives it the high fence of the last one. */
  private void empty(
      long base, long leafBase, int count, long prev, long next, TreeScratch scratch) {
    MemorySegment s = pages;
    int low = BTreeNode.low(s, leafBase);
    scratch.left.set(
        s, leafBase + BTreeNode.lowAt(s, leafBase, pageSize), BTreeNode.fenceBytes(low, pageSize));
    int high;
    if (last < count) {
      change.load(s, base, last, scratch.right);
      high = scratch.right.length();
    } else {
      high = BTreeNode.high(s, base);
      scratch.right.set(
          s, base + BTreeNode.highAt(s, base, pageSize), BTreeNode.fenceBytes(high, pageSize));
    }
    if (high == BTreeNode.NONE) {
      inside.segment().asSlice(0, tree.maxKeySize()).fill((byte) 0xFF);
      inside.setLength(tree.maxKeySize());
    } else {
      inside.set(scratch.right.segment(), 0, scratch.right.length());
    }
    NodeEditor.init(
        s, leafBase, pageSize, 0, scratch.left.segment(), 0, low, scratch.right.segment(), 0, high);
    NodeEditor.setPrev(s, leafBase, prev);
    NodeEditor.setNext(s, leafBase, next);
  }

  /** Rebuilds the parent without the children after the first one. */
  private void removeChildren(long base, long firstRef, int count, TreeScratch scratch) {
    MemorySegment s = pages;
    MemorySegment old = scratch.page;
    NodeEditor.copyBody(s, base, old, 0, pageSize);
    NodeEditor.initLike(s, base, pageSize, 1, old, 0);
    int left = count - (last - first);
    if (BTreeNode.isOpen(s, base)) {
      // All old keys share the old prefix, so the remaining ones do too.
      int prefix = left > 0 ? BTreeNode.prefix(old, 0) : 0;
      int any = first > 0 ? 0 : last;
      if (left > 0) {
        change.load(old, 0, any, scratch.key);
      }
      NodeEditor.setOpenPrefix(s, base, pageSize, scratch.key.segment(), 0, prefix);
    }
    NodeEditor.appendInner(old, 0, 0, first, s, base, pageSize, scratch.key);
    if (last < count) {
      change.load(old, 0, last, scratch.key);
      NodeEditor.insertInner(
          s, base, pageSize, first, scratch.key.segment(), 0, scratch.key.length(), firstRef);
      NodeEditor.appendInner(old, 0, last + 1, count, s, base, pageSize, scratch.key);
      NodeEditor.setChild(s, base, left, BTreeNode.childRef(old, 0, count));
    } else {
      NodeEditor.setChild(s, base, first, firstRef);
    }
    NodeEditor.makeHeads(s, base);
  }

  // ------------------------------------------------------------------------- partly covered leaves

  /** Removes the records of the range from the leaves at both ends. */
  private void removeRest() {
    LeafScan scan = new LeafScan();
    KeyBuffer one = inside;
    Position position = new Position();
    scan.seek(tree, range.low(), range.lowOffset(), range.lowLength(), range.lowInclusive(), false);
    boolean on = true;
    while (on && scan.load()) {
      int to = scan.to();
      if (range.highLength() >= 0) {
        MemorySegment high = range.high();
        int bound =
            range.highInclusive()
                ? scan.upperBound(high, range.highOffset(), range.highLength())
                : scan.lowerBound(high, range.highOffset(), range.highLength());
        on = bound >= to;
        to = Math.min(to, bound);
      }
      for (int slot = scan.from(); slot < to; slot++) {
        one.setLength(scan.copyKey(slot, one.segment(), 0));
        tree.remove(one.segment(), 0, one.length(), true, position, log);
      }
    }
  }
}
