package io.fovea.btree;

import io.fovea.buffer.BufferPool;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;

/**
 * Goes down a tree for several keys at once, level by level, and fetches nothing but hints.
 *
 * <pre>
 *   add(key) ... add(key)            up to WIDTH keys
 *   descend(tree)                    level 0: search all, touch all children, and slots of leaves
 *                                    level 1: search all, touch all children, and slots of leaves
 *                                    leaves:  search all, touch all values
 *   tree.locate(key, place(i))       checks the hint: the ordinary protocol, on warm lines
 * </pre>
 *
 * One descent is a chain of cache misses, each of which must end before the next can begin. The
 * descents of different keys do not depend on each other, but an ordinary loop over them does not
 * overlap their misses either: the search of one node fills the reorder buffer. So the loads that
 * miss are put together, a handful for each key and no search in between, and the searches come
 * after them.
 *
 * <p>Nothing is validated on the way and nothing needs to be: what comes out is a guess, and {@link
 * BTree#locate} checks a guess whatever it is. A torn page may lead astray or out of bounds; then
 * there is no hint, and the key is looked for from the root. A page that is not where it is guessed
 * ends the way of its key too: lookahead never waits and never reads from the device.
 *
 * <p>Owned by one thread at a time. Groups of eight are what the papers on interleaved lookups use
 * (Kocberber et al., VLDB 2015) and what fills the ten to sixteen outstanding misses of a core.
 *
 * @since 0.1.0
 */
public final class Lookahead {
  /** How many keys go down together. */
  public static final int WIDTH = 8;

  private static final int LINE = 64;
  private static final int LEAF_LINES = 8;
  private static final int VALUE_LINES = 5;
  private static final int DEPTH_MAX = 16;

  private final MemorySegment[] keys = new MemorySegment[WIDTH];
  private final long[] offsets = new long[WIDTH];
  private final int[] lengths = new int[WIDTH];
  private final Position[] places = new Position[WIDTH];
  private final long[] values = new long[WIDTH];
  private int size;

  /** What was touched, so that the loads have a use. */
  private long sink;

  /** Makes an empty one. */
  public Lookahead() {
    for (int i = 0; i < WIDTH; i++) {
      places[i] = new Position();
    }
  }

  /** Forgets all keys. */
  public void clear() {
    size = 0;
  }

  /**
   * Adds a key, which stays where it is.
   *
   * @param key where it is; native memory
   * @param off where it begins
   * @param len how long it is
   */
  public void add(MemorySegment key, long off, int len) {
    keys[size] = key;
    offsets[size] = off;
    lengths[size] = len;
    size++;
  }

  /**
   * Where the key that was added as number {@code i} may be.
   *
   * @param i from 0
   * @return a hint for {@link BTree#locate}; the next {@link #descend} overwrites it
   */
  public Position place(int i) {
    return places[i];
  }

  /**
   * Goes down for all keys.
   *
   * @param tree in which they are looked for
   */
  public void descend(BTree tree) {
    BufferPool pool = tree.pool();
    int n = size;
    tree.beginAt(places, n);
    try {
      for (int depth = 0; depth < DEPTH_MAX && step(tree, pool, n); depth++) {
        touchNodes(pool, n);
        touchSlots(pool, n);
      }
      touchValues(pool, n);
    } catch (IndexOutOfBoundsException torn) {
      for (int i = 0; i < n; i++) {
        places[i].clear();
      }
    }
  }

  /** Searches each node; true while there are inner ones. */
  private boolean step(BTree tree, BufferPool pool, int n) {
    MemorySegment s = pool.pages();
    int pageSize = pool.pageSize();
    boolean inner = false;
    for (int i = 0; i < n; i++) {
      Position p = places[i];
      if (p.frame < 0 || p.version != BufferPool.RESTART) {
        continue; // led astray, or there
      }
      long version = pool.optimistic(p.frame, p.pid);
      if (version == BufferPool.RESTART) {
        p.clear();
        continue;
      }
      p.pageAccesses++;
      long base = pool.base(p.frame);
      if (BTreeNode.isInner(s, base)) {
        int found = BTreeNode.searchInner(s, base, pageSize, keys[i], offsets[i], lengths[i]);
        p.pid = BTreeNode.child(s, base, found >>> 1);
        p.frame = pool.guess(p.pid);
        inner = true;
      } else if (BTreeNode.isLeaf(s, base)) {
        int found = BTreeNode.searchLeaf(s, base, pageSize, keys[i], offsets[i], lengths[i]);
        p.version = version;
        p.slot = found >>> 1;
        p.found = (found & 1) != 0;
        values[i] =
            p.found ? BTreeNode.valueAt(base, pageSize, BTreeNode.leafSlot(s, base, p.slot)) : base;
      } else {
        p.clear();
      }
    }
    return inner;
  }

  private void touchNodes(BufferPool pool, int n) {
    MemorySegment s = pool.pages();
    long seen = 0;
    for (int i = 0; i < n; i++) {
      Position p = places[i];
      if (p.frame >= 0 && p.version == BufferPool.RESTART) {
        seen += pool.pid(p.frame);
        long base = pool.base(p.frame);
        seen += Mem.peekLong(s, base) + Mem.peekLong(s, base + LINE);
      }
    }
    sink = seen;
  }

  /**
   * The lines that the search will halve: of a leaf all slots, of an inner node what heads leave.
   */
  private void touchSlots(BufferPool pool, int n) {
    MemorySegment s = pool.pages();
    int pageSize = pool.pageSize();
    long seen = 0;
    for (int i = 0; i < n; i++) {
      Position p = places[i];
      if (p.frame >= 0 && p.version == BufferPool.RESTART) {
        long base = pool.base(p.frame);
        if (BTreeNode.isLeaf(s, base)) {
          int lines = Math.min(LEAF_LINES, BTreeNode.leafCount(s, base, pageSize) + 7 >>> 3);
          for (int line = 0; line < lines; line++) {
            seen += Mem.peekLong(s, base + BTreeNode.LEAF_SLOTS + (long) line * LINE);
          }
        }
      }
    }
    sink += seen;
  }

  private void touchValues(BufferPool pool, int n) {
    MemorySegment s = pool.pages();
    long last = s.byteSize() - Long.BYTES;
    long seen = 0;
    for (int i = 0; i < n; i++) {
      Position p = places[i];
      if (p.frame >= 0 && p.found) {
        for (int line = 0; line < VALUE_LINES; line++) {
          seen += Mem.peekLong(s, Math.min(last, values[i] + (long) line * LINE));
        }
      }
    }
    sink += seen;
  }

  /**
   * Pages that were looked at since this was last asked.
   *
   * @return a count; it is set back to 0
   */
  public long takePageAccesses() {
    long sum = 0;
    for (Position p : places) {
      sum += p.pageAccesses;
      p.pageAccesses = 0;
    }
    return sum;
  }
}
