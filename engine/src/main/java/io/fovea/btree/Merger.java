package io.fovea.btree;

import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageHeader;
import io.fovea.memory.Mem;
import io.fovea.wal.LogSession;
import java.lang.foreign.MemorySegment;

/**
 * Merges an underfull node with a sibling, and replaces a root that has only one child by that
 * child's content. {@link StructureChange} has the rules.
 *
 * <p><b>When to merge.</b> A node below a quarter full tries when its count is a power of two: at
 * most seven times on the way down from full, not at each delete. Two nodes are merged if the
 * result is at most three quarters full, so that the next insert does not split it, or if one is
 * empty and they fit. A sibling that is too full, or under another parent, is left alone. If the
 * merged leaf is empty it tries once more with the other sibling, which may be an empty leaf that
 * could not be merged with the nodes between them.
 */
final class Merger {
  private final StructureChange change;
  private final Descent descent;
  private final BufferPool pool;
  private final MemorySegment pages;
  private final int pageSize;
  private final int treeId;

  Merger(StructureChange change) {
    this.change = change;
    this.descent = change.descent;
    this.pool = change.pool;
    this.pages = change.pages;
    this.pageSize = change.pageSize;
    this.treeId = change.treeId;
  }

  /** Returns whether a node should now try to merge. */
  static boolean isUnderfull(MemorySegment s, long base, int pageSize, boolean leaf) {
    int count = BTreeNode.count(s, base);
    return (count & count - 1) == 0 && BTreeNode.used(s, base, pageSize, leaf) < pageSize >>> 2;
  }

  /**
   * Merges a node with a sibling under the same parent if they fit; then possibly merges the
   * parent. The key belongs to the node. Returns whether anything was merged.
   */
  boolean merge(int level, long pid, MemorySegment key, long off, int len, LogSession log) {
    TreeScratch scratch = change.scratches.take();
    try {
      long node = pid;
      long parentPid = 0;
      boolean parentUnderfull = false;
      boolean merged = false;
      for (int i = 0; i < StructureChange.TRIES; i++) {
        int result = tryMerge(level, node, key, off, len, scratch, log);
        if (result == StructureChange.NEEDLESS) {
          break;
        }
        parentPid = scratch.parent.pid;
        if (result == StructureChange.DONE) {
          merged = true;
          parentUnderfull = scratch.parent.found;
          node = scratch.emptied;
          if (node == 0) {
            break;
          }
        } else {
          if (result == StructureChange.ALONE
              && (parentPid == change.rootPid()
                  || !merge(level + 1, parentPid, key, off, len, log))) {
            break;
          }
          Pause.after(i);
        }
      }
      if (parentPid == change.rootPid()) {
        merged |= shrinkRoot(scratch.key, log);
      } else if (parentUnderfull) {
        merge(level + 1, parentPid, key, off, len, log);
      }
      return merged;
    } finally {
      change.scratches.release(scratch);
    }
  }

  /**
   * Makes one attempt. After DONE, {@code parent.found} says whether the parent is underfull, and
   * {@link TreeScratch#emptied} names the merged leaf if it is empty.
   */
  private int tryMerge(
      int level,
      long pid,
      MemorySegment key,
      long off,
      int len,
      TreeScratch scratch,
      LogSession log) {
    MemorySegment s = pages;
    Position parent = scratch.parent;
    descent.descendTo(key, off, len, false, level + 1, parent);
    if (parent.frame < 0) {
      return StructureChange.NEEDLESS;
    }
    long parentBase = pool.base(parent.frame);
    int slot = parent.slot;
    int count = BTreeNode.innerCount(s, parentBase, pageSize);
    if (slot > count || BTreeNode.child(s, parentBase, slot) != pid) {
      return pool.validate(parent.frame, parent.version)
          ? StructureChange.NEEDLESS
          : StructureChange.AGAIN;
    }
    if (count == 0) {
      return pool.validate(parent.frame, parent.version)
          ? StructureChange.ALONE
          : StructureChange.AGAIN;
    }
    int result = StructureChange.NEEDLESS;
    if (slot < count) {
      result = tryMergePair(level, slot, scratch, log);
    }
    if (slot > 0 && result == StructureChange.NEEDLESS) {
      result = tryMergePair(level, slot - 1, scratch, log);
    }
    return result;
  }

  /** Merges the children in two adjacent slots of the parent. */
  private int tryMergePair(int level, int slot, TreeScratch scratch, LogSession log) {
    MemorySegment s = pages;
    Position parent = scratch.parent;
    long parentBase = pool.base(parent.frame);
    long leftPid = BTreeNode.child(s, parentBase, slot);
    long rightPid = BTreeNode.child(s, parentBase, slot + 1);
    if (!pool.validate(parent.frame, parent.version)) {
      return StructureChange.AGAIN;
    }
    int left = change.resolve(leftPid);
    int right = change.resolve(rightPid);
    // Most attempts end with this unlatched estimate.
    if (!mayFit(left, leftPid, right, rightPid, level)) {
      return StructureChange.NEEDLESS;
    }
    log.grant(change.space);
    if (!pool.tryUpgrade(parent.frame, parent.version)) {
      return StructureChange.AGAIN;
    }
    int latched = 1;
    boolean changed = false;
    boolean complete = false;
    int result = StructureChange.AGAIN;
    long next = 0;
    long examined = parent.pid;
    try {
      if (change.tryLatch(left, leftPid)) {
        latched = 2;
        if (change.tryLatch(right, rightPid)) {
          latched = 3;
          long leftBase = pool.base(left);
          long rightBase = pool.base(right);
          next = level == 0 ? BTreeNode.next(s, rightBase) : 0;
          NodeCheck.parent(s, parentBase, pageSize, level + 1, treeId);
          examined = rightPid;
          NodeCheck.node(s, rightBase, pageSize, level, treeId);
          examined = leftPid;
          NodeCheck.node(s, leftBase, pageSize, level, treeId);
          NodeCheck.child(s, parentBase, slot, leftBase, pageSize, scratch.key);
          NodeCheck.child(s, parentBase, slot + 1, rightBase, pageSize, scratch.key);
          change.load(s, parentBase, slot, scratch.separator);
          result = StructureChange.NEEDLESS;
          if (fitTogether(leftBase, rightBase, level, scratch)) {
            changed = true;
            mergeInto(leftBase, rightBase, level, scratch);
            pool.swizzling().setParent(left);
            NodeEditor.noteRemove(s, parentBase, slot);
            NodeEditor.removeInner(s, parentBase, pageSize, slot);
            NodeEditor.setChild(s, parentBase, slot, pool.reference(leftPid, left, parent.frame));
            NodeEditor.makeHeads(s, parentBase);
            parent.found = isUnderfull(s, parentBase, pageSize, false);
            scratch.emptied = level == 0 && BTreeNode.count(s, leftBase) == 0 ? leftPid : 0;
            complete = true;
            change.append(log, rightPid, left, parent.frame, StructureRecord.NONE);
            result = StructureChange.DONE;
          }
        }
      }
    } catch (Throwable t) {
      if (latched > 2) {
        LatchErrorGuard.releaseWhole(pool, right, complete, changed, t);
      }
      if (latched > 1) {
        LatchErrorGuard.releaseWhole(pool, left, complete, changed, t);
      }
      LatchErrorGuard.releaseWhole(pool, parent.frame, complete, changed, t);
      throw LatchErrorGuard.rethrow(pool, examined, t);
    }
    if (result != StructureChange.DONE) {
      if (latched > 2) {
        pool.releaseExclusiveUnchanged(right);
      }
      if (latched > 1) {
        pool.releaseExclusiveUnchanged(left);
      }
      pool.releaseExclusiveUnchanged(parent.frame);
      return result;
    }
    pool.releaseExclusive(left);
    pool.releaseExclusive(parent.frame);
    pool.free(right, log); // released by the logged change
    change.repairPrev(next, rightPid, leftPid);
    return StructureChange.DONE;
  }

  /**
   * Estimates from unlatched pages; a wrong answer costs a merge or an attempt. Merged nodes drop
   * the fences between them, and their prefix is not longer. So this says no where {@link
   * #fitTogether} says yes only if the outcome depends on a few bytes that move from tails into
   * heads.
   */
  private boolean mayFit(int left, long leftPid, int right, long rightPid, int level) {
    if (pool.optimistic(left, leftPid) == BufferPool.RESTART
        || pool.optimistic(right, rightPid) == BufferPool.RESTART) {
      return true;
    }
    boolean leaf = level == 0;
    long leftBase = pool.base(left);
    long rightBase = pool.base(right);
    int between =
        BTreeNode.fenceBytes(BTreeNode.high(pages, leftBase), pageSize)
            + BTreeNode.fenceBytes(BTreeNode.low(pages, rightBase), pageSize);
    int bytes =
        BTreeNode.used(pages, leftBase, pageSize, leaf)
            + BTreeNode.used(pages, rightBase, pageSize, leaf)
            - between;
    return bytes <= mergedSpace(leftBase, rightBase, leaf);
  }

  /**
   * Returns the space that two merged nodes may take: a quarter stays free, since otherwise the
   * next insert would split the node.
   */
  private int mergedSpace(long left, long right, boolean leaf) {
    boolean anEmptyOne = BTreeNode.count(pages, left) == 0 || BTreeNode.count(pages, right) == 0;
    return pageSize - BTreeNode.slotsEnd(leaf, 0) - (anEmptyOne ? 0 : pageSize >>> 2);
  }

  private boolean fitTogether(long left, long right, int level, TreeScratch scratch) {
    MemorySegment s = pages;
    int low = BTreeNode.low(s, left);
    int high = BTreeNode.high(s, right);
    long lowAt = left + BTreeNode.lowAt(s, left, pageSize);
    long highAt = right + BTreeNode.highAt(s, right, pageSize);
    int leftCount = BTreeNode.count(s, left);
    int rightCount = BTreeNode.count(s, right);
    int bytes = BTreeNode.fenceBytes(low, pageSize) + BTreeNode.fenceBytes(high, pageSize);
    if (level == 0) {
      boolean open = low == BTreeNode.NONE || high == BTreeNode.NONE;
      int prefix = open ? 0 : Mem.commonPrefix(s, lowAt, low, s, highAt, high);
      bytes += BTreeNode.leafBytes(s, left, pageSize, 0, leftCount, prefix);
      bytes += BTreeNode.leafBytes(s, right, pageSize, 0, rightCount, prefix);
    } else {
      loadEnds(left, right, scratch);
      int prefix =
          NodeEditor.innerPrefix(s, lowAt, low, scratch.left, s, highAt, high, scratch.right);
      bytes += high == BTreeNode.NONE ? prefix : 0;
      bytes += BTreeNode.innerBytes(s, left, 0, leftCount, prefix);
      bytes += BTreeNode.innerBytes(s, right, 0, rightCount, prefix);
      bytes += NodeEditor.innerEntryBytes(prefix, scratch.separator.length());
    }
    return bytes <= mergedSpace(left, right, level == 0);
  }

  /** Loads the first and last separator of two inner nodes and the separator between them. */
  private void loadEnds(long left, long right, TreeScratch scratch) {
    KeyBuffer separator = scratch.separator;
    int rightCount = BTreeNode.count(pages, right);
    if (BTreeNode.count(pages, left) > 0) {
      change.load(pages, left, 0, scratch.left);
    } else {
      scratch.left.set(separator.segment(), 0, separator.length());
    }
    if (rightCount > 0) {
      change.load(pages, right, rightCount - 1, scratch.right);
    } else {
      scratch.right.set(separator.segment(), 0, separator.length());
    }
  }

  /** Moves everything into the left node. */
  private void mergeInto(long left, long right, int level, TreeScratch scratch) {
    MemorySegment s = pages;
    MemorySegment old = scratch.page;
    NodeEditor.copyBody(s, left, old, 0, pageSize);
    int leftCount = BTreeNode.count(s, left);
    int rightCount = BTreeNode.count(s, right);
    NodeEditor.init(
        s,
        left,
        pageSize,
        level,
        old,
        BTreeNode.lowAt(old, 0, pageSize),
        BTreeNode.low(old, 0),
        s,
        right + BTreeNode.highAt(s, right, pageSize),
        BTreeNode.high(s, right));
    KeyBuffer key = scratch.key;
    if (level == 0) {
      NodeEditor.appendLeaf(old, 0, 0, leftCount, s, left, pageSize, key);
      NodeEditor.appendLeaf(s, right, 0, rightCount, s, left, pageSize, key);
      NodeEditor.setPrev(s, left, BTreeNode.prev(old, 0));
      NodeEditor.setNext(s, left, BTreeNode.next(s, right));
      return;
    }
    // fitTogether() loaded both ends.
    NodeEditor.chooseOpenPrefix(s, left, pageSize, scratch.left, scratch.right);
    KeyBuffer separator = scratch.separator;
    NodeEditor.appendInner(old, 0, 0, leftCount, s, left, pageSize, key);
    NodeEditor.insertInner(
        s,
        left,
        pageSize,
        leftCount,
        separator.segment(),
        0,
        separator.length(),
        BTreeNode.childRef(old, 0, leftCount));
    NodeEditor.appendInner(s, right, 0, rightCount, s, left, pageSize, key);
    NodeEditor.setChild(
        s, left, leftCount + 1 + rightCount, BTreeNode.childRef(s, right, rightCount));
    NodeEditor.makeHeads(s, left);
  }

  /** Replaces the root's content with that of its only child, repeatedly. */
  private boolean shrinkRoot(KeyBuffer key, LogSession log) {
    MemorySegment s = pages;
    boolean shrunk = false;
    for (int i = 0; i < StructureChange.TRIES; i++) {
      long rootPid = change.rootPid();
      int root = change.resolve(rootPid);
      long version = pool.optimistic(root, rootPid);
      // It is the root as long as this version is valid.
      if (version != BufferPool.RESTART && rootPid == change.rootPid()) {
        long base = pool.base(root);
        boolean only = BTreeNode.isInner(s, base) && BTreeNode.count(s, base) == 0;
        long child = BTreeNode.child(s, base, 0);
        if (pool.validate(root, version)) {
          if (!only) {
            return shrunk;
          }
          shrunk |= pullUp(root, version, child, key, log);
        }
      }
      Pause.after(i);
    }
    return shrunk;
  }

  private boolean pullUp(int root, long version, long child, KeyBuffer key, LogSession log) {
    MemorySegment s = pages;
    int frame = change.resolve(child);
    log.grant(change.space);
    if (!pool.tryUpgrade(root, version)) {
      return false;
    }
    boolean both = false;
    boolean changed = false;
    boolean complete = false;
    try {
      both = change.tryLatch(frame, child);
      if (both) {
        long base = pool.base(root);
        long childBase = pool.base(frame);
        int level = PageHeader.level(s, base) - 1;
        NodeCheck.node(s, childBase, pageSize, level, treeId);
        NodeCheck.child(s, base, 0, childBase, pageSize, key);
        changed = true;
        NodeEditor.copyBody(s, childBase, s, base, pageSize);
        PageHeader.setType(s, base, PageHeader.type(s, childBase));
        PageHeader.setLayout(s, base, PageHeader.layout(s, childBase));
        PageHeader.setLevel(s, base, PageHeader.level(s, childBase));
        if (PageHeader.level(s, base) == 0) {
          // A single leaf has no siblings, whatever its hints say.
          NodeEditor.setNext(s, base, 0);
          NodeEditor.setPrev(s, base, 0);
        }
        pool.swizzling().setParent(root);
        complete = true;
        change.append(log, child, root, StructureRecord.NONE, StructureRecord.NONE);
      }
    } catch (Throwable t) {
      if (both) {
        LatchErrorGuard.releaseWhole(pool, frame, complete, changed, t);
      }
      LatchErrorGuard.releaseWhole(pool, root, complete, changed, t);
      throw LatchErrorGuard.rethrow(pool, child, t);
    }
    if (!both) {
      pool.releaseExclusiveUnchanged(root);
      return false;
    }
    pool.releaseExclusive(root);
    pool.free(frame, log); // released by the logged change
    return true;
  }
}
