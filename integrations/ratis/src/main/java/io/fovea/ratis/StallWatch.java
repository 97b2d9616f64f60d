package io.fovea.ratis;

import java.time.Duration;

/**
 * Detects a peer that applies nothing although committed entries wait. It checks when it is asked,
 * so it detects a stall no sooner than at the first call after the limit.
 *
 * <p>Thread-safe.
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
