package io.fovea.btree;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.buffer.PoolConfig;
import io.fovea.config.Translation;
import io.fovea.io.MemoryDevice;
import io.fovea.support.Records;
import io.fovea.support.Sample;
import io.fovea.support.TestEnvironment;
import io.fovea.support.UnreliableDeviceState;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Random operations on a tree and on a map must give the same results. */
@Tag("slow")
class BTreeModelTest {
  /** Mostly short values; if large, all lengths, up to some that need an overflow chain. */
  private static byte[] value(Random random, int pageSize, boolean large) {
    int bound =
        large
            ? pageSize / 3
            : switch (random.nextInt(20)) {
              case 0 -> 1;
              case 1 -> pageSize / 4 + 2;
              case 2 -> pageSize / 16;
              default -> 40;
            };
    byte[] value = new byte[random.nextInt(bound)];
    random.nextBytes(value);
    return value;
  }

  private static void run(TestTree t, RandomKeys.Kind kind, long seed, int operations) {
    TestEnvironment plain = TestEnvironment.PLAIN;
    run(t, kind, seed, operations, false, plain, plain.deviceState(seed));
  }

  private static void run(
      TestTree t,
      RandomKeys.Kind kind,
      long seed,
      int operations,
      boolean large,
      TestEnvironment environment,
      UnreliableDeviceState deviceState) {
    RandomKeys keys = new RandomKeys(kind, seed, t.tree.maxKeySize());
    Random random = new Random(seed);
    for (int i = 0; i < operations; i++) {
      boolean growing = i % (operations / 2) < operations / 3;
      byte[] next = keys.next();
      byte[] key = growing || t.model.isEmpty() ? next : near(t, next);
      long once = random.nextLong();
      environment.patiently(() -> operation(t, key, growing, new Random(once), large));
      if (random.nextInt(operations / 8) == 0) {
        for (int n = 0; n < 4; n++) {
          boolean inclusive = n % 2 == 0;
          boolean descending = n > 1;
          environment.patiently(() -> t.checkScan(key, inclusive, descending));
        }
        deviceState.faults(false);
        t.freeStrays();
        t.checkAll();
        deviceState.faults(true);
      }
    }
    while (!t.model.isEmpty()) {
      byte[] key = random.nextBoolean() ? t.model.firstKey() : t.model.lastKey();
      // A failed merge is not retried, so the last one must not fail.
      deviceState.faults(t.model.size() > 1);
      environment.patiently(() -> t.delete(key));
    }
    deviceState.faults(false);
    t.freeStrays();
    assertEquals(1, t.verify().pages(), "an empty tree is its root");
    assertEquals(1, t.tree.height());
  }

  private static byte[] near(TestTree t, byte[] key) {
    byte[] near = t.model.ceilingKey(key);
    return near == null ? t.model.firstKey() : near;
  }

  private static void operation(
      TestTree t, byte[] key, boolean growing, Random random, boolean large) {
    int what = random.nextInt(20);
    if (what < 12) {
      if (growing) {
        t.put(key, value(random, t.pool.pageSize(), large));
      } else {
        t.delete(key);
      }
    } else if (what < 14) {
      t.put(key, value(random, t.pool.pageSize(), large));
    } else if (what == 14) {
      t.delete(key);
    } else if (what == 15) {
      t.patch(key, random.nextInt(10), new byte[random.nextInt(10)]);
    } else if (what == 16) {
      t.checkSuccessor(key);
    } else if (what == 17) {
      t.checkLocate(key);
    } else {
      t.checkGet(key);
    }
  }

  @ParameterizedTest
  @EnumSource
  void inEnvironment(TestEnvironment environment) {
    RandomKeys.Kind[] kinds = RandomKeys.Kind.values();
    Translation[] translations = Translation.values();
    environment.each(
        2,
        (deviceState, seed) -> {
          try (TestTree t =
              environment
                  .making(
                      () ->
                          new TestTree(
                              deviceState.on(new MemoryDevice()),
                              Records.with(
                                  PoolConfig.ofFrames(
                                      environment.pageSize(),
                                      environment.smallest() ? PoolConfig.FRAMES_MIN : 256,
                                      // Except DIRECT, which needs memory for the whole file.
                                      translations[(int) (seed % (translations.length - 1))]),
                                  "frameHints",
                                  environment.hints())))
                  .cachingLocations()) {
            RandomKeys.Kind kind = kinds[(int) (seed % kinds.length)];
            run(t, kind, seed, environment.steps(4000), true, environment, deviceState);
            assertTrue(
                !environment.smallest() || environment.delays() || t.pool.stats().misses() > 100,
                "it fits");
          }
        });
  }

  @ParameterizedTest
  @EnumSource(RandomKeys.Kind.class)
  void smallPages(RandomKeys.Kind kind) {
    for (long seed = Sample.seed(), end = seed + Sample.rounds(1, 3); seed < end; seed++) {
      long own = seed;
      try (TestTree t = new TestTree(4096, 256, Translation.PREDICTIVE).cachingLocations()) {
        Sample.run((int) own, n -> run(t, kind, own, 8000));
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {4096, 8192, 16384, 32768, 65536})
  void pageSizes(int pageSize) {
    for (RandomKeys.Kind kind : RandomKeys.Kind.values()) {
      try (TestTree t = new TestTree(pageSize, 128, Translation.PREDICTIVE).cachingLocations()) {
        run(t, kind, pageSize, Sample.rounds(2000, 4000));
      }
    }
  }

  @ParameterizedTest
  @EnumSource(value = Translation.class, names = "DIRECT", mode = EnumSource.Mode.EXCLUDE)
  void smallestPool(Translation translation) {
    for (RandomKeys.Kind kind : RandomKeys.Kind.values()) {
      try (TestTree t = new TestTree(4096, 64, translation).cachingLocations()) {
        run(t, kind, 99, Sample.rounds(2000, 4000));
      }
    }
  }
}
