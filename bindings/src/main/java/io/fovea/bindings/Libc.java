package io.fovea.bindings;

import io.fovea.bindings.generated.LibC;
import io.fovea.bindings.generated.rlimit;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.List;

/**
 * libc: whether it can be called here, and a few facts about the process. {@link FileCalls}, {@link
 * MemoryCalls} and {@link EventFd} have the other functions that Fovea calls. This is the contract
 * of all four.
 *
 * <p><b>Errors.</b> A call that fails returns the negated error number of {@link Errno}; none
 * throws for it. Calls that a signal interrupted are made again, except {@link FileCalls#close}:
 * Linux has released the descriptor by then.
 *
 * <p><b>Threads.</b> Any. A call that blocks holds its carrier where a virtual thread makes it.
 * errno goes to a slot of a small shared cache; {@code CallState} says why not to a ThreadLocal.
 *
 * <p><b>Addresses.</b> The forms that take a raw address check nothing: a wrong one ends in {@link
 * Errno#EFAULT} or in a damaged process. The forms that take a segment check bounds and liveness
 * before the call and keep the segment reachable during it; nobody may close a shared arena while a
 * call uses it.
 *
 * <p>Call {@link #probe()} first: elsewhere than on Linux (x86-64 or AArch64) the first call of any
 * other method ends in a {@link LinkageError}.
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
   * Whether this class works here: the machine is one that it knows, the JVM lets it call native
   * code, and every function is there. Loads nothing that could fail; any thread.
   *
   * @return the answer; nothing is thrown
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
      linker.downcallHandle(FunctionDescriptor.of(ValueLayout.JAVA_INT));
    } catch (IllegalCallerException e) {
      return new Availability.Unavailable(
          "native access is denied, start the JVM with "
              + NativeAccess.missingOption(Libc.class.getModule()),
          0);
    } catch (UnsupportedOperationException e) {
      return new Availability.Unavailable("this JVM has no foreign linker", 0);
    }
    return new Availability.Available("libc", Platform.KERNEL, 0, 0);
  }

  /**
   * The id of this process.
   *
   * @return the id
   * @since 0.1.0
   */
  public static int getpid() {
    return LibC.getpid();
  }

  /**
   * The size of a page of memory.
   *
   * @return bytes
   * @since 0.1.0
   */
  public static int pageSize() {
    return LibC.getpagesize();
  }

  /**
   * The soft limit of a resource.
   *
   * @param resource {@code RLIMIT_*}
   * @return the limit, {@link Long#MAX_VALUE} where there is none, or a negated error number
   * @since 0.1.0
   */
  public static long rlimit(int resource) {
    CallState state = CallState.acquire();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment limits = rlimit.allocate(arena);
      int result = (int) Calls.GETRLIMIT.invokeExact(state.captured, resource, limits.address());
      if (result < 0) {
        return -state.errno();
      }
      long soft = rlimit.rlim_cur(limits);
      return soft < 0 ? Long.MAX_VALUE : soft; // RLIM_INFINITY is all ones
    } catch (Throwable t) {
      throw Downcall.unexpected(t);
    } finally {
      state.release();
    }
  }

  /** Linked by the first call; {@code Libc.probe} links nothing. */
  private static final class Calls {
    static final MethodHandle GETRLIMIT =
        Downcall.link(LibC.getrlimit$address(), LibC.getrlimit$descriptor());

    private Calls() {}
  }
}
