package io.fovea.catalog;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Limits how much background work may slow concurrent transactions. */
@Timeout(60)
class BackgroundThrottleTest {
  @Test
  void theShareCostsOthersOneTenth() {
    assertEquals(0.9, BackgroundThrottle.share(1000, 1000), "nothing is lost");
    assertEquals(0.9, BackgroundThrottle.share(1000, 1100), "chance");
    assertEquals(0.9, BackgroundThrottle.share(1000, 910));
    assertEquals(0.2, BackgroundThrottle.share(1000, 500), 1e-9);
    assertEquals(0.1, BackgroundThrottle.share(1000, 0), 1e-9);
    assertEquals(0.9, BackgroundThrottle.share(0, 1000), "no work while it pauses");
  }

  @Test
  void noPauseWithoutConcurrentCommits() {
    AtomicInteger asked = new AtomicInteger();
    BackgroundThrottle backgroundThrottle =
        new BackgroundThrottle(
            () -> {
              asked.incrementAndGet();
              return 7;
            });
    backgroundThrottle.begin();
    backgroundThrottle.committed();
    while (asked.get() < 10) {
      backgroundThrottle.pause(); // if it does not check, only the test's time limit ends it
    }
  }
}
