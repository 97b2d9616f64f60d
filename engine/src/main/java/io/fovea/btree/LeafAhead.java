package io.fovea.btree;

import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageGroup;
import io.fovea.error.FoveaException;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;

/**
 * Has leaves at hand that a row of operations names, before it is their turn.
 *
 * <pre>
 *   operation   i ...... i+8 ............. i+16 ................... i+1024
 *               made     its slots         its header and           is it in a frame? If not, it
 *                        are loaded        fences are loaded        is read, with others
 * </pre>
 *
 * <p>One operation after the other would wait for the memory of its leaf, and for the device where
 * the page is in no frame. Here the waits of eight, and the reads of many, are one.
 *
 * <p><b>Hints.</b> Page ids come from anywhere. They go to methods of the pool that take any number
 * and read nothing of a page. What is loaded of a frame is used for nothing. {@link #place} makes
 * an unchecked position, which is looked at as any other ({@link BTree#locate}): whether the page
 * is a leaf of the tree, and its fences bracket the key.
 *
 * <p><b>Reads are advice</b> ({@link BufferPool#begin}). A page that does not come, for whatever
 * reason, is met again by the operation, on its way from the root. So few are read ahead by all
 * threads together that they have frames until their turn: an eighth of the frames at most.
 *
 * <p><b>What a named page is worth.</b> A page that is a leaf of the tree, with fences that bracket
 * the key, is the key's leaf, if it hangs on the root. Pages of a tree that do not are free, and
 * say so, but in a recovery: there the caller must not name those that were released and not freed.
 *
 * <p>Owned by one thread at a time.
 */
public final class LeafAhead {
  /** For so many operations lines are loaded together. */
  public static final int WIDTH = 8;

  private static final int GROUPS = 4;

  /** So many operations ahead pages are read at most, and at least. */
  private static final int DISTANCE_MAX = 1024;

  private static final int DISTANCE_MIN = 2 * WIDTH;

  private static final int FRAMES_PART = 8;
  private static final int LINE = 64;
  private static final int LEAF_LINES = 8;

  private final BufferPool pool;
  private final MemorySegment pages;
  private final int pageSize;
  private final int distance;
  private final int room;
  private final PageGroup[] groups = new PageGroup[GROUPS];

  private long[] leaves = {};
  private int count;

  /** Up to which operation pages were looked for. */
  private int looked;

  /** The page that was looked for last. */
  private long last;

  /** The group that is being filled, and for which operation its first page was added. */
  private int group;

  private int oldest;

  /** Whether the device takes nothing: the operations will say so. */
  private boolean off;

  private long read;

  /** What was loaded, so that the loads have a use. */
  private long sink;

  /**
   * Knows no operations yet.
   *
   * @param pool that of all leaves
   * @param threads how many threads do the same at the same time
   */
  public LeafAhead(BufferPool pool, int threads) {
    this.pool = pool;
    this.pages = pool.pages();
    this.pageSize = pool.pageSize();
    this.distance =
        Math.clamp(pool.capacity() / (FRAMES_PART * (long) threads), DISTANCE_MIN, DISTANCE_MAX);
    this.room = Math.clamp(pool.groupMax(), 1, PageGroup.CAPACITY);
    for (int i = 0; i < GROUPS; i++) {
      groups[i] = new PageGroup();
    }
  }

  /**
   * Begins with a row of operations.
   *
   * @param named the page of each one's leaf, 0 where it is not known; stays as it is until the end
   *     of the row
   * @param n how many there are
   */
  public void begin(long[] named, int n) {
    leaves = named;
    count = n;
    looked = 0;
    last = 0;
  }

  /**
   * An operation's turn comes: to be called for each, in order.
   *
   * @param i its number, from 0
   */
  public void at(int i) {
    if ((i & WIDTH - 1) == 0) {
      next(i);
    }
  }

  private void next(int i) {
    look(i);
    long seen = i == 0 ? touchPages(0, WIDTH) : 0;
    seen += touchSlots(i, i + WIDTH);
    seen += touchPages(i + WIDTH, i + 2 * WIDTH);
    sink = seen;
  }

  // ---------------------------------------------------------------------------------------- pages

  /** Looks which pages are in no frame that operations will need soon, and has them read. */
  private void look(int i) {
    int to = off ? 0 : Math.min(count, i + distance);
    for (; looked < to; looked++) {
      long pid = leaves[looked];
      if (pid != 0 && pid != last) {
        last = pid;
        if (pool.pid(pool.predict(pid)) != pid && pool.resident(pid) < 0) {
          want(pid);
        }
      }
    }
    if (groups[group].size() > 0 && oldest < i + distance - distance / 4) {
      hand();
    }
  }

  private void want(long pid) {
    PageGroup g = groups[group];
    if (g.size() == 0) {
      oldest = looked;
    }
    g.add(pid);
    if (g.size() == room) {
      hand();
    }
  }

  /** Has the group read that was filled, and goes on with the next when that has come. */
  private void hand() {
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

  /** Of each leaf the first two lines and the last one, with its header, slots and fences. */
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

  /** Of each leaf the lines of its slots. */
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
   * Where the leaf of an operation is expected, if it is there; else -1, as where the operation
   * before it, from one on, has named the same.
   */
  private long page(int i, int from) {
    long pid = leaves[i];
    if (pid == 0 || i > from && leaves[i - 1] == pid) {
      return -1;
    }
    int frame = pool.predict(pid);
    return pool.pid(frame) == pid ? pool.base(frame) : -1;
  }

  // --------------------------------------------------------------------------------------- places

  /**
   * Puts a position on a page, as an unchecked hint for {@link BTree#locate}.
   *
   * @param leaf the page
   * @param p out: the position
   */
  public void place(long leaf, Position p) {
    int frame = pool.predict(leaf);
    if (pool.pid(frame) != leaf) {
      int there = pool.resident(leaf);
      frame = there < 0 ? frame : there;
    }
    p.set(frame, BufferPool.RESTART, leaf, 0, false);
  }

  /**
   * How many pages were in no frame, and were to be read.
   *
   * @return since it was made
   */
  public long read() {
    return read;
  }

  /** Waits for what is being read. Nothing is thrown. */
  public void finish() {
    count = 0;
    for (PageGroup g : groups) {
      g.clear();
    }
  }
}
