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
 * locks. Why that is enough stands in docs/internals/transactions.md, "Scans by leaves".
 *
 * <p><b>Inside and mark.</b> A commit stores that it is inside the {@link CommitGate}, and then
 * reads the mark; a scan reads a mark that is high enough, or raises it, and then looks who is
 * inside. All of these accesses are volatile, so they have one order, and one of the two sees the
 * other: a commit that has read an older mark is seen inside, and waited for.
 *
 * <p><b>Where nobody scans by leaves</b> commits read no marks: a database whose transactions never
 * scan pays a load of a line that stays shared. The first mark that is raised ends that. A commit
 * that has looked before had said before that it is inside, so the scan sees it there, by the same
 * order.
 */
final class ScanMarks {
  /** How many marks there are. */
  static final int MARKS = Long.SIZE;

  /** Bits of all trees. */
  static final long ALL = -1;

  private static final VarHandle LONGS =
      MethodHandles.arrayElementVarHandle(long[].class).withInvokeExactBehavior();

  /** Longs from one mark to the next: 128 bytes, for lines are fetched in pairs. */
  private static final int STRIDE = 16;

  private final long[] marks = new long[(MARKS + 2) * STRIDE];
  private volatile boolean watched;

  /** Whether commits have to look at marks. */
  boolean watched() {
    return watched;
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
    long most = 0; // partner of the reads below: raise, before CommitGate.awaitOthers
    for (long rest = trees; rest != 0; rest &= rest - 1) {
      most = Math.max(most, (long) LONGS.getVolatile(marks, at(Long.numberOfTrailingZeros(rest))));
    }
    return most;
  }

  /** Raises the marks of some trees to a timestamp at least. Partner: {@link #highest}. */
  void raise(long trees, long timestamp) {
    if (!watched) {
      watched = true;
    }
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
