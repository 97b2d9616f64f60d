package io.fovea.btree;

import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageHeader;
import io.fovea.error.CorruptionException;
import io.fovea.wal.LogSession;
import java.lang.foreign.MemorySegment;

/**
 * Splits a full node into itself and a new right sibling; a full root is split into two new
 * children. {@link StructureChange} has the rules, {@link Separators} chooses the split point and
 * the separator.
 */
final class Splitter {
  private final StructureChange change;
  private final Descent descent;
  private final BufferPool pool;
  private final MemorySegment pages;
  private final int pageSize;
  private final int treeId;

  /** The entry to insert into a leaf is the key itself. */
  private final KeyBuffer noEntry = new KeyBuffer(0);

  Splitter(StructureChange change) {
    this.change = change;
    this.descent = change.descent;
    this.pool = change.pool;
    this.pages = change.pages;
    this.pageSize = change.pageSize;
    this.treeId = change.treeId;
  }

  /** Splits the leaf of a key, unless a record with {@code inlineBytes} of value fits by now. */
  void splitLeaf(long pid, MemorySegment key, long off, int len, int inlineBytes, LogSession log) {
    split(0, pid, key, off, len, noEntry, inlineBytes, log);
  }

  /** Splits the node of a key; in an inner node {@code entry} is the separator to insert. */
  private void split(
      int level,
      long pid,
      MemorySegment key,
      long off,
      int len,
      KeyBuffer entry,
      int inlineBytes,
      LogSession log) {
    TreeScratch scratch = change.scratches.take();
    try {
      log.grant(change.space);
      if (pid == change.rootPid()) {
        splitRoot(level, key, off, len, entry, inlineBytes, scratch, log);
        return;
      }
      int type = level == 0 ? PageHeader.LEAF : PageHeader.INNER;
      int fresh = pool.allocate(treeId, type, log);
      int result = StructureChange.AGAIN;
      scratch.changed = false;
      try {
        // If the node was freed since the caller read its id, allocate() may have returned that
        // very page, latched by this thread: latching it again would never succeed.
        boolean itself = pool.pid(fresh) == pid;
        for (int i = 0;
            !itself && i < StructureChange.TRIES && result == StructureChange.AGAIN;
            i++) {
          result = trySplit(level, pid, fresh, key, off, len, entry, inlineBytes, scratch, log);
          if (result == StructureChange.AGAIN) {
            Pause.after(i);
          }
        }
      } finally {
        if (!scratch.changed) {
          free(fresh, log);
        }
      }
      if (result == StructureChange.PARENT_FULL) {
        long parent = scratch.parent.pid;
        split(level + 1, parent, key, off, len, scratch.separator, 0, log);
      }
    } finally {
      change.scratches.release(scratch);
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
    descent.descendTo(key, off, len, false, level + 1, parent);
    if (parent.frame < 0) {
      return StructureChange.NEEDLESS;
    }
    int frame = change.resolve(pid);
    if (!pool.tryUpgrade(parent.frame, parent.version)) {
      return StructureChange.AGAIN;
    }
    boolean both = false;
    boolean misplaced = false;
    boolean complete = false;
    int result;
    long next = 0;
    long freshPid = 0;
    long examined = parent.pid;
    try {
      long parentBase = pool.base(parent.frame);
      boolean gone = BTreeNode.child(s, parentBase, parent.slot) != pid;
      both = !gone && change.tryLatch(frame, pid);
      misplaced = gone && claims(frame, pid, level, key, off, len);
      result = gone ? StructureChange.NEEDLESS : StructureChange.AGAIN;
      if (both) {
        long base = pool.base(frame);
        NodeCheck.parent(s, parentBase, pageSize, level + 1, treeId);
        examined = pid;
        NodeCheck.node(s, base, pageSize, level, treeId);
        NodeCheck.child(s, parentBase, parent.slot, base, pageSize, scratch.key);
        examined = parent.pid; // of which only a part was checked
        result =
            hasSpace(base, level, len, entry, inlineBytes)
                ? StructureChange.NEEDLESS
                : splitLatched(level, base, parentBase, fresh, key, off, len, scratch);
      }
      if (result == StructureChange.DONE) {
        freshPid = pool.pid(fresh);
        if (level == 0) {
          long base = pool.base(frame);
          next = BTreeNode.next(scratch.page, 0);
          NodeEditor.setPrev(s, base, BTreeNode.prev(scratch.page, 0));
          NodeEditor.setNext(s, base, freshPid);
          NodeEditor.setPrev(s, pool.base(fresh), pid);
          NodeEditor.setNext(s, pool.base(fresh), next);
        }
        complete = true;
        change.append(log, 0, fresh, frame, parent.frame);
      }
    } catch (Throwable t) {
      if (both) {
        LatchErrorGuard.releaseWhole(pool, frame, complete, scratch.changed, t);
      }
      LatchErrorGuard.releaseWhole(pool, parent.frame, complete, scratch.changed, t);
      if (scratch.changed) {
        LatchErrorGuard.releaseWhole(pool, fresh, complete, true, t);
      }
      throw LatchErrorGuard.rethrow(pool, examined, t);
    }
    if (result != StructureChange.DONE) {
      if (both) {
        pool.releaseExclusiveUnchanged(frame);
      }
      pool.releaseExclusiveUnchanged(parent.frame);
      if (misplaced) {
        throw misplacedPage(level, pid, examined, key, off, len, parent);
      }
      return result;
    }
    pool.releaseExclusive(fresh);
    pool.releaseExclusive(frame);
    pool.releaseExclusive(parent.frame);
    change.repairPrev(next, pid, freshPid);
    return StructureChange.DONE;
  }

  /**
   * Returns whether a page claims a key. If the latched parent of that key has another child, no
   * page may claim the key: a released node stays latched until it is free.
   */
  private boolean claims(int frame, long pid, int level, MemorySegment key, long off, int len) {
    long version = pool.optimistic(frame, pid);
    return version != BufferPool.RESTART
        && NodeCheck.isNode(pages, pool.base(frame), level, treeId)
        && NodeSearch.covers(pages, pool.base(frame), pageSize, key, off, len, false)
        && pool.validate(frame, version);
  }

  /**
   * Reports a page that claims a key but is not the child its parent names. A thread that reached
   * it other than through its parent, as recovery does, cannot tell which one is right. If the
   * descent from the root fails, that failure is reported instead.
   */
  private CorruptionException misplacedPage(
      int level, long pid, long parentPid, MemorySegment key, long off, int len, Position p) {
    descent.descendTo(key, off, len, false, level, p);
    return TreeDamage.of(pool, pid, "a node that is not its parent's child", parentPid, pid);
  }

  /** Frees a new page that was not needed. After a pool stop it only releases the latch. */
  private void free(int fresh, LogSession log) {
    if (pool.poolStop().stopped() == null) {
      pool.returnUnused(fresh, log);
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
      return StructureChange.PARENT_FULL;
    }
    if (NodeEditor.rewrites(s, parentBase, pageSize, prefix, scratch.separator)) {
      NodeCheck.node(s, parentBase, pageSize, level + 1, treeId);
    }
    int slot = scratch.parent.slot;
    long left = BTreeNode.childRef(s, parentBase, slot);
    scratch.changed = true;
    enter(
        parentBase,
        slot,
        left,
        pool.reference(pool.pid(fresh), fresh, scratch.parent.frame),
        prefix,
        scratch);
    splitInto(base, level, at >> 16, at & 0xFFFF, base, pool.base(fresh), scratch);
    pool.swizzling().setParent(fresh);
    return StructureChange.DONE;
  }

  private boolean hasSpace(long base, int level, int len, KeyBuffer entry, int inlineBytes) {
    if (level > 0) {
      return NodeEditor.prefixWith(pages, base, pageSize, entry) >= 0;
    }
    int prefix = BTreeNode.prefix(pages, base);
    return NodeEditor.fits(
        pages, base, pageSize, true, NodeEditor.leafEntryBytes(prefix, len, inlineBytes));
  }

  /**
   * Chooses the split point and stores the separator in the scratch. Returns the split slot in the
   * upper 16 bits, the slot of the key in the lower.
   */
  private int plan(
      long base, int level, MemorySegment key, long off, int len, TreeScratch scratch) {
    MemorySegment s = pages;
    if (level == 0) {
      int slot = NodeSearch.searchLeaf(s, base, pageSize, key, off, len) >>> 1;
      return Separators.planLeaf(s, base, pageSize, slot, key, off, len, scratch) << 16 | slot;
    }
    int slot = NodeSearch.searchInner(s, base, pageSize, key, off, len) >>> 1;
    return Separators.planInner(s, base, pageSize, slot, scratch) << 16 | slot;
  }

  /** Inserts an entry (separator, left) before the one whose child becomes {@code right}. */
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

  /** Distributes a node over two pages; the left one may be the node's own. */
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

  /** Sets the prefix of an inner node that lacks a fence, from the entries that it will get. */
  private void choosePrefix(
      MemorySegment from, int first, int end, long base, TreeScratch scratch) {
    if (first < end) {
      change.load(from, 0, first, scratch.left);
      change.load(from, 0, end - 1, scratch.right);
      NodeEditor.chooseOpenPrefix(pages, base, pageSize, scratch.left, scratch.right);
    }
  }

  /** Continues a run of ascending inserts in the half that gets the next one. */
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
    int left = pool.allocate(treeId, type, log);
    int right;
    try {
      right = pool.allocate(treeId, type, log);
    } catch (RuntimeException | Error e) {
      free(left, log);
      throw e;
    }
    // Read after the allocations: an earlier RootMove may have freed the old root, and this thread
    // may have been given that page, and would wait forever for its own latch. A page that stops
    // being the root after this read can only be given to a thread that reads the root id later. So
    // threads here wait only for threads that read the root id later, and there is no cycle. No
    // other thread waits for the two new pages while it holds a latch.
    long rootPid = change.rootPid();
    int root;
    try {
      root = pool.fixExclusive(rootPid);
    } catch (RuntimeException | Error e) {
      free(left, log);
      free(right, log);
      throw e;
    }
    boolean split = false;
    boolean complete = false;
    scratch.changed = false;
    try {
      long base = pool.base(root);
      if (rootPid == change.rootPid() && PageHeader.level(s, base) == level) {
        NodeCheck.node(s, base, pageSize, level, treeId);
        split = !hasSpace(base, level, len, entry, inlineBytes);
      }
      if (split) {
        int at = plan(base, level, key, off, len, scratch);
        splitInto(base, level, at >> 16, at & 0xFFFF, pool.base(left), pool.base(right), scratch);
        scratch.changed = true;
        pool.swizzling().setParent(left);
        pool.swizzling().setParent(right);
        raiseRoot(root, level, left, right, scratch);
        complete = true;
        change.append(log, 0, left, right, root);
      }
    } catch (Throwable t) {
      LatchErrorGuard.releaseWhole(pool, root, complete, scratch.changed, t);
      if (scratch.changed) {
        LatchErrorGuard.releaseWhole(pool, left, complete, true, t);
        LatchErrorGuard.releaseWhole(pool, right, complete, true, t);
      } else {
        free(left, log);
        free(right, log);
      }
      throw LatchErrorGuard.rethrow(pool, rootPid, t);
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

  /** Makes the root the parent of the two pages that received its content. */
  private void raiseRoot(int root, int level, int left, int right, TreeScratch scratch) {
    MemorySegment s = pages;
    long base = pool.base(root);
    long leftPid = pool.pid(left);
    long rightPid = pool.pid(right);
    if (level == 0) {
      NodeEditor.setNext(s, pool.base(left), rightPid);
      NodeEditor.setPrev(s, pool.base(right), leftPid);
    }
    NodeEditor.init(s, base, pageSize, level + 1, s, base, BTreeNode.NONE, s, base, BTreeNode.NONE);
    long rightRef = pool.reference(rightPid, right, root);
    long leftRef = pool.reference(leftPid, left, root);
    NodeEditor.setChild(s, base, 0, rightRef);
    enter(base, 0, leftRef, rightRef, scratch.separator.length(), scratch);
  }
}
