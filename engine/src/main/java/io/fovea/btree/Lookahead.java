package io.fovea.btree;

import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageReads;
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
 * <p>Nothing is validated on the way and nothing needs to be: what comes out is a hint, and {@link
 * BTree#locate} checks a hint whatever it is. A torn page may lead astray or out of bounds; then
 * there is no hint, and the key is looked for from the root. A page that is not in the predicted
 * frame ends the way of its key too: going down never waits and never reads from the device.
 *
 * <pre>
 *   putAside(i)                      the way of a key ended at a page that is in no frame, or on
 *                                    its way into one
 *   again(tree, more)                has pages read for the keys that were put aside, and goes on for
 *                                    up to WIDTH of those whose pages have come, each from its page
 *   number(i), place(i)              whose turn it is, and where it may be
 *   finish()                         at the end of all, or when something was thrown
 *
 *   put aside ──room for a read──► under way: 64 at most ──its page has come──► read, or put aside
 *                                                                                once more
 * </pre>
 *
 * <p>So as many reads are under way as may be, whatever the order in which they come, as long as
 * there are keys: with each that has come another begins ({@link PageReads}), for which some keys
 * are put aside in advance. A thread that must wait for a page on the way, because another thread
 * is bringing it, may do so: reads come to their end without the thread that began them.
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

  /**
   * With more than {@link #ENOUGH} keys aside there is no use in more: so many can be read next.
   */
  private static final int ENOUGH = WIDTH;

  /**
   * All that there can be. Keys that are aside and keys whose pages are being read are one number,
   * which only the caller raises, by eight, while no more than enough are aside; and all of them
   * may be aside at once, where pages do not come, or go as they come, and others take the frames.
   */
  private static final int ASIDE_MAX = ENOUGH + WIDTH + PageReads.CAPACITY;

  private static final int LINE = 64;
  private static final int LEAF_LINES = 8;

  /** So many lines of a value are loaded in advance at most. */
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

  /** Of keys of a tree that is remembered: {@link KeyHash}, and whether the place was right. */
  private final long[] hashes = new long[WIDTH];

  private final boolean[] learnt = new boolean[WIDTH];

  /** Keys that were put aside and have no read yet: the last ones come first. */
  private final DeferredKeys deferredKeys = new DeferredKeys(ASIDE_MAX);

  /** Keys whose pages are being read, by the slot of the read. */
  private final DeferredKeys reading = new DeferredKeys(PageReads.CAPACITY);

  private final PageReads reads = new PageReads();

  /** How many lines of each value are loaded. */
  private int valueLines = VALUE_LINES;

  /** What was touched, so that the loads have a use. */
  private long sink;

  /** Makes an empty one. */
  public Lookahead() {
    for (int i = 0; i < WIDTH; i++) {
      places[i] = new Position();
    }
  }

  /** Forgets all keys, but those that were put aside. */
  public void clear() {
    size = 0;
  }

  /** Forgets all keys, and those that were put aside too; waits for their reads. */
  public void finish() {
    size = 0;
    deferredKeys.size = 0;
    reads.finish();
  }

  /**
   * Adds a key, which stays where it is.
   *
   * @param key where it is; native memory
   * @param off its offset
   * @param len its length
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
   * The {@link KeyHash} of a key that was added last.
   *
   * @param tree whose key it is
   * @param i from 0
   * @return the hash
   */
  public long hash(BTree tree, int i) {
    return KeyHash.of(tree, keys[i], offsets[i], lengths[i]);
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
   * @param bytes how much of each value will be read; no more is loaded in advance
   */
  public void descend(BTree tree, int bytes) {
    valueLines = Math.min(VALUE_LINES, bytes / LINE + 1);
    Arrays.fill(missing, 0);
    Arrays.fill(rounds, 0);
    KeyLocationCache known = tree.places();
    if (known == null) {
      for (int i = 0; i < size; i++) {
        tree.descent().beginAt(places[i]);
      }
      descendOn(tree);
    } else {
      beginAtPlaces(tree, known);
      descendOn(tree);
      learn(tree, known);
    }
  }

  /** All sets, then all pages; from the root those whose places are wrong or not known. */
  private void beginAtPlaces(BTree tree, KeyLocationCache known) {
    int n = size;
    long seen = 0;
    for (int i = 0; i < n; i++) {
      hashes[i] = KeyHash.of(tree, keys[i], offsets[i], lengths[i]);
      seen += known.touch(hashes[i]);
    }
    for (int i = 0; i < n; i++) {
      seen += known.approach(tree, hashes[i], places[i]);
    }
    sink = seen;
    BufferPool pool = tree.pool();
    for (int i = 0; i < n; i++) {
      Position p = places[i];
      int right = known.arrive(tree, keys[i], offsets[i], lengths[i], p, valueLines * LINE);
      if (right < 0) {
        tree.descent().beginAt(p);
      } else {
        values[i] = pool.base(p.frame); // its lines are under way
      }
      learnt[i] = right > 0;
    }
  }

  /** What was found by descents: hints, like all here. */
  private void learn(BTree tree, KeyLocationCache known) {
    for (int i = 0; i < size; i++) {
      Position p = places[i];
      if (!learnt[i] && p.frame >= 0 && p.version != BufferPool.RESTART && tree.valid(p)) {
        known.learn(tree, hashes[i], p);
      }
    }
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
    deferredKeys.set(
        deferredKeys.size++, keys[i], offsets[i], lengths[i], numbers[i], rounds[i] + 1, pid);
    return true;
  }

  /**
   * Whether keys are put aside, or on their way.
   *
   * @return true until {@link #again} has come to the last one
   */
  public boolean hasAside() {
    return deferredKeys.size > 0 || reads.busy();
  }

  /**
   * Whether there is no use in putting more keys aside: it is time for {@link #again}.
   *
   * @return true if another eight might not find room
   */
  public boolean asideFull() {
    return deferredKeys.size > ENOUGH;
  }

  /**
   * Has pages read for keys that were put aside, as many as there is room for, and goes on for some
   * of those whose pages have come. Waits where none has, unless there are more keys and room for
   * them.
   *
   * @param tree in which they are looked for
   * @param more whether the caller has more keys to add
   * @return how many
   */
  public int again(BTree tree, boolean more) {
    BufferPool pool = tree.pool();
    size = 0;
    begin(pool);
    reads.drive(!more || asideFull());
    for (int slot = reads.take(); slot >= 0; slot = size < WIDTH ? reads.take() : -1) {
      proceed(pool, slot);
    }
    // What has become free is filled before the keys are looked at: that takes a while.
    if (begin(pool)) {
      reads.drive(false);
    }
    descendOn(tree);
    return size;
  }

  /** Whether reads were begun. */
  private boolean begin(BufferPool pool) {
    boolean any = false;
    while (deferredKeys.size > 0) {
      int from = deferredKeys.size - 1;
      int slot = reads.start(pool, deferredKeys.pids[from]);
      if (slot < 0) {
        break;
      }
      reading.copy(slot, deferredKeys, from);
      deferredKeys.size = from;
      any = true;
    }
    return any;
  }

  /** The page of a key has come, or will not. */
  private void proceed(BufferPool pool, int slot) {
    int i = size++;
    keys[i] = reading.keys[slot];
    offsets[i] = reading.offsets[slot];
    lengths[i] = reading.lengths[slot];
    numbers[i] = reading.numbers[slot];
    rounds[i] = reading.rounds[slot];
    long pid = reading.pids[slot];
    int read = reads.frame(slot);
    int frame = read >= 0 ? read : pool.resident(pid);
    missing[i] = frame < 0 ? pid : 0;
    if (frame < 0) {
      places[i].clear();
    } else {
      places[i].set(frame, BufferPool.RESTART, pid, 0, false);
    }
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
        p.frame = pool.predict(p.pid);
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
        int found = NodeSearch.searchInner(s, base, pageSize, keys[i], offsets[i], lengths[i]);
        long ref = BTreeNode.childRef(s, base, found >>> 1);
        p.pid = PageRef.pid(ref);
        p.frame = pool.predictChild(ref);
        inner = true;
      } else if (BTreeNode.isLeaf(s, base)) {
        int found = NodeSearch.searchLeaf(s, base, pageSize, keys[i], offsets[i], lengths[i]);
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

  /**
   * Of frames with a page alone. Where a frame without one has no memory (VIRTUAL), a load maps the
   * system's page of zeros: a fault; and the page that comes there is then a second fault, which
   * interrupts the other cores, for what they may know of the zeros. The processor does not wait
   * for the page ids: nearly always they are there.
   */
  private void touchNodes(BufferPool pool, int n) {
    MemorySegment s = pool.pages();
    long seen = 0;
    for (int i = 0; i < n; i++) {
      Position p = places[i];
      if (p.frame >= 0 && p.version == BufferPool.RESTART && pool.pid(p.frame) != 0) {
        long base = pool.base(p.frame);
        seen += Mem.peekLong(s, base) + Mem.peekLong(s, base + LINE);
      }
    }
    sink = seen;
  }

  /**
   * Of leaves the lines of all slots, and that of the fences: the check of the hint compares the
   * prefix of the keys with it, which no search looks at.
   */
  private void touchSlots(BufferPool pool, int n) {
    MemorySegment s = pool.pages();
    int pageSize = pool.pageSize();
    long seen = 0;
    for (int i = 0; i < n; i++) {
      Position p = places[i];
      if (p.frame >= 0 && p.version == BufferPool.RESTART && pool.pid(p.frame) != 0) {
        long base = pool.base(p.frame);
        if (BTreeNode.isLeaf(s, base)) {
          seen += Mem.peekLong(s, base + pageSize - Long.BYTES);
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
        for (int line = 0; line < valueLines; line++) {
          seen += Mem.peekLong(s, Math.min(last, values[i] + (long) line * LINE));
        }
      }
    }
    sink += seen;
  }

  /**
   * Adds what was counted since this was last asked.
   *
   * @param into whose counters get it
   */
  public void count(Position into) {
    for (Position p : places) {
      into.pageAccesses += p.pageAccesses;
      into.remembered += p.remembered;
      into.rememberedRight += p.rememberedRight;
      p.pageAccesses = 0;
      p.remembered = 0;
      p.rememberedRight = 0;
    }
  }
}
