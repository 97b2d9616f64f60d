package io.fovea.btree;

import io.fovea.buffer.AllocatorRecord;
import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageHeader;
import io.fovea.memory.LongList;
import io.fovea.wal.LogSession;
import java.lang.foreign.MemorySegment;

/**
 * Moves the nodes of a tree to other pages, nearer to the front of the file, while everything goes
 * on. The rules are those of {@link StructureChange}: to move a node is to merge it into an empty
 * one on its left that nobody knew.
 *
 * <pre>
 *   parent  ... S:C ...   C                   -&gt;  ... S:N ...   N has what C had      C is freed
 *   one record: images of N and of the parent, C released
 * </pre>
 *
 * <p><b>Way.</b> From left to right along the inner nodes of a level, and then of the next one up.
 * Which children are to move is seen in their parent; others are not looked at. Between two steps
 * the place is a key, the upper end of the last node that was looked at, so that splits and merges
 * in between do no harm: at worst a node is passed by.
 *
 * <p><b>Why nobody sees it.</b> Parent, node and new page are latched together until the record is
 * appended, the node until its page is free. A descent that has read the reference to C is refused
 * by the parent's version or by that of C; one that comes later reads the reference to N. A scan
 * that stands in C has its copy, and goes on at the fence. Hints to C (of leaves beside it, of
 * entries of indexes, of places where a transaction was) meet a free page, or one whose tree id,
 * level or fences are not what they look for, and a descent helps. Leaves beside it are told of N
 * only if that costs nothing.
 *
 * <p><b>What others move.</b> The root, which the catalog names: {@link RootMove}. The pages of
 * long values: {@link ChainMove}.
 *
 * <p><b>Spare pages</b> are allocated before, as parts of long values that say that they are none:
 * whoever comes to one by a reference of long ago finds no node. No thread but this one knows them.
 * Until its end the session holds back the redo point, so that a crash reclaims them.
 *
 * <p>One thread. Nobody drops the tree during a step.
 *
 * @since 0.1.0
 */
public final class TreeCompaction {
  private final BTree tree;
  private final Descent descent;
  private final StructureChange change;
  private final BufferPool pool;
  private final MemorySegment pages;
  private final int pageSize;
  private final int treeId;

  /** The place: children of nodes of this level, behind the key, or from the first one on. */
  private int level = 1;

  private final KeyBuffer key;
  private boolean behind;
  private boolean done;

  /** The next place, behind the child that was found; if there is none the level ends there. */
  private final KeyBuffer next;

  private boolean hasNext;

  /** The child that was found. */
  private long found;

  /**
   * Begins with the first leaf.
   *
   * @param tree the tree
   */
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

  /** Whether all nodes were looked at. */
  public boolean isDone() {
    return done;
  }

  /**
   * Goes on to the next node that is to move, and changes nothing.
   *
   * @param from which nodes move: those in pages with such ids or higher ones
   * @param nodes how many inner nodes to look at
   * @return whether there is one
   */
  public boolean find(long from, int nodes) {
    TreeScratch scratch = change.scratches.take();
    try {
      for (int n = 0; n < nodes && !done; n++) {
        if (look(from, scratch.parent)) {
          if (found != 0) {
            return true;
          }
          goOn();
        }
      }
      return false;
    } finally {
      change.scratches.give(scratch);
    }
  }

  /**
   * Goes on, until the spare pages are used up or so many inner nodes were looked at.
   *
   * @param spare pages from {@link #spare}, the next one last; those that were used are taken out
   * @param from which nodes move: those in pages with such ids or higher ones
   * @param nodes how many inner nodes to look at
   * @param log a session that has begun, before the pages were allocated
   * @return how many nodes were moved
   */
  public int step(LongList spare, long from, int nodes, LogSession log) {
    int moved = 0;
    TreeScratch scratch = change.scratches.take();
    try {
      for (int n = 0; n < nodes && spare.size() > 0 && !done; n++) {
        if (!look(from, scratch.parent)) {
          continue;
        }
        if (found != 0) {
          long to = spare.get(spare.size() - 1);
          if (move(found, to, scratch, log)) {
            spare.removeLast();
            moved++;
          }
        }
        goOn();
      }
    } finally {
      change.scratches.give(scratch);
    }
    return moved;
  }

  private void goOn() {
    if (hasNext) {
      key.set(next.segment(), 0, next.length());
      behind = true;
    } else {
      level++;
      behind = false;
      key.setLength(0);
    }
  }

  // ---------------------------------------------------------------------------------- spare pages

  /**
   * Allocates a page that belongs to nobody.
   *
   * @param spare gets the page, as the last one
   * @param log a session that has begun
   * @return the page
   */
  public long spare(LongList spare, LogSession log) {
    log.grant(AllocatorRecord.ALLOCATE_SPACE + AllocatorRecord.FREE_SPACE);
    int frame = pool.allocate(treeId, PageHeader.OVERFLOW, log);
    long pid;
    try {
      pid = pool.pid(frame);
      spare.add(pid);
    } catch (RuntimeException | Error e) {
      pool.free(frame, log); // nobody knows it
      throw e;
    }
    pool.releaseExclusive(frame);
    return pid;
  }

  /**
   * Frees pages that were not used. Those that can't be freed now are strays of the tree: tried
   * again by checkpoints.
   *
   * @param spare the pages; none afterwards
   * @param log the same session
   */
  public void giveBack(LongList spare, LogSession log) {
    try {
      tree.freeChain(spare, log); // a page that has become a node is none of a chain
      spare.clear();
    } catch (Error e) {
      pool.stopping().stop(e); // nobody else knows them
      throw e;
    }
  }

  // -------------------------------------------------------------------------------------- looking

  /**
   * Looks at the inner node of the place for a child that is to move; from there on {@link #key} is
   * right before it.
   *
   * @return false if the node was not what was expected: again
   */
  private boolean look(long from, Position p) {
    descent.descendTo(key.segment(), 0, key.length(), behind, level, p);
    if (p.frame < 0) {
      done = true; // the root is below
      return false;
    }
    int frame = pool.fixShared(p.pid);
    try {
      long base = pool.base(frame);
      if (!NodeCheck.isNode(pages, base, level, treeId)
          || !NodeSearch.covers(pages, base, pageSize, key.segment(), 0, key.length(), behind)) {
        return false;
      }
      look(base, from);
      return true;
    } catch (IndexOutOfBoundsException e) {
      throw TreeDamage.offsets(pool, p.pid, e);
    } finally {
      pool.releaseShared(frame);
    }
  }

  private void look(long base, long from) {
    MemorySegment s = pages;
    int at = NodeSearch.searchInner(s, base, pageSize, key.segment(), 0, key.length());
    int first = (at >>> 1) + (behind ? at & 1 : 0);
    int count = BTreeNode.innerCount(s, base, pageSize);
    int slot = first;
    while (slot <= count && BTreeNode.child(s, base, slot) < from) {
      slot++;
    }
    found = slot <= count ? BTreeNode.child(s, base, slot) : 0;
    if (found != 0 && slot > first) {
      change.load(s, base, slot - 1, key);
      behind = true;
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
    descent.descendTo(key.segment(), 0, key.length(), behind, level, parent);
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
    boolean whole = false;
    int result = StructureChange.AGAIN;
    long prev = 0;
    long next = 0;
    long looked = parent.pid;
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
          looked = pid;
          NodeCheck.node(s, base, pageSize, level - 1, treeId);
          NodeCheck.child(s, parentBase, parent.slot, base, pageSize, scratch.key);
          if (level == 1) {
            prev = BTreeNode.prev(s, base);
            next = BTreeNode.next(s, base);
          }
          changed = true;
          change.copyNode(base, pool.base(fresh));
          pool.swizzling().adopt(fresh);
          long ref = pool.reference(to, fresh, parent.frame);
          NodeEditor.setChild(s, parentBase, parent.slot, ref);
          whole = true;
          change.append(log, pid, fresh, parent.frame, StructureRecord.NONE);
          result = StructureChange.DONE;
        }
      }
    } catch (Throwable t) {
      if (latched > 2) {
        LatchErrorGuard.giveWhole(pool, fresh, whole, changed, t);
      }
      if (latched > 1) {
        LatchErrorGuard.giveWhole(pool, frame, whole, changed, t);
      }
      LatchErrorGuard.giveWhole(pool, parent.frame, whole, changed, t);
      throw LatchErrorGuard.meaning(pool, looked, t);
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
    pool.free(frame, log); // the change has cut it loose
    change.repairPrev(next, pid, to);
    change.repairNext(prev, pid, to);
    return StructureChange.DONE;
  }
}
