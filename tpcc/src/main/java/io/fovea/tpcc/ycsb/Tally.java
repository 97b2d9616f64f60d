package io.fovea.tpcc.ycsb;

import io.fovea.error.AbortCause;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The counters of one client, by kind of transaction. Written by the client, read by any thread.
 * Opaque accesses suffice: each value must be whole and recent, without order between them.
 */
final class Tally {
  /** The counters, followed by those of abort causes and operations. */
  enum What {
    COMMITS,
    /** Attempts of these after the first. */
    RETRIES,
    /** Transactions abandoned after too many aborts. */
    ABANDONED
  }

  static final AbortCause[] CAUSES = AbortCause.values();
  private static final int CAUSES_AT = What.values().length;
  private static final int OPS_AT = CAUSES_AT + CAUSES.length;
  private static final int STRIDE = OPS_AT + Op.COUNT;

  /** Two cache lines, with their prefetched neighbors, on both sides. */
  private static final int PADDING = 32;

  private static final VarHandle CELL = MethodHandles.arrayElementVarHandle(long[].class);

  private final long[] cells;
  private final int kinds;

  Tally(int kinds) {
    this.kinds = kinds;
    this.cells = new long[PADDING + kinds * STRIDE + PADDING];
  }

  private void add(int kind, int index, long n) {
    int i = PADDING + kind * STRIDE + index;
    CELL.setOpaque(cells, i, cells[i] + n);
  }

  /** Adds to a counter. Client only, like all that count. */
  void add(int kind, What what, long n) {
    add(kind, what.ordinal(), n);
  }

  void aborted(int kind, AbortCause cause) {
    add(kind, CAUSES_AT + cause.ordinal(), 1);
  }

  /** Counts operations of a committed transaction. */
  void operations(int kind, Op op, long n) {
    add(kind, OPS_AT + op.ordinal(), n);
  }

  /** A sum of the counters of several clients. */
  static final class Totals {
    private final long[] sums;
    private final int kinds;

    private Totals(int kinds) {
      this.kinds = kinds;
      this.sums = new long[kinds * STRIDE];
    }

    static Totals of(Iterable<Tally> tallies, int kinds) {
      Totals t = new Totals(kinds);
      for (Tally tally : tallies) {
        for (int i = 0; i < t.sums.length; i++) {
          t.sums[i] += (long) CELL.getOpaque(tally.cells, PADDING + i);
        }
      }
      return t;
    }

    Totals since(Totals earlier) {
      Totals t = new Totals(kinds);
      for (int i = 0; i < sums.length; i++) {
        t.sums[i] = sums[i] - earlier.sums[i];
      }
      return t;
    }

    long get(int kind, What what) {
      return sums[kind * STRIDE + what.ordinal()];
    }

    long get(int kind, AbortCause cause) {
      return sums[kind * STRIDE + CAUSES_AT + cause.ordinal()];
    }

    private long all(int index) {
      long sum = 0;
      for (int kind = 0; kind < kinds; kind++) {
        sum += sums[kind * STRIDE + index];
      }
      return sum;
    }

    long get(What what) {
      return all(what.ordinal());
    }

    long get(AbortCause cause) {
      return all(CAUSES_AT + cause.ordinal());
    }

    long get(Op op) {
      return all(OPS_AT + op.ordinal());
    }

    long operations() {
      long sum = 0;
      for (Op op : Op.values()) {
        sum += get(op);
      }
      return sum;
    }

    long aborts() {
      long sum = 0;
      for (AbortCause cause : CAUSES) {
        sum += get(cause);
      }
      return sum;
    }

    /** Returns the share of attempts that were aborted. */
    double abortRate() {
      long aborts = aborts();
      return aborts == 0 ? 0 : (double) aborts / (aborts + get(What.COMMITS));
    }
  }
}
