package io.fovea.io;

import io.fovea.config.Io;

/**
 * The configuration of a device.
 *
 * @param kind the kind of device
 * @param create whether a missing file is created
 * @param direct whether to bypass the page cache if the file system allows it
 * @param lonePread whether a single read or write of a platform thread is a system call of that
 *     thread even if there is a ring: this saves two hand-overs, and the thread has nothing else to
 *     do
 * @param workers the number of threads that block for others, without a ring
 * @param pollers the number of rings of a device, each with a thread
 * @param depth the maximum number of operations in progress per ring
 * @since 0.1.0
 */
public record DeviceConfig(
    Io kind,
    boolean create,
    boolean direct,
    boolean lonePread,
    int workers,
    int pollers,
    int depth) {
  private static final DeviceConfig DEFAULTS =
      new DeviceConfig(Io.AUTO, true, true, true, 8, 1, 256);

  /** Checks the numbers. */
  public DeviceConfig {
    if (workers < 1 || pollers < 1 || depth < 2 || Integer.bitCount(depth) != 1) {
      throw new IllegalArgumentException(
          "Workers and pollers must be at least 1, and the depth a power of two: "
              + workers
              + ", "
              + pollers
              + ", "
              + depth
              + ".");
    }
  }

  public static DeviceConfig defaults() {
    return DEFAULTS;
  }

  /** Returns a copy with another kind. */
  public DeviceConfig kind(Io kind) {
    return new DeviceConfig(kind, create, direct, lonePread, workers, pollers, depth);
  }

  /** Returns a copy that creates missing files or does not. */
  public DeviceConfig create(boolean create) {
    return new DeviceConfig(kind, create, direct, lonePread, workers, pollers, depth);
  }

  /** Returns a copy that bypasses the page cache or uses it. */
  public DeviceConfig direct(boolean direct) {
    return new DeviceConfig(kind, create, direct, lonePread, workers, pollers, depth);
  }

  /** Returns a copy that uses system calls or the ring for single transfers of platform threads. */
  public DeviceConfig lonePread(boolean lonePread) {
    return new DeviceConfig(kind, create, direct, lonePread, workers, pollers, depth);
  }

  /** Returns a copy with another number of threads that block for others. */
  public DeviceConfig workers(int workers) {
    return new DeviceConfig(kind, create, direct, lonePread, workers, pollers, depth);
  }

  /** Returns a copy with another number of rings and another depth. */
  public DeviceConfig rings(int pollers, int depth) {
    return new DeviceConfig(kind, create, direct, lonePread, workers, pollers, depth);
  }
}
