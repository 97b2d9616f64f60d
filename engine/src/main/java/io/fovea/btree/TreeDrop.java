package io.fovea.btree;

import io.fovea.buffer.AllocatorRecord;
import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageHeader;
import io.fovea.error.CorruptionException;
import io.fovea.memory.LongList;
import io.fovea.wal.LogSession;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Frees the pages of a tree that nobody uses any more.
 *
 * <pre>
 *   root  ─►  child  ─►  leaf  ─►  chain          freed from right to left: at every moment all
 *                                                 pages that are left hang on the root
 * </pre>
 *
 * <ol>
 *   <li>Children go before their parent, the root last, a chain from its end to its beginning. So a
 *       drop that a crash ended is gone on with from the root: what is not reachable from it is
 *       free already.
 *   <li>What was freed may belong to another tree by then. The tree's id tells: ids are never used
 *       again. A page that has it is a page of this tree and is to be freed, whoever refers to it;
 *       one that has not is passed by, and nothing below it is looked at.
 *   <li>After a crash a leaf may be older than the chains that its stubs name, since replay leaves
 *       out the records of dropped trees. A stub may then lead into another chain of this tree. The
 *       index in each page says whether the page is the part that is looked for; if it is, it and
 *       what comes behind it are the other chain's end, which is freed, last page first, and the
 *       rest is found through that chain's own stub.
 *   <li>One page is latched at a time.
 * </ol>
 */
final class TreeDrop {
  private static final int ANY_LEVEL = -1;

  private final BufferPool pool;
  private final MemorySegment pages;
  private final int pageSize;
  private final int treeId;
  private final LogSession log;

  /** Whether pages may be free already, or another tree's. */
  private final boolean rest;

  private final LongList chain = new LongList();

  TreeDrop(BufferPool pool, int treeId, boolean rest, LogSession log) {
    this.pool = pool;
    this.pages = pool.pages();
    this.pageSize = pool.pageSize();
    this.treeId = treeId;
    this.rest = rest;
    this.log = log;
  }

  /** Frees a page and all below it, chains included. */
  void drop(long pid) {
    drop(pid, ANY_LEVEL);
  }

  private void drop(long pid, int level) {
    int frame = pool.fixShared(pid);
    long @Nullable [] parts;
    int found;
    try {
      long base = pool.base(frame);
      found = PageHeader.level(pages, base);
      parts = isNode(pid, base, level) ? parts(base, pid) : null;
    } finally {
      pool.releaseShared(frame);
    }
    if (parts == null) {
      return;
    }
    for (int i = 0; i < parts.length; i += 2) {
      if (found > 0) {
        drop(parts[i], found - 1);
      } else {
        dropChain(parts[i], parts[i + 1]);
      }
    }
    free(pid);
  }

  private boolean isNode(long pid, long base, int level) {
    int found = PageHeader.level(pages, base);
    int type = PageHeader.type(pages, base);
    int owner = PageHeader.treeId(pages, base);
    boolean node =
        owner == treeId
            && type == (found == 0 ? PageHeader.LEAF : PageHeader.INNER)
            && (level == ANY_LEVEL || level == found);
    if (!node && !rest) {
      throw OverflowChain.damaged(pool, pid, "owner of a node", treeId, owner);
    }
    return node;
  }

  /** Children, or first pages and lengths of chains: pairs. The page is latched. */
  private long[] parts(long base, long pid) {
    MemorySegment s = pages;
    boolean leaf = BTreeNode.isLeaf(s, base);
    try {
      BTreeNode.checkSane(s, base, pageSize, leaf);
      int count = BTreeNode.count(s, base);
      long[] parts = new long[2 * (count + 1)];
      int n = 0;
      for (int i = 0; i < count + (leaf ? 0 : 1); i++) {
        if (!leaf) {
          parts[n] = BTreeNode.child(s, base, i);
          n += 2;
          continue;
        }
        long slot = BTreeNode.leafSlot(s, base, i);
        if (BTreeNode.field(s, base, pageSize, slot) == BTreeNode.OVERFLOW) {
          long at = BTreeNode.valueAt(base, pageSize, slot);
          parts[n] = BTree.stubPid(s, at);
          parts[n + 1] = BTree.stubLength(s, at);
          n += 2;
        }
      }
      return Arrays.copyOf(parts, n);
    } catch (IndexOutOfBoundsException e) {
      throw BTree.damagedOffsets(pool, pid, e);
    }
  }

  /** Frees a chain, the last page first. */
  void dropChain(long first, long length) {
    chain.clear();
    if (!OverflowChain.collect(pool, treeId, first, length, chain) && !rest) {
      throw new CorruptionException("a long value of a tree", first, -1, length, chain.size());
    }
    for (int i = chain.size() - 1; i >= 0; i--) {
      free(chain.get(i));
    }
  }

  /** Frees a page, whatever hangs on it, if it is still the tree's. */
  void dropPage(long pid) {
    log.grant(AllocatorRecord.FREE_SPACE);
    int frame = pool.fixExclusive(pid);
    if (PageHeader.treeId(pages, pool.base(frame)) == treeId) {
      pool.free(frame, log);
    } else {
      pool.releaseExclusiveUnchanged(frame);
    }
  }

  private void free(long pid) {
    log.grant(AllocatorRecord.FREE_SPACE);
    pool.free(pool.fixExclusive(pid), log);
  }
}
