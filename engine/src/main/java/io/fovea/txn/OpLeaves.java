package io.fovea.txn;

import java.lang.foreign.MemorySegment;

/**
 * Which leaf each operation of a commit names in the log ({@link LeafCode}): the one where its key
 * was seen last, or was missed. Nothing is looked for: where a transaction knows no place, the
 * operation names none.
 *
 * <pre>
 *   begin()      bytes(e) for each operation      the record is measured
 *   begin()      put(e)   for each operation      and put: what is said is the same again
 * </pre>
 *
 * <p><b>The same twice.</b> The places of reads and writes are the thread's own, and nothing is
 * read between the two. So the second time says what the first has measured.
 *
 * <p><b>What it is worth.</b> The changes come into the trees behind the record, so a leaf may be
 * split by this very commit, and what was read may have moved since. Recovery looks at the page
 * before it believes any of it.
 */
final class OpLeaves {
  private final Workspace work;
  private final WriteSet writes;

  /** The last leaf that was said. */
  private long before;

  /** Where the last key belongs that is to appear: keys that follow it are missed there, too. */
  private long missed;

  OpLeaves(Workspace work) {
    this.work = work;
    this.writes = work.writes;
  }

  /** A record begins. */
  void begin() {
    before = 0;
    missed = 0;
  }

  /** How many bytes an operation of an entry takes for its leaf. */
  int bytes(int e) {
    long leaf = leaf(e);
    int bytes = LeafCode.bytes(leaf, before);
    said(leaf);
    return bytes;
  }

  /**
   * Completes an operation of an entry.
   *
   * @param op where it begins
   * @param end where it ends without its leaf
   * @return where what follows goes
   */
  long put(MemorySegment to, long op, long end, int e) {
    long leaf = leaf(e);
    long next = LeafCode.put(to, op, end, leaf, before);
    said(leaf);
    return next;
  }

  private void said(long leaf) {
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
