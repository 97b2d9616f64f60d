package io.fovea.btree;

import io.fovea.buffer.AllocatorRecord;
import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageHeader;
import io.fovea.wal.LogSession;
import io.fovea.wal.RecordType;
import java.lang.foreign.MemorySegment;

/**
 * The rules and helpers shared by all structure changes: {@link Splitter}, {@link Merger}, {@link
 * TreeCompaction} and {@link RootMove}.
 *
 * <pre>
 *   split     parent  ... S:C ...            -&gt;  ... s:C  S:N ...
 *             C (l, S]                           C (l, s]   N (s, S]     N is new, C keeps its id
 *   root      R (-, -]                       -&gt;  R: s:A, B   A (-, s]  B (s, -]   both are new
 *   merge     parent  ... s:C  S:N ...       -&gt;  ... S:C ...             N is freed
 *   shrink    R: C                           -&gt;  R := C                  C is freed
 *   move      parent  ... S:C ...            -&gt;  ... S:N ...             N := C, C is freed
 *   lower     R (-, -]                       -&gt;  R: N                    N := R ({@link RootMove})
 * </pre>
 *
 * <ol>
 *   <li>New pages are allocated before anything is latched, and returned if not needed. A commit
 *       has reserved them in the pool, so a full disk cannot stop it here.
 *   <li>A descent finds the parent, whose version is upgraded: it is unchanged since it was
 *       searched. Then the latches of the children are tried, left to right. A thread that holds a
 *       parent waits for nothing, so a latched child is free soon; if it is not, all latches are
 *       released and the attempt restarts.
 *   <li>Under the latches the change checks that it is still needed and possible: another thread
 *       may have made it.
 *   <li>A full parent is split first, with nothing latched; then the caller restarts.
 *   <li>A reader that is in a child fails to validate: the child's version moves. A reader that has
 *       just read the child's id fails too: the parent's version moves. All latches are held
 *       together, so both versions move before the first latch is released.
 *   <li>Pages are freed last. Only stale hints refer to them, and hints are checked.
 *   <li>A change is one log record ({@link StructureRecord}), appended after all pages have changed
 *       and before any latch is released. Log space for everything an attempt may append, including
 *       its allocations and their undoing, is granted before it allocates or latches anything,
 *       since a thread never waits under latches. An abandoned attempt has appended only ALLOCATE
 *       and FREE records.
 * </ol>
 */
final class StructureChange {
  static final int DONE = 0;

  /** Another thread has made the change, or there is nothing to change. */
  static final int NEEDLESS = 1;

  /** Another thread interfered: retry. */
  static final int AGAIN = 2;

  /** The parent has no room for another separator. */
  static final int PARENT_FULL = 3;

  /** The node is its parent's only child. */
  static final int ALONE = 4;

  /** Attempts before a change is abandoned. */
  static final int TRIES = 64;

  private static final int SPINS = 100;

  final Descent descent;
  final TreeScratch.Stock scratches;
  final BufferPool pool;
  final MemorySegment pages;
  final int pageSize;
  final int treeId;

  /** The log space of one change: at most three images and two allocated or freed pages. */
  final long space;

  StructureChange(Descent descent, TreeScratch.Stock scratches) {
    this.descent = descent;
    this.scratches = scratches;
    this.pool = descent.pool();
    this.pages = pool.pages();
    this.pageSize = pool.pageSize();
    this.treeId = descent.treeId();
    this.space =
        StructureRecord.space(pageSize, 3)
            + 2 * (AllocatorRecord.ALLOCATE_SPACE + AllocatorRecord.FREE_SPACE);
  }

  /** Returns the root. It may move ({@link RootMove}), so check it again under its latch. */
  long rootPid() {
    return descent.rootPid();
  }

  /** Makes a page resident and returns its frame, unlatched. Call it with nothing latched. */
  int resolve(long pid) {
    int frame = pool.predict(pid);
    return pool.optimistic(frame, pid) != BufferPool.RESTART ? frame : pool.findSlow(pid);
  }

  /** Latches a page whose parent is latched: the current holder waits for nothing. */
  boolean tryLatch(int frame, long pid) {
    for (int i = 0; i < SPINS; i++) {
      if (pool.tryExclusive(frame, pid)) {
        return true;
      }
      Thread.onSpinWait();
    }
    return false;
  }

  /** Logs up to three changed pages. The change cannot be undone afterwards. */
  void append(LogSession log, long released, int a, int b, int c) {
    StructureRecord.append(pool, log, RecordType.STRUCTURE, released, a, b, c);
  }

  void load(MemorySegment s, long base, int slot, KeyBuffer key) {
    long entry = BTreeNode.innerSlot(s, base, slot);
    key.setLength(BTreeNode.copyKey(s, base, pageSize, false, entry, key.segment(), 0));
  }

  /** Copies a node to another page, except page id, LSN, tree id and unused space. */
  void copyNode(long from, long to) {
    MemorySegment s = pages;
    PageHeader.setType(s, to, PageHeader.type(s, from));
    PageHeader.setLayout(s, to, PageHeader.layout(s, from));
    PageHeader.setLevel(s, to, PageHeader.level(s, from));
    NodeEditor.copyBody(s, from, s, to, pageSize);
  }

  /** Updates the hint of a leaf to its left sibling, if that costs nothing. */
  void repairPrev(long pid, long was, long is) {
    repair(pid, was, is, false);
  }

  /** Updates the hint of a leaf to its right sibling, if that costs nothing. */
  void repairNext(long pid, long was, long is) {
    repair(pid, was, is, true);
  }

  private void repair(long pid, long was, long is, boolean repairsNext) {
    if (pid == 0) {
      return;
    }
    MemorySegment s = pages;
    int frame = pool.predict(pid);
    long version = pool.optimistic(frame, pid);
    if (version == BufferPool.RESTART) {
      return;
    }
    long base = pool.base(frame);
    // The reads above hold if the upgrade succeeds. Not marked dirty: a hint may be lost.
    if (BTreeNode.isLeaf(s, base)
        && PageHeader.treeId(s, base) == treeId
        && (repairsNext ? BTreeNode.next(s, base) : BTreeNode.prev(s, base)) == was
        && pool.tryUpgrade(frame, version)) {
      try {
        if (repairsNext) {
          NodeEditor.setNext(s, base, is);
        } else {
          NodeEditor.setPrev(s, base, is);
        }
      } finally {
        pool.releaseExclusive(frame); // at most one store was made
      }
    }
  }
}
