package io.fovea.btree;

import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageHeader;
import io.fovea.buffer.PageRef;
import io.fovea.error.CorruptionException;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;

/**
 * Descends from the root of a tree to a node, by optimistic lock coupling, or finds the leaf of a
 * key at a hint.
 *
 * <pre>
 *   frame   := predict(root);  version := optimistic(frame, root)
 *   loop    search the node; child := reference of the separator
 *           childFrame := predictChild(child);  childVersion := optimisticChild(childFrame, child)
 *           if that fails, or the hint was wrong: validate(frame, version), findChild, again
 *           validate(frame, version), else restart
 *           frame, version := childFrame, childVersion
 * </pre>
 *
 * <ol>
 *   <li>The parent is validated <i>after</i> the child's version was read: the parent then still
 *       named this child for the key. This excludes: read the child's id, the child is split, read
 *       the child's version, search the wrong half.
 *   <li>A child id that was not validated is passed only to {@code predictChild} and {@code
 *       optimisticChild}, which accept any number; anything slower follows a validation of the
 *       parent.
 *   <li>A restart is a return value. After {@value #RESTARTS} restarts the descent takes shared
 *       latches, one page at a time, and checks fences, tree id and level instead of the parent's
 *       version. Then only structure changes can force a restart, and each of them is progress by
 *       another thread.
 *   <li>The root may move to another page ({@link RootMove}). The new root id is stored while the
 *       old root is latched exclusively, before that page is freed. So the descent reads the root
 *       id again after the version of the root page: if it is unchanged, the version was read
 *       before the move and fails to validate after it. This excludes: read the root's id, the root
 *       moves, its page becomes a leaf of the same tree, read that leaf's version, search any key
 *       there.
 *   <li>An {@link IndexOutOfBoundsException} is caught around the descent. The version then tells a
 *       torn page (restart) from a damaged one ({@link CorruptionException}).
 *   <li>Frame, page id and version are locals, accessors are static, and nothing is allocated.
 *   <li>The descent and the two searches are each above 325 bytecodes, so the JVM never inlines
 *       them. That is intended: each memory access inlines many JDK methods, and the inlining
 *       budget of a compilation is better spent elsewhere than on three calls per level.
 * </ol>
 *
 * <p>Source: Leis, Haubenschild, Neumann, <i>Optimistic Lock Coupling</i>, IEEE Data Eng. Bull.
 * 42(1), 2019.
 */
final class Descent {
  private static final long RESTART = BufferPool.RESTART;

  /** Restarts before a descent latches. */
  private static final int RESTARTS = 32;

  /**
   * Latched descents that may end at the wrong node before the tree counts as damaged: several
   * seconds.
   */
  private static final int LATCHED_MAX = 50_000;

  /**
   * No tree is this high: with 2 children per node it would have more pages than there are page
   * ids.
   */
  private static final int DEPTH_MAX = 64;

  private final BufferPool pool;
  private final MemorySegment pages;
  private final int pageShift;
  private final int pageSize;
  private final int treeId;

  /** Written only by {@link #moveRoot}, under the latch of the old root page. */
  private volatile long rootPid;

  /** The last frame of the root: a hint, used if the translation benefits from hints. */
  private int rootFrame;

  private final boolean hinted;

  Descent(BufferPool pool, int treeId, long rootPid) {
    this.pool = pool;
    this.pages = pool.pages();
    this.pageShift = pool.pageShift();
    this.pageSize = pool.pageSize();
    this.treeId = treeId;
    this.rootPid = rootPid;
    this.rootFrame = pool.predict(rootPid);
    this.hinted = pool.usesFrameHints();
  }

  BufferPool pool() {
    return pool;
  }

  int treeId() {
    return treeId;
  }

  /**
   * Returns the current root. It remains the root as long as its page is latched or keeps its
   * version.
   */
  long rootPid() {
    return rootPid;
  }

  /** Publishes a new root. The caller has latched the old root page and frees it afterwards. */
  void moveRoot(long pid) {
    rootPid = pid;
  }

  /**
   * Descends to a level once. Sets the position to the node and its first slot whose key is not
   * below the given key. With {@code after}, looks for what follows the key: in an inner node, the
   * first slot above it. {@code p.frame} is -1 if the tree is lower. Returns false if a writer
   * interfered.
   */
  boolean descend(MemorySegment key, long off, int len, boolean after, int level, Position p) {
    BufferPool pool = this.pool;
    MemorySegment s = pages;
    long pid = rootPid;
    int frame = hinted ? rootFrame : pool.predict(pid);
    long version = pool.optimistic(frame, pid);
    if (version == RESTART | pid != rootPid) { // version before root id: partner of moveRoot
      pid = rootPid;
      frame = findRoot(pid);
      version = pool.optimistic(frame, pid);
      if (version == RESTART | pid != rootPid) {
        return false;
      }
    }
    try {
      // The expected level: that of the root, then one less per step.
      int expected = BTreeNode.levelOfKind(BTreeNode.kind(s, (long) frame << pageShift));
      for (int depth = 1; ; depth++, expected--) {
        long base = (long) frame << pageShift;
        int kind = BTreeNode.kind(s, base);
        int found = BTreeNode.levelOfKind(kind);
        if (!BTreeNode.isInnerKind(kind) || found <= level || found != expected) {
          p.pageAccesses += depth;
          p.childSteps += depth - 1;
          return BTreeNode.isLeafKind(kind) && (level | found | expected) == 0
              ? enterChild(key, off, len, p, frame, version, pid)
              : arriveInner(key, off, len, after, level, expected, p, frame, version, pid);
        }
        found = NodeSearch.searchInner(s, base, pageSize, key, off, len);
        long at = BTreeNode.childAt(base, (found >>> 1) + (after ? found & 1 : 0));
        long ref = Mem.peekLong(s, at);
        long child = PageRef.pid(ref);
        int childFrame = pool.predictChild(ref);
        long childVersion = pool.optimisticChild(childFrame, ref);
        if (childVersion == RESTART || pool.isStale(ref, childFrame)) {
          if (!pool.validate(frame, version)) {
            return false;
          }
          requirePage(pid, child);
          childFrame = pool.findChild(frame, version, at, ref, childFrame);
          childVersion = pool.optimistic(childFrame, child);
        }
        if (!pool.validate(frame, version) || childVersion == RESTART || depth > DEPTH_MAX) {
          return stopped(depth, pid);
        }
        frame = childFrame;
        version = childVersion;
        pid = child;
      }
    } catch (IndexOutOfBoundsException e) {
      TreeDamage.requireTorn(pool, frame, version, pid, key, off, len, e);
      return false;
    }
  }

  /** Reports a validated reference that is not a page id as damage of its page. */
  void requirePage(long pid, long child) {
    if (!isPage(child)) {
      throw TreeDamage.of(pool, pid, "a reference to a child", pool.pidLimit(), child);
    }
  }

  private boolean isPage(long pid) {
    return pid > 1 && pid < pool.pidLimit();
  }

  /** Sets a position to the root, as an unchecked hint. */
  void beginAt(Position p) {
    p.set(rootFrame, RESTART, rootPid, 0, false);
  }

  private int findRoot(long pid) {
    int frame = pool.findSlow(pid);
    rootFrame = frame;
    return frame;
  }

  private boolean enterChild(
      MemorySegment key, long off, int len, Position p, int frame, long version, long pid) {
    long base = (long) frame << pageShift;
    if (PageHeader.treeId(pages, base) != treeId) {
      return handleUnexpectedPage(0, 0, p, frame, version, pid);
    }
    int found = NodeSearch.searchLeaf(pages, base, pageSize, key, off, len);
    p.set(frame, version, pid, found >>> 1, (found & 1) != 0);
    return pool.validate(frame, version);
  }

  /** Ends a descent at an inner node of the requested level, or at an unexpected page. */
  private boolean arriveInner(
      MemorySegment key,
      long off,
      int len,
      boolean after,
      int level,
      int expected,
      Position p,
      int frame,
      long version,
      long pid) {
    long base = (long) frame << pageShift;
    int kind = BTreeNode.kind(pages, base);
    if (!BTreeNode.isInnerKind(kind) || BTreeNode.levelOfKind(kind) != level || expected != level) {
      return handleUnexpectedPage(level, expected, p, frame, version, pid);
    }
    int found = NodeSearch.searchInner(pages, base, pageSize, key, off, len);
    p.set(frame, version, pid, (found >>> 1) + (after ? found & 1 : 0), (found & 1) != 0);
    return pool.validate(frame, version);
  }

  /**
   * Handles an unexpected page: the root is lower, or the page is torn or damaged. The parent was
   * validated after this page's version was read, so at that version the page was this parent's
   * child, and no structure change explains it.
   */
  private boolean handleUnexpectedPage(
      int level, int expected, Position p, int frame, long version, long pid) {
    long base = (long) frame << pageShift;
    int type = PageHeader.type(pages, base);
    int found = PageHeader.level(pages, base);
    int owner = PageHeader.treeId(pages, base);
    boolean root = pid == rootPid; // read before the validation: true as long as the version holds
    // An invalid page id may lead to a frame without a page. The latched descent reports it, and
    // names the node that contains it.
    if (!pool.validate(frame, version) || !isPage(pid)) {
      return false;
    }
    if (owner != treeId) {
      throw TreeDamage.of(pool, pid, "tree id of a node", treeId, owner);
    }
    if (found != expected) {
      throw TreeDamage.of(pool, pid, "level of a node", expected, found);
    }
    int right = found == 0 ? PageHeader.LEAF : PageHeader.INNER;
    if (type != right || !root || found >= level) {
      throw TreeDamage.of(pool, pid, "type of a node", right, type);
    }
    p.clear();
    return true;
  }

  private boolean stopped(int depth, long pid) {
    if (depth > DEPTH_MAX) {
      throw TreeDamage.of(pool, pid, "height of the tree", DEPTH_MAX, depth);
    }
    return false;
  }

  /** Retries after a failed descent, with latches after more failures. */
  void descendAgain(MemorySegment key, long off, int len, boolean after, int level, Position p) {
    for (int i = 0; i < RESTARTS; i++) {
      Pause.after(i);
      if (descend(key, off, len, after, level, p)) {
        return;
      }
    }
    for (int i = 0; !descendLatched(key, off, len, after, level, p, false); i++) {
      pauseLatched(i);
    }
  }

  /**
   * Waits after a latched descent met a structure change. If that never ends, the tree is damaged.
   */
  private void pauseLatched(int attempt) {
    if (attempt > LATCHED_MAX) {
      throw TreeDamage.of(
          pool, rootPid, "fences or levels on the path from the root", LATCHED_MAX, attempt);
    }
    Pause.after(attempt);
  }

  void descendTo(MemorySegment key, long off, int len, boolean after, int level, Position p) {
    if (!descend(key, off, len, after, level, p)) {
      descendAgain(key, off, len, after, level, p);
    }
  }

  /**
   * Finds a key, starting at a hint: the same slot of the unchanged leaf, then the same leaf if its
   * fences bracket the key, then a descent.
   */
  void locate(MemorySegment key, long off, int len, Position p) {
    if (p.frame < 0) {
      descendTo(key, off, len, false, 0, p);
      return;
    }
    p.hintsTried++;
    if (!locateAtHint(key, off, len, p)) {
      p.hintsStale++;
      descendTo(key, off, len, false, 0, p);
    }
  }

  private boolean locateAtHint(MemorySegment key, long off, int len, Position p) {
    long pid = p.pid;
    int frame = p.frame;
    long version = pool.optimistic(frame, pid);
    if (version == RESTART) {
      // The page may have moved to its preferred frame since.
      frame = pool.predict(pid);
      version = pool.optimistic(frame, pid);
      if (version == RESTART) {
        return false;
      }
    }
    try {
      p.pageAccesses++;
      int hint = version != p.version ? -1 : p.found ? p.slot : NodeSearch.absent(p.slot);
      long base = (long) frame << pageShift;
      int slot = NodeSearch.searchHinted(pages, base, pageSize, treeId, hint, key, off, len);
      if (slot < 0) {
        return false;
      }
      p.set(frame, version, pid, slot >>> 1, (slot & 1) != 0);
      return pool.validate(frame, version);
    } catch (IndexOutOfBoundsException e) {
      TreeDamage.requireTorn(pool, frame, version, pid, key, off, len, e);
      return false;
    }
  }

  /**
   * Descends with one shared latch at a time. The tree may change between two latches, so each node
   * must be of this tree and the expected level, with fences that bracket the key. A wrong node is
   * damaged if its parent is unchanged; so is a wrong root, since the root id is checked under its
   * latch. Returns false if the structure changed.
   *
   * @param keep whether to keep the last latch
   */
  private boolean descendLatched(
      MemorySegment key, long off, int len, boolean after, int level, Position p, boolean keep) {
    int[] held = {-1};
    try {
      return descendLatched(key, off, len, after, level, p, keep, held);
    } catch (Throwable t) {
      if (held[0] >= 0) {
        pool.releaseShared(held[0]);
      }
      throw t;
    }
  }

  /** As above; {@code held} is the latched frame, or -1. */
  private boolean descendLatched(
      MemorySegment key,
      long off,
      int len,
      boolean after,
      int level,
      Position p,
      boolean keep,
      int[] held) {
    MemorySegment s = pages;
    long pid = rootPid;
    int expected = -1;
    int parent = -1;
    long parentVersion = 0;
    for (; ; ) {
      int frame = pool.fixShared(pid);
      held[0] = frame;
      p.pageAccesses++;
      if (parent < 0 && pid != rootPid) {
        held[0] = -1;
        pool.releaseShared(frame);
        return false;
      }
      long base = pool.base(frame);
      int at = PageHeader.level(s, base);
      boolean right =
          NodeCheck.isNode(s, base, expected < 0 ? at : expected, treeId)
              && NodeSearch.covers(s, base, pageSize, key, off, len, after);
      if (!right) {
        // Validated under the latch of the child: the parent named it throughout.
        boolean damaged = parent < 0 || pool.validate(parent, parentVersion);
        held[0] = -1;
        pool.releaseShared(frame);
        if (damaged) {
          throw TreeDamage.of(pool, pid, "level or fences of a node", expected, at);
        }
        return false;
      }
      if (at < level) {
        held[0] = -1;
        pool.releaseShared(frame);
        p.clear();
        return true;
      }
      int found;
      try {
        found =
            at == 0
                ? NodeSearch.searchLeaf(s, base, pageSize, key, off, len)
                : NodeSearch.searchInner(s, base, pageSize, key, off, len);
      } catch (IndexOutOfBoundsException e) {
        throw TreeDamage.offsets(pool, pid, e);
      }
      if (at > 0 && after) {
        found += (found & 1) << 1;
      }
      if (at == level) {
        // The version cannot move under the latch.
        long version = pool.optimistic(frame, pid);
        p.set(frame, version, pid, found >>> 1, (found & 1) != 0);
        held[0] = -1;
        if (!keep) {
          pool.releaseShared(frame);
        }
        return version != RESTART;
      }
      long child = BTreeNode.child(s, base, found >>> 1);
      parent = frame;
      parentVersion = pool.optimistic(frame, pid);
      held[0] = -1;
      pool.releaseShared(frame);
      requirePage(pid, child);
      pid = child;
      expected = at - 1;
    }
  }

  /** Descends to a leaf with one shared latch at a time, and keeps the latch of the leaf. */
  void findShared(MemorySegment key, long off, int len, boolean after, Position p) {
    for (int i = 0; !descendLatched(key, off, len, after, 0, p, true); i++) {
      pauseLatched(i);
    }
  }
}
