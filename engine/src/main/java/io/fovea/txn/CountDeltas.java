package io.fovea.txn;

import io.fovea.btree.BTree;
import io.fovea.btree.TreeCounts;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The changes that a commit makes to the counts of its trees.
 *
 * <pre>
 *   {@link #collect}   from the write set, under the locks                                         before the append
 *   {@link #put}       into the COMMIT record                                                   with it
 *   {@link #apply}     to the cells of the context in each tree ({@link TreeCounts})            before the unlock
 * </pre>
 *
 * <p>The write set knows whether each key existed and how long its value was, from a validated read
 * or a read under the item's lock. A transaction that changes neither a number of records nor a
 * length has no deltas. Transactions write few trees, so the search is linear. Belongs to one
 * context.
 */
final class CountDeltas {
  private final int context;
  private @Nullable BTree[] trees = new BTree[8];
  private long[] records = new long[8];
  private long[] bytes = new long[8];
  private long[] @Nullable [] cells = new long[8][];

  /** The number of trees; {@link #collect} removes those without a change. */
  private int size;

  private int last;

  CountDeltas(int context) {
    this.context = context;
  }

  // ------------------------------------------------------------------------------------ collecting

  /** Sums up the write set. Everything that may fail happens here. */
  void collect(WriteSet writes, @Nullable CatalogPart catalog) {
    size = 0;
    for (int e = 0, n = writes.size(); e < n; e++) {
      collect(writes, e);
    }
    if (catalog != null) {
      catalog.count(this::add);
    }
    prepare();
  }

  private void collect(WriteSet writes, int e) {
    byte kind = writes.kind(e);
    if (kind == WriteSet.NONE || kind == WriteSet.PATCH || kind == WriteSet.MOVE) {
      return;
    }
    boolean was = writes.existed(e) == WriteSet.PRESENT;
    boolean is = kind != WriteSet.DELETE;
    int before = was ? writes.lengthBefore(e) : 0;
    int after = is ? writes.valueLength(e) : 0;
    if (was == is) {
      if (before != after) {
        add(writes.tree(e), 0, (long) after - before);
      }
    } else if (is) {
      add(writes.tree(e), 1, (long) writes.keyLength(e) + after);
    } else {
      add(writes.tree(e), -1, -(long) writes.keyLength(e) - before);
    }
  }

  private void add(BTree tree, long more, long moreBytes) {
    int i = last < size && trees[last] == tree ? last : find(tree);
    records[i] += more;
    bytes[i] += moreBytes;
    last = i;
  }

  private int find(BTree tree) {
    for (int i = 0; i < size; i++) {
      if (trees[i] == tree) {
        return i;
      }
    }
    if (size == trees.length) {
      grow();
    }
    trees[size] = tree;
    records[size] = 0;
    bytes[size] = 0;
    return size++;
  }

  private void grow() {
    int length = 2 * size;
    cells = Arrays.copyOf(cells, length);
    bytes = Arrays.copyOf(bytes, length);
    records = Arrays.copyOf(records, length);
    trees = Arrays.copyOf(trees, length); // last: its length is what is checked
  }

  private void prepare() {
    int n = 0;
    for (int i = 0; i < size; i++) {
      if (records[i] != 0 || bytes[i] != 0) {
        BTree tree = tree(i);
        trees[n] = tree;
        records[n] = records[i];
        bytes[n] = bytes[i];
        cells[n] = tree.counts().cell(context);
        n++;
      }
    }
    Arrays.fill(trees, n, size, null);
    size = n;
  }

  @SuppressWarnings("NullAway")
  private BTree tree(int i) {
    return trees[i];
  }

  @SuppressWarnings("NullAway")
  private long[] cell(int i) {
    return cells[i];
  }

  // ---------------------------------------------------------------------------------- the record

  int length() {
    int n = size;
    if (n == 0) {
      return 0;
    }
    int length = CommitCounts.length(context);
    for (int i = 0; i < n; i++) {
      length += CommitCounts.length(tree(i).treeId(), records[i], bytes[i]);
    }
    return length;
  }

  void put(MemorySegment to, long at) {
    int n = size;
    if (n == 0) {
      return;
    }
    long next = CommitCounts.put(to, at, context);
    for (int i = 0; i < n; i++) {
      next = CommitCounts.put(to, next, tree(i).treeId(), records[i], bytes[i]);
    }
  }

  // ----------------------------------------------------------------------------------- the trees

  /** Changes the counts, atomically for a reader of a sum. The COMMIT record begins at the LSN. */
  void apply(long lsn) {
    int n = size;
    if (n == 0) {
      return;
    }
    enter(n);
    while (isStopped(n)) {
      withdraw(n);
      enter(n);
    }
    for (int i = 0; i < n; i++) {
      TreeCounts.leave(cell(i), lsn, records[i], bytes[i]);
    }
  }

  private void enter(int n) {
    for (int i = 0; i < n; i++) {
      TreeCounts.enter(cell(i));
    }
    VarHandle.fullFence(); // partner: the fence in TreeCounts.stopAndSum
  }

  private boolean isStopped(int n) {
    for (int i = 0; i < n; i++) {
      if (tree(i).counts().isStopped()) {
        return true;
      }
    }
    return false;
  }

  private void withdraw(int n) {
    for (int i = 0; i < n; i++) {
      TreeCounts.withdraw(cell(i));
    }
    for (int i = 0; i < n; i++) {
      tree(i).counts().awaitReader();
    }
  }

  void clear() {
    if (size > 0) {
      Arrays.fill(trees, 0, size, null);
      Arrays.fill(cells, 0, size, null);
      size = 0;
    }
  }
}
