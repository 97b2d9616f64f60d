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
 * Frees the pages of an unused tree in steps.
 *
 * <pre>
 *   root  ─►  child  ─►  leaf  ─►  chain          freed from right to left: at any time all
 *                                                 remaining pages are reachable from the root
 * </pre>
 *
 * <ol>
 *   <li>Children are freed before their parent, the root last, a chain from its end. So a drop
 *       interrupted by a crash continues at the root: unreachable pages are free already.
 *   <li>Freed pages may belong to another tree by then, or be cut off the end of the file. Tree ids
 *       are never reused: a page with this tree's id is freed, whatever refers to it; others are
 *       skipped with all below them.
 *   <li>After a crash a leaf may be older than its chains, since replay skips the records of
 *       dropped trees. A stub may then lead into another chain of this tree. The index in each page
 *       tells whether it is the expected part. If so, it and what follows are the end of the other
 *       chain, which is freed, last page first; the rest is found through that chain's own stub.
 *   <li>If the tree was sound when the drop began and has no long values, leaves are freed unread.
 *   <li>One page is latched at a time. The position is kept in memory, and a failed step does not
 *       move it, so the step can be repeated.
 * </ol>
 *
 * <p>Used by one thread at a time.
 */
public final class TreeDrop {
  private static final int ANY_LEVEL = -1;

  /** A node whose children are being freed; those before {@code next} remain. */
  private static final class Node {
    final long pid;
    final int level;

    /** Pairs: children, or first pages and lengths of chains. */
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

  /** Whether pages may already be free or in another tree. */
  private final boolean resumed;

  /** Whether leaves must be read before they are freed. */
  private final boolean readLeaves;

  private final Deque<Node> path = new ArrayDeque<>();
  private final LongList chain = new LongList();

  /** The number of pages of {@link #chain}, from its beginning, that remain. */
  private int chainLeft;

  private boolean begun;
  private boolean dropLogged;

  private TreeDrop(
      BufferPool pool,
      int treeId,
      long rootPid,
      boolean resumed,
      boolean readLeaves,
      LogSession log) {
    this.pool = pool;
    this.pages = pool.pages();
    this.pageSize = pool.pageSize();
    this.treeId = treeId;
    this.rootPid = rootPid;
    this.resumed = resumed;
    this.readLeaves = readLeaves;
    this.log = log;
  }

  /**
   * Prepares the drop of an intact tree, which must not be used any more. The session must begin
   * before each {@link #step} and end after it.
   */
  public static TreeDrop of(BTree tree, LogSession log) {
    tree.scratches().free();
    return new TreeDrop(
        tree.pool(), tree.treeId(), tree.rootPid(), false, tree.mayHaveLongValues(), log);
  }

  /**
   * Prepares the rest of a drop that a crash or a close interrupted: pages that are free or in
   * another tree are skipped. The session is as for {@link #of}.
   */
  public static TreeDrop ofUnfinished(BufferPool pool, int treeId, long rootPid, LogSession log) {
    return new TreeDrop(pool, treeId, rootPid, true, true, log);
  }

  /**
   * Frees all pages of a tree, the root last, and logs that. The tree must not be used any more,
   * and the session must have begun before it was declared dropped. After a failure or crash {@link
   * #freeRest} continues. Unfreed pages are not included: see {@link BTree#freeUnfreedPages}.
   */
  public static void free(BTree tree, LogSession log) {
    of(tree, log).run();
  }

  /**
   * Recovery: frees the remaining pages of a tree that is dropped or was never published. Pages
   * that are free or in another tree are skipped, so orphan pages must have been reclaimed before.
   *
   * <p>Not all pages are reachable from the root. Replay skips key changes of such a tree, so its
   * leaves may not name published chains, and nodes of an unfinished bulk load have no parent. But
   * every unreachable page was allocated in the part of the log that recovery reads: before the
   * redo point, all changes are in the pages.
   *
   * @param allocated the pages that ALLOCATE records after the redo point gave to the tree
   * @throws CorruptionException if a page of the tree is damaged
   */
  public static void freeRest(
      BufferPool pool, int treeId, long rootPid, LongList allocated, LogSession log) {
    ofUnfinished(pool, treeId, rootPid, log).run();
    for (int i = 0; i < allocated.size(); i++) {
      freePage(pool, treeId, allocated.get(i), log);
    }
    StructureRecord.appendDropped(log, treeId);
  }

  /**
   * Frees the root of an unpublished tree whose other pages are free, and logs that the tree has no
   * pages. The session must have begun before the tree was created.
   */
  public static void freeRoot(BTree tree, LogSession log) {
    tree.scratches().free();
    freePage(tree.pool(), tree.treeId(), tree.rootPid(), log);
    StructureRecord.appendDropped(log, tree.treeId());
  }

  // --------------------------------------------------------------------------------------- freeing

  /**
   * Reads or frees up to {@code pagesMax} pages. Returns whether all are free, which has then been
   * logged.
   *
   * @throws CorruptionException if a page is damaged: {@link #skip} continues after it
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
          top.free = true; // set at once: a later failure must not free it twice
        }
        path.pop();
      } else {
        part(top, top.parts[top.next - 2], top.parts[top.next - 1]);
        top.next -= 2;
      }
    }
    boolean done = begun && path.isEmpty() && chainLeft == 0;
    if (done && !dropLogged) {
      StructureRecord.appendDropped(log, treeId);
      dropLogged = true;
    }
    return done;
  }

  void run() {
    while (!step(Integer.MAX_VALUE)) {
      // repeat
    }
  }

  /** Skips what {@link #step} found damaged: it is lost, with all below it. */
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
      if (!OverflowChain.collect(pool, treeId, pid, length, end(), chain) && !resumed) {
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
   * Page ids from here on do not exist: the rest of a drop may name pages that were freed and cut
   * off the file. A page cut off after this check is found free.
   */
  private long end() {
    return resumed ? pool.pidLimit() : Long.MAX_VALUE;
  }

  /** Descends to a node, if the page is one. */
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
        clearReferences(pid);
      }
      path.push(node);
    }
  }

  /** Stops trusting the references of a node whose children are going to be freed. */
  private void clearReferences(long pid) {
    if (!pool.swizzling().isOn()) {
      return;
    }
    int frame = pool.fixExclusive(pid);
    try {
      pool.swizzling().clearReferences(frame);
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
    if (!node && !resumed) {
      throw TreeDamage.of(pool, pid, "owner of a node", treeId, owner);
    }
    return node;
  }

  /** Pairs: children, or first pages and lengths of chains. The page is latched. */
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

  /** Frees a node and all below it, including chains, without logging a drop. */
  static void freeBelow(BufferPool pool, int treeId, long pid, LogSession log) {
    TreeDrop drop = new TreeDrop(pool, treeId, pid, false, true, log);
    drop.dropLogged = true;
    drop.run();
  }

  /** Frees an unreferenced chain. */
  static void freeChain(BufferPool pool, int treeId, long first, long length, LogSession log) {
    TreeDrop drop = new TreeDrop(pool, treeId, first, false, true, log);
    drop.begun = true;
    drop.dropLogged = true;
    drop.part(new Node(first, 0, new long[0]), first, length);
    drop.run();
  }

  /** Frees a page, but nothing below it, if it still belongs to the tree. */
  static void freePage(BufferPool pool, int treeId, long pid, LogSession log) {
    log.grant(AllocatorRecord.FREE_SPACE);
    int frame = pool.fixExclusive(pid);
    boolean owned;
    try {
      owned = PageHeader.treeId(pool.pages(), pool.base(frame)) == treeId;
    } catch (Throwable t) {
      throw LatchErrorGuard.releaseAndThrow(pool, frame, pid, false, t);
    }
    if (owned) {
      pool.free(frame, log);
    } else {
      pool.releaseExclusiveUnchanged(frame);
    }
  }

  /**
   * Visits the remaining pages of a tree whose drop may have begun, some more than once. No other
   * thread may change them.
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

  /** Recovery: frees a page of a long value of a dropped tree, whether or not a leaf names it. */
  public static void freeUnreferenced(
      BufferPool pool, long pid, Set<Integer> trees, LogSession log) {
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
      throw LatchErrorGuard.releaseAndThrow(pool, frame, pid, false, t);
    }
    if (theirs) {
      pool.free(frame, log);
    } else {
      pool.releaseExclusiveUnchanged(frame);
    }
  }
}
