package io.fovea.recovery;

import io.fovea.btree.BTree;
import io.fovea.btree.PageSet;
import io.fovea.btree.TreeDrop;
import io.fovea.btree.TreeVerifier;
import io.fovea.buffer.AllocatorState;
import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageHeader;
import io.fovea.error.CorruptionException;
import io.fovea.error.OperationInterruptedException;
import io.fovea.error.StorageException;
import io.fovea.memory.Mem;
import java.util.ArrayList;
import java.util.List;

/**
 * Accounts for every page of a file: superblocks, trees, free list.
 *
 * <pre>
 *   0, 1          superblocks
 *   trees         each verified by {@link TreeVerifier}; a page belongs to one of them
 *   deferred      remaining pages of trees that are being dropped
 *   free list     from the head, as long as the superblock says, pages of type FREE
 *   the rest up to the high-water mark: lost
 * </pre>
 *
 * <p>Pages can only be called lost if everything that might refer to them was read. So lost pages
 * are not reported if a read failed, or if a page of a tree could not be followed.
 *
 * <p>For an idle database; one thread. Damage is reported as text, never as an exception.
 */
public final class PageAudit {
  private static final int PROBLEMS_MAX = 200;
  private static final int NEXT_FREE = PageHeader.BYTES;

  private final BufferPool pool;
  private final PageSet reached = new PageSet();
  private final List<String> problems = new ArrayList<>();
  private long problemCount;
  private int trees;
  private long freePages;

  /** Whether everything that refers to pages was read so far. */
  private boolean complete = true;

  /**
   * Begins an audit.
   *
   * @param pool the pages
   */
  public PageAudit(BufferPool pool) {
    this.pool = pool;
    reached.add(0);
    reached.add(1);
  }

  /**
   * Verifies a tree.
   *
   * @param what its name, for messages
   * @param tree the tree
   * @return the number of keys
   */
  public long tree(String what, BTree tree) {
    return verify(what, tree).keys();
  }

  /**
   * Verifies a tree and returns details.
   *
   * @param what its name, for messages
   * @param tree the tree
   * @return what was found
   */
  public TreeVerifier.Report verify(String what, BTree tree) {
    trees++;
    TreeVerifier.Report report = TreeVerifier.verify(tree, reached);
    for (TreeVerifier.Problem p : report.problems()) {
      problem(what + ": " + p);
      switch (p.kind()) {
        case UNREADABLE, HEADER, REFERENCE, OVERFLOW -> complete = false; // it was not followed
        case FENCE, SPACE, ORDER, HEAD -> {}
      }
    }
    return report;
  }

  /**
   * Counts the remaining pages of a tree that is being dropped.
   *
   * @param what its name, for messages
   * @param treeId its id
   * @param rootPid its root
   */
  public void deferred(String what, int treeId, long rootPid) {
    try {
      TreeDrop.visit(pool, treeId, rootPid, reached::add);
    } catch (CorruptionException | StorageException e) {
      problem(what + ": " + e.getMessage());
      complete = false;
    }
  }

  /** Walks the free list and reports lost pages. Call after all trees. */
  public void finish() {
    AllocatorState state = pool.allocatorState();
    long pid = state.freeHead();
    while (pid != 0 && freePages <= state.freePages()) {
      if (pid < AllocatorState.FIRST_PID || pid >= state.highWater()) {
        problem("free list: page " + pid + " does not exist");
        break;
      }
      if (!reached.add(pid)) {
        problem("free list: page " + pid + " is in use, or is listed twice");
        break;
      }
      freePages++;
      OperationInterruptedException.check("verify the free list");
      try {
        int frame = pool.fixShared(pid);
        int type;
        long next;
        try {
          long base = pool.base(frame);
          type = PageHeader.type(pool.pages(), base);
          next = Mem.getLong(pool.pages(), base + NEXT_FREE);
        } finally {
          pool.releaseShared(frame);
        }
        if (type != PageHeader.FREE) {
          problem("free list: page " + pid + " has type " + type);
        }
        pid = next;
      } catch (CorruptionException | StorageException e) {
        problem("free list: page " + pid + " can't be read: " + e.getMessage());
        complete = false;
        break;
      }
    }
    if (!complete) {
      return;
    }
    if (freePages != state.freePages()) {
      problem("free list: " + freePages + " pages, the superblock says " + state.freePages());
    }
    for (long p = Superblock.CATALOG_ROOT_PID; p < state.highWater(); p++) {
      if (!reached.contains(p)) {
        problem("page " + p + " is lost: neither in a tree nor free");
      }
    }
  }

  /** Records a problem. */
  public void problem(String text) {
    problemCount++;
    if (problems.size() < PROBLEMS_MAX) {
      problems.add(text);
    }
  }

  /** Returns the number of trees verified. */
  public int trees() {
    return trees;
  }

  /** Returns the number of pages in the free list. */
  public long freePages() {
    return freePages;
  }

  /** Returns the first problems, and how many more there are. */
  public List<String> problems() {
    List<String> all = new ArrayList<>(problems);
    if (problemCount > problems.size()) {
      all.add("and " + (problemCount - problems.size()) + " more");
    }
    return all;
  }
}
