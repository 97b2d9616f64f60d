package io.fovea.tpcc.ycsb;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Counts records while clients insert more. Numbers are issued in order, and all below {@link
 * #limit} are committed, so a reader that draws a number below it finds the record.
 *
 * <pre>
 *   0          limit            issued
 *   |##########|#.##..#.........|            # committed
 * </pre>
 *
 * <p>The client that commits the number at the limit advances it past all committed numbers. A slot
 * of the window holds 1 + the last committed number among those that share it, so slots need no
 * clearing. Numbers are issued at most one window ahead of the limit. Any thread.
 */
final class KeyCount {
  /** Each client has one insert in flight, and there are fewer clients than this. */
  private static final int WINDOW = 1 << 16;

  private final AtomicLongArray committed = new AtomicLongArray(WINDOW);
  private final AtomicLong issued;
  private final AtomicLong limit;

  KeyCount(long count) {
    issued = new AtomicLong(count);
    limit = new AtomicLong(count);
  }

  /** Returns a lower bound of the number of records: all numbers below it are committed. */
  long limit() {
    return limit.get();
  }

  /**
   * Issues the number of a record to insert. The caller must commit it eventually. Returns -1 if the window is full, because the record at the limit takes long.
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

  /** Records a committed number. */
  void committed(long number) {
    committed.set(slot(number), number + 1);
    // Volatile: each client stores its slot before it reads. Of two clients that commit neighboring
    // numbers concurrently, one sees the other's slot, or the other sees the advanced limit.
    for (long at = limit.get(); committed.get(slot(at)) == at + 1; at = limit.get()) {
      limit.compareAndSet(at, at + 1);
    }
  }

  private static int slot(long number) {
    return (int) (number & (WINDOW - 1));
  }
}
