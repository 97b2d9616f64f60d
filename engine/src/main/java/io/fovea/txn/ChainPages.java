package io.fovea.txn;

import io.fovea.btree.BTree;
import io.fovea.memory.LongList;
import io.fovea.memory.Mem;
import io.fovea.wal.LogSession;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Pages of long values, of several trees, in the order in which they were added.
 *
 * <p>They are freed from the last to the first, one by one: what an exception interrupts goes on
 * where it was, so that no page is freed twice and none is forgotten.
 */
final class ChainPages {
  private final LongList pids = new LongList();
  private final LongList one = new LongList();
  private @Nullable BTree[] trees = new BTree[4];
  private int[] ends = new int[4];
  private int runs;
  private int left;

  /** How many pages there are that were not freed. */
  int size() {
    return left;
  }

  /** Adds pages of a tree. */
  void add(BTree tree, LongList more) {
    if (runs == ends.length) {
      trees = Arrays.copyOf(trees, 2 * runs);
      ends = Arrays.copyOf(ends, 2 * runs);
    }
    for (int i = 0; i < more.size(); i++) {
      pids.add(more.get(i));
    }
    left = pids.size();
    trees[runs] = tree;
    ends[runs] = left;
    runs++;
  }

  /** Puts all ids one after the other. */
  long put(MemorySegment to, long at) {
    for (int i = 0; i < left; i++) {
      Mem.putLong(to, at + 8L * i, pids.get(i));
    }
    return at + 8L * left;
  }

  /** Frees all of them. */
  void free(LogSession session) {
    for (int run = runs - 1; run >= 0; run--) {
      BTree tree = trees[run];
      int begin = run == 0 ? 0 : ends[run - 1];
      while (tree != null && left > begin) {
        one.clear();
        one.add(pids.get(left - 1));
        tree.freeChain(one, session);
        left--;
      }
    }
    clear();
  }

  void clear() {
    if (runs > 0) {
      Arrays.fill(trees, 0, runs, null);
      pids.clear();
      runs = 0;
      left = 0;
    }
  }
}
