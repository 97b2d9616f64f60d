package io.fovea.index;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Random;
import org.junit.jupiter.api.Test;

class RepairPolicyTest {
  private static final long PROBE = 16;
  private static final long OTHER = 17;

  private static void use(RepairPolicy policy, int uses, int percent, Random r) {
    for (int i = 0; i < uses; i++) {
      policy.used(r.nextInt(100), r.nextInt(100) < percent);
    }
  }

  @Test
  void oneOfSixteenIsAProbe() {
    int probes = 0;
    for (long hash = 0; hash < 1600; hash++) {
      probes += RepairPolicy.probes(hash) ? 1 : 0;
    }
    assertEquals(100, probes);
  }

  @Test
  void isInitiallyEnabled() {
    RepairPolicy policy = new RepairPolicy();
    assertTrue(policy.isOn());
    assertTrue(policy.repairs(OTHER));
  }

  @Test
  void decidesNothingFromAFewUses() {
    RepairPolicy policy = new RepairPolicy();
    for (int i = 0; i < RepairPolicy.ENOUGH - 1; i++) {
      policy.used(0, false);
    }
    assertTrue(policy.isOn());
  }

  @Test
  void changesDisableAndTheirAbsenceEnables() {
    Random r = new Random(1);
    RepairPolicy policy = new RepairPolicy();
    use(policy, 20_000, 10, r);
    assertFalse(policy.isOn());
    assertFalse(policy.repairs(OTHER));
    assertTrue(policy.repairs(PROBE), "the probe continues");
    use(policy, 20_000, 90, r);
    assertTrue(policy.isOn());
    use(policy, 20_000, 10, r);
    assertFalse(policy.isOn(), "and disabled again");
  }

  @Test
  void nothingChangesBetweenTheRates() {
    Random r = new Random(2);
    RepairPolicy on = new RepairPolicy();
    RepairPolicy off = new RepairPolicy();
    use(off, 20_000, 0, r);
    for (int i = 0; i < 100; i++) {
      use(on, 1_000, 40, r);
      use(off, 1_000, 40, r);
      assertTrue(on.isOn());
      assertFalse(off.isOn());
    }
  }

  @Test
  void forgetsOldUses() {
    RepairPolicy policy = new RepairPolicy();
    use(policy, 1_000_000, 100, new Random(3));
    for (int i = 0; i < 8 * RepairPolicy.WINDOW; i++) {
      policy.used(5, false);
    }
    assertFalse(policy.isOn());
  }

  @Test
  void sumsAllThreads() throws InterruptedException {
    RepairPolicy policy = new RepairPolicy();
    Thread[] threads = new Thread[4];
    for (int t = 0; t < threads.length; t++) {
      int context = t;
      threads[t] =
          new Thread(
              () -> {
                for (int i = 0; i < RepairPolicy.WINDOW / 2; i++) {
                  policy.used(context, false);
                }
              });
      threads[t].start();
    }
    for (Thread t : threads) {
      t.join();
    }
    // No single thread has made enough uses.
    assertFalse(policy.isOn());
  }
}
