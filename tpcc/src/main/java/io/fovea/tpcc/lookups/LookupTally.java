package io.fovea.tpcc.lookups;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * One worker's counters: the worker writes, anyone reads, opaque accesses are all that is asked
 * for.
 */
final class LookupTally {
  /** What is counted. */
  enum What {
    /** Transactions that committed. */
    OPERATIONS,
    /** Those of them that changed something. */
    CHANGES,
    /** Keys that were read, those that were changed among them. */
    LOOKUPS,
    /** Keys that were changed. */
    UPDATES,
    /** Attempts after the first. */
    RETRIES
  }

  private static final int WHATS = What.values().length;

  /** Two cache lines on both sides. */
  private static final int PADDING = 16;

  private static final VarHandle CELL = MethodHandles.arrayElementVarHandle(long[].class);

  private final long[] cells = new long[PADDING + WHATS + PADDING];

  /** The worker only. */
  void add(What what, long n) {
    int i = PADDING + what.ordinal();
    CELL.setOpaque(cells, i, cells[i] + n);
  }

  /** The counters of several workers, added up at one moment. */
  static final class Totals {
    private final long[] sums = new long[WHATS];

    static Totals of(Iterable<LookupTally> tallies) {
      Totals t = new Totals();
      for (LookupTally tally : tallies) {
        for (int i = 0; i < WHATS; i++) {
          t.sums[i] += (long) CELL.getOpaque(tally.cells, PADDING + i);
        }
      }
      return t;
    }

    /** What has been counted since an earlier moment. */
    Totals since(Totals earlier) {
      Totals t = new Totals();
      for (int i = 0; i < WHATS; i++) {
        t.sums[i] = sums[i] - earlier.sums[i];
      }
      return t;
    }

    long get(What what) {
      return sums[what.ordinal()];
    }
  }
}
