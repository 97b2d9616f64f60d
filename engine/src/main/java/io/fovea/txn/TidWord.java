package io.fovea.txn;

/**
 * The packed timestamp word of an item: TicToc's (wts, rts) and a lock in 64 bits (Yu, Pavlo,
 * Sanchez, Devadas, SIGMOD 2016, section 3.6).
 *
 * <pre>
 *   63    62        48 47                                           0
 *  +----+------------+----------------------------------------------+
 *  |lock| delta (15) |                   wts (48)                   |
 *  +----+------------+----------------------------------------------+
 *   lock   set by the CAS of a committing writer, cleared by it alone; never set in the sketch
 *   delta  rts - wts: how long the version is known to have been valid; raised by validating readers
 *   wts    commit timestamp of the write that made the version
 * </pre>
 *
 * <p>The current version of an item is valid at every timestamp in [wts, rts]. If the distance does
 * not fit into 15 bits, {@link #pack} raises wts by the smallest multiple of 2^15 that makes it
 * fit; rts is exact. So a word is an upper bound, field by field, of what went into it, and wts
 * &lt;= rts (Property 2 of the dissertation). Timestamps grow by at most one per commit: 48 bits
 * last for a century at 80,000 commits a second.
 */
public final class TidWord {
  /** The lock bit; it is the sign, so the test is one comparison. */
  static final long LOCK = Long.MIN_VALUE;

  static final int WTS_BITS = 48;
  static final int DELTA_BITS = 15;

  /** The largest timestamp. */
  public static final long TIMESTAMP_MAX = (1L << WTS_BITS) - 1;

  static final long DELTA_MAX = (1L << DELTA_BITS) - 1;

  private TidWord() {}

  /** Returns the timestamp of the write that made the version. */
  public static long wts(long word) {
    return word & TIMESTAMP_MAX;
  }

  /** Returns the latest timestamp at which the version is known to be valid. */
  public static long rts(long word) {
    return (word & TIMESTAMP_MAX) + delta(word);
  }

  /** Returns the distance of rts from wts. */
  public static long delta(long word) {
    return (word >>> WTS_BITS) & DELTA_MAX;
  }

  /** Returns whether a committing writer holds the item. */
  public static boolean isLocked(long word) {
    return word < 0;
  }

  /** Returns the word with the lock set. */
  public static long withLock(long word) {
    return word | LOCK;
  }

  /** Returns the word with the lock clear. */
  public static long withoutLock(long word) {
    return word & ~LOCK;
  }

  /**
   * Returns the unlocked word of two timestamps, 0 &lt;= wts &lt;= rts. If their distance does not
   * fit, wts is raised by the smallest multiple of 2^15 that makes it fit.
   */
  public static long pack(long wts, long rts) {
    assert 0 <= wts && wts <= rts && rts <= TIMESTAMP_MAX : range(wts, rts);
    long delta = rts - wts;
    // delta & ~DELTA_MAX is 0 if it fits, otherwise the multiple of 2^15 that leaves the rest.
    return (delta & DELTA_MAX) << WTS_BITS | (wts + (delta & ~DELTA_MAX));
  }

  /**
   * Returns the word with rts raised, and the same lock bit. On overflow, wts rises by a multiple
   * of 2^15, beyond the former rts: see {@link Timestamps#extend}.
   */
  static long extended(long word, long rts) {
    return rts <= rts(word) ? word : pack(wts(word), rts) | (word & LOCK);
  }

  /**
   * Returns the larger wts and the larger rts of two unlocked words. Nothing is rounded: the new
   * distance is at most that of the word with the larger rts.
   */
  static long max(long a, long b) {
    return pack(Math.max(wts(a), wts(b)), Math.max(rts(a), rts(b)));
  }

  /**
   * Returns the smaller wts and the smaller rts of two unlocked words. Nothing is rounded: the new
   * distance is at most that of the word with the smaller wts.
   */
  static long min(long a, long b) {
    return pack(Math.min(wts(a), wts(b)), Math.min(rts(a), rts(b)));
  }

  static String toString(long word) {
    return "(wts " + wts(word) + ", rts " + rts(word) + (isLocked(word) ? ", locked)" : ")");
  }

  private static String range(long wts, long rts) {
    return "timestamps out of range: wts " + wts + ", rts " + rts;
  }
}
