package io.fovea.tpcc;

import io.fovea.tpcc.bench.Rng;

/**
 * When the next transaction begins: at once, by a fixed schedule, or after a terminal's keying and
 * think times.
 */
abstract class Pacing {
  /** What {@link #await} gives when there is no next transaction. */
  static final long STOPPED = Long.MIN_VALUE;

  /** The end of a wait is spun, for a parked thread comes back late. */
  static final long SPIN_NANOS = 60_000;

  /** Called once by the worker as it begins. */
  void begin() {}

  /**
   * Waits for the moment when a transaction may begin.
   *
   * @return when it was meant to begin, which is what its latency counts from; or {@link #STOPPED}
   */
  abstract long await(Worker worker, int type);

  /** Called after a transaction. */
  void ended(int type, long nanos) {}

  /** As fast as it goes. */
  static final class Unlimited extends Pacing {
    @Override
    long await(Worker worker, int type) {
      return System.nanoTime();
    }
  }

  /**
   * A fixed number of transactions a second. One that begins late, for those before it took long,
   * is counted from the moment of its schedule: waiting time is part of its latency.
   */
  static final class Rated extends Pacing {
    private final double intervalNanos;
    private final double offset;
    private long origin;
    private long number;

    /**
     * One worker's part of a rate.
     *
     * @param perSecond the rate of all workers
     * @param worker its number, from 0, which sets the workers' schedules apart
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

  /** A terminal's: keying before a transaction, thinking after it (clause 5.2.5). */
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
