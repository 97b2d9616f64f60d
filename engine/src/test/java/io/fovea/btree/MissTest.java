package io.fovea.btree;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.buffer.AllocatorState;
import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PoolConfig;
import io.fovea.config.Translation;
import io.fovea.support.HeldDevice;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** While a page is being loaded, threads that do not need it continue. */
@Tag("slow")
@Timeout(60)
class MissTest {
  private static final int KEYS = 4000;
  private static final int LONG_KEY = KEYS;

  private HeldDevice device = new HeldDevice();
  private BufferPool pool;
  private BTree tree;
  private final AtomicReference<Throwable> failure = new AtomicReference<>();

  /** A tree of two levels with a long value after its last key; nothing is resident. */
  @BeforeEach
  void open() {
    long root;
    AllocatorState state;
    try (TestTree t = new TestTree(4096, 1024, Translation.PREDICTIVE, device)) {
      for (int i = 0; i < KEYS; i++) {
        t.put(TestTree.bytes(i), new byte[100]);
      }
      t.put(TestTree.bytes(LONG_KEY), value());
      assertEquals(2, t.tree.height());
      root = t.tree.rootPid();
      state = t.pool.allocatorState();
      t.pool.close();
    }
    device = new HeldDevice(device.below(), 7);
    pool = new BufferPool(device, PoolConfig.ofFrames(4096, 1024, Translation.PREDICTIVE), state);
    tree = BTree.open(pool, TestTree.TREE_ID, root);
  }

  private static byte[] value() {
    byte[] value = new byte[20_000];
    for (int i = 0; i < value.length; i++) {
      value[i] = (byte) (i * 31);
    }
    return value;
  }

  @AfterEach
  void close() {
    device.release();
    pool.abandon();
  }

  private long find(long key) {
    Position p = new Position();
    TestTree.Staging staging = new TestTree.Staging();
    tree.find(staging.key, 0, staging.key(TestTree.bytes(key)), p);
    assertTrue(p.found, "key " + key);
    return p.pid;
  }

  private Thread start(Runnable body) {
    return Thread.ofPlatform()
        .start(
            () -> {
              try {
                body.run();
              } catch (Throwable e) {
                failure.compareAndSet(null, e);
              }
            });
  }

  private static void await(String what, BooleanSupplier condition) {
    long end = System.nanoTime() + 20_000_000_000L;
    while (!condition.getAsBoolean()) {
      assertTrue(System.nanoTime() < end, "timed out: " + what);
      Thread.yield();
    }
  }

  private void holdLeafOf(long key) {
    long pid = find(key);
    BufferPool old = pool;
    AllocatorState state = pool.allocatorState();
    long root = tree.rootPid();
    old.abandon();
    pool = new BufferPool(device, PoolConfig.ofFrames(4096, 1024, Translation.PREDICTIVE), state);
    tree = BTree.open(pool, TestTree.TREE_ID, root);
    device.forget();
    device.hold(offset -> offset == pid * 4096);
  }

  private void put(long key, int bytes) {
    TestTree.Staging s = new TestTree.Staging();
    int len = s.key(TestTree.bytes(key));
    int valueLen = s.value(new byte[bytes]);
    Writes.upsert(tree, s.key, 0, len, s.value, 0, valueLen, new Position());
  }

  @Test
  void siblingsRemainUsable() throws Exception {
    holdLeafOf(2000);
    Thread missing = start(() -> find(2000));
    Thread second = start(() -> find(2001));
    await("the leaf is being read", () -> device.held.get() == 1);
    // Hits, misses, writes and splits under the parent of the leaf being loaded.
    for (int turn = 0; turn < 2; turn++) {
      for (int i = 0; i < 1800; i++) {
        find(i);
      }
    }
    int before = tree.height();
    for (int i = 0; i < 500; i++) {
      put(100_000 + i, 100);
    }
    assertEquals(before, tree.height());
    LeafScan scan = new LeafScan();
    TestTree.Staging s = new TestTree.Staging();
    scan.seek(tree, s.key, 0, s.key(TestTree.bytes(100)), true, false);
    for (int i = 0; i < 30; i++) {
      assertTrue(scan.load());
    }
    assertEquals(1, device.held.get());
    assertTrue(missing.isAlive() && second.isAlive());
    device.release();
    missing.join();
    second.join();
    assertNull(failure.get());
    device.readsAt.forEach((offset, n) -> assertEquals(1, n.get(), "reads at " + offset));
  }

  /** A scan that reads ahead blocks only the leaves that it reads. */
  @Test
  void duringReadAhead() throws Exception {
    holdLeafOf(1000);
    Thread scanning =
        start(
            () -> {
              LeafScan scan = new LeafScan();
              scan.seek(tree, new TestTree.Staging().key, 0, -1, true, false);
              long keys = 0;
              while (scan.load()) {
                keys += scan.to() - scan.from();
              }
              assertEquals(KEYS + 1, keys);
            });
    await("the leaf is being read", () -> device.held.get() == 1);
    for (int i = 0; i < 500; i++) {
      find(i);
    }
    for (int i = 3000; i < KEYS; i++) {
      find(i);
    }
    assertEquals(1, device.held.get());
    device.release();
    scanning.join();
    assertNull(failure.get());
    device.readsAt.forEach((offset, n) -> assertEquals(1, n.get(), "reads at " + offset));
  }

  /** A page of a long value is read without latches, also on the leaf. */
  @Test
  void leafCanChangeDuringReadOfLongValue() throws Exception {
    find(LONG_KEY);
    device.hold(offset -> true);
    Thread reading =
        start(
            () -> {
              TestTree.Staging s = new TestTree.Staging();
              Position p = new Position();
              byte[] value = value();
              int len = s.key(TestTree.bytes(LONG_KEY));
              int n;
              do {
                tree.find(s.key, 0, len, p);
                n = tree.copyValue(p, s.out, 0, value.length);
              } while (n < 0 || !tree.valid(p));
              assertEquals(value.length, n);
              assertTrue(Arrays.equals(value, s.out(n)));
            });
    await("a page of the value is being read", () -> device.held.get() == 1);
    put(LONG_KEY - 1, 50);
    find(LONG_KEY - 1);
    device.release();
    reading.join();
    assertNull(failure.get());
  }

  /** Virtual threads that miss in one tree: all reads are concurrent. */
  @Test
  void virtualThreadsReadConcurrently() throws Exception {
    List<Long> firsts = new ArrayList<>();
    long last = 0;
    for (int i = 0; i < KEYS; i++) {
      long pid = find(i);
      if (pid != last) {
        firsts.add((long) i);
      }
      last = pid;
    }
    holdLeafOf(0);
    device.hold(offset -> true);
    int n = Math.min(firsts.size(), 64);
    List<Thread> threads = new ArrayList<>();
    for (long key : firsts.subList(0, n)) {
      threads.add(
          Thread.startVirtualThread(
              () -> {
                try {
                  find(key);
                } catch (Throwable e) {
                  failure.compareAndSet(null, e);
                }
              }));
    }
    await("all reads are in flight", () -> device.held.get() == n);
    assertTrue(n > 4 * Runtime.getRuntime().availableProcessors() || n == 64);
    device.release();
    for (Thread thread : threads) {
      thread.join();
    }
    assertNull(failure.get());
  }
}
