package io.fovea.txn;

import io.fovea.memory.Mem;
import io.fovea.memory.NativeRegion;
import java.lang.foreign.MemorySegment;

/**
 * Shared and exclusive locks on items, for two-phase locking without waiting.
 *
 * <pre>
 *   63                                     0
 *  +---+-----------------------------------+
 *  | X |   number of shared holders        |      X and a count exclude each other
 *  +---+-----------------------------------+
 * </pre>
 *
 * A lock is a word of a fixed table, at an index given by a hash of the item. Items with the same
 * index share a lock, which is coarser but correct. Memory is bounded, and no lock is created or
 * evicted. Only the holders of a lock know that they hold it ({@link TwoPhaseLocking}).
 *
 * <p>A lock is taken by a compare-and-set and released by a release store (or an atomic add): a
 * thread that gets it sees what the last holder has installed.
 */
final class LockTable {
  private static final long EXCLUSIVE = Long.MIN_VALUE;

  private final NativeRegion region;
  private final MemorySegment words;
  private final int size;
  private final int shift;

  /** Once set, words read as zero even if a late transaction holds them. For assertions. */
  private volatile boolean closed;

  LockTable(long bytes) {
    size = Integer.highestOneBit((int) Math.min(1 << 28, Math.max(2, bytes >>> 3)));
    shift = 64 - Integer.numberOfTrailingZeros(size);
    region = NativeRegion.reserve(8L * size, false, "fovea-locks");
    words = region.segment();
  }

  int indexOf(long item) {
    return (int) (item * TimestampTable.SPREAD >>> shift);
  }

  boolean tryShare(int index) {
    long at = (long) index << 3;
    while (true) {
      long word = Mem.peekLongVolatile(words, at);
      if (word < 0) {
        return false;
      }
      if (Mem.casLong(words, at, word, word + 1)) {
        return true;
      }
    }
  }

  boolean tryExclude(int index) {
    return Mem.casLong(words, (long) index << 3, 0, EXCLUSIVE);
  }

  /** Turns a shared lock into an exclusive one, if the caller is the only holder. */
  boolean tryUpgrade(int index) {
    return Mem.casLong(words, (long) index << 3, 1, EXCLUSIVE);
  }

  void unshare(int index) {
    long before = Mem.getAndAddLong(words, (long) index << 3, -1);
    assert before > 0 || closed : "lock " + index + " was not shared: " + before;
  }

  void release(int index) {
    assert Mem.peekLongOpaque(words, (long) index << 3) == EXCLUSIVE || closed
        : "lock " + index + " was not locked exclusively";
    Mem.putLongRelease(words, (long) index << 3, 0);
  }

  int held() {
    int n = 0;
    for (int index = 0; index < size; index++) {
      n += Mem.getLongVolatile(words, (long) index << 3) != 0 ? 1 : 0;
    }
    return n;
  }

  long bytes() {
    return 8L * size;
  }

  /** Releases the memory. A transaction that ends later reads zeros. */
  void close() {
    closed = true;
    region.release();
  }
}
