package io.fovea.txn;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * Up to which timestamp scans have read whole leaves of a tree: what the items of all its keys
 * would have as rts, if the scans had raised them.
 *
 * <pre>
 *   tree id modulo 64 ─► mark      trees that share one are read together: coarser, and still right
 * </pre>
 *
 * <p>A scan by leaves raises the mark of its tree to its own timestamp ({@link LeafReads}); a
 * commit that changes a tree takes a timestamp above the mark, which it reads when it has all its
 * locks. Why that is enough stands in docs/concurrency/transactions.md, "Scans by leaves".
 *
 * <p><b>The fence between inside and mark.</b> A commit stores that it is inside the {@link
 * CommitGate}, fences, and reads the mark; a scan raises the mark, fences, and looks who is inside.
 * So one sees the other: a commit that has read an older mark is seen inside, and waited for.
 *
 * <p><b>Where nobody scans by leaves</b> commits do not fence. The first scan that would like to
 * asks for it, and goes by items; from then on commits fence and read marks; scans go by leaves
 * when {@link #SETTLE_NANOS} are over. A commit that missed the change of state had stored its
 * inside before it looked, and a store is visible after that time, as in {@link CommitGate}. So a
 * database whose transactions never scan pays a load of a line that stays shared.
 */
final class ScanMarks {
  /** How many marks there are. */
  static final int MARKS = Long.SIZE;

  /** Bits of all trees. */
  static final long ALL = -1;

  /** How long a store may take to become visible, generously. */
  private static final long SETTLE_NANOS = 2_000_000;

  private static final int OFF = 0;
  private static final int SETTLING = 1;
  private static final int ON = 2;

  private static final VarHandle LONGS =
      MethodHandles.arrayElementVarHandle(long[].class).withInvokeExactBehavior();

  /** Longs from one mark to the next: 128 bytes, for lines are fetched in pairs. */
  private static final int STRIDE = 16;

  private final long[] marks = new long[(MARKS + 2) * STRIDE];
  private volatile int state;

  /** When commits were asked to fence; of who has seen {@link #SETTLING}. */
  private long since;

  /** Scans may go by leaves from the begin on: for tests, before any transaction begins. */
  void settled() {
    state = ON;
  }

  /** Whether scans may go by leaves; the first that asks begins what leads to it. */
  boolean on() {
    return state == ON || settle();
  }

  private synchronized boolean settle() {
    long now = System.nanoTime();
    if (state == OFF) {
      since = now;
      state = SETTLING;
    } else if (state == SETTLING && now - since > SETTLE_NANOS) {
      state = ON;
    }
    return state == ON;
  }

  /** Whether commits have to look at marks. */
  boolean watched() {
    return state != OFF;
  }

  /** The bit of a tree's mark. */
  static long bit(int treeId) {
    return 1L << (treeId & MARKS - 1);
  }

  private static int at(int mark) {
    return (mark + 1) * STRIDE;
  }

  /**
   * The largest mark of some trees, for a commit that is inside the gate and has all its locks:
   * below any timestamp that it may take.
   */
  long highest(long trees) {
    VarHandle.fullFence(); // partner: that in LeafReads.hold
    long most = 0;
    for (long rest = trees; rest != 0; rest &= rest - 1) {
      most = Math.max(most, (long) LONGS.getVolatile(marks, at(Long.numberOfTrailingZeros(rest))));
    }
    return most;
  }

  /** Raises the marks of some trees to a timestamp at least. */
  void raise(long trees, long timestamp) {
    for (long rest = trees; rest != 0; rest &= rest - 1) {
      int at = at(Long.numberOfTrailingZeros(rest));
      long now = (long) LONGS.getVolatile(marks, at);
      while (now < timestamp) {
        long seen = (long) LONGS.compareAndExchange(marks, at, now, timestamp);
        if (seen == now) {
          break;
        }
        now = seen;
      }
    }
  }
}
