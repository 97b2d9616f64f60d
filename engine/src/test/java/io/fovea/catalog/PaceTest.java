package io.fovea.catalog;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a long work in the background may take from others. */
@Timeout(60)
class PaceTest {
  @Test
  void theShareIsWhatCostsOthersATenth() {
    assertEquals(0.9, Pace.share(1000, 1000), "nothing is lost");
    assertEquals(0.9, Pace.share(1000, 1100), "chance");
    assertEquals(0.9, Pace.share(1000, 910));
    assertEquals(0.2, Pace.share(1000, 500), 1e-9);
    assertEquals(0.1, Pace.share(1000, 0), 1e-9);
    assertEquals(0.9, Pace.share(0, 1000), "nobody works when it rests");
  }

  @Test
  void whoIsAloneDoesNotRest() {
    AtomicInteger asked = new AtomicInteger();
    Pace pace =
        new Pace(
            () -> {
              asked.incrementAndGet();
              return 7;
            });
    pace.begin();
    pace.committed();
    while (asked.get() < 10) {
      pace.pause(); // ends with the time limit of the test if it does not look
    }
  }
}
