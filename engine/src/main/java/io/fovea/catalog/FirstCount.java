package io.fovea.catalog;

import io.fovea.btree.BTree;
import io.fovea.btree.TreeCounts;
import io.fovea.btree.TreeWalk;
import io.fovea.error.InvalidUseException;
import io.fovea.error.OperationInterruptedException;
import io.fovea.memory.OperationLock;
import io.fovea.recovery.RecoveredRowCounts;
import io.fovea.store.SnapshotOpening;
import io.fovea.store.Store;
import java.time.Duration;

/**
 * Counts the records of a tree if the file does not store their number. The records are counted in
 * a snapshot. The count, less the changes that commits made between the opening and the snapshot,
 * is the base. Transactions do not wait for the count. Thread-safe.
 */
public final class FirstCount {
  private final Store store;
  private final Schema schema;
  private final SnapshotOpening snapshots;
  private final OperationLock lock = new OperationLock("the lock of first counts");

  /** Creates a counter for a store. */
  public FirstCount(Store store, Schema schema, SnapshotOpening snapshots) {
    this.store = store;
    this.schema = schema;
    this.snapshots = snapshots;
  }

  /** Returns the counts of a tree; counts the records first if they are unknown. */
  public TreeCounts known(BTree tree, boolean inBody) {
    TreeCounts counts = tree.counts();
    if (counts.isKnown()) {
      return counts;
    }
    if (inBody && !store.isReadOnly()) {
      throw new InvalidUseException(
          "The file does not store the number of records, so they must be "
              + "counted once. That takes a while, and can't be done inside the "
              + "body of a transaction: get the count once outside of it.");
    }
    lock.lock("count the records", store::checkWaiting);
    try {
      if (!counts.isKnown()) {
        count(tree);
      }
    } finally {
      lock.unlock();
    }
    return counts;
  }

  private void count(BTree tree) {
    if (store.isReadOnly()) {
      long[] all = TreeWalk.count(tree, this::advance);
      tree.counts().base(all[0], all[1]);
      return;
    }
    long[] root = new long[1]; // the root at the time of the snapshot: it may move later
    snapshots.open(
        opening ->
            schema.whileFrozen(
                () -> {
                  root[0] = tree.rootPid();
                  opening.run();
                }),
        Schema.CATALOG,
        frozen -> count(tree, root[0], frozen),
        none -> {});
  }

  /** Counts within the opening of the snapshot, so that a close waits for it. */
  private boolean count(BTree tree, long root, Store frozen) {
    try {
      RecoveredRowCounts known = frozen.recoveredRowCounts();
      RecoveredRowCounts.Counts since = known == null ? null : known.since(tree.treeId());
      if (since == null) {
        throw new InvalidUseException(
            "The table or index was dropped while its records were counted.");
      }
      BTree then = BTree.open(frozen.pool(), tree.treeId(), root);
      long[] all = TreeWalk.count(then, this::advance);
      tree.counts().base(all[0] - since.records(), all[1] - since.bytes());
      return true;
    } finally {
      frozen.close(frozen.quiesce(Duration.ZERO));
    }
  }

  private void advance() {
    OperationInterruptedException.check("count the records");
    store.requireOpen();
    snapshots.requireOpen();
  }

  /** Waits for a running count to end, once the store is closing. */
  public void end() {
    lock.awaitRelease("close the database", Long.MAX_VALUE); // the count reads pages of its pool
  }
}
