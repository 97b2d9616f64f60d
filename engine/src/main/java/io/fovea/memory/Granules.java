package io.fovea.memory;

import io.fovea.bindings.Availability;
import io.fovea.bindings.Errno;
import io.fovea.bindings.Libc;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Memory in pieces of one size that can be mapped at several addresses: a file that lives in memory
 * (memfd), with a linear view of all of it. <i>Taking the Shortcut</i> (CIDR 2024), section 2.1;
 * {@link Rewiring} has the other views.
 *
 * <pre>
 *   file      | granule 0 | granule 1 |  (no memory)  | granule 3 | …              max granules
 *   view      | 0         | 1         |               | 3         |   one mapping, never changed
 *   area of   | 0 | 0 | 1 | 3 |                                       one mapping for each run
 *   Rewiring
 * </pre>
 *
 * <ul>
 *   <li><b>The file has its full length from the beginning</b>, and memory for what was {@linkplain
 *       #populate populated}. So there is no address in a view that is behind the end of the file:
 *       an access to one would be a signal (SIGBUS).
 *   <li><b>Nobody touches a granule that was not populated.</b> The access would take memory, and
 *       where there is none it would be a signal. {@link #populate} says so by its result instead.
 *   <li><b>{@link #close} gives the memory back and keeps the addresses</b>, as {@link
 *       NativeRegion#release} does: who comes late reads zeros.
 *   <li>Its pages have the smallest size (4 KiB on x86-64), for Linux gives memory of files no huge
 *       pages by default; and it counts twice in the resident size of a process that maps it twice
 *       (RssShmem), not in its proportional one (Pss).
 *   <li>A core dump has it, and a forked child maps it: {@code madvise} would keep neighbours of a
 *       {@link Rewiring} from being one mapping.
 * </ul>
 *
 * <p>Any thread; a range that one thread populates or punches is nobody else's meanwhile.
 *
 * @since 0.1.0
 */
public final class Granules {
  private final MemoryFiles files;
  private final String name;
  private final int fd;
  private final int granuleBytes;
  private final int max;
  private final AddressSpace.Place place;
  private final MemorySegment view;
  private final AtomicBoolean closed = new AtomicBoolean();

  private Granules(
      MemoryFiles files,
      String name,
      int fd,
      int granuleBytes,
      int max,
      AddressSpace.Place place,
      MemorySegment view) {
    this.files = files;
    this.name = name;
    this.fd = fd;
    this.granuleBytes = granuleBytes;
    this.max = max;
    this.place = place;
    this.view = view;
  }

  /**
   * Makes some, none of which has memory.
   *
   * @param name what they are for: in messages, and in {@code /proc/self/maps}
   * @param granuleBytes the size of one: a power of two, a multiple of the machine's pages
   * @param max how many there may be: address space
   * @return them
   * @throws RefusedException if the kernel, or the JVM, does not allow that
   * @throws OutOfMemoryError where there is not that much address space
   */
  public static Granules make(String name, int granuleBytes, int max) throws RefusedException {
    return make(name, granuleBytes, max, MemoryFiles.KERNEL);
  }

  /**
   * As {@link #make(String, int, int)}, by other calls.
   *
   * @param files the calls: for tests
   */
  public static Granules make(String name, int granuleBytes, int max, MemoryFiles files)
      throws RefusedException {
    if (Integer.bitCount(granuleBytes) != 1 || max <= 0) {
      throw new IllegalArgumentException(max + " granules of " + granuleBytes + " bytes.");
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
          "The machine has pages of "
              + Libc.pageSize()
              + " bytes, which "
              + granuleBytes
              + " bytes are no multiple of.");
    }
    int fd = files.create(name);
    if (fd < 0) {
      throw new RefusedException("The call memfd_create is refused: " + Errno.describe(-fd) + ".");
    }
    long bytes = (long) granuleBytes * max;
    AddressSpace.Place place = null;
    try {
      int sized = files.resize(fd, bytes);
      if (sized < 0) {
        throw new RefusedException(
            "A file in memory can't have " + bytes + " bytes: " + Errno.describe(-sized) + ".");
      }
      place = AddressSpace.take(bytes, name);
      long mapped = files.map(place.start(), bytes, fd, 0);
      if (mapped < 0) {
        throw new RefusedException(
            "A file in memory can't be mapped: " + Errno.describe((int) -mapped) + ".");
      }
      Granules made =
          new Granules(files, name, fd, granuleBytes, max, place, segment(place.start(), bytes));
      fd = -1;
      place = null;
      return made;
    } finally {
      if (place != null) {
        place.release();
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
   * All granules in their order.
   *
   * @return a native segment of global scope; see the class for what of it may be touched
   */
  public MemorySegment view() {
    return view;
  }

  /**
   * The size of a granule.
   *
   * @return bytes
   */
  public int granuleBytes() {
    return granuleBytes;
  }

  /**
   * How many there may be.
   *
   * @return granules
   */
  public int max() {
    return max;
  }

  /**
   * Gives granules their memory, zeros, and the view its entries in the page table. What they hold
   * already stays.
   *
   * @param first the first of them
   * @param n how many
   * @return 0, or the negated error number of a kernel that has no memory for them: then they must
   *     not be touched
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

  /**
   * Takes the memory of granules away. They must not be touched any more, in any view, until they
   * are populated again.
   *
   * @param first the first of them
   * @param n how many
   */
  public void punch(int first, int n) {
    Objects.checkFromIndexSize(first, n, max);
    // A kernel that refuses has kept the memory until the close.
    files.punch(fd, (long) first * granuleBytes, (long) n * granuleBytes);
  }

  /** Maps granules at an address, which is nobody else's. */
  long map(long address, int first, int n) {
    Objects.checkFromIndexSize(first, n, max);
    if (closed.get()) {
      return -Errno.EBADF;
    }
    return files.map(address, (long) n * granuleBytes, fd, (long) first * granuleBytes);
  }

  /** Fills the page table of a range of addresses where granules are mapped. */
  int fault(long address, long len) {
    return files.populate(address, len, false);
  }

  /**
   * Gives the memory back, but for what areas of a {@link Rewiring} still show, and keeps the
   * addresses: they read as zeros. May be called again. No thread may show a granule meanwhile.
   */
  public void close() {
    if (closed.compareAndSet(false, true)) {
      place.release();
      files.close(fd);
    }
  }

  @Override
  public String toString() {
    return name + ", " + max + " granules of " + granuleBytes + " bytes at most";
  }

  /** Granules, or views of them, can't be had here. */
  public static final class RefusedException extends Exception {
    private static final long serialVersionUID = 1;

    /**
     * A refusal.
     *
     * @param reason what the kernel or the JVM does not allow: a sentence
     */
    public RefusedException(String reason) {
      super(reason);
    }

    /** The reason. */
    public String reason() {
      return String.valueOf(getMessage());
    }
  }
}
