package io.fovea.catalog;

import io.fovea.btree.BTree;
import io.fovea.btree.ChainMove;
import io.fovea.btree.ChainWalk;
import io.fovea.btree.Position;
import io.fovea.btree.TreeCompaction;
import io.fovea.btree.TreeWalk;
import io.fovea.error.OperationInterruptedException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.memory.LongList;
import io.fovea.store.Store;
import io.fovea.txn.Tx;
import io.fovea.wal.LogSession;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Moves pages of long values for a {@link Compaction}: {@link ChainMove} in transactions of one
 * value each, which lock its record and change nothing of it. A long record of the catalog is
 * written once more instead.
 *
 * <p>A transaction that has read the record, and writes another one, may be aborted by that as by
 * any commit that writes the record, and is done again. One that is in the way goes first: the
 * value is tried some times, and then left.
 */
final class LongValueMoves {
  /** How many leaves and pages of long values are looked at in a piece. */
  static final int PIECE = 512;

  /** How often it tries to move a value, and how long one attempt may take. */
  private static final int ATTEMPTS = 8;

  private static final long ATTEMPT_NANOS = 1_000_000_000;

  private final Store store;

  LongValueMoves(Store store) {
    this.store = store;
  }

  /**
   * Moves some, under the lock of the schema.
   *
   * @param walk stands at a value that has pages which are to move
   * @param low from which page on
   * @param most how many pages at most
   * @param log a session that has nothing begun
   * @return how many were moved
   */
  long piece(BTree tree, ChainWalk walk, long low, int most, LogSession log) {
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
      Compaction.allocate(nodes, spare, most, low, log);
      // What others were in the way of is left: the next run comes by.
      for (boolean more = true; more && !move.isOver(); ) {
        more = moveValue(tree, walk, move) && !move.isOver() && walk.find(low, PIECE);
      }
      if (move.isOver()) {
        walk.again(); // its last pages may be left
      }
      move.settle();
      settled = true;
      return move.moved();
    } finally {
      try {
        if (!settled) {
          move.settle();
        }
        nodes.giveBack(spare, log);
      } finally {
        log.end();
      }
    }
  }

  /**
   * Moves the pages of a value, as far as there are low ones.
   *
   * @return false where no transaction could begin: the piece is to end, since whoever has the
   *     contexts may wait for what is held here
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
        tx.commit(generation); // ends it, whatever it throws
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

  /** Writes a long record of the catalog once more; its pages are few. */
  private long catalogValue(ChainWalk walk) {
    byte[] key = TreeWalk.bytes(walk.key(), 0, walk.keyLength());
    byte @Nullable [] value = value(store.catalog(), walk);
    if (value == null) {
      return 0;
    }
    new CatalogChange(store).put(key, value).run();
    return value.length / store.pool().pageSize() + 1;
  }

  private static byte @Nullable [] value(BTree catalog, ChainWalk walk) {
    Position place = new Position();
    MemorySegment to = Arena.ofAuto().allocate(8);
    while (true) {
      catalog.find(walk.key(), 0, walk.keyLength(), place);
      int length = place.found ? catalog.copyValue(place, to, 0, (int) to.byteSize()) : 0;
      if (length < 0 || !catalog.valid(place)) {
        continue;
      }
      if (!place.found) {
        return null;
      }
      if (length <= to.byteSize()) {
        return TreeWalk.bytes(to, 0, length);
      }
      to = Arena.ofAuto().allocate(length, 8);
    }
  }
}
