package io.fovea.txn;

import io.fovea.btree.BTree;
import io.fovea.buffer.AllocatorRecord;
import io.fovea.memory.LongList;
import io.fovea.memory.Mem;
import io.fovea.wal.LogSession;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The pages of long values of several trees. Freeing them does not fail: a tree retries later what
 * it can't free now.
 */
final class ChainPages {
  private final LongList pids = new LongList();
  private final LongList some = new LongList();
  private @Nullable BTree[] trees = new BTree[4];
  private int[] ends = new int[4];
  private int runs;

  int size() {
    return pids.size();
  }

  void add(BTree tree, LongList more) {
    if (runs == ends.length) {
      trees = Arrays.copyOf(trees, 2 * runs);
      ends = Arrays.copyOf(ends, 2 * runs);
    }
    for (int i = 0; i < more.size(); i++) {
      pids.add(more.get(i));
    }
    trees[runs] = tree;
    ends[runs] = pids.size();
    runs++;
  }

  long put(MemorySegment to, long at, int from, int end) {
    for (int i = from; i < end; i++) {
      Mem.putLong(to, at + 8L * (i - from), pids.get(i));
    }
    return at + 8L * (end - from);
  }

  /** Claims log space for {@link #free}, before the record that releases the pages. */
  void claim(LogSession session) {
    session.claim(pids.size() * AllocatorRecord.FREE_SPACE / 2); // half of a grant is for filler
  }

  void free(LogSession session) {
    for (int run = runs - 1; run >= 0; run--) {
      BTree tree = trees[run];
      if (tree == null) {
        continue;
      }
      some.clear();
      for (int i = run == 0 ? 0 : ends[run - 1]; i < ends[run]; i++) {
        some.add(pids.get(i));
      }
      tree.freeChain(some, session);
    }
    clear();
  }

  void clear() {
    pids.clear(); // including what a failed add left
    if (runs > 0) {
      Arrays.fill(trees, 0, runs, null);
      runs = 0;
    }
  }
}
