package io.fovea.buffer;

import io.fovea.memory.Waits;

/**
 * Waiting in the pool: spin, yield, then sleep for increasing times.
 *
 * <pre>
 *   round    0 .. 63      64 .. 95     96 ...
 *   action   onSpinWait   yield        sleep 1 us, 2 us, 4 us ... 128 us
 *   for      a latch that is about     a page that is being read from a device
 *            to be released
 * </pre>
 *
 * <p>Wake-ups can't be lost: the caller polls its condition. For virtual threads and interrupts see
 * {@link Waits}. A thread that waits for a latch whose holder waits for nothing keeps its carrier,
 * because it never goes beyond the yields.
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
