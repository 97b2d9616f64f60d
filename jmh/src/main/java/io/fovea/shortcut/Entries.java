package io.fovea.shortcut;

import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;

/**
 * Entries of 16 bytes, key and value, that are found by open addressing with linear probing: in a
 * bucket, or in a whole table. A key of 0 is a free entry, and one of them at least is free.
 *
 * <p>The hash functions are multiplicative, as the paper's. There are two: tables that choose a
 * bucket first, by the first one, choose an entry by the second.
 */
final class Entries {
  static final int SHIFT = 4;
  static final int BYTES = 1 << SHIFT;

  private static final long FIRST = 0x9E37_79B9_7F4A_7C15L;
  private static final long SECOND = 0xD1B5_4A32_D192_ED03L;

  private Entries() {}

  /** The hash that names a bucket, by its high bits. */
  static long bucketHash(long key) {
    return key * FIRST;
  }

  /** The hash that names an entry, by its high bits. */
  static long entryHash(long key) {
    return key * SECOND;
  }

  /**
   * Where a key is, or the free entry where it would be.
   *
   * @param base where the entries begin
   * @param mask how many there are, a power of two, less one
   * @param at the entry to begin with
   */
  static long find(MemorySegment s, long base, long mask, long at, long key) {
    for (long i = at; ; i = i + 1 & mask) {
      long off = base + (i << SHIFT);
      long there = Mem.peekLong(s, off);
      if (there == key || there == 0) {
        return off;
      }
    }
  }

  /** The value of a key that {@link #find} would find. */
  static long get(MemorySegment s, long base, long mask, long at, long key, long otherwise) {
    for (long i = at; ; i = i + 1 & mask) {
      long off = base + (i << SHIFT);
      long there = Mem.peekLong(s, off);
      if (there == key) {
        return Mem.peekLong(s, off + Long.BYTES);
      }
      if (there == 0) {
        return otherwise;
      }
    }
  }

  /** Writes an entry. */
  static void set(MemorySegment s, long off, long key, long value) {
    Mem.putLong(s, off, key);
    Mem.putLong(s, off + Long.BYTES, value);
  }

  /** Refuses the key that says that an entry is free. */
  static void check(long key) {
    if (key == 0) {
      throw new IllegalArgumentException("A key is not 0.");
    }
  }
}
