package io.fovea.btree;

import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageHeader;
import io.fovea.memory.LongList;
import io.fovea.memory.Mem;
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
 * <p>What a published chain holds never changes; a new value is a new chain. {@link LongValues}
 * writes and frees chains, {@link ChainMove} makes others of their pages. A reader may be in the
 * middle of a chain that is freed: its pages are then of type FREE, or of another owner. So every
 * page is validated before its link is followed, and the leaf after every page: as long as the leaf
 * has not changed, the chain was whole.
 */
final class OverflowChain {
  static final int NEXT = 32;
  static final int BYTES = 40;
  static final int INDEX = 44;
  static final int DATA = 48;

  /** The longest value. */
  static final long VALUE_BYTES_MAX = 64L << 20;

  private static final int TRIES = 64;

  /** Instead of a page id. */
  private static final long CHANGED = Long.MIN_VALUE;

  private OverflowChain() {}

  /** The first page of a chain, as the stub at an address says. */
  static long stubPid(MemorySegment s, long at) {
    return Mem.getLong(s, at);
  }

  /** The length of a value, as the stub at an address says, clamped to what a value may have. */
  static int stubLength(MemorySegment s, long at) {
    return (int) Math.max(0, Math.min(VALUE_BYTES_MAX, Mem.getLong(s, at + 8)));
  }

  static int capacity(int pageSize) {
    return pageSize - DATA;
  }

  /** How many pages a value takes. */
  static int pages(int pageSize, long len) {
    int capacity = capacity(pageSize);
    return (int) ((len + capacity - 1) / capacity);
  }

  /**
   * Collects the pages of a chain.
   *
   * @param end pages from here on are no part of it
   * @param out gets them, in the order of the chain
   * @return false if it ends in a page that is no part of it
   */
  static boolean collect(
      BufferPool pool, int treeId, long first, long len, long end, LongList out) {
    MemorySegment pages = pool.pages();
    int count = pages(pool.pageSize(), len);
    long pid = first;
    for (int index = 0; index < count; index++) {
      if (pid <= 0 || pid >= end) {
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
      BufferPool pool,
      int treeId,
      Position leaf,
      long first,
      int length,
      MemorySegment dst,
      long dstOff,
      int cap) {
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
        if (!pool.validate(leaf.frame, leaf.version)) {
          return false;
        }
        throw TreeDamage.of(pool, from, "link to part " + index + " of a long value", 0, pid);
      }
      long done = (long) index * capacity;
      int has = (int) Math.min(capacity, length - done);
      int bytes = (int) Math.min(capacity, len - done);
      from = pid;
      pid = readPage(pool, treeId, leaf, pid, index, has, dst, dstOff + done, bytes);
      if (pid == CHANGED) {
        return false;
      }
    }
    return pool.validate(leaf.frame, leaf.version);
  }

  /** Copies one page; returns the next page's id, or {@link #CHANGED} if the leaf has. */
  private static long readPage(
      BufferPool pool,
      int treeId,
      Position leaf,
      long pid,
      int index,
      int expected,
      MemorySegment dst,
      long dstOff,
      int bytes) {
    MemorySegment pages = pool.pages();
    int frame = pool.predict(pid);
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
          type == PageHeader.OVERFLOW && owner == treeId && found == index && has == expected;
      if (right) {
        Mem.copy(pages, base + DATA, dst, dstOff, bytes);
      }
      if (!pool.validate(frame, version)) {
        continue;
      }
      // The page is as it was read. Whether it was still ours then, only the leaf knows.
      if (!pool.validate(leaf.frame, leaf.version)) {
        return CHANGED;
      }
      if (!right) {
        throw has != expected && found == index
            ? TreeDamage.of(pool, pid, "bytes in part " + index + " of a long value", expected, has)
            : TreeDamage.of(pool, pid, "page of a long value", index, found);
      }
      return next == CHANGED ? 0 : next;
    }
    return CHANGED;
  }
}
