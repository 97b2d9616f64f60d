package io.fovea.txn;

import io.fovea.memory.Mem;
import io.fovea.memory.NativeRegion;
import io.fovea.memory.Waits;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * Old versions of records: a ring in native memory, for multi-version timestamp ordering. The trees
 * hold the newest committed version of each record.
 *
 * <pre>
 *    claimed - capacity            start of the oldest transaction       tail  claimed
 *   ──────────┬──────────────────────────────┬─────────────────────────────┬──────┬──► positions
 *   overwritten│ no longer needed            │ may be needed               │ being written
 *
 *   one version, aligned to 8
 *  +----------+----------+------+------+-------+-----+------------+--------------+-----+-------+
 *  | size (4) | tree (4) | item | prev | begin | end | key length | value length | key | value |
 *  +----------+----------+------+------+-------+-----+------------+--------------+-----+-------+
 *   tree    -1: only a gap before the ring's end
 *   prev    the previous version of the same bucket
 *   begin   wts of the version, or an upper bound of it; end: wts of the one that replaced it
 *   value   length -1: there was no such record
 * </pre>
 *
 * <b>Collected by overwriting.</b> A transaction reads the tail <i>before</i> it draws its number
 * t. A version before that position was saved by a transaction with a smaller number, so its end is
 * below t's, and t does not need it. So a transaction needs only versions between its start and the
 * tail, and nothing is freed. If the ring has wrapped since its start, and it needs a version, it
 * aborts.
 *
 * <p><b>Order.</b> As in {@link History}: a saving transaction holds the lock, raises {@code
 * claimed}, writes, raises {@code tail} and the bucket. A reader copies, fences, and checks that
 * {@code claimed} is not beyond its copy. A version is saved before its successor is installed or
 * published, so a transaction that finds an item too new, or a record deleted, finds the version. A
 * version never changes.
 */
final class Versions {
  static final int SIZE = 0;
  static final int TREE = 4;
  static final int ITEM = 8;
  static final int PREV = 16;
  static final int BEGIN = 24;
  static final int END = 32;
  static final int KEY_LENGTH = 40;
  static final int VALUE_LENGTH = 44;
  static final int HEADER = 48;

  private static final int GAP = -1;
  private static final int FIRST = 64; // position 0 means no version
  private static final VarHandle LOCK;

  static {
    try {
      LOCK = MethodHandles.lookup().findVarHandle(Versions.class, "lock", int.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final NativeRegion ringRegion;
  private final NativeRegion bucketRegion;
  private final MemorySegment ring;
  private final MemorySegment buckets;
  private final long capacity;
  private final int bucketShift;

  private volatile long tail = FIRST;
  private volatile long claimed = FIRST;

  @SuppressWarnings("unused") // through LOCK
  private volatile int lock;

  Versions(long bytes) {
    capacity = Long.highestOneBit(Math.max(1 << 10, bytes));
    ringRegion = NativeRegion.reserve(capacity, false, "fovea-versions");
    ring = ringRegion.segment();
    long count = capacity / 64;
    bucketRegion = NativeRegion.reserve(8 * count, false, "fovea-version-buckets");
    buckets = bucketRegion.segment();
    bucketShift = 64 - Long.numberOfTrailingZeros(count);
  }

  static int size(int keyLength, int valueLength) {
    return HEADER + keyLength + Math.max(0, valueLength) + 7 & ~7;
  }

  /** Returns the first position that a transaction may need if it draws its number after this. */
  long tail() {
    return tail;
  }

  /** Returns whether what was read at or after a position was a version. */
  boolean retains(long position) {
    VarHandle.acquireFence();
    return claimed - position <= capacity;
  }

  // ---------------------------------------------------------------- saving

  void lock() {
    for (int attempt = 0; lock != 0 || !LOCK.compareAndSet(this, 0, 1); attempt++) {
      Waits.spin(attempt); // held for a few copies of records, without waits
    }
  }

  void unlock() {
    LOCK.setRelease(this, 0);
  }

  void save(MemorySegment from, long offset) {
    int size = Mem.getInt(from, offset + SIZE);
    long at = tail;
    if (size > capacity / 4) {
      // The versions would overwrite nearly the whole ring: only claim it, so that older
      // transactions abort.
      claimed = at + 2 * capacity;
      tail = at + 2 * capacity;
      return;
    }
    long left = capacity - (at & capacity - 1);
    long gap = left < size ? left : 0;
    claimed = at + gap + size;
    VarHandle.fullFence();
    if (gap > 0) {
      Mem.putInt(ring, at(at) + SIZE, (int) gap);
      Mem.putInt(ring, at(at) + TREE, GAP);
      at += gap;
    }
    long bucket = bucket(Mem.getLong(from, offset + ITEM));
    Mem.copy(from, offset, ring, at(at), size);
    Mem.putLong(ring, at(at) + PREV, Mem.getLong(buckets, bucket));
    tail = at + size;
    Mem.putLongVolatile(buckets, bucket, at);
  }

  // ---------------------------------------------------------------- reading

  private long at(long position) {
    return position & capacity - 1;
  }

  private long bucket(long item) {
    return (item * TimestampTable.SPREAD >>> bucketShift) << 3;
  }

  /** Returns the newest version of an item's bucket; {@link #prev} gives the next. */
  long newest(long item) {
    return Mem.getLongVolatile(buckets, bucket(item));
  }

  long prev(long position) {
    return Mem.getLong(ring, at(position) + PREV);
  }

  long next(long position) {
    return position + Mem.getInt(ring, at(position) + SIZE);
  }

  int tree(long position) {
    return Mem.getInt(ring, at(position) + TREE);
  }

  long item(long position) {
    return Mem.getLong(ring, at(position) + ITEM);
  }

  long begin(long position) {
    return Mem.getLong(ring, at(position) + BEGIN);
  }

  long end(long position) {
    return Mem.getLong(ring, at(position) + END);
  }

  int keyLength(long position) {
    return Mem.getInt(ring, at(position) + KEY_LENGTH);
  }

  int valueLength(long position) {
    return Mem.getInt(ring, at(position) + VALUE_LENGTH);
  }

  /** Keys and values; read only with lengths that {@link #retains} has confirmed. */
  MemorySegment segment() {
    return ring;
  }

  long keyOffset(long position) {
    return at(position) + HEADER;
  }

  long bytes() {
    return capacity + capacity / 8;
  }

  void close() {
    ringRegion.release();
    bucketRegion.release();
  }
}
