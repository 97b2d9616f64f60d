package io.fovea.txn;

import java.util.concurrent.atomic.AtomicReference;

/** Runs threads to completion and rethrows what one of them threw. */
final class Failures {
  private Failures() {}

  static void runAll(Thread... threads) throws InterruptedException {
    AtomicReference<Throwable> first = new AtomicReference<>();
    for (Thread thread : threads) {
      thread.setUncaughtExceptionHandler((t, e) -> first.compareAndSet(null, e));
      thread.start();
    }
    for (Thread thread : threads) {
      thread.join();
    }
    if (first.get() != null) {
      throw new AssertionError(first.get().getMessage(), first.get());
    }
  }
}
