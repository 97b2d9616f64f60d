package io.fovea.churn;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import org.jspecify.annotations.Nullable;

/** Heap statistics of glibc; nothing with other C libraries. */
final class Malloc {
  /**
   * size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost.
   */
  private static final MemoryLayout INFO =
      MemoryLayout.structLayout(
          MemoryLayout.sequenceLayout(10, ValueLayout.JAVA_LONG).withName("fields"));

  private static final int MAPPED = 4;
  private static final int IN_USE = 7;

  private static final @Nullable MethodHandle MALLINFO =
      find("mallinfo2", FunctionDescriptor.of(INFO));
  private static final @Nullable MethodHandle TRIM =
      find("malloc_trim", FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.JAVA_LONG));

  private Malloc() {}

  private static @Nullable MethodHandle find(String name, FunctionDescriptor type) {
    Linker linker = Linker.nativeLinker();
    return linker.defaultLookup().find(name).map(f -> linker.downcallHandle(f, type)).orElse(null);
  }

  /** Returns unused memory to the operating system. */
  static void trim() {
    if (TRIM != null) {
      try {
        int unused = (int) TRIM.invokeExact(0L);
      } catch (Throwable t) {
        throw new AssertionError(t);
      }
    }
  }

  /** Returns the bytes that were allocated and not freed. */
  static long bytesInUse() {
    if (MALLINFO == null) {
      return 0;
    }
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment info = (MemorySegment) MALLINFO.invokeExact((SegmentAllocator) arena);
      return info.getAtIndex(ValueLayout.JAVA_LONG, MAPPED)
          + info.getAtIndex(ValueLayout.JAVA_LONG, IN_USE);
    } catch (Throwable t) {
      throw new AssertionError(t);
    }
  }
}
