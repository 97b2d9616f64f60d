package io.fovea.btree;

import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageReads;
import io.fovea.buffer.PageRef;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/**
 * Descends a tree for several keys together, level by level, to produce hints.
 *
 * <pre>
 *   add(key, number) ... add         up to WIDTH keys
 *   descend(tree)                    level 0: search all, touch all children, and slots of leaves
 *                                    level 1: search all, touch all children, and slots of leaves
 *                                    leaves:  search all, touch all values
 *   tree.locate(key, hint(i))        checks the hint: the ordinary protocol, on cached lines
 * </pre>
 *
 * <p>One descent is a chain of dependent cache misses. Descents of different keys are independent,
 * but a plain loop over them does not overlap their misses, since the search of one node fills the
 * reorder buffer. So the loads that miss are issued together, a few per key without searches in
 * between, and the searches follow.
 *
 * <p>Nothing is validated: the result is a hint, which {@link BTree#locate} checks. A torn page may
 * lead anywhere or out of bounds; then there is no hint, and the key is looked up from the root. So
 * is a key whose page is not in the predicted frame: a descent never waits and never reads from the
 * device.
 *
 * <pre>
 *   defer(i)                         defers a key whose page is not resident or being loaded
 *   resumeDeferred(tree, more)       reads pages of deferred keys, and continues with
 *                                    up to WIDTH of those whose pages have arrived
 *   number(i), hint(i)               the number of the key at i, and its hint
 *   finish()                         at the end, or after an exception
 *
 *   deferred ──a read may start──► reading: 64 at most ──page arrived──► found, or deferred again
 * </pre>
 *
 * <p>As many reads as possible are in flight, completing in any order, as long as there are keys.
 * Whenever a read completes, another one starts ({@link PageReads}); some keys are deferred in
 * advance for this. The thread may wait for a page that another thread is loading, since reads
 * complete without the thread that started them.
 *
 * <p>If no page is missing, this costs only the check. A key may be deferred again; after {@link
 * #ROUNDS_MAX} rounds the caller looks it up normally, which waits and reports errors.
 *
 * <p>Owned by one thread at a time. Groups of eight are used in the papers on interleaved lookups
 * (Kocberber et al., VLDB 2015) and fill the ten to sixteen outstanding misses of a core.
 */
public final class Lookahead {
  /** The number of keys that descend together. */
  public static final int WIDTH = 8;

  /**
   * With more deferred keys than this, deferring another is useless: no more than this can be read
   * next.
   */
  private static final int ENOUGH = WIDTH;

  /**
   * The maximum number of deferred keys. Only the caller raises the total of deferred keys and keys
   * being read, by eight at a time, while at most {@link #ENOUGH} are deferred. All of them may be
   * deferred at once if pages do not arrive or are evicted immediately.
   */
  private static final int ASIDE_MAX = ENOUGH + WIDTH + PageReads.CAPACITY;

  private static final int LINE = 64;
  private static final int LEAF_LINES = 8;

  /** The maximum number of lines of a value to prefetch. */
  private static final int VALUE_LINES = 5;

  private static final int DEPTH_MAX = 16;

  /** The maximum number of reads per key: exceeded only if pages are evicted as they arrive. */
  public static final int ROUNDS_MAX = 8;

  private final MemorySegment[] keys = new MemorySegment[WIDTH];
  private final long[] offsets = new long[WIDTH];
  private final int[] lengths = new int[WIDTH];
  private final Position[] hints = new Position[WIDTH];
  private final long[] values = new long[WIDTH];
  private int size;

  /** The missing page that ended a key's descent; 0 for none. Not validated. */
  private final long[] missing = new long[WIDTH];

  private final int[] numbers = new int[WIDTH];

  private final int[] rounds = new int[WIDTH];

  /**
   * For trees with cached key locations: the {@link BTree#keyHash}, and whether the location was
   * right.
   */
  private final long[] hashes = new long[WIDTH];

  private final boolean[] cached = new boolean[WIDTH];

  /** Deferred keys without a read; used from the end. */
  private final DeferredKeys deferredKeys = new DeferredKeys(ASIDE_MAX);

  /** Keys whose pages are being read, by the slot of the read. */
  private final DeferredKeys reading = new DeferredKeys(PageReads.CAPACITY);

  private final PageReads reads = new PageReads();

  /** The number of lines to prefetch per value. */
  private int valueLines = VALUE_LINES;

  /** Keeps the loads from being optimized away. */
  private long sink;

  /** Creates an instance without keys. */
  public Lookahead() {
    for (int i = 0; i < WIDTH; i++) {
      hints[i] = new Position();
    }
  }

  /** Removes all keys except deferred ones. */
  public void clear() {
    size = 0;
  }

  /** Removes all keys, including deferred ones, and waits for their reads. */
  public void finish() {
    size = 0;
    deferredKeys.size = 0;
    reads.finish();
  }

  /** Adds a key, which must not move; {@link #number} will return its number. */
  public void add(MemorySegment key, long off, int len, int number) {
    keys[size] = key;
    offsets[size] = off;
    lengths[size] = len;
    numbers[size] = number;
    size++;
  }

  /** Returns the {@link BTree#keyHash} of the i-th key. */
  public long hash(BTree tree, int i) {
    return tree.keyHash(keys[i], offsets[i], lengths[i]);
  }

  /** Returns the hint for the i-th key, valid until the next {@link #descend}. */
  public Position hint(int i) {
    return hints[i];
  }

  /** Descends for all keys, prefetching up to {@code bytes} bytes of each value. */
  public void descend(BTree tree, int bytes) {
    valueLines = Math.min(VALUE_LINES, bytes / LINE + 1);
    Arrays.fill(missing, 0);
    Arrays.fill(rounds, 0);
    KeyLocationCache known = tree.keyLocations();
    if (known == null) {
      for (int i = 0; i < size; i++) {
        tree.descent().beginAt(hints[i]);
      }
      descendOn(tree);
    } else {
      beginAtKeyLocations(tree, known);
      descendOn(tree);
      cacheLocations(tree, known);
    }
  }

  /**
   * Loads all cache sets, then all pages; keys with a missing or wrong location start at the root.
   */
  private void beginAtKeyLocations(BTree tree, KeyLocationCache known) {
    int n = size;
    long seen = 0;
    for (int i = 0; i < n; i++) {
      hashes[i] = tree.keyHash(keys[i], offsets[i], lengths[i]);
      seen += known.touch(hashes[i]);
    }
    for (int i = 0; i < n; i++) {
      seen += known.predict(tree, hashes[i], hints[i]);
    }
    sink = seen;
    BufferPool pool = tree.pool();
    for (int i = 0; i < n; i++) {
      Position p = hints[i];
      int right = known.validate(tree, keys[i], offsets[i], lengths[i], p, valueLines * LINE);
      if (right < 0) {
        tree.descent().beginAt(p);
      } else {
        values[i] = pool.base(p.frame); // its lines are being loaded
      }
      cached[i] = right > 0;
    }
  }

  /** Caches the locations that descents have found, as hints. */
  private void cacheLocations(BTree tree, KeyLocationCache known) {
    for (int i = 0; i < size; i++) {
      Position p = hints[i];
      if (!cached[i] && p.frame >= 0 && p.version != BufferPool.RESTART && tree.valid(p)) {
        known.cache(tree, hashes[i], p);
      }
    }
  }

  /** Continues from the positions: all searches of a level, then all its loads. */
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
        hints[i].clear();
      }
    }
  }

  // --------------------------------------------------------------------------------- deferred keys

  /**
   * Defers a key whose descent ended at a missing page: it has no hint, and looking it up now would
   * wait for that one page. Returns false if no page is missing, so it can be looked up at its
   * {@link #hint}, or if it was deferred too often.
   */
  public boolean defer(int i) {
    long pid = missing[i];
    if (pid == 0 || rounds[i] == ROUNDS_MAX) {
      return false;
    }
    deferredKeys.set(
        deferredKeys.size++, keys[i], offsets[i], lengths[i], numbers[i], rounds[i] + 1, pid);
    return true;
  }

  /** Returns whether there are deferred keys, with or without reads. */
  public boolean hasDeferred() {
    return deferredKeys.size > 0 || reads.isBusy();
  }

  /** Returns whether another eight deferred keys might not fit: call {@link #resumeDeferred}. */
  public boolean isDeferredFull() {
    return deferredKeys.size > ENOUGH;
  }

  /**
   * Starts as many reads for deferred keys as possible, and continues with keys whose pages have
   * arrived. Returns the number of these keys. Waits if no page has arrived, unless the caller has
   * {@code more} keys and there is room for them.
   */
  public int resumeDeferred(BTree tree, boolean more) {
    BufferPool pool = tree.pool();
    size = 0;
    begin(pool);
    reads.drive(!more || isDeferredFull());
    for (int slot = reads.take(); slot >= 0; slot = size < WIDTH ? reads.take() : -1) {
      proceed(pool, slot);
    }
    // Refill the free slots before the searches, which take a while.
    if (begin(pool)) {
      reads.drive(false);
    }
    descendOn(tree);
    return size;
  }

  /** Starts reads; returns whether there were any. */
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

  /** Continues with a key whose page has arrived or could not be read. */
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
      hints[i].clear();
    } else {
      hints[i].set(frame, BufferPool.RESTART, pid, 0, false);
    }
  }

  /** Returns the number with which the key at {@code i} was added. */
  public int number(int i) {
    return numbers[i];
  }

  /** Searches each node; returns whether inner nodes remain. */
  private boolean step(BTree tree, BufferPool pool, int n) {
    MemorySegment s = pool.pages();
    int pageSize = pool.pageSize();
    boolean inner = false;
    for (int i = 0; i < n; i++) {
      Position p = hints[i];
      if (p.frame < 0 || p.version != BufferPool.RESTART) {
        continue; // led astray, or at a leaf
      }
      long version = pool.optimistic(p.frame, p.pid);
      if (version == BufferPool.RESTART) {
        // The frame hint may be wrong: retry without it. Descents repair it.
        p.frame = pool.predict(p.pid);
        version = pool.optimistic(p.frame, p.pid);
      }
      if (version == BufferPool.RESTART) {
        missing[i] = isReadable(pool, p.pid) ? 0 : p.pid;
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

  /** Returns whether a page can be read now: resident and not being loaded. */
  private static boolean isReadable(BufferPool pool, long pid) {
    int frame = pool.resident(pid);
    return frame >= 0 && pool.optimistic(frame, pid) != BufferPool.RESTART;
  }

  /**
   * Loads only frames that hold a page. With VIRTUAL, a load from a frame without memory maps the
   * zero page: a fault now, and another one with an interrupt of all cores when a page arrives. The
   * processor does not wait for the page ids, which are nearly always cached.
   */
  private void touchNodes(BufferPool pool, int n) {
    MemorySegment s = pool.pages();
    long seen = 0;
    for (int i = 0; i < n; i++) {
      Position p = hints[i];
      if (p.frame >= 0 && p.version == BufferPool.RESTART && pool.pid(p.frame) != 0) {
        long base = pool.base(p.frame);
        seen += Mem.peekLong(s, base) + Mem.peekLong(s, base + LINE);
      }
    }
    sink = seen;
  }

  /**
   * Loads slots, and the line of the fences for the comparison of the prefix by the later check.
   */
  private void touchSlots(BufferPool pool, int n) {
    MemorySegment s = pool.pages();
    int pageSize = pool.pageSize();
    long seen = 0;
    for (int i = 0; i < n; i++) {
      Position p = hints[i];
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
      Position p = hints[i];
      if (p.frame >= 0 && p.found) {
        for (int line = 0; line < valueLines; line++) {
          seen += Mem.peekLong(s, Math.min(last, values[i] + (long) line * LINE));
        }
      }
    }
    sink += seen;
  }

  /** Adds the counts since the last call to a position. */
  public void count(Position into) {
    for (Position p : hints) {
      into.pageAccesses += p.pageAccesses;
      into.cachedLocationLookups += p.cachedLocationLookups;
      into.cachedLocationsRight += p.cachedLocationsRight;
      p.pageAccesses = 0;
      p.cachedLocationLookups = 0;
      p.cachedLocationsRight = 0;
    }
  }
}
