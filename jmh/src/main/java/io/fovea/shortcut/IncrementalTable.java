package io.fovea.shortcut;

import io.fovea.memory.Mem;
import io.fovea.memory.NativeRegion;
import java.lang.foreign.MemorySegment;

/**
 * HTI of the paper, as in Redis: like {@link HashTable}, but entries move to the larger table a few
 * at a time, with each access. Until all have moved, lookups search both tables, beginning with the
 * one with more entries.
 *
 * <p>A moved entry stays in the old table as a tombstone: those below {@code moved} only keep probe
 * sequences intact.
 */
final class IncrementalTable implements LongTable {
  private final boolean hugePages;
  private final int batch;

  private NativeRegion region;
  private MemorySegment s;
  private int bits;
  private long sizeMax;

  /** Keys of the current table, or of the target of a move. */
  private long inNew;

  private NativeRegion oldRegion;
  private MemorySegment old;
  private int oldBits;

  private long inOld;

  /** The position of the next entry to move, in bytes; the end if there is none. */
  private long moved;

  private long oldBytes;

  /**
   * Creates an empty table.
   *
   * @param batch entries of the old table, including free ones, that an access examines; at least 4, so that all have moved before the new table is full
   */
  IncrementalTable(boolean hugePages, int batch) {
    if (batch < 4) {
      throw new IllegalArgumentException("A batch of " + batch + " entries is too small.");
    }
    this.hugePages = hugePages;
    this.batch = batch;
    this.bits = Integer.numberOfTrailingZeros(HashTable.ENTRIES_MIN);
    this.region = HashTable.region(bits, hugePages);
    this.s = region.segment();
    this.sizeMax = HashTable.sizeMax(bits);
    this.oldRegion = region;
    this.old = s;
  }

  @Override
  public long get(long key, long otherwise) {
    if (moved < oldBytes) {
      move();
    }
    if (moved >= oldBytes) {
      return Entries.get(s, 0, (1L << bits) - 1, at(key, bits), key, otherwise);
    }
    if (inOld > inNew) {
      long off = oldFind(key);
      return off >= 0
          ? Mem.peekLong(old, off + Long.BYTES)
          : Entries.get(s, 0, (1L << bits) - 1, at(key, bits), key, otherwise);
    }
    long off = find(key);
    if (Mem.peekLong(s, off) == key) {
      return Mem.peekLong(s, off + Long.BYTES);
    }
    off = oldFind(key);
    return off >= 0 ? Mem.peekLong(old, off + Long.BYTES) : otherwise;
  }

  @Override
  public void put(long key, long value) {
    Entries.check(key);
    if (moved < oldBytes) {
      move();
    }
    long off = moved < oldBytes ? oldFind(key) : -1;
    if (off >= 0) {
      Mem.putLong(old, off + Long.BYTES, value);
      return;
    }
    off = find(key);
    if (Mem.getLong(s, off) == 0) {
      if (inNew + inOld == sizeMax) {
        grow();
        off = find(key);
      }
      inNew++;
    }
    Entries.set(s, off, key, value);
  }

  private static long at(long key, int bits) {
    return Entries.entryHash(key) >>> -bits;
  }

  private long find(long key) {
    return Entries.find(s, 0, (1L << bits) - 1, at(key, bits), key);
  }

  /** Returns the position of a key not moved from the old table; -1 if there is none. */
  private long oldFind(long key) {
    long off = Entries.find(old, 0, (1L << oldBits) - 1, at(key, oldBits), key);
    return off >= moved && Mem.peekLong(old, off) == key ? off : -1;
  }

  private void move() {
    long to = Math.min(oldBytes, moved + (long) batch * Entries.BYTES);
    for (long off = moved; off < to; off += Entries.BYTES) {
      long key = Mem.getLong(old, off);
      if (key != 0) {
        Entries.set(s, find(key), key, Mem.getLong(old, off + Long.BYTES));
        inOld--;
        inNew++;
      }
    }
    moved = to;
    if (moved == oldBytes) {
      oldRegion.release();
    }
  }

  private void grow() {
    while (moved < oldBytes) {
      move();
    }
    oldRegion = region;
    old = s;
    oldBits = bits;
    oldBytes = (long) Entries.BYTES << bits;
    inOld = inNew;
    inNew = 0;
    moved = 0;
    bits++;
    region = HashTable.region(bits, hugePages);
    s = region.segment();
    sizeMax = HashTable.sizeMax(bits);
  }

  @Override
  public long size() {
    return inOld + inNew;
  }

  @Override
  public long bytes() {
    return ((long) Entries.BYTES << bits) + (moved < oldBytes ? oldBytes : 0);
  }

  @Override
  public void close() {
    region.release();
    if (moved < oldBytes) {
      oldRegion.release();
    }
  }
}
