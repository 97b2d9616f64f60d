package io.fovea.tpcc.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class CarriersTest {
  @Test
  void limitsConcurrency() {
    assumeTrue(Runtime.version().feature() >= 24, "an older JDK fixes one number");
    for (int carriers : new int[] {3, 1, 2}) {
      assertTrue(Carriers.limit(carriers));
      AtomicInteger running = new AtomicInteger();
      AtomicInteger most = new AtomicInteger();
      try (Shutdown shutdown = new Shutdown()) {
        Crew crew = new Crew("client", 20, true, shutdown);
        crew.start(
            i -> {
              assertTrue(Thread.currentThread().isVirtual());
              for (int k = 0; k < 200; k++) {
                most.accumulateAndGet(running.incrementAndGet(), Math::max);
                Thread.onSpinWait();
                running.decrementAndGet();
                Thread.yield();
              }
            });
        while (!crew.await(1_000_000_000)) {
          // until the end
        }
        crew.end(false);
      }
      assertEquals(0, running.get());
      // Excess carriers end when they find no work, which may take some time.
      assertTrue(most.get() <= 3, most + " of " + carriers);
    }
  }

  @Test
  void excessiveLimitIsReported() {
    assertFalse(Carriers.limit(1_000_000));
  }
}
