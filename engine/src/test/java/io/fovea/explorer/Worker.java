package io.fovea.explorer;

import java.util.Random;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/** A thread that does steps: its number, its random stream, and its current step. */
final class Worker {
  final int id;
  final Random random;

  /** The features whose operations run here, as a bit set. */
  volatile long busy;

  /** When the step began, in ticks of the watchdog. */
  volatile long since;

  /** Whether a transaction of the step set its own timeout. */
  boolean limited;

  volatile @Nullable Thread thread;

  Worker(int id, long seed) {
    this.id = id;
    this.random = new Random(seed * 0x9E37_79B9L + id);
  }

  /** Pauses for up to 20 ms, once in {@code n} calls, so that other threads run in the meantime. */
  void linger(int n) {
    if (oneIn(n)) {
      LockSupport.parkNanos(random.nextInt(20_000_000));
    }
  }

  /** Returns true with probability 1/n. */
  boolean oneIn(int n) {
    return random.nextInt(n) == 0;
  }
}
