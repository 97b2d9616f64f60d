package io.fovea.memory;

import io.fovea.error.DatabaseClosedException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The working memory of one database: blocks that are taken, explicitly returned, and reused.
 *
 * <pre>
 *              take                                     release
 *   region ──cut──► block in use ──────────────────────────────────► kept with pages, up to KEPT
 *                      ▲                                   │            │
 *                      │                                   └──────────► kept without pages
 *                      └──────────────── take ◄───────────────────────────┘
 * </pre>
 *
 * <ul>
 *   <li>Block sizes are powers of two. Blocks up to 1 MiB are cut from regions of {@link
 *       #CHUNK_BYTES}; larger ones are a {@link NativeRegion} each.
 *   <li>Returned blocks are reused. Up to {@link #KEPT_BYTES} of them keep their pages; the others
 *       return their pages to the operating system at once.
 *   <li><b>Nothing is unmapped while the database is open, or after.</b> A late reader finds
 *       meaningless bytes or zeros: the rule of {@link NativeRegion}.
 *   <li>Neither the Java heap nor MaxDirectMemorySize limits this memory, only the callers' own
 *       budgets.
 *   <li>{@link #release} allocates nothing and does not fail: the list entry of a block is
 *       allocated together with the block.
 *   <li>The contents of a block are undefined.
 * </ul>
 *
 * <p>{@link #COLLECTED} allocates from the JVM and leaves reclamation to the garbage collector: it
 * is for memory owned by the program that uses the database, and for maintenance.
 *
 * <p>Safe for use by any thread: a lock is held for a few instructions.
 */
public final class Blocks {
  /** An empty block, for fields that have no memory yet. */
  public static final MemorySegment NONE = MemorySegment.NULL;

  /** Blocks of the JVM's direct memory, which the garbage collector reclaims. */
  public static final Blocks COLLECTED = new Blocks("");

  /** The number of bytes of free blocks that keep their pages. */
  static final long KEPT_BYTES = 8 << 20;

  static final long CHUNK_BYTES = 4 << 20;

  private static final long CUT_MAX = 1 << 20;
  private static final int CLASS_MIN = 8;
  private static final int CLASSES = 48;
  private static final long PAGE_BYTES = 4096;

  /** The fill of a free block, up to POISON_BYTES, if assertions are on. */
  private static final long POISON = 0xD5D5D5D5D5D5D5D5L;

  private static final long POISON_BYTES = 64 << 10;
  private static final VarHandle LOCK;

  static {
    try {
      LOCK = MethodHandles.lookup().findVarHandle(Blocks.class, "lock", int.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  /** A list of all regions, for {@link Blocks#close}. */
  record Held(NativeRegion region, @Nullable Held next) {}

  /** The free blocks of one size: a stack of those with pages, and one of those without. */
  private static final class Free {
    MemorySegment[] kept = new MemorySegment[4];
    MemorySegment[] dry = new MemorySegment[4];
    int keptCount;
    int dryCount;
    int made;

    /** Makes space to list one more block, in either stack. */
    void addCapacity() {
      if (made == kept.length) {
        MemorySegment[] more = Arrays.copyOf(kept, 2 * made);
        dry = Arrays.copyOf(dry, 2 * made);
        kept = more;
      }
      made++;
    }

    /** Returns whether a block is listed as free. */
    boolean lists(MemorySegment block) {
      return among(kept, keptCount, block) || among(dry, dryCount, block);
    }

    private static boolean among(MemorySegment[] all, int n, MemorySegment block) {
      for (int i = 0; i < n; i++) {
        if (all[i].address() == block.address()) {
          return true;
        }
      }
      return false;
    }
  }

  private final String name;
  private final @Nullable Free[] free = new Free[CLASSES];

  @SuppressWarnings("unused") // accessed through LOCK
  private volatile int lock;

  // All guarded by the lock; meters read the sums without it.
  private @Nullable Held regions;
  private @Nullable NativeRegion chunk;
  private long chunkUsed;
  private volatile long used;
  private volatile long kept;
  private volatile boolean closed;

  /**
   * Creates an empty pool of blocks.
   *
   * @param name the purpose of the blocks, for messages
   */
  public Blocks(String name) {
    this.name = name;
  }

  /**
   * Takes a block with undefined contents.
   *
   * @param bytes the number of bytes needed
   * @return a block of at least that size, at an address that is a multiple of 256
   * @throws OutOfMemoryError if the operating system refuses more memory
   * @throws DatabaseClosedException after {@link #close}
   */
  public MemorySegment take(long bytes) {
    if (this == COLLECTED) {
      return Arena.ofAuto().allocate(Math.max(8, bytes), 8);
    }
    int size = sizeOf(bytes);
    MemorySegment block = again(size);
    if (block != null) {
      return block;
    }
    return 1L << size > CUT_MAX ? region(size) : cut(size);
  }

  /**
   * Exchanges a block that is too small for another one; its contents are lost.
   *
   * @param old returned, unless this throws
   * @param bytes the number of bytes needed
   */
  public MemorySegment exchange(MemorySegment old, long bytes) {
    MemorySegment block = take(bytes);
    release(old);
    return block;
  }

  /**
   * Returns a block, which no thread may use any more.
   *
   * @param block a result of {@link #take}, or {@link #NONE}
   */
  public void release(MemorySegment block) {
    long bytes = block.byteSize();
    if (bytes == 0 || this == COLLECTED || closed) {
      return;
    }
    assert poisoned(block);
    boolean dry = bytes >= PAGE_BYTES && kept + bytes > KEPT_BYTES;
    if (dry) {
      NativeRegion.discard(block); // while no other thread can take it
    }
    lock();
    try {
      if (closed) {
        return; // closed after the check above: everything is released, and there are no lists
      }
      Free f = free[sizeOf(bytes)];
      if (f == null) {
        throw new IllegalStateException("A block of " + bytes + " bytes that was never taken.");
      }
      assert !f.lists(block) : "a block is returned twice";
      if (dry) {
        f.dry[f.dryCount++] = block;
      } else {
        f.kept[f.keptCount++] = block;
        kept += bytes;
      }
      used -= bytes;
    } finally {
      unlock();
    }
  }

  /** Returns the bytes of blocks in use and of free blocks with pages. */
  public long bytes() {
    return used + kept;
  }

  public long bytesUsed() {
    return used;
  }

  /**
   * Releases all memory. Addresses stay readable; their contents are undefined. Nothing can be
   * taken afterwards, and blocks returned later are ignored.
   */
  public void close() {
    Held all;
    lock();
    try {
      all = end();
    } finally {
      unlock();
    }
    for (; all != null; all = all.next) {
      all.region.release();
    }
  }

  /** Called under the lock: empties the pool and returns the regions for the caller to release. */
  @Nullable Held end() {
    Held all = regions;
    closed = true;
    regions = null;
    chunk = null;
    used = 0;
    kept = 0;
    Arrays.fill(free, null);
    return all;
  }

  /**
   * Fills a free block with a pattern that no reader mistakes for its own data. Used in assertions.
   *
   * @return true
   */
  public static boolean poisoned(MemorySegment block) {
    for (long at = 0, end = poisonBytes(block); at < end; at += 8) {
      Mem.putLong(block, at, POISON);
    }
    return true;
  }

  /** Returns whether a block is unchanged since {@link #poisoned}. */
  public static boolean isPoisoned(MemorySegment block) {
    for (long at = 0, end = poisonBytes(block); at < end; at += 8) {
      if (Mem.getLong(block, at) != POISON) {
        return false;
      }
    }
    return true;
  }

  private static long poisonBytes(MemorySegment block) {
    return Math.min(block.byteSize(), POISON_BYTES) & -8L;
  }

  private static int sizeOf(long bytes) {
    return Math.max(CLASS_MIN, 64 - Long.numberOfLeadingZeros(bytes - 1));
  }

  /** Takes a free block; returns null if there is none of that size. */
  private @Nullable MemorySegment again(int size) {
    lock();
    try {
      Free f = free[size];
      if (f == null || f.keptCount + f.dryCount == 0) {
        return null;
      }
      used += 1L << size;
      if (f.keptCount > 0) {
        kept -= 1L << size;
        MemorySegment block = f.kept[--f.keptCount];
        assert isPoisoned(block) : "a block was written after it had been returned";
        return block;
      }
      return f.dry[--f.dryCount];
    } finally {
      unlock();
    }
  }

  private MemorySegment region(int size) {
    NativeRegion region = NativeRegion.reserve(1L << size, false, name);
    Free f = freeOf(size);
    lock();
    try {
      requireOpen();
      regions = new Held(region, regions);
      f.addCapacity();
      used += 1L << size;
      return region.segment();
    } finally {
      unlock();
    }
  }

  private MemorySegment cut(int size) {
    long bytes = 1L << size;
    long align = Math.min(bytes, PAGE_BYTES);
    Free f = freeOf(size);
    NativeRegion next = null;
    while (true) {
      NativeRegion empty;
      lock();
      try {
        requireOpen();
        NativeRegion from = chunk;
        long at = chunkUsed + align - 1 & -align;
        if (from != null && at + bytes <= CHUNK_BYTES) {
          MemorySegment block = from.segment().asSlice(at, bytes);
          f.addCapacity();
          chunkUsed = at + bytes;
          used += bytes;
          return block;
        }
        empty = from;
        if (next != null) {
          regions = new Held(next, regions);
          chunk = next;
          chunkUsed = 0;
          continue;
        }
      } finally {
        unlock();
      }
      // Without the lock, since this calls the operating system. If another thread was faster, the
      // reservation is discarded, which costs address space but no memory.
      next = NativeRegion.reserve(CHUNK_BYTES, false, name);
      if (chunk != empty) {
        next = null;
      }
    }
  }

  private Free freeOf(int size) {
    Free f = free[size];
    if (f == null) {
      Free made = new Free();
      lock();
      try {
        f = free[size];
        if (f == null) {
          f = made;
          free[size] = f;
        }
      } finally {
        unlock();
      }
    }
    return f;
  }

  private void requireOpen() {
    if (closed) {
      throw new DatabaseClosedException();
    }
  }

  void lock() {
    for (int attempt = 0; lock != 0 || !LOCK.compareAndSet(this, 0, 1); attempt++) {
      Waits.spin(attempt); // the lock is held for a few instructions
    }
  }

  void unlock() {
    LOCK.setRelease(this, 0);
  }
}
