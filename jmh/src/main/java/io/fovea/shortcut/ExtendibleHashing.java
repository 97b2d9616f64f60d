package io.fovea.shortcut;

import io.fovea.bindings.Errno;
import io.fovea.memory.Granules;
import io.fovea.memory.Granules.RefusedException;
import io.fovea.memory.Mem;
import io.fovea.memory.NativeRegion;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/**
 * EH of the paper: extendible hashing with a directory of pointers. The directory is indexed by the
 * high bits of the hash. A bucket is a page of 4 KiB with open addressing, and is split into two
 * new ones above 35 %.
 *
 * <pre>
 *   directory  8 bytes a slot: the position of its bucket in the view
 *   bucket     256 entries, of which 89 may be in use
 * </pre>
 *
 * <p>Buckets are granules, reused after a split, as in section 2.1 of the paper. Their depths and
 * numbers of keys are on the heap, since lookups do not need them.
 */
class ExtendibleHashing implements LongTable {
  static final int BUCKET_SHIFT = 12;
  static final int BUCKET_BYTES = 1 << BUCKET_SHIFT;
  private static final int ENTRIES = BUCKET_BYTES / Entries.BYTES;
  static final int ENTRY_MASK = ENTRIES - 1;
  static final int ENTRY_HASH_SHIFT = Long.SIZE - 8;

  /** 35 %. */
  static final int BUCKET_SIZE_MAX = ENTRIES * 35 / 100;

  private static final int POPULATED_AT_ONCE = 256;

  private final Granules granules;
  private final int depthMax;
  private final NativeRegion directoryRegion;
  private final MemorySegment directory;
  private final MemorySegment view;
  private final MemorySegment scratch;
  private final NativeRegion scratchRegion;

  /** A slot is {@code hash >>> 1 >>> slotShift}: one bit less, for a directory of one slot. */
  private int slotShift = Long.SIZE - 1;

  private int depth;
  private byte[] depths = new byte[POPULATED_AT_ONCE];
  private short[] sizes = new short[POPULATED_AT_ONCE];

  /** Buckets freed by splits. */
  private int[] free = new int[POPULATED_AT_ONCE];

  private int freeCount;

  /** The number of buckets ever used. */
  private int made;

  private int populated;
  private long size;

  /**
   * Creates an empty table of one bucket.
   *
   * @param depthMax the logarithm of the largest directory; with that size, buckets grow beyond 35
   *     % until they are full
   * @throws RefusedException if the kernel refuses to create a file in memory
   */
  ExtendibleHashing(int depthMax) throws RefusedException {
    this.depthMax = depthMax;
    this.granules = Granules.make("fovea-buckets", BUCKET_BYTES, (2 << depthMax) + 512);
    this.view = granules.view();
    this.directoryRegion =
        NativeRegion.reserveInPieces(Math.max(4096, (long) Long.BYTES << depthMax), "directory");
    this.directory = directoryRegion.segment();
    this.scratchRegion = NativeRegion.reserveInPieces(BUCKET_BYTES, "bucket that is split");
    this.scratch = scratchRegion.segment();
    Mem.putLong(directory, 0, (long) take(0) << BUCKET_SHIFT);
  }

  // ------------------------------------------------------------------------------------- lookups

  @Override
  public long get(long key, long otherwise) {
    return byPointer(key, otherwise);
  }

  final long byPointer(long key, long otherwise) {
    long slot = Entries.bucketHash(key) >>> 1 >>> slotShift;
    long bucket = Mem.peekLong(directory, slot << 3);
    return Entries.get(
        view, bucket, ENTRY_MASK, Entries.entryHash(key) >>> ENTRY_HASH_SHIFT, key, otherwise);
  }

  // ------------------------------------------------------------------------------------- changes

  @Override
  public void put(long key, long value) {
    Entries.check(key);
    while (true) {
      int slot = (int) (Entries.bucketHash(key) >>> 1 >>> slotShift);
      long base = Mem.getLong(directory, (long) slot << 3);
      long off = find(base, key);
      if (Mem.getLong(view, off) == key) {
        Mem.putLong(view, off + Long.BYTES, value);
        return;
      }
      int bucket = (int) (base >>> BUCKET_SHIFT);
      int n = sizes[bucket];
      if (n < BUCKET_SIZE_MAX || depths[bucket] == depthMax) {
        if (n == ENTRIES - 1) {
          throw new IllegalStateException("A bucket is full, and the directory cannot grow.");
        }
        Entries.set(view, off, key, value);
        sizes[bucket]++;
        size++;
        return;
      }
      split(slot, bucket);
    }
  }

  private long find(long base, long key) {
    return Entries.find(view, base, ENTRY_MASK, Entries.entryHash(key) >>> ENTRY_HASH_SHIFT, key);
  }

  private void split(int slot, int bucket) {
    if (depths[bucket] == depth) {
      twice();
      slot *= 2;
    }
    int local = depths[bucket] + 1;
    int low = take(local);
    int high = take(local);
    Mem.copy(view, (long) bucket << BUCKET_SHIFT, scratch, 0, BUCKET_BYTES);
    for (int off = 0; off < BUCKET_BYTES; off += Entries.BYTES) {
      long key = Mem.getLong(scratch, off);
      if (key != 0) {
        int to = (Entries.bucketHash(key) >>> -local & 1) == 0 ? low : high;
        long at = find((long) to << BUCKET_SHIFT, key);
        Entries.set(view, at, key, Mem.getLong(scratch, off + Long.BYTES));
        sizes[to]++;
      }
    }
    int half = 1 << depth - local;
    int first = slot & -(2 * half);
    point(first, half, low);
    point(first + half, half, high);
    giveBack(bucket);
  }

  private void point(int slot, int n, int bucket) {
    for (int i = slot; i < slot + n; i++) {
      Mem.putLong(directory, (long) i << 3, (long) bucket << BUCKET_SHIFT);
    }
    pointed(slot, n, bucket);
  }

  /** Called when slots refer to another bucket. */
  void pointed(int slot, int n, int bucket) {}

  private void twice() {
    for (int i = (1 << depth) - 1; i >= 0; i--) {
      long bucket = Mem.getLong(directory, (long) i << 3);
      Mem.putLong(directory, (long) i << 4, bucket);
      Mem.putLong(directory, ((long) i << 4) + 8, bucket);
    }
    depth++;
    slotShift--;
    doubled();
  }

  void doubled() {}

  // ------------------------------------------------------------------------------------- buckets

  private int take(int local) {
    int bucket;
    if (freeCount > 0) {
      bucket = free[--freeCount];
      Mem.zero(view, (long) bucket << BUCKET_SHIFT, BUCKET_BYTES);
    } else {
      if (made == populated) {
        int refused = granules.populate(populated, POPULATED_AT_ONCE);
        if (refused < 0) {
          throw new OutOfMemoryError(
              "Cannot allocate memory for buckets: " + Errno.describe(-refused) + ".");
        }
        populated += POPULATED_AT_ONCE;
      }
      bucket = made++;
      if (bucket == sizes.length) {
        sizes = Arrays.copyOf(sizes, 2 * bucket);
        depths = Arrays.copyOf(depths, 2 * bucket);
      }
    }
    sizes[bucket] = 0;
    depths[bucket] = (byte) local;
    return bucket;
  }

  private void giveBack(int bucket) {
    if (freeCount == free.length) {
      free = Arrays.copyOf(free, 2 * freeCount);
    }
    free[freeCount++] = bucket;
  }

  // --------------------------------------------------------------------------------- structure

  final Granules granules() {
    return granules;
  }

  final int slots() {
    return 1 << depth;
  }

  final int slotShift() {
    return slotShift;
  }

  final int buckets() {
    return made - freeCount;
  }

  final int bucket(int slot) {
    return (int) (Mem.getLong(directory, (long) slot << 3) >>> BUCKET_SHIFT);
  }

  @Override
  public long size() {
    return size;
  }

  @Override
  public long bytes() {
    return ((long) buckets() << BUCKET_SHIFT) + ((long) Long.BYTES << depth);
  }

  @Override
  public void close() {
    granules.close();
    directoryRegion.release();
    scratchRegion.release();
  }
}
