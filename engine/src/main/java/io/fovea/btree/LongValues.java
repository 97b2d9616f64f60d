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
 * Writes and frees the overflow chains of one tree. {@link OverflowChain} has the layout and the
 * rules of readers.
 *
 * <ol>
 *   <li>A chain is written before the leaf is latched, last page first, so that at most one page is
 *       latched. The stub in the leaf publishes it.
 *   <li>The content of a published chain never changes: a new value is a new chain. Its pages may
 *       move ({@link ChainMove}), which moves the leaf's version.
 *   <li>A chain is freed after the leaf has stopped referring to it and has been released.
 *   <li>With a log, each page has a CHAIN record: it is an orphan until the record of a commit
 *       lists it, and recovery reclaims it. The caller that got the pages from {@link BTree#chain}
 *       and released them in its record frees them from last to first, so a partly freed chain is
 *       intact up to the first page that is no longer part of it.
 *   <li><i>Unfreed pages</i> are released pages that could not be freed (the page is unreadable, or
 *       there is no frame for it). Without a log they are retried when the next chain is freed and
 *       at the close. With a log, checkpoints and the close retry them before the redo point passes
 *       the record that released them; until then recovery frees them. After that they are lost
 *       space if the machine crashes before a retry succeeds. Holding back the redo point for them
 *       could make the log grow forever.
 * </ol>
 */
final class LongValues {
  /**
   * Part of a chain that could not be freed: {@code pages} pages along the links. Later pages may
   * be in use.
   */
  record UnfreedChain(long first, int pages) {}

  private final BufferPool pool;
  private final MemorySegment pages;
  private final int treeId;

  /** The log space of a page and its allocation. */
  private final long pageSpace;

  private final Queue<UnfreedChain> unfreed = new ConcurrentLinkedQueue<>();

  /** Set before the first chain is written; never cleared by a write. */
  private volatile boolean possible;

  LongValues(BufferPool pool, int treeId, boolean possible) {
    this.pool = pool;
    this.pages = pool.pages();
    this.treeId = treeId;
    this.pageSpace = StructureRecord.space(pool.pageSize(), 1) + AllocatorRecord.ALLOCATE_SPACE;
    this.possible = possible;
  }

  boolean arePossible() {
    return possible;
  }

  /** Declares that there are no long values and never were. */
  void declareNone() {
    possible = false;
  }

  /** Called before a chain is written or referenced by a leaf. */
  void noteLong() {
    if (!possible) {
      possible = true;
    }
  }

  // -------------------------------------------------------------------------------------- writing

  /**
   * Writes a value to new pages and returns them in the order of the chain. Their records are of
   * type CHAIN, or STRUCTURE if they belong to the tree at once.
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
          addUnfreed(pids[index + 1], i - index);
          break;
        }
      }
      throw e;
    }
  }

  /** See {@link BTree#writeChain}. */
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

  /** Frees a chain that is not going to be published. */
  private void undo(long[] pids, LogSession log) {
    for (int i = pids.length - 1; i >= 0; i--) {
      if (!tryFree(pids[i], log)) {
        addUnfreed(pids[0], i + 1);
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
        pool.releaseExclusive(frame); // the log is dead, so the page cannot be freed either
      } else {
        pool.free(frame, log); // no other thread knows it
      }
      throw e;
    }
  }

  // -------------------------------------------------------------------------------------- freeing

  private void addUnfreed(long first, int pages) {
    unfreed.add(new UnfreedChain(first, pages));
  }

  /**
   * Frees pages of chains that no leaf refers to any more, the last page first. Pages that cannot
   * be freed are listed as unfreed.
   *
   * <p>With a log, only checkpoints retry unfreed pages: this session began after the record that
   * released them, so the redo point could pass that record while they are neither listed nor free.
   *
   * @throws StorageFullException if the close of the database ends a commit on a full disk
   */
  void free(LongList pids, LogSession log) {
    UnfreedChain chain = log.isLogging() ? null : unfreed.poll();
    for (int i = pids.size() - 1; i >= 0; i--) {
      if (!tryFree(pids.get(i), log)) {
        // The list may contain several chains, so each page becomes a separate entry.
        for (; i >= 0; i--) {
          addUnfreed(pids.get(i), 1);
        }
      }
    }
    if (chain != null) {
      freeFollowing(chain.first(), chain.pages(), log);
    }
  }

  boolean hasUnfreed() {
    return !unfreed.isEmpty();
  }

  /** Frees unfreed pages; those that cannot be freed stay in the list. */
  void freeUnfreed(LogSession log) {
    for (int n = unfreed.size(); n > 0; n--) {
      UnfreedChain chain = unfreed.poll();
      if (chain != null) {
        freeFollowing(chain.first(), chain.pages(), log);
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
      // Not a page of a chain of this tree, so the rest must not be freed.
      return;
    } catch (FoveaException e) {
      // freePage() left the failed page unchanged: it heads the rest of the chain.
      addUnfreed(pid, left);
    }
  }

  /** Frees a page of a chain; false means retry. A page of another owner counts as freed. */
  private boolean tryFree(long pid, LogSession log) {
    try {
      freePage(pid, log);
      return true;
    } catch (CorruptionException e) {
      return true;
    } catch (StorageFullException e) {
      if (log.recLsn() != 0) {
        throw e; // a close ends the commit on a full disk: only recovery can free the page
      }
      return false;
    } catch (FoveaException e) {
      return false;
    }
  }

  /** Frees a page of a chain; returns the next one. */
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
      throw LatchErrorGuard.releaseAndThrow(pool, frame, pid, false, t);
    }
    pool.free(frame, log);
    return next;
  }
}
