package io.fovea.support;

/**
 * The behavior of a {@link RoughDevice}.
 *
 * @param delayMicrosMin the minimum delay of an operation
 * @param delayMicrosMax the maximum; 0: operations run immediately on the calling thread
 * @param readFails the fraction of reads that fail with EIO
 * @param writeFails the fraction of writes that fail, every second one with ENOSPC
 */
public record Manner(int delayMicrosMin, int delayMicrosMax, double readFails, double writeFails) {
  /** Like the underlying device. */
  public static final Manner SMOOTH = new Manner(0, 0, 0, 0);

  /** Slow operations. */
  public static final Manner SLOW = new Manner(100, 500, 0, 0);

  /** Operations complete out of order. */
  public static final Manner SHUFFLED = new Manner(0, 100, 0, 0);

  /** Returns the behavior with failing reads. */
  public Manner failingReads(double share) {
    return new Manner(delayMicrosMin, delayMicrosMax, share, writeFails);
  }

  /** Returns the behavior with failing writes. */
  public Manner failingWrites(double share) {
    return new Manner(delayMicrosMin, delayMicrosMax, readFails, share);
  }
}
