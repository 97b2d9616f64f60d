package io.fovea.recovery;

import io.fovea.btree.BTree;
import java.util.ArrayList;
import java.util.List;

/**
 * The trees that records are replayed into, by their ids, numbered from 0. Filled by one thread,
 * then read by many.
 */
final class TreeTable {
  private final PidMap numbers = new PidMap();
  private final List<BTree> trees = new ArrayList<>();

  /** Adds a tree. */
  void add(BTree tree) {
    numbers.put(tree.treeId(), trees.size());
    trees.add(tree);
  }

  /** All trees, by their numbers. */
  BTree[] all() {
    return trees.toArray(BTree[]::new);
  }

  /** The number of a tree, or a negative number for one that is not here. */
  int number(int treeId) {
    return treeId > 0 ? numbers.get(treeId) : -1;
  }
}
