package io.fovea.btree;

import io.fovea.buffer.AllocatorRecord;
import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageHeader;
import io.fovea.error.CorruptionException;
import io.fovea.error.FoveaException;
import io.fovea.memory.LongList;
import io.fovea.memory.Mem;
import io.fovea.wal.LogSession;
import java.lang.foreign.MemorySegment;

/**
 * Values that are too long for a leaf: a chain of pages, and a stub in the leaf.
 *
 * <pre>
 *   0         32        40       44       48
 *   +---------+---------+--------+--------+------------------------+
 *   | header  | next    | bytes  | index  | bytes of the value     |
 *   +---------+---------+--------+--------+------------------------+
 *   next   page id of the next part, 0 in the last
 *   bytes  of the value in this page: all that fit, but in the last
 *   index  0, 1, 2, ... along the chain
 * </pre>
 *
 * <ol>
 *   <li>A chain is written before the leaf is latched, last page first, so that at most one page is
 *       latched, and by its maker. The stub in the leaf publishes it.
 *   <li>A published chain never changes; a new value is a new chain.
 *   <li>It is freed after the leaf has let it go and was given back. A reader may be in the middle
 *       of it: its pages are then of type FREE, or of another owner. So every page is validated
 *       before its link is followed, and the leaf after every page: as long as the leaf has not
 *       changed, the chain was whole.
 *   <li>With a log each page of a chain is a record of its own, of type CHAIN: the page belongs to
 *       nobody until the record of a commit lists it, and what a crash leaves of it before is
 *       reclaimed. Freed is it by whoever has its pages from {@link BTree#chain} in the record that
 *       lets it go, from the end to the beginning: a chain that is half freed is whole up to where
 *       it ends in a page that is no part of it.
 *   <li><i>Strays</i> are pages that were let go and could not be freed then (unreadable, or no
 *       frame for them). Without a log they are tried again when the next chain is freed, and when
 *       the database closes. With one a record lists them as released, so a crash gives them back
 *       as long as the redo point has not passed that record: each checkpoint tries them again
 *       before it has, as does a close. What can't be freed then either is space that nobody uses,
 *       if the machine dies before a later attempt succeeds. Holding back the redo point for such
 *       pages would turn a few lost ones into a log without end.
 * </ol>
 */
final class OverflowChain {
  static final int NEXT = 32;
  static final int BYTES = 40;
  static final int INDEX = 44;
  static final int DATA = 48;

  private static final int TRIES = 64;

  /** Instead of a page id. */
  private static final long CHANGED = Long.MIN_VALUE;

  private OverflowChain() {}

  static int capacity(int pageSize) {
    return pageSize - DATA;
  }

  /** How many pages a value takes. */
  static int pages(int pageSize, long len) {
    int capacity = capacity(pageSize);
    return (int) ((len + capacity - 1) / capacity);
  }

  /** What a page and its allocation take of a grant at most. */
  private static long space(BufferPool pool) {
    return StructureRecord.space(pool.pageSize(), 1) + AllocatorRecord.ALLOCATE_SPACE;
  }

  /**
   * Writes a value to new pages.
   *
   * @param type of the records of the pages: CHAIN, or STRUCTURE if they belong to the tree at once
   * @return the pages, in the order of the chain
   */
  static long[] write(
      BTree tree, MemorySegment value, long off, int len, int type, LogSession log) {
    tree.noteLong();
    BufferPool pool = tree.pool();
    int capacity = capacity(pool.pageSize());
    long[] pids = new long[pages(pool.pageSize(), len)];
    int index = pids.length - 1;
    try {
      for (; index >= 0; index--) {
        long done = (long) index * capacity;
        int bytes = (int) Math.min(capacity, len - done);
        long next = index + 1 < pids.length ? pids[index + 1] : 0;
        pids[index] = writePage(tree, value, off + done, bytes, index, next, type, log);
      }
      return pids;
    } catch (RuntimeException | Error e) {
      for (int i = pids.length - 1; i > index; i--) {
        if (!tryFree(tree, pids[i], log)) {
          strand(tree, pids[index + 1], i - index);
          break;
        }
      }
      throw e;
    }
  }

  /** Frees a chain that was written for nothing. */
  static void undo(BTree tree, long[] pids, LogSession log) {
    for (int i = pids.length - 1; i >= 0; i--) {
      if (!tryFree(tree, pids[i], log)) {
        strand(tree, pids[0], i + 1);
        return;
      }
    }
  }

  private static long writePage(
      BTree tree,
      MemorySegment value,
      long off,
      int bytes,
      int index,
      long next,
      int type,
      LogSession log) {
    BufferPool pool = tree.pool();
    MemorySegment pages = pool.pages();
    log.grant(space(pool));
    int frame = pool.allocate(tree.treeId(), PageHeader.OVERFLOW, log);
    boolean written = false;
    try {
      long base = pool.base(frame);
      Mem.putLong(pages, base + NEXT, next);
      Mem.putInt(pages, base + BYTES, bytes);
      Mem.putInt(pages, base + INDEX, index);
      Mem.copy(value, off, pages, base + DATA, bytes);
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

  /**
   * A part of a chain that could not be freed.
   *
   * @param first its first page
   * @param pages how many, following the links; what comes behind them may belong to anybody
   */
  record Stray(long first, int pages) {}

  private static void strand(BTree tree, long first, int pages) {
    tree.strays().add(new Stray(first, pages));
  }

  /**
   * Frees a chain that no leaf knows any more, from its beginning: for databases without a log.
   *
   * <p>The change that let go of it has happened, so this does not fail: what cannot be freed now,
   * for a page of it cannot be read or has no frame, is tried again when the next chain is freed.
   */
  static void free(BTree tree, long first) {
    if (first == 0) {
      return;
    }
    Stray stray = tree.strays().poll();
    freeFollowing(tree, first, Integer.MAX_VALUE, LogSession.NONE);
    if (stray != null) {
      freeFollowing(tree, stray.first(), stray.pages(), LogSession.NONE);
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
  static void free(BTree tree, LongList pids, LogSession log) {
    Stray stray = log.logging() ? null : tree.strays().poll();
    for (int i = pids.size() - 1; i >= 0; i--) {
      if (!tryFree(tree, pids.get(i), log)) {
        // Where several chains are in the list each page is alone: what comes behind is not known.
        for (; i >= 0; i--) {
          strand(tree, pids.get(i), 1);
        }
      }
    }
    if (stray != null) {
      freeFollowing(tree, stray.first(), stray.pages(), log);
    }
  }

  /** Frees what could not be freed before; stops where that fails again. */
  static void freeStrays(BTree tree, LogSession log) {
    for (int n = tree.strays().size(); n > 0; n--) {
      Stray stray = tree.strays().poll();
      if (stray != null) {
        freeFollowing(tree, stray.first(), stray.pages(), log);
      }
    }
  }

  private static void freeFollowing(BTree tree, long first, int pages, LogSession log) {
    long pid = first;
    int left = pages;
    try {
      for (; pid != 0 && left > 0; left--) {
        pid = freePage(tree, pid, log);
      }
    } catch (CorruptionException e) {
      // Not a chain, or not ours: to free more of it would make things worse.
      return;
    } catch (FoveaException e) {
      // The page that failed is still the first of the rest: freePage changes nothing then.
      strand(tree, pid, left);
    }
  }

  /** Frees a page of a chain; false if that has to wait. One that is not ours counts as freed. */
  private static boolean tryFree(BTree tree, long pid, LogSession log) {
    try {
      freePage(tree, pid, log);
      return true;
    } catch (CorruptionException e) {
      return true;
    } catch (FoveaException e) {
      return false;
    }
  }

  /** Frees a page of a chain; returns the next. */
  private static long freePage(BTree tree, long pid, LogSession log) {
    BufferPool pool = tree.pool();
    MemorySegment pages = pool.pages();
    log.grant(AllocatorRecord.FREE_SPACE);
    int frame = pool.fixExclusive(pid);
    long next;
    try {
      long base = pool.base(frame);
      int type = PageHeader.type(pages, base);
      if (type != PageHeader.OVERFLOW || PageHeader.treeId(pages, base) != tree.treeId()) {
        throw damaged(pool, pid, "type of a page of a long value", PageHeader.OVERFLOW, type);
      }
      next = Mem.getLong(pages, base + NEXT);
    } catch (Throwable t) {
      throw BrokenOff.one(pool, frame, pid, false, t);
    }
    pool.free(frame, log);
    return next;
  }

  /**
   * Collects the pages of a chain.
   *
   * @param out gets them, in the order of the chain
   * @return false if it ends in a page that is no part of it
   */
  static boolean collect(BufferPool pool, int treeId, long first, long len, LongList out) {
    MemorySegment pages = pool.pages();
    int count = pages(pool.pageSize(), len);
    long pid = first;
    for (int index = 0; index < count; index++) {
      if (pid <= 0) {
        return false;
      }
      int frame = pool.fixShared(pid);
      boolean part;
      long next;
      try {
        long base = pool.base(frame);
        part =
            PageHeader.type(pages, base) == PageHeader.OVERFLOW
                && PageHeader.treeId(pages, base) == treeId
                && Mem.getInt(pages, base + INDEX) == index;
        next = Mem.getLong(pages, base + NEXT);
      } finally {
        pool.releaseShared(frame);
      }
      if (!part) {
        return false;
      }
      out.add(pid);
      pid = next;
    }
    return true;
  }

  /**
   * Copies a value, or the beginning of it.
   *
   * @param leaf where the stub was read
   * @param first the first page, as the stub says
   * @param length how long the value is, as the stub says
   * @param cap how many bytes there is room for
   * @return false if the leaf has changed: start again
   */
  static boolean read(
      BTree tree, Position leaf, long first, int length, MemorySegment dst, long dstOff, int cap) {
    BufferPool pool = tree.pool();
    int capacity = capacity(pool.pageSize());
    int len = Math.min(length, cap);
    long from = leaf.pid;
    long pid = first;
    for (int index = 0; (long) index * capacity < len; index++) {
      // Asked like this the leaf counts as used, so that the chain does not drive it out of the
      // pool.
      if (pool.optimistic(leaf.frame, leaf.pid) != leaf.version) {
        return false;
      }
      if (pid <= 1 || pid >= pool.pidLimit()) {
        if (!tree.valid(leaf)) {
          return false;
        }
        throw damaged(pool, from, "link to part " + index + " of a long value", 0, pid);
      }
      long done = (long) index * capacity;
      int has = (int) Math.min(capacity, length - done);
      int bytes = (int) Math.min(capacity, len - done);
      from = pid;
      pid = readPage(tree, leaf, pid, index, has, dst, dstOff + done, bytes);
      if (pid == CHANGED) {
        return false;
      }
    }
    return tree.valid(leaf);
  }

  /** Copies one page; returns the next page's id, or {@link #CHANGED} if the leaf has. */
  private static long readPage(
      BTree tree,
      Position leaf,
      long pid,
      int index,
      int expected,
      MemorySegment dst,
      long dstOff,
      int bytes) {
    BufferPool pool = tree.pool();
    MemorySegment pages = pool.pages();
    int frame = pool.guess(pid);
    for (int i = 0; i < TRIES; i++) {
      long version = pool.optimistic(frame, pid);
      if (version == BufferPool.RESTART) {
        frame = pool.findSlow(pid);
        continue;
      }
      leaf.pageAccesses++;
      long base = pool.base(frame);
      int type = PageHeader.type(pages, base);
      int owner = PageHeader.treeId(pages, base);
      int found = Mem.getInt(pages, base + INDEX);
      int has = Mem.getInt(pages, base + BYTES);
      long next = Mem.getLong(pages, base + NEXT);
      boolean right =
          type == PageHeader.OVERFLOW
              && owner == tree.treeId()
              && found == index
              && has == expected;
      if (right) {
        Mem.copy(pages, base + DATA, dst, dstOff, bytes);
      }
      if (!pool.validate(frame, version)) {
        continue;
      }
      // The page is as it was read. Whether it was still ours then, only the leaf knows.
      if (!tree.valid(leaf)) {
        return CHANGED;
      }
      if (!right) {
        throw has != expected && found == index
            ? damaged(pool, pid, "bytes in part " + index + " of a long value", expected, has)
            : damaged(pool, pid, "page of a long value", index, found);
      }
      return next == CHANGED ? 0 : next;
    }
    return CHANGED;
  }

  static CorruptionException damaged(
      BufferPool pool, long pid, String what, long expected, long found) {
    return new CorruptionException(what, pid, pid * pool.pageSize(), expected, found);
  }
}
