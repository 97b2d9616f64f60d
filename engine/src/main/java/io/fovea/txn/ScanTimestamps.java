package io.fovea.txn;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The scan timestamps: for each tree, the timestamp up to which scans have read whole leaves of it.
 * It stands for the rts of the items of all keys of the tree. A tree's index is its id modulo 64;
 * trees that share one are treated as one, which is coarser and still correct.
 *
 * <p>A scan by leaves raises its tree's scan timestamp to its own timestamp ({@link LeafReads}). A
 * commit that changes a tree takes a timestamp above it, read with all locks held. The proof is in
 * docs/internals/transactions.md, "Scans by leaves".
 *
 * <p><b>Order.</b> A commit stores that it is inside the {@link CommitGate}, then reads the scan
 * timestamp; a scan reads or raises it, then checks which commits are inside. All accesses are
 * volatile, so one of the two sees the other. The same holds for {@code isWatched}, which spares
 * commits the read while no transaction scans by leaves.
 */
final class ScanTimestamps {
  static final int MARKS = Long.SIZE;

  static final long ALL = -1;

  private static final VarHandle LONGS =
      MethodHandles.arrayElementVarHandle(long[].class).withInvokeExactBehavior();

  /** Longs per scan timestamp: 128 bytes, because cache lines are fetched in pairs. */
  private static final int STRIDE = 16;

  private final long[] marks = new long[(MARKS + 2) * STRIDE];
  private volatile boolean watched;

  boolean isWatched() {
    return watched;
  }

  static long bit(int treeId) {
    return 1L << (treeId & MARKS - 1);
  }

  private static int at(int mark) {
    return (mark + 1) * STRIDE;
  }

  /** Returns the highest scan timestamp of some trees, for a commit inside with all its locks. */
  long highest(long trees) {
    long max = 0; // partner of the reads below: raise, before CommitGate.awaitOthers
    for (long rest = trees; rest != 0; rest &= rest - 1) {
      max = Math.max(max, (long) LONGS.getVolatile(marks, at(Long.numberOfTrailingZeros(rest))));
    }
    return max;
  }

  /** Raises the scan timestamps of some trees. Partner: {@link #highest}. */
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
