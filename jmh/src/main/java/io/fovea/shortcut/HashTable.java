package io.fovea.shortcut;

import io.fovea.memory.Mem;
import io.fovea.memory.NativeRegion;
import java.lang.foreign.MemorySegment;

/**
 * HT of the paper: one table with linear probing. It begins with 4 KiB; above 35 % all entries move
 * to a table of twice the size.
 */
final class HashTable implements LongTable {
  static final int ENTRIES_MIN = 4096 / Entries.BYTES;

  private final boolean hugePages;
  private NativeRegion region;
  private MemorySegment s;
  private int bits;
  private long size;
  private long sizeMax;

  /** Creates an empty table. */
  HashTable(boolean hugePages) {
    this.hugePages = hugePages;
    this.bits = Integer.numberOfTrailingZeros(ENTRIES_MIN);
    this.region = region(bits, hugePages);
    this.s = region.segment();
    this.sizeMax = sizeMax(bits);
  }

  static NativeRegion region(int bits, boolean hugePages) {
    long bytes = (long) Entries.BYTES << bits;
    return hugePages
        ? NativeRegion.reserve(bytes, true, "hash table")
        : NativeRegion.reserveInPieces(bytes, "hash table");
  }

  /** 35 %. */
  static long sizeMax(int bits) {
    return (1L << bits) * 35 / 100;
  }

  @Override
  public long get(long key, long otherwise) {
    long at = Entries.entryHash(key) >>> -bits;
    return Entries.get(s, 0, (1L << bits) - 1, at, key, otherwise);
  }

  @Override
  public void put(long key, long value) {
    Entries.check(key);
    long off = find(key);
    if (Mem.getLong(s, off) == 0) {
      if (size == sizeMax) {
        grow();
        off = find(key);
      }
      size++;
    }
    Entries.set(s, off, key, value);
  }

  private long find(long key) {
    return Entries.find(s, 0, (1L << bits) - 1, Entries.entryHash(key) >>> -bits, key);
  }

  private void grow() {
    NativeRegion old = region;
    MemorySegment from = s;
    long bytes = (long) Entries.BYTES << bits;
    bits++;
    region = region(bits, hugePages);
    s = region.segment();
    sizeMax = sizeMax(bits);
    for (long off = 0; off < bytes; off += Entries.BYTES) {
      long key = Mem.getLong(from, off);
      if (key != 0) {
        Entries.set(s, find(key), key, Mem.getLong(from, off + Long.BYTES));
      }
    }
    old.release();
  }

  @Override
  public long size() {
    return size;
  }

  @Override
  public long bytes() {
    return (long) Entries.BYTES << bits;
  }

  @Override
  public void close() {
    region.release();
  }
}
