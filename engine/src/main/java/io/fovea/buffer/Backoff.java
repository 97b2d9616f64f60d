package io.fovea.buffer;

import io.fovea.memory.Waits;

/**
 * How the pool waits: it spins a little, gives way a few times, then sleeps longer and longer.
 *
 * <pre>
 *   round    0 .. 63      64 .. 95     96 ...
 *   does     onSpinWait   yield        sleep 1 us, 2 us, 4 us ... 128 us
 *   good for a latch that the owner   a page that is being read from a device
 *            is about to release
 * </pre>
 *
 * <p>A sleep is never a lost wake-up, for nobody is woken: the condition is looked at again.
 * Virtual threads and interrupts: {@link Waits}. A thread that never gets beyond the yields waits
 * for a latch whose holder waits for nothing, and so has a carrier as long as it holds it.
 */
final class Backoff {
  static final int YIELD_FROM = 64;
  static final int PARK_FROM = 96;
  private static final int PARK_SHIFT_MAX = 7;

  private Backoff() {}

  /**
   * Waits once.
   *
   * @param round how often the caller has waited already
   * @return the next round
   */
  static int pause(int round) {
    if (round < YIELD_FROM) {
      Thread.onSpinWait();
    } else if (round < PARK_FROM) {
      Thread.yield();
    } else {
      Waits.sleep(1000L << Math.min(round - PARK_FROM, PARK_SHIFT_MAX));
    }
    return round < Integer.MAX_VALUE ? round + 1 : PARK_FROM;
  }
}
