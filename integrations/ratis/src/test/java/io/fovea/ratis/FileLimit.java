package io.fovea.ratis;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/**
 * Limits the size of another process's files: {@code RLIMIT_FSIZE}, by {@code prlimit(2)}. A write
 * beyond the limit fails with {@code EFBIG}, others succeed. So it simulates a full disk for
 * growing files, needs neither privileges nor a file system, and can be lifted.
 */
final class FileLimit {
  static final long NONE = -1;
  private static final int RLIMIT_FSIZE = 1;
  private static final MethodHandle PRLIMIT =
      Linker.nativeLinker()
          .downcallHandle(
              Linker.nativeLinker().defaultLookup().find("prlimit").orElseThrow(),
              FunctionDescriptor.of(
                  ValueLayout.JAVA_INT,
                  ValueLayout.JAVA_INT,
                  ValueLayout.JAVA_INT,
                  ValueLayout.ADDRESS,
                  ValueLayout.ADDRESS));

  private FileLimit() {}

  /** Sets the soft limit; the hard one stays, because only root could raise it again. */
  static void set(long pid, long bytes) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment limit = arena.allocate(ValueLayout.JAVA_LONG, 2);
      require((int) PRLIMIT.invokeExact((int) pid, RLIMIT_FSIZE, MemorySegment.NULL, limit));
      long hard = limit.getAtIndex(ValueLayout.JAVA_LONG, 1);
      limit.setAtIndex(ValueLayout.JAVA_LONG, 0, bytes == NONE ? hard : bytes);
      require((int) PRLIMIT.invokeExact((int) pid, RLIMIT_FSIZE, limit, MemorySegment.NULL));
    } catch (Throwable e) {
      throw new AssertionError("The limit of process " + pid + " can't be set.", e);
    }
  }

  private static void require(int result) {
    if (result != 0) {
      throw new IllegalStateException("prlimit has failed");
    }
  }
}
