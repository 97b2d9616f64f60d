package io.fovea.jmh;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FoveaAdapterTest {
  private static final int RECORDS = 100;

  @TempDir Path folder;

  /** As if its leaf had been evicted or changed: the visitor is notified of the restart. */
  @Test
  void scanRestarts() throws Exception {
    List<Long> seen = new ArrayList<>();
    int[] again = {0};
    try (StoreAdapter store =
            new FoveaAdapter(new StoreAdapter.Setup(folder, 16 << 20, RECORDS, false));
        StoreAdapter.Session scans = store.session();
        StoreAdapter.Session writes = store.session()) {
      store.load(0, RECORDS);
      StoreAdapter.Visitor visitor =
          new StoreAdapter.Visitor() {
            @Override
            public void record(byte[] key, byte[] value) {
              seen.add(ComparisonRecords.number(key));
              assertEquals(again[0], ComparisonRecords.check(key, value));
              if (again[0] == 0 && seen.size() == RECORDS / 2) {
                updateAll(writes);
              }
            }

            @Override
            public void again() {
              again[0]++;
              seen.clear();
            }
          };
      assertEquals(RECORDS, scans.scan(new byte[ComparisonRecords.KEY_BYTES], RECORDS, visitor));
    }
    assertEquals(1, again[0]);
    assertEquals(RECORDS, seen.size());
    for (int i = 1; i < RECORDS; i++) {
      assertTrue(Long.compareUnsigned(seen.get(i - 1), seen.get(i)) < 0, "the order of keys");
    }
  }

  private static void updateAll(StoreAdapter.Session session) {
    byte[][] keys = new byte[RECORDS][ComparisonRecords.KEY_BYTES];
    for (int n = 0; n < RECORDS; n++) {
      ComparisonRecords.key(n, keys[n]);
    }
    // On another thread, since this one is inside a transaction.
    CompletableFuture.runAsync(
            () -> {
              try {
                session.update(keys, 0);
              } catch (Exception e) {
                throw new AssertionError(e);
              }
            })
        .join();
  }
}
