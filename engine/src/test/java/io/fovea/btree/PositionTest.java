package io.fovea.btree;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageHeader;
import io.fovea.config.Translation;
import io.fovea.error.CorruptionException;
import io.fovea.error.KeyTooLargeException;
import io.fovea.memory.Mem;
import io.fovea.wal.LogSession;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;

/** Positions are hints: results are right even if a position is stale, wrong or of another tree. */
class PositionTest {
  private static TestTree filled(int count) {
    TestTree t = new TestTree(4096, 2048, Translation.PREDICTIVE);
    for (int i = 0; i < count; i++) {
      t.put(TestTree.bytes(10L * i), TestTree.bytes("value " + i));
    }
    return t;
  }

  private static long accesses(TestTree t, Runnable body) {
    long before = t.position.pageAccesses;
    body.run();
    return t.position.pageAccesses - before;
  }

  @Test
  void savesTheDescent() {
    try (TestTree t = filled(60_000)) {
      int height = t.tree.height();
      assertEquals(3, height);
      byte[] key = TestTree.bytes(5000);
      assertEquals(height, accesses(t, () -> t.checkGet(key)));
      assertEquals(1, accesses(t, () -> t.checkLocate(key)));
      assertEquals(1, accesses(t, () -> t.checkLocate(TestTree.bytes(5010))));
      assertEquals(1, accesses(t, () -> t.checkLocate(TestTree.bytes(5005))));
      // After a change that advances the version.
      Position own = new Position();
      own.copyFrom(t.position);
      t.put(TestTree.bytes(5001), new byte[3]);
      t.position.copyFrom(own);
      assertFalse(t.tree.valid(own));
      assertEquals(1, accesses(t, () -> t.checkLocate(key)));
      // Changes also use and update positions.
      assertEquals(1, accesses(t, () -> t.patch(key, 0, new byte[2])));
      assertEquals(1, accesses(t, () -> t.put(key, new byte[9])));
      assertTrue(t.tree.valid(t.position));
      assertEquals(1, accesses(t, () -> t.delete(key)));
      assertTrue(t.tree.valid(t.position));
      assertFalse(t.position.found);
      assertEquals(1, accesses(t, () -> t.put(key, new byte[9])));
      assertEquals(height + 1, accesses(t, () -> t.checkLocate(TestTree.bytes(150_000))));
      t.position.clear();
      assertEquals(height, accesses(t, () -> t.checkLocate(key)));
    }
  }

  /** Acts like the pool's writer when it is descheduled while copying the leaf. */
  @Test
  void isRightAfterAWaitForTheLatch() throws Exception {
    try (TestTree t = filled(3000);
        ExecutorService writer = Executors.newSingleThreadExecutor()) {
      byte[] key = TestTree.bytes(5000);
      List<Runnable> changes =
          List.of(
              () -> t.put(key, new byte[11]),
              () -> t.patch(key, 0, new byte[2]),
              () -> t.delete(key));
      for (Runnable change : changes) {
        t.checkGet(key);
        BufferPool pool = t.tree.pool();
        int leaf = pool.fixShared(t.position.pid);
        Future<?> waiting;
        try {
          waiting = writer.submit(change);
          // The writer retries before it waits; if it is late, the test only checks less.
          assertThrows(TimeoutException.class, () -> waiting.get(50, TimeUnit.MILLISECONDS));
        } finally {
          pool.releaseShared(leaf);
        }
        waiting.get();
        assertTrue(t.tree.valid(t.position));
        assertEquals(1, accesses(t, () -> t.checkLocate(key)));
      }
    }
  }

  @Test
  void stalePositions() {
    try (TestTree t = filled(3000)) {
      Random random = new Random(5);
      Position[] old = new Position[200];
      for (int round = 0; round < 60; round++) {
        for (int i = 0; i < old.length; i++) {
          if (old[i] == null || random.nextInt(4) == 0) {
            t.checkGet(TestTree.bytes(random.nextInt(30_000)));
            old[i] = new Position();
            old[i].copyFrom(t.position);
            switch (random.nextInt(8)) {
              case 0 -> old[i].slot = random.nextInt(5000);
              case 1 -> old[i].frame = random.nextInt(t.pool.frames());
              case 2 -> old[i].pid = random.nextLong();
              case 3 -> old[i].found ^= true;
              default -> {}
            }
          }
        }
        // Splits, merges, freed and reused pages.
        int from = random.nextInt(30_000);
        for (int n = from; n < from + 3000; n++) {
          if (round % 2 == 0) {
            t.put(TestTree.bytes(n), new byte[random.nextInt(60)]);
          } else {
            t.delete(TestTree.bytes(n));
          }
        }
        for (Position p : old) {
          byte[] key = TestTree.bytes(random.nextInt(30_000));
          t.position.copyFrom(p);
          t.checkLocate(key);
          t.position.copyFrom(p);
          t.checkSuccessor(key);
          t.position.copyFrom(p);
          switch (random.nextInt(3)) {
            case 0 -> t.put(key, new byte[random.nextInt(60)]);
            case 1 -> t.delete(key);
            default -> t.patch(key, 1, new byte[2]);
          }
        }
        t.verify();
      }
      t.checkAll();
    }
  }

  @Test
  void ofAnotherTree() {
    try (TestTree t = filled(1000)) {
      BTree other = BTree.create(t.pool, 8, LogSession.NONE);
      Position p = new Position();
      int len = t.staging.key(TestTree.bytes(50));
      t.tree.find(t.staging.key, 0, len, p);
      assertTrue(p.found);
      other.locate(t.staging.key, 0, len, p);
      assertFalse(p.found);
      t.tree.find(t.staging.key, 0, len, p);
      assertTrue(Writes.upsert(other, t.staging.key, 0, len, t.staging.key, 0, 3, p));
      assertNotEquals(0, p.pid);
      assertTrue(Writes.delete(t.tree, t.staging.key, 0, len, p));
      t.model.remove(TestTree.bytes(50));
      assertEquals(1, TreeVerifier.verify(other).keys());
      TreeDrop.free(other, LogSession.NONE);
      t.checkAll();
    }
  }

  @Test
  void latchedForAReaderThatKeepsRestarting() {
    try (TestTree t = filled(1000)) {
      Position p = new Position();
      int len = t.staging.key(TestTree.bytes(500));
      t.tree.descent().findShared(t.staging.key, 0, len, false, p);
      assertTrue(p.found);
      assertTrue(t.tree.valid(p));
      assertFalse(t.pool.tryExclusive(p.frame, p.pid));
      assertEquals(8, t.tree.copyValue(p, t.staging.out, 0, 100));
      assertTrue(t.tree.valid(p));
      t.tree.releaseShared(p);
      assertTrue(t.tree.valid(p));
      t.put(TestTree.bytes(500), new byte[3]);
      assertFalse(t.tree.valid(p));
    }
  }

  @Test
  void limits() {
    try (TestTree t = filled(10)) {
      int max = t.tree.maxKeySize();
      assertEquals(512, max);
      byte[] longest = new byte[max];
      t.put(longest, new byte[1024]);
      t.put(new byte[0], new byte[0]);
      t.checkAll();
      t.staging.key(new byte[max + 1]);
      assertThrows(
          KeyTooLargeException.class,
          () ->
              Writes.upsert(t.tree, t.staging.key, 0, max + 1, t.staging.value, 0, 0, t.position));
      // Looking up such a key is allowed: it is absent.
      t.tree.find(t.staging.key, 0, max + 1, t.position);
      assertFalse(t.position.found);
      t.checkScan(new byte[max + 1], true, false);
      t.checkScan(new byte[max + 1], true, true);
      long size = t.staging.key.byteSize();
      assertThrows(
          IndexOutOfBoundsException.class,
          () ->
              Writes.upsert(t.tree, t.staging.key, size - 1, 2, t.staging.value, 0, 0, t.position));
      assertThrows(
          IndexOutOfBoundsException.class,
          () -> Writes.upsert(t.tree, t.staging.key, 0, 2, t.staging.value, -1, 2, t.position));
      t.checkAll();
    }
  }

  @Test
  void openChecksTheRoot() {
    try (TestTree t = filled(1000)) {
      BTree again = BTree.open(t.pool, TestTree.TREE_ID, t.tree.rootPid());
      assertEquals(1000, TreeVerifier.verify(again).keys());
      assertThrows(CorruptionException.class, () -> BTree.open(t.pool, 9, t.tree.rootPid()));
      int frame = t.pool.allocate(7, PageHeader.OVERFLOW, LogSession.NONE);
      long pid = t.pool.pid(frame);
      t.pool.releaseExclusive(frame);
      assertThrows(CorruptionException.class, () -> BTree.open(t.pool, 7, pid));
      BTree catalog = BTree.createAt(t.pool, 1, 2, LogSession.NONE);
      assertEquals(2, catalog.rootPid());
      assertTrue(
          Writes.upsert(catalog, t.staging.key, 0, 4, t.staging.value, 0, 10, new Position()));
      assertEquals(1, TreeVerifier.verify(catalog).keys());
    }
  }

  @Test
  void dropFreesEverything() {
    try (TestTree t = new TestTree(4096, 256, Translation.PREDICTIVE)) {
      for (int i = 0; i < 5000; i++) {
        t.put(TestTree.bytes(i * 7919L), new byte[i % 100 == 0 ? 9000 : 30]);
      }
      t.verify();
      TreeDrop.free(t.tree, LogSession.NONE);
      assertEquals(0, t.pagesInUse());
    }
  }

  /** Bytes around the key are ignored, at any alignment. */
  @Test
  void keysAnywhere() {
    try (TestTree t = filled(500)) {
      Random random = new Random(3);
      for (int i = 0; i < 2000; i++) {
        byte[] key = TestTree.bytes(random.nextInt(6000));
        int off = random.nextInt(100);
        for (int b = 0; b < 200; b++) {
          Mem.putByte(t.staging.key, b, (byte) random.nextInt());
        }
        Mem.putBytes(t.staging.key, off, key, 0, 8);
        t.tree.locate(t.staging.key, off, 8, t.position);
        assertEquals(t.model.containsKey(key), t.position.found);
      }
    }
  }
}
