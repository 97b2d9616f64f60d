package io.fovea.explorer;

import com.sun.management.HotSpotDiagnosticMXBean;
import java.lang.foreign.Arena;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;

/**
 * All memory outside of the heap that the process may still have, so that whoever asks for some is
 * refused. What others give back is taken by the next {@link #take}.
 *
 * <p>One thread.
 */
final class Hoard implements AutoCloseable {
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

  private final Arena arena = Arena.ofShared();
  private boolean released;

  void take() {
    if (MAX == 0) {
      throw new IllegalStateException("The explorer needs -XX:MaxDirectMemorySize.");
    }
    long left = MAX - USED.getTotalCapacity();
    if (left <= 0) {
      return;
    }
    try {
      arena.allocate(left);
    } catch (OutOfMemoryError e) {
      return; // others were faster
    }
  }

  /** Gives all of it back. */
  void release() {
    if (!released) {
      released = true;
      arena.close();
    }
  }

  @Override
  public void close() {
    release();
  }
}
