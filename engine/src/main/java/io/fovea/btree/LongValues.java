package io.fovea.btree;

import io.fovea.buffer.AllocatorRecord;
import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageHeader;
import io.fovea.error.CorruptionException;
import io.fovea.error.FoveaException;
import io.fovea.error.StorageFullException;
import io.fovea.memory.LongList;
import io.fovea.memory.Mem;
import io.fovea.wal.LogSession;
import io.fovea.wal.RecordType;
import java.lang.foreign.MemorySegment;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * The long values of one tree: how their chains come and go. {@link OverflowChain} has the layout.
 *
 * <ol>
 *   <li>A chain is written before the leaf is latched, last page first, so that at most one page is
 *       latched, and by its maker. The stub in the leaf publishes it.
 *   <li>What a published chain holds never changes; a new value is a new chain. Its pages may move
 *       ({@link ChainMove}), and the leaf's version with them.
 *   <li>It is freed after the leaf has dropped it and was given back. A reader may be in the middle
 *       of it: its pages are then of type FREE, or of another owner. So every page is validated
 *       before its link is followed, and the leaf after every page: as long as the leaf has not
 *       changed, the chain was whole.
 *   <li>With a log each page of a chain is a record of its own, of type CHAIN: the page belongs to
 *       nobody until the record of a commit lists it, and what a crash leaves of it before is
 *       reclaimed. Freed is it by whoever has its pages from {@link BTree#chain} in the record that
 *       releases it, from the end to the beginning: a chain that is half freed is whole up to where
 *       it ends in a page that is no part of it.
 *   <li><i>Strays</i> are pages that were released and could not be freed then (unreadable, or no
 *       frame for them). Without a log they are tried again when the next chain is freed, and when
 *       the database closes. With one a record lists them as released, so a crash gives them back
 *       as long as the redo point has not passed that record: each checkpoint tries them again
 *       before it has, as does a close. What can't be freed then either is space that nobody uses,
 *       if the machine dies before a later attempt succeeds. Holding back the redo point for such
 *       pages would turn a few lost ones into a log without end.
 * </ol>
 */
final class LongValues {
  /**
   * A part of a chain that could not be freed.
   *
   * @param first its first page
   * @param pages how many, following the links; what comes behind them may belong to anybody
   */
  record Stray(long first, int pages) {}

  private final BufferPool pool;
  private final MemorySegment pages;
  private final int treeId;

  /** What a page and its allocation take of a grant at most. */
  private final long pageSpace;

  private final Queue<Stray> strays = new ConcurrentLinkedQueue<>();

  /** Set before the first chain is written, never cleared by a write. */
  private volatile boolean possible;

  LongValues(BufferPool pool, int treeId, boolean possible) {
    this.pool = pool;
    this.pages = pool.pages();
    this.treeId = treeId;
    this.pageSpace = StructureRecord.space(pool.pageSize(), 1) + AllocatorRecord.ALLOCATE_SPACE;
    this.possible = possible;
  }

  /** As {@link BTree#mayHoldLong}. */
  boolean possible() {
    return possible;
  }

  /** There is none, and there was none. */
  void none() {
    possible = false;
  }

  /** A chain is about to be written, or named by a leaf. */
  void noteLong() {
    if (!possible) {
      possible = true;
    }
  }

  // -------------------------------------------------------------------------------------- writing

  /**
   * Writes a value to new pages.
   *
   * @param type of the records of the pages: CHAIN, or STRUCTURE if they belong to the tree at once
   * @return the pages, in the order of the chain
   */
  long[] write(MemorySegment value, long off, int len, int type, LogSession log) {
    noteLong();
    int capacity = OverflowChain.capacity(pool.pageSize());
    long[] pids = new long[OverflowChain.pages(pool.pageSize(), len)];
    int index = pids.length - 1;
    try {
      for (; index >= 0; index--) {
        long done = (long) index * capacity;
        int bytes = (int) Math.min(capacity, len - done);
        long next = index + 1 < pids.length ? pids[index + 1] : 0;
        pids[index] = writePage(value, off + done, bytes, index, next, type, log);
      }
      return pids;
    } catch (RuntimeException | Error e) {
      for (int i = pids.length - 1; i > index; i--) {
        if (!tryFree(pids[i], log)) {
          strand(pids[index + 1], i - index);
          break;
        }
      }
      throw e;
    }
  }

  /** As {@link BTree#writeChain}. */
  long write(MemorySegment value, long off, int len, LongList pids, LogSession log) {
    long[] chain = write(value, off, len, RecordType.CHAIN, log);
    try {
      for (long pid : chain) {
        pids.add(pid);
      }
      return chain[0];
    } catch (Error e) {
      undo(chain, log);
      throw e;
    }
  }

  /** Frees a chain that was written for nothing. */
  private void undo(long[] pids, LogSession log) {
    for (int i = pids.length - 1; i >= 0; i--) {
      if (!tryFree(pids[i], log)) {
        strand(pids[0], i + 1);
        return;
      }
    }
  }

  private long writePage(
      MemorySegment value, long off, int bytes, int index, long next, int type, LogSession log) {
    log.grant(pageSpace);
    int frame = pool.allocate(treeId, PageHeader.OVERFLOW, log);
    boolean written = false;
    try {
      long base = pool.base(frame);
      Mem.putLong(pages, base + OverflowChain.NEXT, next);
      Mem.putInt(pages, base + OverflowChain.BYTES, bytes);
      Mem.putInt(pages, base + OverflowChain.INDEX, index);
      Mem.copy(value, off, pages, base + OverflowChain.DATA, bytes);
      long pid = pool.pid(frame);
      written = true;
      StructureRecord.append(pool, log, type, 0, frame, StructureRecord.NONE, StructureRecord.NONE);
      pool.releaseExclusive(frame);
      return pid;
    } catch (RuntimeException | Error e) {
      if (written && e instanceof RuntimeException) {
        pool.releaseExclusive(frame); // the log takes nothing any more, nor would it take this
      } else {
        pool.free(frame, log); // nobody knows it
      }
      throw e;
    }
  }

  // -------------------------------------------------------------------------------------- freeing

  private void strand(long first, int pages) {
    strays.add(new Stray(first, pages));
  }

  /**
   * Frees a chain that no leaf knows any more, from its beginning: for databases without a log.
   *
   * <p>The change that released it has happened, so this does not fail: what cannot be freed now,
   * for a page of it cannot be read or has no frame, is tried again when the next chain is freed.
   */
  void free(long first) {
    if (first == 0) {
      return;
    }
    Stray stray = strays.poll();
    freeFollowing(first, Integer.MAX_VALUE, LogSession.NONE);
    if (stray != null) {
      freeFollowing(stray.first(), stray.pages(), LogSession.NONE);
    }
  }

  /**
   * Frees the pages of chains that no leaf knows any more, the last first. Does not fail either.
   *
   * <p>With a log strays are left to checkpoints: the session here began after the record that
   * released them, so that the redo point could pass that while they are taken out and not free.
   *
   * @param pids pages of one chain after the other, each in its order
   */
  void free(LongList pids, LogSession log) {
    Stray stray = log.logging() ? null : strays.poll();
    for (int i = pids.size() - 1; i >= 0; i--) {
      if (!tryFree(pids.get(i), log)) {
        // Where several chains are in the list each page is alone: what comes behind is not known.
        for (; i >= 0; i--) {
          strand(pids.get(i), 1);
        }
      }
    }
    if (stray != null) {
      freeFollowing(stray.first(), stray.pages(), log);
    }
  }

  /** Whether there are parts of chains that could not be freed. */
  boolean hasStrays() {
    return !strays.isEmpty();
  }

  /** Frees what could not be freed before; stops where that fails again. */
  void freeStrays(LogSession log) {
    for (int n = strays.size(); n > 0; n--) {
      Stray stray = strays.poll();
      if (stray != null) {
        freeFollowing(stray.first(), stray.pages(), log);
      }
    }
  }

  private void freeFollowing(long first, int pages, LogSession log) {
    long pid = first;
    int left = pages;
    try {
      for (; pid != 0 && left > 0; left--) {
        pid = freePage(pid, log);
      }
    } catch (CorruptionException e) {
      // Not a chain, or not ours: to free more of it would make things worse.
      return;
    } catch (FoveaException e) {
      // The page that failed is still the first of the rest: freePage changes nothing then.
      strand(pid, left);
    }
  }

  /** Frees a page of a chain; false if that has to wait. One that is not ours counts as freed. */
  private boolean tryFree(long pid, LogSession log) {
    try {
      freePage(pid, log);
      return true;
    } catch (CorruptionException e) {
      return true;
    } catch (StorageFullException e) {
      if (log.recLsn() != 0) {
        throw e; // of a close that ends a commit: nobody would free it later but recovery
      }
      return false;
    } catch (FoveaException e) {
      return false;
    }
  }

  /** Frees a page of a chain; returns the next. */
  private long freePage(long pid, LogSession log) {
    log.grant(AllocatorRecord.FREE_SPACE);
    int frame = pool.fixExclusive(pid);
    long next;
    try {
      long base = pool.base(frame);
      int type = PageHeader.type(pages, base);
      if (type != PageHeader.OVERFLOW || PageHeader.treeId(pages, base) != treeId) {
        throw TreeDamage.of(pool, pid, "type of a page of a long value", PageHeader.OVERFLOW, type);
      }
      next = Mem.getLong(pages, base + OverflowChain.NEXT);
    } catch (Throwable t) {
      throw LatchErrorGuard.one(pool, frame, pid, false, t);
    }
    pool.free(frame, log);
    return next;
  }
}
