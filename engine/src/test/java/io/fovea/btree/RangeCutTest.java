package io.fovea.btree;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Translation;
import io.fovea.memory.Mem;
import io.fovea.wal.LogSession;
import io.fovea.wal.RecordType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.NavigableMap;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Range cuts remove whole leaves at once, and their counts are right. */
@Tag("slow")
class RangeCutTest {
  static KeyRange range(
      byte @Nullable [] low, boolean lowInclusive, byte @Nullable [] high, boolean highInclusive) {
    MemorySegment a = Arena.ofAuto().allocate(8192, 8);
    MemorySegment b = Arena.ofAuto().allocate(8192, 8);
    if (low != null) {
      Mem.putBytes(a, 0, low, 0, low.length);
    }
    if (high != null) {
      Mem.putBytes(b, 0, high, 0, high.length);
    }
    return new KeyRange(
        a,
        0,
        low == null ? -1 : low.length,
        lowInclusive,
        b,
        0,
        high == null ? -1 : high.length,
        highInclusive);
  }

  static NavigableMap<byte[], byte[]> part(
      NavigableMap<byte[], byte[]> model,
      byte @Nullable [] low,
      boolean lowInclusive,
      byte @Nullable [] high,
      boolean highInclusive) {
    NavigableMap<byte[], byte[]> part = model;
    if (low != null) {
      part = part.tailMap(low, lowInclusive);
    }
    if (high != null && (part.isEmpty() || TestTree.ORDER.compare(part.firstKey(), high) <= 0)) {
      return low != null && TestTree.ORDER.compare(low, high) > 0
          ? new java.util.TreeMap<>(TestTree.ORDER)
          : part.headMap(high, highInclusive);
    }
    return high == null ? part : new java.util.TreeMap<>(TestTree.ORDER);
  }

  private static long bytes(NavigableMap<byte[], byte[]> part) {
    return part.entrySet().stream().mapToLong(e -> e.getKey().length + e.getValue().length).sum();
  }

  private static RangeCount count(BTree tree, KeyRange range) {
    RangeCount count = new RangeCount(tree, range);
    assertTrue(count.run(true, Long.MAX_VALUE, () -> {}));
    return count;
  }

  private static void fill(TestTree t, RandomKeys keys, Random random, int n) {
    for (int i = 0; i < n; i++) {
      t.put(keys.next(), new byte[random.nextInt(60)]);
    }
  }

  private static byte @Nullable [] end(TestTree t, RandomKeys keys, Random random) {
    byte[] key = keys.next();
    if (random.nextInt(6) == 0) {
      return null;
    }
    byte[] near = random.nextBoolean() ? t.model.ceilingKey(key) : t.model.floorKey(key);
    return near == null || random.nextInt(4) == 0 ? key : near;
  }

  private static void cut(TestTree t, RandomKeys keys, Random random) {
    byte[] a = end(t, keys, random);
    byte[] b = end(t, keys, random);
    boolean turn = a != null && b != null && TestTree.ORDER.compare(a, b) > 0;
    byte[] low = turn ? b : a;
    byte[] high = turn ? a : b;
    boolean lowInclusive = random.nextBoolean();
    boolean highInclusive = random.nextBoolean();
    KeyRange range = range(low, lowInclusive, high, highInclusive);
    NavigableMap<byte[], byte[]> part = part(t.model, low, lowInclusive, high, highInclusive);
    RangeCount count = count(t.tree, range);
    assertEquals(part.size(), count.records());
    assertEquals(bytes(part), count.bytes());
    RangeCount again = count(t.tree, range.copy());
    assertEquals(count.fingerprint(), again.fingerprint());
    RangeCut cut = new RangeCut(t.tree, range.copy(), LogSession.NONE);
    cut.run();
    part.clear();
    assertEquals(0, count(t.tree, range).records());
    cut.run();
  }

  @ParameterizedTest
  @EnumSource(RandomKeys.Kind.class)
  void removesExactlyTheRange(RandomKeys.Kind kind) {
    for (long seed = 1; seed <= 6; seed++) {
      Random random = new Random(seed);
      try (TestTree t = new TestTree(4096, 2048, Translation.PREDICTIVE)) {
        RandomKeys keys = new RandomKeys(kind, seed, t.tree.maxKeySize());
        for (int round = 0; round < 12; round++) {
          fill(t, keys, random, 1500);
          cut(t, keys, random);
          t.checkAll();
          t.verify();
        }
        new RangeCut(t.tree, range(null, true, null, true), LogSession.NONE).run();
        t.model.clear();
        assertEquals(1, t.verify().pages(), "an empty tree is its root");
      }
    }
  }

  @ParameterizedTest
  @EnumSource(RandomKeys.Kind.class)
  void soundAfterEveryRecord(RandomKeys.Kind kind) {
    for (long seed = 1; seed <= 3; seed++) {
      Random random = new Random(seed);
      try (LoggedTree t = new LoggedTree(4096, 2048);
          Replay replay = new Replay(4096, 4096)) {
        RandomKeys keys = new RandomKeys(kind, seed, t.tree.maxKeySize());
        for (int round = 0; round < 3; round++) {
          for (int i = 0; i < 1500; i++) {
            t.put(keys.next(), new byte[random.nextInt(60)]);
          }
          byte[] a = keys.next();
          byte[] b = keys.next();
          boolean turn = TestTree.ORDER.compare(a, b) > 0;
          t.main.cut(turn ? b : a, turn ? a : random.nextInt(3) == 0 ? null : b);
          t.verify();
        }
        t.main.cut(null, null);
        assertEquals(1, t.verify().pages());
        for (LoggedTree.Entry e : t.entries()) {
          replay.structure(e);
          if (e.type() == RecordType.STRUCTURE || e.type() == RecordType.CREATE_TREE) {
            TreeVerifier.Report report = TreeVerifier.verifyNodes(replay.open());
            assertEquals("[]", report.problems().toString(), e::toString);
          }
        }
        assertTrue(replay.orphans.isEmpty(), "each released page is free");
      }
    }
  }

  @ParameterizedTest
  @EnumSource(RandomKeys.Kind.class)
  void logsNoMoreThanClaimed(RandomKeys.Kind kind) {
    for (long seed = 1; seed <= 4; seed++) {
      Random random = new Random(seed);
      try (LoggedTree t = new LoggedTree(4096, 4096)) {
        RandomKeys keys = new RandomKeys(kind, seed, t.tree.maxKeySize());
        for (int round = 0; round < 4; round++) {
          for (int i = 0; i < 4000; i++) {
            t.put(keys.next(), new byte[random.nextInt(round % 2 == 0 ? 60 : 900)]);
          }
          byte[] a = random.nextInt(3) == 0 ? null : keys.next();
          byte[] b = random.nextInt(3) == 0 ? null : keys.next();
          boolean turn = a != null && b != null && TestTree.ORDER.compare(a, b) > 0;
          KeyRange range = range(turn ? b : a, true, turn ? a : b, false);
          RangeCount count = count(t.tree, range);
          long claimed = new RangeCut(t.tree, range, LogSession.NONE).logBytes();
          long before = t.log.tail();
          t.main.cut(turn ? b : a, turn ? a : b);
          long logged = t.log.tail() - before;
          assertTrue(logged <= claimed, () -> logged + " bytes, claimed " + claimed);
        }
      }
    }
  }

  /** A million records take a few hundred log records plus the FREE records. */
  @Test
  void freesLeavesWithoutReadingThem() {
    try (TestTree t = new TestTree(4096, 4096, Translation.PREDICTIVE)) {
      for (long i = 0; i < 50_000; i++) {
        t.put(TestTree.bytes(i), new byte[20]);
      }
      long pages = t.verify().pages();
      byte[] low = TestTree.bytes(100L);
      byte[] high = TestTree.bytes(49_900L);
      RangeCut cut = new RangeCut(t.tree, range(low, true, high, false), LogSession.NONE);
      cut.run();
      part(t.model, low, true, high, false).clear();
      t.checkAll();
      assertEquals(200, t.model.size());
      assertTrue(t.verify().pages() < 12, () -> "of " + pages + " there are " + t.verify().pages());
      assertTrue(cut.freed() > pages * 9 / 10);
    }
  }
}
