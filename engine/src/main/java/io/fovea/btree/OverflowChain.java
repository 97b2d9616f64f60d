package io.fovea.btree;

import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageHeader;
import io.fovea.memory.LongList;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;

/**
 * The layout of long values: a chain of pages, and a stub in the leaf.
 *
 * <pre>
 *   0         32        40       44       48
 *   +---------+---------+--------+--------+------------------------+
 *   | header  | next    | bytes  | index  | bytes of the value     |
 *   +---------+---------+--------+--------+------------------------+
 *
 *   next   page id of the next part, 0 in the last
 *   bytes  number of value bytes in this page; full except in the last
 *   index  0, 1, 2, ... along the chain
 * </pre>
 *
 * <p>The content of a published chain never changes. {@link LongValues} writes and frees chains,
 * {@link ChainMove} moves their pages. A reader may be within a chain that is freed: then its pages
 * are free or have another owner. So it validates each page before following its link, and the leaf
 * after each page: as long as the leaf is unchanged, the chain was intact.
 */
final class OverflowChain {
  static final int NEXT = 32;
  static final int BYTES = 40;
  static final int INDEX = 44;
  static final int DATA = 48;

  /** The maximum length of a value. */
  static final long VALUE_BYTES_MAX = 64L << 20;

  private static final int TRIES = 64;

  /** Returned instead of a page id. */
  private static final long CHANGED = Long.MIN_VALUE;

  private OverflowChain() {}

  /** Returns the first page named by the stub at an address. */
  static long stubPid(MemorySegment s, long at) {
    return Mem.getLong(s, at);
  }

  /** Returns the value length in the stub at an address, clamped. */
  static int stubLength(MemorySegment s, long at) {
    return (int) Math.max(0, Math.min(VALUE_BYTES_MAX, Mem.getLong(s, at + 8)));
  }

  static int capacity(int pageSize) {
    return pageSize - DATA;
  }

  /** Returns the number of pages of a value. */
  static int pages(int pageSize, long len) {
    int capacity = capacity(pageSize);
    return (int) ((len + capacity - 1) / capacity);
  }

  /**
   * Collects the pages of a chain in order. Returns false if it reaches a page that is not part of
   * the chain, or an id of {@code end} or more.
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
   * Copies a value, up to {@code cap} bytes, given the first page and length in its stub. Returns
   * false if the leaf has changed.
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
      // Unlike validate(), this marks the leaf as used, so that reading the chain does not evict
      // it.
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

  /** Copies one page; returns the next page's id, or {@link #CHANGED} if the leaf has changed. */
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
      // The page is consistent. Only the leaf tells whether it was part of the chain then.
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
