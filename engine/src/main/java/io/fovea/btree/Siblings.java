package io.fovea.btree;

import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageHeader;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;

/**
 * Moves from leaf to leaf by a checked hint.
 *
 * <p>The page that a leaf names as its sibling is the sibling if it is a leaf of the same tree and
 * the fences meet: then its keys are the next ones, whatever happened to the leaf meanwhile.
 * Otherwise, or if the page is not resident, a descent with the fence as key finds it; a hint is
 * not worth an I/O. Scans use {@link ReadAhead} instead.
 */
final class Siblings {
  private Siblings() {}

  /**
   * Finds the leaf above a boundary or, if {@code forward} is false, the leaf that ends with it,
   * and the first slot whose key is not below the boundary. The hint is its probable page, or 0.
   */
  static void find(Descent descent, long hint, KeyBuffer boundary, boolean forward, Position q) {
    if (hint == 0 || !check(descent, hint, boundary, forward, false, q)) {
      descent.descendTo(boundary.segment(), 0, boundary.length(), forward, 0, q);
    }
  }

  /**
   * Prefetches the lines that {@link #check} reads first; the result only keeps the loads alive.
   */
  static long touch(BufferPool pool, long pid) {
    int frame = pool.predict(pid);
    if (pool.optimisticUncounted(frame, pid) == BufferPool.RESTART) {
      return 0;
    }
    long base = pool.base(frame);
    return Mem.peekLongOpaque(pool.pages(), base)
        + Mem.peekLongOpaque(pool.pages(), base + pool.pageSize() - Long.BYTES);
  }

  /**
   * Checks whether a page is the leaf, without waiting. With {@code quietly} the leaf is only
   * passed: it does not count as used, and it is also looked up outside its predicted frame, since
   * a descent would not promote it.
   */
  static boolean check(
      Descent descent, long pid, KeyBuffer boundary, boolean forward, boolean quietly, Position q) {
    BufferPool pool = descent.pool();
    MemorySegment s = pool.pages();
    int pageSize = pool.pageSize();
    int frame = pool.predict(pid);
    long version = quietly ? pool.optimisticUncounted(frame, pid) : pool.optimistic(frame, pid);
    if (version == BufferPool.RESTART && quietly) {
      frame = pool.resident(pid);
      version = frame < 0 ? BufferPool.RESTART : pool.optimisticUncounted(frame, pid);
    }
    if (version == BufferPool.RESTART) {
      return false;
    }
    long base = pool.base(frame);
    try {
      if (!BTreeNode.isLeaf(s, base) || PageHeader.treeId(s, base) != descent.treeId()) {
        return false;
      }
      int fence = forward ? BTreeNode.low(s, base) : BTreeNode.high(s, base);
      int at = forward ? BTreeNode.lowAt(s, base, pageSize) : BTreeNode.highAt(s, base, pageSize);
      // NONE is longer than any key.
      if (fence != boundary.length()
          || !Mem.equal(s, base + at, fence, boundary.segment(), 0, fence)) {
        return false;
      }
      q.pageAccesses++;
      int found =
          forward
              ? 0
              : NodeSearch.searchLeaf(s, base, pageSize, boundary.segment(), 0, boundary.length());
      q.set(frame, version, pid, found >>> 1, (found & 1) != 0);
      return pool.validate(frame, version);
    } catch (IndexOutOfBoundsException e) {
      TreeDamage.requireTorn(
          pool, frame, version, pid, boundary.segment(), 0, boundary.length(), e);
      return false;
    }
  }
}
