package io.fovea.bindings;

import java.lang.foreign.AddressLayout;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.Objects;

/**
 * Links and calls functions of libc. errno goes to a slot of {@link CallState}. Addresses are
 * passed as longs, because an address layout would allocate a segment. Stateless; any thread.
 */
final class Downcall {
  private Downcall() {}

  /** Links a function as C declares it, but with errno captured and addresses as longs. */
  static MethodHandle link(
      MemorySegment function, FunctionDescriptor declared, Linker.Option... options) {
    MemoryLayout[] arguments =
        declared.argumentLayouts().stream().map(Downcall::raw).toArray(MemoryLayout[]::new);
    FunctionDescriptor linked =
        FunctionDescriptor.of(raw(declared.returnLayout().orElseThrow()), arguments);
    Linker.Option[] all = new Linker.Option[options.length + 1];
    System.arraycopy(options, 0, all, 1, options.length);
    all[0] = Linker.Option.captureCallState("errno");
    return Linker.nativeLinker().downcallHandle(function, linked, all);
  }

  private static MemoryLayout raw(MemoryLayout layout) {
    return layout instanceof AddressLayout ? ValueLayout.JAVA_LONG : layout;
  }

  /**
   * Calls a function that takes a descriptor. If {@code retry}, repeats calls interrupted by a
   * signal.
   */
  static int call(MethodHandle handle, int fd, boolean retry) {
    CallState state = CallState.acquire();
    try {
      int result;
      do {
        result = (int) handle.invokeExact(state.captured, fd);
      } while (retry && result < 0 && state.errno() == Errno.EINTR);
      return result < 0 ? -state.errno() : result;
    } catch (Throwable t) {
      throw unexpected(t);
    } finally {
      state.release();
    }
  }

  /**
   * Calls a function that takes a memory range and an argument. Repeats calls interrupted by a
   * signal.
   */
  static int range(MethodHandle handle, long address, long length, int argument) {
    CallState state = CallState.acquire();
    try {
      int result;
      do {
        result = (int) handle.invokeExact(state.captured, address, length, argument);
      } while (result < 0 && state.errno() == Errno.EINTR);
      return result < 0 ? -state.errno() : result;
    } catch (Throwable t) {
      throw unexpected(t);
    } finally {
      state.release();
    }
  }

  /** Returns the address of a part of a native segment, with bounds and liveness checked. */
  static long address(MemorySegment segment, long start, long count) {
    if (!segment.isNative()) {
      throw new IllegalArgumentException(
          "A call into the kernel needs native memory, got " + segment + ".");
    }
    Objects.checkFromIndexSize(start, count, segment.byteSize());
    if (!segment.scope().isAlive()) {
      throw new IllegalStateException("The memory of this segment was released.");
    }
    return segment.address() + start;
  }

  /**
   * Wraps what a method handle threw. Linked functions throw nothing, so it is a bug or an error.
   */
  static Error unexpected(Throwable t) {
    if (t instanceof RuntimeException e) {
      throw e;
    }
    return t instanceof Error e ? e : new AssertionError(t);
  }
}
