package io.fovea.txn;

import java.lang.invoke.VarHandle;
import java.util.Arrays;

/**
 * Tells when all transactions have ended that were active at a moment: a thread that changed
 * something before that moment knows then that nobody acts on what was before. Nobody is held up by
 * it.
 *
 * <pre>
 *   who changes the schema                     a transaction
 *     (S1) indexes := new      volatile          (T1) claims its context, or is handed it
 *     (S2) fence; reads claims and epochs        (T2) reads indexes             volatile
 * </pre>
 *
 * <p><b>Why.</b> Let a transaction T read what was before (S1) at (T2). Then its claim (T1) comes
 * before (S1) in the order of volatile accesses, so (S2) sees the context claimed: by T, or by a
 * later one, and then T has ended. It also sees the epoch of the context, which moves with each
 * begin and with each end, as far as the end of the transaction before T at least, since T's claim
 * has met that end. So an epoch that has moved on by {@link #MOVES} since belongs to a transaction
 * after T; and a context that is found free has seen the end of T.
 *
 * <p>A context that passes from one transaction to the next without being free in between is
 * covered by the epoch; one that is never used again, by the claim.
 *
 * <p>One thread at a time.
 */
public final class GracePeriod {
  /** Begin and end of T, the begin of another, and one for good measure. */
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
      if (contexts[i].claimed()) {
        seen[i] = contexts[i].epochSeen();
        waiting++;
      }
    }
  }

  /**
   * Whether all of them have ended. What they did is visible to who gets true.
   *
   * @return false as long as one may be active
   */
  public boolean isOver() {
    for (int i = 0; waiting > 0 && i < seen.length; i++) {
      if (seen[i] != OVER
          && (!contexts[i].claimed() || contexts[i].epochSeen() - seen[i] >= MOVES)) {
        seen[i] = OVER;
        waiting--;
      }
    }
    VarHandle.acquireFence();
    return waiting == 0;
  }
}
