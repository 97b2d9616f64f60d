package io.fovea.btree;

import io.fovea.buffer.BufferPool;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import java.util.SplittableRandom;

/**
 * Estimates the number of entries between two keys, and their total bytes, from the shape of the
 * tree.
 *
 * <pre>
 *   root              [ . . L . . . . H . ]        between the two paths: whole subtrees, probed
 *                         /           \
 *   inner      [ . L r r r ]           [ l l H . ]       right of the one, left of the other: too
 *                 |                         |
 *   leaf       [ . . L r r ]           [ l H . . ]       counted
 * </pre>
 *
 * <p>Descends to both ends level by level. Entries in the last two leaves are counted, so the
 * result is exact if both ends are in one leaf or in adjacent ones. Each group of whole subtrees is
 * probed: a path through random children is followed to a leaf in a few of them, evenly spread. The
 * product of the numbers of children on such a path and the entries of its leaf has the size of the
 * subtree as its expected value, whatever the shape. Source: Knuth, <i>Estimating the Efficiency of
 * Backtrack Programs</i>, Mathematics of Computation 29, 1975.
 *
 * <p>Takes one shared latch at a time. Concurrent changes only make the estimate worse: a node that
 * is not what its parent said is left out. The same range of the same tree gives the same estimate.
 * Used by any thread.
 */
public final class RangeEstimate {
  /** Probes of the topmost group, which contains most of a large range. */
  private static final int PROBES = 24;

  /** Probes of each lower group. */
  private static final int PROBES_BELOW = 4;

  /** After the last slot. */
  private static final int END = Integer.MAX_VALUE;

  private final Descent descent;
  private final BufferPool pool;
  private final MemorySegment pages;
  private final int pageSize;
  private final int treeId;
  private final SplittableRandom random;

  /** The node of each end at the current level, and the slot in it. */
  private final Position low = new Position();

  private final Position high = new Position();

  /** Whether the two paths separated above the current level. */
  private boolean separated;

  /** Whether the lower end is after the upper one: the range is empty. */
  private boolean empty;

  /** Whether the topmost group was probed. */
  private boolean probed;

  private double entries;
  private double bytes;

  /** Results of the last {@link #readNode}. */
  private int count;

  private long countBytes;

  private RangeEstimate(BTree tree) {
    this.descent = tree.descent();
    this.pool = tree.pool();
    this.pages = pool.pages();
    this.pageSize = pool.pageSize();
    this.treeId = tree.treeId();
    this.random = new SplittableRandom(tree.rootPid());
  }

  /**
   * Estimates what lies between two keys in native memory; a negative length means no end. The
   * estimate is exact within one leaf or two adjacent ones. Reads a few pages per level.
   */
  public static RangeEstimate of(
      BTree tree,
      MemorySegment low,
      long lowOff,
      int lowLen,
      boolean lowInclusive,
      MemorySegment high,
      long highOff,
      int highLen,
      boolean highInclusive) {
    RangeEstimate e = new RangeEstimate(tree);
    boolean empty =
        lowLen >= 0 && highLen >= 0 && Mem.compare(low, lowOff, lowLen, high, highOff, highLen) > 0;
    if (empty) {
      return e;
    }
    TreeScratch scratch = tree.scratches().take();
    try {
      MemorySegment to = high;
      int toLen = highLen;
      if (highLen < 0) {
        // No key is above the longest key of 0xFF bytes.
        to = scratch.key.segment();
        toLen = tree.maxKeySize();
        to.asSlice(0, toLen).fill((byte) 0xFF);
      }
      for (int level = tree.height() - 1; level >= 0 && !e.empty; level--) {
        e.descent.descendTo(low, lowOff, Math.max(0, lowLen), !lowInclusive, level, e.low);
        e.descent.descendTo(to, highLen < 0 ? 0 : highOff, toLen, false, level, e.high);
        if (level == 0) {
          e.low.slot += e.low.found && !lowInclusive ? 1 : 0;
          e.high.slot += e.high.found && (highInclusive || highLen < 0) ? 1 : 0;
        }
        if (e.low.frame >= 0 && e.high.frame >= 0) { // otherwise the tree is lower by now
          e.level(level);
        }
      }
    } finally {
      tree.scratches().release(scratch);
    }
    return e;
  }

  /** Returns the estimated number of entries. */
  public long entries() {
    return Math.round(entries);
  }

  /** Returns the estimated number of bytes of keys and values, including long values. */
  public long bytes() {
    return Math.round(bytes);
  }

  /** Adds what lies between the two ends in their nodes of a level. */
  private void level(int level) {
    if (!separated && low.pid == high.pid) {
      empty = high.slot < low.slot;
      if (level == 0) {
        leaf(low.pid, low.slot, high.slot, 1);
      } else {
        separated = high.slot > low.slot;
        subtrees(level, low.pid, low.slot + 1, high.slot);
      }
      return;
    }
    separated = true;
    if (level == 0) {
      leaf(low.pid, low.slot, END, 1);
      leaf(high.pid, 0, high.slot, 1);
    } else {
      subtrees(level, low.pid, low.slot + 1, END);
      subtrees(level, high.pid, 0, high.slot);
    }
  }

  /** Adds the children [from, to) of an inner node with all below them. */
  private void subtrees(int level, long pid, int from, int to) {
    if (to <= from || readNode(pid, level, 0, 0, 0) < 0) {
      return;
    }
    int n = Math.min(to, count + 1) - from;
    if (n <= 0) {
      return;
    }
    int probes = Math.min(n, probed ? PROBES_BELOW : PROBES);
    probed = true;
    double entriesBefore = entries;
    double bytesBefore = bytes;
    int arrived = 0;
    for (int k = 0; k < probes; k++) {
      // One child of each part of the group; all children if there are few.
      int child = from + (int) ((k + (n > probes ? random.nextDouble() : 0)) * n / probes);
      arrived += probe(level, pid, child) ? 1 : 0;
    }
    if (arrived > 0) {
      double times = (double) n / arrived;
      entries = entriesBefore + (entries - entriesBefore) * times;
      bytes = bytesBefore + (bytes - bytesBefore) * times;
    }
  }

  /** Descends randomly from a child to a leaf, and adds what that leaf represents. */
  private boolean probe(int level, long pid, int child) {
    double weight = 1;
    long node = readNode(pid, level, child, 0, 0);
    for (int at = level - 1; at > 0 && node > 0; at--) {
      if (readNode(node, at, 0, 0, 0) < 0) {
        return false;
      }
      int children = count + 1;
      weight *= children;
      node = readNode(node, at, random.nextInt(children), 0, 0);
    }
    return node > 0 && leaf(node, 0, END, weight);
  }

  /** Adds the entries [from, to) of a leaf, multiplied by {@code times}. */
  private boolean leaf(long pid, int from, int to, double times) {
    if (readNode(pid, 0, 0, from, to) < 0) {
      return false;
    }
    entries += Math.max(0, Math.min(to, count) - from) * times;
    bytes += countBytes * times;
    return true;
  }

  /**
   * Reads a node under its latch: sets {@link #count}, and for a leaf the bytes of its entries
   * [from, to). Returns the page id of the child; 0 for a leaf; -1 if this is no longer the node.
   */
  private long readNode(long pid, int level, int child, int from, int to) {
    int frame = pool.fixShared(pid);
    try {
      long base = pool.base(frame);
      if (!NodeCheck.isNode(pages, base, level, treeId)) {
        return -1;
      }
      countBytes = 0;
      if (level == 0) {
        count = BTreeNode.leafCount(pages, base, pageSize);
        for (int i = from; i < Math.min(to, count); i++) {
          countBytes += entryBytes(base, BTreeNode.leafSlot(pages, base, i));
        }
        return 0;
      }
      count = BTreeNode.innerCount(pages, base, pageSize);
      if (child > count) {
        return -1;
      }
      long next = BTreeNode.child(pages, base, child);
      descent.requirePage(pid, next);
      return next;
    } catch (IndexOutOfBoundsException e) {
      throw TreeDamage.offsets(pool, pid, e);
    } finally {
      pool.releaseShared(frame);
    }
  }

  /** Returns the bytes of a key and its value, even a long one. */
  private long entryBytes(long base, long slot) {
    int field = BTreeNode.field(pages, base, pageSize, slot);
    int value =
        field == BTreeNode.OVERFLOW
            ? OverflowChain.stubLength(pages, BTreeNode.valueAt(base, pageSize, slot))
            : field;
    return BTreeNode.prefix(pages, base) + BTreeNode.suffixLength(slot) + (long) value;
  }
}
