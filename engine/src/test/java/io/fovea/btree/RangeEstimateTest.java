package io.fovea.btree;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Translation;
import io.fovea.memory.Mem;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Compares estimates with a map of the same entries. */
class RangeEstimateTest {
  private static final byte[] NONE = null;

  private final MemorySegment ends = Arena.ofAuto().allocate(2 << 12, 8);

  private RangeEstimate estimate(
      BTree tree, byte @Nullable [] low, boolean lowIn, byte @Nullable [] high, boolean highIn) {
    int lowLen = end(low, 0);
    int highLen = end(high, 1 << 12);
    return RangeEstimate.of(tree, ends, 0, lowLen, lowIn, ends, 1 << 12, highLen, highIn);
  }

  private int end(byte @Nullable [] key, int at) {
    if (key == null) {
      return -1;
    }
    Mem.putBytes(ends, at, key, 0, key.length);
    return key.length;
  }

  private static NavigableMap<byte[], byte[]> between(
      TestTree t, byte @Nullable [] low, boolean lowIn, byte @Nullable [] high, boolean highIn) {
    NavigableMap<byte[], byte[]> all = t.model;
    int order = low == null || high == null ? -1 : TestTree.ORDER.compare(low, high);
    if (order > 0 || order == 0 && !(lowIn && highIn)) {
      return new TreeMap<>(TestTree.ORDER);
    }
    all = low == null ? all : all.tailMap(low, lowIn);
    return high == null ? all : all.headMap(high, highIn);
  }

  private static long bytes(Map<byte[], byte[]> map) {
    return map.entrySet().stream().mapToLong(e -> e.getKey().length + e.getValue().length).sum();
  }

  /** Any keys, with gaps and long values. The bound is far beyond random variation. */
  @net.jqwik.api.Tag("slow")
  @Property(tries = 60)
  void about(
      @ForAll long seed,
      @ForAll RandomKeys.Kind kind,
      @ForAll @IntRange(min = 0, max = 6_000) int size) {
    try (TestTree t = new TestTree(4096, 4096, Translation.PREDICTIVE)) {
      SplittableRandom random = new SplittableRandom(seed);
      RandomKeys keys = new RandomKeys(kind, seed, 40);
      for (int i = 0; i < size; i++) {
        t.put(keys.next(), new byte[random.nextInt(i % 200 == 0 ? 3_000 : 60)]);
      }
      // Some of the keys are thinned out, so that subtrees differ.
      byte[][] all = t.model.keySet().toArray(byte[][]::new);
      int holes = all.length / 3;
      for (int i = 0; i < holes; i++) {
        if (random.nextInt(4) > 0) {
          t.delete(all[i]);
        }
      }
      for (int i = 0; i < 30; i++) {
        byte[] low = random.nextInt(5) == 0 ? NONE : some(all, keys, random);
        byte[] high = random.nextInt(5) == 0 ? NONE : some(all, keys, random);
        boolean lowIn = random.nextBoolean();
        boolean highIn = random.nextBoolean();
        NavigableMap<byte[], byte[]> real = between(t, low, lowIn, high, highIn);
        RangeEstimate e = estimate(t.tree, low, lowIn, high, highIn);
        assertNear(real.size(), e.entries(), 60);
        assertNear(bytes(real), e.bytes(), 20_000);
        RangeEstimate again = estimate(t.tree, low, lowIn, high, highIn);
        assertEquals(e.entries(), again.entries());
      }
    }
  }

  private static byte[] some(byte[][] all, RandomKeys keys, SplittableRandom random) {
    return all.length == 0 || random.nextBoolean() ? keys.next() : all[random.nextInt(all.length)];
  }

  private static void assertNear(long real, long estimate, long few) {
    boolean near = estimate <= 2 * real + few && real <= 2 * estimate + few;
    assertTrue(near, () -> estimate + " is not near " + real);
  }

  /** Short ranges in a tree of three levels: up to two leaves are counted exactly. */
  @Test
  void shortRangesAreExact() {
    try (TestTree t = new TestTree(4096, 4096, Translation.PREDICTIVE)) {
      for (int i = 0; i < 20_000; i++) {
        t.put(TestTree.bytes(2L * i), new byte[20]);
      }
      assertTrue(t.tree.height() >= 2);
      Random random = new Random(1);
      int exact = 0;
      for (int i = 0; i < 4_000; i++) {
        long from = random.nextInt(40_000);
        byte[] low = TestTree.bytes(from);
        byte[] high = TestTree.bytes(from + random.nextInt(60));
        boolean lowIn = random.nextBoolean();
        boolean highIn = random.nextBoolean();
        RangeEstimate e = estimate(t.tree, low, lowIn, high, highIn);
        int real = between(t, low, lowIn, high, highIn).size();
        assertEquals(real, e.entries(), () -> Arrays.toString(low) + " " + Arrays.toString(high));
        exact++;
      }
      assertEquals(4_000, exact);
      assertEquals(
          0, estimate(t.tree, TestTree.bytes(9L), true, TestTree.bytes(3L), true).entries());
      assertNear(20_000, estimate(t.tree, NONE, true, NONE, true).entries(), 0);
      assertNear(10_000, estimate(t.tree, NONE, true, TestTree.bytes(20_000L), true).entries(), 0);
    }
  }

  @Test
  void betweenAKeyAndItself() {
    try (TestTree t = new TestTree(4096, 256, Translation.PREDICTIVE)) {
      for (int i = 0; i < 3_000; i++) {
        t.put(TestTree.bytes((long) i), new byte[10]);
      }
      for (int i = 0; i < 3_000; i++) {
        byte[] key = TestTree.bytes((long) i);
        assertEquals(1, estimate(t.tree, key, true, key, true).entries());
        assertEquals(0, estimate(t.tree, key, false, key, true).entries());
        assertEquals(0, estimate(t.tree, key, true, key, false).entries());
        assertEquals(0, estimate(t.tree, key, false, key, false).entries());
      }
    }
  }

  /** The empty tree, the longest key of 0xFF, and the empty key. */
  @Test
  void edges() {
    try (TestTree t = new TestTree(4096, 256, Translation.PREDICTIVE)) {
      assertEquals(0, estimate(t.tree, NONE, true, NONE, true).entries());
      byte[] largest = new byte[t.tree.maxKeySize()];
      Arrays.fill(largest, (byte) 0xFF);
      t.put(largest, new byte[3]);
      t.put(new byte[0], new byte[2]);
      RangeEstimate all = estimate(t.tree, NONE, true, NONE, true);
      assertEquals(2, all.entries());
      assertEquals(largest.length + 5, all.bytes());
      assertEquals(1, estimate(t.tree, new byte[0], false, NONE, true).entries());
      assertEquals(1, estimate(t.tree, NONE, true, largest, false).entries());
    }
  }

  /** Writers at most double the entries of a range. */
  private boolean isAboutRight(BTree tree, long from, long to, long real, List<Long> far) {
    long found = estimate(tree, TestTree.bytes(from), true, TestTree.bytes(to), false).entries();
    if (found <= 4 * real + 500 && 2 * found + 500 >= real) {
      return true;
    }
    far.add(found);
    return false;
  }

  /** Approximately right during inserts, deletes, splits, merges and evictions. */
  @Test
  void duringWrites() throws InterruptedException {
    try (TestTree t = new TestTree(4096, 128, Translation.PREDICTIVE)) {
      for (int i = 0; i < 20_000; i++) {
        t.put(TestTree.bytes(2L * i), new byte[30]);
      }
      AtomicBoolean stop = new AtomicBoolean();
      Thread[] writers = new Thread[2];
      for (int w = 0; w < writers.length; w++) {
        int mine = w;
        writers[w] = Thread.ofPlatform().start(() -> write(t.tree, mine, stop));
      }
      try {
        SplittableRandom random = new SplittableRandom(1);
        for (int i = 0; i < 3_000; i++) {
          long from = random.nextInt(40_000);
          long to = random.nextInt(40_000);
          long real = Math.max(0, (to - from) / 2);
          // Nodes from before and after a split may be far off, but not twice in a row.
          List<Long> far = new ArrayList<>();
          while (far.size() < 2 && !isAboutRight(t.tree, from, to, real, far)) {
            // retry
          }
          assertTrue(far.size() < 2, () -> far + " of " + real);
        }
      } finally {
        stop.set(true);
        for (Thread w : writers) {
          w.join();
        }
      }
    }
  }

  private static void write(BTree tree, int mine, AtomicBoolean stop) {
    SplittableRandom random = new SplittableRandom(mine);
    MemorySegment memory = Arena.ofAuto().allocate(64, 8);
    Position p = new Position();
    while (!stop.get()) {
      long from = random.nextInt(10_000) * 4L + 2L * mine + 1;
      for (int pass = 0; pass < 2; pass++) {
        for (long k = from; k < from + 2_000; k += 4) {
          Mem.putBytes(memory, 0, TestTree.bytes(k), 0, 8);
          if (pass == 0) {
            Writes.upsert(tree, memory, 0, 8, memory, 16, 30, p);
          } else {
            Writes.delete(tree, memory, 0, 8, p);
          }
        }
      }
    }
  }
}
