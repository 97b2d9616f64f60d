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
 * Waits for transactions to end while an index is built, and fills one beside everything else for
 * which {@link Loads} has no file left. (Any other: {@link IndexFill}.)
 *
 * <pre>
 *   DELETE_ONLY ─ grace ─► BUILDING ─ grace ─► pieces ─ grace ─► catalog, READABLE
 *                                              │
 *            each a transaction: some records, in the order of their keys, and their entries
 * </pre>
 *
 * <p><b>Pieces are transactions</b> like any other, so nothing but serializability is needed to see
 * that they are right: a piece reads a record and makes the entry of what it has read; a thread
 * that changes the record removes the entry of what was there and makes that of what is there now.
 * In whatever order they come, the entry is that of the record. Keys are found by a walk through
 * the leaves that is not part of the transaction: a key that is there all the time is met, one that
 * comes meanwhile has its entry from who has made it.
 *
 * <p>A piece that is in conflict is done again, and is half as large each time.
 *
 * <p>One thread.
 */
public final class IndexBuild {
  /** How many records a piece has. */
  public static final int PIECE_RECORDS = 128;

  private static final long GRACE_NANOS = 60_000_000_000L;
  private static final long LOOK_NANOS = 50_000;
  private static final long LOOK_MAX_NANOS = 1_000_000;

  private final CatalogCallbacks catalogCallbacks;
  private final Store store;
  private final TableCore core;
  private final String what;
  private final BackgroundThrottle backgroundThrottle;

  /**
   * Something that is done to a table.
   *
   * @param what it is, as in {@code build index by_name of table people}
   */
  IndexBuild(CatalogCallbacks catalogCallbacks, Store store, TableCore core, String what) {
    this.catalogCallbacks = catalogCallbacks;
    this.store = store;
    this.core = core;
    this.what = what;
    this.backgroundThrottle = new BackgroundThrottle(() -> store.engine().stats().commits());
  }

  /** How fast it goes. */
  BackgroundThrottle backgroundThrottle() {
    return backgroundThrottle;
  }

  /** Throws where it is to be given up. */
  void check() {
    OperationInterruptedException.check(what);
    if (core.isLeaving() || core.isDropped()) {
      throw new InvalidUseException("Can't " + what + ": the table is being dropped.");
    }
    store.requireOpen();
    // A commit that failed halfway holds back the redo point, which a load would wait for.
    store.engine().checkUsable(false);
  }

  /** Waits until all transactions have ended that are active now. */
  void awaitOthers() {
    GracePeriod gracePeriod = store.engine().gracePeriod();
    long deadline = System.nanoTime() + GRACE_NANOS;
    long pause = LOOK_NANOS;
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
                + ": transactions that were active before did not end within "
                + GRACE_NANOS / 1_000_000_000
                + " s.");
      }
      LockSupport.parkNanos(this, pause);
      pause = Math.min(2 * pause, LOOK_MAX_NANOS);
    }
  }

  /** Makes the entries of all records, as fast as others allow. */
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

  /** Goes through some keys; returns the length of the last one, or a number for none. */
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
