package io.fovea.catalog;

import io.fovea.btree.BTree;
import io.fovea.btree.ChainMove;
import io.fovea.btree.ChainWalk;
import io.fovea.btree.Position;
import io.fovea.btree.TreeCompaction;
import io.fovea.error.OperationInterruptedException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.memory.LongList;
import io.fovea.memory.Mem;
import io.fovea.store.Store;
import io.fovea.txn.Tx;
import io.fovea.wal.LogSession;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Moves pages of long values for {@link Compaction}. Each value is moved by a {@link ChainMove} in
 * a transaction that locks its record without changing it. A long catalog record is rewritten
 * instead.
 *
 * <p>A concurrent transaction that has read the record and writes a different one may be aborted
 * and retried, as after any commit that writes the record. After a limited number of conflicts the
 * value is skipped.
 */
final class LongValueMoves {
  /** The maximum number of leaves and long-value pages visited in a piece. */
  static final int PIECE = 512;

  /** Limits of the attempts to move a value. */
  private static final int ATTEMPTS = 8;

  private static final long ATTEMPT_NANOS = 1_000_000_000;

  private final Store store;

  LongValueMoves(Store store) {
    this.store = store;
  }

  /**
   * Moves values under the schema lock.
   *
   * @param walk positioned at a value with high pages
   * @param low the first high page
   * @param max the limit on pages
   * @param log an idle session
   * @return the number of pages moved
   */
  long piece(BTree tree, ChainWalk walk, long low, int max, LogSession log) {
    store.engine().checkUsable(false);
    if (tree == store.catalog()) {
      return catalogValue(walk);
    }
    TreeCompaction nodes = new TreeCompaction(tree);
    LongList spare = new LongList();
    ChainMove move = new ChainMove(tree, low, spare);
    log.begin(0);
    boolean settled = false;
    try {
      Compaction.allocate(nodes, spare, max, low, log);
      // Values with conflicts are left for the next run.
      for (boolean more = true; more && !move.isOver(); ) {
        more = moveValue(tree, walk, move) && !move.isOver() && walk.find(low, PIECE);
      }
      if (move.isOver()) {
        walk.repeat(); // its last pages may not have been moved
      }
      move.settle();
      settled = true;
      return move.moved();
    } finally {
      try {
        if (!settled) {
          move.settle();
        }
        nodes.freeSpare(spare, log);
      } finally {
        log.end();
      }
    }
  }

  /**
   * Moves the pages of a value while there are low free pages.
   *
   * @return false if no transaction could begin. The caller must then end the piece, because the
   *     other transactions may be waiting for its locks
   */
  private boolean moveValue(BTree tree, ChainWalk walk, ChainMove move) {
    for (int attempt = 0; attempt < ATTEMPTS && !move.isOver(); attempt++) {
      Tx tx = null;
      try {
        tx = store.engine().begin(false, ATTEMPT_NANOS, null);
        long generation = tx.epoch();
        boolean moved = false;
        try {
          tx.moveChain(tree, walk.key(), 0, walk.keyLength(), move);
          moved = true;
        } finally {
          if (!moved) {
            tx.rollback(generation);
          }
        }
        tx.commit(generation); // ends the transaction, even if it throws
        return true;
      } catch (TransactionAbortedException e) {
        if (tx == null) {
          return false;
        }
        OperationInterruptedException.check("compact " + store.name());
      }
    }
    return true;
  }

  /** Rewrites a long catalog record. */
  private long catalogValue(ChainWalk walk) {
    byte[] key = Mem.bytes(walk.key(), 0, walk.keyLength());
    byte @Nullable [] value = value(store.catalog(), walk);
    if (value == null) {
      return 0;
    }
    new CatalogChange(store).put(key, value).run();
    return value.length / store.pool().pageSize() + 1;
  }

  private static byte @Nullable [] value(BTree catalog, ChainWalk walk) {
    Position position = new Position();
    MemorySegment to = Arena.ofAuto().allocate(8);
    while (true) {
      catalog.find(walk.key(), 0, walk.keyLength(), position);
      int length = position.found ? catalog.copyValue(position, to, 0, (int) to.byteSize()) : 0;
      if (length < 0 || !catalog.valid(position)) {
        continue;
      }
      if (!position.found) {
        return null;
      }
      if (length <= to.byteSize()) {
        return Mem.bytes(to, 0, length);
      }
      to = Arena.ofAuto().allocate(length, 8);
    }
  }
}
