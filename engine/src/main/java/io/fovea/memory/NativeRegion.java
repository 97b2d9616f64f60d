package io.fovea.memory;

import io.fovea.bindings.Availability;
import io.fovea.bindings.Libc;
import io.fovea.bindings.MemoryCalls;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * A large range of native memory: the frames of a buffer pool, a table of timestamps.
 *
 * <ul>
 *   <li>Pages are allocated, zeroed, when they are first touched: a region costs address space, not
 *       memory (MAP_NORESERVE). {@link #populate} allocates them ahead of use.
 *   <li>Huge pages are advised, not required (MADV_HUGEPAGE), because a pool of 4 KiB pages misses
 *       the TLB on nearly every access.
 *   <li>Forked children do not inherit the region (MADV_DONTFORK), so starting a process does not
 *       copy its page tables. Core dumps exclude it (MADV_DONTDUMP).
 *   <li><b>{@link #release} returns the pages and keeps the range permanently.</b> A late reader,
 *       or a caller that kept a segment, then reads zeros instead of crashing the JVM. Address
 *       space is 128 TiB; a process that opens a thousand databases of 1 GiB in turn uses one TiB.
 *       Unused ranges have no advice and were never touched, so the kernel keeps those of a chunk
 *       as one mapping: a process may have about 65,000 mappings, and a JVM that cannot get one
 *       terminates.
 * </ul>
 *
 * <p>The segment has global scope, which saves the liveness check of every access.
 *
 * <p>Without a libc that the engine knows, the region is an ordinary allocation: its pages are
 * neither lazy nor huge, and they are kept after the release. If the JVM denies native access, the
 * region is a private mapping of a sparse file ({@link FileMemory}), which is lazy too and is freed
 * once the segment is unreachable.
 *
 * <p>Safe for use by any thread.
 *
 * @since 0.1.0
 */
public final class NativeRegion {
  /** The size of a huge page, and the alignment of every region. */
  public static final long HUGE_PAGE_BYTES = 2L << 20;

  /**
   * Readable memory before and after every region, with meaningless contents: the distance by which
   * a peek method of {@link Mem} may miss a region. It costs address space only.
   */
  public static final long GUARD_BYTES = 256 << 10;

  private static final long PAGE_BYTES = 4096;
  private static final boolean MAPPED =
      Mem.isRaw() && Libc.probe() instanceof Availability.Available;

  private final MemorySegment segment;

  /** The region's location; null if nothing is mapped. */
  private final AddressSpace.@Nullable Region region;

  private final String name;

  private NativeRegion(MemorySegment segment, AddressSpace.@Nullable Region region, String name) {
    this.segment = segment;
    this.region = region;
    this.name = name;
  }

  /**
   * Reserves a region. All bytes are zero.
   *
   * @param bytes the size of the segment, more than 0
   * @param hugePages whether to advise huge pages
   * @param name what it is for, for messages
   * @return the region
   * @throws OutOfMemoryError if there is not enough address space
   */
  public static NativeRegion reserve(long bytes, boolean hugePages, String name) {
    return reserve(bytes, hugePages ? MemoryCalls.MADV_HUGEPAGE : MemoryCalls.MADV_NORMAL, name);
  }

  /**
   * Reserves a region whose pages are allocated and released one by one, without huge pages. All
   * bytes are zero.
   *
   * @param bytes the size of the segment, more than 0
   * @param name what it is for, for messages
   * @return the region
   * @throws OutOfMemoryError if there is not enough address space
   */
  public static NativeRegion reserveInPieces(long bytes, String name) {
    return reserve(bytes, MemoryCalls.MADV_NOHUGEPAGE, name);
  }

  private static NativeRegion reserve(long bytes, int advice, String name) {
    if (bytes <= 0 || bytes > 1L << 46) {
      throw new IllegalArgumentException(
          "A region for the " + name + " can't have " + bytes + " bytes.");
    }
    if (!Mem.isRaw()) {
      return new NativeRegion(FileMemory.map(bytes, name), null, name);
    }
    if (!MAPPED) {
      MemorySegment guarded = Arena.global().allocate(bytes + 2 * GUARD_BYTES, PAGE_BYTES);
      return new NativeRegion(guarded.asSlice(GUARD_BYTES, bytes), null, name);
    }
    long length = roundUp(bytes, PAGE_BYTES);
    AddressSpace.Region region = AddressSpace.take(length, name);
    long start = region.start();
    // Advice only: it does not matter if the kernel refuses.
    MemoryCalls.madvise(start, length, MemoryCalls.MADV_DONTFORK);
    MemoryCalls.madvise(start, length, MemoryCalls.MADV_DONTDUMP);
    if (advice != MemoryCalls.MADV_NORMAL) {
      MemoryCalls.madvise(start, length, advice);
    }
    MemorySegment segment = MemorySegment.ofAddress(start).reinterpret(bytes);
    return new NativeRegion(segment, region, name);
  }

  private static long roundUp(long n, long unit) {
    return (n + unit - 1) & -unit;
  }

  /**
   * Returns the memory, bounded to the requested size.
   *
   * @return a native segment of global scope
   */
  public MemorySegment segment() {
    return segment;
  }

  /** Returns whether {@link #discard(long, long)} releases memory. */
  public boolean canDiscard() {
    return region != null;
  }

  /**
   * Returns the pages of a part to the operating system. Afterwards the part reads as zeros and may
   * be written again. Does nothing unless {@link #canDiscard}.
   *
   * @param off the offset of the part, a multiple of a page
   * @param len its length in bytes, a multiple of a page
   */
  public void discard(long off, long len) {
    if (region != null) {
      MemoryCalls.madvise(segment.address() + off, len, MemoryCalls.MADV_DONTNEED);
    }
  }

  /**
   * Returns all pages to the operating system and keeps the range. Afterwards the range reads as
   * zeros. It may be written, but not used again: what is written is lost when the ranges around it
   * are released as well. Idempotent.
   */
  public void release() {
    if (region != null) {
      region.release();
    } else {
      clear();
    }
  }

  /**
   * Zeroes the region for another use, and returns its pages to the operating system. A region that
   * is not mapped keeps its pages; only those that are not zero are written, so that unused ones
   * stay unallocated.
   */
  public void clear() {
    if (region != null) {
      region.clear();
      return;
    }
    long bytes = segment.byteSize();
    for (long off = 0; off < bytes; off += PAGE_BYTES) {
      long len = Math.min(PAGE_BYTES, bytes - off);
      if (!Mem.isZero(segment, off, len)) {
        Mem.zero(segment, off, len);
      }
    }
  }

  /**
   * Returns the pages of a part of a region to the operating system; the part may be used again,
   * with undefined contents.
   *
   * @param part a part of a region that begins and ends at a page boundary
   */
  static void discard(MemorySegment part) {
    if (MAPPED) {
      MemoryCalls.madvise(part.address(), part.byteSize(), MemoryCalls.MADV_DONTNEED);
    }
  }

  @Override
  public String toString() {
    return name + ", " + segment.byteSize() + " bytes";
  }
}
