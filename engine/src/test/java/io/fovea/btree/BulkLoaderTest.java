package io.fovea.btree;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Translation;
import io.fovea.error.InvalidUseException;
import io.fovea.error.KeyTooLargeException;
import io.fovea.error.StorageFullException;
import io.fovea.io.MemoryDevice;
import io.fovea.wal.LogSession;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

@Tag("slow")
class BulkLoaderTest {
  private static void load(TestTree t, double fill) {
    try (BulkLoader loader = new BulkLoader(t.tree, fill, LogSession.NONE)) {
      for (Map.Entry<byte[], byte[]> e : t.model.entrySet()) {
        int len = t.staging.key(e.getKey());
        int vLen = t.staging.value(e.getValue());
        loader.add(t.staging.key, 0, len, t.staging.value, 0, vLen);
      }
      assertEquals(t.model.size(), loader.finish());
    }
  }

  private static TreeMap<byte[], byte[]> records(
      RandomKeys.Kind kind, long seed, int count, int pageSize) {
    TreeMap<byte[], byte[]> records = new TreeMap<>(TestTree.ORDER);
    RandomKeys keys = new RandomKeys(kind, seed, pageSize / 8);
    Random random = new Random(seed);
    for (int i = 0; i < count; i++) {
      boolean large = random.nextInt(300) == 0;
      int bound = large ? 4 * pageSize : random.nextInt(20) == 0 ? pageSize / 4 + 1 : 50;
      byte[] value = new byte[random.nextInt(bound)];
      random.nextBytes(value);
      records.put(keys.next(), value);
    }
    return records;
  }

  @ParameterizedTest
  @EnumSource(RandomKeys.Kind.class)
  void equalsTheModel(RandomKeys.Kind kind) {
    for (int pageSize : new int[] {4096, 16384}) {
      for (double fill : new double[] {1, 0.7, 0.3, 0.05}) {
        for (int count : new int[] {0, 1, 2, 30, 700, 6000}) {
          try (TestTree t = new TestTree(pageSize, 100, Translation.PREDICTIVE)) {
            t.model.putAll(records(kind, count, count, pageSize));
            load(t, fill);
            TreeVerifier.Report report = t.verify();
            assertEquals(t.model.size(), report.keys());
            assertEquals(0, report.staleHints());
            t.checkScan(null, true, false);
            t.checkScan(null, true, true);
            Random random = new Random(count);
            RandomKeys keys = new RandomKeys(kind, count + 1, pageSize / 8);
            for (int i = 0; i < 300; i++) {
              t.put(keys.next(), new byte[random.nextInt(100)]);
              t.checkGet(keys.next());
              byte[] victim = t.model.ceilingKey(keys.next());
              t.delete(victim == null ? t.model.firstKey() : victim);
            }
            t.checkAll();
          }
        }
      }
    }
  }

  /** Pages are filled as requested, by loads and by ascending inserts. */
  @Test
  void fillsPages() {
    try (TestTree loaded = new TestTree(4096, 2048, Translation.PREDICTIVE);
        TestTree half = new TestTree(4096, 2048, Translation.PREDICTIVE);
        TestTree inserted = new TestTree(4096, 2048, Translation.PREDICTIVE)) {
      for (int i = 0; i < 20_000; i++) {
        loaded.model.put(TestTree.bytes(i), new byte[120]);
        inserted.put(TestTree.bytes(i), new byte[120]);
      }
      half.model.putAll(loaded.model);
      load(loaded, 1);
      load(half, 0.5);
      TreeVerifier.Report full = loaded.verify();
      assertTrue(full.usedBytes() > 0.96 * 4096 * full.leafPages(), () -> "loaded: " + full);
      TreeVerifier.Report ascending = inserted.verify();
      assertTrue(
          ascending.usedBytes() > 0.96 * 4096 * ascending.leafPages(),
          () -> "inserted: " + ascending);
      assertTrue(ascending.innerPages() <= full.innerPages() + 2, () -> "inserted: " + ascending);
      assertEquals(0, ascending.staleHints());
      TreeVerifier.Report halved = half.verify();
      double fill = halved.usedBytes() / 4096.0 / halved.leafPages();
      assertTrue(fill > 0.45 && fill < 0.55, () -> "half: " + halved);
    }
  }

  /** Ascending inserts in several places also fill pages, like order lines of districts. */
  @Test
  void ascendingInSeveralPlaces() {
    try (TestTree t = new TestTree(4096, 4096, Translation.PREDICTIVE)) {
      Random random = new Random(1);
      int[] next = new int[10];
      for (int i = 0; i < 3000; i++) {
        int district = random.nextInt(10);
        int lines = 5 + random.nextInt(11);
        for (int line = 0; line < lines; line++) {
          t.put(
              TestTree.bytes((long) district << 40 | (long) next[district] << 8 | line),
              new byte[54]);
        }
        next[district]++;
      }
      TreeVerifier.Report report = t.verify();
      assertTrue(report.usedBytes() > 0.9 * 4096 * report.leafPages(), report::toString);
    }
  }

  @Test
  void refuses() {
    try (TestTree t = new TestTree()) {
      MemorySegment key = t.staging.key;
      BulkLoader loader = new BulkLoader(t.tree, 1, LogSession.NONE);
      loader.add(key, 0, t.staging.key(TestTree.bytes("b")), key, 0, 1);
      int len = t.staging.key(TestTree.bytes("a"));
      assertThrows(InvalidUseException.class, () -> loader.add(key, 0, len, key, 0, 1));
      int same = t.staging.key(TestTree.bytes("b"));
      assertThrows(InvalidUseException.class, () -> loader.add(key, 0, same, key, 0, 1));
      int max = t.tree.maxKeySize();
      assertThrows(KeyTooLargeException.class, () -> loader.add(key, 0, max + 1, key, 0, 1));
      assertEquals(1, loader.finish());
      assertThrows(InvalidUseException.class, loader::finish);
      int late = t.staging.key(TestTree.bytes("c"));
      assertThrows(InvalidUseException.class, () -> loader.add(key, 0, late, key, 0, 1));
      assertThrows(InvalidUseException.class, () -> new BulkLoader(t.tree, 1, LogSession.NONE));
    }
  }

  /** An abandoned load leaves an empty tree and no pages, at whatever point it stops. */
  @Test
  void abandonedLoad() {
    try (TestTree t = new TestTree(4096, 128, Translation.PREDICTIVE)) {
      for (int count : new int[] {0, 1, 100, 5000}) {
        try (BulkLoader loader = new BulkLoader(t.tree, 1, LogSession.NONE)) {
          for (Map.Entry<byte[], byte[]> e :
              records(RandomKeys.Kind.NUMBERS, 1, count, 4096).entrySet()) {
            int len = t.staging.key(e.getKey());
            int vLen = t.staging.value(e.getValue());
            loader.add(t.staging.key, 0, len, t.staging.value, 0, vLen);
          }
        }
        assertEquals(1, t.verify().pages());
      }
    }
  }

  @Test
  void diskFull() {
    for (long room = 1 << 20; room <= 3 << 20; room += 1 << 20) {
      try (MemoryDevice device = new MemoryDevice("small", 4096, room);
          TestTree t = new TestTree(4096, 128, Translation.PREDICTIVE, device)) {
        MemorySegment value = Arena.ofAuto().allocate(2000, 8);
        try (BulkLoader loader = new BulkLoader(t.tree, 1, LogSession.NONE)) {
          assertThrows(
              StorageFullException.class,
              () -> {
                for (int i = 0; i < 100_000; i++) {
                  int len = t.staging.key(TestTree.bytes(i));
                  loader.add(t.staging.key, 0, len, value, 0, i % 3 == 0 ? 1500 : 700);
                }
              });
        }
        assertEquals(1, t.verify().pages());
      }
    }
  }
}
