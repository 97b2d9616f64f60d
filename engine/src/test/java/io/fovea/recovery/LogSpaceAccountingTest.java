package io.fovea.recovery;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class LogSpaceAccountingTest {
  @Test
  void neverUnderestimatesTheUsedLog() {
    Random random = new Random(1);
    LogSpaceAccounting use = new LogSpaceAccounting(10_000);
    TreeMap<Long, Long> exact = new TreeMap<>();
    long redo = 4096;
    long tail = 4096;
    long written = 0;
    for (int i = 0; i < 5_000; i++) {
      exact.put(tail, written);
      use.sample(redo, tail, written);
      long truth = written - exact.floorEntry(redo).getValue();
      long said = use.bytesAfter(redo);
      assertTrue(said >= truth, said + " < " + truth);
      assertTrue(said <= truth + 10_000 + 2 * 8192, said + " > " + truth);
      long half = use.position(50_000, tail);
      assertTrue(written - exact.floorEntry(half).getValue() <= 50_000);
      tail += 8 * (1 + random.nextInt(200));
      written += 4096 * (1 + random.nextInt(2));
      if (random.nextInt(50) == 0) {
        redo = exact.floorKey(redo + (tail - redo) / 2);
      }
    }
  }

  @Test
  void initiallyTheFileIsAsLargeAsTheLog() {
    LogSpaceAccounting use = new LogSpaceAccounting(4096);
    use.sample(5_000, 105_000, 700);
    assertEquals(100_000, use.bytesAfter(5_000));
  }
}
