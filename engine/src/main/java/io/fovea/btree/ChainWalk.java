package io.fovea.btree;

import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageHeader;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;

/**
 * Finds the long values of a tree that have pages behind some place of the file, in the order of
 * their keys. It changes nothing. {@link ChainMove} moves them.
 *
 * <p>Only the leaf knows where a chain begins, and only its pages know each other. So the chains
 * are followed, up to the first page that is to move. Others write meanwhile: a value may be passed
 * by, or one be found that is another by now.
 *
 * <p>One thread. Nobody drops the tree during a call.
 *
 * @since 0.1.0
 */
public final class ChainWalk {
  private final BTree tree;
  private final BufferPool pool;
  private final MemorySegment pages;
  private final LeafScan scan = new LeafScan();

  /** The place: all values up to here, and it, were looked at. */
  private final KeyBuffer key;

  private boolean begun;
  private boolean again;
  private boolean done;

  /**
   * Begins before the first record.
   *
   * @param tree the tree
   */
  public ChainWalk(BTree tree) {
    this.tree = tree;
    this.pool = tree.pool();
    this.pages = pool.pages();
    this.key = new KeyBuffer(tree.maxKeySize());
    this.done = !tree.mayHoldLong();
  }

  /** The value that was found is to be found again, if it still has such a page. */
  public void again() {
    again = true;
    done = false;
  }

  /** Whether all values were looked at. */
  public boolean isDone() {
    return done;
  }

  /** Where the key of the value is that was found. */
  public MemorySegment key() {
    return key.segment();
  }

  /** How long that key is. */
  public int keyLength() {
    return key.length();
  }

  /**
   * Goes on to the next value that has such a page.
   *
   * @param from which pages are meant: those with such ids or higher ones
   * @param max how many leaves and pages of long values to look at, about
   * @return whether there is one
   */
  public boolean find(long from, int max) {
    int left = max;
    if (done) {
      return false;
    }
    scan.seek(tree, key.segment(), 0, begun ? key.length() : -1, again, false);
    again = false;
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
        int looked = look(OverflowChain.stubPid(s, stub), n, from);
        if (looked < 0) {
          return true;
        }
        left -= looked;
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

  /** Follows a chain; -1 if one of its pages is such a page, else how many were looked at. */
  private int look(long first, int n, long from) {
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
          return index; // it was freed meanwhile
        }
        pid = Mem.getLong(pages, base + OverflowChain.NEXT);
      } finally {
        pool.releaseShared(frame);
      }
    }
    return n;
  }

  /** Gives the memory back. */
  public void end() {
    scan.free();
  }
}
