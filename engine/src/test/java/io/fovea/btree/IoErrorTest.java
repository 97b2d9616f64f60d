package io.fovea.btree;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Translation;
import io.fovea.error.StorageException;
import io.fovea.support.HeldDevice;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** After a failed read an operation has either taken effect or changed nothing. */
class IoErrorTest {
  @Test
  void now() {
    HeldDevice device = new HeldDevice();
    try (TestTree t = new TestTree(4096, 64, Translation.PREDICTIVE, device)) {
      Random random = new Random(11);
      AtomicInteger countdown = new AtomicInteger();
      int failures = 0;
      for (int i = 0; i < 60_000; i++) {
        countdown.set(1 + random.nextInt(6));
        device.readFails = offset -> countdown.decrementAndGet() == 0;
        boolean grows = i % 20_000 < 12_000;
        byte[] key = TestTree.bytes(random.nextInt(4000));
        byte[] value = new byte[random.nextInt(50) == 0 ? 3000 : random.nextInt(150)];
        int len = t.staging.key(key);
        int vLen = t.staging.value(value);
        boolean there = t.model.containsKey(key);
        try {
          if (random.nextInt(3) == 0 != grows) {
            boolean absent =
                Writes.upsert(t.tree, t.staging.key, 0, len, t.staging.value, 0, vLen, t.position);
            t.model.put(key, value);
            assertEquals(!there, absent);
          } else {
            boolean present = Writes.delete(t.tree, t.staging.key, 0, len, t.position);
            t.model.remove(key);
            assertEquals(there, present);
          }
        } catch (StorageException e) {
          failures++;
          t.position.clear();
        }
        device.readFails = offset -> false;
        if (i % 1000 == 0) {
          t.freeStrays();
          t.checkAll();
        }
      }
      assertTrue(failures > 1000, "failures: " + failures);
      t.freeStrays();
      t.checkAll();
    }
  }
}
