package io.fovea.btree;

import io.fovea.buffer.BufferPool;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import java.util.SplittableRandom;

/**
 * About how many entries of a tree lie between two keys, and how many bytes they have, without
 * reading them: by the shape of the tree.
 *
 * <pre>
 *   root              [ . . L . . . . H . ]        between the two ways: whole subtrees, probed
 *                          /           \
 *   inner      [ . L r r r ]           [ l l H . ]       right of the one, left of the other: too
 *                  |                         |
 *   leaf       [ . . L r r ]           [ l H . . ]       counted
 * </pre>
 *
 * <p>The ways to the two ends are gone level by level. What lies between them in the two last
 * leaves is counted; where both ends are in one leaf, or in neighbours, the answer is exact. Each
 * group of whole subtrees is probed: a few of them, evenly spread, are gone down by a random child
 * of each node. The product of the numbers of children on such a way, times the entries of its
 * leaf, is what the subtree has in the mean over all ways, whatever its shape: Knuth, Estimating
 * the Efficiency of Backtrack Programs, Mathematics of Computation 29, 1975.
 *
 * <p>One shared latch at a time. A tree that changes meanwhile makes the estimate worse and nothing
 * else: a node is what its parent said, or its part is left out. The same range of the same tree
 * gives the same estimate. Any thread; one estimate is made once.
 *
 * @since 0.1.0
 */
public final class RangeEstimate {
  /** Probes of the uppermost group, in which nearly all of a large range lies. */
  private static final int PROBES = 24;

  /** Probes of each group below it: what these have is a small part of it. */
  private static final int PROBES_BELOW = 4;

  /** Behind the last slot. */
  private static final int END = Integer.MAX_VALUE;

  private final Descent descent;
  private final BufferPool pool;
  private final MemorySegment pages;
  private final int pageSize;
  private final int treeId;
  private final SplittableRandom random;

  /** The node of an end at the level that is looked at, and the slot there. */
  private final Position low = new Position();

  private final Position high = new Position();

  /** Whether the two ways have parted above the level that is looked at. */
  private boolean apart;

  /** Whether the lower end is behind the upper one: nothing lies between them. */
  private boolean crossed;

  /** Whether the uppermost group had its probes. */
  private boolean probed;

  private double entries;
  private double bytes;

  /** Of the node or leaf that was looked at last. */
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
   * Estimates how much lies between two keys; exactly where that is one leaf or two. Reads some
   * pages of each level.
   *
   * @param tree of which tree
   * @param low the lower end; native memory
   * @param lowOff where it begins
   * @param lowLen how long it is; negative where there is no lower end
   * @param lowInclusive whether the key itself belongs to it
   * @param high the upper end; native memory
   * @param highOff where it begins
   * @param highLen how long it is; negative where there is no upper end
   * @param highInclusive whether the key itself belongs to it
   * @return the estimate
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
        // No key is above the longest one of the largest bytes.
        to = scratch.key.segment();
        toLen = tree.maxKeySize();
        to.asSlice(0, toLen).fill((byte) 0xFF);
      }
      for (int level = tree.height() - 1; level >= 0 && !e.crossed; level--) {
        e.descent.descendTo(low, lowOff, Math.max(0, lowLen), !lowInclusive, level, e.low);
        e.descent.descendTo(to, highLen < 0 ? 0 : highOff, toLen, false, level, e.high);
        if (level == 0) {
          e.low.slot += e.low.found && !lowInclusive ? 1 : 0;
          e.high.slot += e.high.found && (highInclusive || highLen < 0) ? 1 : 0;
        }
        if (e.low.frame >= 0 && e.high.frame >= 0) { // else the tree is lower by now
          e.level(level);
        }
      }
    } finally {
      tree.scratches().give(scratch);
    }
    return e;
  }

  /**
   * About how many entries there are.
   *
   * @return 0 or more
   */
  public long entries() {
    return Math.round(entries);
  }

  /**
   * About how long their keys and values are together, values that are kept outside of the leaves
   * included.
   *
   * @return bytes
   */
  public long bytes() {
    return Math.round(bytes);
  }

  /** What lies between the two ends in their nodes of a level. */
  private void level(int level) {
    if (!apart && low.pid == high.pid) {
      crossed = high.slot < low.slot;
      if (level == 0) {
        leaf(low.pid, low.slot, high.slot, 1);
      } else {
        apart = high.slot > low.slot;
        subtrees(level, low.pid, low.slot + 1, high.slot);
      }
      return;
    }
    apart = true;
    if (level == 0) {
      leaf(low.pid, low.slot, END, 1);
      leaf(high.pid, 0, high.slot, 1);
    } else {
      subtrees(level, low.pid, low.slot + 1, END);
      subtrees(level, high.pid, 0, high.slot);
    }
  }

  /** Adds the children [from, to) of an inner node, with all that is below them. */
  private void subtrees(int level, long pid, int from, int to) {
    if (to <= from || look(pid, level, 0, 0, 0) < 0) {
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
      // One of each part of the group; each child once where there are as few.
      int child = from + (int) ((k + (n > probes ? random.nextDouble() : 0)) * n / probes);
      arrived += probe(level, pid, child) ? 1 : 0;
    }
    if (arrived > 0) {
      double times = (double) n / arrived;
      entries = entriesBefore + (entries - entriesBefore) * times;
      bytes = bytesBefore + (bytes - bytesBefore) * times;
    }
  }

  /** Goes down from a child of a node to a leaf, by chance, and adds what that stands for. */
  private boolean probe(int level, long pid, int child) {
    double weight = 1;
    long node = look(pid, level, child, 0, 0);
    for (int at = level - 1; at > 0 && node > 0; at--) {
      if (look(node, at, 0, 0, 0) < 0) {
        return false;
      }
      int children = count + 1;
      weight *= children;
      node = look(node, at, random.nextInt(children), 0, 0);
    }
    return node > 0 && leaf(node, 0, END, weight);
  }

  /** Adds the entries [from, to) of a leaf, so often. */
  private boolean leaf(long pid, int from, int to, double times) {
    if (look(pid, 0, 0, from, to) < 0) {
      return false;
    }
    entries += Math.max(0, Math.min(to, count) - from) * times;
    bytes += countBytes * times;
    return true;
  }

  /**
   * Looks at a node, under its latch: sets {@link #count}, and of a leaf the bytes of its entries
   * [from, to).
   *
   * @param child of an inner node, which
   * @return the page id of that child; of a leaf 0; -1 if this is not the node any more
   */
  private long look(long pid, int level, int child, int from, int to) {
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

  /** The bytes of a key and its value, wherever that is. */
  private long entryBytes(long base, long slot) {
    int field = BTreeNode.field(pages, base, pageSize, slot);
    int value =
        field == BTreeNode.OVERFLOW
            ? OverflowChain.stubLength(pages, BTreeNode.valueAt(base, pageSize, slot))
            : field;
    return BTreeNode.prefix(pages, base) + BTreeNode.suffixLength(slot) + (long) value;
  }
}
