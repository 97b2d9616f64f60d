package io.fovea.btree;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.fovea.buffer.Translation;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Random operations on a tree and on a map: they must not differ. */
class BTreeModelTest {
  private static byte[] value(Random random, int pageSize) {
    int bound =
        switch (random.nextInt(20)) {
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
    int pageSize = t.pool.pageSize();
    RandomKeys keys = new RandomKeys(kind, seed, t.tree.maxKeySize());
    Random random = new Random(seed);
    for (int i = 0; i < operations; i++) {
      // Grows for a while, then shrinks.
      boolean growing = i % (operations / 2) < operations / 3;
      byte[] key = keys.next();
      if (!growing && !t.model.isEmpty()) {
        byte[] near = t.model.ceilingKey(key);
        key = near == null ? t.model.firstKey() : near;
      }
      int what = random.nextInt(20);
      if (what < 12) {
        if (growing) {
          t.put(key, value(random, pageSize));
        } else {
          t.delete(key);
        }
      } else if (what < 14) {
        t.put(key, value(random, pageSize));
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
      if (random.nextInt(operations / 8) == 0) {
        t.checkAll();
        t.checkScan(key, true, false);
        t.checkScan(key, false, false);
        t.checkScan(key, true, true);
        t.checkScan(key, false, true);
      }
    }
    t.checkAll();
    while (!t.model.isEmpty()) {
      t.delete(random.nextBoolean() ? t.model.firstKey() : t.model.lastKey());
    }
    assertEquals(1, t.verify().pages(), "an empty tree is its root");
    assertEquals(1, t.tree.height());
  }

  @ParameterizedTest
  @EnumSource(RandomKeys.Kind.class)
  void smallPages(RandomKeys.Kind kind) {
    for (long seed = 1; seed <= 3; seed++) {
      try (TestTree t = new TestTree(4096, 256, Translation.PREDICTIVE)) {
        run(t, kind, seed, 8000);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {4096, 8192, 16384, 32768, 65536})
  void pageSizes(int pageSize) {
    for (RandomKeys.Kind kind : RandomKeys.Kind.values()) {
      try (TestTree t = new TestTree(pageSize, 128, Translation.PREDICTIVE)) {
        run(t, kind, pageSize, 4000);
      }
    }
  }

  @ParameterizedTest
  @EnumSource(Translation.class)
  void smallestPool(Translation translation) {
    for (RandomKeys.Kind kind : RandomKeys.Kind.values()) {
      try (TestTree t = new TestTree(4096, 64, translation)) {
        run(t, kind, 99, 4000);
      }
    }
  }
}
