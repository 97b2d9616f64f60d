package io.fovea.txn;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The clock of the exact table: the current epoch, and the epoch in which each running transaction
 * began.
 *
 * <p><b>Claim.</b> Let a transaction be between {@link #enter} = e and {@link #exit}. Then every
 * value that {@link #oldest} returned before or returns in between is at most e.
 *
 * <p><b>Proof.</b> {@code enter} publishes p := epoch, then reads e := epoch; {@code scan} reads g
 * := epoch, then all publications, and returns at most their minimum. All four are volatile and
 * thus in one total order.
 *
 * <ul>
 *   <li>The scan sees p: it returns at most p, and p &lt;= e because the epoch only grows.
 *   <li>The scan reads the publication before p is stored: then g was read before e, so g &lt;= e.
 *       Without the second read, e would be p, which may be older than g: a transaction that stalls
 *       before its publication would use an epoch that others consider over.
 *   <li>The scan sees that the transaction has left, by a release store: whatever it unlocked and
 *       published is visible to a thread that takes its entries.
 * </ul>
 *
 * <p>{@code oldest} is cached. If it lags, entries are only kept longer.
 */
final class Epochs {
  /** Published by a context that holds nothing back: idle, or counting references. */
  static final long IDLE = Long.MAX_VALUE;

  /** Published for an evicted transaction, which may not know it yet. */
  static final long EVICTED = Long.MAX_VALUE - 1;

  private static final VarHandle LONGS =
      MethodHandles.arrayElementVarHandle(long[].class).withInvokeExactBehavior();

  /** Longs per word: 128 bytes, because cache lines are fetched in pairs. */
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
    LONGS.setVolatile(words, EPOCH, 1L); // 0 is never an epoch
  }

  /** Begins; returns the epoch to pin with. */
  long enter(int ctx) {
    long seen = (long) LONGS.getVolatile(words, EPOCH);
    LONGS.setVolatile(words, FIRST + ctx * STRIDE, seen);
    return (long) LONGS.getVolatile(words, EPOCH);
  }

  /** Ends; release: a thread that sees this sees all changes of the pinned items. */
  void exit(int ctx) {
    LONGS.setRelease(words, FIRST + ctx * STRIDE, IDLE);
  }

  /** Gives the epoch up before the end; returns false if the transaction was evicted. */
  boolean leave(int ctx) {
    int at = FIRST + ctx * STRIDE;
    long published = (long) LONGS.getVolatile(words, at);
    return published != EVICTED && LONGS.compareAndSet(words, at, published, IDLE);
  }

  boolean isEvicted(int ctx) {
    return (long) LONGS.getVolatile(words, FIRST + ctx * STRIDE) == EVICTED;
  }

  /**
   * Evicts the longest-running transaction, if it has run for at least {@code lag} epochs. If the
   * context runs another transaction by then, that transaction is aborted needlessly.
   */
  boolean evictOldest(long lag) {
    int victim = -1;
    long oldest = now() - lag + 1;
    for (int ctx = 0; ctx < contexts; ctx++) {
      long epoch = (long) LONGS.getVolatile(words, FIRST + ctx * STRIDE);
      if (epoch < oldest) {
        oldest = epoch;
        victim = ctx;
      }
    }
    return victim >= 0 && LONGS.compareAndSet(words, FIRST + victim * STRIDE, oldest, EVICTED);
  }

  long now() {
    return (long) LONGS.getVolatile(words, EPOCH);
  }

  /** Returns a lower bound of the epochs with which running transactions pin. */
  long oldest() {
    return (long) LONGS.getVolatile(words, OLDEST);
  }

  /** Begins the next epoch if the current one is {@code seen}, and determines the oldest. */
  void advance(long seen) {
    LONGS.compareAndSet(words, EPOCH, seen, seen + 1);
    scan();
  }

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
