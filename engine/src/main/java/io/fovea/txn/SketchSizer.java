package io.fovea.txn;

/**
 * Says how many columns the sketch should have, from what happens to transactions: the
 * dissertation's future work (sections 4.3.2 and 6.3).
 *
 * <pre>
 *    telemetry of a window of transactions            decision
 *    doubtful   aborted for a conflict, having made   many, and entries are released to the sketch as
 *               an entry from a bound above 0         fast as it has cells: twice the columns
 *    released   entries that went to the sketch       hardly any: half the columns
 *
 *    the window after a change tells whether it was worth it; if not, it is undone, and the next
 *    attempt waits twice as long as the last one did
 * </pre>
 *
 * <p>Nobody can say which conflict was due to a bound: the exact timestamps are forgotten. So the
 * doubtful ones are counted, and growing is an experiment: real conflicts do not go away with it. A
 * change costs a copy of the sketch and a moment of each column's lock; a window is long beside
 * that.
 *
 * <p>One thread at a time; no clock, no randomness.
 */
final class SketchSizer {
  /** Transactions in a window. */
  static final long WINDOW = 1 << 14;

  /** One doubtful abort in so many transactions is too many. */
  static final long GROW_ONE_IN = 64;

  /** Less than one in so many is nothing. */
  static final long SHRINK_ONE_IN = 1024;

  /** A change must move the rate by a tenth to count. */
  private static final double WORTH = 0.1;

  private static final int PATIENCE_MAX = 64;

  private final int min;
  private final int max;
  private int columns;

  private long ended;
  private long suspectedFalseConflicts;
  private long released;

  /** What the last window changed: 1 doubled, -1 halved, 0 nothing. */
  private int trial;

  /** The rate before that. */
  private double before;

  private int patience = 1;
  private int pause;

  /**
   * Begins with the least.
   *
   * @param min columns, a power of two
   * @param max columns, a power of two, not less
   */
  SketchSizer(int min, int max) {
    if (min < 1 || max < min || Integer.bitCount(min) != 1 || Integer.bitCount(max) != 1) {
      throw new IllegalArgumentException(min + " to " + max + " columns.");
    }
    this.min = min;
    this.max = max;
    this.columns = min;
  }

  /** Whether it has any choice. */
  boolean adapts() {
    return min < max;
  }

  /**
   * Takes counters that only grow.
   *
   * @param ended transactions that have ended
   * @param doubtful those of them that were aborted for a conflict after they had made an entry
   *     from a bound
   * @param released entries that were given to the sketch
   * @return how many columns it should have from now on
   */
  int next(long ended, long doubtful, long released) {
    long transactions = ended - this.ended;
    if (transactions < WINDOW) {
      return columns;
    }
    double rate = (double) (doubtful - this.suspectedFalseConflicts) / transactions;
    long puts = released - this.released;
    this.ended = ended;
    this.suspectedFalseConflicts = doubtful;
    this.released = released;
    if (trial != 0) {
      judge(rate);
    } else if (pause > 0) {
      pause--;
    } else if (rate * GROW_ONE_IN > 1 && columns < max && puts >= columns) {
      change(1, rate);
    } else if (rate * SHRINK_ONE_IN < 1 && columns > min) {
      change(-1, rate);
    }
    return columns;
  }

  private void judge(double rate) {
    boolean worth = trial > 0 ? rate < before * (1 - WORTH) : rate * SHRINK_ONE_IN < 2;
    int was = trial;
    trial = 0;
    if (worth) {
      patience = 1;
    } else {
      columns = was > 0 ? columns / 2 : columns * 2;
      pause = patience;
      patience = Math.min(2 * patience, PATIENCE_MAX);
    }
  }

  private void change(int direction, double rate) {
    columns = direction > 0 ? columns * 2 : columns / 2;
    trial = direction;
    before = rate;
  }
}
