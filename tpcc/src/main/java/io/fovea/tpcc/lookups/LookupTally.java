package io.fovea.tpcc.lookups;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The counters of one worker. Written by the worker, read by any thread; opaque accesses suffice.
 */
final class LookupTally {
  /** The counters. */
  enum What {
    /** Committed transactions. */
    OPERATIONS,
    /** Committed transactions with updates. */
    CHANGES,
    /** Keys read, including those updated. */
    LOOKUPS,
    UPDATES,
    /** Attempts after the first. */
    RETRIES
  }

  private static final int WHATS = What.values().length;

  /** Two cache lines on both sides. */
  private static final int PADDING = 16;

  private static final VarHandle CELL = MethodHandles.arrayElementVarHandle(long[].class);

  private final long[] cells = new long[PADDING + WHATS + PADDING];

  /** Adds to a counter. Worker only. */
  void add(What what, long n) {
    int i = PADDING + what.ordinal();
    CELL.setOpaque(cells, i, cells[i] + n);
  }

  /** A sum of the counters of several workers. */
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
