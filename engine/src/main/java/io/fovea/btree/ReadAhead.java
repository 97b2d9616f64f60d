package io.fovea.btree;

import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageGroup;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Moves a scan from leaf to leaf: by the sibling hint if that page is resident, else through the
 * parent, whose next children are read together.
 *
 * <pre>
 *   parent   ...  c3   c4   c5   c6   c7   c8  ...
 *                 │    ▲    └────┴────┘
 *   scan left ────┘    └ wanted: not resident; read with the ones the scan needs next
 *
 *   consecutive misses    1   2   3   4   5   6 ...
 *   leaves in the batch   1   2   4   8  16  32 ...      resident beyond the last batch: from 1 again
 * </pre>
 *
 * <p>A scan of two leaves reads nothing that it does not need, and a scan of a hundred leaves waits
 * eight times. If leaves of the last batch were evicted before the scan reached them, the next
 * batch is half as large. A batch ends with the parent.
 *
 * <p>A scan larger than the pool must not empty it. So its first leaf counts as used, but leaves
 * that it only passes do not, whether resident or read, and are evicted first.
 *
 * <p>No latch is held during reads. The scan waits for each batch, and finds the pages later by the
 * usual hints.
 *
 * <p>Owned by one thread at a time.
 */
final class ReadAhead {
  private static final int LEAVES_MAX = 32;
  private static final int TRIES = 3;

  private final Position parent = new Position();

  /** Allocated at the first missing leaf; most scans of resident data have none. */
  private @Nullable PageGroup group;

  /** The number of leaves in the last batch, or 0. */
  private int window;

  /** The number of leaves in the last batch that the scan has yet to reach. */
  private int coming;

  /** The child after the boundary; set by {@link #children}. */
  private long wanted;

  void clear() {
    window = 0;
    coming = 0;
  }

  /** Finds the leaf after a boundary, like {@link Siblings#find}. */
  void find(Descent descent, long hint, KeyBuffer boundary, boolean forward, Position q) {
    if (hint != 0 && Siblings.check(descent, hint, boundary, forward, true, q)) {
      countResident();
    } else if (!throughParent(descent, boundary, forward, q)) {
      descent.descendTo(boundary.segment(), 0, boundary.length(), forward, 0, q);
    }
  }

  /** The next leaf is resident: part of the batch, or the scan has reached resident pages. */
  private void countResident() {
    if (coming > 0) {
      coming--;
    } else {
      window = 0;
    }
  }

  /** Returns the number of leaves to read if the next one is not resident. */
  private int missing(BufferPool pool) {
    int next = coming > 0 ? window >> 1 : 2 * window;
    return Math.max(1, Math.min(next, Math.min(LEAVES_MAX, pool.groupMax())));
  }

  /** Returns false if writers keep interfering, or the root is a leaf. */
  private boolean throughParent(Descent descent, KeyBuffer boundary, boolean forward, Position q) {
    BufferPool pool = descent.pool();
    PageGroup g = group;
    if (g == null) {
      g = new PageGroup();
      group = g;
    }
    int leaves = missing(pool);
    boolean asked = false;
    for (int i = 0; i < TRIES; i++) {
      descent.descendTo(boundary.segment(), 0, boundary.length(), forward, 1, parent);
      q.pageAccesses += parent.pageAccesses;
      parent.pageAccesses = 0;
      if (parent.frame < 0) {
        return false;
      }
      if (!children(descent, forward, leaves, g)) {
        continue;
      }
      descent.requirePage(parent.pid, wanted);
      // The parent may change during the read; the next attempt finds the leaf resident.
      if (!asked) {
        asked = true;
        readGroup(pool, leaves, g);
      }
      if (arrive(descent, boundary, q)) {
        return true;
      }
    }
    return false;
  }

  private void readGroup(BufferPool pool, int leaves, PageGroup g) {
    if (pool.resident(wanted) >= 0) {
      countResident();
      return;
    }
    pool.begin(g, false);
    g.await();
    window = leaves;
    coming = g.size() - 1;
  }

  /** Lists the children starting at the wanted one; false if the parent has changed. */
  private boolean children(Descent descent, boolean forward, int n, PageGroup g) {
    Position p = parent;
    BufferPool pool = descent.pool();
    MemorySegment s = pool.pages();
    long base = pool.base(p.frame);
    // An inner node has one more child than entries.
    int count = BTreeNode.innerCount(s, base, pool.pageSize());
    int first = Math.min(p.slot, count);
    int last = forward ? Math.min(first + n - 1, count) : Math.max(first - n + 1, 0);
    wanted = BTreeNode.child(s, base, first);
    g.clear();
    for (int slot = first; forward ? slot <= last : slot >= last; slot += forward ? 1 : -1) {
      g.add(BTreeNode.child(s, base, slot));
    }
    return pool.validate(p.frame, p.version);
  }

  /** Moves from the parent to the leaf, as a descent does; false if a writer interfered. */
  private boolean arrive(Descent descent, KeyBuffer boundary, Position q) {
    BufferPool pool = descent.pool();
    long pid = wanted;
    int frame = pool.findQuietly(pid);
    long version = pool.optimisticUncounted(frame, pid);
    // Parent validated after the child's version was read: it then still named this child.
    if (version == BufferPool.RESTART || !pool.validate(parent.frame, parent.version)) {
      return false;
    }
    try {
      long base = pool.base(frame);
      if (!BTreeNode.isLeaf(pool.pages(), base)) {
        return false;
      }
      q.pageAccesses++;
      int found =
          NodeSearch.searchLeaf(
              pool.pages(), base, pool.pageSize(), boundary.segment(), 0, boundary.length());
      q.set(frame, version, pid, found >>> 1, (found & 1) != 0);
      return pool.validate(frame, version);
    } catch (IndexOutOfBoundsException e) {
      TreeDamage.requireTorn(
          pool, frame, version, pid, boundary.segment(), 0, boundary.length(), e);
      return false;
    }
  }
}
