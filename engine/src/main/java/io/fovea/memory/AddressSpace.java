package io.fovea.memory;

import io.fovea.bindings.Errno;
import io.fovea.bindings.MemoryCalls;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Address space that regions are cut from, and that is never given back.
 *
 * <pre>
 *   a chunk
 *   | region | guard |·······| guard | region | guard |···| guard |      not used yet      |
 *                            ^ so that the region behind it begins at a multiple of 2 MiB: a huge
 *                              page needs that
 * </pre>
 *
 * <p>No range is used twice: a thread that comes late, or a segment that somebody kept, reads zeros
 * and nothing of another region. What has no use any more costs nothing but addresses, for the
 * kernel's own costs are given back as well:
 *
 * <ul>
 *   <li><b>Mappings.</b> What is not in use has no advice and no pages, so the kernel keeps all of
 *       it as one mapping, across chunks that lie side by side.
 *   <li><b>Page tables.</b> A page of the lowest level maps 2 MiB, one of the next 1 GiB. The
 *       kernel frees one only where all that it maps is replaced in one call. A released region is
 *       replaced up to the next huge page, which frees the lowest level. A chunk is replaced as a
 *       whole when it is used up and its last region is released, which frees the next. So the
 *       price is a page or two for each chunk, where it was one for each GiB.
 * </ul>
 *
 * <p>Any thread.
 */
final class AddressSpace {
  private static final long CHUNK_BYTES = 16L << 30;

  /** The chunk that regions are cut from; under the lock of the class. */
  private static Chunk current = new Chunk(0, 0);

  private AddressSpace() {}

  /** A range of addresses; its mutable parts are under the lock of the class. */
  private static final class Chunk {
    final long start;
    final long limit;

    /** Regions are cut from here on. */
    long next;

    /** Regions that were cut and not released. */
    int regions;

    /** Whether no region is cut from it any more. */
    boolean usedUp;

    Chunk(long start, long limit) {
      this.start = start;
      this.next = start;
      this.limit = limit;
    }

    /** Where a region would begin. */
    long nextStart() {
      return roundUp(next + NativeRegion.GUARD_BYTES, NativeRegion.HUGE_PAGE_BYTES);
    }

    boolean hasRoom(long length) {
      return limit != 0 && nextStart() + length + NativeRegion.GUARD_BYTES <= limit;
    }

    boolean isDone() {
      return usedUp && regions == 0 && limit != 0;
    }
  }

  /** Where a region lies, with the range that is nobody else's. */
  static final class Place {
    private final Chunk chunk;
    private final long start;
    private final long end;
    private final AtomicBoolean released = new AtomicBoolean();

    private Place(Chunk chunk, long start, long end) {
      this.chunk = chunk;
      this.start = start;
      this.end = end;
    }

    /** The address of the region's first byte, a multiple of a huge page. */
    long start() {
      return start;
    }

    /**
     * Puts fresh memory in the place of the region's, at once for all threads. May be called again.
     */
    void release() {
      // What MADV_DONTNEED leaves would stay a mapping of its own for ever.
      replace(start, end);
      if (released.compareAndSet(false, true)) {
        AddressSpace.released(chunk);
      }
    }
  }

  /**
   * Cuts a region.
   *
   * @param length bytes, a multiple of a page
   * @param name what it is for, for messages
   * @throws OutOfMemoryError where there is not that much address space
   */
  static Place take(long length, String name) {
    Chunk done = null;
    Place place;
    synchronized (AddressSpace.class) {
      Chunk from = current;
      if (!from.hasRoom(length)) {
        from = map(length, name);
        if (from.limit - from.start <= CHUNK_BYTES) {
          current.usedUp = true;
          done = current.isDone() ? current : null;
          current = from;
        } else {
          from.usedUp = true; // larger than any chunk: it has one of its own
        }
      }
      long start = from.nextStart();
      long end = start + length + NativeRegion.GUARD_BYTES;
      from.next = end;
      from.regions++;
      // No other region begins before the next huge page, and what is before one means nothing.
      long ownEnd = Math.min(roundUp(end, NativeRegion.HUGE_PAGE_BYTES), from.limit);
      place = new Place(from, start, ownEnd);
    }
    if (done != null) {
      replace(done.start, done.limit);
    }
    return place;
  }

  /** The last region that leaves a chunk which is used up replaces it. */
  private static void released(Chunk chunk) {
    boolean done;
    synchronized (AddressSpace.class) {
      chunk.regions--;
      done = chunk.isDone();
    }
    // Without the lock: nobody cuts a region from it, so nobody else has a use for its range.
    if (done) {
      replace(chunk.start, chunk.limit);
    }
  }

  private static Chunk map(long length, String name) {
    long needed = length + NativeRegion.HUGE_PAGE_BYTES + 2 * NativeRegion.GUARD_BYTES;
    long bytes = Math.max(needed, CHUNK_BYTES);
    // Below the chunk before, where the kernel has put nothing else: both are one mapping then.
    long raw = map(Math.max(0, current.start - bytes), bytes, 0);
    if (raw < 0 && bytes > needed) {
      bytes = needed; // address space is limited
      raw = map(0, bytes, 0);
    }
    if (raw < 0) {
      throw new OutOfMemoryError(
          "There are no "
              + length
              + " bytes of address space for the "
              + name
              + ": "
              + Errno.describe((int) -raw)
              + ".");
    }
    return new Chunk(raw, raw + bytes);
  }

  /** Up to the end, with guards: see the class about page tables. */
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
