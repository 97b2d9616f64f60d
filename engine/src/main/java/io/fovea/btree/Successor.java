package io.fovea.btree;

import io.fovea.buffer.BufferPool;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/**
 * The first key above another.
 *
 * <p>Nearly always it is in the same leaf, and one validation makes it true. Beyond the end of the
 * leaf the answer is true only if <i>all</i> leaves on the way were as they were read at one
 * moment: a key may be inserted at the end of the first while the second is read. So every leaf
 * that was passed is validated after the last one was read.
 */
final class Successor {
  static final int FOUND = 0;
  static final int NONE = 1;
  static final int AGAIN = 2;
  static final int NEXT_LEAF = 3;

  private Successor() {}

  /**
   * Looks in the leaf where a position stands; the answer is validated, but for NEXT_LEAF. The key
   * is staged only: it may be that the caller has to begin again with the key that is in the
   * buffer.
   */
  static int step(BTree tree, Position p, KeyBuffer out) {
    BufferPool pool = tree.pool();
    MemorySegment s = pool.pages();
    int pageSize = pool.pageSize();
    long base = pool.base(p.frame);
    try {
      int slot = p.slot + (p.found ? 1 : 0);
      if (slot < BTreeNode.leafCount(s, base, pageSize)) {
        int len =
            BTreeNode.copyKey(
                s,
                base,
                pageSize,
                true,
                BTreeNode.leafSlot(s, base, slot),
                out.segment(),
                out.stage());
        if (!tree.valid(p)) {
          return AGAIN;
        }
        out.staged(len);
        p.slot = slot;
        p.found = true;
        return FOUND;
      }
      if (BTreeNode.high(s, base) != BTreeNode.NONE) {
        return NEXT_LEAF;
      }
      return tree.valid(p) ? NONE : AGAIN;
    } catch (IndexOutOfBoundsException e) {
      tree.checkTorn(p.frame, p.version, p.pid, out.segment(), 0, 0, e);
      return AGAIN;
    }
  }

  /** Goes on to the leaves behind the one where a position stands. */
  static int beyond(BTree tree, Position p, KeyBuffer out) {
    TreeScratch scratch = tree.scratches().take();
    try {
      Position q = scratch.parent;
      q.copyFrom(p);
      q.pageAccesses = 0;
      int passed = 0;
      for (; ; ) {
        passed = pass(scratch, passed, q);
        long hint = boundary(tree, q, passed == 1, scratch.key);
        if (hint < 0) {
          return AGAIN;
        }
        Siblings.find(tree, hint, scratch.key, true, q);
        int found = step(tree, q, out);
        if (found != NEXT_LEAF) {
          p.pageAccesses += q.pageAccesses;
          // Only what was passed: the last leaf was validated by the step, after it was read.
          if (found == AGAIN || !unchanged(tree, scratch, passed)) {
            return AGAIN;
          }
          p.copyFrom(q);
          return found;
        }
      }
    } finally {
      tree.scratches().give(scratch);
    }
  }

  private static int pass(TreeScratch scratch, int passed, Position q) {
    if (passed == scratch.passedFrames.length) {
      scratch.passedFrames = Arrays.copyOf(scratch.passedFrames, 2 * passed);
      scratch.passedVersions = Arrays.copyOf(scratch.passedVersions, 2 * passed);
    }
    scratch.passedFrames[passed] = q.frame;
    scratch.passedVersions[passed] = q.version;
    return passed + 1;
  }

  private static boolean unchanged(BTree tree, TreeScratch scratch, int passed) {
    for (int i = 0; i < passed; i++) {
      if (!tree.pool().validate(scratch.passedFrames[i], scratch.passedVersions[i])) {
        return false;
      }
    }
    return true;
  }

  /** Copies the high fence of a leaf; returns the next leaf's hint, or -1 if the leaf changed. */
  private static long boundary(BTree tree, Position q, boolean first, KeyBuffer out) {
    BufferPool pool = tree.pool();
    MemorySegment s = pool.pages();
    long base = pool.base(q.frame);
    int high = BTreeNode.fenceBytes(BTreeNode.high(s, base), pool.pageSize());
    Mem.copy(s, base + pool.pageSize() - high, out.segment(), out.stage(), high);
    out.staged(high);
    long hint = BTreeNode.next(s, base) & Long.MAX_VALUE;
    if (!tree.valid(q)) {
      return -1;
    }
    if (!first && out.compareStaged() <= 0) {
      throw OverflowChain.damaged(pool, q.pid, "order of the fences of a leaf", 1, 0);
    }
    out.publish();
    return hint;
  }
}
