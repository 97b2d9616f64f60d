package io.fovea.shortcut;

import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;

/**
 * Entries of 16 bytes, key and value, with linear probing, in a bucket or a whole table. A key of 0
 * is a free entry; at least one entry is free.
 *
 * <p>The hash functions are multiplicative, as in the paper. Tables that first choose a bucket use
 * the first function for the bucket and the second for the entry.
 */
final class Entries {
  static final int SHIFT = 4;
  static final int BYTES = 1 << SHIFT;

  private static final long FIRST = 0x9E37_79B9_7F4A_7C15L;
  private static final long SECOND = 0xD1B5_4A32_D192_ED03L;

  private Entries() {}

  /** The hash that selects a bucket, by its high bits. */
  static long bucketHash(long key) {
    return key * FIRST;
  }

  /** The hash that selects an entry, by its high bits. */
  static long entryHash(long key) {
    return key * SECOND;
  }

  /**
   * Returns the position of a key, or of the free entry for it.
   *
   * @param base the position of the first entry
   * @param mask the number of entries, a power of two, minus 1
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

  static void set(MemorySegment s, long off, long key, long value) {
    Mem.putLong(s, off, key);
    Mem.putLong(s, off + Long.BYTES, value);
  }

  /** Rejects the key that marks a free entry. */
  static void check(long key) {
    if (key == 0) {
      throw new IllegalArgumentException("The key 0 is reserved.");
    }
  }
}
