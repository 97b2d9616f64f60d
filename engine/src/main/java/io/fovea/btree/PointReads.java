package io.fovea.btree;

import io.fovea.buffer.BufferPool;
import io.fovea.memory.LongList;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;

/**
 * Reads of one key: its position, starting at a hint, and its value.
 *
 * <p>Results mean nothing until the position is validated. After an {@link
 * IndexOutOfBoundsException}, {@link TreeDamage} distinguishes a torn page from damage.
 */
final class PointReads {
  private static final long RESTART = BufferPool.RESTART;

  private final Descent descent;
  private final BufferPool pool;
  private final MemorySegment pages;
  private final int pageShift;
  private final int pageSize;
  private final int treeId;

  PointReads(Descent descent) {
    this.descent = descent;
    this.pool = descent.pool();
    this.pages = pool.pages();
    this.pageShift = pool.pageShift();
    this.pageSize = pool.pageSize();
    this.treeId = descent.treeId();
  }

  void find(MemorySegment key, long off, int len, Position p) {
    descent.descendTo(key, off, len, false, 0, p);
  }

  void locate(MemorySegment key, long off, int len, Position p) {
    if (p.frame < 0) {
      find(key, off, len, p);
      return;
    }
    p.hintsTried++;
    if (!locateAtHint(key, off, len, p)) {
      p.hintsStale++;
      find(key, off, len, p);
    }
  }

  private boolean locateAtHint(MemorySegment key, long off, int len, Position p) {
    long pid = p.pid;
    int frame = p.frame;
    long version = pool.optimistic(frame, pid);
    if (version == RESTART) {
      // The page may have moved to its preferred frame since.
      frame = pool.predict(pid);
      version = pool.optimistic(frame, pid);
      if (version == RESTART) {
        return false;
      }
    }
    try {
      p.pageAccesses++;
      int hint = version != p.version ? -1 : p.found ? p.slot : NodeSearch.absent(p.slot);
      long base = (long) frame << pageShift;
      int slot = NodeSearch.searchHinted(pages, base, pageSize, treeId, hint, key, off, len);
      if (slot < 0) {
        return false;
      }
      p.set(frame, version, pid, slot >>> 1, (slot & 1) != 0);
      return pool.validate(frame, version);
    } catch (IndexOutOfBoundsException e) {
      TreeDamage.requireTorn(pool, frame, version, pid, key, off, len, e);
      return false;
    }
  }

  boolean valid(Position p) {
    return pool.validate(p.frame, p.version);
  }

  int valueLength(Position p) {
    MemorySegment s = pages;
    long base = (long) p.frame << pageShift;
    try {
      long slot = BTreeNode.leafSlot(s, base, p.slot);
      int field = BTreeNode.field(s, base, pageSize, slot);
      return field != BTreeNode.OVERFLOW
          ? field
          : OverflowChain.stubLength(s, BTreeNode.valueAt(base, pageSize, slot));
    } catch (IndexOutOfBoundsException e) {
      TreeDamage.requireTorn(pool, p.frame, p.version, p.pid, s, 0, 0, e);
      return 0;
    }
  }

  int copyValue(Position p, MemorySegment dst, long dstOff, int cap) {
    MemorySegment s = pages;
    long base = (long) p.frame << pageShift;
    try {
      long slot = BTreeNode.leafSlot(s, base, p.slot);
      int field = BTreeNode.field(s, base, pageSize, slot);
      if (field == BTreeNode.OVERFLOW) {
        return copyLong(p, BTreeNode.valueAt(base, pageSize, slot), dst, dstOff, cap);
      }
      long at = BTreeNode.valueAt(base, pageSize, slot);
      requireInside(base, at, field);
      Mem.copy(s, at, dst, dstOff, Math.min(field, cap));
      return field;
    } catch (IndexOutOfBoundsException e) {
      TreeDamage.requireTorn(pool, p.frame, p.version, p.pid, dst, dstOff, cap, e);
      return -1;
    }
  }

  /** Checks that a value ends within its page. */
  private void requireInside(long base, long at, int bytes) {
    if (at + bytes > base + pageSize) {
      throw new NodeDamage("end of a value in a leaf", pageSize, at + bytes - base);
    }
  }

  private int copyLong(Position p, long stubAt, MemorySegment dst, long dstOff, int cap) {
    long pid = OverflowChain.stubPid(pages, stubAt);
    long said = Mem.getLong(pages, stubAt + 8);
    int length = OverflowChain.stubLength(pages, stubAt);
    if (said != length || length <= BTreeNode.inlineMax(pageSize)) {
      throw new NodeDamage("length of a long value in a leaf", OverflowChain.VALUE_BYTES_MAX, said);
    }
    return OverflowChain.read(pool, treeId, p, pid, length, dst, dstOff, cap) ? length : -1;
  }

  int chain(MemorySegment key, long off, int len, Position p, LongList pids) {
    MemorySegment s = pages;
    for (int i = 0; ; i++) {
      locate(key, off, len, p);
      long first = 0;
      int length = -1;
      if (p.found) {
        long base = (long) p.frame << pageShift;
        try {
          long slot = BTreeNode.leafSlot(s, base, p.slot);
          if (BTreeNode.field(s, base, pageSize, slot) == BTreeNode.OVERFLOW) {
            long at = BTreeNode.valueAt(base, pageSize, slot);
            first = OverflowChain.stubPid(s, at);
            length = OverflowChain.stubLength(s, at);
          }
        } catch (IndexOutOfBoundsException e) {
          TreeDamage.requireTorn(pool, p.frame, p.version, p.pid, key, off, len, e);
        }
      }
      if (valid(p)) {
        if (length >= 0
            && !OverflowChain.collect(pool, treeId, first, length, Long.MAX_VALUE, pids)) {
          throw TreeDamage.of(pool, first, "pages of a long value", length, pids.size());
        }
        return length;
      }
      Pause.after(i);
    }
  }
}
