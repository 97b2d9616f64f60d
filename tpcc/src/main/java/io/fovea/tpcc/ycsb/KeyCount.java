package io.fovea.tpcc.ycsb;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * How many records there are while clients insert more: numbers are given out in order, and all
 * below {@link #limit} are committed, so that whoever draws one below it finds the record.
 *
 * <pre>
 *   0          limit            issued
 *   |##########|#.##..#.........|            # committed
 * </pre>
 *
 * <p>Who commits the number at the limit moves it on past all that were committed before it. A slot
 * of the window holds the number + 1 that was committed last of those that share it, so nothing has
 * to be cleared; numbers are not given out further ahead than the window is long. Any thread.
 */
final class KeyCount {
  /** Clients have one insert under way each, and there are fewer of them. */
  private static final int WINDOW = 1 << 16;

  private final AtomicLongArray committed = new AtomicLongArray(WINDOW);
  private final AtomicLong issued;
  private final AtomicLong limit;

  KeyCount(long count) {
    issued = new AtomicLong(count);
    limit = new AtomicLong(count);
  }

  /** How many records there are at least, without a gap. */
  long limit() {
    return limit.get();
  }

  /**
   * Takes the number of a record to be inserted; it must be committed at last.
   *
   * @return -1 where the window is full: somebody has been at the record of the limit for long
   */
  long take() {
    while (true) {
      long n = issued.get();
      if (n - limit.get() >= WINDOW) {
        return -1;
      }
      if (issued.compareAndSet(n, n + 1)) {
        return n;
      }
    }
  }

  /** Notes that a record is there. */
  void committed(long number) {
    committed.set(slot(number), number + 1);
    // Volatile, and each stores before it reads: of two neighbours that commit at the same time,
    // one
    // finds the other's slot, or the other finds the limit that the one has moved.
    for (long at = limit.get(); committed.get(slot(at)) == at + 1; at = limit.get()) {
      limit.compareAndSet(at, at + 1);
    }
  }

  private static int slot(long number) {
    return (int) (number & (WINDOW - 1));
  }
}
