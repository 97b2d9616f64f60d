package io.fovea.tpcc.bench;

import java.lang.management.ManagementFactory;

/** How much memory there is, and how large a buffer pool should be. */
public final class Memory {
  private Memory() {}

  /** The memory of the machine, or of the container that this JVM runs in. */
  public static long physicalBytes() {
    return ManagementFactory.getOperatingSystemMXBean()
            instanceof com.sun.management.OperatingSystemMXBean os
        ? os.getTotalMemorySize()
        : 4L << 30;
  }

  /** So much, but no more than half of the memory. */
  public static long bounded(long wanted) {
    long mebibytes = Math.min(wanted, physicalBytes() / 2) >> 20;
    return Math.max(mebibytes, 64) << 20;
  }
}
