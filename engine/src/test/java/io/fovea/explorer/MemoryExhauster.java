package io.fovea.explorer;

import com.sun.management.HotSpotDiagnosticMXBean;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * Takes all off-heap memory that the JVM grants, so that automatic arenas and direct buffers are
 * refused; malloc and mmap are not limited. The next {@link #take} takes memory that was freed in
 * the meantime. Not thread-safe.
 */
final class MemoryExhauster implements AutoCloseable {
  private static final long MAX =
      Long.parseLong(
          ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class)
              .getVMOption("MaxDirectMemorySize")
              .getValue());

  private static final BufferPoolMXBean USED =
      ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
          .filter(pool -> pool.getName().equals("direct"))
          .findFirst()
          .orElseThrow();

  private final List<ByteBuffer> all = new ArrayList<>();

  void take() {
    if (MAX == 0) {
      throw new IllegalStateException("The explorer needs -XX:MaxDirectMemorySize.");
    }
    long left = MAX - USED.getTotalCapacity();
    if (left <= 0) {
      return;
    }
    try {
      all.add(ByteBuffer.allocateDirect((int) left));
    } catch (OutOfMemoryError e) {
      return; // other threads were faster
    }
  }

  /** Releases all of it; allocations wait until the garbage collector finds it. */
  void release() {
    all.clear();
  }

  @Override
  public void close() {
    release();
  }
}
