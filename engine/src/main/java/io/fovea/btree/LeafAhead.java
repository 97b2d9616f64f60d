package io.fovea.btree;

import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageGroup;
import io.fovea.error.FoveaException;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;

/**
 * Loads the leaves of a sequence of operations ahead of their use.
 *
 * <pre>
 *   operation   i ...... i+8 ............. i+16 ................... i+1024
 *               run      its slots         its header and           not resident: read
 *                        are loaded        fences are loaded        together with others
 * </pre>
 *
 * <p>Executed one after another, operations would each wait for memory, and for the device if the
 * page is not resident. Here the waits of eight operations, and the reads of many, overlap.
 *
 * <p><b>Hints.</b> Page ids may be anything. They are passed only to pool methods that accept any
 * number and read no page content. Prefetched bytes are not used. {@link #hint} makes an unchecked
 * position, which {@link BTree#locate} checks like any other: the page must be a leaf of the tree
 * whose fences bracket the key.
 *
 * <p><b>Reads are advisory</b> ({@link BufferPool#begin}). If a page does not arrive, the operation
 * finds it from the root. All threads together read ahead at most an eighth of the frames, so that
 * pages stay until they are used.
 *
 * <p><b>Precondition.</b> A leaf of the tree whose fences bracket the key is the key's leaf if it
 * is reachable from the root. Unreachable pages of a tree are typed as free, except during
 * recovery: there the caller must not name pages that were released but not yet freed.
 *
 * <p>Owned by one thread at a time.
 */
public final class LeafAhead {
  /** The number of operations whose lines are loaded together. */
  public static final int WIDTH = 8;

  private static final int GROUPS = 4;

  /** Bounds of the distance, in operations, at which pages are read. */
  private static final int DISTANCE_MAX = 1024;

  private static final int DISTANCE_MIN = 2 * WIDTH;

  private static final int FRAMES_PART = 8;
  private static final int LINE = 64;
  private static final int LEAF_LINES = 8;

  private final BufferPool pool;
  private final MemorySegment pages;
  private final int pageSize;
  private final int distance;
  private final int groupMax;
  private final PageGroup[] groups = new PageGroup[GROUPS];

  private long[] leaves = {};
  private int count;

  /** The operations up to here were checked for missing pages. */
  private int checked;

  /** The page that was checked last. */
  private long last;

  /** The group being filled, and the operation of its first page. */
  private int group;

  private int oldest;

  /** Whether reading ahead failed: the operations will report the error. */
  private boolean off;

  private long read;

  /** Keeps the loads from being optimized away. */
  private long sink;

  /** Creates an instance for a pool on which {@code threads} threads read ahead concurrently. */
  public LeafAhead(BufferPool pool, int threads) {
    this.pool = pool;
    this.pages = pool.pages();
    this.pageSize = pool.pageSize();
    this.distance =
        Math.clamp(pool.capacity() / (FRAMES_PART * (long) threads), DISTANCE_MIN, DISTANCE_MAX);
    this.groupMax = Math.clamp(pool.groupMax(), 1, PageGroup.CAPACITY);
    for (int i = 0; i < GROUPS; i++) {
      groups[i] = new PageGroup();
    }
  }

  /**
   * Starts a sequence of operations. Each of the first {@code n} elements is the page of that
   * operation's leaf, or 0. They must not change until the sequence ends.
   */
  public void begin(long[] named, int n) {
    leaves = named;
    count = n;
    checked = 0;
    last = 0;
  }

  /** Must be called before each operation {@code i}, in order from 0. */
  public void at(int i) {
    if ((i & WIDTH - 1) == 0) {
      next(i);
    }
  }

  private void next(int i) {
    readMissing(i);
    long seen = i == 0 ? touchPages(0, WIDTH) : 0;
    seen += touchSlots(i, i + WIDTH);
    seen += touchPages(i + WIDTH, i + 2 * WIDTH);
    sink = seen;
  }

  // ---------------------------------------------------------------------------------------- pages

  /** Reads the pages of the next operations that are not resident. */
  private void readMissing(int i) {
    int to = off ? 0 : Math.min(count, i + distance);
    for (; checked < to; checked++) {
      long pid = leaves[checked];
      if (pid != 0 && pid != last) {
        last = pid;
        if (pool.pid(pool.predict(pid)) != pid && pool.resident(pid) < 0) {
          request(pid);
        }
      }
    }
    if (groups[group].size() > 0 && oldest < i + distance - distance / 4) {
      submitGroup();
    }
  }

  private void request(long pid) {
    PageGroup g = groups[group];
    if (g.size() == 0) {
      oldest = checked;
    }
    g.add(pid);
    if (g.size() == groupMax) {
      submitGroup();
    }
  }

  /**
   * Starts the reads of the current group, waits for earlier reads of the next group, and moves to
   * it.
   */
  private void submitGroup() {
    try {
      read += groups[group].size();
      pool.begin(groups[group], true);
      group = (group + 1) % GROUPS;
      groups[group].clear();
    } catch (FoveaException e) {
      off = true;
      groups[group].clear();
    }
  }

  // ---------------------------------------------------------------------------------------- lines

  /** Loads the first two lines and the last one of each leaf: header, slots and fences. */
  private long touchPages(int from, int end) {
    long seen = 0;
    for (int i = from, to = Math.min(end, count); i < to; i++) {
      long base = page(i, from);
      if (base >= 0) {
        seen +=
            Mem.peekLong(pages, base)
                + Mem.peekLong(pages, base + LINE)
                + Mem.peekLong(pages, base + pageSize - Long.BYTES);
      }
    }
    return seen;
  }

  /** Loads the slots of each leaf. */
  private long touchSlots(int from, int end) {
    long seen = 0;
    for (int i = from, to = Math.min(end, count); i < to; i++) {
      long base = page(i, from);
      if (base >= 0) {
        int lines =
            Math.min(LEAF_LINES, BTreeNode.leafCount(pages, base, pageSize) + WIDTH - 1 >>> 3);
        for (int line = 1; line < lines; line++) {
          seen += Mem.peekLong(pages, base + BTreeNode.LEAF_SLOTS + (long) line * LINE);
        }
      }
    }
    return seen;
  }

  /**
   * Returns the address of an operation's page if it is in its preferred frame and not the previous
   * one; else -1.
   */
  private long page(int i, int from) {
    long pid = leaves[i];
    if (pid == 0 || i > from && leaves[i - 1] == pid) {
      return -1;
    }
    int frame = pool.predict(pid);
    return pool.pid(frame) == pid ? pool.base(frame) : -1;
  }

  // ------------------------------------------------------------------------------------- positions

  /** Sets a position to a page, as an unchecked hint for {@link BTree#locate}. */
  public void hint(long leaf, Position p) {
    int frame = pool.predict(leaf);
    if (pool.pid(frame) != leaf) {
      int resident = pool.resident(leaf);
      frame = resident < 0 ? frame : resident;
    }
    p.set(frame, BufferPool.RESTART, leaf, 0, false);
  }

  /** Returns the number of pages that were not resident and were requested, in total. */
  public long read() {
    return read;
  }

  /** Waits for all reads. Throws nothing. */
  public void finish() {
    count = 0;
    for (PageGroup g : groups) {
      g.clear();
    }
  }
}
