package io.fovea.io;

import io.fovea.config.Io;

/**
 * How to open a device.
 *
 * @param kind which device
 * @param create whether a file that does not exist is made
 * @param direct whether to go past the page cache where the file system allows it
 * @param lonePread whether a lone read or write of a platform thread is a system call of its own
 *     even where there is a ring: two hand-overs less, and nothing else to do meanwhile anyway
 * @param workers how many threads block for others, where there is no ring
 * @param pollers how many rings, each with a thread, serve one device
 * @param depth how many operations each ring may have under way
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

  /** What suits nearly everyone. */
  public static DeviceConfig defaults() {
    return DEFAULTS;
  }

  /** The same, of another kind. */
  public DeviceConfig kind(Io kind) {
    return new DeviceConfig(kind, create, direct, lonePread, workers, pollers, depth);
  }

  /** The same; with or without making a file that is not there. */
  public DeviceConfig create(boolean create) {
    return new DeviceConfig(kind, create, direct, lonePread, workers, pollers, depth);
  }

  /** The same; past the page cache or through it. */
  public DeviceConfig direct(boolean direct) {
    return new DeviceConfig(kind, create, direct, lonePread, workers, pollers, depth);
  }

  /** The same; lone transfers of platform threads by system call or by ring. */
  public DeviceConfig lonePread(boolean lonePread) {
    return new DeviceConfig(kind, create, direct, lonePread, workers, pollers, depth);
  }

  /** The same, with another number of threads that block for others. */
  public DeviceConfig workers(int workers) {
    return new DeviceConfig(kind, create, direct, lonePread, workers, pollers, depth);
  }

  /** The same, with another number of rings and another depth. */
  public DeviceConfig rings(int pollers, int depth) {
    return new DeviceConfig(kind, create, direct, lonePread, workers, pollers, depth);
  }
}
