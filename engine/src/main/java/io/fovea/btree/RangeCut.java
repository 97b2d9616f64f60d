package io.fovea.btree;

import io.fovea.buffer.AllocatorRecord;
import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageHeader;
import io.fovea.error.FoveaException;
import io.fovea.memory.LongList;
import io.fovea.wal.LogSession;
import java.lang.foreign.MemorySegment;

/**
 * Removes an interval of keys from a tree whose records nobody else changes: whole leaves at once.
 *
 * <pre>
 *   parent   ... s1:A  s2:B  s3:C  s4:D  s5:E ...      B, C, D lie within the interval
 *      ->    ... s1:A              s4:B  s5:E ...      B has no records, and the fences s1 and s4
 *   one record: images of B and of the parent; C, D released. Then C and D are freed, unread.
 * </pre>
 *
 * <ol>
 *   <li>From right to left, one parent of leaves after the other. So what is left of each, one leaf
 *       without records, is merged with what is left of the one on its right ({@link Merger}), and
 *       inner nodes likewise: at the end there is one leaf, or none, in the place of all.
 *   <li>Records of the interval in leaves that have others as well are removed one by one.
 *   <li>Nothing is allocated, so no page can be lacking. After a failure {@link #run} goes on: what
 *       was cut loose and is not free yet is remembered here, and a second pass over what is done
 *       finds nothing to do.
 * </ol>
 *
 * <p><b>Why C and D need no latch</b> while they are cut loose. A descent that comes later does not
 * find them. But a reader may know them by a hint (of the leaf on the left, of a place where its
 * transaction was), find a leaf of this tree with the right fences, and read records that are gone.
 * The caller sees to it that no transaction may read the tree, between the moment at which the
 * interval has lost its records and the end of {@link #run}, that is not aborted for it. From then
 * on these pages are free, which is what hints are checked for. Until it is freed each of them is a
 * leaf as it was, so that whoever is aborted for what it has read has read nothing that is no leaf.
 *
 * <p><b>Crashes.</b> The record that says that the interval is empty comes first. If a part of this
 * is not in the log, recovery does it again, whatever the pages have. Released pages that are not
 * free by the log are freed by recovery, as those of any change of structure.
 *
 * <p>One thread.
 */
public final class RangeCut {
  /** How many images of pages a parent of leaves costs at most; see {@link #logBytes}. */
  private static final int PARENT_PAGES = 5;

  /** What the log has of a page that becomes free: half of a grant, which has room for a filler. */
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

  /** The place: the parent of the leaf that this key belongs to. */
  private final KeyBuffer key;

  /** The low fence of that parent. */
  private final KeyBuffer lower;

  /** Of the leaf that was emptied: a key that belongs into it. */
  private final KeyBuffer inside;

  /** Pages that were cut loose; those before {@link #looseLeft} are not free yet. */
  private final LongList loose = new LongList();

  private int looseLeft;
  private boolean more;
  private long freed;

  // Of the parent that was looked at: its first and its last child within the interval.
  private int first;
  private int last;
  private long firstPid;

  /**
   * Makes one.
   *
   * @param tree the tree; nobody else changes its records until the end
   * @param range which keys go; none of their values is in pages of its own, or the caller sees to
   *     those
   * @param log a session that has begun, and whose position is the record that says that they are
   *     gone
   */
  public RangeCut(BTree tree, KeyRange range, LogSession log) {
    this.tree = tree;
    this.range = range.within(tree.maxKeySize());
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

  /** How many pages were freed, without those that merges have freed. */
  public long freed() {
    return freed;
  }

  /**
   * Removes the keys.
   *
   * @throws FoveaException where a page can't be had; to be called again
   */
  public void run() {
    freeLoose();
    toTheEnd();
    while (more) {
      cutUnderParent();
    }
    removeRest();
  }

  /**
   * How many bytes {@link #run} appends to the log at most, if nobody changes the tree before: by a
   * look at the parents of the leaves.
   *
   * <p>A page that becomes free takes a record, and a place in that of its parent. A parent takes
   * {@value #PARENT_PAGES} images: of itself and of a leaf where they are cut, which are small then
   * but at both ends; of two pages each where the leaf that is left and the parent are merged with
   * what is on their right; and those above, of which there are few.
   *
   * @throws FoveaException where a page can't be had
   */
  public long logBytes() {
    long bytes = 2L * PARENT_PAGES * pageSize;
    TreeScratch scratch = change.scratches.take();
    try {
      toTheEnd();
      do {
        for (int i = 0; !looked(scratch.parent); i++) {
          Pause.after(i); // what was seen of it may be false
        }
        bytes += (long) PARENT_PAGES * pageSize;
        bytes += Math.max(0, last - first) * (FREED_BYTES + 8);
        key.set(lower.segment(), 0, lower.length());
      } while (more);
    } finally {
      change.scratches.give(scratch);
    }
    return bytes;
  }

  /** The place is at the end of the interval. */
  private void toTheEnd() {
    if (range.highLength() < 0) {
      // No key is above the longest one of 0xFF only.
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
      change.scratches.give(scratch);
    }
    freeLoose();
    if (result == StructureChange.DONE) {
      merge();
    }
    if (more) {
      key.set(lower.segment(), 0, lower.length());
    }
  }

  private void freeLoose() {
    while (looseLeft > 0) {
      log.grant(AllocatorRecord.FREE_SPACE);
      pool.freeUnread(loose.get(looseLeft - 1), tree.treeId(), log);
      looseLeft--;
      freed++;
    }
    loose.clear();
  }

  /** What is left lies beside another rest, or will: as small as it is, it fits everywhere. */
  private void merge() {
    try {
      merger.merge(0, firstPid, inside.segment(), 0, inside.length(), log);
    } catch (FoveaException e) {
      // As small as the leaf is it does no harm; a thread that needs its neighbour will be told.
      if (pool.stopping().stopped() != null) {
        throw e;
      }
    } catch (VirtualMachineError e) {
      if (pool.stopping().stopped() != null) {
        throw e;
      }
    }
  }

  // ----------------------------------------------------------------------------------- one parent

  private int tryCut(TreeScratch scratch) {
    Position parent = scratch.parent;
    if (!looked(parent)) {
      return StructureChange.AGAIN;
    }
    if (first > last) {
      return StructureChange.NEEDLESS;
    }
    descent.requirePage(parent.pid, firstPid);
    int leaf = change.resolve(firstPid);
    if (first == last && BTreeNode.count(pages, pool.base(leaf)) == 0) {
      return StructureChange.NEEDLESS; // of another attempt; a look, for it is no matter
    }
    return cut(parent, leaf, scratch);
  }

  /**
   * Finds the parent of the place, and which of its children lie within the interval.
   *
   * @return false where it changed meanwhile
   */
  private boolean looked(Position parent) {
    descent.descendTo(key.segment(), 0, key.length(), false, 1, parent);
    if (parent.frame < 0) {
      more = false; // the root is a leaf
      first = 0;
      last = -1;
      return true;
    }
    try {
      look(pool.base(parent.frame));
    } catch (IndexOutOfBoundsException e) {
      TreeDamage.requireTorn(pool, parent.frame, parent.version, parent.pid, pages, 0, 0, e);
      return false;
    }
    return pool.validate(parent.frame, parent.version);
  }

  /** Which children lie within the interval. Of a page that may change. */
  private void look(long base) {
    MemorySegment s = pages;
    int count = BTreeNode.innerCount(s, base, pageSize);
    int low = BTreeNode.low(s, base);
    int high = BTreeNode.high(s, base);
    long lowAt = base + BTreeNode.lowAt(s, base, pageSize);
    long highAt = base + BTreeNode.highAt(s, base, pageSize);
    int lowBytes = Math.min(BTreeNode.fenceBytes(low, pageSize), tree.maxKeySize());
    int highBytes = BTreeNode.fenceBytes(high, pageSize);
    // Where one of them is false the range has an end there.
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
    boolean whole = false;
    boolean done = false;
    long prev = 0;
    long next = 0;
    long looked = parent.pid;
    try {
      if (change.tryLatch(leaf, firstPid)) {
        latched = 2;
        long base = pool.base(parent.frame);
        long leafBase = pool.base(leaf);
        NodeCheck.node(s, base, pageSize, 1, tree.treeId());
        int count = BTreeNode.count(s, base);
        for (int i = first + 1; i <= last; i++) {
          loose.add(BTreeNode.child(s, base, i));
        }
        next = last < count ? BTreeNode.child(s, base, last + 1) : 0;
        looked = firstPid;
        if (!NodeCheck.isNode(s, leafBase, 0, tree.treeId())) {
          throw new NodeDamage("level of a node", 0, PageHeader.level(s, leafBase));
        }
        BTreeNode.checkSane(s, leafBase, pageSize, true);
        NodeCheck.child(s, base, first, leafBase, pageSize, scratch.key);
        prev = BTreeNode.prev(s, leafBase);
        changed = true;
        empty(base, leafBase, count, prev, next, scratch);
        pool.swizzling().disown(parent.frame, first + 1, last);
        takeOut(base, pool.reference(firstPid, leaf, parent.frame), count, scratch);
        whole = true;
        StructureRecord.append(pool, log, loose, leaf, parent.frame);
        done = true;
      }
    } catch (Throwable t) {
      loose.clear();
      if (latched > 1) {
        LatchErrorGuard.giveWhole(pool, leaf, whole, changed, t);
      }
      LatchErrorGuard.giveWhole(pool, parent.frame, whole, changed, t);
      throw LatchErrorGuard.meaning(pool, looked, t);
    }
    if (!done) {
      pool.releaseExclusiveUnchanged(parent.frame);
      return StructureChange.AGAIN;
    }
    long lastPid = loose.size() > 0 ? loose.get(loose.size() - 1) : firstPid;
    looseLeft = loose.size();
    pool.releaseExclusive(leaf);
    pool.releaseExclusive(parent.frame);
    change.repairPrev(next, lastPid, firstPid);
    return StructureChange.DONE;
  }

  /** Takes all records out of the first leaf, and gives it the upper fence of the last one. */
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

  /** Builds the parent anew, without the children behind the first one. */
  private void takeOut(long base, long firstRef, int count, TreeScratch scratch) {
    MemorySegment s = pages;
    MemorySegment old = scratch.page;
    NodeEditor.copyBody(s, base, old, 0, pageSize);
    NodeEditor.initLike(s, base, pageSize, 1, old, 0);
    int left = count - (last - first);
    if (BTreeNode.isOpen(s, base)) {
      // It had a prefix that all its keys have; those that are left have it as well.
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

  // ------------------------------------------------------------------------------------- the rest

  /** Removes what the leaves at both ends have of the interval. */
  private void removeRest() {
    LeafScan scan = new LeafScan();
    KeyBuffer one = inside;
    Position place = new Position();
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
        tree.remove(one.segment(), 0, one.length(), true, place, log);
      }
    }
  }
}
