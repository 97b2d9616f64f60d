package io.fovea.support;

/**
 * How a {@link RoughDevice} treats what it is asked for.
 *
 * @param delayMicrosMin the least time that an operation takes, beside what the device below takes
 * @param delayMicrosMax the most; 0: none, and operations are done at once, on the calling thread
 * @param readFails which share of the reads fails with EIO
 * @param writeFails which share of the writes fails, every second one for lack of space
 */
public record Manner(int delayMicrosMin, int delayMicrosMax, double readFails, double writeFails) {
  /** As the device below. */
  public static final Manner SMOOTH = new Manner(0, 0, 0, 0);

  /** An operation takes its time. */
  public static final Manner SLOW = new Manner(100, 500, 0, 0);

  /** What was asked for last may well be done first. */
  public static final Manner SHUFFLED = new Manner(0, 100, 0, 0);

  /** The same, with reads that fail. */
  public Manner failingReads(double share) {
    return new Manner(delayMicrosMin, delayMicrosMax, share, writeFails);
  }

  /** The same, with writes that fail. */
  public Manner failingWrites(double share) {
    return new Manner(delayMicrosMin, delayMicrosMax, readFails, share);
  }
}
