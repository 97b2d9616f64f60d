package io.fovea.tpcc;

import io.fovea.error.AbortCause;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The counters of one worker, by transaction type. Written by the worker, read by any thread.
 * Opaque accesses suffice: each value must be whole and recent, without order between them.
 */
final class Tally {
  /** The counters. Those of abort causes follow. */
  enum What {
    COMMITS,
    ROLLBACKS,
    RETRIES,
    SKIPPED_DISTRICTS
  }

  static final AbortCause[] CAUSES = AbortCause.values();
  private static final int WHATS = What.values().length;
  private static final int STRIDE = WHATS + CAUSES.length;

  /** Two cache lines, with their prefetched neighbors, on both sides. */
  private static final int PADDING = 32;

  private static final VarHandle CELL = MethodHandles.arrayElementVarHandle(long[].class);

  private final long[] cells = new long[PADDING + TxnType.COUNT * STRIDE + PADDING];

  private void add(int index, long n) {
    CELL.setOpaque(cells, index, cells[index] + n);
  }

  /** Counts a completed transaction. Worker only. */
  void ended(int type, boolean rolledBack, int attempts, int skippedDistricts) {
    int base = PADDING + type * STRIDE;
    add(base + (rolledBack ? What.ROLLBACKS : What.COMMITS).ordinal(), 1);
    if (attempts > 1) {
      add(base + What.RETRIES.ordinal(), attempts - 1);
    }
    if (skippedDistricts > 0) {
      add(base + What.SKIPPED_DISTRICTS.ordinal(), skippedDistricts);
    }
  }

  /** Counts an attempt aborted by a conflict. Worker only. */
  void conflict(int type, AbortCause cause) {
    add(PADDING + type * STRIDE + WHATS + cause.ordinal(), 1);
  }

  /** A sum of the counters of several workers. */
  static final class Totals {
    private final long[] sums = new long[TxnType.COUNT * STRIDE];

    static Totals of(Iterable<Tally> tallies) {
      Totals t = new Totals();
      for (Tally tally : tallies) {
        for (int i = 0; i < t.sums.length; i++) {
          t.sums[i] += (long) CELL.getOpaque(tally.cells, PADDING + i);
        }
      }
      return t;
    }

    Totals since(Totals earlier) {
      Totals t = new Totals();
      for (int i = 0; i < sums.length; i++) {
        t.sums[i] = sums[i] - earlier.sums[i];
      }
      return t;
    }

    long get(TxnType type, What what) {
      return sums[type.ordinal() * STRIDE + what.ordinal()];
    }

    long get(TxnType type, AbortCause cause) {
      return sums[type.ordinal() * STRIDE + WHATS + cause.ordinal()];
    }

    long get(What what) {
      long sum = 0;
      for (TxnType type : TxnType.values()) {
        sum += get(type, what);
      }
      return sum;
    }

    long get(AbortCause cause) {
      long sum = 0;
      for (TxnType type : TxnType.values()) {
        sum += get(type, cause);
      }
      return sum;
    }
  }
}
