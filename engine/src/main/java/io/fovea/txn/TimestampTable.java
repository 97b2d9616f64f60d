package io.fovea.txn;

import io.fovea.memory.Mem;
import io.fovea.memory.NativeRegion;
import io.fovea.memory.Waits;
import java.lang.foreign.MemorySegment;

/**
 * The layout of the exact table; the protocol is in {@link Timestamps}.
 *
 * <pre>
 *  bucket = 128 bytes, aligned: 4 slots of 32 bytes, two lines
 *  +------+-------+------+--------+   +------+-------+------+-------+   +-- ... +-------+
 *  | item | stamp | word | HEADER |   | item | stamp | word | LOCK  |   |       | REACH |
 *  +------+-------+------+--------+   +------+-------+------+-------+   +-- ... +-------+
 *   item    hash; 0 = free. Written under the column lock while stamp is 0
 *   stamp   0 = free, else live, references, epoch (below). Pins raise it, a release sets it to 0,
 *           both by CAS on this one word
 *   word    {@link TidWord}; a thread that has the item pinned may lock and extend it. LOCK while free
 *   header  in slot 0 of a column's first bucket: its counters. Written under the column's lock
 *   lock    in slot 1 of it: the column's lock and how often it was held
 *   reach   in slot 3 of a bucket of the last level: how many buckets behind it its entries may have
 *           overflowed. An upper bound, under the column's lock; void while the header's reach is 0.
 *           A miss searches this far, and {@link Entries#releaseOverflow} lowers it
 *
 *  column = the buckets that share the top bits of the item's mixed hash. One of them is in level 0
 *  (64 if entries are never released); the others are used if that is full of entries in use:
 *
 *    level          0   1   2    3     4      5
 *    buckets        1   1   8   64   512   4096     for each column, while the budget allows
 *
 *  header: 46..57 reach | 45 bits: number of entries of the column in levels 1 to 5
 *   reach   in the last level no entry is more than this many buckets behind its own
 *  lock: 63 locked | version, incremented by every release: a thread that finds nothing, and then locks the
 *   version that it had read before the search, need not search again
 * </pre>
 *
 * <p>An item's bucket in each level follows from its hash, so a hit is one or two cache lines at
 * addresses known from the start, and nothing ever moves. The upper levels, for transactions that
 * pin millions of items, are virtual memory until touched. Hot items in neighboring slots may share
 * a line; a line per entry would double the memory.
 */
final class TimestampTable {
  static final int SLOTS_PER_BUCKET = 4;
  static final int LEVELS_MAX = 6;

  private static final int SLOT_SHIFT = 5;
  static final int SLOT_BYTES = 1 << SLOT_SHIFT;
  private static final int BUCKET_BYTES = SLOTS_PER_BUCKET << SLOT_SHIFT;
  private static final int ITEM = 0;
  private static final int STAMP = 8;
  private static final int WORD = 16;
  private static final int HEADER = 24;
  private static final int LOCK_WORD = HEADER + (1 << SLOT_SHIFT);
  private static final int BUCKET_REACH = HEADER + (3 << SLOT_SHIFT);

  /** log2 of the maximum number of a column's buckets in each level above the first. */
  private static final int[] FACTOR_BITS = {0, 0, 3, 6, 9, 12};

  /** The shift of each level's counter in the header; at most 4 << FACTOR_BITS entries. */
  private static final int[] COUNT_SHIFT = {0, 0, 3, 9, 18, 30};

  private static final int[] COUNT_BITS = {0, 3, 6, 9, 12, 15};
  private static final long COUNTS_MASK = (1L << 45) - 1;
  private static final int REACH_SHIFT = 46;
  private static final long REACH_MASK = (1L << 12) - 1;
  private static final long LOCK = Long.MIN_VALUE;

  /** How often a waiting thread checks a lock before it checks the engine, minus 1. */
  private static final int ENGINE_CHECK_MASK = (1 << 8) - 1;

  /** How often a thread that can do without the lock checks it. */
  private static final int PATIENCE = 1 << 9;

  /** 2^64 divided by the golden ratio: the product spreads the item into the top bits. */
  static final long SPREAD = 0x9E3779B97F4A7C15L;

  private final NativeRegion region;
  private volatile boolean closed;
  private final MemorySegment memory;
  private final int columnBits;
  private final int columnShift;
  private final int preferredShift;

  private final int strideShift;

  private final int levels;
  private final int slots;
  private final int[] factorBits = new int[LEVELS_MAX];
  private final int[] levelBase = new int[LEVELS_MAX];
  private final int[] levelShift = new int[LEVELS_MAX];
  private Runnable waitCheck = () -> {};

  /**
   * @param wideBits log2 of a column's buckets in level 0: 0 if entries are released. Otherwise
   *     level 0 holds most entries, and columns must be wide, so that they fill evenly
   */
  TimestampTable(long activeTimestampBytes, long budgetBytes, int wideBits) {
    if (activeTimestampBytes < 2 * BUCKET_BYTES || budgetBytes < activeTimestampBytes) {
      throw new IllegalArgumentException(
          "The exact table has "
              + activeTimestampBytes
              + " of "
              + budgetBytes
              + " bytes; expected at least "
              + 2 * BUCKET_BYTES
              + " and at most the budget.");
    }
    // At least the columns for which the largest level fits the budget; at most what ints can
    // number.
    long first = Math.max(activeTimestampBytes, budgetBytes >>> FACTOR_BITS[LEVELS_MAX - 1] + 1);
    int firstBits = Math.min(63 - Long.numberOfLeadingZeros(first / BUCKET_BYTES), 24);
    int wide = Math.min(wideBits, firstBits - 1);
    columnBits = firstBits - wide;
    columnShift = 64 - columnBits;
    preferredShift = 64 - firstBits;
    strideShift = wide + Integer.numberOfTrailingZeros(BUCKET_BYTES);
    long max = Math.min(budgetBytes / BUCKET_BYTES, Integer.MAX_VALUE / SLOTS_PER_BUCKET);
    long buckets = 0;
    int level = 0;
    while (level < LEVELS_MAX && (level == 0 || buckets + columns() <= max)) {
      // The last level takes what the budget leaves, as a power of two.
      long each = max - buckets >>> columnBits;
      factorBits[level] =
          level == 0 ? wide : Math.min(FACTOR_BITS[level], 63 - Long.numberOfLeadingZeros(each));
      levelBase[level] = (int) (buckets * SLOTS_PER_BUCKET);
      levelShift[level] = columnShift - factorBits[level];
      buckets += 1L << columnBits + factorBits[level];
      level++;
    }
    levels = level;
    slots = (int) (buckets * SLOTS_PER_BUCKET);
    region = NativeRegion.reserve(buckets * BUCKET_BYTES, false, "fovea-timestamps");
    memory = region.segment();
  }

  // ---------------------------------------------------------------- slot numbers

  int levels() {
    return levels;
  }

  int columns() {
    return 1 << columnBits;
  }

  int slots() {
    return slots;
  }

  long bytes() {
    return (long) slots << SLOT_SHIFT;
  }

  int column(long item) {
    return (int) (item * SPREAD >>> columnShift);
  }

  /**
   * Returns the preferred slot of an item's first bucket. The others of the bucket are {@code slot
   * ^ 1} to {@code slot ^ 3}; this holds for all slots returned here.
   */
  int firstSlot(long item) {
    long mixed = item * SPREAD;
    return (int) (mixed >>> preferredShift) * SLOTS_PER_BUCKET | preferred(mixed);
  }

  int slotOf(long item, int level) {
    long mixed = item * SPREAD;
    return levelBase[level]
        + ((int) (mixed >>> levelShift[level]) * SLOTS_PER_BUCKET | preferred(mixed));
  }

  /**
   * Returns the preferred slot {@code distance} buckets behind the item's own, cyclically within
   * its column.
   */
  int slotAfter(long item, int column, int level, int distance) {
    int first = firstSlot(column, level);
    int own = slotOf(item, level) - first;
    return first + (own + distance * SLOTS_PER_BUCKET & slotsOfColumn(level) - 1);
  }

  /** Returns two bits that are independent of the bucket and of the sketch's cells. */
  private static int preferred(long mixed) {
    return (int) (mixed >>> 16) & SLOTS_PER_BUCKET - 1;
  }

  /** Returns a column's first slot in a level; the others follow. */
  int firstSlot(int column, int level) {
    return levelBase[level] + (column << factorBits[level]) * SLOTS_PER_BUCKET;
  }

  int slotsOfColumn(int level) {
    return SLOTS_PER_BUCKET << factorBits[level];
  }

  int levelOf(int slot) {
    int level = levels - 1;
    while (slot < levelBase[level]) {
      level--;
    }
    return level;
  }

  // ---------------------------------------------------------------- slots

  long item(int slot) {
    return Mem.peekLongOpaque(memory, ((long) slot << SLOT_SHIFT) + ITEM);
  }

  /** Sets the item of a slot. Under the column lock, while the stamp is 0. */
  void item(int slot, long item) {
    Mem.putLongOpaque(memory, ((long) slot << SLOT_SHIFT) + ITEM, item);
  }

  /**
   * Loads an item's bucket ahead of a pin; the result only keeps the loads from being optimized
   * away.
   */
  long load(long item) {
    long bucket = (long) (firstSlot(item) & -SLOTS_PER_BUCKET) << SLOT_SHIFT;
    return Mem.peekLong(memory, bucket) + Mem.peekLong(memory, bucket + BUCKET_BYTES / 2);
  }

  /** Acquire: what was written before the stamp is visible, including item and word. */
  long stampAcquire(int slot) {
    assert slot >= 0 && slot < slots : slot;
    return Mem.peekLongAcquire(memory, ((long) slot << SLOT_SHIFT) + STAMP);
  }

  /** Partner of {@link #stampAcquire}; only if no other thread may write the stamp. */
  void stampRelease(int slot, long stamp) {
    Mem.putLongRelease(memory, ((long) slot << SLOT_SHIFT) + STAMP, stamp);
  }

  boolean casStamp(int slot, long expect, long update) {
    return Mem.casLong(memory, ((long) slot << SLOT_SHIFT) + STAMP, expect, update);
  }

  long addStamp(int slot, long delta) {
    return Mem.getAndAddLong(memory, ((long) slot << SLOT_SHIFT) + STAMP, delta);
  }

  /** Returns the word without a bounds check: an invalid slot would read beyond the table. */
  long word(int slot) {
    assert slot >= 0 && slot < slots : slot;
    return Mem.peekLongVolatile(memory, ((long) slot << SLOT_SHIFT) + WORD);
  }

  void wordRelease(int slot, long word) {
    Mem.putLongRelease(memory, ((long) slot << SLOT_SHIFT) + WORD, word);
  }

  boolean casWord(int slot, long expect, long update) {
    return Mem.casLong(memory, ((long) slot << SLOT_SHIFT) + WORD, expect, update);
  }

  // ---------------------------------------------------------------- columns

  private long headerOffset(int column) {
    return ((long) column << strideShift) + HEADER;
  }

  /** Returns the counters of a column; outside of its lock, only a hint. */
  long header(int column) {
    return Mem.peekLongOpaque(memory, headerOffset(column));
  }

  private long lockOffset(int column) {
    return ((long) column << strideShift) + LOCK_WORD;
  }

  /**
   * Returns the argument of {@link #tryLock}. Acquire: a thread that then locks this version has
   * seen all entries that it has searched.
   */
  long version(int column) {
    return Mem.peekLongAcquire(memory, lockOffset(column));
  }

  /** Sets what a thread runs while it waits for a lock; it throws to end the wait. */
  void setWaitCheck(Runnable check) {
    waitCheck = check;
  }

  /** Locks a column if it is free and the lock still has the version. */
  boolean tryLock(TimestampContext c, int column, long version) {
    if (c.column != TimestampContext.NONE) {
      recover(c);
    }
    if (version < 0 || !Mem.casLong(memory, lockOffset(column), version, version | LOCK)) {
      return false;
    }
    // Stores only: from here on the context knows its lock, whatever fails.
    c.column = column;
    c.version = version;
    return true;
  }

  /**
   * Locks a column. Holders are fast, except that with timestamps on disk they may wait for a page,
   * so waiting threads yield.
   *
   * <p>If a full stack keeps a holder from unlocking, it does so when it locks another column or
   * ends ({@link #recover}). Waiting threads periodically check whether the engine has stopped.
   */
  void lock(TimestampContext c, int column) {
    for (int spins = 0; !tryLock(c, column, version(column)); spins++) {
      Waits.spin(spins);
      if ((spins & ENGINE_CHECK_MASK) == ENGINE_CHECK_MASK) {
        waitCheck.run();
      }
    }
  }

  /** Locks a column, or returns false if that takes too long. */
  boolean tryLockBriefly(TimestampContext c, int column) {
    for (int spins = 0; spins < PATIENCE; spins++) {
      if (tryLock(c, column, version(column))) {
        return true;
      }
      Waits.spin(spins);
    }
    return false;
  }

  /** Release: the next holder sees everything done under the lock, including sketch cells. */
  void unlock(TimestampContext c, int column) {
    assert c.column == column : "the lock of column " + column + " is another's";
    if (c.releasing != TimestampContext.NONE) {
      undoRelease(c);
    }
    Mem.putLongRelease(memory, lockOffset(column), c.version + 1);
    c.column = TimestampContext.NONE;
  }

  /** Undoes a release; no other thread writes the stamp of a free slot. */
  void undoRelease(TimestampContext c) {
    int slot = c.releasing;
    if (c.wordHeld) {
      wordRelease(slot, c.releasedWord);
      c.wordHeld = false;
    }
    stampRelease(slot, c.releasedStamp);
    c.releasing = TimestampContext.NONE;
  }

  /**
   * Releases what an error has left held. Uses a compare-and-set, because another context may hold
   * the lock by now; each hold has a different version.
   */
  void recover(TimestampContext c) {
    int column = c.column;
    if (column == TimestampContext.NONE) {
      return;
    }
    if (c.releasing != TimestampContext.NONE) {
      undoRelease(c);
    }
    Mem.casLong(memory, lockOffset(column), c.version | LOCK, c.version + 1);
    c.column = TimestampContext.NONE;
  }

  /** Returns when all current holders have released their column locks. */
  void quiesce() {
    for (int column = 0; column < columns(); column++) {
      long held = version(column);
      for (int spins = 0; held < 0 && version(column) == held; spins++) {
        Waits.spin(spins);
      }
    }
  }

  static boolean spilled(long header) {
    return (header & COUNTS_MASK) != 0;
  }

  /** Returns whether a header counts entries in a level, which is at least 1, or above it. */
  static boolean spilledFrom(long header, int level) {
    return (header & COUNTS_MASK) >>> COUNT_SHIFT[level] != 0;
  }

  static int count(long header, int level) {
    return (int) (header >>> COUNT_SHIFT[level]) & (1 << COUNT_BITS[level]) - 1;
  }

  /** Counts an entry that was added to or left a level above 0. Under the column lock. */
  void addCount(int column, int level, int delta) {
    long offset = headerOffset(column);
    long header = Mem.getLongOpaque(memory, offset) + ((long) delta << COUNT_SHIFT[level]);
    if (level == levels - 1 && count(header, level) == 0) {
      header &= ~(REACH_MASK << REACH_SHIFT);
    }
    Mem.putLongOpaque(memory, offset, header);
  }

  /** Returns how many buckets behind its own an entry of the last level may be. */
  static int reach(long header) {
    return (int) (header >>> REACH_SHIFT & REACH_MASK);
  }

  private static long bucketReachOffset(int slot) {
    return ((long) (slot & -SLOTS_PER_BUCKET) << SLOT_SHIFT) + BUCKET_REACH;
  }

  /**
   * Returns the reach of one bucket of the last level, by a slot of it; a hint, void while the
   * column's {@link #reach} is 0.
   */
  int bucketReach(int slot) {
    return (int) Mem.peekLongOpaque(memory, bucketReachOffset(slot));
  }

  /** Sets the reach of a slot's bucket. Under the column lock. */
  void bucketReach(int slot, int reach) {
    Mem.putLongOpaque(memory, bucketReachOffset(slot), reach);
  }

  /** Raises a column's reach. Under the column lock. */
  void raiseReach(int column, int reach) {
    long offset = headerOffset(column);
    long header = Mem.getLongOpaque(memory, offset);
    if (reach > reach(header)) {
      Mem.putLongOpaque(
          memory, offset, header & ~(REACH_MASK << REACH_SHIFT) | (long) reach << REACH_SHIFT);
    }
  }

  /** Releases the memory. A transaction that ends later reads zeros. */
  void close() {
    closed = true;
    region.release();
  }

  /** Returns whether all words are zero, even those of locked items. For assertions. */
  boolean closed() {
    return closed;
  }
}
