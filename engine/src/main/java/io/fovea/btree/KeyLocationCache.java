package io.fovea.btree;

import io.fovea.buffer.BufferPool;
import io.fovea.memory.Granules.RefusedException;
import io.fovea.memory.MappingBudget;
import io.fovea.memory.Mem;
import io.fovea.memory.MemoryFiles;
import io.fovea.memory.NativeRegion;
import io.fovea.memory.Threads;
import io.fovea.memory.Waits;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * A flat, lossy, in-memory table from key hashes to the last known key locations, shared by all
 * trees opened with it. A point read starts at the cached page and waits for memory twice: for a
 * line of the table, and for the lines of the page, all of which are then known. A descent waits at
 * each level.
 *
 * <pre>
 *   2^k sets of one line, 8 ways         set: low bits of the key's hash ({@link BTree#keyHash})
 *
 *   way   63    54  53  52    47 46   38 37        0
 *       | tag 10 |seen| line   | slot  | page id   |     0: none.  tag: high bits of the hash
 *
 *   page of     4 KiB   8 KiB   16 KiB   32 KiB   64 KiB
 *   line        6       7       8        8        8        in which 64th to 256th of the page
 *   slot        9       10      11       12       13
 *   page id     38      36      34       33       32       pages beyond are not cached
 * </pre>
 *
 * <p><b>A way may contain anything.</b> It is used only by {@link HintedLeaf#locate}, which asks
 * the page itself whether it is a leaf of this tree, whether the key is between its fences, and
 * where it is, all under one version that the caller validates afterwards. Hence:
 *
 * <ol>
 *   <li>A way is one aligned long, read and stored as a whole. A lost store is a lost hint.
 *   <li>The page id of a way is passed only to {@code predict}, {@code optimistic} and {@code
 *       resident}, which accept any number; slot and line are clamped.
 *   <li>The result is the key in a leaf of that tree, as tree ids are never reused. Forbidden:
 *       taking the tag for the key; answering "absent" from a set without the tag, or from a slot
 *       with another key, without fences under that version.
 *   <li>A growing table may be used under either size: the set of a key is the old one or its copy.
 *       A store between the copy and its publication is lost.
 *   <li>A page that was evicted, moved, split, merged, freed or reused between lookup and check
 *       fails on the page id in the frame header, the version, the tree id or the fences. A page
 *       that is not resident is read by a descent: a location never causes I/O.
 *   <li>After a close the table reads as zeros: no locations. It starts empty and is not stored in
 *       the file.
 * </ol>
 *
 * <p>So the table needs no version, epoch, invalidation or latch. Absent keys have locations too:
 * the leaf whose fences prove their absence.
 *
 * <p><b>Growth</b> of a flat table. Memory is reserved for the largest size, so the table never
 * moves. When overwrites of ways in use since the last doubling reach an eighth of all ways, a
 * separate thread appends a copy of the table and then publishes the doubled size. In each half,
 * half of the ways now belong to the other half, and a way does not say whether it is one of them.
 * So all ways lose their <i>seen</i> bit and regain it when they are found. A full set overwrites
 * ways without that bit first; otherwise a grown table would evict useful ways along with those
 * that are never read.
 *
 * <p><b>Granules.</b> The sets may be in granules that grow one by one, behind a {@link
 * ShortcutDirectory}. Readers use the same arithmetic, in virtual memory that maps the granules.
 *
 * <p>Used by any thread.
 */
public final class KeyLocationCache {
  private static final System.Logger LOG = System.getLogger("io.fovea");

  /** A set is one cache line. */
  static final int SET_SHIFT = 6;

  private static final int WAYS_SHIFT = 3;
  private static final int WAYS = 1 << WAYS_SHIFT;
  private static final int TAG_BITS = 10;
  private static final int TAG_SHIFT = Long.SIZE - TAG_BITS;

  /** Set in a way that was stored or found since the table grew. */
  private static final int SEEN_BIT = TAG_SHIFT - 1;

  static final long SEEN = 1L << SEEN_BIT;

  private static final int LINE_BITS_MAX = BTreeNode.LINE_BITS;

  /** The initial size in bytes. */
  public static final long BYTES_MIN = 256 << 10;

  /** One in this many overwritten ways is counted, with this weight. */
  private static final int SAMPLED = 16;

  /** A table is too small if more than one in this many ways was overwritten. */
  private static final int FULL_ONE_IN = 8;

  private static final long STRIPE_BYTES = 256 << 10;

  /** The interval at which the mapper checks for granules that are too small; from the paper. */
  private static final long TICK_NANOS = 25_000_000;

  /** The mapper ends after this many idle ticks. */
  private static final int IDLE_TICKS = 20;

  /** The memory of a flat table. */
  private final @Nullable NativeRegion region;

  /** The directory of a table in granules. */
  private final @Nullable ShortcutDirectory shortcut;

  /** The memory that readers use. */
  private final MemorySegment table;

  private final int lineShift;
  private final int lineAt;
  private final int slotAt;
  private final long slotMask;
  private final long pidMask;
  private final long setsMax;

  /** The number of sets in use, minus one. */
  private volatile long mask;

  private final AtomicLong overwritten = new AtomicLong();
  private final AtomicBoolean growing = new AtomicBoolean();
  private volatile boolean closed;
  private volatile @Nullable Thread grower;

  /**
   * Creates an empty table of at most {@code maxBytes}, rounded down to a power of two of at least
   * {@link #BYTES_MIN}: it takes only address space until it is needed. The page size is 4 KiB to
   * 64 KiB.
   *
   * @throws OutOfMemoryError if there is not enough address space
   */
  public KeyLocationCache(long maxBytes, int pageSize) {
    this(Long.highestOneBit(Math.max(BYTES_MIN, maxBytes)), pageSize, null);
  }

  /**
   * Creates an empty table in granules, of {@link #BYTES_MIN} to 64 GiB. Reserves sixteen times as
   * much address space.
   *
   * @throws RefusedException if the kernel refuses
   * @throws OutOfMemoryError if there is not enough address space
   */
  public static KeyLocationCache shortcut(
      String name, long maxBytes, int pageSize, MemoryFiles files, MappingBudget budget)
      throws RefusedException {
    ShortcutDirectory directory =
        new ShortcutDirectory(name, Math.max(BYTES_MIN, maxBytes), files, budget);
    return new KeyLocationCache(directory.maxBytes(), pageSize, directory);
  }

  private KeyLocationCache(long bytes, int pageSize, @Nullable ShortcutDirectory shortcut) {
    int pageShift = Integer.numberOfTrailingZeros(pageSize);
    int lineBits = Math.min(LINE_BITS_MAX, pageShift - 6);
    int slotBits = pageShift - 3;
    this.lineShift = LINE_BITS_MAX - lineBits;
    this.lineAt = SEEN_BIT - lineBits;
    this.slotAt = lineAt - slotBits;
    this.slotMask = (1L << slotBits) - 1;
    this.pidMask = (1L << slotAt) - 1;
    this.setsMax = bytes >>> SET_SHIFT;
    this.mask = (BYTES_MIN >>> SET_SHIFT) - 1;
    this.shortcut = shortcut;
    if (shortcut == null) {
      NativeRegion reserved = NativeRegion.reserve(bytes, true, "key location cache");
      this.region = reserved;
      this.table = reserved.segment();
    } else {
      this.region = null;
      this.table = shortcut.area();
    }
  }

  /**
   * Looks up a key at its cached location, else from the root, like {@link BTree#find}.
   *
   * @param hash the {@link BTree#keyHash} of the key
   * @param bytes the approximate length of the record
   * @return whether its location was known and right; if not, call {@link #cache} once the result
   *     is valid
   */
  public boolean find(
      BTree tree, long hash, MemorySegment key, long off, int len, Position p, int bytes) {
    setLocation(hash, p);
    int known = validate(tree, key, off, len, p, bytes);
    if (known < 0) {
      tree.find(key, off, len, p);
    }
    return known > 0;
  }

  /**
   * Sets a position to the cached location of a key; clears it and returns false if there is none.
   */
  private boolean setLocation(long hash, Position p) {
    long way = findWay(hash);
    if (way == 0) {
      p.clear();
      return false;
    }
    p.frame = -1;
    p.version = BufferPool.RESTART;
    p.pid = way & pidMask;
    p.slot = (int) (way >>> slotAt & slotMask);
    p.found = true;
    p.line = (int) ((way & SEEN - 1) >>> lineAt) << lineShift;
    return true;
  }

  /**
   * Sets a position to the cached location, in the predicted frame, as a hint for {@link
   * BTree#locate}; clears it if there is none.
   */
  public void setHint(BTree tree, long hash, Position p) {
    if (setLocation(hash, p)) {
      p.frame = tree.pool().predict(p.pid);
    }
  }

  /** Returns the way with the key's tag, or 0. */
  private long findWay(long hash) {
    long at = (hash & mask) << SET_SHIFT;
    for (int i = 0; i < WAYS; i++) {
      long way = Mem.peekLongOpaque(table, at + ((long) i * Long.BYTES));
      if ((way ^ hash) >>> TAG_SHIFT == 0 && way != 0) {
        if ((way & SEEN) == 0) {
          Mem.putLongOpaque(table, at + ((long) i * Long.BYTES), way | SEEN);
        }
        return way;
      }
    }
    return 0;
  }

  /**
   * Caches the position of a key or of its insertion point, which may be stale. Also gives a page
   * outside its preferred frame a chance to be promoted to that frame, where the next lookup
   * starts; positions in the page may then become stale.
   */
  public void cache(BTree tree, long hash, Position p) {
    if (cacheWithoutPromotion(tree, hash, p)) {
      tree.pool().maybePromote(p.pid, p.frame);
    }
  }

  /** Like {@link #cache}, without moving a page. Returns whether the location can be cached. */
  public boolean cacheWithoutPromotion(BTree tree, long hash, Position p) {
    long pid = p.pid;
    if (p.frame < 0 || (pid & ~pidMask) != 0 || pid == 0) {
      return false;
    }
    long line = HintedLeaf.line(tree, p) >>> lineShift;
    long tag = hash >>> TAG_SHIFT << TAG_SHIFT;
    long way = tag | SEEN | line << lineAt | (p.slot & slotMask) << slotAt | pid;
    long set = (hash & mask) << SET_SHIFT;
    MemorySegment sets = table;
    if (shortcut != null) {
      set = shortcut.viewOffset(set);
      sets = shortcut.view();
    }
    int into = -1;
    int unseen = -1;
    for (int i = 0; i < WAYS; i++) {
      long stored = Mem.peekLongOpaque(sets, set + ((long) i * Long.BYTES));
      if (stored == 0) {
        into = into < 0 ? i : into;
      } else if ((stored ^ hash) >>> TAG_SHIFT == 0) {
        into = i;
        break;
      } else if ((stored & SEEN) == 0) {
        unseen = i;
      }
    }
    if (into < 0 && unseen >= 0) {
      into = unseen;
      countOverwrite(hash, set);
    } else if (into < 0) {
      // Varies the way: two keys that always chose the same one would evict each other forever,
      // next to ways that are never read.
      into = (int) ((hash ^ p.cachedLocationLookups) * 0x9E37_79B9_7F4A_7C15L >>> -WAYS_SHIFT);
      countOverwrite(hash, set);
    }
    Mem.putLongOpaque(sets, set + ((long) into * Long.BYTES), way);
    return true;
  }

  // ---------------------------------------------------------------------------------- many keys

  /** Prefetches the set of a key. */
  long touch(long hash) {
    return Mem.peekLong(table, (hash & mask) << SET_SHIFT);
  }

  /**
   * Prefetches what {@link #validate} reads. The position gets the unchecked location, with page id
   * 0 if there is none; the result depends on the loads.
   */
  long predict(BTree tree, long hash, Position p) {
    if (!setLocation(hash, p)) {
      return 0;
    }
    BufferPool pool = tree.pool();
    int frame = pool.predict(p.pid);
    if (frame < 0 || frame >= pool.frames()) {
      return 0;
    }
    long pid = pool.pid(frame);
    if (pid == 0) {
      return 0; // do not touch frames without memory, see Lookahead.touchNodes
    }
    MemorySegment s = pool.pages();
    long base = pool.base(frame);
    return pid
        + Mem.peekLong(s, base)
        + Mem.peekLong(s, base + BTreeNode.LEAF_SLOTS + (long) p.slot * Long.BYTES)
        + Mem.peekLong(s, base + ((long) p.line << pool.pageShift() - LINE_BITS_MAX))
        + Mem.peekLong(s, base + pool.pageSize() - Long.BYTES);
  }

  /**
   * Checks a location from {@link #predict} or the cache. Returns 1 if it was right and 0 if only
   * its page was, with the position set as by {@link BTree#find}; returns -1 if a descent is
   * needed.
   */
  int validate(BTree tree, MemorySegment key, long off, int len, Position p, int bytes) {
    p.cachedLocationLookups++;
    if (p.pid == 0) {
      return -1;
    }
    int line = p.line >>> lineShift;
    int stale = HintedLeaf.locate(tree, key, off, len, p, bytes);
    // A way has fewer bits for the line than a position.
    if (stale == 0 || stale == HintedLeaf.LINE && p.line >>> lineShift == line) {
      p.cachedLocationsRight++;
      return 1;
    }
    return (stale & HintedLeaf.NO_PAGE) == 0 ? 0 : -1;
  }

  // ------------------------------------------------------------------------------------- growth

  /** Counts a way that was overwritten while in use, by sampling. */
  private void countOverwrite(long hash, long set) {
    // Bits used by neither set nor tag while the table is small.
    if ((hash >>> 44 & SAMPLED - 1) == 0
        && (shortcut == null ? isFull() : shortcut.countOverwrites(set, SAMPLED))
        && !closed
        && growing.compareAndSet(false, true)) {
      grow();
    }
  }

  /** Counts a sample, and returns whether a flat table is too small. */
  private boolean isFull() {
    return overwritten.addAndGet(SAMPLED) > (mask + 1) * WAYS / FULL_ONE_IN && mask + 1 < setsMax;
  }

  private void grow() {
    boolean begun = false;
    try {
      Runnable work = shortcut == null ? this::copy : this::map;
      // Stored before the thread starts: it may end, and its successor be stored, before this
      // method continues.
      Thread thread = Threads.unstarted("fovea-locations", work);
      grower = thread;
      thread.start();
      begun = true;
    } catch (OutOfMemoryError none) {
      // Without a thread the table keeps its size until as many ways have been overwritten again.
      LOG.log(Level.DEBUG, () -> "The key location cache could not grow", none);
    } finally {
      if (!begun) {
        overwritten.set(0);
        growing.set(false);
      }
    }
  }

  /** Appends a copy of the table and publishes the doubled size. */
  private void copy() {
    try {
      long bytes = mask + 1 << SET_SHIFT;
      for (long at = 0; at < bytes && !closed; at += STRIPE_BYTES) {
        copyUnseen(table, at, bytes + at, Math.min(STRIPE_BYTES, bytes - at));
      }
      if (!closed) {
        mask = 2 * mask + 1;
      }
    } finally {
      overwritten.set(0);
      growing.set(false);
    }
  }

  /** Copies ways and clears their seen bit in both. A concurrent store may be lost. */
  static void copyUnseen(MemorySegment s, long from, long to, long bytes) {
    for (long at = 0; at < bytes; at += Long.BYTES) {
      long way = Mem.getLongOpaque(s, from + at) & ~SEEN;
      Mem.putLongOpaque(s, from + at, way);
      Mem.putLongOpaque(s, to + at, way);
    }
  }

  /** Splits granules and maps slots to them until nothing is left to do. */
  private void map() {
    ShortcutDirectory directory = Objects.requireNonNull(shortcut);
    try {
      for (int idle = 0; idle < IDLE_TICKS && !closed; ) {
        if (directory.tick()) {
          // After the mappings: a reader that loads the new mask finds them.
          mask = directory.mask();
          idle = 0;
        } else {
          idle++;
        }
        LockSupport.parkNanos(TICK_NANOS);
      }
    } finally {
      growing.set(false);
    }
  }

  /** Returns the current size in bytes. */
  public long bytes() {
    if (closed) {
      return 0;
    }
    return shortcut == null ? mask + 1 << SET_SHIFT : shortcut.bytes();
  }

  /** Returns the maximum size in bytes. */
  public long maxBytes() {
    return setsMax << SET_SHIFT;
  }

  /** For tests: the memory in use, which may be overwritten with anything. */
  MemorySegment memory() {
    return table.asSlice(0, mask + 1 << SET_SHIFT);
  }

  boolean isGrowing() {
    return growing.get();
  }

  /** Frees the memory. Late readers find no locations. */
  public void close() {
    closed = true;
    Thread thread = grower;
    if (thread != null) {
      LockSupport.unpark(thread);
    }
    Waits.join(thread);
    if (shortcut != null) {
      shortcut.close();
    } else if (region != null) {
      region.release();
    }
  }

  boolean isShortcut() {
    return shortcut != null;
  }
}
