package io.fovea.btree;

import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageRef;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/**
 * Goes down a tree for several keys at once, level by level, and fetches nothing but hints.
 *
 * <pre>
 *   add(key, number) ... add         up to WIDTH keys
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
 * ends the way of its key too: going down never waits and never reads from the device.
 *
 * <pre>
 *   putAside(i)                      the way of a key ended at a page that is in no frame, or on
 *                                    its way into one
 *   launch(tree)                     has the pages read of all keys that were put aside, at once
 *   again(tree)                      waits for the reads before those, and goes on for up to WIDTH
 *                                    keys, each from its page
 *   number(i), place(i)              whose turn it is, and where it may be
 *
 *   put aside ──launch──► under way: three waves ──launch──► landed ──again──► read, or put aside
 *                                                                              once more
 * </pre>
 *
 * <p>So some sixty reads at most are under way, and most of them still are while the keys of a wave
 * that has landed are looked at: a device that has a queue sees it filled all the time. Who must
 * wait for a page on the way, because another thread is bringing it, may do so: reads come to their
 * end without the thread that began them.
 *
 * <p>Where nothing is missing none of these costs anything but the question. A key whose way ends
 * once more is put aside once more; after some rounds the caller looks for it as for any other key,
 * which waits, and says what is wrong with the page.
 *
 * <p>Owned by one thread at a time. Groups of eight are what the papers on interleaved lookups use
 * (Kocberber et al., VLDB 2015) and what fills the ten to sixteen outstanding misses of a core.
 *
 * @since 0.1.0
 */
public final class Lookahead {
  /** How many keys go down together. */
  public static final int WIDTH = 8;

  /** Waves of reads under way while the keys of another one are looked at. */
  private static final int UNDER_WAY = 3;

  private static final int LINE = 64;
  private static final int LEAF_LINES = 8;
  private static final int VALUE_LINES = 5;
  private static final int DEPTH_MAX = 16;

  /**
   * After so many reads for a key that is still not found it is looked for as any other: more than
   * a tree has levels, so that only pages that go as fast as they come get there.
   */
  public static final int ROUNDS_MAX = 8;

  private final MemorySegment[] keys = new MemorySegment[WIDTH];
  private final long[] offsets = new long[WIDTH];
  private final int[] lengths = new int[WIDTH];
  private final Position[] places = new Position[WIDTH];
  private final long[] values = new long[WIDTH];
  private int size;

  /** The page that was in no frame and ended the way of a key; 0 for none. Never validated. */
  private final long[] missing = new long[WIDTH];

  private final int[] numbers = new int[WIDTH];

  private final int[] rounds = new int[WIDTH];
  private Wave filling = new Wave();
  private Wave landed = new Wave();

  /** A ring: the oldest one is at {@link #oldest}. Those that are empty have no reads. */
  private final Wave[] underWay = new Wave[UNDER_WAY];

  private int oldest;

  /** What was touched, so that the loads have a use. */
  private long sink;

  /** Makes an empty one. */
  public Lookahead() {
    for (int i = 0; i < WIDTH; i++) {
      places[i] = new Position();
    }
    for (int i = 0; i < UNDER_WAY; i++) {
      underWay[i] = new Wave();
    }
  }

  /** Forgets all keys, but those that were put aside. */
  public void clear() {
    size = 0;
  }

  /** Forgets all keys, and those that were put aside too. */
  public void clearAll() {
    size = 0;
    filling.clear();
    landed.clear();
    for (Wave wave : underWay) {
      wave.clear();
    }
  }

  /**
   * Adds a key, which stays where it is.
   *
   * @param key where it is; native memory
   * @param off where it begins
   * @param len how long it is
   * @param number what {@link #number} shall say of it
   */
  public void add(MemorySegment key, long off, int len, int number) {
    keys[size] = key;
    offsets[size] = off;
    lengths[size] = len;
    numbers[size] = number;
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
    Arrays.fill(missing, 0);
    Arrays.fill(rounds, 0);
    tree.beginAt(places, size);
    descendOn(tree);
  }

  /** Goes on from where the positions stand: all searches of a level, then all its loads. */
  private void descendOn(BTree tree) {
    BufferPool pool = tree.pool();
    int n = size;
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

  // ----------------------------------------------------------------- keys whose page is missing

  /**
   * Puts a key aside if its way ended at a page that is in no frame, or not yet: there is no hint
   * for it, and to look for it now would be to wait for that page alone.
   *
   * @param i the key, as it was added, or the place in what {@link #again} has taken
   * @return false if nothing is missing: the key can be looked for at its {@link #place}; or too
   *     much, and it is to be looked for as any other
   */
  public boolean putAside(int i) {
    long pid = missing[i];
    if (pid == 0 || rounds[i] == ROUNDS_MAX) {
      return false;
    }
    filling.add(keys[i], offsets[i], lengths[i], numbers[i], rounds[i] + 1, pid);
    return true;
  }

  /**
   * Whether keys are put aside, or on their way.
   *
   * @return true until {@link #again} has come to the last one
   */
  public boolean hasAside() {
    boolean any = filling.left() > 0 || landed.left() > 0;
    for (Wave wave : underWay) {
      any |= wave.left() > 0;
    }
    return any;
  }

  /**
   * Whether there is no use in putting more keys aside: another eight might not find room, or the
   * pool reads no more pages at once.
   *
   * @param tree the tree
   * @return true if it is time for {@link #launch}
   */
  public boolean asideFull(BTree tree) {
    return filling.isFull(tree.pool());
  }

  /**
   * Has the pages read at which the ways of the keys ended that were put aside, all at once, and
   * does not wait for them: {@link #again} is for those before. All that landed have been taken.
   *
   * @param tree in which the keys are looked for
   */
  public void launch(BTree tree) {
    Wave empty = landed;
    empty.clear();
    landed = underWay[oldest];
    underWay[oldest] = filling;
    oldest = (oldest + 1) % UNDER_WAY;
    if (filling.left() > 0) {
      filling.launch(tree.pool());
    }
    filling = empty;
  }

  /**
   * Goes on for some of the keys that were launched first, in their order, once that is long enough
   * ago; waits for their pages.
   *
   * @param tree in which they are looked for
   * @return how many; 0 where none is left
   */
  public int again(BTree tree) {
    BufferPool pool = tree.pool();
    Wave wave = landed;
    int n = Math.min(WIDTH, wave.left());
    size = n;
    if (n == 0) {
      return 0;
    }
    wave.await();
    for (int i = 0; i < n; i++) {
      int at = wave.take();
      keys[i] = wave.keys[at];
      offsets[i] = wave.offsets[at];
      lengths[i] = wave.lengths[at];
      numbers[i] = wave.numbers[at];
      rounds[i] = wave.rounds[at];
      long pid = wave.pids[at];
      int frame = wave.frame(at, pool);
      missing[i] = frame < 0 ? pid : 0;
      if (frame < 0) {
        places[i].clear();
      } else {
        places[i].set(frame, BufferPool.RESTART, pid, 0, false);
      }
    }
    descendOn(tree);
    return n;
  }

  /**
   * Which key stands at place {@code i} now.
   *
   * @param i from 0
   * @return the number that it was added with
   */
  public int number(int i) {
    return numbers[i];
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
        // A hint may be wrong: once more, as if there were none. Descents repair it.
        p.frame = pool.guess(p.pid);
        version = pool.optimistic(p.frame, p.pid);
      }
      if (version == BufferPool.RESTART) {
        missing[i] = isThere(pool, p.pid) ? 0 : p.pid;
        p.clear();
        continue;
      }
      p.pageAccesses++;
      long base = pool.base(p.frame);
      if (BTreeNode.isInner(s, base)) {
        int found = BTreeNode.searchInner(s, base, pageSize, keys[i], offsets[i], lengths[i]);
        long ref = BTreeNode.childRef(s, base, found >>> 1);
        p.pid = PageRef.pid(ref);
        p.frame = pool.guessChild(ref);
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

  /** Whether a page can be looked at now: not where it is in no frame, or on its way into one. */
  private static boolean isThere(BufferPool pool, long pid) {
    int frame = pool.resident(pid);
    return frame >= 0 && pool.optimistic(frame, pid) != BufferPool.RESTART;
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
