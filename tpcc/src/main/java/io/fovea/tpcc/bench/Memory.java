package io.fovea.tpcc.bench;

import java.lang.management.ManagementFactory;

/** Determines the size of the memory, and a suitable size for a buffer pool. */
public final class Memory {
  private Memory() {}

  /** Returns the memory of the machine, or of the container of this JVM. */
  public static long physicalBytes() {
    return ManagementFactory.getOperatingSystemMXBean()
            instanceof com.sun.management.OperatingSystemMXBean os
        ? os.getTotalMemorySize()
        : 4L << 30;
  }

  /** Caps a size at half of the memory. */
  public static long bounded(long wanted) {
    long mebibytes = Math.min(wanted, physicalBytes() / 2) >> 20;
    return Math.max(mebibytes, 64) << 20;
  }
}
