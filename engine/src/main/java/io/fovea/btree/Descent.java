package io.fovea.btree;

import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageHeader;
import io.fovea.buffer.PageRef;
import io.fovea.error.CorruptionException;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;

/**
 * The way from the root of a tree to a node, by optimistic lock coupling.
 *
 * <pre>
 *   frame   := predict(root);  version := optimistic(frame, root)
 *   loop    search the node; child := page id beside the separator
 *           childFrame := predictChild(child);  childVersion := optimisticChild(childFrame, child)
 *           if that fails, or the hint was wrong: validate(frame, version), findChild, again
 *           validate(frame, version), else restart
 *           frame, version := childFrame, childVersion
 * </pre>
 *
 * <ol>
 *   <li>The parent is validated <i>after</i> the child's version was read: at that moment the
 *       parent still named this child, so the version is of the child that belongs to the key.
 *       Without the second half of the sentence: read the child's id, the child is split, read the
 *       child's version, search in the wrong half.
 *   <li>A child id that was not validated goes to {@code predictChild} and {@code optimisticChild}
 *       only, which take any number; before anything slower the parent is validated.
 *   <li>A restart is a return value. After {@value #RESTARTS} of them the descent latches, shared,
 *       one page at a time; fences, tree id and level take the place of the parent's version. Then
 *       it can only be undone by changes of structure, each of which is the progress of another
 *       thread.
 *   <li>The root may become another page ({@link RootMove}). Which page it is, is stored while the
 *       page that was the root is latched exclusively, and before that page is freed. So it is read
 *       once more after the version of the root: if it is the same page still, the version is from
 *       before the move, and does not hold any more after it. Without the second look: read the
 *       root's id, the root moves, its page becomes a leaf of the same tree, read the version of
 *       that leaf, and look for any key there.
 *   <li>An {@link IndexOutOfBoundsException} is caught around the descent. The version tells
 *       whether the page was torn (restart) or is damaged ({@link CorruptionException}).
 *   <li>Frame, page id and version are locals, the accessors static, nothing is allocated.
 *   <li>The descent and the two searches are each of more than 325 bytecodes, which the JVM never
 *       inlines. That is wanted: every access to memory inlines some fifteen methods of the JDK,
 *       and a compilation has a budget for that, so that three calls a level cost less than what
 *       would not be inlined behind the end of it (measured: 127 ns to 111 ns a descent of three
 *       levels).
 * </ol>
 *
 * <p>Optimistic lock coupling: Leis, Haubenschild, Neumann, IEEE Data Eng. Bull. 42(1), 2019.
 */
final class Descent {
  private static final long RESTART = BufferPool.RESTART;

  /** Restarts before a descent latches. */
  private static final int RESTARTS = 32;

  /** Latched descents that may end at the wrong node: some seconds' worth. */
  private static final int LATCHED_MAX = 50_000;

  /** No tree is as high as this: 2 children a node would address more pages than there are ids. */
  private static final int DEPTH_MAX = 64;

  private final BufferPool pool;
  private final MemorySegment pages;
  private final int pageShift;
  private final int pageSize;
  private final int treeId;

  /** Set by {@link #moveRoot} alone, under the latch of the page that was the root until then. */
  private volatile long rootPid;

  /** Where the root was seen last: a hint, checked like any other, where frames are remembered. */
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
    this.hinted = pool.hinted();
  }

  BufferPool pool() {
    return pool;
  }

  int treeId() {
    return treeId;
  }

  /** The root now. It stays that as long as its page is latched, or has the version that it had. */
  long rootPid() {
    return rootPid;
  }

  /**
   * Another page is the root from here on, with the tree as it is. The caller has latched the page
   * that was the root, and frees it.
   */
  void moveRoot(long pid) {
    rootPid = pid;
  }

  /**
   * Goes down to a level.
   *
   * @param after whether what follows the key is looked for, rather than the key
   * @param level 0 for the leaf
   * @param p out: the node, and in it the first slot whose key is not below the key (whose key is
   *     above it, where {@code after} is set in an inner node); {@code frame} is -1 if the tree is
   *     not that high
   * @return false if a writer interfered: start again
   */
  boolean descend(MemorySegment key, long off, int len, boolean after, int level, Position p) {
    BufferPool pool = this.pool;
    MemorySegment s = pages;
    long pid = rootPid;
    int frame = hinted ? rootFrame : pool.predict(pid);
    long version = pool.optimistic(frame, pid);
    if (version == RESTART | pid != rootPid) { // the version first: partner of moveRoot
      pid = rootPid;
      frame = findRoot(pid);
      version = pool.optimistic(frame, pid);
      if (version == RESTART | pid != rootPid) {
        return false;
      }
    }
    try {
      // The level that the node must have: of the root what it says, then one less each time.
      int expected = BTreeNode.kindLevel(BTreeNode.kind(s, (long) frame << pageShift));
      for (int depth = 1; ; depth++, expected--) {
        long base = (long) frame << pageShift;
        int kind = BTreeNode.kind(s, base);
        int found = BTreeNode.kindLevel(kind);
        if (!BTreeNode.kindInner(kind) || found <= level || found != expected) {
          p.pageAccesses += depth;
          p.childSteps += depth - 1;
          return BTreeNode.kindLeaf(kind) && (level | found | expected) == 0
              ? arrive(key, off, len, p, frame, version, pid)
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

  /** Says of a reference that leads nowhere where it stands: it was validated. */
  void requirePage(long pid, long child) {
    if (!isPage(child)) {
      throw TreeDamage.of(pool, pid, "a reference to a child", pool.pidLimit(), child);
    }
  }

  private boolean isPage(long pid) {
    return pid > 1 && pid < pool.pidLimit();
  }

  /** Puts a position on the root, as an unchecked hint. */
  void beginAt(Position p) {
    p.set(rootFrame, RESTART, rootPid, 0, false);
  }

  private int findRoot(long pid) {
    int frame = pool.findSlow(pid);
    rootFrame = frame;
    return frame;
  }

  /** Ends a descent in a leaf. */
  private boolean arrive(
      MemorySegment key, long off, int len, Position p, int frame, long version, long pid) {
    long base = (long) frame << pageShift;
    if (PageHeader.treeId(pages, base) != treeId) {
      return arriveElsewhere(0, 0, p, frame, version, pid);
    }
    int found = NodeSearch.searchLeaf(pages, base, pageSize, key, off, len);
    p.set(frame, version, pid, found >>> 1, (found & 1) != 0);
    return pool.validate(frame, version);
  }

  /**
   * Ends a descent at an inner node of the level that was asked for, or at what it did not expect.
   */
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
    if (!BTreeNode.kindInner(kind) || BTreeNode.kindLevel(kind) != level || expected != level) {
      return arriveElsewhere(level, expected, p, frame, version, pid);
    }
    int found = NodeSearch.searchInner(pages, base, pageSize, key, off, len);
    p.set(frame, version, pid, (found >>> 1) + (after ? found & 1 : 0), (found & 1) != 0);
    return pool.validate(frame, version);
  }

  /**
   * Either the root is below the level, or the page is not the node that its parent implies, or it
   * was torn. The parent was validated after the version of this page was read: what the page was
   * then, it was as this parent's child, so that no change of structure explains it.
   */
  private boolean arriveElsewhere(
      int level, int expected, Position p, int frame, long version, long pid) {
    long base = (long) frame << pageShift;
    int type = PageHeader.type(pages, base);
    int found = PageHeader.level(pages, base);
    int owner = PageHeader.treeId(pages, base);
    boolean root = pid == rootPid; // before the version is looked at: it was so while that held
    // A number that is no page leads to a frame without a page where frames are pages' own. The
    // descent that latches comes by the node in which it stands, and names that one.
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

  /** What follows the first, failed descent: some more, then one that latches. */
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
   * Waits after a latched descent that came to a node that should not be there. Somebody has just
   * moved it; if it is never put right, then it is damage.
   */
  private void pauseLatched(int attempt) {
    if (attempt > LATCHED_MAX) {
      throw TreeDamage.of(
          pool, rootPid, "fences or levels on the way from the root", LATCHED_MAX, attempt);
    }
    Pause.after(attempt);
  }

  /** As descend, with the retries. */
  void descendTo(MemorySegment key, long off, int len, boolean after, int level, Position p) {
    if (!descend(key, off, len, after, level, p)) {
      descendAgain(key, off, len, after, level, p);
    }
  }

  /**
   * Goes down with one shared latch at a time. Between two of them the tree may change, so each
   * node is checked to be the right one: a node of this tree and level whose fences bracket the
   * key. One that is not, under a parent that has not changed since, is damaged; and so is a root
   * that is not: that it is the root is asked under its latch.
   *
   * @param keep whether the last latch is kept
   * @return false if the structure changed meanwhile
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

  /** The same; {@code held} says which frame is latched. */
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
        // Asked under the latch of the child: all that while the parent named it.
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
        // Under the latch the version stands still.
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

  /** Goes down to a leaf with one shared latch at a time, and keeps the latch of the leaf. */
  void findShared(MemorySegment key, long off, int len, boolean after, Position p) {
    for (int i = 0; !descendLatched(key, off, len, after, 0, p, true); i++) {
      pauseLatched(i);
    }
  }
}
