package io.fovea.txn;

import io.fovea.memory.Mem;
import io.fovea.memory.NativeRegion;
import io.fovea.memory.Waits;
import java.lang.foreign.MemorySegment;

/**
 * The exact table: where an item may live, and who may write what. The protocol is in {@link
 * Timestamps}.
 *
 * <pre>
 *  bucket = 128 bytes, aligned: 4 slots of 32 bytes, two lines
 *  +------+-------+------+--------+   +------+-------+------+-------+   +-- ... +-------+
 *  | item | stamp | word | HEADER |   | item | stamp | word | LOCK  |   |       | REACH |
 *  +------+-------+------+--------+   +------+-------+------+-------+   +-- ... +-------+
 *   item    hash; 0 = free. Written under the column lock while stamp is 0
 *   stamp   0 = free, else live, references, epoch (below). Pinners raise it, a release sets it to 0,
 *           both by CAS on this one word: that is where they meet
 *   word    {@link TidWord}; a thread that has the item pinned may lock and extend it. LOCK while free
 *   header  in slot 0 of a column's first bucket: its counters. Written under the column's lock
 *   lock    in slot 1 of it: the column's lock and how often it was held
 *   reach   in slot 3 of a bucket of the last level: how far behind it an entry may lie that would
 *           be here if there were room. An upper bound, under the column's lock; void while the
 *           header's reach is 0. A miss walks this far and no farther, and {@link Entries#tidy}
 *           lowers it: with one for the whole column each miss would walk the farthest way that any
 *           entry of a huge transaction ever had to go, until the level is empty
 *
 *  column = the buckets that share the top bits of the item's mixed hash. One of them is in level 0
 *  (64 where all entries stay), the others are used when that is full of entries in use:
 *
 *    level          0   1   2    3     4      5
 *    buckets        1   1   8   64   512   4096     for each column, while the budget allows
 *
 *  header: 46..57 reach | 45 bits: how many entries the column has in levels 1 to 5
 *   reach   in the last level no entry lies more than this many buckets behind its own
 *  lock: 63 locked | version, which moves with every release: a thread that finds nothing, and then locks the
 *   version that he had read before he looked, need not look again
 * </pre>
 *
 * <p>An item's bucket in each level follows from its hash alone, so that a hit is one or two lines
 * at addresses known from the start: no directory, no pointer, and nothing ever moves. The levels
 * are there for transactions that pin millions of items; they are virtual memory until touched. One
 * lock for the whole column leaves nothing to be ordered.
 *
 * <p><i>Rejected:</i> a slab of entries behind a table of indices that doubles (two dependent loads
 * for each hit, and a rehash that somebody has to wait for); one open-addressing table that grows
 * (moves entries in use, against the rule that a slot stays).
 *
 * <p>Two hot items share a line when they fall into neighbouring slots of one bucket. That is luck:
 * a line for each entry would double the memory that all others touch.
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

  /** log2 of the most buckets that a column may have in each level above the first. */
  private static final int[] FACTOR_BITS = {0, 0, 3, 6, 9, 12};

  /** Where the header counts a level's entries. A level holds up to 4 << FACTOR_BITS of them. */
  private static final int[] COUNT_SHIFT = {0, 0, 3, 9, 18, 30};

  private static final int[] COUNT_BITS = {0, 3, 6, 9, 12, 15};
  private static final long COUNTS_MASK = (1L << 45) - 1;
  private static final int REACH_SHIFT = 46;
  private static final long REACH_MASK = (1L << 12) - 1;
  private static final long LOCK = Long.MIN_VALUE;

  /** After so many looks at a lock who waits for it looks at the engine; a power of two less 1. */
  private static final int LOOK = (1 << 8) - 1;

  /** How often it looks who can do without the lock. */
  private static final int PATIENCE = 1 << 9;

  /** 2^64 divided by the golden ratio: its product spreads the item into the top bits. */
  static final long SPREAD = 0x9E3779B97F4A7C15L;

  private final NativeRegion region;
  private volatile boolean closed;
  private final MemorySegment memory;
  private final int columnBits;
  private final int columnShift;
  private final int homeShift;

  /** log2 of the distance of two columns in level 0, in bytes. */
  private final int strideShift;

  private final int levels;
  private final int slots;
  private final int[] factorBits = new int[LEVELS_MAX];
  private final int[] levelBase = new int[LEVELS_MAX];
  private final int[] levelShift = new int[LEVELS_MAX];
  private Runnable waiting = () -> {};

  /**
   * @param activeTimestampBytes what level 0 should take; rounded down to a power of two
   * @param budgetBytes what all levels together may take
   * @param wideBits log2 of the buckets that a column has in level 0. Where entries come and go it
   *     is 0. Where they stay, level 0 has most of them; then it is the columns that have to be
   *     wide, or the first one to be full ends it while others are half empty
   */
  TimestampTable(long activeTimestampBytes, long budgetBytes, int wideBits) {
    if (activeTimestampBytes < 2 * BUCKET_BYTES || budgetBytes < activeTimestampBytes) {
      throw new IllegalArgumentException(
          "Exact table: "
              + activeTimestampBytes
              + " of "
              + budgetBytes
              + " bytes, expected at least "
              + 2 * BUCKET_BYTES
              + " and no more than the budget.");
    }
    // Not fewer columns than the largest level allows for in the budget, not more than ints count.
    long first = Math.max(activeTimestampBytes, budgetBytes >>> FACTOR_BITS[LEVELS_MAX - 1] + 1);
    int firstBits = Math.min(63 - Long.numberOfLeadingZeros(first / BUCKET_BYTES), 24);
    int wide = Math.min(wideBits, firstBits - 1);
    columnBits = firstBits - wide;
    columnShift = 64 - columnBits;
    homeShift = 64 - firstBits;
    strideShift = wide + Integer.numberOfTrailingZeros(BUCKET_BYTES);
    long most = Math.min(budgetBytes / BUCKET_BYTES, Integer.MAX_VALUE / SLOTS_PER_BUCKET);
    long buckets = 0;
    int level = 0;
    while (level < LEVELS_MAX && (level == 0 || buckets + columns() <= most)) {
      // The last level takes what the budget leaves, as a power of two.
      long each = most - buckets >>> columnBits;
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

  // ---------------------------------------------------------------- places

  int levels() {
    return levels;
  }

  int columns() {
    return 1 << columnBits;
  }

  /** The most entries that there can be. */
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
   * The slot of an item's first bucket that it takes if it can: that is where it is looked for
   * first, and a branch that is nearly always taken costs nothing. The other three of the bucket
   * are {@code slot ^ 1} to {@code slot ^ 3}; so for all that return a slot here.
   */
  int firstSlot(long item) {
    long mixed = item * SPREAD;
    return (int) (mixed >>> homeShift) * SLOTS_PER_BUCKET | preferred(mixed);
  }

  /** The slot that an item takes if it can in a level. */
  int place(long item, int level) {
    long mixed = item * SPREAD;
    return levelBase[level]
        + ((int) (mixed >>> levelShift[level]) * SLOTS_PER_BUCKET | preferred(mixed));
  }

  /** The same in a bucket some way behind the item's own, round and round in its column. */
  int placeBehind(long item, int column, int level, int distance) {
    int first = firstSlot(column, level);
    int own = place(item, level) - first;
    return first + (own + distance * SLOTS_PER_BUCKET & slotsOfColumn(level) - 1);
  }

  /** Two bits that neither choose the bucket nor look like the sketch's. */
  private static int preferred(long mixed) {
    return (int) (mixed >>> 16) & SLOTS_PER_BUCKET - 1;
  }

  /** The first slot that a column has in a level; those of one column follow each other. */
  int firstSlot(int column, int level) {
    return levelBase[level] + (column << factorBits[level]) * SLOTS_PER_BUCKET;
  }

  /** How many slots a column has in a level. */
  int slotsOfColumn(int level) {
    return SLOTS_PER_BUCKET << factorBits[level];
  }

  /** The level that a slot belongs to. */
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

  /** Under the column lock, while the stamp is 0. */
  void item(int slot, long item) {
    Mem.putLongOpaque(memory, ((long) slot << SLOT_SHIFT) + ITEM, item);
  }

  /**
   * Loads what a pin looks at, before it does: the bucket's two lines, whose addresses follow from
   * the item alone.
   *
   * @return anything; to be kept somewhere, so that the loads are made
   */
  long load(long item) {
    long bucket = (long) (firstSlot(item) & -SLOTS_PER_BUCKET) << SLOT_SHIFT;
    return Mem.peekLong(memory, bucket) + Mem.peekLong(memory, bucket + BUCKET_BYTES / 2);
  }

  /** Acquires: what was written before the stamp was set is visible, item and word among it. */
  long stampAcquire(int slot) {
    assert slot >= 0 && slot < slots : slot;
    return Mem.peekLongAcquire(memory, ((long) slot << SLOT_SHIFT) + STAMP);
  }

  /** Partner of {@link #stampAcquire}; only where no other thread may write the stamp. */
  void stampRelease(int slot, long stamp) {
    Mem.putLongRelease(memory, ((long) slot << SLOT_SHIFT) + STAMP, stamp);
  }

  boolean casStamp(int slot, long expect, long update) {
    return Mem.casLong(memory, ((long) slot << SLOT_SHIFT) + STAMP, expect, update);
  }

  long addStamp(int slot, long delta) {
    return Mem.getAndAddLong(memory, ((long) slot << SLOT_SHIFT) + STAMP, delta);
  }

  /** Not checked by the memory: a number that is no slot would read what lies behind the table. */
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

  /** The counters of a column; outside of its lock a hint. */
  long header(int column) {
    return Mem.peekLongOpaque(memory, headerOffset(column));
  }

  private long lockOffset(int column) {
    return ((long) column << strideShift) + LOCK_WORD;
  }

  /**
   * What {@link #tryLock(int, long)} expects. Acquires: a thread that then locks this version has
   * seen all entries that there are in the column, as far as it has looked.
   */
  long version(int column) {
    return Mem.peekLongAcquire(memory, lockOffset(column));
  }

  /** Says what a thread does that waits for a lock for long: it throws where it is not to wait. */
  void whileWaiting(Runnable look) {
    waiting = look;
  }

  /** Locks a column if nobody has it, or had it since the version was read. */
  boolean tryLock(TimestampContext c, int column, long version) {
    if (c.column != TimestampContext.NONE) {
      recover(c);
    }
    if (version < 0 || !Mem.casLong(memory, lockOffset(column), version, version | LOCK)) {
      return false;
    }
    // Stores only: from here on the context knows what it has, whatever fails.
    c.column = column;
    c.version = version;
    return true;
  }

  /**
   * Locks a column. It is held for some hundred instructions, none of which waits, but where
   * timestamps are on disk: then the holder may wait for one of their pages, and those who wait for
   * him must let him come back.
   *
   * <p>A full stack may keep a holder from unlocking: then it does so as it locks another column or
   * ends ({@link #recover}). Who waits meanwhile looks now and then whether the engine has stopped.
   */
  void lock(TimestampContext c, int column) {
    for (int spins = 0; !tryLock(c, column, version(column)); spins++) {
      Waits.spin(spins);
      if ((spins & LOOK) == LOOK) {
        waiting.run();
      }
    }
  }

  /** The same for who can do without it; false where it was not to be had for long. */
  boolean lockOrLeave(TimestampContext c, int column) {
    for (int spins = 0; spins < PATIENCE; spins++) {
      if (tryLock(c, column, version(column))) {
        return true;
      }
      Waits.spin(spins);
    }
    return false;
  }

  /** Releases: the next holder sees all that was done under the lock, sketch cells included. */
  void unlock(TimestampContext c, int column) {
    assert c.column == column : "the lock of column " + column + " is another's";
    if (c.releasing != TimestampContext.NONE) {
      takeBack(c);
    }
    Mem.putLongRelease(memory, lockOffset(column), c.version + 1);
    c.column = TimestampContext.NONE;
  }

  /** A slot that is not released after all: no one else writes the stamp of a free slot. */
  void takeBack(TimestampContext c) {
    int slot = c.releasing;
    if (c.wordHeld) {
      wordRelease(slot, c.releasedWord);
      c.wordHeld = false;
    }
    stampRelease(slot, c.releasedStamp);
    c.releasing = TimestampContext.NONE;
  }

  /**
   * Gives back what an error has kept. By a compare-and-set, because the lock may have gone before
   * the error, and be another's: each hold has a version of its own.
   */
  void recover(TimestampContext c) {
    int column = c.column;
    if (column == TimestampContext.NONE) {
      return;
    }
    if (c.releasing != TimestampContext.NONE) {
      takeBack(c);
    }
    Mem.casLong(memory, lockOffset(column), c.version | LOCK, c.version + 1);
    c.column = TimestampContext.NONE;
  }

  /** Returns when everybody has left the columns' locks who has one now. */
  void quiesce() {
    for (int column = 0; column < columns(); column++) {
      long held = version(column);
      for (int spins = 0; held < 0 && version(column) == held; spins++) {
        Waits.spin(spins);
      }
    }
  }

  /** Whether a header counts an entry above level 0. */
  static boolean spilled(long header) {
    return (header & COUNTS_MASK) != 0;
  }

  /** Whether a header counts an entry in a level or one above it; the level is 1 at least. */
  static boolean spilledFrom(long header, int level) {
    return (header & COUNTS_MASK) >>> COUNT_SHIFT[level] != 0;
  }

  static int count(long header, int level) {
    return (int) (header >>> COUNT_SHIFT[level]) & (1 << COUNT_BITS[level]) - 1;
  }

  /** Counts an entry that came to or left a level above 0. Under the column lock. */
  void addCount(int column, int level, int delta) {
    long offset = headerOffset(column);
    long header = Mem.getLongOpaque(memory, offset) + ((long) delta << COUNT_SHIFT[level]);
    if (level == levels - 1 && count(header, level) == 0) {
      header &= ~(REACH_MASK << REACH_SHIFT);
    }
    Mem.putLongOpaque(memory, offset, header);
  }

  /** How many buckets behind its own an entry of the last level may lie. */
  static int reach(long header) {
    return (int) (header >>> REACH_SHIFT & REACH_MASK);
  }

  private static long bucketReachOffset(int slot) {
    return ((long) (slot & -SLOTS_PER_BUCKET) << SLOT_SHIFT) + BUCKET_REACH;
  }

  /**
   * How many buckets behind its own an entry may lie whose own bucket is that of a slot of the last
   * level, while {@link #reach} of the column is not 0. Outside of the lock a hint.
   */
  int bucketReach(int slot) {
    return (int) Mem.peekLongOpaque(memory, bucketReachOffset(slot));
  }

  /** Under the column lock. */
  void bucketReach(int slot, int reach) {
    Mem.putLongOpaque(memory, bucketReachOffset(slot), reach);
  }

  /** Under the column lock. */
  void raiseReach(int column, int reach) {
    long offset = headerOffset(column);
    long header = Mem.getLongOpaque(memory, offset);
    if (reach > reach(header)) {
      Mem.putLongOpaque(
          memory, offset, header & ~(REACH_MASK << REACH_SHIFT) | (long) reach << REACH_SHIFT);
    }
  }

  /** Gives the memory back. A transaction that ends later reads zeros, and does no harm. */
  void close() {
    closed = true;
    region.release();
  }

  /** Whether all words are zero now, those of locked items as well. For assertions. */
  boolean closed() {
    return closed;
  }
}
