package io.fovea.btree;

import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageHeader;
import io.fovea.error.CorruptionException;
import io.fovea.error.FoveaException;
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
 * </ol>
 */
final class OverflowChain {
  static final int NEXT = 32;
  static final int BYTES = 40;
  static final int INDEX = 44;
  static final int DATA = 48;

  private static final int TRIES = 64;

  private OverflowChain() {}

  static int capacity(int pageSize) {
    return pageSize - DATA;
  }

  /**
   * Writes a value to new pages.
   *
   * @return the first page
   */
  static long write(BTree tree, MemorySegment value, long off, int len) {
    BufferPool pool = tree.pool();
    MemorySegment pages = pool.pages();
    int capacity = capacity(pool.pageSize());
    long next = 0;
    try {
      for (int index = (len - 1) / capacity; index >= 0; index--) {
        int frame = pool.allocate(tree.treeId(), PageHeader.OVERFLOW, LogSession.NONE);
        long base = pool.base(frame);
        long done = (long) index * capacity;
        int bytes = (int) Math.min(capacity, len - done);
        Mem.putLong(pages, base + NEXT, next);
        Mem.putInt(pages, base + BYTES, bytes);
        Mem.putInt(pages, base + INDEX, index);
        Mem.copy(value, off + done, pages, base + DATA, bytes);
        next = pool.pid(frame);
        pool.markDirty(frame);
        pool.releaseExclusive(frame);
      }
      return next;
    } catch (RuntimeException e) {
      free(tree, next);
      throw e;
    }
  }

  /**
   * Frees a chain that no leaf knows any more.
   *
   * <p>The change that let go of it has happened, so this does not fail: what cannot be freed now,
   * for a page of it cannot be read or has no frame, is tried again when the next chain is freed.
   * Until then, or for ever if the database is closed before, it is space that nobody uses.
   */
  static void free(BTree tree, long first) {
    if (first == 0) {
      return;
    }
    Long stray = tree.strays().poll();
    freeAll(tree, first);
    if (stray != null) {
      freeAll(tree, stray);
    }
  }

  private static void freeAll(BTree tree, long first) {
    long pid = first;
    try {
      while (pid != 0) {
        pid = freePage(tree, pid);
      }
    } catch (CorruptionException e) {
      // Not a chain, or not ours: to free more of it would make things worse.
      return;
    } catch (FoveaException e) {
      // The page that failed is still the first of the rest: freePage changes nothing then.
      tree.strays().add(pid);
    }
  }

  /** Frees a page of a chain; returns the next. */
  static long freePage(BTree tree, long pid) {
    BufferPool pool = tree.pool();
    MemorySegment pages = pool.pages();
    int frame = pool.fixExclusive(pid);
    long base = pool.base(frame);
    int type = PageHeader.type(pages, base);
    if (type != PageHeader.OVERFLOW || PageHeader.treeId(pages, base) != tree.treeId()) {
      pool.releaseExclusiveUnchanged(frame);
      throw damaged(pool, pid, "type of a page of a long value", PageHeader.OVERFLOW, type);
    }
    long next = Mem.getLong(pages, base + NEXT);
    pool.free(frame, LogSession.NONE);
    return next;
  }

  /**
   * Copies a value, or the beginning of it.
   *
   * @param leaf where the stub was read
   * @param first the first page, as the stub says
   * @param len how many bytes to copy
   * @return false if the leaf has changed: start again
   */
  static boolean read(
      BTree tree, Position leaf, long first, MemorySegment dst, long dstOff, int len) {
    int capacity = capacity(tree.pool().pageSize());
    long pid = first;
    for (int index = 0; (long) index * capacity < len; index++) {
      // Asked like this the leaf counts as used, so that the chain does not drive it out of the
      // pool.
      if (tree.pool().optimistic(leaf.frame, leaf.pid) != leaf.version) {
        return false;
      }
      long done = (long) index * capacity;
      int bytes = (int) Math.min(capacity, len - done);
      pid = readPage(tree, leaf, pid, index, dst, dstOff + done, bytes);
      if (pid < 0) {
        return false;
      }
    }
    return tree.valid(leaf);
  }

  /** Copies one page; returns the next page's id, or -1 if the leaf has changed. */
  private static long readPage(
      BTree tree, Position leaf, long pid, int index, MemorySegment dst, long dstOff, int bytes) {
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
          type == PageHeader.OVERFLOW && owner == tree.treeId() && found == index && has >= bytes;
      if (right) {
        Mem.copy(pages, base + DATA, dst, dstOff, bytes);
      }
      if (!pool.validate(frame, version)) {
        continue;
      }
      // The page is as it was read. Whether it was still ours then, only the leaf knows.
      if (!tree.valid(leaf)) {
        return -1;
      }
      if (!right) {
        throw damaged(pool, pid, "page of a long value", index, found);
      }
      return next;
    }
    return -1;
  }

  static CorruptionException damaged(
      BufferPool pool, long pid, String what, long expected, long found) {
    return new CorruptionException(what, pid, pid * pool.pageSize(), expected, found);
  }
}
