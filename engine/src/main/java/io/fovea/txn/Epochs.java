package io.fovea.txn;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The clock of the exact table: which epoch it is, and since which epoch every running transaction
 * runs.
 *
 * <p><b>What is promised.</b> Let a transaction be between {@link #enter} = e and {@link #exit}.
 * Then every value that {@link #oldest} returned before or returns in between is at most e. So
 * nothing that carries a stamp of e or later counts as old.
 *
 * <p><b>Why.</b> {@code enter} publishes p := epoch, then reads e := epoch again; {@code scan}
 * reads g := epoch, then all publications, and answers at most the minimum of them. All four are
 * volatile and thus in one total order.
 *
 * <ul>
 *   <li>The scan sees p: it answers at most p, and p &lt;= e for the epoch only grows.
 *   <li>The scan reads the place before p was published: then g was read before e was, so g &lt;=
 *       e. Without the second read e would be p, which may be older than g: a transaction that
 *       stalls between read and publication would run with an epoch that others think is over.
 *   <li>The scan sees that the transaction has left: then it is not in between any more. The store
 *       that says so is a release: what the transaction unlocked and published before is visible to
 *       who then takes its entries.
 * </ul>
 *
 * <p>{@code oldest} is a cached answer. It may lag, which keeps entries for longer and harms
 * nothing.
 */
final class Epochs {
  /** Published by a context that holds nothing back: idle, or counting references. */
  static final long IDLE = Long.MAX_VALUE;

  /** Published for a transaction that was expelled; it has yet to notice. */
  static final long EXPELLED = Long.MAX_VALUE - 1;

  private static final VarHandle LONGS =
      MethodHandles.arrayElementVarHandle(long[].class).withInvokeExactBehavior();

  /** Longs from one word to the next: 128 bytes, for lines are fetched in pairs. */
  private static final int STRIDE = 16;

  private static final int EPOCH = STRIDE;
  private static final int OLDEST = 2 * STRIDE;
  private static final int FIRST = 3 * STRIDE;

  private final long[] words;
  private final int contexts;

  Epochs(int contexts) {
    this.contexts = contexts;
    this.words = new long[FIRST + (contexts + 1) * STRIDE];
    for (int ctx = 0; ctx < contexts; ctx++) {
      words[FIRST + ctx * STRIDE] = IDLE;
    }
    words[OLDEST] = 1;
    LONGS.setVolatile(words, EPOCH, 1L); // 0 is the epoch of no one
  }

  /** Begins; returns the epoch to pin with. */
  long enter(int ctx) {
    long seen = (long) LONGS.getVolatile(words, EPOCH);
    LONGS.setVolatile(words, FIRST + ctx * STRIDE, seen);
    return (long) LONGS.getVolatile(words, EPOCH);
  }

  /** Ends; everything that was done to pinned items is visible to who sees this. */
  void exit(int ctx) {
    LONGS.setRelease(words, FIRST + ctx * STRIDE, IDLE);
  }

  /** Gives the epoch up before the end; false if the transaction was expelled by then. */
  boolean leave(int ctx) {
    int at = FIRST + ctx * STRIDE;
    long published = (long) LONGS.getVolatile(words, at);
    return published != EXPELLED && LONGS.compareAndSet(words, at, published, IDLE);
  }

  /** Whether the transaction of a context was expelled since it entered. */
  boolean expelled(int ctx) {
    return (long) LONGS.getVolatile(words, FIRST + ctx * STRIDE) == EXPELLED;
  }

  /**
   * Takes away the hold of the transaction that runs longest, if it runs since {@code lag} epochs
   * at least: what it pinned may be released from then on. It may by then be another transaction of
   * the same context, which is aborted without need.
   */
  boolean expelOldest(long lag) {
    int victim = -1;
    long oldest = now() - lag + 1;
    for (int ctx = 0; ctx < contexts; ctx++) {
      long epoch = (long) LONGS.getVolatile(words, FIRST + ctx * STRIDE);
      if (epoch < oldest) {
        oldest = epoch;
        victim = ctx;
      }
    }
    return victim >= 0 && LONGS.compareAndSet(words, FIRST + victim * STRIDE, oldest, EXPELLED);
  }

  long now() {
    return (long) LONGS.getVolatile(words, EPOCH);
  }

  /** No running transaction pins with an epoch below this. */
  long oldest() {
    return (long) LONGS.getVolatile(words, OLDEST);
  }

  /** Begins the next epoch if it is still {@code seen}, and finds out who is the oldest. */
  void advance(long seen) {
    LONGS.compareAndSet(words, EPOCH, seen, seen + 1);
    scan();
  }

  /** Finds the oldest epoch again. */
  long scan() {
    long oldest = (long) LONGS.getVolatile(words, EPOCH);
    for (int ctx = 0; ctx < contexts; ctx++) {
      oldest = Math.min(oldest, (long) LONGS.getVolatile(words, FIRST + ctx * STRIDE));
    }
    for (long now = oldest(); now < oldest; now = oldest()) {
      if (LONGS.compareAndSet(words, OLDEST, now, oldest)) {
        break;
      }
    }
    return oldest();
  }
}
