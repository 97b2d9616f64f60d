package io.fovea.shortcut;

import io.fovea.memory.Mem;
import io.fovea.memory.NativeRegion;
import java.lang.foreign.MemorySegment;

/**
 * CH of the paper: a table of fixed size. Each slot contains an entry or refers to a bucket of 128
 * bytes. A full bucket refers to another one.
 *
 * <pre>
 *   slot     key 8 | value 8          one entry; free where both are 0
 *            0     | bucket           its offset in bytes
 *   bucket   entries in use 8 | next bucket 8, 0 for none | 7 entries
 * </pre>
 */
final class ChainedTable implements LongTable {
  private static final int BUCKET_BYTES = 128;
  private static final int ENTRIES = 7;
  private static final int FIRST_ENTRY = 16;

  private final NativeRegion tableRegion;
  private final NativeRegion bucketRegion;
  private final MemorySegment table;
  private final MemorySegment buckets;
  private final int bits;

  /** No bucket begins at 0. */
  private long nextBucket = BUCKET_BYTES;

  private long size;

  /**
   * Creates an empty table.
   *
   * @param tableBytes the fixed size, rounded down to a power of two
   */
  ChainedTable(boolean hugePages, long tableBytes, long sizeMax) {
    this.bits = Math.max(1, Long.SIZE - 1 - Long.numberOfLeadingZeros(tableBytes / Entries.BYTES));
    this.tableRegion = HashTable.region(bits, hugePages);
    this.table = tableRegion.segment();
    // Each bucket has at least one key that no other has.
    long bytes = BUCKET_BYTES * (sizeMax + 2);
    this.bucketRegion =
        hugePages
            ? NativeRegion.reserve(bytes, true, "buckets")
            : NativeRegion.reserveInPieces(bytes, "buckets");
    this.buckets = bucketRegion.segment();
  }

  private long slot(long key) {
    return Entries.entryHash(key) >>> -bits << Entries.SHIFT;
  }

  @Override
  public long get(long key, long otherwise) {
    long slot = slot(key);
    long there = Mem.peekLong(table, slot);
    long value = Mem.peekLong(table, slot + Long.BYTES);
    if (there == key) {
      return value;
    }
    if (there != 0) {
      return otherwise;
    }
    for (long b = value; b != 0; b = Mem.peekLong(buckets, b + Long.BYTES)) {
      int n = (int) Mem.peekLong(buckets, b);
      for (int i = 0; i < n; i++) {
        long off = b + FIRST_ENTRY + (long) i * Entries.BYTES;
        if (Mem.peekLong(buckets, off) == key) {
          return Mem.peekLong(buckets, off + Long.BYTES);
        }
      }
    }
    return otherwise;
  }

  @Override
  public void put(long key, long value) {
    Entries.check(key);
    long slot = slot(key);
    long there = Mem.getLong(table, slot);
    long with = Mem.getLong(table, slot + Long.BYTES);
    if (there == key || there == 0 && with == 0) {
      size += there == 0 ? 1 : 0;
      Entries.set(table, slot, key, value);
      return;
    }
    if (there != 0) {
      long bucket = make();
      append(bucket, there, with);
      append(bucket, key, value);
      Entries.set(table, slot, 0, bucket);
      size++;
      return;
    }
    long last = with;
    for (long b = with; b != 0; b = Mem.getLong(buckets, b + Long.BYTES)) {
      last = b;
      long n = Mem.getLong(buckets, b);
      for (int i = 0; i < n; i++) {
        long off = b + FIRST_ENTRY + (long) i * Entries.BYTES;
        if (Mem.getLong(buckets, off) == key) {
          Mem.putLong(buckets, off + Long.BYTES, value);
          return;
        }
      }
    }
    if (Mem.getLong(buckets, last) == ENTRIES) {
      long next = make();
      Mem.putLong(buckets, last + Long.BYTES, next);
      last = next;
    }
    append(last, key, value);
    size++;
  }

  private long make() {
    long made = nextBucket;
    nextBucket += BUCKET_BYTES;
    return made;
  }

  private void append(long bucket, long key, long value) {
    long n = Mem.getLong(buckets, bucket);
    Entries.set(buckets, bucket + FIRST_ENTRY + n * Entries.BYTES, key, value);
    Mem.putLong(buckets, bucket, n + 1);
  }

  @Override
  public long size() {
    return size;
  }

  @Override
  public long bytes() {
    return ((long) Entries.BYTES << bits) + nextBucket - BUCKET_BYTES;
  }

  @Override
  public void close() {
    tableRegion.release();
    bucketRegion.release();
  }
}
