package io.fovea.memory;

import io.fovea.error.DatabaseClosedException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Working memory of one database: blocks that are taken, given back by name, and used again.
 *
 * <pre>
 *              take                                      give
 *   region ──cut──► block in use ──────────────────────────────────► kept, as it is     up to KEPT
 *                      ▲                                   │            │
 *                      │                                   └──────────► kept, without its pages
 *                      └──────────────── take ◄───────────────────────────┘
 * </pre>
 *
 * <ul>
 *   <li>Blocks have a power of two of bytes. Those of a MiB and less are cut from regions of {@link
 *       #CHUNK_BYTES}, larger ones are a {@link NativeRegion} each.
 *   <li>What is given back is used again. Of what waits for that, {@link #KEPT_BYTES} keep their
 *       pages; the others give them to the operating system at once.
 *   <li><b>Nothing is unmapped while the database is open, or after.</b> A thread that comes late
 *       reads bytes that mean nothing, or zeros: the rule of {@link NativeRegion}.
 *   <li>It is no memory of the JVM's: neither the heap nor MaxDirectMemorySize limits it. What
 *       limits it is what those who take are allowed to take.
 *   <li>{@link #give} allocates nothing and does not fail: room to list a block is made together
 *       with the block.
 *   <li>A block is not zero.
 * </ul>
 *
 * <p>{@link #COLLECTED} takes from the JVM instead and lets the garbage collector find out what is
 * out of use: for what belongs to the program that uses the database, and for maintenance.
 *
 * <p>Any thread; a lock that is held for some instructions.
 */
public final class Blocks {
  /** No memory, of 0 bytes: for fields that have none yet. */
  public static final MemorySegment NONE = MemorySegment.NULL;

  /** From the JVM's direct memory, which the garbage collector gives back. */
  public static final Blocks COLLECTED = new Blocks("");

  /** How many bytes that nobody uses keep their pages. */
  static final long KEPT_BYTES = 8 << 20;

  static final long CHUNK_BYTES = 4 << 20;

  private static final long CUT_MAX = 1 << 20;
  private static final int CLASS_MIN = 8;
  private static final int CLASSES = 48;
  private static final long PAGE_BYTES = 4096;

  /** What a block that nobody has is full of, as far as this goes, where assertions are on. */
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

  /** Every region that there is, for the end. */
  record Held(NativeRegion region, @Nullable Held next) {}

  /** Those of one size that nobody uses: a stack of those with pages, and one of those without. */
  private static final class Free {
    MemorySegment[] kept = new MemorySegment[4];
    MemorySegment[] dry = new MemorySegment[4];
    int keptCount;
    int dryCount;
    int made;

    /** One block more may have to be listed, in either. */
    void room() {
      if (made == kept.length) {
        MemorySegment[] more = Arrays.copyOf(kept, 2 * made);
        dry = Arrays.copyOf(dry, 2 * made);
        kept = more;
      }
      made++;
    }

    /** Whether nobody has a block. */
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

  @SuppressWarnings("unused") // through LOCK
  private volatile int lock;

  // All under the lock; the sums are read without it by meters.
  private @Nullable Held regions;
  private @Nullable NativeRegion chunk;
  private long chunkUsed;
  private volatile long used;
  private volatile long kept;
  private volatile boolean closed;

  /**
   * None yet.
   *
   * @param name what they are for, for messages
   */
  public Blocks(String name) {
    this.name = name;
  }

  /**
   * A block, of any content.
   *
   * @param bytes how many are needed
   * @return so many or more; its address is a multiple of 256
   * @throws OutOfMemoryError where the operating system gives no more
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
   * Another block in the place of one that is too small; what was in it is lost.
   *
   * @param old is given back, unless this throws
   * @param bytes how many are needed
   */
  public MemorySegment exchange(MemorySegment old, long bytes) {
    MemorySegment block = take(bytes);
    give(old);
    return block;
  }

  /**
   * Gives a block back. The caller has no use for it any more, and nobody else ever had.
   *
   * @param block what {@link #take} returned, or {@link #NONE}
   */
  public void give(MemorySegment block) {
    long bytes = block.byteSize();
    if (bytes == 0 || this == COLLECTED || closed) {
      return;
    }
    assert poisoned(block);
    boolean dry = bytes >= PAGE_BYTES && kept + bytes > KEPT_BYTES;
    if (dry) {
      NativeRegion.forget(block); // as long as it is nobody's
    }
    lock();
    try {
      if (closed) {
        return; // since the look above: all is given, and no list has room, not even a new one
      }
      Free f = free[sizeOf(bytes)];
      if (f == null) {
        throw new IllegalStateException("A block of " + bytes + " bytes that was never taken.");
      }
      assert !f.lists(block) : "a block is given back twice";
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

  /** Bytes of the blocks that somebody has, and of those that wait with their pages. */
  public long bytes() {
    return used + kept;
  }

  /** Bytes of the blocks that somebody has. */
  public long bytesUsed() {
    return used;
  }

  /**
   * Gives all memory back; addresses stay readable, and say nothing any more. Nothing can be taken
   * afterwards, and what is given then is given already.
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

  /** Under the lock: there is nothing any more, and what there was is released by who calls. */
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
   * Fills a block that nobody has from here on with what no reader takes for its own. For
   * assertions, which tests run with.
   *
   * @return true
   */
  public static boolean poisoned(MemorySegment block) {
    for (long at = 0, end = poisonBytes(block); at < end; at += 8) {
      Mem.putLong(block, at, POISON);
    }
    return true;
  }

  /** Whether nobody has written to a block since {@link #poisoned}. */
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

  /** One that was given back; null where there is none of that size. */
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
        assert isPoisoned(block) : "a block was written after it had been given back";
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
      f.room();
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
          f.room();
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
      // Without the lock, for the operating system is asked. A thread that comes second has asked
      // in vain:
      // that is address space, and no memory.
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
      Waits.spin(attempt); // held for some instructions
    }
  }

  void unlock() {
    LOCK.setRelease(this, 0);
  }
}
