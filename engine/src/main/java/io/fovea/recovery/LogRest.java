package io.fovea.recovery;

import io.fovea.wal.Log;

/**
 * When the file of the log is made small: nothing was logged for a while, and the file is larger
 * than it need be.
 *
 * <pre>
 *   commits ... | quiet ................. | checkpoint of everything, the log rests: free slots at
 *                                         |   the end go, the writer begins another segment in a
 *                                         |   slot that stays
 *                                         | another checkpoint: the redo point is in that segment,
 *                                         |   so the one before is free, and goes
 * </pre>
 *
 * <p>What a checkpoint logs itself is no reason to begin anew. Somebody may hold the redo point or
 * the log back; so after a few attempts the next one waits until something was logged.
 *
 * <p>One thread: that of the {@link Checkpointer}.
 */
final class LogRest {
  private static final int ATTEMPTS = 4;

  /** From one attempt to the next, at most: as long as the log's threads need for their part. */
  private static final long PAUSE_NANOS = 100_000_000;

  private final Log log;
  private final long quietNanos;

  private long seen;
  private long since = System.nanoTime();
  private int attempts;

  /**
   * It begins to be quiet now.
   *
   * @param quietNanos how long nothing is logged before; 0 for never
   */
  LogRest(Log log, long quietNanos) {
    this.log = log;
    this.quietNanos = quietNanos;
    this.seen = log.tail();
  }

  /**
   * Whether it is time for a checkpoint of everything, and for {@link #tried}.
   *
   * @param own where the tail is if nobody has logged anything since the last checkpoint
   */
  boolean isDue(long own) {
    if (quietNanos == 0) {
      return false;
    }
    long tail = log.tail();
    if (tail != seen) {
      seen = tail;
      if (tail != own) {
        since = System.nanoTime();
        attempts = 0;
        return false;
      }
    }
    return attempts < ATTEMPTS && System.nanoTime() - since >= quietNanos && log.isLarge();
  }

  /** That checkpoint was tried, and made or not. */
  void tried(boolean made) {
    attempts++;
    since = System.nanoTime() - quietNanos + Math.min(quietNanos, PAUSE_NANOS);
    if (made) {
      log.rest();
    }
  }
}
