package io.fovea.memory;

import io.fovea.bindings.MemoryCalls;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.ref.Reference;
import java.util.Objects;

/**
 * A list of ranges of a region whose memory is returned to the system together: with one system
 * call if the kernel has a call for many ranges (Linux 6.13 and later), otherwise with one call per
 * range.
 *
 * <pre>
 *   add, add, add ...     a range that follows its predecessor in memory extends it
 *   drop                  process_madvise(self, ranges, MADV_DONTNEED)
 *     all bytes           done
 *     some bytes          the same for the rest
 *     refused, or one     madvise for each remaining range
 * </pre>
 *
 * <p>A call makes the cores that run the process flush the pages from their TLBs: an interrupt and
 * a wait for its completion, which are most expensive in a virtual machine. One call for many
 * ranges takes one interrupt for all of them (Linux 6.16 and later).
 *
 * <p>Created once and reused: 16 bytes of native memory per range. Owned by one thread at a time.
 *
 * @since 0.1.0
 */
public final class DropList {
  /** The size of the system's iovec: an address and a length. */
  private static final int RANGE_BYTES = 16;

  private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG;

  /** The system calls; tests replace them. */
  interface Kernel {
    /** Returns whether {@link #discardAll} may be called. */
    boolean together();

    /** Returns ranges as {@link SelfAdvice#discard} does. */
    long discardAll(long vector, int count);

    /** Returns one range; 0 or a negated error number. */
    int discard(long address, long length);
  }

  private static class OneByOne implements Kernel {
    @Override
    public boolean together() {
      return false;
    }

    @Override
    public long discardAll(long vector, int count) {
      return SelfAdvice.discard(vector, count);
    }

    @Override
    public int discard(long address, long length) {
      return MemoryCalls.madvise(address, length, MemoryCalls.MADV_DONTNEED);
    }
  }

  private static final class Linux extends OneByOne {
    @Override
    public boolean together() {
      return SelfAdvice.works();
    }
  }

  private static final Kernel ONE_BY_ONE = new OneByOne();
  private static final Kernel LINUX = new Linux();

  private final Kernel kernel;
  private final boolean together;
  private final long base;
  private final long bytes;
  private final int most;

  /** The address and length of each range. */
  private final MemorySegment ranges;

  private int size;

  /**
   * Creates an empty list.
   *
   * @param region the region; its memory is released page by page ({@link NativeRegion#canDiscard})
   * @param max the maximum number of ranges, 1 to 1,024
   * @throws IllegalArgumentException if the region's memory is not released page by page, or if
   *     {@code max} is out of range
   */
  public DropList(NativeRegion region, int max) {
    this(region, max, true);
  }

  /**
   * Creates an empty list that may be limited to one call per range, as on older systems. For tests
   * and comparisons.
   *
   * @param region as above
   * @param max as above
   * @param together false to use one call per range
   * @throws IllegalArgumentException as above
   */
  public DropList(NativeRegion region, int max, boolean together) {
    this(region, max, together ? LINUX : ONE_BY_ONE);
  }

  /** Creates a list that uses the given system calls, for tests. */
  DropList(NativeRegion region, int max, Kernel kernel) {
    if (max < 1 || max > 1024) {
      throw new IllegalArgumentException(
          "A drop list must hold 1 to 1024 ranges, not " + max + ".");
    }
    if (!region.canDiscard()) {
      throw new IllegalArgumentException(
          "The memory of " + region + " cannot be released page by page.");
    }
    this.kernel = kernel;
    this.together = kernel.together();
    this.base = region.segment().address();
    this.bytes = region.segment().byteSize();
    this.most = max;
    this.ranges = Arena.ofAuto().allocate((long) max * RANGE_BYTES, Long.BYTES);
  }

  /**
   * Returns whether releasing a whole list takes one system call on this system.
   *
   * @return false if each range takes its own call
   */
  public boolean together() {
    return together;
  }

  /**
   * Adds a range. Adjacent ranges added in ascending order are merged.
   *
   * @param off its offset in the region, a multiple of a page
   * @param len its length in bytes, a multiple of a page, more than 0
   * @throws IllegalStateException if the list is full
   */
  public void add(long off, long len) {
    Objects.checkFromIndexSize(off, len, bytes);
    long address = base + off;
    if (size > 0 && address(size - 1) + length(size - 1) == address) {
      set(size - 1, address(size - 1), length(size - 1) + len);
      return;
    }
    if (size == most) {
      throw new IllegalStateException("The drop list is full: it holds " + most + " ranges.");
    }
    set(size++, address, len);
  }

  /**
   * Returns the memory of all ranges to the operating system and clears the list. Afterwards the
   * ranges read as zeros and may be written again.
   *
   * @return the number of system calls
   */
  public int drop() {
    int calls = 0;
    int from = 0;
    // A single range uses madvise: the kernel then flushes its pages, not the whole TLB.
    while (together && size - from > 1) {
      long done = kernel.discardAll(ranges.address() + (long) from * RANGE_BYTES, size - from);
      calls++;
      if (done <= 0) {
        break;
      }
      from = after(from, done);
    }
    for (; from < size; from++) {
      kernel.discard(address(from), length(from));
      calls++;
    }
    size = 0;
    Reference.reachabilityFence(this);
    return calls;
  }

  /** Returns the first range with memory left after the given number of bytes was released. */
  private int after(int range, long done) {
    int i = range;
    long left = done;
    while (i < size && left >= length(i)) {
      left -= length(i++);
    }
    if (i < size && left > 0) {
      set(i, address(i) + left, length(i) - left);
    }
    return i;
  }

  private long address(int i) {
    return ranges.get(LONG, (long) i * RANGE_BYTES);
  }

  private long length(int i) {
    return ranges.get(LONG, (long) i * RANGE_BYTES + Long.BYTES);
  }

  private void set(int i, long address, long length) {
    ranges.set(LONG, (long) i * RANGE_BYTES, address);
    ranges.set(LONG, (long) i * RANGE_BYTES + Long.BYTES, length);
  }

  @Override
  public String toString() {
    return size + " of " + most + " ranges";
  }
}
