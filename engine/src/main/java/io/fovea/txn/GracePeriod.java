package io.fovea.txn;

import java.lang.invoke.VarHandle;
import java.util.Arrays;

/**
 * Detects when all transactions that were active at its creation have ended, so that none of them
 * uses an earlier state any more. Blocks no transaction.
 *
 * <pre>
 *   a schema change                            a transaction
 *     (S1) indexes := new      volatile          (T1) claims its context, or is handed it
 *     (S2) fence; reads claims and epochs        (T2) reads indexes             volatile
 * </pre>
 *
 * <p><b>Proof.</b> Let a transaction T read the state before (S1) at (T2). Then its claim (T1)
 * precedes (S1) in the order of volatile accesses, so (S2) sees the context claimed, by T or by a
 * later transaction after T's end. (S2) also sees the context's epoch, which changes with each
 * begin and end; the value seen is at least that of the end before T, which T's claim has seen. So
 * an epoch that has advanced by {@link #MOVES} belongs to a transaction after T, and a context that
 * is found free has seen T's end. The epoch covers a context that passes between transactions
 * without being free; the claim covers a context that is never used again.
 *
 * <p>Used by one thread at a time.
 */
public final class GracePeriod {
  /** Begin and end of T, the begin of another, and one to spare. */
  private static final int MOVES = 4;

  private static final long OVER = Long.MIN_VALUE;

  private final Tx[] contexts;
  private final long[] seen;
  private int waiting;

  GracePeriod(Tx[] contexts) {
    this.contexts = contexts;
    this.seen = new long[contexts.length];
    Arrays.fill(seen, OVER);
    VarHandle.fullFence();
    for (int i = 0; i < seen.length; i++) {
      if (contexts[i].isClaimed()) {
        seen[i] = contexts[i].epochSeen();
        waiting++;
      }
    }
  }

  /**
   * Returns whether all these transactions have ended. Acquire: if so, their effects are visible.
   */
  public boolean isOver() {
    for (int i = 0; waiting > 0 && i < seen.length; i++) {
      if (seen[i] != OVER
          && (!contexts[i].isClaimed() || contexts[i].epochSeen() - seen[i] >= MOVES)) {
        seen[i] = OVER;
        waiting--;
      }
    }
    VarHandle.acquireFence();
    return waiting == 0;
  }
}
