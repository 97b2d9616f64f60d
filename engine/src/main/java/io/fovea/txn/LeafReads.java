package io.fovea.txn;

import io.fovea.btree.BTree;
import io.fovea.btree.LeafVersions;
import io.fovea.buffer.BufferPool;
import io.fovea.config.Protocol;
import org.jspecify.annotations.Nullable;

/**
 * The leaves that a transaction has read as a whole: for a scan of a read-only transaction under
 * TicToc, instead of an item for each record.
 *
 * <pre>
 *   body      each leaf that a scan copies: frame and version
 *   decide    c := max(wts of all items that were read, timestamps that any commit has decided)
 *             mark of the trees := max(mark, c)                   {@link ScanMarks}
 *             nobody who changes these trees is inside the gate   {@link CommitGate}; a short wait
 *             all leaves have their versions                      else: aborted, again by items
 * </pre>
 *
 * <p><b>Claim.</b> The transaction has read of every key in these leaves, and of every gap, what
 * the commits with timestamps up to c have left; and all that change it later have timestamps above
 * c. So it stands at c in the serial order of TicToc, as if it had read the items of all keys and
 * raised them to c. The argument is in docs/internals/transactions.md, "Scans by leaves".
 *
 * <p><b>What it costs others.</b> A commit in a tree that is scanned takes a timestamp above all
 * those before it. So it has to raise the rts of what it has read, and can't commit in the past.
 *
 * <p><b>What it can't.</b> Any change in a leaf, that of a neighbour of what was read included,
 * makes the transaction void, as do a move and an eviction of the leaf. So it is for transactions
 * that somebody repeats: the next attempt goes by items. Where attempts fail, this context lets
 * more and more transactions go by items at once.
 */
final class LeafReads {
  /** Leaves that are not more of the pool than this are expected to stay in it for a while. */
  private static final int SHARE = 8;

  private static final int LEAVES_MAX = 1 << 10;

  /** How often the gate is looked at for a commit to end: as for a locked item. */
  private static final int SPINS = 400;

  /** After so many failures in a row a context lets 2 to the power of it go by items. */
  private static final int FAILURES_MAX = 10;

  private final ScanMarks marks;
  private final CommitGate gate;

  /** Whether anybody writes; where nobody does, nothing has to be remembered. */
  private final boolean writers;

  private final boolean ticToc;
  private final LeafVersions leaves = new LeafVersions();
  private @Nullable BufferPool pool;
  private long trees;
  private boolean allowed;
  private int failures;
  private int pause;

  LeafReads(TxShared shared) {
    this.marks = shared.marks;
    this.gate = shared.gate;
    this.writers = shared.config.writers();
    this.ticToc = shared.config.protocol() == Protocol.TICTOC;
  }

  // -------------------------------------------------------------------------------------- the body

  /**
   * A transaction begins.
   *
   * @param reads whether it only reads, and reserves nothing
   * @param repeated whether its caller does it again, by items, after an abort
   */
  void begin(boolean reads, boolean repeated) {
    if (!ticToc || !reads) {
      return;
    }
    if (!writers) {
      allowed = true;
    } else if (repeated) {
      if (pause > 0) {
        pause--;
      } else {
        allowed = true;
      }
    }
  }

  /** Whether a scan goes by leaves from now on. */
  boolean take(BTree tree) {
    if (!allowed) {
      return false;
    }
    if (writers) {
      if (pool != null && pool != tree.pool()) {
        return false;
      }
      pool = tree.pool();
      trees |= ScanMarks.bit(tree.treeId());
    }
    return !isFull();
  }

  /** What the scan's leaves go to; null where they need not be remembered. */
  @Nullable LeafVersions noted() {
    return writers ? leaves : null;
  }

  /** Whether there are as many leaves as there may be: what else is scanned goes by items. */
  boolean isFull() {
    BufferPool p = pool;
    return p != null && leaves.size() >= Math.min(LEAVES_MAX, p.frames() / SHARE);
  }

  boolean isEmpty() {
    return leaves.size() == 0;
  }

  // ------------------------------------------------------------------------------------ the commit

  /**
   * A timestamp that is not below those of all commits of which anything can have been read, and
   * not below another.
   */
  long timestamp(long atLeast) {
    return Math.max(atLeast, gate.decided());
  }

  /**
   * Whether what was read is what there is, and stays so up to a timestamp.
   *
   * @param timestamp what {@link #timestamp} said
   */
  boolean hold(long timestamp) {
    BufferPool p = pool;
    if (p == null) {
      return true;
    }
    marks.raise(trees, timestamp);
    boolean holds = gate.awaitOthers(trees, SPINS) && leaves.unchanged(p);
    failures = holds ? failures >> 1 : Math.min(failures + 1, FAILURES_MAX);
    pause = holds ? 0 : (1 << failures) - 1;
    return holds;
  }

  /** The transaction ends. */
  void clear() {
    allowed = false;
    if (pool != null) {
      pool = null;
      trees = 0;
      leaves.clear();
    }
  }
}
