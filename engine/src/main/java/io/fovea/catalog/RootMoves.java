package io.fovea.catalog;

import io.fovea.btree.BTree;
import io.fovea.btree.RootMove;
import io.fovea.btree.TreeCompaction;
import io.fovea.index.TableCore;
import io.fovea.memory.LongList;
import io.fovea.store.Store;
import io.fovea.wal.LogSession;
import java.util.ArrayList;
import java.util.List;

/**
 * Moves the roots of tables and complete indexes for {@link Compaction}. An index being built has a
 * deferred record instead, and its root is not moved.
 */
final class RootMoves {
  private final Store store;
  private final Schema schema;

  RootMoves(Store store, Schema schema) {
    this.store = store;
    this.schema = schema;
  }

  record HighRoot(TableCore table, BTree tree) {}

  /**
   * Returns roots in high pages, except the catalog's. Requires the schema lock.
   *
   * @param low the first high page
   * @param max the limit on roots
   */
  List<HighRoot> high(long low, int max) {
    List<HighRoot> high = new ArrayList<>();
    for (TableCore table : schema.tables()) {
      for (BTree tree : Compaction.trees(table)) {
        if (high.size() < max && tree.rootPid() >= low) {
          high.add(new HighRoot(table, tree));
        }
      }
    }
    return high;
  }

  /**
   * Moves roots under the schema lock. Pages are allocated for all roots first; otherwise the freed
   * high pages would be allocated next.
   *
   * @param low the first high page
   * @param max the limit on roots
   * @param log an idle session
   * @return the number of roots moved
   */
  long piece(long low, int max, LogSession log) {
    store.engine().checkUsable(false);
    List<HighRoot> high = high(low, max);
    List<RootMove> moves = new ArrayList<>();
    log.begin(0);
    try {
      for (HighRoot root : high) {
        RootMove move = new RootMove(root.tree);
        if (move.findChild() == 0 && !lower(root.tree, move, low, log)) {
          break;
        }
        moves.add(move);
      }
    } finally {
      log.end();
    }
    long done = 0;
    for (int i = 0; i < moves.size(); i++) {
      RootMove move = moves.get(i);
      if (move.to() < low) {
        CatalogChange change = new CatalogChange(store);
        SchemaChanges.saveMove(high.get(i).table, high.get(i).tree, move, change);
        change.run();
        done += change.logged ? 1 : 0;
      }
    }
    return done;
  }

  /**
   * Moves the content of a root to a low page; returns false if no low page is free, or on a
   * conflict.
   */
  private static boolean lower(BTree tree, RootMove move, long low, LogSession log) {
    TreeCompaction nodes = new TreeCompaction(tree);
    LongList spare = new LongList();
    try {
      return nodes.spare(spare, log) < low && move.lower(spare, log);
    } finally {
      nodes.freeSpare(spare, log);
    }
  }
}
