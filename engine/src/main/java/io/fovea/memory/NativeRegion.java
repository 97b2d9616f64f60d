package io.fovea.memory;

import io.fovea.bindings.Availability;
import io.fovea.bindings.Libc;
import io.fovea.bindings.MemoryCalls;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A large range of native memory: the frames of a buffer pool, a table of timestamps.
 *
 * <ul>
 *   <li>Pages come when they are first touched, and are zero then: a region costs address space,
 *       not memory (MAP_NORESERVE). {@link #populate} brings them ahead of use.
 *   <li>Huge pages are advised, not demanded (MADV_HUGEPAGE): a pool of 4 KiB pages misses the TLB
 *       nearly every time.
 *   <li>Forked children do not get it (MADV_DONTFORK), so that starting a process does not copy its
 *       page tables; core dumps leave it out (MADV_DONTDUMP).
 *   <li><b>{@link #release} gives back the pages and keeps the range for ever.</b> A thread that
 *       comes late, or a segment that somebody kept, then reads zeros instead of crashing the JVM.
 *       Address space is 128 TiB; a process that opens a thousand databases of a GiB one after the
 *       other uses one of them. What is not in use has no advice and was never touched, so that the
 *       kernel keeps all of a chunk that is not in use as one mapping: a process may have some
 *       65,000 of them, and the JVM ends where it can't get one.
 * </ul>
 *
 * <p>The segment is of global scope, which saves the check of liveness at every access.
 *
 * <p>Where there is no libc that the engine knows, it is an ordinary allocation: neither lazy nor
 * huge, and kept after the release. Where the JVM denies native access, it is a private mapping of
 * an empty file ({@link FileMemory}), which comes page by page too, and goes when nobody has the
 * segment any more.
 *
 * <p>Any thread.
 *
 * @since 0.1.0
 */
public final class NativeRegion {
  /** The size of a huge page, and the alignment of every region. */
  public static final long HUGE_PAGE_BYTES = 2L << 20;

  /**
   * Memory before and behind every region that may be read and means nothing: what {@link Mem}'s
   * peek methods may miss a region by. It costs address space only.
   */
  public static final long GUARD_BYTES = 256 << 10;

  private static final long PAGE_BYTES = 4096;
  private static final boolean MAPPED =
      Mem.isRaw() && Libc.probe() instanceof Availability.Available;

  private final MemorySegment segment;

  /** Where it lies; null where nothing is mapped. */
  private final AddressSpace.@Nullable Place place;

  private final String name;

  private NativeRegion(MemorySegment segment, AddressSpace.@Nullable Place place, String name) {
    this.segment = segment;
    this.place = place;
    this.name = name;
  }

  /**
   * Reserves a region. All bytes are zero.
   *
   * @param bytes how many, more than 0; the segment has exactly that many
   * @param hugePages whether to advise huge pages
   * @param name what it is for, for messages
   * @return the region
   * @throws OutOfMemoryError where there is not that much address space
   */
  public static NativeRegion reserve(long bytes, boolean hugePages, String name) {
    return reserve(bytes, hugePages ? MemoryCalls.MADV_HUGEPAGE : MemoryCalls.MADV_NORMAL, name);
  }

  /**
   * Reserves a region whose pages come and go one by one: no huge page brings others along. All
   * bytes are zero.
   *
   * @param bytes how many, more than 0
   * @param name what it is for, for messages
   * @return the region
   * @throws OutOfMemoryError where there is not that much address space
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
    AddressSpace.Place place = AddressSpace.take(length, name);
    long start = place.start();
    // Advice: a kernel that refuses does no harm.
    MemoryCalls.madvise(start, length, MemoryCalls.MADV_DONTFORK);
    MemoryCalls.madvise(start, length, MemoryCalls.MADV_DONTDUMP);
    if (advice != MemoryCalls.MADV_NORMAL) {
      MemoryCalls.madvise(start, length, advice);
    }
    MemorySegment segment = MemorySegment.ofAddress(start).reinterpret(bytes);
    return new NativeRegion(segment, place, name);
  }

  private static long roundUp(long n, long unit) {
    return (n + unit - 1) & -unit;
  }

  /**
   * The memory, bounded to the bytes that were asked for.
   *
   * @return a native segment of global scope
   */
  public MemorySegment segment() {
    return segment;
  }

  /**
   * What the region is for.
   *
   * @return the name that it was reserved with
   */
  public String name() {
    return name;
  }

  /**
   * Brings pages into memory ahead of their use, as if each had been written, but changing nothing:
   * other threads may use the range meanwhile.
   *
   * @param off where the range begins, in bytes
   * @param len its length in bytes
   * @return whether the kernel did it; where not, pages come at their first use as always
   */
  public boolean populate(long off, long len) {
    Objects.checkFromIndexSize(off, len, segment.byteSize());
    if (place == null || len == 0) {
      return false;
    }
    long from = off & -PAGE_BYTES;
    long length = roundUp(off + len, PAGE_BYTES) - from;
    return MemoryCalls.madvise(segment.address() + from, length, MemoryCalls.MADV_POPULATE_WRITE)
        == 0;
  }

  /** Whether {@link #forget(long, long)} gives memory back. */
  public boolean forgets() {
    return place != null;
  }

  /**
   * Gives the pages of a part back to the operating system: it reads as zeros from now on, and may
   * be written again. Does nothing where pages don't come one by one ({@link #forgets}).
   *
   * @param off where the part begins, a multiple of a page
   * @param len its length in bytes, a multiple of a page
   */
  public void forget(long off, long len) {
    if (place != null) {
      MemoryCalls.madvise(segment.address() + off, len, MemoryCalls.MADV_DONTNEED);
    }
  }

  /**
   * Gives all pages back to the operating system and keeps the range: it reads as zeros from now
   * on, and may be written again.
   */
  public void release() {
    if (place != null) {
      place.release();
    } else {
      clear();
    }
  }

  /** Writes only to pages that are not zero: one that was never used stays so. */
  private void clear() {
    long bytes = segment.byteSize();
    for (long off = 0; off < bytes; off += PAGE_BYTES) {
      long len = Math.min(PAGE_BYTES, bytes - off);
      if (!Mem.isZero(segment, off, len)) {
        Mem.zero(segment, off, len);
      }
    }
  }

  /**
   * Gives the pages of a part of a region back to the operating system; the part may be used again,
   * and its bytes mean nothing then.
   *
   * @param part begins and ends at a page, and lies in a region
   */
  static void forget(MemorySegment part) {
    if (MAPPED) {
      MemoryCalls.madvise(part.address(), part.byteSize(), MemoryCalls.MADV_DONTNEED);
    }
  }

  @Override
  public String toString() {
    return name + ", " + segment.byteSize() + " bytes";
  }
}
