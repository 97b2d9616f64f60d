package io.fovea.txn;

/**
 * The packed timestamp word of an item: TicToc's (wts, rts) and a lock in 64 bits.
 *
 * <pre>
 *   63    62        48 47                                           0
 *  +----+------------+----------------------------------------------+
 *  |lock| delta (15) |                   wts (48)                   |
 *  +----+------------+----------------------------------------------+
 *   lock   set by the CAS of a committing writer, cleared by it alone; never set in the sketch
 *   delta  rts - wts: how long the version is known to have been valid; grown by validating readers
 *   wts    commit timestamp of the write that made the version
 * </pre>
 *
 * <p>The version that an item has now is valid at every timestamp in [wts, rts]. A pair whose
 * distance does not fit into 15 bits is represented by a larger wts, never by another rts: {@link
 * #pack} adds the smallest multiple of 2^15 to wts that makes it fit. So a word is always an upper
 * bound, field by field, of what went into it, and wts &lt;= rts by construction (Property 2 of the
 * dissertation).
 *
 * <p>Timestamps count commits, at most one step for each, so 48 bits last for a century at 80,000
 * commits a second.
 *
 * <p>After Yu, Pavlo, Sanchez, Devadas: TicToc, SIGMOD 2016, section 3.6.
 */
public final class TidWord {
  /** The lock bit; it is the sign, so that the test is one compare. */
  static final long LOCK = Long.MIN_VALUE;

  static final int WTS_BITS = 48;
  static final int DELTA_BITS = 15;

  /** The largest timestamp there is. */
  public static final long TIMESTAMP_MAX = (1L << WTS_BITS) - 1;

  /** The largest distance of rts from wts that a word can hold. */
  static final long DELTA_MAX = (1L << DELTA_BITS) - 1;

  private TidWord() {}

  /** The timestamp of the write that made the version. */
  public static long wts(long word) {
    return word & TIMESTAMP_MAX;
  }

  /** The latest timestamp at which the version is known to be valid. */
  public static long rts(long word) {
    return (word & TIMESTAMP_MAX) + delta(word);
  }

  /** The distance of rts from wts. */
  public static long delta(long word) {
    return (word >>> WTS_BITS) & DELTA_MAX;
  }

  /** Whether a committing writer holds the item. */
  public static boolean isLocked(long word) {
    return word < 0;
  }

  /** The same timestamps with the lock set. */
  public static long withLock(long word) {
    return word | LOCK;
  }

  /** The same timestamps with the lock clear. */
  public static long withoutLock(long word) {
    return word & ~LOCK;
  }

  /**
   * The unlocked word of a pair of timestamps. Where their distance does not fit, wts is raised by
   * the smallest multiple of 2^15 that makes it fit.
   *
   * @param wts at least 0, at most {@code rts}
   * @param rts at most {@link #TIMESTAMP_MAX}
   */
  public static long pack(long wts, long rts) {
    assert 0 <= wts && wts <= rts && rts <= TIMESTAMP_MAX : range(wts, rts);
    long delta = rts - wts;
    // delta & ~DELTA_MAX is 0 when it fits, else the multiple of 2^15 that leaves the rest.
    return (delta & DELTA_MAX) << WTS_BITS | (wts + (delta & ~DELTA_MAX));
  }

  /**
   * The word with rts raised to {@code rts}; the lock bit stays. Where the distance overflows, wts
   * rises by a multiple of 2^15, and then to beyond the rts of before: see {@link
   * Timestamps#extend}.
   */
  static long extended(long word, long rts) {
    return rts <= rts(word) ? word : pack(wts(word), rts) | (word & LOCK);
  }

  /**
   * The larger wts and the larger rts of two unlocked words. (The larger of two packed words would
   * be something else: it loses an rts that goes with the smaller wts.)
   *
   * <p>Nothing is rounded here: the distance of the maxima is at most the distance in the word that
   * has the larger rts.
   */
  static long max(long a, long b) {
    return pack(Math.max(wts(a), wts(b)), Math.max(rts(a), rts(b)));
  }

  /**
   * The smaller wts and the smaller rts of two unlocked words. Nothing is rounded here either: the
   * distance of the minima is at most the distance in the word that has the smaller wts.
   */
  static long min(long a, long b) {
    return pack(Math.min(wts(a), wts(b)), Math.min(rts(a), rts(b)));
  }

  /** A word for messages. */
  static String toString(long word) {
    return "(wts " + wts(word) + ", rts " + rts(word) + (isLocked(word) ? ", locked)" : ")");
  }

  private static String range(long wts, long rts) {
    return "timestamps out of range: wts " + wts + ", rts " + rts;
  }
}
