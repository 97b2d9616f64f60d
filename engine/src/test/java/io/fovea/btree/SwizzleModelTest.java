package io.fovea.btree;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.buffer.Swizzles;
import io.fovea.config.Translation;
import io.fovea.memory.LongList;
import io.fovea.memory.Mem;
import io.fovea.wal.LogSession;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Trees in the smallest pool with swizzled references: after each step all references and parent
 * links are exact ({@link Swizzles}). Steps include all structure changes, and most evict pages.
 *
 * <p>Detects these mutants: no adopt in a split, root split, merge, move, root move or root shrink;
 * an inner page evicted before its children; a drop that does not forsake its children. Long,
 * similar keys (PREFIXES) are needed to split inner nodes. {@link #stress} finds S2 without the
 * child's latch, S4, and a merge without adopt. S3 needs three threads at once: see {@code
 * SwizzlingTest}. A cut without disown is not found, since it has no lasting effect; one that
 * disowns remaining children is found only under load.
 */
@Tag("slow")
class SwizzleModelTest {
  private static final long SEED = Long.getLong("models.seed", 1);
  private static final LogSession NONE = LogSession.NONE;

  private static byte[] value(Random random) {
    return new byte[random.nextInt(random.nextInt(4) == 0 ? 900 : 400)];
  }

  @ParameterizedTest
  @EnumSource(RandomKeys.Kind.class)
  void afterEachStep(RandomKeys.Kind kind) {
    try (TestTree t = new TestTree(4096, 64, Translation.SWIZZLED)) {
      RandomKeys keys = new RandomKeys(kind, SEED, t.tree.maxKeySize());
      Random random = new Random(SEED);
      int steps = 2500;
      int most = 0;
      for (int i = 0; i < steps; i++) {
        boolean growing = i % (steps / 2) < steps / 3;
        byte[] key = keys.next();
        switch (random.nextInt(growing ? 40 : 20)) {
          case 0 -> t.checkScan(key, true, random.nextBoolean());
          case 1 -> t.checkGet(key);
          case 2 -> compact(t, random);
          case 3 -> lower(t);
          case 4 -> cut(t, key, random.nextInt(30) == 0 ? null : keys.next(), growing);
          case 5 -> another(t, random);
          default -> {
            if (growing) {
              t.put(key, value(random));
            } else if (!t.model.isEmpty()) {
              byte[] near = t.model.ceilingKey(key);
              t.delete(near == null ? t.model.lastKey() : near);
            }
          }
        }
        most = Math.max(most, Swizzles.check(t.pool));
      }
      // With some seeds nearly everything is deleted again, or only a few distinct short keys
      // remain.
      for (int i = 0; i < steps && (most <= 20 || Swizzles.unswizzled(t.pool) <= 20); i++) {
        t.put(keys.next(), value(random));
        most = Math.max(most, Swizzles.check(t.pool));
      }
      t.checkAll();
      assertTrue(most > 20, "named: " + most);
      assertTrue(Swizzles.unswizzled(t.pool) > 20, "left: " + Swizzles.unswizzled(t.pool));
      while (!t.model.isEmpty()) {
        t.delete(random.nextBoolean() ? t.model.firstKey() : t.model.lastKey());
        Swizzles.check(t.pool);
      }
      assertEquals(1, t.verify().pages());
    } catch (Throwable e) {
      throw new AssertionError("-Dmodels.seed=" + SEED, e);
    }
  }

  private static void compact(TestTree t, Random random) {
    TreeCompaction nodes = new TreeCompaction(t.tree);
    LongList spare = new LongList();
    for (int i = 0; i < 3; i++) {
      nodes.spare(spare, NONE);
    }
    nodes.step(spare, random.nextInt(200), 20, NONE);
    Swizzles.check(t.pool);
    nodes.freeSpare(spare, NONE);
    t.freeStrays();
  }

  /** Moves the root, at least its first step. */
  private static void lower(TestTree t) {
    RootMove move = new RootMove(t.tree);
    if (move.findChild() == 0) {
      TreeCompaction nodes = new TreeCompaction(t.tree);
      LongList spare = new LongList();
      nodes.spare(spare, NONE);
      assertTrue(move.lower(spare, NONE));
      nodes.freeSpare(spare, NONE);
    }
    Swizzles.check(t.pool);
    assertTrue(move.latch());
    move.publish(NONE);
  }

  private static void cut(TestTree t, byte[] low, byte[] other, boolean few) {
    byte[] a = few ? t.model.ceilingKey(low) : low;
    if (a == null) {
      return;
    }
    byte[] high = other;
    if (few) {
      high = a;
      for (int i = 0; high != null && i < 20; i++) {
        high = t.model.higherKey(high);
      }
    }
    if (high != null && TestTree.ORDER.compare(a, high) > 0) {
      return;
    }
    new RangeCut(t.tree, RangeCutTest.range(a, true, high, false), NONE).run();
    RangeCutTest.part(t.model, a, true, high, false).clear();
    t.freeStrays();
  }

  /** Bulk loads a second tree, reads it, and drops it in steps. */
  private static void another(TestTree t, Random random) {
    BTree tree = BTree.create(t.pool, 8 + random.nextInt(1_000_000), NONE);
    int count = random.nextInt(600);
    boolean finish = random.nextInt(4) > 0;
    try (BulkLoader loader = new BulkLoader(tree, 1, NONE)) {
      for (int i = 0; i < count; i++) {
        byte[] key = TestTree.bytes(i);
        loader.add(t.staging.key, 0, t.staging.key(key), t.staging.value, 0, 300);
      }
      if (finish) {
        loader.finish();
      }
    }
    Swizzles.check(t.pool);
    for (int i = 0; finish && i < count; i += 5) {
      tree.find(t.staging.key, 0, t.staging.key(TestTree.bytes(i)), t.position);
      assertTrue(t.position.found);
    }
    TreeDrop drop = TreeDrop.of(tree, NONE);
    while (!drop.step(7)) {
      Swizzles.check(t.pool);
    }
  }

  // ---------------------------------------------------------------------------------- many threads

  private static final int KEYS = 4000;

  private static int key(TestTree.Staging s, int number) {
    // Spread out, so that threads meet in all leaves; long enough for some inner nodes.
    byte[] key = new byte[200];
    Mem.putIntBE(s.key, 0, number * 0x9E3779B1);
    for (int i = 4; i < key.length; i++) {
      Mem.putByte(s.key, i, (byte) number);
    }
    return key.length;
  }

  /** Eight inner pages and hundreds of leaves in 64 frames; splits, merges and root changes. */
  @Test
  void stress() throws Exception {
    AtomicBoolean stop = new AtomicBoolean();
    AtomicReference<Throwable> failure = new AtomicReference<>();
    try (TestTree t = new TestTree(4096, 64, Translation.SWIZZLED)) {
      List<Thread> writers = new ArrayList<>();
      List<Thread> readers = new ArrayList<>();
      for (int id = 0; id < 2; id++) {
        int mine = id;
        writers.add(start(failure, s -> write(t, s, mine, stop)));
        readers.add(start(failure, s -> read(t, s, stop)));
      }
      for (Thread thread : writers) {
        thread.join();
      }
      stop.set(true);
      for (Thread thread : readers) {
        thread.join();
      }
      if (failure.get() != null) {
        throw new AssertionError("a thread failed", failure.get());
      }
      Swizzles.check(t.pool);
      t.verify();
      assertTrue(Swizzles.unswizzled(t.pool) > 10_000, "left: " + Swizzles.unswizzled(t.pool));
      assertTrue(Swizzles.stayed(t.pool) > 0, "no permanent key was written");
    }
  }

  private static Thread start(AtomicReference<Throwable> failure, Consumer<TestTree.Staging> body) {
    return Thread.ofPlatform()
        .start(
            () -> {
              try {
                body.accept(new TestTree.Staging());
              } catch (Throwable e) {
                failure.compareAndSet(null, e);
              }
            });
  }

  /** Inserts and deletes all its keys, so that the tree grows and shrinks by two levels. */
  private static void write(TestTree t, TestTree.Staging s, int mine, AtomicBoolean stop) {
    Position p = new Position();
    for (int round = 0; round < 4 && !stop.get(); round++) {
      for (int i = mine; i < KEYS; i += 2) {
        int len = key(s, i);
        Mem.copy(s.key, 0, s.value, 0, len);
        Writes.upsert(t.tree, s.key, 0, len, s.value, 0, len + i % 300, p);
      }
      for (int i = mine; i < KEYS; i += 2) {
        if (i % 64 > 1) {
          assertTrue(Writes.delete(t.tree, s.key, 0, key(s, i), p), "key " + i);
        }
      }
    }
  }

  /** A value begins with its key; one key in 64 is permanent once written. */
  private static void read(TestTree t, TestTree.Staging s, AtomicBoolean stop) {
    Position p = new Position();
    Random random = new Random();
    boolean[] seen = new boolean[KEYS];
    while (!stop.get()) {
      int i = random.nextInt(KEYS);
      int len = key(s, i);
      boolean found;
      int length;
      do {
        t.tree.find(s.key, 0, len, p);
        found = p.found;
        length = found ? t.tree.copyValue(p, s.out, 0, 600) : 0;
      } while (length < 0 || !t.tree.valid(p));
      if (found) {
        assertEquals(len + i % 300, length, "value of key " + i);
        assertTrue(Mem.equal(s.out, 0, len, s.key, 0, len), "value of another key");
      }
      assertTrue(found || i % 64 > 1 || !seen[i], "key " + i + " is missing");
      seen[i] |= found;
    }
  }
}
