package io.fovea.wal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** For how many requests a group waits: {@link Gathering}. */
class GatheringTest {
  private final Gathering learned = new Gathering();
  private int requests;

  /** A group that answers so many requests; nobody comes while it is written. */
  private void group(int answers) {
    requests += answers;
    learned.wrote(System.nanoTime(), requests, requests);
  }

  /** How many requests make enough of threads that work on; 0: no number does. */
  private int ahead() {
    for (int n = 1; n <= 2000; n++) {
      if (learned.isEnoughAhead(requests + n)) {
        assertTrue(learned.completes(requests + n), "who makes enough wakes the writer");
        assertFalse(learned.completes(requests + n - 1));
        assertFalse(learned.completes(requests + n + 1));
        return n;
      }
    }
    return 0;
  }

  @Test
  void growsSlowlyWhileEverybodyIsBusy() {
    group(4);
    int before = ahead();
    for (int i = 0; i < 16; i++) {
      group(ahead());
    }
    assertEquals(before + 1, ahead());
  }

  @Test
  void doesNotGrowWithGroupsThatWereWrittenForAnotherReason() {
    group(4);
    int before = ahead();
    for (int i = 0; i < 64; i++) {
      group(1);
    }
    assertEquals(before, ahead());
  }

  @Test
  void comesToRestWhereOneGroupInFourFindsAThreadRunDry() {
    // Sixteen clients, and threads that run dry once more than seven are gathered.
    int most = 0;
    int least = Integer.MAX_VALUE;
    for (int i = 0; i < 4000; i++) {
      int n = ahead();
      if (n > 7) {
        learned.ranDry();
      }
      group(n);
      if (i > 2000) {
        most = Math.max(most, n);
        least = Math.min(least, n);
      }
    }
    assertEquals(8, most);
    assertEquals(7, least);
  }

  @Test
  void neverWaitsForLessThanAThirdOfWhatComes() {
    for (int i = 0; i < 1000; i++) {
      learned.ranDry();
      group(12);
    }
    assertEquals(4, ahead());
  }

  @Test
  void threadsWithOneClientAreNotWaitedForNorIsAnybodyWoken() {
    for (int i = 0; i < 1000; i++) {
      learned.ranDry();
      group(2);
    }
    assertEquals(0, ahead(), "who runs dry writes");
    // More clients come: what comes in a group tells.
    learned.ranDry();
    group(12);
    assertEquals(4, ahead());
  }

  @Test
  void waitsForThreeQuartersOfThoseWhoWait() {
    group(16);
    assertFalse(learned.isFew());
    assertFalse(learned.isEnough(requests + 11));
    assertTrue(learned.isEnough(requests + 12));
    for (int i = 0; i < 20; i++) {
      group(1);
    }
    assertTrue(learned.isFew(), "forgets after a while");
  }

  @Test
  void countsMayWrapAround() {
    requests = Integer.MAX_VALUE - 210;
    for (int i = 0; i < 200; i++) {
      group(1); // forgets how many seem to have come at first
    }
    group(16);
    assertTrue(requests < 0);
    assertFalse(learned.isEnough(requests + 11));
    assertTrue(learned.isEnough(requests + 12));
    assertTrue(learned.isEnoughAhead(requests + ahead()));
  }
}
