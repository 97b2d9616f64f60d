package io.fovea.jmh;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.jmh.StoreAdapter.Engine;
import io.fovea.jmh.StoreAdapter.Setup;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;

/** Checks the adapter of every engine: contents, order, and no lost updates. */
class RivalsTest {
  private static final int RECORDS = 2000;
  private static final int THREADS = 4;
  private static final int EACH = 200;

  @TempDir Path folder;

  @ParameterizedTest
  @EnumSource(value = Engine.class, mode = Mode.EXCLUDE, names = "LMDB") // needs JVM options
  void isExact(Engine engine) throws Exception {
    Path files = Files.createDirectory(folder.resolve(engine.name()));
    try (StoreAdapter store = engine.open(new Setup(files, 16 << 20, RECORDS, false))) {
      store.load(0, RECORDS / 2);
      store.load(RECORDS / 2, RECORDS);
      store.settle();
      // All threads change the same few records.
      ExecutorService threads = Executors.newFixedThreadPool(THREADS);
      try {
        List<Future<?>> running = new ArrayList<>();
        for (int t = 0; t < THREADS; t++) {
          int first = t;
          running.add(threads.submit(() -> update(store, first)));
        }
        for (Future<?> f : running) {
          f.get();
        }
      } finally {
        threads.shutdownNow();
      }
      long[] last = {0};
      long[] updates = {0};
      try (StoreAdapter.Session session = store.session()) {
        int n =
            session.scan(
                new byte[ComparisonRecords.KEY_BYTES],
                RECORDS + 1,
                (key, value) -> {
                  long number = ComparisonRecords.number(key);
                  assertTrue(Long.compareUnsigned(last[0], number) <= 0, "the order of keys");
                  last[0] = number;
                  updates[0] += ComparisonRecords.check(key, value);
                });
        assertEquals(RECORDS, n);
        assertEquals((long) THREADS * EACH * 2, updates[0], "lost updates");
        byte[] key = new byte[ComparisonRecords.KEY_BYTES];
        ComparisonRecords.key(RECORDS, key);
        assertEquals(null, session.read(key));
        ComparisonRecords.key(17, key);
        ComparisonRecords.check(key, session.read(key));
      }
    }
  }

  private static Void update(StoreAdapter store, int first) throws Exception {
    byte[][] keys = new byte[4][ComparisonRecords.KEY_BYTES];
    try (StoreAdapter.Session session = store.session()) {
      for (int i = 0; i < EACH; i++) {
        for (int k = 0; k < keys.length; k++) {
          ComparisonRecords.key((first + i + 3 * k) % 16, keys[k]);
        }
        session.update(keys, 2);
      }
    }
    return null;
  }
}
