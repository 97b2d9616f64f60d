package io.fovea.txn;

import io.fovea.btree.BTree;
import io.fovea.btree.LeafVersions;
import io.fovea.buffer.BufferPool;
import io.fovea.config.Protocol;
import org.jspecify.annotations.Nullable;

/**
 * The leaves that a read-only transaction under TicToc has scanned whole, instead of reading an
 * item per record.
 *
 * <pre>
 *   body      each leaf that a scan copies: frame and version
 *   decide    c := max(wts of all items read, timestamps that any commit has decided)
 *             scan timestamps of the trees := max(old, c)                    {@link ScanTimestamps}
 *             no commit that changes these trees is inside; a short wait     {@link CommitGate}
 *             all leaves have their versions                                 otherwise: abort, retry by items
 * </pre>
 *
 * <p><b>Claim.</b> For every key and gap in these leaves, the transaction has read the state of the
 * commits with timestamps up to c, and all later changes have timestamps above c. The proof is in
 * docs/internals/transactions.md, "Scans by leaves".
 *
 * <p>Any change, move or eviction of a leaf invalidates the transaction, so it must be retried: the
 * next attempt uses items. After failures, this context lets more and more transactions use items
 * from the start. The cost for others is that a commit in a scanned tree can't take a timestamp in
 * the past.
 */
final class LeafReads {
  /**
   * Leaves are expected to stay in the pool for a while if they are fewer than one in this many
   * frames.
   */
  private static final int SHARE = 8;

  private static final int LEAVES_MAX = 1 << 10;

  /** How often the gate is checked for the end of a commit: as often as a locked item. */
  private static final int SPINS = 400;

  /** The maximum n of failures after which a context lets 2^n - 1 transactions use items. */
  private static final int FAILURES_MAX = 10;

  private final ScanTimestamps marks;
  private final CommitGate gate;

  /** Whether any transaction writes; otherwise nothing has to be remembered. */
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

  /**
   * Begins a transaction.
   *
   * @param reads whether it is read-only and not pessimistic
   * @param repeated whether its caller retries it after an abort
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

  /** Returns whether a scan of the tree is to read leaves instead of items. */
  boolean take(BTree tree) {
    if (!allowed) {
      return false;
    }
    if (writers) {
      if (pool != null && pool != tree.pool()) {
        return false;
      }
      pool = tree.pool();
      trees |= ScanTimestamps.bit(tree.treeId());
    }
    return !isFull();
  }

  /** Returns the list for the scan's leaves; null if they need not be remembered. */
  @Nullable LeafVersions versionsOfScans() {
    return writers ? leaves : null;
  }

  boolean isFull() {
    BufferPool p = pool;
    return p != null && leaves.size() >= Math.min(LEAVES_MAX, p.frames() / SHARE);
  }

  boolean isEmpty() {
    return leaves.size() == 0;
  }

  /** Returns a timestamp not below {@code atLeast} and all commits that may have been read. */
  long timestamp(long atLeast) {
    return Math.max(atLeast, gate.decided());
  }

  /** Returns whether the reads are current, and stay valid up to {@link #timestamp}. */
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

  void clear() {
    allowed = false;
    if (pool != null) {
      pool = null;
      trees = 0;
      leaves.clear();
    }
  }
}
