package io.fovea.memory;

import io.fovea.bindings.Availability;
import io.fovea.bindings.Errno;
import io.fovea.bindings.Libc;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Memory in pieces of equal size that can be mapped at several addresses: a file in memory (memfd)
 * with a linear view of all of it. <i>Taking the Shortcut</i> (CIDR 2024), section 2.1; {@link
 * Rewiring} has the other views.
 *
 * <pre>
 *   file      | granule 0 | granule 1 |  (no memory)  | granule 3 | …              max granules
 *   view      | 0         | 1         |               | 3         |   one mapping, never changed
 *   area of   | 0 | 0 | 1 | 3 |                                       one mapping for each run
 *   Rewiring
 * </pre>
 *
 * <ul>
 *   <li><b>The file has its full length from the beginning</b>, and memory only for {@linkplain
 *       #populate populated} granules. So no address in a view is beyond the end of the file, where
 *       an access would raise a signal (SIGBUS).
 *   <li><b>Granules that were not populated must not be accessed.</b> An access would allocate
 *       memory, and raise a signal if there is none. The result of {@link #populate} reports a lack
 *       of memory.
 *   <li><b>{@link #close} releases the memory and keeps the addresses</b>, as {@link
 *       NativeRegion#release} does: a late reader finds zeros.
 *   <li>Pages have the smallest size (4 KiB on x86-64), since Linux gives file memory no huge pages
 *       by default. Memory mapped twice counts twice in the resident size of a process (RssShmem),
 *       but not in its proportional size (Pss).
 *   <li>Core dumps include the memory, and forked children map it: excluding it by {@code madvise}
 *       would keep adjacent slots of a {@link Rewiring} from sharing one mapping.
 * </ul>
 *
 * <p>Safe for use by any thread, but while one thread populates or punches a range, no other may
 * use the range.
 *
 * @since 0.1.0
 */
public final class Granules {
  private final MemoryFiles files;
  private final String name;
  private final int fd;
  private final int granuleBytes;
  private final int max;
  private final AddressSpace.Region region;
  private final MemorySegment view;
  private final AtomicBoolean closed = new AtomicBoolean();

  private Granules(
      MemoryFiles files,
      String name,
      int fd,
      int granuleBytes,
      int max,
      AddressSpace.Region region,
      MemorySegment view) {
    this.files = files;
    this.name = name;
    this.fd = fd;
    this.granuleBytes = granuleBytes;
    this.max = max;
    this.region = region;
    this.view = view;
  }

  /**
   * Creates granules, none of which has memory.
   *
   * @param name their purpose, for messages and {@code /proc/self/maps}
   * @param granuleBytes the size of a granule: a power of two, and a multiple of the machine's page
   *     size
   * @param max the maximum number of granules, which determines the address space used
   * @return the granules
   * @throws RefusedException if the kernel or the JVM does not allow granules
   * @throws OutOfMemoryError if there is not enough address space
   */
  public static Granules make(String name, int granuleBytes, int max) throws RefusedException {
    return make(name, granuleBytes, max, MemoryFiles.KERNEL);
  }

  /**
   * Creates granules that use the given system calls.
   *
   * @param files the system calls, which tests replace
   */
  public static Granules make(String name, int granuleBytes, int max, MemoryFiles files)
      throws RefusedException {
    if (Integer.bitCount(granuleBytes) != 1 || max <= 0) {
      throw new IllegalArgumentException(
          max
              + " granules of "
              + granuleBytes
              + " bytes: the number must be positive, the size a power of two.");
    }
    if (!Mem.isRaw()) {
      throw new RefusedException(
          "Native access is denied. Start the JVM with " + Mem.nativeAccessFlag() + ".");
    }
    if (Libc.probe() instanceof Availability.Unavailable none) {
      throw new RefusedException("There is no libc: " + none.describe() + ".");
    }
    if (granuleBytes % Libc.pageSize() != 0) {
      throw new RefusedException(
          "The page size of this machine, "
              + Libc.pageSize()
              + " bytes, does not divide the granule size, "
              + granuleBytes
              + " bytes.");
    }
    int fd = files.create(name);
    if (fd < 0) {
      throw new RefusedException("The kernel refused memfd_create: " + Errno.describe(-fd) + ".");
    }
    long bytes = (long) granuleBytes * max;
    AddressSpace.Region region = null;
    try {
      int sized = files.resize(fd, bytes);
      if (sized < 0) {
        throw new RefusedException(
            "A memory file of " + bytes + " bytes was refused: " + Errno.describe(-sized) + ".");
      }
      region = AddressSpace.take(bytes, name);
      long mapped = files.map(region.start(), bytes, fd, 0);
      if (mapped < 0) {
        throw new RefusedException(
            "A memory file could not be mapped: " + Errno.describe((int) -mapped) + ".");
      }
      Granules made =
          new Granules(files, name, fd, granuleBytes, max, region, segment(region.start(), bytes));
      fd = -1;
      region = null;
      return made;
    } finally {
      if (region != null) {
        region.release();
      }
      if (fd >= 0) {
        files.close(fd);
      }
    }
  }

  @SuppressWarnings("restricted")
  static MemorySegment segment(long address, long bytes) {
    return MemorySegment.ofAddress(address).reinterpret(bytes);
  }

  /**
   * Returns all granules in order.
   *
   * @return a native segment of global scope; see the class comment for what may be accessed
   */
  public MemorySegment view() {
    return view;
  }

  /** Returns the size of a granule, in bytes. */
  public int granuleBytes() {
    return granuleBytes;
  }

  /** Returns the maximum number of granules. */
  public int max() {
    return max;
  }

  /**
   * Allocates zeroed memory for granules and fills the view's page table. Existing contents stay.
   *
   * @param first the first granule
   * @param n the number of granules
   * @return 0, or a negated error number if the kernel has no memory for them: they must then not
   *     be accessed
   */
  public int populate(int first, int n) {
    Objects.checkFromIndexSize(first, n, max);
    long off = (long) first * granuleBytes;
    long len = (long) n * granuleBytes;
    int result = files.allocate(fd, off, len);
    if (result < 0) {
      return result;
    }
    result = files.populate(view.address() + off, len, true);
    return Math.min(result, 0);
  }

  /** Maps granules at an address that the caller owns. */
  long map(long address, int first, int n) {
    Objects.checkFromIndexSize(first, n, max);
    if (closed.get()) {
      return -Errno.EBADF;
    }
    return files.map(address, (long) n * granuleBytes, fd, (long) first * granuleBytes);
  }

  /** Fills the page table of a range of addresses at which granules are mapped. */
  int fault(long address, long len) {
    return files.populate(address, len, false);
  }

  /**
   * Releases the memory, except for what areas of a {@link Rewiring} still map, and keeps the
   * addresses, which read as zeros. Idempotent. No thread may map granules concurrently.
   */
  public void close() {
    if (closed.compareAndSet(false, true)) {
      region.release();
      files.close(fd);
    }
  }

  @Override
  public String toString() {
    return name + ", " + max + " granules of " + granuleBytes + " bytes at most";
  }

  /** Thrown if granules, or views of them, are not available. */
  public static final class RefusedException extends Exception {
    private static final long serialVersionUID = 1;

    /**
     * Creates an exception.
     *
     * @param reason a sentence that says what the kernel or the JVM does not allow
     */
    public RefusedException(String reason) {
      super(reason);
    }

    public String reason() {
      return String.valueOf(getMessage());
    }
  }
}
