package io.fovea.btree;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Translation;
import io.fovea.error.CorruptionException;
import io.fovea.error.StorageException;
import io.fovea.memory.Mem;
import io.fovea.support.HeldDevice;
import io.fovea.wal.LogSession;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A run of changes under one latch has the same result as the same changes one by one. */
class LeafRunTest {
  private static final long SEED = Long.getLong("models.seed", 20261126L);

  /** A run with its own key and value memory, also applied to the tree's model. */
  private static final class Runs {
    final TestTree t;
    final LeafRun run = new LeafRun();
    final MemorySegment memory = Arena.ofAuto().allocate(1 << 20, 8);
    final Position p = new Position();
    private int end;

    Runs(TestTree t) {
      this.t = t;
    }

    void begin() {
      end = 0;
      run.begin(memory);
    }

    private int store(byte[] bytes) {
      int at = end;
      Mem.putBytes(memory, at, bytes, 0, bytes.length);
      end += bytes.length;
      return at;
    }

    void put(byte[] key, byte[] value) {
      int at = store(key);
      run.value(at, key.length, store(value), value.length);
      t.model.put(key, value);
    }

    void patch(byte[] key, int slot, int at, byte[] with) {
      patchAt(store(key), key, slot, at, with);
    }

    private void patchAt(int keyAt, byte[] key, int slot, int at, byte[] with) {
      run.patch(keyAt, key.length, slot, at, store(with), with.length);
      byte[] value = t.model.get(key).clone();
      System.arraycopy(with, 0, value, at, with.length);
      t.model.put(key, value);
    }

    boolean install() {
      return run.install(t.tree, p, LogSession.NONE);
    }
  }

  private static byte[] key(long n) {
    return TestTree.bytes(n);
  }

  private static byte[] value(int n, int length) {
    byte[] value = new byte[length];
    Arrays.fill(value, (byte) n);
    return value;
  }

  private static TestTree filled(int count) {
    TestTree t = new TestTree();
    for (int i = 0; i < count; i++) {
      t.put(key(100L * i), value(i, 20));
    }
    return t;
  }

  private static Position at(TestTree t, byte[] key) {
    Position p = new Position();
    t.tree.find(t.staging.key, 0, t.staging.key(key), p);
    return p;
  }

  // ---------------------------------------------------------------------------------- one latch

  @Test
  void versionMovesOncePerRun() {
    try (TestTree t = filled(40)) {
      Position before = at(t, key(500));
      Runs r = new Runs(t);
      r.begin();
      for (int i = 1; i <= 8; i++) {
        r.put(key(500 + i), value(i, 30));
      }
      int first = r.store(key(700));
      r.patchAt(first, key(700), -1, 0, value(9, 3));
      r.patchAt(first, key(700), -1, 5, value(9, 3));
      r.put(key(900), value(9, 20));
      assertTrue(r.install());
      assertEquals(11, r.run.done());
      assertEquals(LeafWriter.VERSION_STEP, at(t, key(500)).version - before.version);
      assertFalse(t.tree.valid(before));
      assertTrue(t.tree.valid(r.p), "the position is that of the last change");
      assertEquals(at(t, key(900)).slot, r.p.slot);
      assertEquals(at(t, key(508)).slot, r.run.slot(7));
      assertEquals(0, r.run.firstOfLeaf());
      assertEquals(1, r.p.pageAccesses - r.p.childSteps, "one descent");
      t.checkAll();
    }
  }

  /**
   * Two records that every run sets to the same value are equal whenever a reader's version is
   * valid.
   */
  @Test
  void readersNeverSeePartOfARun() throws Exception {
    try (TestTree t = filled(40)) {
      t.put(key(1600), t.model.get(key(600)));
      AtomicReference<Throwable> failure = new AtomicReference<>();
      Position place = at(t, key(600));
      Thread reader =
          Thread.ofPlatform()
              .start(
                  () -> {
                    MemorySegment a = Arena.ofAuto().allocate(64, 8);
                    Position p = new Position();
                    Position q = new Position();
                    int seen = 0;
                    while (seen < 200_000 && !Thread.currentThread().isInterrupted()) {
                      Mem.putBytes(a, 0, key(600), 0, 8);
                      t.tree.find(a, 0, 8, p);
                      q.copyFrom(p);
                      Mem.putBytes(a, 0, key(1600), 0, 8);
                      t.tree.locate(a, 0, 8, q);
                      int m = t.tree.copyValue(p, a, 16, 16);
                      int n = t.tree.copyValue(q, a, 32, 16);
                      if (p.frame == q.frame
                          && p.version == q.version
                          && t.tree.valid(p)
                          && (m != n || Mem.getLong(a, 16) != Mem.getLong(a, 32))) {
                        failure.set(new AssertionError("half of a run"));
                        return;
                      }
                      seen++;
                    }
                  });
      Runs r = new Runs(t);
      for (int i = 0; reader.isAlive(); i++) {
        r.begin();
        for (int k = 600; k <= 1600; k += 100) {
          if (i % 2 == 0) {
            r.put(key(k), value(i, 20));
          } else {
            r.patch(key(k), -1, 0, value(i, 20));
          }
        }
        assertTrue(r.install());
      }
      reader.join();
      assertEquals(place.pid, at(t, key(1600)).pid, "they are in one leaf");
      if (failure.get() != null) {
        throw new AssertionError(failure.get());
      }
      t.checkAll();
    }
  }

  // ---------------------------------------------------------------------------------- end of a run

  @Test
  void aFullLeafIsSplitInTheMiddleOfARun() {
    try (TestTree t = filled(10)) {
      Runs r = new Runs(t);
      for (int n = 0; n < 40; n++) {
        r.begin();
        for (int i = 0; !r.run.isFull(); i++) {
          r.put(key(500 + 1 + n * LeafRun.CHANGES_MAX + i), value(i, 60));
        }
        assertTrue(r.install());
        assertTrue(t.tree.valid(r.p));
      }
      assertTrue(t.verify().pages() > 5);
      t.checkAll();
    }
  }

  /** Changes of other leaves are made in the right leaf, whatever leaf was expected. */
  @Test
  void changesOfOtherLeaves() {
    try (TestTree t = filled(2000)) {
      Runs r = new Runs(t);
      r.begin();
      r.put(key(50), value(1, 20));
      r.patch(key(100), 3, 2, value(2, 4));
      r.put(key(150_000), value(3, 20));
      r.patch(key(199_900), 0, 2, value(4, 4));
      r.put(key(-1), value(5, 20)); // the largest
      r.put(key(0), value(6, 900));
      assertTrue(r.install());
      assertEquals(5, r.run.firstOfLeaf());
      t.checkAll();
    }
  }

  /** The change before it is kept; the one after it was not started. */
  @Test
  void aPatchThatDoesNotFitEndsTheRun() {
    try (TestTree t = filled(40)) {
      Position before = at(t, key(500));
      Runs r = new Runs(t);
      r.begin();
      r.put(key(501), value(1, 30));
      r.run.patch(r.store(key(600)), 8, -1, 18, r.store(new byte[3]), 3);
      r.run.value(r.store(key(502)), 8, r.store(new byte[9]), 9);
      assertFalse(r.install());
      assertEquals(1, r.run.done());
      assertFalse(t.tree.valid(before), "a change was made, and the version has moved");
      t.checkAll();

      r.begin();
      before = at(t, key(500));
      r.run.patch(r.store(key(555)), 8, -1, 0, r.store(new byte[3]), 3);
      assertFalse(r.install());
      assertTrue(t.tree.valid(before), "nothing was changed");
      t.checkAll();
    }
  }

  /** Includes a long value, and an empty key with an empty value. */
  @Test
  void recordsOfAnyLength() {
    try (TestTree t = filled(10)) {
      t.put(key(305), new byte[3000]);
      Runs r = new Runs(t);
      r.begin();
      r.put(new byte[0], new byte[0]);
      r.put(key(301), new byte[0]);
      r.put(key(302), value(1, t.tree.inlineMax()));
      r.put(key(303), value(1, t.tree.inlineMax()));
      r.put(key(304), value(1, t.tree.inlineMax()));
      r.put(new byte[t.tree.maxKeySize()], value(2, t.tree.inlineMax()));
      assertTrue(r.install());
      t.checkAll();
      r.begin();
      r.run.patch(r.store(key(305)), 8, -1, 0, r.store(new byte[3]), 3);
      assertFalse(r.install(), "writing a long value creates a new chain");
      r.begin();
      r.run.value(r.store(key(306)), 8, 0, t.tree.inlineMax());
      r.run.value(1 << 20, 8, 0, 1);
      assertThrows(IndexOutOfBoundsException.class, r::install);
      assertEquals(0, r.run.done(), "before anything is latched");
      t.checkAll();
    }
  }

  // -------------------------------------------------------------------------------------- errors

  /** The leaf is damaged, but not in the part that the first change needs. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void completedChangesSurviveAFailure(boolean first) {
    try (TestTree t = filled(40)) {
      Position before = at(t, key(500));
      long dead = t.pool.base(before.frame) + BTreeNode.DEAD;
      short right = (short) BTreeNode.dead(t.pool.pages(), t.pool.base(before.frame));
      Mem.putShort(t.pool.pages(), dead, Short.MAX_VALUE);
      Runs r = new Runs(t);
      r.begin();
      if (first) {
        r.put(key(600), value(7, 20)); // in place
      }
      r.put(key(601), value(7, 30));
      assertThrows(CorruptionException.class, r::install);
      assertEquals(first ? 1 : 0, r.run.done());
      assertEquals(!first, t.tree.valid(before), "the version tells whether anything was changed");
      assertEquals(null, t.pool.poolStop().stopped(), "no change was applied in part");
      // As if the run had ended there: another call continues it.
      Mem.putShort(t.pool.pages(), dead, right);
      assertArrayEquals(value(first ? 7 : 6, 20), t.get(key(600)));
      assertTrue(r.install());
      t.checkAll();
    }
  }

  /** Reads fail where the run continues in another leaf, or splits one. */
  @Test
  void readsThatFailInTheMiddle() {
    HeldDevice device = new HeldDevice();
    try (TestTree t = new TestTree(4096, 64, Translation.PREDICTIVE, device)) {
      Random random = new Random(SEED);
      AtomicInteger countdown = new AtomicInteger();
      Runs r = new Runs(t);
      int inTheMiddle = 0;
      for (int n = 0; n < 3000; n++) {
        r.begin();
        int from = random.nextInt(4000);
        int step = 1 + random.nextInt(40);
        while (!r.run.isFull()) {
          r.put(key(from), value(n, random.nextInt(120)));
          from += step;
        }
        device.readFails = offset -> countdown.decrementAndGet() == 0;
        while (true) {
          countdown.set(1 + random.nextInt(6));
          int done = r.run.done();
          try {
            assertTrue(r.install());
            break;
          } catch (StorageException e) {
            inTheMiddle += r.run.done() > done ? 1 : 0;
            r.p.clear();
          }
        }
        device.readFails = offset -> false;
        if (n % 500 == 0) {
          t.checkAll();
        }
      }
      assertTrue(inTheMiddle > 50, "failures in the middle: " + inTheMiddle);
      t.checkAll();
    }
  }

  // ------------------------------------------------------------------------------------- a model

  @ParameterizedTest
  @ValueSource(ints = {4096, 16384})
  void randomRuns(int pageSize) {
    for (RandomKeys.Kind kind : RandomKeys.Kind.values()) {
      try (TestTree t = new TestTree(pageSize, 1024, Translation.PREDICTIVE)) {
        Random random = new Random(SEED + kind.ordinal());
        RandomKeys keys = new RandomKeys(kind, SEED, t.tree.maxKeySize());
        Runs r = new Runs(t);
        for (int n = 0; n < 400; n++) {
          r.begin();
          byte[] key = keys.next();
          while (!r.run.isFull() && random.nextInt(20) > 0) {
            byte[] old = t.model.get(key);
            if (old != null && old.length <= t.tree.inlineMax() && random.nextBoolean()) {
              int at = random.nextInt(old.length + 1);
              int length = Math.min(random.nextInt(8), old.length - at);
              r.patch(key, random.nextInt(12) - 1, at, value(n, length));
            } else {
              boolean large = random.nextInt(10) == 0;
              r.put(key, value(n, random.nextInt(large ? t.tree.inlineMax() + 1 : 40)));
            }
            key = random.nextBoolean() ? keys.next() : next(t, key);
          }
          if (random.nextBoolean()) {
            r.p.clear(); // otherwise that of the previous run
          }
          assertTrue(r.install());
          if (random.nextInt(4) == 0) {
            t.delete(next(t, keys.next()));
          }
          if (n % 100 == 99) {
            t.checkAll();
          }
        }
      }
    }
  }

  private static byte[] next(TestTree t, byte[] key) {
    byte[] next = t.model.higherKey(key);
    return next == null ? key : next;
  }
}
