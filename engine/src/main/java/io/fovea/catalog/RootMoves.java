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
 * Moves roots of trees for a {@link Compaction}: what {@link RootMove} needs of the catalog.
 *
 * <p>Of an index only while the catalog says that it is one: the root of a tree that is being built
 * is noted with those that are to be freed, and stays.
 */
final class RootMoves {
  private final Store store;
  private final Schema schema;

  RootMoves(Store store, Schema schema) {
    this.store = store;
    this.schema = schema;
  }

  /** A root in a high page, and whose it is. */
  record HighRoot(TableCore table, BTree tree) {}

  /**
   * The roots in high pages, under the lock of the schema. That of the catalog is the first page of
   * the file.
   *
   * @param low from which page on
   * @param most how many at most
   */
  List<HighRoot> high(long low, int most) {
    List<HighRoot> high = new ArrayList<>();
    for (TableCore table : schema.tables()) {
      for (BTree tree : Compaction.trees(table)) {
        if (high.size() < most && tree.rootPid() >= low) {
          high.add(new HighRoot(table, tree));
        }
      }
    }
    return high;
  }

  /**
   * Moves roots, under the lock of the schema. Pages are given out for all of them first: the pages
   * that become free are high ones, and would be the next to be given out.
   *
   * @param low from which page on
   * @param most how many at most
   * @param log a session that has nothing begun
   * @return how many were moved
   */
  long piece(long low, int most, LogSession log) {
    store.engine().checkUsable(false);
    List<HighRoot> high = high(low, most);
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
        SchemaChanges.moved(high.get(i).table, high.get(i).tree, move, change);
        change.run();
        done += change.happened ? 1 : 0;
      }
    }
    return done;
  }

  /** Puts what a root has into a low page; false if there is none, or others were in the way. */
  private static boolean lower(BTree tree, RootMove move, long low, LogSession log) {
    TreeCompaction nodes = new TreeCompaction(tree);
    LongList spare = new LongList();
    try {
      return nodes.spare(spare, log) < low && move.lower(spare, log);
    } finally {
      nodes.giveBack(spare, log);
    }
  }
}
