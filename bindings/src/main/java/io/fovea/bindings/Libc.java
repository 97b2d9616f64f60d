package io.fovea.bindings;

import java.lang.foreign.Arena;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;

/**
 * Tells whether libc can be called here, and returns a few facts about the process. {@link
 * FileCalls}, {@link MemoryCalls} and {@link EventFd} have the other functions of libc that Fovea
 * calls. The contract of all four:
 *
 * <p><b>Errors.</b> A call that fails returns the negated error number of {@link Errno}; none
 * throws for it. Calls interrupted by a signal are repeated, except {@link FileCalls#close}: Linux
 * has released the descriptor by then.
 *
 * <p><b>Threads.</b> Any. A call that blocks pins the carrier of a virtual thread. errno goes to a
 * slot of a small shared cache (see {@code CallState}).
 *
 * <p><b>Addresses.</b> Methods that take a raw address check nothing: a wrong address causes {@link
 * Errno#EFAULT} or corrupts the process. Methods that take a segment check bounds and liveness
 * before the call and keep the segment reachable during it; a shared arena must not be closed while
 * a call uses it.
 *
 * <p>Call {@link #probe()} first. On anything but Linux on x86-64 or AArch64, the first call of any
 * other method throws a {@link LinkageError}.
 *
 * @since 0.1.0
 */
public final class Libc {
  /** {@link #rlimit}: open descriptors. */
  public static final int RLIMIT_NOFILE = 7;

  /** {@link #rlimit}: bytes that may be locked in memory, registered buffers among them. */
  public static final int RLIMIT_MEMLOCK = 8;

  private static final List<String> FUNCTIONS =
      List.of(
          "open",
          "close",
          "pread",
          "pwrite",
          "read",
          "write",
          "lseek",
          "fsync",
          "fdatasync",
          "ftruncate",
          "fallocate",
          "flock",
          "fcntl",
          "mmap",
          "munmap",
          "madvise",
          "mprotect",
          "memfd_create",
          "eventfd",
          "getrlimit",
          "getpid",
          "getpagesize");

  private Libc() {}

  /**
   * Tells whether this class works here: the machine is supported, the JVM permits native calls,
   * and every function exists. Loads no class whose initializer could fail. Any thread.
   *
   * @return the answer; never throws
   * @since 0.1.0
   */
  public static Availability probe() {
    return probe(FUNCTIONS);
  }

  static Availability probe(List<String> functions) {
    String unsupported = Platform.unsupported();
    if (unsupported != null) {
      return new Availability.Unavailable("libc " + unsupported, 0);
    }
    try {
      Linker linker = Linker.nativeLinker();
      for (String function : functions) {
        MemorySegment address = linker.defaultLookup().find(function).orElse(MemorySegment.NULL);
        if (address.address() == 0) {
          return new Availability.Unavailable("libc has no function " + function, 0);
        }
      }
    } catch (UnsupportedOperationException e) {
      return new Availability.Unavailable("this JVM has no foreign linker", 0);
    }
    if (!NativeAccess.granted()) {
      return new Availability.Unavailable(
          "native access is denied, start the JVM with "
              + NativeAccess.missingOption(Libc.class.getModule()),
          0);
    }
    return new Availability.Available("libc", Platform.KERNEL, 0, 0);
  }

  /**
   * Returns the id of this process.
   *
   * @return the id
   * @since 0.1.0
   */
  public static int getpid() {
    return Calls.GETPID.callPlain(0, 0, 0, 0, 0);
  }

  /**
   * Returns the size of a page of memory.
   *
   * @return bytes
   * @since 0.1.0
   */
  public static int pageSize() {
    return Calls.GETPAGESIZE.callPlain(0, 0, 0, 0, 0);
  }

  /**
   * Returns the soft limit of a resource.
   *
   * @param resource {@code RLIMIT_*}
   * @return the limit, {@link Long#MAX_VALUE} if unlimited, or a negated error number
   * @since 0.1.0
   */
  public static long rlimit(int resource) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment limits = arena.allocate(2 * Long.BYTES, Long.BYTES); // rlim_cur, rlim_max
      int result = Calls.GETRLIMIT.callInt(resource, limits.address(), 0, 0);
      if (result < 0) {
        return result;
      }
      long soft = limits.get(ValueLayout.JAVA_LONG, 0);
      return soft < 0 ? Long.MAX_VALUE : soft; // RLIM_INFINITY is all ones
    }
  }

  /** Linked by the first call, so that {@code Libc.probe} links nothing. */
  private static final class Calls {
    static final NativeFunction GETPID = NativeFunction.libc("getpid");
    static final NativeFunction GETPAGESIZE = NativeFunction.libc("getpagesize");
    static final NativeFunction GETRLIMIT = NativeFunction.libc("getrlimit");

    private Calls() {}
  }
}
