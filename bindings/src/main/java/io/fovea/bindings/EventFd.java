package io.fovea.bindings;

import java.lang.foreign.ValueLayout;

/**
 * An eventfd counter. One thread uses it to wake another that waits in the kernel, for example in a
 * {@link Ring} that has a read of the counter in flight. For errors and threads see {@link Libc}.
 *
 * @since 0.1.0
 */
public final class EventFd {
  /** {@link #open}: reads of a zero count fail with {@link Errno#EAGAIN} instead of waiting. */
  public static final int EFD_NONBLOCK = 0x800;

  /** {@link #open}: close on exec. */
  public static final int EFD_CLOEXEC = 0x80000;

  private EventFd() {}

  /**
   * Creates a counter. Close it with {@link FileCalls#close}.
   *
   * @param initial the initial count
   * @param flags {@code EFD_*}
   * @return the descriptor or a negated error number
   * @since 0.1.0
   */
  public static int open(int initial, int flags) {
    return Calls.EVENTFD.callInt(initial, flags, 0, 0);
  }

  /**
   * Adds to the count.
   *
   * @param fd the eventfd
   * @param count the amount to add, at least 1
   * @return 0 or a negated error number
   * @since 0.1.0
   */
  public static int add(int fd, long count) {
    CallState state = CallState.acquire();
    try {
      state.scratch.set(ValueLayout.JAVA_LONG, 0, count);
      long result;
      do {
        result = Calls.WRITE.call(state, fd, state.scratch.address(), Long.BYTES);
      } while (result < 0 && state.errno() == Errno.EINTR);
      return result < 0 ? -state.errno() : 0;
    } finally {
      state.release();
    }
  }

  /**
   * Returns the count and resets it to 0. Waits while it is 0, unless opened with {@link
   * #EFD_NONBLOCK}.
   *
   * @param fd the eventfd
   * @return the count, or a negated error number
   * @since 0.1.0
   */
  public static long take(int fd) {
    CallState state = CallState.acquire();
    try {
      long result;
      do {
        result = Calls.READ.call(state, fd, state.scratch.address(), Long.BYTES);
      } while (result < 0 && state.errno() == Errno.EINTR);
      return result < 0 ? -state.errno() : state.scratch.get(ValueLayout.JAVA_LONG, 0);
    } finally {
      state.release();
    }
  }

  /** Linked by the first call, so that {@code Libc.probe} links nothing. */
  private static final class Calls {
    static final NativeFunction EVENTFD = NativeFunction.libc("eventfd");
    static final NativeFunction WRITE = NativeFunction.libc("write");
    static final NativeFunction READ = NativeFunction.libc("read");

    private Calls() {}
  }
}
