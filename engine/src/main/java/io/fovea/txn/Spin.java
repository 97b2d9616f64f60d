package io.fovea.txn;

import java.util.concurrent.locks.LockSupport;

/** How the threads of transactions wait for each other: nobody is woken, all look again. */
final class Spin {
  /** Looks at a lock before the processor goes to others. */
  private static final int SPINS = 64;

  private Spin() {}

  /**
   * One step of waiting for a lock that is held for a moment.
   *
   * @param attempt how many there were before
   */
  static void once(int attempt) {
    // The holder may have lost its core: then spinning is what keeps it from running.
    if (attempt < SPINS) {
      Thread.onSpinWait();
    } else {
      giveWay();
    }
  }

  /**
   * A virtual thread parks: one that yields is taken up again before those that were woken, so that
   * some that wait could keep the one they wait for from running. An interrupted one would not park
   * at all, nor once for the permit that comes with an interrupt; so it sleeps, with its flag put
   * aside.
   */
  static void giveWay() {
    if (!Thread.currentThread().isVirtual()) {
      Thread.yield();
      return;
    }
    if (!Thread.interrupted()) {
      LockSupport.parkNanos(1_000);
      return;
    }
    try {
      Thread.sleep(0, 1_000);
    } catch (InterruptedException e) {
      // Once more; the flag is set below.
    }
    Thread.currentThread().interrupt();
  }
}
