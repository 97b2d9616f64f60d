package io.fovea.txn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class SketchSizerTest {
  private static final int MIN = 64;
  private static final int MAX = 4096;

  private final SketchSizer sizer = new SketchSizer(MIN, MAX);
  private long ended;
  private long doubtful;
  private long released;

  /** Feeds a window with one suspected conflict in this many transactions (0: none). */
  private int window(long oneIn) {
    return window(oneIn, SketchSizer.WINDOW);
  }

  private int window(long oneIn, long puts) {
    ended += SketchSizer.WINDOW;
    doubtful += oneIn == 0 ? 0 : SketchSizer.WINDOW / oneIn;
    released += puts;
    return sizer.next(ended, doubtful, released);
  }

  @Test
  void itGrowsWhileThatHelps() {
    assertEquals(2 * MIN, window(4));
    assertEquals(2 * MIN, window(8), "the growth is judged useful");
    assertEquals(4 * MIN, window(8));
    assertEquals(4 * MIN, window(16));
    assertEquals(8 * MIN, window(16));
    assertEquals(8 * MIN, window(500));
    assertEquals(8 * MIN, window(500), "few enough conflicts");
  }

  @Test
  void aUselessGrowthIsUndoneAndRetriedLessOften() {
    int last = 0;
    int[] triedAt = new int[5];
    int tries = 0;
    for (int i = 0; tries < triedAt.length; i++) {
      int now = window(8);
      if (now > MIN && last <= MIN) {
        triedAt[tries++] = i;
      }
      assertTrue(now == MIN || now == 2 * MIN);
      last = now;
    }
    for (int i = 2; i < tries; i++) {
      int distance = triedAt[i] - triedAt[i - 1];
      assertTrue(distance > triedAt[i - 1] - triedAt[i - 2], "try " + i + " after " + distance);
    }
  }

  @Test
  void itShrinksToTheMinimumWithoutConflicts() {
    window(4);
    window(8);
    assertEquals(4 * MIN, window(8));
    window(100);
    assertEquals(2 * MIN, window(0));
    assertEquals(2 * MIN, window(0), "judged");
    assertEquals(MIN, window(0));
    window(0);
    assertEquals(MIN, window(0));
  }

  @Test
  void aShrinkThatHurtsIsUndone() {
    window(4);
    window(100);
    assertEquals(MIN, window(0));
    assertEquals(2 * MIN, window(50), "undone");
    assertEquals(2 * MIN, window(0), "pause");
    assertEquals(MIN, window(0), "again");
  }

  @Test
  void anUnusedSketchDoesNotGrow() {
    assertEquals(MIN, window(4, MIN - 1));
    assertEquals(2 * MIN, window(4, MIN));
  }

  @Test
  void itStaysWithinItsBudget() {
    long oneIn = 2;
    for (int i = 0; i < 40; i++) {
      assertTrue(window(oneIn) <= MAX);
      oneIn = Math.min(60, oneIn * 2);
    }
    SketchSizer fixed = new SketchSizer(MIN, MIN);
    assertFalse(fixed.adapts());
    assertEquals(MIN, fixed.next(1 << 20, 1 << 19, 1 << 20));
    assertThrows(IllegalArgumentException.class, () -> new SketchSizer(3, 4));
    assertThrows(IllegalArgumentException.class, () -> new SketchSizer(4, 2));
  }

  @Test
  void lessThanAWindowChangesNothing() {
    assertEquals(MIN, sizer.next(SketchSizer.WINDOW - 1, SketchSizer.WINDOW / 2, 1 << 20));
  }
}
