package io.fovea.btree;

import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageHeader;
import io.fovea.memory.LongList;
import io.fovea.memory.Mem;
import io.fovea.wal.LogSession;
import io.fovea.wal.RecordType;
import java.lang.foreign.MemorySegment;

/**
 * Moves the pages of a long value to others, nearer to the front of the file, while everything goes
 * on. {@link OverflowChain} has the layout, {@link LongValues} what chains are else.
 *
 * <pre>
 *   {@link #rest}    leaf: P0    P0 ─► P1 ─► P2        -&gt;  P0 ─► N1 ─► P2      P1 is freed
 *            a change of structure: one record, images of N1 and P0, P1 released
 *   {@link #first}   leaf: P0    P0 ─► N1 ─► P2        -&gt;  N0 ─► N1 ─► P2      N0 is nobody's yet
 *            a CHAIN record; the caller commits: leaf: N0, with N0 adopted and P0 released
 * </pre>
 *
 * <p><b>Why only the first page takes a commit.</b> The leaf names it, and so do commits in the
 * log: replay puts that name back after all images are applied. So the new name is a change of the
 * record, in the order of the key's changes. All other pages are named by pages, which have images.
 *
 * <p><b>The lock of the record</b> is the caller's, as in a commit that writes it. A commit notes
 * the pages of the old value before it appends its record, and frees them after it: between the two
 * no page of it may be another. So whoever has the lock may take the chain for what it is.
 *
 * <p><b>Readers</b> have no lock. A reader of a chain takes each page for a part of it as long as
 * the leaf has not changed. So the leaf is latched with the pages, and its version moves, though
 * nothing in it changes: whoever is on the way along the chain begins anew at the leaf. Whoever
 * reads the leaf before has a version that does not hold any more when P1 is free.
 *
 * <p><b>Recovery.</b> After {@link #rest} the chain is whole, whatever comes: N1 belongs to the
 * tree by its image, P1 is an orphan until its FREE record. After {@link #first} N0 is an orphan
 * until the commit.
 *
 * <p>One thread. Nobody drops the tree meanwhile.
 *
 * @since 0.1.0
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

  /** A page that is a part of a value, and may be among the spare ones still; 0 for none. */
  private long used;

  private int length;
  private long firstWas;

  /**
   * Moves of pages of one tree.
   *
   * @param tree the tree
   * @param from which pages move: those with such ids or higher ones
   * @param spare pages from {@link TreeCompaction#spare}, whose session goes on; those that were
   *     used are taken out
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

  /**
   * How many pages were moved; those of {@link #first} before their commit.
   *
   * @return a number
   */
  public int moved() {
    return moved;
  }

  /**
   * Takes a page that has become a part of a value out of the spare ones, if that is still to be
   * done: before these are given back, also after an error. They look like parts of values.
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

  /**
   * Whether all spare pages are used.
   *
   * @return whether it is over
   */
  public boolean isOver() {
    return spare.size() == 0;
  }

  /**
   * Moves the pages of a value, but for the first. The caller has the lock of the record.
   *
   * @param key native memory with the key
   * @param off its offset
   * @param len its length
   * @param p in: a hint, as in {@link BTree#locate}; out: the position of the key
   * @param log a session that has begun
   * @return whether the first page is to move too
   */
  public boolean rest(MemorySegment key, long off, int len, Position p, LogSession log) {
    pids.clear();
    length = tree.chain(key, off, len, p, pids);
    if (length < 0) {
      return false; // it is no long value any more, or gone
    }
    firstWas = pids.get(0);
    long before = firstWas;
    for (int i = 1; i < pids.size() && !isOver(); i++) {
      long pid = pids.get(i);
      before = pid < from ? pid : moved(key, off, len, p, before, pid, i, log);
    }
    return firstWas >= from && !isOver();
  }

  /** Moves a page of the chain; returns where it is now. */
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
    boolean whole = false;
    long looked = pid;
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
            looked = before;
            requirePart(previousBase, index - 1);
            changed = true;
            copy(pages, base, pages, pool.base(fresh));
            Mem.putLong(pages, previousBase + OverflowChain.NEXT, to);
            whole = true;
            change.append(log, pid, fresh, previous, StructureRecord.NONE);
            used = to;
          }
        }
      }
    } catch (Throwable t) {
      if (latched > 3) {
        LatchErrorGuard.giveWhole(pool, fresh, whole, changed, t);
      }
      if (latched > 2) {
        LatchErrorGuard.giveWhole(pool, old, whole, changed, t);
      }
      if (latched > 1) {
        LatchErrorGuard.giveWhole(pool, previous, whole, changed, t);
      }
      LatchErrorGuard.give(pool, leaf.frame, false, t);
      throw LatchErrorGuard.meaning(pool, looked, t);
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
    pool.releaseExclusive(leaf.frame); // its version moves, and sends readers of the chain back
    pool.free(old, log); // the change has cut it loose
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

  /** Everything but the header. */
  private void copy(MemorySegment s, long base, MemorySegment d, long to) {
    int end = OverflowChain.DATA + Mem.getInt(s, base + OverflowChain.BYTES);
    Mem.copy(s, base + OverflowChain.NEXT, d, to + OverflowChain.NEXT, end - OverflowChain.NEXT);
  }

  // ------------------------------------------------------------------------------ the first page

  /**
   * Writes the first page of the chain that {@link #rest} was called for once more. The caller
   * takes that page ({@link #taken}) and gives it to the record, or frees it.
   *
   * @param log a session that has begun
   * @return the new page, which is the last spare one still
   */
  public long first(LogSession log) {
    log.grant(change.space);
    TreeScratch scratch = change.scratches.take();
    try {
      int frame = pool.fixShared(firstWas);
      try {
        long base = pool.base(frame);
        requirePart(base, 0);
        copy(pages, base, scratch.page, 0);
      } catch (IndexOutOfBoundsException e) {
        throw TreeDamage.offsets(pool, firstWas, e);
      } finally {
        pool.releaseShared(frame);
      }
      return first(scratch.page, log);
    } finally {
      change.scratches.give(scratch);
    }
  }

  private long first(MemorySegment page, LogSession log) {
    long to = spare.get(spare.size() - 1);
    int fresh = pool.fixExclusive(to); // nobody else knows it
    boolean changed = false;
    boolean whole = false;
    try {
      changed = true;
      copy(page, 0, pages, pool.base(fresh));
      whole = true;
      StructureRecord.append(
          pool, log, RecordType.CHAIN, 0, fresh, StructureRecord.NONE, StructureRecord.NONE);
    } catch (Throwable t) {
      LatchErrorGuard.giveWhole(pool, fresh, whole, changed, t);
      throw LatchErrorGuard.meaning(pool, to, t);
    }
    pool.releaseExclusive(fresh);
    return to;
  }

  /** The page that {@link #first} has written is no spare one any more. */
  public void taken() {
    spare.removeLast();
    moved++;
  }

  /**
   * Whether a page is the last spare one.
   *
   * @param pid one that {@link #first} has written
   * @return false if it was {@link #taken}
   */
  public boolean hasSpare(long pid) {
    return !isOver() && spare.get(spare.size() - 1) == pid;
  }

  /**
   * The first page as it was.
   *
   * @return its id
   */
  public long firstWas() {
    return firstWas;
  }

  /**
   * How long the value is.
   *
   * @return bytes
   */
  public int length() {
    return length;
  }
}
