package io.fovea.catalog;

import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;

/**
 * Limits background work so that concurrent transactions keep their commit rate. Work and pauses
 * alternate, and concurrent commits are counted in both phases.
 *
 * <pre>
 *   work 5 ms │ pause │ work 5 ms │ pause │ ...
 *      w commits/s   p commits/s              loss = 1 - w / p      share of work = LOSS_MAX / loss
 * </pre>
 *
 * <p>Without concurrent commits there is no pause. Confined to one thread.
 *
 * <p>Rejected: a fixed share, which is too large on two processors and too small on many; and a
 * lower thread priority, which the JVM ignores by default.
 */
final class BackgroundThrottle {
  private static final long WORK_NANOS = 5_000_000;
  private static final long PAUSE_MIN_NANOS = 250_000;
  private static final long PAUSE_MAX_NANOS = 100_000_000;

  /** The largest acceptable loss of the concurrent commit rate, as a fraction. */
  private static final double LOSS_MAX = 0.1;

  private static final double SHARE_MIN = 0.1;
  private static final double SHARE_MIN_QUICKLY = 0.5;
  private static final double SHARE_MAX = 0.9;

  /** The weight of earlier counts after each period. */
  private static final double KEPT = 0.95;

  /** All commits so far, including those of this work. */
  private final LongSupplier commits;

  private long own;
  private long began;
  private long seen;
  private double share = 0.5;
  private double shareMin = SHARE_MIN;

  // Decaying sums over the last periods.
  private double workCommits;
  private double workNanos;
  private double pauseCommits;
  private double pauseNanos;

  BackgroundThrottle(LongSupplier commits) {
    this.commits = commits;
    begin();
  }

  void begin() {
    begin(SHARE_MIN);
  }

  /** Begins work that other threads may wait for; its share is at least one half. */
  void beginUrgent() {
    begin(SHARE_MIN_QUICKLY);
  }

  private void begin(double min) {
    shareMin = min;
    beginPeriod();
  }

  private void beginPeriod() {
    began = System.nanoTime();
    seen = others();
  }

  void committed() {
    own++;
  }

  private long others() {
    return commits.getAsLong() - own;
  }

  /** Pauses if the period of work is over. An interrupt ends the pause and stays pending. */
  void pause() {
    long worked = System.nanoTime() - began;
    if (worked < WORK_NANOS) {
      return;
    }
    long during = others() - seen;
    if (during <= 0) {
      beginPeriod();
      return;
    }
    workCommits = KEPT * workCommits + during;
    workNanos = KEPT * workNanos + worked;
    beginPeriod();
    double part = Math.max(share, shareMin);
    double pause = worked * (1 - part) / part;
    LockSupport.parkNanos(this, Math.clamp((long) pause, PAUSE_MIN_NANOS, PAUSE_MAX_NANOS));
    pauseCommits = KEPT * pauseCommits + (others() - seen);
    pauseNanos = KEPT * pauseNanos + (System.nanoTime() - began);
    share = share(pauseCommits / pauseNanos, workCommits / workNanos);
    beginPeriod();
  }

  /**
   * Returns the share of time for the work, given the concurrent commit rates during pauses and
   * during work.
   */
  static double share(double alone, double duringWork) {
    double loss = alone > 0 ? 1 - duringWork / alone : 0;
    return loss <= LOSS_MAX ? SHARE_MAX : Math.clamp(LOSS_MAX / loss, SHARE_MIN, SHARE_MAX);
  }
}
