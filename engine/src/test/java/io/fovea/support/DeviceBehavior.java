package io.fovea.support;

/**
 * The behavior of a {@link UnreliableDevice}.
 *
 * @param delayMicrosMin the minimum delay of an operation
 * @param delayMicrosMax the maximum; 0: operations run immediately on the calling thread
 * @param readFails the fraction of reads that fail with EIO
 * @param writeFails the fraction of writes that fail, every second one with ENOSPC
 */
public record DeviceBehavior(
    int delayMicrosMin, int delayMicrosMax, double readFails, double writeFails) {
  /** Like the underlying device. */
  public static final DeviceBehavior SMOOTH = new DeviceBehavior(0, 0, 0, 0);

  /** Slow operations. */
  public static final DeviceBehavior SLOW = new DeviceBehavior(100, 500, 0, 0);

  /** Operations complete out of order. */
  public static final DeviceBehavior SHUFFLED = new DeviceBehavior(0, 100, 0, 0);

  /** Returns the behavior with failing reads. */
  public DeviceBehavior failingReads(double share) {
    return new DeviceBehavior(delayMicrosMin, delayMicrosMax, share, writeFails);
  }

  /** Returns the behavior with failing writes. */
  public DeviceBehavior failingWrites(double share) {
    return new DeviceBehavior(delayMicrosMin, delayMicrosMax, readFails, share);
  }
}
