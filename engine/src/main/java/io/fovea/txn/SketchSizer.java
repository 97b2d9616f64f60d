package io.fovea.txn;

/**
 * Chooses the number of the sketch's columns from statistics: the dissertation's future work
 * (sections 4.3.2 and 6.3).
 *
 * <pre>
 *    per window of transactions                       decision
 *    suspected  aborted by a conflict, after making   many, and at least as many releases as cells:
 *               an entry from a bound above 0         twice the columns
 *    released   entries that went to the sketch       hardly any suspected: half the columns
 *
 *    the window after a change decides whether it helped; if not, it is undone, and the next
 *    attempt waits twice as long as the last one did
 * </pre>
 *
 * <p>Whether a bound caused a conflict is unknown, because the exact timestamps are gone. So
 * suspected conflicts are counted, and growing is an experiment. Used by one thread at a time; no
 * clock, no randomness.
 */
final class SketchSizer {
  static final long WINDOW = 1 << 14;

  /** Grow above one suspected conflict in this many transactions. */
  static final long GROW_ONE_IN = 64;

  /** Shrink below one in this many. */
  static final long SHRINK_ONE_IN = 1024;

  /** A change must reduce the rate by a tenth. */
  private static final double WORTH = 0.1;

  private static final int WINDOWS_TO_WAIT_MAX = 64;

  private final int min;
  private final int max;
  private int columns;

  private long ended;
  private long suspectedFalseConflicts;
  private long released;

  /** The last window's change: 1 doubled, -1 halved, 0 none. */
  private int trial;

  private double before;

  private int windowsToWait = 1;
  private int pause;

  /** Starts with the minimum; both are numbers of columns and powers of two. */
  SketchSizer(int min, int max) {
    if (min < 1 || max < min || Integer.bitCount(min) != 1 || Integer.bitCount(max) != 1) {
      throw new IllegalArgumentException(min + " to " + max + " columns.");
    }
    this.min = min;
    this.max = max;
    this.columns = min;
  }

  boolean adapts() {
    return min < max;
  }

  /**
   * Returns the new number of columns, given the numbers of ended transactions, suspected false
   * conflicts among them and released entries, all since the start.
   */
  int next(long ended, long suspected, long released) {
    long transactions = ended - this.ended;
    if (transactions < WINDOW) {
      return columns;
    }
    double rate = (double) (suspected - this.suspectedFalseConflicts) / transactions;
    long puts = released - this.released;
    this.ended = ended;
    this.suspectedFalseConflicts = suspected;
    this.released = released;
    if (trial != 0) {
      evaluate(rate);
    } else if (pause > 0) {
      pause--;
    } else if (rate * GROW_ONE_IN > 1 && columns < max && puts >= columns) {
      change(1, rate);
    } else if (rate * SHRINK_ONE_IN < 1 && columns > min) {
      change(-1, rate);
    }
    return columns;
  }

  private void evaluate(double rate) {
    boolean worth = trial > 0 ? rate < before * (1 - WORTH) : rate * SHRINK_ONE_IN < 2;
    int was = trial;
    trial = 0;
    if (worth) {
      windowsToWait = 1;
    } else {
      columns = was > 0 ? columns / 2 : columns * 2;
      pause = windowsToWait;
      windowsToWait = Math.min(2 * windowsToWait, WINDOWS_TO_WAIT_MAX);
    }
  }

  private void change(int direction, double rate) {
    columns = direction > 0 ? columns * 2 : columns / 2;
    trial = direction;
    before = rate;
  }
}
