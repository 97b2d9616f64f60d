package io.fovea.tpcc;

import io.fovea.error.AbortCause;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * One worker's counters by transaction type. The worker writes, anyone reads: opaque accesses make
 * each value whole and recent, and nothing else is asked for.
 */
final class Tally {
  /** What is counted; the causes of conflicts follow these. */
  enum What {
    COMMITS,
    ROLLBACKS,
    RETRIES,
    SKIPPED_DISTRICTS
  }

  static final AbortCause[] CAUSES = AbortCause.values();
  private static final int WHATS = What.values().length;
  private static final int STRIDE = WHATS + CAUSES.length;

  /** Two cache lines and their prefetched neighbours on both sides. */
  private static final int PADDING = 32;

  private static final VarHandle CELL = MethodHandles.arrayElementVarHandle(long[].class);

  private final long[] cells = new long[PADDING + TxnType.COUNT * STRIDE + PADDING];

  private void add(int index, long n) {
    CELL.setOpaque(cells, index, cells[index] + n);
  }

  /** Counts a transaction that came to its end. The worker only. */
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

  /** Counts an attempt that another transaction spoilt. The worker only. */
  void conflict(int type, AbortCause cause) {
    add(PADDING + type * STRIDE + WHATS + cause.ordinal(), 1);
  }

  /** The counters of several workers, added up at one moment. */
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

    /** What has been counted since an earlier moment. */
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
