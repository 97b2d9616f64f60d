package io.fovea.memory;

import io.fovea.bindings.MemoryCalls;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.ref.Reference;
import java.util.Objects;

/**
 * Parts of a region whose memory goes back to the system together, with one system call where there
 * is one for many ranges (Linux 6.13 and later), else with one for each range.
 *
 * <pre>
 *   add, add, add ...     what follows its predecessor in memory makes it longer
 *   drop                  process_madvise(self, ranges, MADV_DONTNEED)
 *     all bytes           done
 *     some bytes          the same for the rest
 *     refused, or one     madvise for each range that is left
 * </pre>
 *
 * <p>A call makes the cores that run the process forget what their TLBs have of the pages: an
 * interrupt, and a wait for its end, which is dearest in a virtual machine. One call for many
 * ranges is one interrupt for all of them (Linux 6.16 and later).
 *
 * <p>Made once and used again and again: 16 bytes of native memory for each range. Owned by one
 * thread at a time.
 *
 * @since 0.1.0
 */
public final class DropList {
  /** An address and a length: the system's iovec. */
  private static final int RANGE_BYTES = 16;

  private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG;

  /** The system calls. Tests have others. */
  interface Kernel {
    /** Whether {@link #forgetAll} may be called. */
    boolean together();

    /** As {@link SelfAdvice#forget}. */
    long forgetAll(long vector, int count);

    /** For one range; 0 or a negated error number. */
    int forget(long address, long length);
  }

  private static class OneByOne implements Kernel {
    @Override
    public boolean together() {
      return false;
    }

    @Override
    public long forgetAll(long vector, int count) {
      return SelfAdvice.forget(vector, count);
    }

    @Override
    public int forget(long address, long length) {
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

  /** The ranges: of each its address and its length. */
  private final MemorySegment ranges;

  private int size;

  /**
   * A list of nothing.
   *
   * @param region the region; its memory comes and goes page by page ({@link NativeRegion#forgets})
   * @param most how many ranges there may be at a time, 1 to 1,024
   * @throws IllegalArgumentException where the region's memory does not go back so, or for another
   *     number of ranges
   */
  public DropList(NativeRegion region, int most) {
    this(region, most, true);
  }

  /**
   * The same, and a call for each range if that is wanted: what is done where the system has no
   * other. For tests and comparisons.
   *
   * @param region as above
   * @param most as above
   * @param together false for a call for each range
   * @throws IllegalArgumentException as above
   */
  public DropList(NativeRegion region, int most, boolean together) {
    this(region, most, together ? LINUX : ONE_BY_ONE);
  }

  /** With other system calls, for tests. */
  DropList(NativeRegion region, int most, Kernel kernel) {
    if (most < 1 || most > 1024) {
      throw new IllegalArgumentException("A list of " + most + " ranges.");
    }
    if (!region.forgets()) {
      throw new IllegalArgumentException("The memory of " + region + " does not go page by page.");
    }
    this.kernel = kernel;
    this.together = kernel.together();
    this.base = region.segment().address();
    this.bytes = region.segment().byteSize();
    this.most = most;
    this.ranges = Arena.ofAuto().allocate((long) most * RANGE_BYTES, Long.BYTES);
  }

  /**
   * Whether all of a list goes with one system call here.
   *
   * @return false where each range takes one
   */
  public boolean together() {
    return together;
  }

  /**
   * Adds a part. Parts that follow each other, added in this order, are one range.
   *
   * @param off where it begins in the region, a multiple of a page
   * @param len its length in bytes, a multiple of a page, more than 0
   * @throws IllegalStateException where the list is full
   */
  public void add(long off, long len) {
    Objects.checkFromIndexSize(off, len, bytes);
    long address = base + off;
    if (size > 0 && address(size - 1) + length(size - 1) == address) {
      set(size - 1, address(size - 1), length(size - 1) + len);
      return;
    }
    if (size == most) {
      throw new IllegalStateException("The list has its " + most + " ranges already.");
    }
    set(size++, address, len);
  }

  /**
   * Gives the memory of all parts back to the operating system, and forgets the parts: they read as
   * zeros from now on, and may be written again.
   *
   * @return how many system calls it took
   */
  public int drop() {
    int calls = 0;
    int from = 0;
    // A lone range goes as ever: the kernel then has one page for cores to forget, not all.
    while (together && size - from > 1) {
      long done = kernel.forgetAll(ranges.address() + (long) from * RANGE_BYTES, size - from);
      calls++;
      if (done <= 0) {
        break;
      }
      from = after(from, done);
    }
    for (; from < size; from++) {
      kernel.forget(address(from), length(from));
      calls++;
    }
    size = 0;
    Reference.reachabilityFence(this);
    return calls;
  }

  /** The first range with memory left, after so many bytes from a range on have gone. */
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
