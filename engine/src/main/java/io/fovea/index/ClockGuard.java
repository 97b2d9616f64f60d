package io.fovea.index;

import java.lang.System.Logger.Level;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Limits how far the sweep of a table trusts the clock, since records removed because of a wrong
 * clock are lost.
 *
 * <pre>
 *   trusted time, advanced by System.nanoTime
 *      │◄── STEP ──►│
 *   ───┼────────────┼───────────────► the clock
 *      trusted      │ ahead: a warning. The sweep continues with the trusted time, until the clock
 *                   │ has been ahead by the same amount for HOLD; then it is trusted
 * </pre>
 *
 * <p>At first the sweep trusts the time of the newest row of the table, or the clock if that is
 * earlier: a clock that is wrong when the database opens is ahead of its rows. A clock that is set
 * back is trusted at once, since it only keeps rows longer.
 *
 * <p>Used by one sweep of one table at a time.
 */
public final class ClockGuard {
  private static final System.Logger LOG = System.getLogger("io.fovea");

  /** The amount by which the clock may be ahead. */
  public static final long STEP_MILLIS = TimeUnit.MINUTES.toMillis(5);

  /** How long a clock must be ahead before it is trusted. */
  public static final long HOLD_MILLIS = TimeUnit.MINUTES.toMillis(10);

  private final LongSupplier nanos;

  private boolean begun;
  private long trustedMillis;
  private long trustedAt;

  private boolean isAhead;
  private long aheadMillis;
  private long aheadAt;

  /** Creates a guard; {@code nanos} is {@link System#nanoTime}, except in tests. */
  public ClockGuard(LongSupplier nanos) {
    this.nanos = nanos;
  }

  /** Returns whether the next {@link #trusted} needs the time of the newest row. */
  public boolean isNew() {
    return !begun;
  }

  /**
   * Returns the time up to which the sweep may act. If {@link #isNew}, {@code newest} is the time
   * of the newest row, or 0 if there is no such row.
   */
  public long trusted(long now, long newest, String table) {
    long t = nanos.getAsLong();
    if (!begun) {
      begun = true;
      trust(newest > 0 ? Math.min(now, newest) : now, t);
    }
    long expected = trustedMillis + elapsedMillis(trustedAt, t);
    if (now <= expected + STEP_MILLIS) {
      isAhead = false;
      trust(now, t);
      return now;
    }
    if (!isAhead || Math.abs(now - aheadMillis - elapsedMillis(aheadAt, t)) > STEP_MILLIS) {
      if (!isAhead) {
        LOG.log(
            Level.WARNING,
            () ->
                "The clock is "
                    + TimeUnit.MILLISECONDS.toSeconds(now - expected)
                    + " s ahead of the time that table "
                    + table
                    + " and the elapsed time suggest. Rows that expire only by this clock are"
                    + " removed in "
                    + TimeUnit.MILLISECONDS.toMinutes(HOLD_MILLIS)
                    + " minutes, if it is still ahead");
      }
      isAhead = true;
      aheadMillis = now;
      aheadAt = t;
    }
    if (elapsedMillis(aheadAt, t) < HOLD_MILLIS) {
      return expected;
    }
    isAhead = false;
    trust(now, t);
    return now;
  }

  private void trust(long millis, long at) {
    trustedMillis = millis;
    trustedAt = at;
  }

  private static long elapsedMillis(long from, long to) {
    return TimeUnit.NANOSECONDS.toMillis(to - from);
  }
}
