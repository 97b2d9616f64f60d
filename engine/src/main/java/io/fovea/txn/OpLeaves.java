package io.fovea.txn;

import java.lang.foreign.MemorySegment;

/**
 * Determines the leaf that each operation of a commit names in the log ({@link LeafCode}): the one
 * where its key was last seen or missed, if the transaction knows it.
 *
 * <pre>
 *   begin()      bytes(e) for each operation      measures the record
 *   begin()      put(e)   for each operation      writes the same leaves
 * </pre>
 *
 * <p>Both passes give the same result, because the remembered locations belong to the thread and
 * nothing is read in between. The leaf may be split by this very commit; recovery checks the page.
 */
final class OpLeaves {
  private final Workspace work;
  private final WriteSet writes;

  /** The last leaf that was named. */
  private long before;

  /** The leaf of the last key to appear, where the following keys are missing, too. */
  private long missed;

  OpLeaves(Workspace work) {
    this.work = work;
    this.writes = work.writes;
  }

  void begin() {
    before = 0;
    missed = 0;
  }

  int bytes(int e) {
    long leaf = leaf(e);
    int bytes = LeafCode.bytes(leaf, before);
    setPrevious(leaf);
    return bytes;
  }

  /** Adds the leaf to an operation from {@code op} to {@code end}; returns the new end. */
  long put(MemorySegment to, long op, long end, int e) {
    long leaf = leaf(e);
    long next = LeafCode.put(to, op, end, leaf, before);
    setPrevious(leaf);
    return next;
  }

  private void setPrevious(long leaf) {
    if (leaf != 0) {
      before = leaf;
    }
  }

  private long leaf(int e) {
    long leaf = LeafCode.known(work.leaf(e));
    if (leaf == 0) {
      return writes.follows(e) ? missed : 0;
    }
    if (writes.existed(e) == WriteSet.ABSENT) {
      missed = leaf;
    }
    return leaf;
  }
}
