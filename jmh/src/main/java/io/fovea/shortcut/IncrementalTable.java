package io.fovea.shortcut;

import io.fovea.memory.Mem;
import io.fovea.memory.NativeRegion;
import java.lang.foreign.MemorySegment;

/**
 * HTI of the paper, as Redis has it: as {@link HashTable}, but entries go to the larger table a few
 * at a time, with each access. Until all have gone there are two tables to look into, the one with
 * more entries first.
 *
 * <p>An entry that went stays where it was and is not looked at any more: those below {@code moved}
 * only show that a probe goes on.
 */
final class IncrementalTable implements LongTable {
  private final boolean hugePages;
  private final int batch;

  private NativeRegion region;
  private MemorySegment s;
  private int bits;
  private long sizeMax;

  /** Keys of the table that there is, or that entries go to. */
  private long inNew;

  private NativeRegion oldRegion;
  private MemorySegment old;
  private int oldBits;

  /** Keys that are still in the old table. */
  private long inOld;

  /** Where entries of the old table go from next, in bytes; the end where there is none. */
  private long moved;

  private long oldBytes;

  /**
   * An empty one.
   *
   * @param hugePages whether to advise them: the paper does not
   * @param batch entries of the old table, free ones too, that an access looks at; 4 at least, so
   *     that all have gone before the new one is full
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

  /** Where a key is in the old table and has not gone; -1 for nowhere. */
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
