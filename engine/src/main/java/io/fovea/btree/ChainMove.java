package io.fovea.btree;

import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageHeader;
import io.fovea.memory.LongList;
import io.fovea.memory.Mem;
import io.fovea.wal.LogSession;
import io.fovea.wal.RecordType;
import java.lang.foreign.MemorySegment;

/**
 * Moves the pages of a long value to pages nearer to the front of the file, concurrently with all
 * other operations. {@link OverflowChain} has the layout.
 *
 * <pre>
 *   {@link #moveTail}   leaf: P0    P0 ─► P1 ─► P2   -&gt;  P0 ─► N1 ─► P2      P1 is freed
 *              a structure change: one record, images of N1 and P0, P1 released
 *   {@link #first}      leaf: P0    P0 ─► N1 ─► P2   -&gt;  N0 ─► N1 ─► P2      N0 has no owner yet
 *              a CHAIN record; the caller commits: leaf: N0, with N0 adopted and P0 released
 * </pre>
 *
 * <p><b>Only the first page needs a commit.</b> The leaf and commits in the log name it, and replay
 * applies commits after all images. So replacing the first page is a record change, in order with
 * the key's other changes. All other pages are named by pages, whose images are logged.
 *
 * <p><b>Locking.</b> The caller holds the record's lock, like a commit that writes it. A commit
 * collects the pages of the old value before it appends its record, and frees them afterwards; the
 * lock ensures that none of them moves in between.
 *
 * <p><b>Readers</b> hold no lock. They treat each page as part of the chain as long as the leaf is
 * unchanged. So the leaf is latched with the pages and its version moves, although its content
 * stays the same: readers within the chain restart at the leaf before P1 is freed.
 *
 * <p><b>Recovery.</b> After {@link #moveTail} the chain is intact: N1's image makes it part of the
 * tree, and P1 is an orphan until its FREE record. After {@link #first} N0 is an orphan until the
 * commit.
 *
 * <p>Used by one thread. The tree must not be dropped meanwhile.
 */
public final class ChainMove {
  private final BTree tree;
  private final StructureChange change;
  private final BufferPool pool;
  private final MemorySegment pages;
  private final int pageSize;
  private final int treeId;
  private final long from;
  private final LongList spare;
  private final LongList pids = new LongList();
  private int moved;

  /** A page that became part of a value and may still be in the spare list; 0 for none. */
  private long used;

  private int length;
  private long previousFirst;

  /**
   * Prepares to move pages with ids of {@code from} or higher. The new pages come from {@link
   * TreeCompaction#spare}, called with the same session.
   */
  public ChainMove(BTree tree, long from, LongList spare) {
    this.tree = tree;
    this.change = new StructureChange(tree.descent(), tree.scratches());
    this.pool = tree.pool();
    this.pages = pool.pages();
    this.pageSize = pool.pageSize();
    this.treeId = tree.treeId();
    this.from = from;
    this.spare = spare;
  }

  /** Returns the number of moved pages, including those of {@link #first} before their commit. */
  public int moved() {
    return moved;
  }

  /**
   * Removes a used page from the spare list if that is still necessary. Call it before the list is
   * freed, even after an error: used pages look like spare ones.
   */
  public void settle() {
    if (used != 0) {
      if (hasSpare(used)) {
        spare.removeLast();
        moved++;
      }
      used = 0;
    }
  }

  /** Returns whether all spare pages are used. */
  public boolean isOver() {
    return spare.size() == 0;
  }

  /**
   * Moves all pages of a value except the first. The caller holds the record's lock. Returns
   * whether the first page has to move too.
   */
  public boolean moveTail(MemorySegment key, long off, int len, Position p, LogSession log) {
    pids.clear();
    length = tree.chain(key, off, len, p, pids);
    if (length < 0) {
      return false; // no longer a long value, or removed
    }
    previousFirst = pids.get(0);
    long before = previousFirst;
    for (int i = 1; i < pids.size() && !isOver(); i++) {
      long pid = pids.get(i);
      before = pid < from ? pid : moved(key, off, len, p, before, pid, i, log);
    }
    return previousFirst >= from && !isOver();
  }

  /** Moves a page of the chain; returns its new page id. */
  private long moved(
      MemorySegment key,
      long off,
      int len,
      Position p,
      long before,
      long pid,
      int index,
      LogSession log) {
    long to = spare.get(spare.size() - 1);
    for (int i = 0; i < StructureChange.TRIES; i++) {
      log.grant(change.space);
      tree.locate(key, off, len, p);
      if (tryMove(p, before, pid, index, to, log)) {
        settle();
        return to;
      }
      Pause.after(i);
    }
    return pid;
  }

  private boolean tryMove(
      Position leaf, long before, long pid, int index, long to, LogSession log) {
    int fresh = change.resolve(to);
    int old = change.resolve(pid);
    int previous = change.resolve(before);
    if (!leaf.found || !pool.tryUpgrade(leaf.frame, leaf.version)) {
      return false;
    }
    int latched = 1;
    boolean changed = false;
    boolean complete = false;
    long examined = pid;
    try {
      if (change.tryLatch(previous, before)) {
        latched = 2;
        if (change.tryLatch(old, pid)) {
          latched = 3;
          if (change.tryLatch(fresh, to)) {
            latched = 4;
            long base = pool.base(old);
            long previousBase = pool.base(previous);
            requirePart(base, index);
            examined = before;
            requirePart(previousBase, index - 1);
            changed = true;
            copy(pages, base, pages, pool.base(fresh));
            Mem.putLong(pages, previousBase + OverflowChain.NEXT, to);
            complete = true;
            change.append(log, pid, fresh, previous, StructureRecord.NONE);
            used = to;
          }
        }
      }
    } catch (Throwable t) {
      if (latched > 3) {
        LatchErrorGuard.releaseWhole(pool, fresh, complete, changed, t);
      }
      if (latched > 2) {
        LatchErrorGuard.releaseWhole(pool, old, complete, changed, t);
      }
      if (latched > 1) {
        LatchErrorGuard.releaseWhole(pool, previous, complete, changed, t);
      }
      LatchErrorGuard.release(pool, leaf.frame, false, t);
      throw LatchErrorGuard.rethrow(pool, examined, t);
    }
    if (latched < 4) {
      if (latched > 2) {
        pool.releaseExclusiveUnchanged(old);
      }
      if (latched > 1) {
        pool.releaseExclusiveUnchanged(previous);
      }
      pool.releaseExclusiveUnchanged(leaf.frame);
      return false;
    }
    pool.releaseExclusive(fresh);
    pool.releaseExclusive(previous);
    pool.releaseExclusive(leaf.frame); // its version moves, so readers of the chain restart
    pool.free(old, log); // released by the logged change
    return true;
  }

  private void requirePart(long base, int index) {
    int bytes = Mem.getInt(pages, base + OverflowChain.BYTES);
    if (PageHeader.type(pages, base) != PageHeader.OVERFLOW
        || PageHeader.treeId(pages, base) != treeId
        || Mem.getInt(pages, base + OverflowChain.INDEX) != index
        || bytes < 0
        || bytes > OverflowChain.capacity(pageSize)) {
      throw new NodeDamage(
          "page of a long value", index, Mem.getInt(pages, base + OverflowChain.INDEX));
    }
  }

  /** Copies everything except the header. */
  private void copy(MemorySegment s, long base, MemorySegment d, long to) {
    int end = OverflowChain.DATA + Mem.getInt(s, base + OverflowChain.BYTES);
    Mem.copy(s, base + OverflowChain.NEXT, d, to + OverflowChain.NEXT, end - OverflowChain.NEXT);
  }

  // ------------------------------------------------------------------------------ the first page

  /**
   * Writes a copy of the first page of the chain given to {@link #moveTail}. The caller takes the
   * page ({@link #taken}) and publishes or frees it. Returns the new page, which is still the last
   * in the spare list.
   */
  public long first(LogSession log) {
    log.grant(change.space);
    TreeScratch scratch = change.scratches.take();
    try {
      int frame = pool.fixShared(previousFirst);
      try {
        long base = pool.base(frame);
        requirePart(base, 0);
        copy(pages, base, scratch.page, 0);
      } catch (IndexOutOfBoundsException e) {
        throw TreeDamage.offsets(pool, previousFirst, e);
      } finally {
        pool.releaseShared(frame);
      }
      return first(scratch.page, log);
    } finally {
      change.scratches.release(scratch);
    }
  }

  private long first(MemorySegment page, LogSession log) {
    long to = spare.get(spare.size() - 1);
    int fresh = pool.fixExclusive(to); // no other thread knows it
    boolean changed = false;
    boolean complete = false;
    try {
      changed = true;
      copy(page, 0, pages, pool.base(fresh));
      complete = true;
      StructureRecord.append(
          pool, log, RecordType.CHAIN, 0, fresh, StructureRecord.NONE, StructureRecord.NONE);
    } catch (Throwable t) {
      LatchErrorGuard.releaseWhole(pool, fresh, complete, changed, t);
      throw LatchErrorGuard.rethrow(pool, to, t);
    }
    pool.releaseExclusive(fresh);
    return to;
  }

  /** Removes the page written by {@link #first} from the spare list. */
  public void taken() {
    spare.removeLast();
    moved++;
  }

  /** Returns whether a page written by {@link #first} is still in the spare list. */
  public boolean hasSpare(long pid) {
    return !isOver() && spare.get(spare.size() - 1) == pid;
  }

  /** Returns the previous first page. */
  public long previousFirst() {
    return previousFirst;
  }

  /** Returns the length of the value. */
  public int length() {
    return length;
  }
}
