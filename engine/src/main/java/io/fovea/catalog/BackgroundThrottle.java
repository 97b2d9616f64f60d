package io.fovea.catalog;

import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;

/**
 * How fast a long work in the background may go, so that those beside it keep their rate: it works
 * and rests in turn, and counts what others commit meanwhile.
 *
 * <pre>
 *   work 5 ms │ rest │ work 5 ms │ rest │ ...
 *      w commits/s   r commits/s            loss = 1 - w / r      share of work = LOSS_MAX / loss
 * </pre>
 *
 * <p>With processors to spare nothing is lost, and there is nearly no rest. On a machine that is
 * busy, the work costs others what it takes, and gets the share that costs them {@link #LOSS_MAX}.
 * While nobody commits there is no rest.
 *
 * <p>Rejected: a fixed share, which is too large on two processors and too small on many; a lower
 * priority of the thread, which the JVM passes on to no system by default.
 *
 * <p>One thread.
 */
final class BackgroundThrottle {
  private static final long WORK_NANOS = 5_000_000;
  private static final long REST_MIN_NANOS = 250_000;
  private static final long REST_MAX_NANOS = 100_000_000;

  /** What others may lose of their rate. */
  private static final double LOSS_MAX = 0.1;

  private static final double SHARE_MIN = 0.1;
  private static final double SHARE_MIN_QUICKLY = 0.5;
  private static final double SHARE_MAX = 0.9;

  /** How much of what was counted before counts after another turn. */
  private static final double KEPT = 0.95;

  /** How many commits there were so far, those of this work included. */
  private final LongSupplier commits;

  private long own;
  private long began;
  private long seen;
  private double share = 0.5;
  private double shareMin = SHARE_MIN;

  // Counted in the last turns.
  private double workCommits;
  private double workNanos;
  private double restCommits;
  private double restNanos;

  BackgroundThrottle(LongSupplier commits) {
    this.commits = commits;
    begin();
  }

  /** A stretch of work begins now. */
  void begin() {
    begin(SHARE_MIN);
  }

  /** The same for one that is not to take too long, because others may have to wait for its end. */
  void beginQuickly() {
    begin(SHARE_MIN_QUICKLY);
  }

  private void begin(double least) {
    shareMin = least;
    turn();
  }

  private void turn() {
    began = System.nanoTime();
    seen = others();
  }

  /** The work has committed a transaction of its own. */
  void committed() {
    own++;
  }

  private long others() {
    return commits.getAsLong() - own;
  }

  /**
   * Between two pieces of work: rests if it is time to. An interrupt ends the rest, and is kept.
   */
  void pause() {
    long worked = System.nanoTime() - began;
    if (worked < WORK_NANOS) {
      return;
    }
    long during = others() - seen;
    if (during <= 0) {
      turn();
      return;
    }
    workCommits = KEPT * workCommits + during;
    workNanos = KEPT * workNanos + worked;
    turn();
    double part = Math.max(share, shareMin);
    double rest = worked * (1 - part) / part;
    LockSupport.parkNanos(this, Math.clamp((long) rest, REST_MIN_NANOS, REST_MAX_NANOS));
    restCommits = KEPT * restCommits + (others() - seen);
    restNanos = KEPT * restNanos + (System.nanoTime() - began);
    share = share(restCommits / restNanos, workCommits / workNanos);
    turn();
  }

  /**
   * The share of its time that a work may take.
   *
   * @param alone what others commit while it rests
   * @param beside what they commit in the same time while it works
   */
  static double share(double alone, double beside) {
    double loss = alone > 0 ? 1 - beside / alone : 0;
    return loss <= LOSS_MAX ? SHARE_MAX : Math.clamp(LOSS_MAX / loss, SHARE_MIN, SHARE_MAX);
  }
}
