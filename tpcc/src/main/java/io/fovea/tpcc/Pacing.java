package io.fovea.tpcc;

import io.fovea.tpcc.bench.Rng;

/**
 * Decides when the next transaction begins: at once, by a fixed schedule, or after a terminal's
 * keying and think times.
 */
abstract class Pacing {
  /** Returned by {@link #await} if there is no next transaction. */
  static final long STOPPED = Long.MIN_VALUE;

  /** The last part of a wait spins, since a parked thread wakes up late. */
  static final long SPIN_NANOS = 60_000;

  /** Called once when the worker starts. */
  void begin() {}

  /**
   * Waits until a transaction may begin. Returns the intended start, from which its latency counts; or {@link #STOPPED}.
   */
  abstract long await(Worker worker, int type);

  void ended(int type, long nanos) {}

  /** As fast as possible. */
  static final class Unlimited extends Pacing {
    @Override
    long await(Worker worker, int type) {
      return System.nanoTime();
    }
  }

  /**
   * A fixed number of transactions per second. The latency of one that starts late counts from its
   * scheduled time, so it includes the wait.
   */
  static final class Rated extends Pacing {
    private final double intervalNanos;
    private final double offset;
    private long origin;
    private long number;

    /**
     * The share of one worker.
     *
     * @param worker its number, from 0, which staggers the workers' schedules
     */
    Rated(double perSecond, int workers, int worker) {
      intervalNanos = 1e9 * workers / perSecond;
      offset = intervalNanos * worker / workers;
    }

    @Override
    void begin() {
      origin = System.nanoTime();
    }

    @Override
    long await(Worker worker, int type) {
      long start = origin + (long) (offset + number++ * intervalNanos);
      return worker.sleepUntil(start) ? start : STOPPED;
    }
  }

  /** A terminal: keying before a transaction, thinking after it (clause 5.2.5). */
  static final class Waiting extends Pacing {
    private static final TxnType[] TYPES = TxnType.values();

    private final Rng rng;
    private long ready;

    Waiting(Rng rng) {
      this.rng = rng;
    }

    @Override
    void begin() {
      ready = System.nanoTime();
    }

    @Override
    long await(Worker worker, int type) {
      long start = ready + TYPES[type].keyingSeconds * 1_000_000_000L;
      return worker.sleepUntil(start) ? System.nanoTime() : STOPPED;
    }

    @Override
    void ended(int type, long nanos) {
      ready = nanos + TYPES[type].thinkNanos(rng);
    }
  }
}
