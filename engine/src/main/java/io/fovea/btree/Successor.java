package io.fovea.btree;

import io.fovea.buffer.BufferPool;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;

/**
 * Finds the next key above a key.
 *
 * <p>It is nearly always in the same leaf, where one validation suffices. Otherwise <i>all</i>
 * leaves on the way must be unchanged at one point in time, since a key may be inserted at the end
 * of the first one while the second is read. So every passed leaf is validated after the last one
 * was read. {@link Position#gapFrame} says where the gap began, for later checks.
 */
final class Successor {
  private static final int FOUND = 0;
  private static final int NONE = 1;
  private static final int AGAIN = 2;
  private static final int NEXT_LEAF = 3;

  private Successor() {}

  /** See {@link BTree#successor}. */
  static boolean find(
      Descent descent,
      TreeScratch.Stock scratches,
      MemorySegment key,
      long off,
      int len,
      Position p,
      KeyBuffer out) {
    descent.locate(key, off, len, p);
    for (int i = 0; ; i++) {
      p.gapFrame = p.frame;
      p.gapVersion = p.version;
      int found = step(descent, p, out);
      if (found == NEXT_LEAF) {
        found = findInLaterLeaves(descent, scratches, p, out);
      }
      if (found == FOUND) {
        out.publish();
        return true;
      }
      if (found == NONE) {
        return false;
      }
      Pause.after(i);
      descent.descendTo(key, off, len, false, 0, p);
    }
  }

  /**
   * Searches the leaf of a position; the answer is validated, except NEXT_LEAF. The key is only
   * staged, since the caller may have to retry with the key that is in the buffer.
   */
  private static int step(Descent descent, Position p, KeyBuffer out) {
    BufferPool pool = descent.pool();
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
        if (!pool.validate(p.frame, p.version)) {
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
      return pool.validate(p.frame, p.version) ? NONE : AGAIN;
    } catch (IndexOutOfBoundsException e) {
      TreeDamage.requireTorn(pool, p.frame, p.version, p.pid, out.segment(), 0, 0, e);
      return AGAIN;
    }
  }

  /** Continues in the leaves after that of the position. */
  private static int findInLaterLeaves(
      Descent descent, TreeScratch.Stock scratches, Position p, KeyBuffer out) {
    TreeScratch scratch = scratches.take();
    try {
      Position q = scratch.parent;
      q.copyFrom(p);
      q.pageAccesses = 0;
      LeafVersions passed = scratch.passed;
      passed.clear();
      for (int n = 1; ; n++) { // passed omits a leaf that leads back to itself
        passed.add(q.frame, q.version);
        long hint = boundary(descent, q, n == 1, scratch.key);
        if (hint < 0) {
          return AGAIN;
        }
        Siblings.find(descent, hint, scratch.key, true, q);
        int found = step(descent, q, out);
        if (found != NEXT_LEAF) {
          p.pageAccesses += q.pageAccesses;
          // Only the passed leaves: step() validated the last leaf after it was read.
          if (found == AGAIN || !passed.unchanged(descent.pool())) {
            return AGAIN;
          }
          p.copyFrom(q);
          if (n > 1) {
            p.gapFrame = -1;
          }
          return found;
        }
      }
    } finally {
      scratches.release(scratch);
    }
  }

  /**
   * Copies the high fence of a leaf; returns the hint to the next leaf, or -1 if the leaf changed.
   */
  private static long boundary(Descent descent, Position q, boolean first, KeyBuffer out) {
    BufferPool pool = descent.pool();
    MemorySegment s = pool.pages();
    long base = pool.base(q.frame);
    int high = BTreeNode.fenceBytes(BTreeNode.high(s, base), pool.pageSize());
    Mem.copy(s, base + pool.pageSize() - high, out.segment(), out.stage(), high);
    out.staged(high);
    long hint = BTreeNode.next(s, base) & Long.MAX_VALUE;
    if (!pool.validate(q.frame, q.version)) {
      return -1;
    }
    if (!first && out.compareStaged() <= 0) {
      throw TreeDamage.of(pool, q.pid, "order of the fences of a leaf", 1, 0);
    }
    out.publish();
    return hint;
  }
}
