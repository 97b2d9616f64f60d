package io.fovea.recovery;

import io.fovea.wal.Log;
import java.util.function.BooleanSupplier;

/**
 * Decides when the files are shortened: nothing was logged for a while, and the log file is larger
 * than necessary or the data file has space allocated ahead of need.
 *
 * <pre>
 *   commits ... | idle ................. | checkpoint of everything, idle log: free slots at the end
 *                                        |   are removed, the writer begins another segment in a
 *                                        |   slot that stays
 *                                        | another checkpoint: the redo point is in that segment,
 *                                        |   so the previous one is free, and is removed
 * </pre>
 *
 * <p>Records of the checkpoint itself do not restart the idle time. If the redo point or the log is
 * held back, further attempts wait until something is logged.
 *
 * <p>One thread: that of the {@link Checkpointer}.
 */
final class IdleLogTrimmer {
  private static final int ATTEMPTS = 4;

  /** The longest pause between attempts, in which the log's threads do their part. */
  private static final long PAUSE_NANOS = 100_000_000;

  private final Log log;
  private final BooleanSupplier fileShouldShrink;
  private final long quietNanos;

  private long seen;
  private long since = System.nanoTime();
  private int attempts;

  /**
   * Creates an instance; the idle time begins now.
   *
   * @param fileShouldShrink returns whether the data file has enough space to release
   * @param quietNanos the idle time; 0 for never
   */
  IdleLogTrimmer(Log log, BooleanSupplier fileShouldShrink, long quietNanos) {
    this.log = log;
    this.fileShouldShrink = fileShouldShrink;
    this.quietNanos = quietNanos;
    this.seen = log.tail();
  }

  /**
   * Returns whether it is time for a checkpoint of everything, to be followed by {@link #tried}.
   *
   * @param lastTail the tail if nothing else was logged since the last checkpoint
   */
  boolean isDue(long lastTail) {
    if (quietNanos == 0) {
      return false;
    }
    long tail = log.tail();
    if (tail != seen) {
      seen = tail;
      if (tail != lastTail) {
        since = System.nanoTime();
        attempts = 0;
        return false;
      }
    }
    return attempts < ATTEMPTS
        && System.nanoTime() - since >= quietNanos
        && (log.isLarge() || fileShouldShrink.getAsBoolean());
  }

  /** Records an attempt at that checkpoint. */
  void tried(boolean made) {
    attempts++;
    since = System.nanoTime() - quietNanos + Math.min(quietNanos, PAUSE_NANOS);
    if (made) {
      log.trimIdle();
    }
  }
}
