package io.fovea.ratis;

import java.time.Duration;

/**
 * Notices a peer that applies nothing, though the log has something for it. It looks when it is
 * asked: who asks more rarely than the limit is told one time later.
 *
 * <p>Any thread.
 */
final class StallWatch {
  private final long mostNanos;
  private boolean behind;
  private long index;
  private long since;

  StallWatch(Duration most) {
    this.mostNanos = most.toNanos();
  }

  synchronized boolean stalled(long applied, long committed) {
    long now = System.nanoTime();
    if (applied >= committed) {
      behind = false;
      return false;
    }
    if (!behind || applied != index) {
      behind = true;
      index = applied;
      since = now;
      return false;
    }
    return now - since > mostNanos;
  }
}
