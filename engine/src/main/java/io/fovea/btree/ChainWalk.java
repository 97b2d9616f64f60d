package io.fovea.btree;

import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageHeader;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;

/**
 * Finds the long values of a tree, in key order, that have pages at or above a page id. {@link
 * ChainMove} moves them.
 *
 * <p>Chains are reachable only from their leaves, so they are followed up to the first page that
 * has to move. Concurrent writes may cause a value to be skipped, or the result to be outdated.
 *
 * <p>Used by one thread. The tree must not be dropped during a call.
 */
public final class ChainWalk {
  private final BTree tree;
  private final BufferPool pool;
  private final MemorySegment pages;
  private final LeafScan scan = new LeafScan();

  /** The position: all values up to and including this key have been visited. */
  private final KeyBuffer key;

  private boolean begun;
  private boolean repeated;
  private boolean done;

  /** Starts before the first record. */
  public ChainWalk(BTree tree) {
    this.tree = tree;
    this.pool = tree.pool();
    this.pages = pool.pages();
    this.key = new KeyBuffer(tree.maxKeySize());
    this.done = !tree.mayHaveLongValues();
  }

  /** Makes {@link #find} visit the last value again. */
  public void repeat() {
    repeated = true;
    done = false;
  }

  /** Returns whether all values were visited. */
  public boolean isDone() {
    return done;
  }

  /** Returns the memory of the key that was found. */
  public MemorySegment key() {
    return key.segment();
  }

  /** Returns the length of that key. */
  public int keyLength() {
    return key.length();
  }

  /**
   * Advances to the next value with a page at or above {@code from}, visiting about {@code max}
   * leaves and pages of long values. Returns whether there is one.
   */
  public boolean find(long from, int max) {
    int left = max;
    if (done) {
      return false;
    }
    scan.seek(tree, key.segment(), 0, begun ? key.length() : -1, repeated, false);
    repeated = false;
    while (scan.load()) {
      for (int slot = scan.from(); slot < scan.to(); slot++) {
        if (!scan.isOverflow(slot)) {
          continue;
        }
        if (left < 0) {
          return false;
        }
        key.setLength(scan.copyKey(slot, key.segment(), 0));
        begun = true;
        long stub = scan.valueOffset(slot);
        MemorySegment s = scan.segment();
        int n = OverflowChain.pages(pool.pageSize(), OverflowChain.stubLength(s, stub));
        int visited = follow(OverflowChain.stubPid(s, stub), n, from);
        if (visited < 0) {
          return true;
        }
        left -= visited;
      }
      if (--left < 0) {
        if (scan.to() > scan.from()) {
          key.setLength(scan.copyKey(scan.to() - 1, key.segment(), 0));
          begun = true;
        }
        return false;
      }
    }
    done = true;
    return false;
  }

  /** Follows a chain; returns -1 if it has a page to move, else the number of visited pages. */
  private int follow(long first, int n, long from) {
    long pid = first;
    for (int index = 0; index < n; index++) {
      if (pid >= from) {
        return -1;
      }
      if (pid <= 1) {
        return index;
      }
      int frame = pool.fixShared(pid);
      try {
        long base = pool.base(frame);
        if (PageHeader.type(pages, base) != PageHeader.OVERFLOW
            || PageHeader.treeId(pages, base) != tree.treeId()
            || Mem.getInt(pages, base + OverflowChain.INDEX) != index) {
          return index; // freed meanwhile
        }
        pid = Mem.getLong(pages, base + OverflowChain.NEXT);
      } finally {
        pool.releaseShared(frame);
      }
    }
    return n;
  }

  /** Frees the memory. */
  public void end() {
    scan.free();
  }
}
