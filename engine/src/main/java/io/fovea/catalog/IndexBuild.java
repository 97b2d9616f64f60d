package io.fovea.catalog;

import io.fovea.btree.LeafScan;
import io.fovea.error.AbortCause;
import io.fovea.error.InvalidUseException;
import io.fovea.error.OperationInterruptedException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.index.Filling;
import io.fovea.index.IndexCore;
import io.fovea.index.StatementContext;
import io.fovea.index.TableCore;
import io.fovea.store.Store;
import io.fovea.txn.GracePeriod;
import io.fovea.txn.Tx;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.locks.LockSupport;

/**
 * Waits for transactions to end while an index is built. Also builds an index by transactions if
 * {@link Loads} has no file left; otherwise {@link IndexFill} builds it.
 *
 * <pre>
 *   DELETE_ONLY ─ grace ─► BUILDING ─ grace ─► pieces ─ grace ─► catalog, READABLE
 *                                              │
 *            each a transaction: some records, in key order, and their entries
 * </pre>
 *
 * <p><b>Pieces are ordinary transactions</b>, so serializability makes them correct: a piece reads
 * a record and adds its entry; a transaction that changes the record removes the old entry and adds
 * the new one. In either order the entry matches the record. Keys are found by a leaf scan outside
 * the transaction. The scan finds every key that is present throughout; new keys get entries from
 * the transactions that insert them.
 *
 * <p>The piece size is halved after each conflict. Confined to one thread.
 */
public final class IndexBuild {
  /** The number of records in a piece, before it is halved. */
  public static final int PIECE_RECORDS = 128;

  private static final long GRACE_NANOS = 60_000_000_000L;
  private static final long CHECK_NANOS = 50_000;
  private static final long CHECK_MAX_NANOS = 1_000_000;

  private final CatalogCallbacks catalogCallbacks;
  private final Store store;
  private final TableCore core;
  private final String what;
  private final BackgroundThrottle backgroundThrottle;

  /**
   * @param what the operation, for messages: {@code build index by_name of table people}
   */
  IndexBuild(CatalogCallbacks catalogCallbacks, Store store, TableCore core, String what) {
    this.catalogCallbacks = catalogCallbacks;
    this.store = store;
    this.core = core;
    this.what = what;
    this.backgroundThrottle = new BackgroundThrottle(() -> store.engine().stats().commits());
  }

  BackgroundThrottle backgroundThrottle() {
    return backgroundThrottle;
  }

  /** Throws if the operation must be abandoned. */
  void check() {
    OperationInterruptedException.check(what);
    if (core.isDropPending() || core.isDropped()) {
      throw new InvalidUseException("Can't " + what + ": the table is being dropped.");
    }
    store.requireOpen();
    // An incomplete commit holds back the redo point, for which a load would wait.
    store.engine().checkUsable(false);
  }

  /** Waits for all currently active transactions to end. */
  void awaitOthers() {
    GracePeriod gracePeriod = store.engine().gracePeriod();
    long deadline = System.nanoTime() + GRACE_NANOS;
    long pause = CHECK_NANOS;
    while (true) {
      check();
      if (gracePeriod.isOver()) {
        return;
      }
      if (System.nanoTime() > deadline) {
        throw new TransactionAbortedException(
            AbortCause.TIMEOUT,
            "Can't "
                + what
                + ": earlier transactions did not end within "
                + GRACE_NANOS / 1_000_000_000
                + " s.");
      }
      LockSupport.parkNanos(this, pause);
      pause = Math.min(2 * pause, CHECK_MAX_NANOS);
    }
  }

  /** Adds the entries of all records, throttled. */
  void fill(IndexCore index) {
    int keyMax = Math.max(8, core.tree.maxKeySize());
    try (Arena arena = Arena.ofShared()) {
      MemorySegment last = arena.allocate(keyMax, 8);
      MemorySegment next = arena.allocate(keyMax, 8);
      LeafScan scan = new LeafScan();
      int[] length = {-1};
      backgroundThrottle.begin();
      while (length[0] != Integer.MIN_VALUE) {
        check();
        int[] found = {0};
        int from = length[0];
        catalogCallbacks.transact(
            (statementContext, tx, attempt) ->
                found[0] = piece(statementContext, tx, attempt, index, scan, last, from, next));
        backgroundThrottle.committed();
        backgroundThrottle.pause();
        if (found[0] >= 0) {
          MemorySegment.copy(next, 0, last, 0, found[0]);
        }
        length[0] = found[0];
      }
    }
  }

  /**
   * Fills a piece; returns the length of its last key, or {@code MIN_VALUE} at the end of the
   * table.
   */
  private int piece(
      StatementContext scratch,
      Tx tx,
      int attempt,
      IndexCore index,
      LeafScan scan,
      MemorySegment last,
      int lastLength,
      MemorySegment next) {
    int left = Math.max(1, PIECE_RECORDS >> Math.min(30, attempt - 1));
    int length = Integer.MIN_VALUE;
    scan.seek(core.tree, last, 0, lastLength, lastLength < 0, false);
    while (left > 0 && scan.load()) {
      for (int slot = scan.from(); slot < scan.to() && left > 0; slot++, left--) {
        length = scan.copyKey(slot, next, 0);
        Filling.fill(scratch, tx, core, index, next, 0, length);
      }
    }
    return length;
  }
}
