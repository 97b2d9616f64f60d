package io.fovea.btree;

import io.fovea.buffer.AllocatorRecord;
import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageHeader;
import io.fovea.memory.LongList;
import io.fovea.wal.LogSession;
import java.lang.foreign.MemorySegment;

/**
 * Moves the nodes of a tree to pages nearer to the front of the file, concurrently with all other
 * operations. {@link StructureChange} has the rules: a move is a merge into an unreachable empty
 * node on the left.
 *
 * <pre>
 *   parent  ... S:C ...   C                   -&gt;  ... S:N ...   N := C, C is freed
 *   one record: images of N and of the parent, C released
 * </pre>
 *
 * <p><b>Order.</b> Left to right along the inner nodes of one level, then of the next level up.
 * Their entries show which children have to move; other children are not read. Between steps the
 * position is a key, the high fence of the last visited node, so splits and merges in between do no
 * harm: at worst a node is skipped.
 *
 * <p><b>Correctness.</b> Parent, node and new page are latched together until the record is
 * appended, and the node stays latched until its page is free. A descent that has read the
 * reference to C fails to validate the parent or C; a later one reads the reference to N. A scan of
 * C reads its copy and continues at the fence. Hints to C, from sibling leaves, index entries or
 * transactions, find a free page or one whose tree id, level or fences do not match; a descent
 * follows. Sibling hints are updated only if that costs nothing.
 *
 * <p>{@link RootMove} moves the root, which the catalog names, and {@link ChainMove} the pages of
 * long values.
 *
 * <p><b>Spare pages</b> are allocated in advance and typed as parts of a long value, so that a
 * stale reference never finds a node there. No other thread knows them. Until the session ends it
 * holds back the redo point, so that recovery reclaims them after a crash.
 *
 * <p>Used by one thread. The tree must not be dropped during a step.
 */
public final class TreeCompaction {
  private final BTree tree;
  private final Descent descent;
  private final StructureChange change;
  private final BufferPool pool;
  private final MemorySegment pages;
  private final int pageSize;
  private final int treeId;

  /**
   * The position: the next children are those of nodes at this level, after {@link #key} or,
   * without one, from the first.
   */
  private int level = 1;

  private final KeyBuffer key;
  private boolean afterKey;
  private boolean done;

  /**
   * The position after {@link #found}; if there is none ({@link #hasNext}), the level ends there.
   */
  private final KeyBuffer next;

  private boolean hasNext;

  /** The child to move, or 0. */
  private long found;

  /** Starts at the first leaf. */
  public TreeCompaction(BTree tree) {
    this.tree = tree;
    this.descent = tree.descent();
    this.change = new StructureChange(descent, tree.scratches());
    this.pool = tree.pool();
    this.pages = pool.pages();
    this.pageSize = pool.pageSize();
    this.treeId = tree.treeId();
    this.key = new KeyBuffer(tree.maxKeySize() + 1);
    this.next = new KeyBuffer(tree.maxKeySize() + 1);
  }

  /** Returns whether all nodes have been visited. */
  public boolean isDone() {
    return done;
  }

  /**
   * Advances to the next node with a page id of {@code from} or higher, visiting at most {@code
   * nodes} inner nodes, without changing anything. Returns whether there is one.
   */
  public boolean find(long from, int nodes) {
    TreeScratch scratch = change.scratches.take();
    try {
      for (int n = 0; n < nodes && !done; n++) {
        if (findChild(from, scratch.parent)) {
          if (found != 0) {
            return true;
          }
          advance();
        }
      }
      return false;
    } finally {
      change.scratches.release(scratch);
    }
  }

  /**
   * Moves nodes with a page id of {@code from} or higher until the spare pages are used up or
   * {@code nodes} inner nodes were visited. Returns the number of moved nodes.
   *
   * @param spare pages from {@link #spare}, used from the end; used ones are removed
   * @param log a session that began before the pages were allocated
   */
  public int step(LongList spare, long from, int nodes, LogSession log) {
    int moved = 0;
    TreeScratch scratch = change.scratches.take();
    try {
      for (int n = 0; n < nodes && spare.size() > 0 && !done; n++) {
        if (!findChild(from, scratch.parent)) {
          continue;
        }
        if (found != 0) {
          long to = spare.get(spare.size() - 1);
          if (move(found, to, scratch, log)) {
            spare.removeLast();
            moved++;
          }
        }
        advance();
      }
    } finally {
      change.scratches.release(scratch);
    }
    return moved;
  }

  private void advance() {
    if (hasNext) {
      key.set(next.segment(), 0, next.length());
      afterKey = true;
    } else {
      level++;
      afterKey = false;
      key.setLength(0);
    }
  }

  // ---------------------------------------------------------------------------------- spare pages

  /** Allocates a page outside the tree and appends it to the list. */
  public long spare(LongList spare, LogSession log) {
    log.grant(AllocatorRecord.ALLOCATE_SPACE + AllocatorRecord.FREE_SPACE);
    int frame = pool.allocate(treeId, PageHeader.OVERFLOW, log);
    long pid;
    try {
      pid = pool.pid(frame);
      spare.add(pid);
    } catch (RuntimeException | Error e) {
      pool.free(frame, log); // no other thread knows it
      throw e;
    }
    pool.releaseExclusive(frame);
    return pid;
  }

  /** Frees the spare pages that remain. Checkpoints retry those that cannot be freed now. */
  public void freeSpare(LongList spare, LogSession log) {
    try {
      tree.freeChain(spare, log); // skips pages that became nodes: they are not part of a chain
      spare.clear();
    } catch (Error e) {
      pool.poolStop().stop(e); // no other reference to them exists
      throw e;
    }
  }

  // --------------------------------------------------------------------------------------- finding

  /**
   * Searches the inner node at the position for a child to move, and sets {@link #key} to the
   * position before it. Returns false if the node has changed: retry.
   */
  private boolean findChild(long from, Position p) {
    descent.descendTo(key.segment(), 0, key.length(), afterKey, level, p);
    if (p.frame < 0) {
      done = true; // the root is at a lower level
      return false;
    }
    int frame = pool.fixShared(p.pid);
    try {
      long base = pool.base(frame);
      if (!NodeCheck.isNode(pages, base, level, treeId)
          || !NodeSearch.covers(pages, base, pageSize, key.segment(), 0, key.length(), afterKey)) {
        return false;
      }
      findChild(base, from);
      return true;
    } catch (IndexOutOfBoundsException e) {
      throw TreeDamage.offsets(pool, p.pid, e);
    } finally {
      pool.releaseShared(frame);
    }
  }

  private void findChild(long base, long from) {
    MemorySegment s = pages;
    int at = NodeSearch.searchInner(s, base, pageSize, key.segment(), 0, key.length());
    int first = (at >>> 1) + (afterKey ? at & 1 : 0);
    int count = BTreeNode.innerCount(s, base, pageSize);
    int slot = first;
    while (slot <= count && BTreeNode.child(s, base, slot) < from) {
      slot++;
    }
    found = slot <= count ? BTreeNode.child(s, base, slot) : 0;
    if (found != 0 && slot > first) {
      change.load(s, base, slot - 1, key);
      afterKey = true;
    }
    hasNext = true;
    if (slot < count) {
      change.load(s, base, slot, next);
    } else if (BTreeNode.high(s, base) == BTreeNode.NONE) {
      hasNext = false;
    } else {
      next.set(s, base + BTreeNode.highAt(s, base, pageSize), BTreeNode.high(s, base));
    }
  }

  // --------------------------------------------------------------------------------------- moving

  private boolean move(long pid, long to, TreeScratch scratch, LogSession log) {
    for (int i = 0; i < StructureChange.TRIES; i++) {
      int result = tryMove(pid, to, scratch, log);
      if (result != StructureChange.AGAIN) {
        return result == StructureChange.DONE;
      }
      Pause.after(i);
    }
    return false;
  }

  private int tryMove(long pid, long to, TreeScratch scratch, LogSession log) {
    MemorySegment s = pages;
    Position parent = scratch.parent;
    log.grant(change.space);
    descent.descendTo(key.segment(), 0, key.length(), afterKey, level, parent);
    if (parent.frame < 0) {
      return StructureChange.NEEDLESS;
    }
    int fresh = change.resolve(to);
    int frame = change.resolve(pid);
    if (!pool.tryUpgrade(parent.frame, parent.version)) {
      return StructureChange.AGAIN;
    }
    int latched = 1;
    boolean changed = false;
    boolean complete = false;
    int result = StructureChange.AGAIN;
    long prev = 0;
    long next = 0;
    long examined = parent.pid;
    try {
      long parentBase = pool.base(parent.frame);
      if (BTreeNode.child(s, parentBase, parent.slot) != pid) {
        result = StructureChange.NEEDLESS;
      } else if (change.tryLatch(frame, pid)) {
        latched = 2;
        if (change.tryLatch(fresh, to)) {
          latched = 3;
          long base = pool.base(frame);
          NodeCheck.parent(s, parentBase, pageSize, level, treeId);
          examined = pid;
          NodeCheck.node(s, base, pageSize, level - 1, treeId);
          NodeCheck.child(s, parentBase, parent.slot, base, pageSize, scratch.key);
          if (level == 1) {
            prev = BTreeNode.prev(s, base);
            next = BTreeNode.next(s, base);
          }
          changed = true;
          change.copyNode(base, pool.base(fresh));
          pool.swizzling().setParent(fresh);
          long ref = pool.reference(to, fresh, parent.frame);
          NodeEditor.setChild(s, parentBase, parent.slot, ref);
          complete = true;
          change.append(log, pid, fresh, parent.frame, StructureRecord.NONE);
          result = StructureChange.DONE;
        }
      }
    } catch (Throwable t) {
      if (latched > 2) {
        LatchErrorGuard.releaseWhole(pool, fresh, complete, changed, t);
      }
      if (latched > 1) {
        LatchErrorGuard.releaseWhole(pool, frame, complete, changed, t);
      }
      LatchErrorGuard.releaseWhole(pool, parent.frame, complete, changed, t);
      throw LatchErrorGuard.rethrow(pool, examined, t);
    }
    if (result != StructureChange.DONE) {
      if (latched > 2) {
        pool.releaseExclusiveUnchanged(fresh);
      }
      if (latched > 1) {
        pool.releaseExclusiveUnchanged(frame);
      }
      pool.releaseExclusiveUnchanged(parent.frame);
      return result;
    }
    pool.releaseExclusive(fresh);
    pool.releaseExclusive(parent.frame);
    pool.free(frame, log); // released by the logged change
    change.repairPrev(next, pid, to);
    change.repairNext(prev, pid, to);
    return StructureChange.DONE;
  }
}
