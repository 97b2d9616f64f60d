package io.fovea.btree;

import io.fovea.buffer.AllocatorRecord;
import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageHeader;
import io.fovea.wal.LogSession;
import io.fovea.wal.RecordType;
import java.lang.foreign.MemorySegment;

/**
 * What all changes of structure have in common: {@link Splitter}, {@link Merger}, {@link
 * TreeCompaction} and {@link RootMove} make them.
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
 *   <li>New pages are allocated before anything is latched, and given back if they were not needed.
 *       A commit has them promised (see the pool), so that a full disk does not stop it here.
 *   <li>The parent is found by a descent and its version upgraded: it is what it was when it was
 *       searched. Then the children are tried, left to right. Any thread that holds a parent waits
 *       for nothing, so a child that is latched will be free soon; if it is not, everything is
 *       given back and the attempt begins again.
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
 */
final class StructureChange {
  /** What an attempt came to. */
  static final int DONE = 0;

  /** Another thread has made the change, or there is nothing to change. */
  static final int NEEDLESS = 1;

  /** Somebody interfered: begin again. */
  static final int AGAIN = 2;

  /** The parent has no room for another separator. */
  static final int PARENT_FULL = 3;

  /** The node is its parent's only child. */
  static final int ALONE = 4;

  /** Attempts before a change is given up. */
  static final int TRIES = 64;

  private static final int SPINS = 100;

  final Descent descent;
  final TreeScratch.Stock scratches;
  final BufferPool pool;
  final MemorySegment pages;
  final int pageSize;
  final int treeId;

  /** What a change of structure takes of a grant: three images at most, two pages made or freed. */
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

  /** The root: to be asked again under its latch, for it may move ({@link RootMove}). */
  long rootPid() {
    return descent.rootPid();
  }

  /** Sees to it that a page is resident; nothing is latched. Returns where it was a moment ago. */
  int resolve(long pid) {
    int frame = pool.predict(pid);
    return pool.optimistic(frame, pid) != BufferPool.RESTART ? frame : pool.findSlow(pid);
  }

  /** Latches a page whose parent is latched: a thread that holds it now waits for nothing. */
  boolean tryLatch(int frame, long pid) {
    for (int i = 0; i < SPINS; i++) {
      if (pool.tryExclusive(frame, pid)) {
        return true;
      }
      Thread.onSpinWait();
    }
    return false;
  }

  /** Logs up to three changed pages: from here on the change can't be taken back. */
  void append(LogSession log, long released, int a, int b, int c) {
    StructureRecord.append(pool, log, RecordType.STRUCTURE, released, a, b, c);
  }

  /** Loads the whole key of an entry of an inner node. */
  void load(MemorySegment s, long base, int slot, KeyBuffer key) {
    long entry = BTreeNode.innerSlot(s, base, slot);
    key.setLength(BTreeNode.copyKey(s, base, pageSize, false, entry, key.segment(), 0));
  }

  /** Makes a page what a node is, but for page id, LSN, tree id and what is never read. */
  void copyNode(long from, long to) {
    MemorySegment s = pages;
    PageHeader.setType(s, to, PageHeader.type(s, from));
    PageHeader.setLayout(s, to, PageHeader.layout(s, from));
    PageHeader.setLevel(s, to, PageHeader.level(s, from));
    NodeEditor.copyBody(s, from, s, to, pageSize);
  }

  /** Tells a leaf that another one is before it now: a hint, so only if that costs nothing. */
  void repairPrev(long pid, long was, long is) {
    repair(pid, was, is, false);
  }

  /** The same for the one behind it. */
  void repairNext(long pid, long was, long is) {
    repair(pid, was, is, true);
  }

  private void repair(long pid, long was, long is, boolean behind) {
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
    // What was read here holds if the upgrade succeeds. Not dirty: a lost hint is no loss.
    if (BTreeNode.isLeaf(s, base)
        && PageHeader.treeId(s, base) == treeId
        && (behind ? BTreeNode.next(s, base) : BTreeNode.prev(s, base)) == was
        && pool.tryUpgrade(frame, version)) {
      try {
        if (behind) {
          NodeEditor.setNext(s, base, is);
        } else {
          NodeEditor.setPrev(s, base, is);
        }
      } finally {
        pool.releaseExclusive(frame); // one store, or none
      }
    }
  }
}
