package io.fovea.buffer;

import io.fovea.error.StorageException;
import io.fovea.io.BlockDevice;
import io.fovea.memory.Mem;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.BitSet;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Reads pages that are in no frame from the file, one MiB at a time, bypassing the pool: a walk of
 * the free list reads each part of the file at most once, in any order, and takes no frame.
 *
 * <pre>
 *   extent    | p0 | p1 | p2 | ... |      1  which pages are in no frame?   under their buckets' latches
 *                 in a frame: unknown     2  one read                       into a private buffer
 *                                         3  link, or type and tree, of those that are sound
 * </pre>
 *
 * <p><b>Unknown pages are read through the pool:</b> pages that were in a frame at 1, damaged or
 * torn ones, those of another log, and all of an extent that the device fails to read. So only the
 * pool reports damage.
 *
 * <p><b>When a link read here is right.</b> The caller has begun a walk ({@link
 * PageAllocator#walk}), has {@linkplain #clear cleared} this reader since, and finds the page
 * {@linkplain PageAllocator#isUntouched untouched} after reading the link. Then the page has been
 * in the list since the walk began, with the same link: only the owner of the lock of {@link
 * PoolSpace}, the caller, changes links below the top of the list. Excluded:
 *
 * <ul>
 *   <li><i>The file has an older version.</i> At 1 the page was in no frame. A dirty page leaves
 *       its frame only after it was written, so the file contained the link then, and nothing
 *       changes it until the caller checks.
 *   <li><i>The page was freed just before the walk began, and its link is not in its frame yet.</i>
 *       The thread that frees it latches the frame before it changes the numbers that the walk
 *       begins with, and releases the latch after the link. At 1 the page is in the latched frame;
 *       or it was written since, with the link.
 *   <li><i>The page is popped, used, freed again and written during the read.</i> The thread that
 *       pops it lowers the value that {@code isUntouched} compares before the page changes, so the
 *       caller sees that after the read.
 *   <li><i>A write is in flight during the read.</i> This can't happen to an untouched page in no
 *       frame: a page is written from its frame, and stays there until the write has ended. A torn
 *       copy of any other page has a wrong checksum, or is of a page that is touched.
 *   <li><i>A punch makes zeros of the page during the read.</i> Punches have the same owner.
 * </ul>
 *
 * <p>The type and tree of a page ({@link #kind}) were right when its extent was read, and may be
 * outdated.
 *
 * <p>Takes 8 bytes for each page of the extents read, 16 with LSNs; {@link #clear} releases that
 * and the buffer. Not thread-safe.
 */
final class ExtentReader {
  static final int EXTENT_BYTES = 1 << 20;

  /** The file does not contain the page, or may be outdated: use the pool. */
  static final long UNKNOWN = -1;

  private static final long[] EMPTY = {};

  private static final int RETRY_EXTENTS_MIN = 16;
  private static final int RETRY_EXTENTS_MAX = 1 << 12;

  private final Frames frames;
  private final Loader loader;
  private final BlockDevice device;
  private final PageAllocator allocator;
  private final int perExtent;

  /**
   * For each page of an extent: the link, if it is free; otherwise the complement of type and tree,
   * or {@link Long#MIN_VALUE} for unknown. Then for each page the LSN if it is link-only, otherwise
   * -1.
   */
  private final Map<Long, long[]> extents = new HashMap<>();

  private boolean lsns;
  private @Nullable MemorySegment buffer;

  /** After memory was refused: the number of extents left until the next attempt. */
  private int extentsUntilRetry;

  private int retryInterval = RETRY_EXTENTS_MIN;

  ExtentReader(Frames frames, Loader loader, PageAllocator allocator) {
    this.frames = frames;
    this.loader = loader;
    this.device = loader.device();
    this.allocator = allocator;
    this.perExtent = Math.max(1, EXTENT_BYTES >>> frames.pageShift);
  }

  /**
   * Discards everything read.
   *
   * @param wantLsns whether {@link #linkOnlyLsn} will be called
   */
  void clear(boolean wantLsns) {
    extents.clear();
    buffer = null;
    lsns = wantLsns;
  }

  /** Returns the successor of a free page, 0 for none; -1 if the page is unknown, or not free. */
  long next(long pid) {
    return Math.max(UNKNOWN, entry(pid, 0));
  }

  /**
   * Returns the LSN of a page whose {@link #next} is known, if it consists only of a link to the
   * next id; otherwise -1.
   */
  long linkOnlyLsn(long pid) {
    return entry(pid, perExtent);
  }

  /** Returns the type of a page, and in the upper half its tree; -1 if it is unknown. */
  long kind(long pid) {
    long entry = entry(pid, 0);
    if (entry >= 0) {
      return PageHeader.FREE;
    }
    return entry == Long.MIN_VALUE ? UNKNOWN : ~entry;
  }

  boolean isFirst(long pid) {
    return pid % perExtent == 0;
  }

  private long entry(long pid, int column) {
    if (pid < AllocatorState.FIRST_PID) {
      return Long.MIN_VALUE;
    }
    long extent = pid / perExtent;
    long[] known = extents.get(extent);
    if (known == null) {
      known = read(extent * perExtent);
      extents.put(extent, known);
    }
    int i = (int) (pid % perExtent) + column;
    return i < known.length ? known[i] : Long.MIN_VALUE;
  }

  private long[] read(long first) {
    int n = (int) Math.min(perExtent, allocator.highWater() - first);
    if (n <= 0) {
      return EMPTY;
    }
    BitSet inFile = new BitSet(n);
    for (int i = 0; i < n; i++) {
      inFile.set(i, frames.translator.locate(first + i) < 0);
    }
    if (inFile.isEmpty()) {
      return EMPTY;
    }
    MemorySegment to = buffer();
    if (to == null) {
      return EMPTY;
    }
    int from = inFile.nextSetBit(0);
    int end = inFile.length();
    try {
      long at = (long) from << frames.pageShift;
      device.read((first << frames.pageShift) + at, to, at, (end - from) << frames.pageShift);
    } catch (StorageException e) {
      return EMPTY; // perhaps only one of its pages can't be read
    }
    long limit = loader.lsnLimit();
    long[] known = new long[lsns ? 2 * perExtent : n];
    for (int i = 0; i < n; i++) {
      known[i] =
          inFile.get(i)
              ? parse(to, first + i, (long) i << frames.pageShift, limit)
              : Long.MIN_VALUE;
      if (lsns) {
        known[perExtent + i] =
            known[i] == first + i + 1 ? linkOnlyLsn(to, (long) i << frames.pageShift) : -1;
      }
    }
    return known;
  }

  /**
   * Returns null if there is no memory. The JDK takes up to a second to refuse it, so the next
   * attempts are made after more and more extents.
   */
  private @Nullable MemorySegment buffer() {
    MemorySegment own = buffer;
    if (own != null) {
      return own;
    }
    if (extentsUntilRetry > 0) {
      extentsUntilRetry--;
      return null;
    }
    try {
      own = Arena.ofAuto().allocate((long) perExtent << frames.pageShift, 4096);
    } catch (OutOfMemoryError none) {
      extentsUntilRetry = retryInterval;
      retryInterval = Math.min(2 * retryInterval, RETRY_EXTENTS_MAX);
      return null;
    }
    buffer = own;
    retryInterval = RETRY_EXTENTS_MIN;
    return own;
  }

  private long parse(MemorySegment s, long pid, long base, long limit) {
    if (PageHeader.isValid(s, base, frames.pageSize, pid) && PageHeader.pageLsn(s, base) <= limit) {
      int type = PageHeader.type(s, base);
      if (type == PageHeader.FREE) {
        long next = Mem.getLong(s, base + PageAllocator.NEXT_FREE);
        return next < 0 ? Long.MIN_VALUE : next;
      }
      int tree = PageHeader.treeId(s, base);
      return tree < 0 ? Long.MIN_VALUE : ~((long) tree << 32 | type);
    }
    boolean hole = allocator.extent().hasHoles() && Mem.isZero(s, base, frames.pageSize);
    return hole ? pid + 1 : Long.MIN_VALUE; // as Loader does
  }

  private long linkOnlyLsn(MemorySegment s, long base) {
    if (PageHeader.type(s, base) == PageHeader.NEVER_WRITTEN) {
      return 0; // a hole
    }
    int body = PageAllocator.NEXT_FREE + Long.BYTES;
    return Mem.isZero(s, base + body, frames.pageSize - body) ? PageHeader.pageLsn(s, base) : -1;
  }
}
