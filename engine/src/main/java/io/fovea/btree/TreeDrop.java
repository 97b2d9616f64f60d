package io.fovea.btree;

import io.fovea.buffer.AllocatorRecord;
import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageHeader;
import io.fovea.error.CorruptionException;
import io.fovea.memory.LongList;
import io.fovea.wal.LogSession;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.Set;
import java.util.function.LongConsumer;

/**
 * Frees the pages of a tree that nobody uses any more, some at a time.
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
 *       one that has not is passed by, and nothing below it is looked at. It may also have been cut
 *       off the end of the file; it is passed by, too.
 *   <li>After a crash a leaf may be older than the chains that its stubs name, since replay leaves
 *       out the records of dropped trees. A stub may then lead into another chain of this tree. The
 *       index in each page says whether the page is the part that is looked for; if it is, it and
 *       what comes behind it are the other chain's end, which is freed, last page first, and the
 *       rest is found through that chain's own stub.
 *   <li>Of a tree that was sound when the drop began, and that has had no long values, the leaves
 *       are not read: their parents name them.
 *   <li>One page is latched at a time. The place where a drop stands is here, in memory, and a step
 *       that fails has not moved it: it can be done again.
 * </ol>
 *
 * <p>One thread at a time.
 *
 * @since 0.1.0
 */
public final class TreeDrop {
  private static final int ANY_LEVEL = -1;

  /** A node whose children are being freed: those before {@code next} are left. */
  private static final class Node {
    final long pid;
    final int level;

    /** Children, or first pages and lengths of chains: pairs. */
    final long[] parts;

    int next;

    /** Whether the node itself is free. */
    boolean free;

    Node(long pid, int level, long[] parts) {
      this.pid = pid;
      this.level = level;
      this.parts = parts;
      this.next = parts.length;
    }
  }

  private final BufferPool pool;
  private final MemorySegment pages;
  private final int pageSize;
  private final int treeId;
  private final long rootPid;
  private final LogSession log;

  /** Whether pages may be free already, or another tree's. */
  private final boolean rest;

  /** Whether leaves have to be read before they are freed. */
  private final boolean readLeaves;

  private final Deque<Node> path = new ArrayDeque<>();
  private final LongList chain = new LongList();

  /** How many pages of {@link #chain} are to be freed, from its beginning. */
  private int chainLeft;

  private boolean begun;
  private boolean told;

  private TreeDrop(
      BufferPool pool, int treeId, long rootPid, boolean rest, boolean readLeaves, LogSession log) {
    this.pool = pool;
    this.pages = pool.pages();
    this.pageSize = pool.pageSize();
    this.treeId = treeId;
    this.rootPid = rootPid;
    this.rest = rest;
    this.readLeaves = readLeaves;
    this.log = log;
  }

  /**
   * The drop of a tree that is whole.
   *
   * @param tree the tree, which nobody uses, now or later
   * @param log what begins before each {@link #step}, and ends after it
   * @return the drop
   */
  public static TreeDrop of(BTree tree, LogSession log) {
    tree.scratches().free();
    return new TreeDrop(tree.pool(), tree.treeId(), tree.rootPid(), false, tree.mayHoldLong(), log);
  }

  /**
   * The rest of a drop that a crash or a close has ended: pages that are free already, or another
   * tree's, are passed by.
   *
   * @param pool where the pages are
   * @param treeId the tree's id
   * @param rootPid its root
   * @param log what begins before each {@link #step}, and ends after it
   * @return the drop
   */
  public static TreeDrop rest(BufferPool pool, int treeId, long rootPid, LogSession log) {
    return new TreeDrop(pool, treeId, rootPid, true, true, log);
  }

  /**
   * Frees all pages of a tree, the root last, and logs that it is done. Nobody else may use the
   * tree, now or later. If this fails, or a crash ends it, {@link #freeRest} goes on. Strays are
   * not among the pages: see {@link BTree#freeStrays}.
   *
   * @param tree the tree
   * @param log a session that has begun before the tree was declared dropped
   */
  public static void free(BTree tree, LogSession log) {
    of(tree, log).run();
  }

  /**
   * Recovery: frees what a crash has left of a tree that is dropped, or that was never published.
   * Pages that are free already, or another tree's, are passed by; so pages that nobody uses must
   * have been reclaimed before.
   *
   * <p>What hangs on the root is not all. Replay leaves out the changes of keys of such a tree, so
   * its leaves may not know chains that commits have published; and the nodes of a bulk load that
   * did not end hang on nothing. But whatever does not hang on the root was allocated in the part
   * of the log that recovery reads: before the redo point every change is in the pages.
   *
   * @param pool where the pages are
   * @param treeId the tree's id
   * @param rootPid its root
   * @param allocated the pages that ALLOCATE records from the redo point on gave to the tree
   * @param log a session that has begun
   * @throws CorruptionException if a page of the tree is damaged
   */
  public static void freeRest(
      BufferPool pool, int treeId, long rootPid, LongList allocated, LogSession log) {
    rest(pool, treeId, rootPid, log).run();
    for (int i = 0; i < allocated.size(); i++) {
      freePage(pool, treeId, allocated.get(i), log);
    }
    StructureRecord.appendDropped(log, treeId);
  }

  /**
   * Frees the root of a tree that nobody knows and whose other pages are free already, and logs
   * that the tree has none any more.
   *
   * @param tree the tree
   * @param log a session that has begun before the tree was made
   */
  public static void freeRoot(BTree tree, LogSession log) {
    tree.scratches().free();
    freePage(tree.pool(), tree.treeId(), tree.rootPid(), log);
    StructureRecord.appendDropped(log, tree.treeId());
  }

  // --------------------------------------------------------------------------------------- freeing

  /**
   * Goes on.
   *
   * @param pagesMax how many pages to look at or to free at most
   * @return whether all are free, which is then in the log
   * @throws CorruptionException if a page is damaged: {@link #skip} goes on behind it
   */
  public boolean step(int pagesMax) {
    for (int i = 0; i < pagesMax; i++) {
      if (chainLeft > 0) {
        free(chain.get(chainLeft - 1));
        chainLeft--;
        continue;
      }
      Node top = path.peek();
      if (top == null) {
        if (begun) {
          break;
        }
        enter(rootPid, ANY_LEVEL);
        begun = true;
      } else if (top.next == 0) {
        if (!top.free) {
          free(top.pid);
          top.free = true; // the next call may fail, and this must not be done twice
        }
        path.pop();
      } else {
        part(top, top.parts[top.next - 2], top.parts[top.next - 1]);
        top.next -= 2;
      }
    }
    boolean done = begun && path.isEmpty() && chainLeft == 0;
    if (done && !told) {
      StructureRecord.appendDropped(log, treeId);
      told = true;
    }
    return done;
  }

  /** All of it. */
  void run() {
    while (!step(Integer.MAX_VALUE)) {
      // again
    }
  }

  /** Leaves out what {@link #step} has found damaged: it is lost, with all below it. */
  public void skip() {
    Node top = path.peek();
    if (chainLeft > 0) {
      chainLeft = 0;
    } else if (top == null) {
      begun = true;
    } else if (top.next > 0) {
      top.next -= 2;
    } else {
      path.pop();
    }
  }

  private void part(Node top, long pid, long length) {
    if (top.level == 0) {
      chain.clear();
      if (!OverflowChain.collect(pool, treeId, pid, length, end(), chain) && !rest) {
        throw new CorruptionException("a long value of a tree", pid, -1, length, chain.size());
      }
      chainLeft = chain.size();
    } else if (top.level == 1 && !readLeaves) {
      log.grant(AllocatorRecord.FREE_SPACE);
      pool.freeUnread(pid, treeId, log);
    } else {
      enter(pid, top.level - 1);
    }
  }

  /**
   * From here on there is no page any more: a rest may name some that were freed, and then cut off
   * the end of the file. One that is cut off after this was asked is found free.
   */
  private long end() {
    return rest ? pool.pidLimit() : Long.MAX_VALUE;
  }

  /** Goes down to a node, if it is one. */
  private void enter(long pid, int level) {
    if (pid >= end()) {
      return;
    }
    int frame = pool.fixShared(pid);
    Node node = null;
    try {
      long base = pool.base(frame);
      if (isNode(pid, base, level)) {
        node = new Node(pid, PageHeader.level(pages, base), parts(base, pid));
      }
    } finally {
      pool.releaseShared(frame);
    }
    if (node != null) {
      if (node.level > 0) {
        forsake(pid);
      }
      path.push(node);
    }
  }

  /** Its children are freed before it is: its references are believed no more. */
  private void forsake(long pid) {
    if (!pool.swizzling().isOn()) {
      return;
    }
    int frame = pool.fixExclusive(pid);
    try {
      pool.swizzling().forsake(frame);
    } finally {
      pool.releaseExclusive(frame);
    }
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
      throw TreeDamage.of(pool, pid, "owner of a node", treeId, owner);
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
          parts[n] = OverflowChain.stubPid(s, at);
          parts[n + 1] = OverflowChain.stubLength(s, at);
          n += 2;
        }
      }
      return Arrays.copyOf(parts, n);
    } catch (IndexOutOfBoundsException e) {
      throw TreeDamage.offsets(pool, pid, e);
    }
  }

  private void free(long pid) {
    log.grant(AllocatorRecord.FREE_SPACE);
    pool.free(pool.fixExclusive(pid), log);
  }

  // ----------------------------------------------------------------------------- parts of a tree

  /**
   * Frees a node and all below it, chains included; of a tree that is not to be dropped as such.
   */
  static void freeBelow(BufferPool pool, int treeId, long pid, LogSession log) {
    TreeDrop drop = new TreeDrop(pool, treeId, pid, false, true, log);
    drop.told = true;
    drop.run();
  }

  /** Frees the chain of a value that no leaf has. */
  static void freeChain(BufferPool pool, int treeId, long first, long length, LogSession log) {
    TreeDrop drop = new TreeDrop(pool, treeId, first, false, true, log);
    drop.begun = true;
    drop.told = true;
    drop.part(new Node(first, 0, new long[0]), first, length);
    drop.run();
  }

  /** Frees a page, whatever hangs on it, if it is still the tree's. */
  static void freePage(BufferPool pool, int treeId, long pid, LogSession log) {
    log.grant(AllocatorRecord.FREE_SPACE);
    int frame = pool.fixExclusive(pid);
    boolean mine;
    try {
      mine = PageHeader.treeId(pool.pages(), pool.base(frame)) == treeId;
    } catch (Throwable t) {
      throw LatchErrorGuard.one(pool, frame, pid, false, t);
    }
    if (mine) {
      pool.free(frame, log);
    } else {
      pool.releaseExclusiveUnchanged(frame);
    }
  }

  /**
   * Visits the pages that a tree still has whose drop has begun, or may have. Nobody changes them
   * meanwhile.
   *
   * @param pool where the pages are
   * @param treeId the tree's id
   * @param rootPid its root
   * @param visitor gets each page; some perhaps more than once
   */
  public static void visit(BufferPool pool, int treeId, long rootPid, LongConsumer visitor) {
    TreeDrop drop = new TreeDrop(pool, treeId, rootPid, true, true, LogSession.NONE);
    drop.enter(rootPid, ANY_LEVEL);
    Node top = drop.path.peek();
    while (top != null) {
      if (top.next == 0) {
        visitor.accept(top.pid);
        drop.path.pop();
      } else {
        top.next -= 2;
        long pid = top.parts[top.next];
        if (top.level > 0) {
          drop.enter(pid, top.level - 1);
        } else {
          drop.part(top, pid, top.parts[top.next + 1]);
          for (int i = 0; i < drop.chain.size(); i++) {
            visitor.accept(drop.chain.get(i));
          }
        }
      }
      top = drop.path.peek();
    }
  }

  /**
   * Recovery: frees a page of a long value, if it is one of a tree that is to be dropped. A leaf of
   * the tree may know it or not.
   *
   * @param pool where the pages are
   * @param pid the page
   * @param trees the trees that are to be dropped
   * @param log a session that has begun
   */
  public static void freeLoose(BufferPool pool, long pid, Set<Integer> trees, LogSession log) {
    log.grant(AllocatorRecord.FREE_SPACE);
    int frame = pool.fixExclusive(pid);
    boolean theirs;
    try {
      MemorySegment pages = pool.pages();
      long base = pool.base(frame);
      theirs =
          PageHeader.type(pages, base) == PageHeader.OVERFLOW
              && trees.contains(PageHeader.treeId(pages, base));
    } catch (Throwable t) {
      throw LatchErrorGuard.one(pool, frame, pid, false, t);
    }
    if (theirs) {
      pool.free(frame, log);
    } else {
      pool.releaseExclusiveUnchanged(frame);
    }
  }
}
