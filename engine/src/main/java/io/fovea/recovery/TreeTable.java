package io.fovea.recovery;

import io.fovea.btree.BTree;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The trees that records are replayed into, by id, numbered from 0. Filled by one thread, then read
 * by many.
 */
final class TreeTable {
  /** Smaller ids are looked up in an array: nearly all, since they are assigned in order. */
  private static final int DENSE = 1 << 12;

  private final int[] dense = new int[DENSE];
  private final PidMap numbers = new PidMap();
  private final List<BTree> trees = new ArrayList<>();

  TreeTable() {
    Arrays.fill(dense, -1);
  }

  void add(BTree tree) {
    if (tree.treeId() < DENSE) {
      dense[tree.treeId()] = trees.size();
    } else {
      numbers.put(tree.treeId(), trees.size());
    }
    trees.add(tree);
  }

  /** Returns all trees, by number. */
  BTree[] all() {
    return trees.toArray(BTree[]::new);
  }

  /** Returns the number of a tree, or a negative number if it is missing. */
  int number(int treeId) {
    if (treeId < DENSE) {
      return treeId > 0 ? dense[treeId] : -1;
    }
    return numbers.get(treeId);
  }
}
