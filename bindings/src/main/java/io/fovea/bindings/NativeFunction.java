package io.fovea.bindings;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A C function whose arguments are at most six integers or addresses.
 *
 * <p>All of them are called through one downcall handle, as {@code long f(long, long, long, long,
 * long, long)}. A separate handle for each function would make the JVM generate dozens of classes
 * for each, which would be most of the time of a first opening. The calling conventions of Linux on
 * x86-64 and AArch64 allow it: the first six such arguments are passed in registers, also to a
 * variadic function; a function ignores registers beyond its parameters, and the upper half of one
 * that holds an {@code int}. The upper half of an {@code int} result is undefined, so such a result
 * is narrowed.
 *
 * <p>Keep instances in static final fields: the JIT then folds the function's address into the
 * code.
 *
 * <p>Immutable; any thread.
 */
record NativeFunction(MemorySegment address) {
  private static final MethodHandle CALL =
      Linker.nativeLinker()
          .downcallHandle(
              FunctionDescriptor.of(
                  ValueLayout.JAVA_LONG,
                  ValueLayout.JAVA_LONG,
                  ValueLayout.JAVA_LONG,
                  ValueLayout.JAVA_LONG,
                  ValueLayout.JAVA_LONG,
                  ValueLayout.JAVA_LONG,
                  ValueLayout.JAVA_LONG),
              Linker.Option.captureCallState("errno"));

  /** Returns a function of libc. */
  static NativeFunction libc(String name) {
    return new NativeFunction(Linker.nativeLinker().defaultLookup().find(name).orElseThrow());
  }

  /** Returns a function that libc may lack, or null. */
  static @Nullable NativeFunction optional(String name) {
    MemorySegment address = Linker.nativeLinker().defaultLookup().find(name).orElse(null);
    return address == null ? null : new NativeFunction(address);
  }

  /** Returns a function of liburing, which is never unloaded. */
  static NativeFunction uring(String name) {
    return new NativeFunction(Library.URING.find(name).orElseThrow());
  }

  /** Loaded by the first function of liburing. */
  private static final class Library {
    static final SymbolLookup URING = SymbolLookup.libraryLookup(Uring.LIBRARY, Arena.global());

    private Library() {}
  }

  /** Calls the function; errno goes to the state. */
  long call(CallState state, long a, long b, long c, long d, long e, long f) {
    try {
      return (long) CALL.invokeExact(address, state.captured, a, b, c, d, e, f);
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  long call(CallState state, long a, long b, long c, long d) {
    return call(state, a, b, c, d, 0, 0);
  }

  long call(CallState state, long a, long b, long c) {
    return call(state, a, b, c, 0, 0, 0);
  }

  /**
   * Calls a function that returns an {@code int}, and -1 on failure.
   *
   * @return the result, or a negated error number
   */
  int callInt(long a, long b, long c, long d) {
    CallState state = CallState.acquire();
    try {
      int result = (int) call(state, a, b, c, d);
      return result < 0 ? -state.errno() : result;
    } finally {
      state.release();
    }
  }

  /** Same as {@link #callInt}, but repeats a call that a signal has interrupted. */
  int retryInt(long a, long b, long c, long d) {
    int result;
    do {
      result = callInt(a, b, c, d);
    } while (result == -Errno.EINTR);
    return result;
  }

  /**
   * Calls a function that returns a {@code long}, and a negative number on failure.
   *
   * @return the result, or a negated error number
   */
  long callLong(long a, long b, long c, long d, long e, long f) {
    CallState state = CallState.acquire();
    try {
      long result = call(state, a, b, c, d, e, f);
      return result < 0 ? -state.errno() : result;
    } finally {
      state.release();
    }
  }

  /** Same as {@link #callLong}, but repeats a call that a signal has interrupted. */
  long retryLong(long a, long b, long c, long d) {
    long result;
    do {
      result = callLong(a, b, c, d, 0, 0);
    } while (result == -Errno.EINTR);
    return result;
  }

  /** Calls a function that does not use errno and returns an {@code int} or nothing. */
  int callPlain(long a, long b, long c, long d, long e) {
    CallState state = CallState.acquire();
    try {
      return (int) call(state, a, b, c, d, e, 0);
    } finally {
      state.release();
    }
  }

  /** Returns the address of a part of a native segment, checked. */
  static long address(MemorySegment segment, long start, long count) {
    if (!segment.isNative()) {
      throw new IllegalArgumentException(
          "The kernel needs native memory, this is " + segment + ".");
    }
    Objects.checkFromIndexSize(start, count, segment.byteSize());
    if (!segment.scope().isAlive()) {
      throw new IllegalStateException("The memory of this segment was released.");
    }
    return segment.address() + start;
  }

  /** A native function cannot throw, so anything thrown by its handle is a bug or a JVM error. */
  private static Error unexpected(Throwable t) {
    if (t instanceof RuntimeException e) {
      throw e;
    }
    return t instanceof Error e ? e : new AssertionError(t);
  }
}
