package io.fovea.memory;

import io.fovea.bindings.Errno;
import io.fovea.bindings.MemoryCalls;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Address space from which regions are cut and which is never unmapped.
 *
 * <pre>
 *   a chunk
 *   | region | guard |·······| guard | region | guard |···| guard |      not used yet      |
 *                            ^ the next region begins at a multiple of 2 MiB, as a huge
 *                              page requires
 * </pre>
 *
 * <p>No range is used twice: a late reader, or a caller that kept a segment, reads zeros and never
 * the bytes of another region. An unused range costs addresses only, since its kernel resources are
 * released too:
 *
 * <ul>
 *   <li><b>Mappings.</b> An unused range has no advice and no pages, so the kernel merges all
 *       unused ranges into one mapping, across adjacent chunks.
 *   <li><b>Page tables.</b> A page of the lowest level maps 2 MiB, one of the next level 1 GiB. The
 *       kernel frees one only if everything it maps is replaced in one call. A released region is
 *       replaced up to the next huge page, which frees the lowest level. A used-up chunk is
 *       replaced as a whole when its last region is released, which frees the next level. A page or
 *       two per chunk remain.
 * </ul>
 *
 * <p>Safe for use by any thread.
 */
final class AddressSpace {
  private static final long CHUNK_BYTES = 16L << 30;

  /** The chunk that regions are cut from; guarded by the class lock. */
  private static Chunk current = new Chunk(0, 0);

  private AddressSpace() {}

  /** A range of addresses; mutable fields are guarded by the class lock. */
  private static final class Chunk {
    final long start;
    final long limit;

    /** The start of the unused remainder. */
    long next;

    /** The number of regions cut and not released. */
    int regions;

    /** Whether no more regions are cut from it. */
    boolean usedUp;

    Chunk(long start, long limit) {
      this.start = start;
      this.next = start;
      this.limit = limit;
    }

    /** Returns the start of the next region. */
    long nextStart() {
      return roundUp(next + NativeRegion.GUARD_BYTES, NativeRegion.HUGE_PAGE_BYTES);
    }

    boolean hasSpace(long length) {
      return limit != 0 && nextStart() + length + NativeRegion.GUARD_BYTES <= limit;
    }

    boolean isDone() {
      return usedUp && regions == 0 && limit != 0;
    }
  }

  /** The location of a region, with the range that it owns. */
  static final class Region {
    private final Chunk chunk;
    private final long start;
    private final long end;
    private final AtomicBoolean released = new AtomicBoolean();

    private Region(Chunk chunk, long start, long end) {
      this.chunk = chunk;
      this.start = start;
      this.end = end;
    }

    /** Returns the address of the region's first byte, a multiple of a huge page. */
    long start() {
      return start;
    }

    /** Replaces the region by fresh memory, atomically for all threads; it may be used again. */
    void clear() {
      // After MADV_DONTNEED it would remain a separate mapping.
      replace(start, end);
    }

    /**
     * Replaces the region, which must not be used again: once the chunk is used up and all of its
     * regions are released, the whole chunk is replaced. Idempotent.
     */
    void release() {
      clear();
      if (released.compareAndSet(false, true)) {
        AddressSpace.released(chunk);
      }
    }
  }

  /**
   * Cuts a region.
   *
   * @param length the number of bytes, a multiple of a page
   * @param name the purpose of the region, for messages
   * @throws OutOfMemoryError if there is not enough address space
   */
  static Region take(long length, String name) {
    Chunk done = null;
    Region region;
    synchronized (AddressSpace.class) {
      Chunk from = current;
      if (!from.hasSpace(length)) {
        from = map(length, name);
        if (from.limit - from.start <= CHUNK_BYTES) {
          current.usedUp = true;
          done = current.isDone() ? current : null;
          current = from;
        } else {
          from.usedUp = true; // larger than a chunk: the region gets its own
        }
      }
      long start = from.nextStart();
      long end = start + length + NativeRegion.GUARD_BYTES;
      from.next = end;
      from.regions++;
      // No other region begins before the next huge page, so the space up to there is unused.
      long ownEnd = Math.min(roundUp(end, NativeRegion.HUGE_PAGE_BYTES), from.limit);
      region = new Region(from, start, ownEnd);
    }
    if (done != null) {
      replace(done.start, done.limit);
    }
    return region;
  }

  /** Replaces a used-up chunk when its last region is released. */
  private static void released(Chunk chunk) {
    boolean done;
    synchronized (AddressSpace.class) {
      chunk.regions--;
      done = chunk.isDone();
    }
    // Without the lock: no region is cut from it any more, so no other thread uses the chunk's
    // range.
    if (done) {
      replace(chunk.start, chunk.limit);
    }
  }

  private static Chunk map(long length, String name) {
    long needed = length + NativeRegion.HUGE_PAGE_BYTES + 2 * NativeRegion.GUARD_BYTES;
    long bytes = Math.max(needed, CHUNK_BYTES);
    // Place it just below the previous chunk, if that range is free: the two are then one mapping.
    long raw = map(Math.max(0, current.start - bytes), bytes, 0);
    if (raw < 0 && bytes > needed) {
      bytes = needed; // address space is limited
      raw = map(0, bytes, 0);
    }
    if (raw < 0) {
      throw new OutOfMemoryError(
          "Could not reserve "
              + length
              + " bytes of address space for the "
              + name
              + ": "
              + Errno.describe((int) -raw)
              + ".");
    }
    return new Chunk(raw, raw + bytes);
  }

  /** Replaces a range including its guards; see the class comment on page tables. */
  private static void replace(long start, long end) {
    if (map(start, end - start, MemoryCalls.MAP_FIXED) < 0) {
      MemoryCalls.madvise(start, end - start, MemoryCalls.MADV_DONTNEED);
    }
  }

  private static long map(long address, long length, int flags) {
    return MemoryCalls.mmap(
        address,
        length,
        MemoryCalls.PROT_READ | MemoryCalls.PROT_WRITE,
        MemoryCalls.MAP_PRIVATE | MemoryCalls.MAP_ANONYMOUS | MemoryCalls.MAP_NORESERVE | flags,
        -1,
        0);
  }

  private static long roundUp(long n, long unit) {
    return (n + unit - 1) & -unit;
  }
}
