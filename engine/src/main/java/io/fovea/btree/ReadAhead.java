package io.fovea.btree;

import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageGroup;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * How a scan gets from leaf to leaf: by the sibling's hint where that is in memory, else through
 * the parent, whose next children are read together.
 *
 * <pre>
 *   parent   ...  c3   c4   c5   c6   c7   c8  ...
 *                 │    ▲    └────┴────┘
 *   scan left ────┘    └ wanted: in no frame; read with it, while the scan goes on to need them
 *
 *   misses in a row       1   2   3   4   5   6 ...
 *   leaves in the batch   1   2   4   8  16  32 ...      resident beyond the last batch: from 1 again
 * </pre>
 *
 * <p>A scan of two leaves reads nothing that it does not need, and one of a hundred waits eight
 * times. Where leaves of the last batch are gone again before the scan comes to them, the next
 * batch is half as large: there is no room for more. A batch ends with the parent.
 *
 * <p><b>Passing by.</b> A scan that is larger than the pool must not empty it. The leaf that it
 * begins with counts as used, for that is looked for; those that it only passes do not, whether
 * they were there or are brought in. So the clock takes them first.
 *
 * <p>The scan holds no latch while pages are read, and remembers nothing of them: what is in memory
 * when it gets there is found as ever, by the hint. It waits for each batch; it need not, and could
 * work on the leaves before meanwhile: docs/internals/buffer-pool.md.
 *
 * <p>Owned by one thread at a time.
 */
final class ReadAhead {
  private static final int LEAVES_MAX = 32;
  private static final int TRIES = 3;

  private final Position parent = new Position();

  /** Made with the first leaf that is missing: most scans of data that is in memory have none. */
  private @Nullable PageGroup group;

  /** How many leaves the last batch was made for, 0 for none. */
  private int window;

  /** How many of them are still to come. */
  private int coming;

  /** The child that follows the boundary: out of {@link #children}. */
  private long wanted;

  /** A scan begins. */
  void clear() {
    window = 0;
    coming = 0;
  }

  /**
   * Finds the leaf that follows a boundary, as {@link Siblings#find} does.
   *
   * @param hint the page that is probably it, or 0
   * @param boundary the fence between the leaf and the one that was left
   * @param forward whether the leaf above the boundary is meant, or the one that ends with it
   * @param q out: the leaf, and the first slot in it whose key is not below the boundary
   */
  void find(Descent descent, long hint, KeyBuffer boundary, boolean forward, Position q) {
    if (hint != 0 && Siblings.check(descent, hint, boundary, forward, true, q)) {
      present();
    } else if (!throughParent(descent, boundary, forward, q)) {
      descent.descendTo(boundary.segment(), 0, boundary.length(), forward, 0, q);
    }
  }

  /** The next leaf is in memory: as was to be expected, or else the scan has caught up. */
  private void present() {
    if (coming > 0) {
      coming--;
    } else {
      window = 0;
    }
  }

  /** The next leaf is in no frame: how many to read. */
  private int missing(BufferPool pool) {
    int next = coming > 0 ? window >> 1 : 2 * window;
    return Math.max(1, Math.min(next, Math.min(LEAVES_MAX, pool.groupMax())));
  }

  /** False where a writer interfered again and again, or the root is a leaf. */
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
      // The parent may change while the device reads; then the leaf is there at the second try.
      if (!asked) {
        asked = true;
        bring(pool, leaves, g);
      }
      if (arrive(descent, boundary, q)) {
        return true;
      }
    }
    return false;
  }

  private void bring(BufferPool pool, int leaves, PageGroup g) {
    if (pool.resident(wanted) >= 0) {
      present();
      return;
    }
    pool.begin(g, false);
    g.await();
    window = leaves;
    coming = g.size() - 1;
  }

  /** Lists the children from the one that is wanted on; false if the parent has changed. */
  private boolean children(Descent descent, boolean forward, int n, PageGroup g) {
    Position p = parent;
    BufferPool pool = descent.pool();
    MemorySegment s = pool.pages();
    long base = pool.base(p.frame);
    // An inner node has one child more than entries.
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

  /** Goes from the parent to the leaf, as a descent does; false if a writer interfered. */
  private boolean arrive(Descent descent, KeyBuffer boundary, Position q) {
    BufferPool pool = descent.pool();
    long pid = wanted;
    int frame = pool.findQuietly(pid);
    long version = pool.glance(frame, pid);
    // The parent after the child's version: it still named this child then.
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
