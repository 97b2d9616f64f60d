package io.fovea.btree;

import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import java.util.Random;

/**
 * Corrupts key locations, for tests and benchmarks of wrong ones. A table may be in use meanwhile,
 * and recovers as keys are looked up. Thread-safe.
 *
 * @since 0.1.0
 */
public final class KeyLocationPoison {
  private static final long TAG = 0xFFE0_0000_0000_0000L;

  private KeyLocationPoison() {}

  /** Replaces every location by that of another record, another page, no page, or garbage. */
  public static void poison(KeyLocationCache places, Random random) {
    MemorySegment s = places.memory();
    long other = random.nextLong();
    for (long at = 0; at < s.byteSize(); at += Long.BYTES) {
      long way = Mem.getLongOpaque(s, at);
      if (way != 0) {
        long wrong =
            switch (random.nextInt(5)) {
              case 0 -> other;
              case 1 -> way ^ random.nextInt(8);
              case 2 -> way ^ random.nextLong() & ~TAG;
              case 3 -> way ^ (long) random.nextInt(64) << 36;
              default -> random.nextLong();
            };
        // Mostly under the tag that is searched: others have no effect.
        Mem.putLongOpaque(s, at, way & TAG | wrong & ~TAG);
        other = way;
      }
    }
  }
}
