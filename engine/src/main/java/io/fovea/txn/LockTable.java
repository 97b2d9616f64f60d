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
 *  | X |   how many hold it in shared mode |      X and a count exclude each other
 *  +---+-----------------------------------+
 * </pre>
 *
 * A lock is a word at a place that follows from the item's hash; items that share a place are one
 * item, which is coarser and still right. So there is nothing to be made, found or evicted, and the
 * memory is bounded whatever transactions do: with 2^20 places and 800 of them held, one access in
 * a thousand meets a lock of another item.
 *
 * <p>The holders of a lock are known to themselves alone ({@link TwoPhaseLocking}). Nobody waits
 * here.
 *
 * <p><b>Order.</b> A lock is taken by a compare-and-set and unlocked by a release (or an atomic
 * add): a thread that gets it sees what the last holder has installed.
 *
 * <p><i>Rejected:</i> the words of {@link Timestamps} as locks: counts of readers would go to the
 * sketch with them, and the dissertation's point about two-phase locking is that it needs no memory
 * for keys that are not in use.
 */
final class LockTable {
  private static final long EXCLUSIVE = Long.MIN_VALUE;

  private final NativeRegion region;
  private final MemorySegment words;
  private final int places;
  private final int shift;

  /** From then on the words are zero, whatever a late transaction still holds. For assertions. */
  private volatile boolean closed;

  /**
   * @param bytes 8 for each place, rounded down to a power of two
   */
  LockTable(long bytes) {
    places = Integer.highestOneBit((int) Math.min(1 << 28, Math.max(2, bytes >>> 3)));
    shift = 64 - Integer.numberOfTrailingZeros(places);
    region = NativeRegion.reserve(8L * places, false, "fovea-locks");
    words = region.segment();
  }

  /** The place of an item's lock. */
  int place(long item) {
    return (int) (item * TimestampTable.SPREAD >>> shift);
  }

  /** One holder more in shared mode, unless one has it exclusively. */
  boolean tryShare(int place) {
    long at = (long) place << 3;
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

  /** Takes it exclusively, if nobody has it. */
  boolean tryExclude(int place) {
    return Mem.casLong(words, (long) place << 3, 0, EXCLUSIVE);
  }

  /** From shared to exclusive, if the caller is the only one who has it. */
  boolean tryUpgrade(int place) {
    return Mem.casLong(words, (long) place << 3, 1, EXCLUSIVE);
  }

  void unshare(int place) {
    long before = Mem.getAndAddLong(words, (long) place << 3, -1);
    assert before > 0 || closed : "place " + place + " was not shared: " + before;
  }

  void release(int place) {
    assert Mem.peekLongOpaque(words, (long) place << 3) == EXCLUSIVE || closed
        : "place " + place + " was not locked exclusively";
    Mem.putLongRelease(words, (long) place << 3, 0);
  }

  /** How many places are locked in any mode: a moment's truth, for tests. */
  int held() {
    int n = 0;
    for (int place = 0; place < places; place++) {
      n += Mem.getLongVolatile(words, (long) place << 3) != 0 ? 1 : 0;
    }
    return n;
  }

  long bytes() {
    return 8L * places;
  }

  /** Gives the memory back. A transaction that ends later reads zeros, and does no harm. */
  void close() {
    closed = true;
    region.release();
  }
}
