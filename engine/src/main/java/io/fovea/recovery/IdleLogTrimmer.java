package io.fovea.recovery;

import io.fovea.wal.Log;
import java.util.function.BooleanSupplier;

/**
 * When the files are made small: nothing was logged for a while, and the log's is larger than it
 * need be, or that of the data has room ahead of need.
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
final class IdleLogTrimmer {
  private static final int ATTEMPTS = 4;

  /** From one attempt to the next, at most: as long as the log's threads need for their part. */
  private static final long PAUSE_NANOS = 100_000_000;

  private final Log log;
  private final BooleanSupplier roomAhead;
  private final long quietNanos;

  private long seen;
  private long since = System.nanoTime();
  private int attempts;

  /**
   * It begins to be quiet now.
   *
   * @param roomAhead whether the data has room that is worth giving back
   * @param quietNanos how long nothing is logged before; 0 for never
   */
  IdleLogTrimmer(Log log, BooleanSupplier roomAhead, long quietNanos) {
    this.log = log;
    this.roomAhead = roomAhead;
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
    return attempts < ATTEMPTS
        && System.nanoTime() - since >= quietNanos
        && (log.isLarge() || roomAhead.getAsBoolean());
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
