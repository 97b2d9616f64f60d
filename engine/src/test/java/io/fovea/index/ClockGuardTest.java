package io.fovea.index;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** Tests which clock jumps a sweep accepts. */
class ClockGuardTest {
  private static final long YEARS = 10L * 365 * 86_400_000;

  private long millis = 1_700_000_000_000L;

  private ClockGuard guard() {
    return new ClockGuard(() -> millis * 1_000_000);
  }

  private long ask(ClockGuard guard, long ahead) {
    return guard.trusted(millis + ahead, millis, "t");
  }

  @Test
  void rejectsATemporaryJump() {
    ClockGuard guard = guard();
    ask(guard, 0);
    for (long t = 0; t < ClockGuard.HOLD_MILLIS; t += 1_000) {
      millis += 1_000;
      assertEquals(millis, ask(guard, YEARS), "accepts the time that has passed");
    }
    assertEquals(millis, ask(guard, 0));
    assertEquals(millis, ask(guard, YEARS), "starts over");
  }

  @Test
  void acceptsALastingJump() {
    ClockGuard guard = guard();
    ask(guard, 0);
    ask(guard, YEARS);
    millis += ClockGuard.HOLD_MILLIS;
    assertEquals(millis + YEARS, ask(guard, YEARS));
    assertEquals(millis, ask(guard, 0), "accepts a clock that is set back");
  }

  @Test
  void rejectsAnInitialClockAheadOfTheRows() {
    ClockGuard guard = guard();
    long newest = millis;
    assertEquals(newest, guard.trusted(millis + YEARS, newest, "t"));
    assertEquals(millis + YEARS, guard().trusted(millis + YEARS, 0, "t"), "no row is lost");
    assertEquals(5, guard().trusted(5, newest, "t"));
  }

  /** A jump shorter than the hold advances the time by at most one step. */
  @Test
  void limitsRandomJumps() {
    long seed = System.nanoTime();
    SplittableRandom random = new SplittableRandom(seed);
    ClockGuard guard = guard();
    ask(guard, 0);
    for (int i = 0; i < 20_000; i++) {
      long ahead = random.nextLong(2 * ClockGuard.STEP_MILLIS, YEARS);
      long lasts = random.nextLong(ClockGuard.HOLD_MILLIS);
      for (long t = 0; t < lasts; ) {
        assertTrue(ask(guard, ahead) <= millis + ClockGuard.STEP_MILLIS, "seed " + seed);
        long more = random.nextLong(1, 200_000);
        t += more;
        millis += t < lasts ? more : 0;
      }
      millis += random.nextLong(1, 5_000);
      long right = random.nextLong(-ClockGuard.STEP_MILLIS / 8, ClockGuard.STEP_MILLIS / 8);
      assertEquals(millis + right, ask(guard, right), "seed " + seed);
    }
  }
}
