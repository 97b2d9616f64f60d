package io.fovea.btree;

import io.fovea.buffer.AllocatorRecord;
import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageHeader;
import io.fovea.memory.Mem;
import io.fovea.wal.LogSession;
import io.fovea.wal.RecordType;
import java.lang.foreign.MemorySegment;

/**
 * Changes of structure: splits, merges, a root that grows and shrinks.
 *
 * <pre>
 *   split     parent  ... S:C ...            -&gt;  ... s:C  S:N ...
 *             C (l, S]                           C (l, s]   N (s, S]     N is new, C keeps its id
 *   root      R (-, -]                       -&gt;  R: s:A, B   A (-, s]  B (s, -]   both are new
 *   merge     parent  ... s:C  S:N ...       -&gt;  ... S:C ...             N is freed
 *   shrink    R: C                           -&gt;  R := C                  C is freed
 * </pre>
 *
 * <ol>
 *   <li>New pages are allocated before anything is latched, and given back if they were not needed.
 *       A commit has them promised (see the pool), so that a full disk does not stop it here.
 *   <li>The parent is found by a descent and its version upgraded: it is what it was when it was
 *       searched. Then the children are tried, left to right. Whoever holds a parent waits for
 *       nothing, so a child that is latched will be free soon; if it is not, everything is given
 *       back and the attempt begins again.
 *   <li>After latching it is checked again that the change is still wanted and possible: another
 *       thread may have made it.
 *   <li>A parent without room is split first, with nothing latched; then the caller begins again.
 *   <li>A reader that stands in a child without a latch is safe: the child's version moves. One
 *       that has just read the child's id is safe: the parent's version moves. Both move before the
 *       first of the latches is given back, since they are held together.
 *   <li>Pages are freed last, when nothing refers to them but stale hints; those are checked.
 *   <li>With a log a change is one record ({@link StructureRecord}), appended when all pages are
 *       changed and none is given back. Space for all that an attempt may append, its allocations
 *       and their undoing included, is granted before the attempt latches or allocates anything,
 *       since under latches nobody waits. An attempt that is given up has appended only ALLOCATE
 *       and FREE.
 * </ol>
 *
 * <p><b>When to merge.</b> A node below a quarter of the page asks, when its count is a power of
 * two: seven times at most on its way down from full, not at each delete. Two nodes become one if
 * that is at most three quarters full, so that the next insert does not split it; if one is empty,
 * whenever they fit. A neighbour that is too full, or under another parent, is left alone.
 */
final class TreeShaper {
  private static final int DONE = 0;
  private static final int NEEDLESS = 1;
  private static final int AGAIN = 2;
  private static final int PARENT_FULL = 3;
  private static final int ALONE = 4;

  private static final int TRIES = 64;

  private static final int SPINS = 100;

  private final BTree tree;
  private final BufferPool pool;
  private final MemorySegment pages;
  private final int pageSize;

  /** What a change of structure takes of a grant: three images at most, two pages made or freed. */
  private final long changeSpace;

  /** What is to be entered in a leaf is the key itself. */
  private final KeyBuffer noEntry = new KeyBuffer(0);

  TreeShaper(BTree tree) {
    this.tree = tree;
    this.pool = tree.pool();
    this.pages = pool.pages();
    this.pageSize = pool.pageSize();
    this.changeSpace =
        StructureRecord.space(pageSize, 3)
            + 2 * (AllocatorRecord.ALLOCATE_SPACE + AllocatorRecord.FREE_SPACE);
  }

  // ------------------------------------------------------------------------------------- helpers

  /** Sees to it that a page is resident; nothing is latched. Returns where it was a moment ago. */
  private int resolve(long pid) {
    int frame = pool.guess(pid);
    return pool.optimistic(frame, pid) != BufferPool.RESTART ? frame : pool.findSlow(pid);
  }

  /** Latches a page whose parent is latched: who holds it now waits for nothing. */
  private boolean tryLatch(int frame, long pid) {
    for (int i = 0; i < SPINS; i++) {
      if (pool.tryExclusive(frame, pid)) {
        return true;
      }
      Thread.onSpinWait();
    }
    return false;
  }

  /** Logs up to three changed pages: from here on the change can't be taken back. */
  private void append(LogSession log, long released, int a, int b, int c) {
    StructureRecord.append(pool, log, RecordType.STRUCTURE, released, a, b, c);
  }

  // -------------------------------------------------------------------------------------- splits

  /**
   * Splits the leaf of a key, if a record still finds no room there.
   *
   * @param pid the leaf
   * @param inlineBytes what the leaf would hold of the value
   */
  void splitLeaf(long pid, MemorySegment key, long off, int len, int inlineBytes, LogSession log) {
    split(0, pid, key, off, len, noEntry, inlineBytes, log);
  }

  /**
   * Splits a node.
   *
   * @param key a key that belongs into the node
   * @param entry the separator that is to be entered, in an inner node
   */
  private void split(
      int level,
      long pid,
      MemorySegment key,
      long off,
      int len,
      KeyBuffer entry,
      int inlineBytes,
      LogSession log) {
    TreeScratch scratch = tree.scratches().take();
    try {
      log.grant(changeSpace);
      if (pid == tree.rootPid()) {
        splitRoot(level, key, off, len, entry, inlineBytes, scratch, log);
        return;
      }
      int type = level == 0 ? PageHeader.LEAF : PageHeader.INNER;
      int fresh = pool.allocate(tree.treeId(), type, log);
      int result = AGAIN;
      scratch.changed = false;
      try {
        for (int i = 0; i < TRIES && result == AGAIN; i++) {
          result = trySplit(level, pid, fresh, key, off, len, entry, inlineBytes, scratch, log);
          if (result == AGAIN) {
            Pause.after(i);
          }
        }
      } finally {
        if (!scratch.changed) {
          free(fresh, log);
        }
      }
      if (result == PARENT_FULL) {
        long parent = scratch.parent.pid;
        split(level + 1, parent, key, off, len, scratch.separator, 0, log);
      }
    } finally {
      tree.scratches().give(scratch);
    }
  }

  private int trySplit(
      int level,
      long pid,
      int fresh,
      MemorySegment key,
      long off,
      int len,
      KeyBuffer entry,
      int inlineBytes,
      TreeScratch scratch,
      LogSession log) {
    MemorySegment s = pages;
    Position parent = scratch.parent;
    tree.descendTo(key, off, len, false, level + 1, parent);
    if (parent.frame < 0) {
      return NEEDLESS;
    }
    int frame = resolve(pid);
    if (!pool.tryUpgrade(parent.frame, parent.version)) {
      return AGAIN;
    }
    boolean both = false;
    boolean whole = false;
    int result;
    long next = 0;
    long freshPid = 0;
    long looked = parent.pid;
    try {
      long parentBase = pool.base(parent.frame);
      boolean gone = BTreeNode.child(s, parentBase, parent.slot) != pid;
      both = !gone && tryLatch(frame, pid);
      if (gone && claims(frame, pid, level, key, off, len)) {
        throw OverflowChain.damaged(
            pool, pid, "a node that is not its parent's child", parent.pid, pid);
      }
      result = gone ? NEEDLESS : AGAIN;
      if (both) {
        long base = pool.base(frame);
        NodeCheck.node(s, parentBase, pageSize, level + 1, tree.treeId());
        looked = pid;
        NodeCheck.node(s, base, pageSize, level, tree.treeId());
        NodeCheck.child(s, parentBase, parent.slot, base, pageSize, scratch.key);
        result =
            hasRoom(base, level, len, entry, inlineBytes)
                ? NEEDLESS
                : splitLatched(level, base, parentBase, fresh, key, off, len, scratch);
      }
      if (result == DONE) {
        freshPid = pool.pid(fresh);
        if (level == 0) {
          long base = pool.base(frame);
          next = BTreeNode.next(scratch.page, 0);
          NodeEditor.setPrev(s, base, BTreeNode.prev(scratch.page, 0));
          NodeEditor.setNext(s, base, freshPid);
          NodeEditor.setPrev(s, pool.base(fresh), pid);
          NodeEditor.setNext(s, pool.base(fresh), next);
        }
        whole = true;
        append(log, 0, fresh, frame, parent.frame);
      }
    } catch (Throwable t) {
      if (both) {
        BrokenOff.giveWhole(pool, frame, whole, scratch.changed, t);
      }
      BrokenOff.giveWhole(pool, parent.frame, whole, scratch.changed, t);
      if (scratch.changed) {
        BrokenOff.giveWhole(pool, fresh, whole, true, t);
      }
      throw BrokenOff.meaning(pool, looked, t);
    }
    if (result != DONE) {
      if (both) {
        pool.releaseExclusiveUnchanged(frame);
      }
      pool.releaseExclusiveUnchanged(parent.frame);
      return result;
    }
    pool.releaseExclusive(fresh);
    pool.releaseExclusive(frame);
    pool.releaseExclusive(parent.frame);
    repairPrev(next, pid, freshPid);
    return DONE;
  }

  /**
   * Whether a page says that a key is its own. Where the latched parent of that key has another
   * child, nobody may: a node that is cut loose stays latched until it is free.
   */
  private boolean claims(int frame, long pid, int level, MemorySegment key, long off, int len) {
    long version = pool.optimistic(frame, pid);
    return version != BufferPool.RESTART
        && NodeCheck.isNode(pages, pool.base(frame), level, tree.treeId())
        && BTreeNode.covers(pages, pool.base(frame), pageSize, key, off, len, false)
        && pool.validate(frame, version);
  }

  /** A new page that nobody needed; unless the pool has stopped, and nothing matters any more. */
  private void free(int fresh, LogSession log) {
    if (pool.stopped() == null) {
      pool.giveBack(fresh, log);
    } else {
      pool.releaseExclusive(fresh);
    }
  }

  private int splitLatched(
      int level,
      long base,
      long parentBase,
      int fresh,
      MemorySegment key,
      long off,
      int len,
      TreeScratch scratch) {
    MemorySegment s = pages;
    int at = plan(base, level, key, off, len, scratch);
    int prefix = NodeEditor.prefixWith(s, parentBase, pageSize, scratch.separator);
    if (prefix < 0) {
      return PARENT_FULL;
    }
    int slot = scratch.parent.slot;
    long left = BTreeNode.childRef(s, parentBase, slot);
    scratch.changed = true;
    enter(parentBase, slot, left, pool.reference(pool.pid(fresh), fresh), prefix, scratch);
    splitInto(base, level, at >> 16, at & 0xFFFF, base, pool.base(fresh), scratch);
    return DONE;
  }

  private boolean hasRoom(long base, int level, int len, KeyBuffer entry, int inlineBytes) {
    if (level > 0) {
      return NodeEditor.prefixWith(pages, base, pageSize, entry) >= 0;
    }
    int prefix = BTreeNode.prefix(pages, base);
    return NodeEditor.fits(
        pages, base, pageSize, true, NodeEditor.leafEntryBytes(prefix, len, inlineBytes));
  }

  /**
   * Decides where to split; the separator is in the scratch.
   *
   * @return the slot of the split in the upper half, the slot of the key in the lower
   */
  private int plan(
      long base, int level, MemorySegment key, long off, int len, TreeScratch scratch) {
    MemorySegment s = pages;
    if (level == 0) {
      int slot = BTreeNode.searchLeaf(s, base, pageSize, key, off, len) >>> 1;
      return Separators.planLeaf(s, base, pageSize, slot, key, off, len, scratch) << 16 | slot;
    }
    int slot = BTreeNode.searchInner(s, base, pageSize, key, off, len) >>> 1;
    return Separators.planInner(s, base, pageSize, slot, scratch) << 16 | slot;
  }

  /** Makes an entry (separator, left) before the one whose child becomes right. */
  private void enter(
      long parentBase, int slot, long left, long right, int prefix, TreeScratch scratch) {
    MemorySegment s = pages;
    KeyBuffer separator = scratch.separator;
    NodeEditor.prepareInner(s, parentBase, pageSize, prefix, separator, scratch);
    NodeEditor.noteInsert(s, parentBase, slot);
    NodeEditor.insertInner(
        s, parentBase, pageSize, slot, separator.segment(), 0, separator.length(), left);
    NodeEditor.setChild(s, parentBase, slot + 1, right);
    NodeEditor.makeHeads(s, parentBase);
  }

  /** Distributes a node over two pages, of which the left may be the node's own. */
  private void splitInto(
      long base, int level, int at, int slot, long left, long right, TreeScratch scratch) {
    MemorySegment s = pages;
    MemorySegment old = scratch.page;
    int count = BTreeNode.count(s, base);
    int run = BTreeNode.run(s, base);
    KeyBuffer separator = scratch.separator;
    int layout = PageHeader.layout(s, base);
    NodeEditor.copyBody(s, base, old, 0, pageSize);
    NodeEditor.init(
        s,
        left,
        pageSize,
        level,
        old,
        BTreeNode.lowAt(old, 0, pageSize),
        BTreeNode.low(old, 0),
        separator.segment(),
        0,
        separator.length());
    NodeEditor.init(
        s,
        right,
        pageSize,
        level,
        separator.segment(),
        0,
        separator.length(),
        old,
        BTreeNode.highAt(old, 0, pageSize),
        BTreeNode.high(old, 0));
    if (level == 0) {
      PageHeader.setLayout(s, left, layout);
      PageHeader.setLayout(s, right, layout);
      NodeEditor.appendLeaf(old, 0, 0, at, s, left, pageSize, scratch.key);
      NodeEditor.appendLeaf(old, 0, at, count, s, right, pageSize, scratch.key);
      continueRun(left, right, run, slot, scratch.keyGoesLeft ? at + 1 : at);
    } else {
      choosePrefix(old, 0, at, left, scratch);
      NodeEditor.appendInner(old, 0, 0, at, s, left, pageSize, scratch.key);
      NodeEditor.setChild(s, left, at, BTreeNode.childRef(old, 0, at));
      NodeEditor.makeHeads(s, left);
      choosePrefix(old, at + 1, count, right, scratch);
      NodeEditor.appendInner(old, 0, at + 1, count, s, right, pageSize, scratch.key);
      NodeEditor.setChild(s, right, count - at - 1, BTreeNode.childRef(old, 0, count));
      NodeEditor.makeHeads(s, right);
      continueRun(left, right, run, slot, at + 1);
    }
  }

  /** Lets an inner node that lacks a fence have the prefix of the entries that it is to get. */
  private void choosePrefix(
      MemorySegment from, int first, int behindLast, long base, TreeScratch scratch) {
    if (first < behindLast) {
      load(from, 0, first, scratch.left);
      load(from, 0, behindLast - 1, scratch.right);
      NodeEditor.chooseOpenPrefix(pages, base, pageSize, scratch.left, scratch.right);
    }
  }

  private void load(MemorySegment s, long base, int slot, KeyBuffer key) {
    long entry = BTreeNode.innerSlot(s, base, slot);
    key.setLength(BTreeNode.copyKey(s, base, pageSize, false, entry, key.segment(), 0));
  }

  /** Ascending inserts go on in the half where the next one will be. */
  private void continueRun(long left, long right, int run, int slot, int firstOnTheRight) {
    if (slot >= firstOnTheRight) {
      NodeEditor.setRun(pages, right, run, slot - firstOnTheRight - 1 & 0xFFFF);
    } else {
      NodeEditor.setRun(pages, left, run, slot - 1 & 0xFFFF);
    }
  }

  private void splitRoot(
      int level,
      MemorySegment key,
      long off,
      int len,
      KeyBuffer entry,
      int inlineBytes,
      TreeScratch scratch,
      LogSession log) {
    MemorySegment s = pages;
    int type = level == 0 ? PageHeader.LEAF : PageHeader.INNER;
    int left = pool.allocate(tree.treeId(), type, log);
    int right;
    try {
      right = pool.allocate(tree.treeId(), type, log);
    } catch (RuntimeException | Error e) {
      free(left, log);
      throw e;
    }
    // Nobody can wait for the two new pages, so waiting for the root is safe.
    int root;
    try {
      root = pool.fixExclusive(tree.rootPid());
    } catch (RuntimeException | Error e) {
      free(left, log);
      free(right, log);
      throw e;
    }
    boolean split = false;
    boolean whole = false;
    scratch.changed = false;
    try {
      long base = pool.base(root);
      if (PageHeader.level(s, base) == level) {
        NodeCheck.node(s, base, pageSize, level, tree.treeId());
        split = !hasRoom(base, level, len, entry, inlineBytes);
      }
      if (split) {
        int at = plan(base, level, key, off, len, scratch);
        splitInto(base, level, at >> 16, at & 0xFFFF, pool.base(left), pool.base(right), scratch);
        scratch.changed = true;
        raiseRoot(base, level, left, right, scratch);
        whole = true;
        append(log, 0, left, right, root);
      }
    } catch (Throwable t) {
      BrokenOff.giveWhole(pool, root, whole, scratch.changed, t);
      if (scratch.changed) {
        BrokenOff.giveWhole(pool, left, whole, true, t);
        BrokenOff.giveWhole(pool, right, whole, true, t);
      } else {
        free(left, log);
        free(right, log);
      }
      throw BrokenOff.meaning(pool, tree.rootPid(), t);
    }
    if (!split) {
      pool.releaseExclusiveUnchanged(root);
      free(left, log);
      free(right, log);
      return;
    }
    pool.releaseExclusive(left);
    pool.releaseExclusive(right);
    pool.releaseExclusive(root);
  }

  /** Makes the root the parent of the two pages that have what was in it. */
  private void raiseRoot(long base, int level, int left, int right, TreeScratch scratch) {
    MemorySegment s = pages;
    long leftPid = pool.pid(left);
    long rightPid = pool.pid(right);
    if (level == 0) {
      NodeEditor.setNext(s, pool.base(left), rightPid);
      NodeEditor.setPrev(s, pool.base(right), leftPid);
    }
    NodeEditor.init(s, base, pageSize, level + 1, s, base, BTreeNode.NONE, s, base, BTreeNode.NONE);
    long rightRef = pool.reference(rightPid, right);
    NodeEditor.setChild(s, base, 0, rightRef);
    enter(base, 0, pool.reference(leftPid, left), rightRef, scratch.separator.length(), scratch);
  }

  /** Tells a leaf that another one is before it now: a hint, so only if that costs nothing. */
  private void repairPrev(long pid, long was, long is) {
    if (pid == 0) {
      return;
    }
    MemorySegment s = pages;
    int frame = pool.guess(pid);
    long version = pool.optimistic(frame, pid);
    if (version == BufferPool.RESTART) {
      return;
    }
    long base = pool.base(frame);
    // What was read here holds if the upgrade succeeds. Not dirty: a lost hint is no loss.
    if (BTreeNode.isLeaf(s, base)
        && PageHeader.treeId(s, base) == tree.treeId()
        && BTreeNode.prev(s, base) == was
        && pool.tryUpgrade(frame, version)) {
      try {
        NodeEditor.setPrev(s, base, is);
      } finally {
        pool.releaseExclusive(frame); // one store, or none
      }
    }
  }

  // -------------------------------------------------------------------------------------- merges

  /** Whether a node should look for a neighbour to merge with, now. */
  static boolean underfull(MemorySegment s, long base, int pageSize, boolean leaf) {
    int count = BTreeNode.count(s, base);
    return (count & count - 1) == 0 && BTreeNode.used(s, base, pageSize, leaf) < pageSize >>> 2;
  }

  /**
   * Merges a node with a neighbour under the same parent, if they fit; then perhaps the parent.
   *
   * @param key a key that belongs into the node
   * @return whether anything was merged
   */
  boolean merge(int level, long pid, MemorySegment key, long off, int len, LogSession log) {
    TreeScratch scratch = tree.scratches().take();
    try {
      for (int i = 0; i < TRIES; i++) {
        int result = tryMerge(level, pid, key, off, len, scratch, log);
        long parentPid = scratch.parent.pid;
        if (result == NEEDLESS) {
          return false;
        }
        if (result == DONE) {
          if (parentPid == tree.rootPid()) {
            shrinkRoot(scratch.key, log);
          } else if (scratch.parent.found) {
            merge(level + 1, parentPid, key, off, len, log);
          }
          return true;
        }
        if (result == ALONE) {
          if (parentPid == tree.rootPid()) {
            return shrinkRoot(scratch.key, log);
          }
          if (!merge(level + 1, parentPid, key, off, len, log)) {
            return false;
          }
        }
        Pause.after(i);
      }
      return false;
    } finally {
      tree.scratches().give(scratch);
    }
  }

  /** One attempt; after DONE the position of the parent says in {@code found}: it is underfull. */
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
    tree.descendTo(key, off, len, false, level + 1, parent);
    if (parent.frame < 0) {
      return NEEDLESS;
    }
    long parentBase = pool.base(parent.frame);
    int slot = parent.slot;
    int count = BTreeNode.innerCount(s, parentBase, pageSize);
    if (slot > count || BTreeNode.child(s, parentBase, slot) != pid) {
      return pool.validate(parent.frame, parent.version) ? NEEDLESS : AGAIN;
    }
    if (count == 0) {
      return pool.validate(parent.frame, parent.version) ? ALONE : AGAIN;
    }
    int result = NEEDLESS;
    if (slot < count) {
      result = tryMergePair(level, slot, scratch, log);
    }
    if (slot > 0 && result == NEEDLESS) {
      result = tryMergePair(level, slot - 1, scratch, log);
    }
    return result;
  }

  /** Merges the children of two neighbouring slots of the parent. */
  private int tryMergePair(int level, int slot, TreeScratch scratch, LogSession log) {
    MemorySegment s = pages;
    Position parent = scratch.parent;
    long parentBase = pool.base(parent.frame);
    long leftPid = BTreeNode.child(s, parentBase, slot);
    long rightPid = BTreeNode.child(s, parentBase, slot + 1);
    if (!pool.validate(parent.frame, parent.version)) {
      return AGAIN;
    }
    int left = resolve(leftPid);
    int right = resolve(rightPid);
    // A look without latches first: most attempts end here.
    if (!mayFit(left, leftPid, right, rightPid, level)) {
      return NEEDLESS;
    }
    log.grant(changeSpace);
    if (!pool.tryUpgrade(parent.frame, parent.version)) {
      return AGAIN;
    }
    int latched = 1;
    boolean changed = false;
    boolean whole = false;
    int result = AGAIN;
    long next = 0;
    long looked = parent.pid;
    try {
      if (tryLatch(left, leftPid)) {
        latched = 2;
        if (tryLatch(right, rightPid)) {
          latched = 3;
          long leftBase = pool.base(left);
          long rightBase = pool.base(right);
          next = level == 0 ? BTreeNode.next(s, rightBase) : 0;
          NodeCheck.node(s, parentBase, pageSize, level + 1, tree.treeId());
          looked = rightPid;
          NodeCheck.node(s, rightBase, pageSize, level, tree.treeId());
          looked = leftPid;
          NodeCheck.node(s, leftBase, pageSize, level, tree.treeId());
          NodeCheck.child(s, parentBase, slot, leftBase, pageSize, scratch.key);
          NodeCheck.child(s, parentBase, slot + 1, rightBase, pageSize, scratch.key);
          load(s, parentBase, slot, scratch.separator);
          result = NEEDLESS;
          if (fitTogether(leftBase, rightBase, level, scratch)) {
            changed = true;
            mergeInto(leftBase, rightBase, level, scratch);
            NodeEditor.noteRemove(s, parentBase, slot);
            NodeEditor.removeInner(s, parentBase, pageSize, slot);
            NodeEditor.setChild(s, parentBase, slot, pool.reference(leftPid, left));
            NodeEditor.makeHeads(s, parentBase);
            parent.found = underfull(s, parentBase, pageSize, false);
            whole = true;
            append(log, rightPid, left, parent.frame, StructureRecord.NONE);
            result = DONE;
          }
        }
      }
    } catch (Throwable t) {
      if (latched > 2) {
        BrokenOff.giveWhole(pool, right, whole, changed, t);
      }
      if (latched > 1) {
        BrokenOff.giveWhole(pool, left, whole, changed, t);
      }
      BrokenOff.giveWhole(pool, parent.frame, whole, changed, t);
      throw BrokenOff.meaning(pool, looked, t);
    }
    if (result != DONE) {
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
    pool.free(right, log); // the change has cut it loose
    repairPrev(next, rightPid, leftPid);
    return DONE;
  }

  /** A rough answer from pages that are not latched: a wrong one costs a merge or an attempt. */
  private boolean mayFit(int left, long leftPid, int right, long rightPid, int level) {
    if (pool.optimistic(left, leftPid) == BufferPool.RESTART
        || pool.optimistic(right, rightPid) == BufferPool.RESTART) {
      return true;
    }
    boolean leaf = level == 0;
    int bytes =
        BTreeNode.used(pages, pool.base(left), pageSize, leaf)
            + BTreeNode.used(pages, pool.base(right), pageSize, leaf);
    return bytes <= pageSize;
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
      bytes += Separators.leafBytes(s, left, pageSize, 0, leftCount, prefix);
      bytes += Separators.leafBytes(s, right, pageSize, 0, rightCount, prefix);
    } else {
      loadEnds(left, right, scratch);
      int prefix =
          NodeEditor.innerPrefix(s, lowAt, low, scratch.left, s, highAt, high, scratch.right);
      bytes += high == BTreeNode.NONE ? prefix : 0;
      bytes += Separators.innerBytes(s, left, 0, leftCount, prefix);
      bytes += Separators.innerBytes(s, right, 0, rightCount, prefix);
      bytes += NodeEditor.innerEntryBytes(prefix, scratch.separator.length());
    }
    boolean anEmptyOne = leftCount == 0 || rightCount == 0;
    return bytes
        <= pageSize - BTreeNode.slotsEnd(level == 0, 0) - (anEmptyOne ? 0 : pageSize >>> 2);
  }

  /**
   * Loads the first and the last separator that two inner nodes have together with that between.
   */
  private void loadEnds(long left, long right, TreeScratch scratch) {
    KeyBuffer separator = scratch.separator;
    int rightCount = BTreeNode.count(pages, right);
    if (BTreeNode.count(pages, left) > 0) {
      load(pages, left, 0, scratch.left);
    } else {
      scratch.left.set(separator.segment(), 0, separator.length());
    }
    if (rightCount > 0) {
      load(pages, right, rightCount - 1, scratch.right);
    } else {
      scratch.right.set(separator.segment(), 0, separator.length());
    }
  }

  /** Puts everything into the left node. */
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
    // The ends were loaded when it was asked whether the two fit.
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

  /**
   * Takes the contents of an only child into the root, as often as there is one.
   *
   * @param key for a fence
   */
  private boolean shrinkRoot(KeyBuffer key, LogSession log) {
    MemorySegment s = pages;
    boolean shrunk = false;
    for (int i = 0; i < TRIES; i++) {
      int root = resolve(tree.rootPid());
      long version = pool.optimistic(root, tree.rootPid());
      if (version != BufferPool.RESTART) {
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
    int frame = resolve(child);
    log.grant(changeSpace);
    if (!pool.tryUpgrade(root, version)) {
      return false;
    }
    boolean both = false;
    boolean changed = false;
    boolean whole = false;
    try {
      both = tryLatch(frame, child);
      if (both) {
        long base = pool.base(root);
        long childBase = pool.base(frame);
        int level = PageHeader.level(s, base) - 1;
        NodeCheck.node(s, childBase, pageSize, level, tree.treeId());
        NodeCheck.child(s, base, 0, childBase, pageSize, key);
        changed = true;
        NodeEditor.copyBody(s, childBase, s, base, pageSize);
        PageHeader.setType(s, base, PageHeader.type(s, childBase));
        PageHeader.setLayout(s, base, PageHeader.layout(s, childBase));
        PageHeader.setLevel(s, base, PageHeader.level(s, childBase));
        if (PageHeader.level(s, base) == 0) {
          // The only leaf has no neighbours, whatever its hints say.
          NodeEditor.setNext(s, base, 0);
          NodeEditor.setPrev(s, base, 0);
        }
        whole = true;
        append(log, child, root, StructureRecord.NONE, StructureRecord.NONE);
      }
    } catch (Throwable t) {
      if (both) {
        BrokenOff.giveWhole(pool, frame, whole, changed, t);
      }
      BrokenOff.giveWhole(pool, root, whole, changed, t);
      throw BrokenOff.meaning(pool, child, t);
    }
    if (!both) {
      pool.releaseExclusiveUnchanged(root);
      return false;
    }
    pool.releaseExclusive(root);
    pool.free(frame, log); // the change has cut it loose
    return true;
  }
}
