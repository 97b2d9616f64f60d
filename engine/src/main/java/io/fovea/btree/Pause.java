package io.fovea.btree;

import io.fovea.memory.Waits;

/** Backoff between attempts: spin, then yield, then sleep briefly. Nothing may be latched. */
final class Pause {
  private static final int SPINS = 16;
  private static final int YIELDS = 48;
  private static final long SLEEP_NANOS = 20_000;

  private Pause() {}

  /** Waits, after {@code attempt} earlier failures. */
  static void after(int attempt) {
    if (attempt < SPINS) {
      for (int i = 0; i <= attempt; i++) {
        Thread.onSpinWait();
      }
    } else if (attempt < YIELDS) {
      Thread.yield();
    } else {
      Waits.sleep(SLEEP_NANOS);
    }
  }
}
