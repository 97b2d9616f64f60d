package io.fovea.index;

import java.lang.System.Logger.Level;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * How far the sweep of a table believes the clock: what it removes by a wrong one does not come
 * back.
 *
 * <pre>
 *   believed, and what has passed since by System.nanoTime
 *      │◄── STEP ──►│
 *   ───┼────────────┼───────────────► what the clock says
 *      believed     │ ahead: a warning. The sweep goes on by what it believes, until the clock has
 *                   │ been ahead by the same for HOLD: then that is believed
 * </pre>
 *
 * <p>At first the sweep believes the newest row of the table, or the clock where that is earlier: a
 * clock that is wrong when the database opens is ahead of its rows. A clock that is set back is
 * believed at once, for it keeps rows.
 *
 * <p>Used by the sweep of a table, of which there is one at a time.
 */
public final class ClockGuard {
  private static final System.Logger LOG = System.getLogger("io.fovea");

  /** What a clock may be ahead by. */
  public static final long STEP_MILLIS = TimeUnit.MINUTES.toMillis(5);

  /** How long a clock is ahead before it is believed. */
  public static final long HOLD_MILLIS = TimeUnit.MINUTES.toMillis(10);

  private final LongSupplier nanos;

  private boolean begun;
  private long believedMillis;
  private long believedAt;

  private boolean isAhead;
  private long aheadMillis;
  private long aheadAt;

  /** A guard; {@code nanos} is {@link System#nanoTime}, or a test's. */
  public ClockGuard(LongSupplier nanos) {
    this.nanos = nanos;
  }

  /** Whether the next {@link #believed} wants the newest row. */
  public boolean isNew() {
    return !begun;
  }

  /**
   * The time by which the sweep removes.
   *
   * @param now what the clock says
   * @param newest the time of the newest row, where {@link #isNew}; 0 if there is none
   * @param table for the warning
   */
  public long believed(long now, long newest, String table) {
    long t = nanos.getAsLong();
    if (!begun) {
      begun = true;
      believe(newest > 0 ? Math.min(now, newest) : now, t);
    }
    long expected = believedMillis + passed(believedAt, t);
    if (now <= expected + STEP_MILLIS) {
      isAhead = false;
      believe(now, t);
      return now;
    }
    if (!isAhead || Math.abs(now - aheadMillis - passed(aheadAt, t)) > STEP_MILLIS) {
      if (!isAhead) {
        LOG.log(
            Level.WARNING,
            () ->
                "The clock is "
                    + TimeUnit.MILLISECONDS.toSeconds(now - expected)
                    + " s ahead of what table "
                    + table
                    + " and the time since suggest: rows that expire by that alone are removed in "
                    + TimeUnit.MILLISECONDS.toMinutes(HOLD_MILLIS)
                    + " minutes, if it still says so");
      }
      isAhead = true;
      aheadMillis = now;
      aheadAt = t;
    }
    if (passed(aheadAt, t) < HOLD_MILLIS) {
      return expected;
    }
    isAhead = false;
    believe(now, t);
    return now;
  }

  private void believe(long millis, long at) {
    believedMillis = millis;
    believedAt = at;
  }

  private static long passed(long from, long to) {
    return TimeUnit.NANOSECONDS.toMillis(to - from);
  }
}
