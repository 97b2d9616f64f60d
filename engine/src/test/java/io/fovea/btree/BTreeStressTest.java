package io.fovea.btree;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.buffer.FrameVersions;
import io.fovea.buffer.PoolConfig;
import io.fovea.config.Translation;
import io.fovea.io.MemoryDevice;
import io.fovea.memory.Hash;
import io.fovea.memory.Mem;
import io.fovea.support.Records;
import io.fovea.support.TestEnvironment;
import io.fovea.support.UnreliableDeviceState;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Many threads on one tree. Writers own disjoint, interleaved keys. Readers check values: each
 * contains its key, its length and a hash.
 */
@Tag("slow")
class BTreeStressTest {
  private static final int KEYS = 6000;

  private final AtomicReference<Throwable> failure = new AtomicReference<>();
  private final AtomicBoolean stop = new AtomicBoolean();
  private final List<Thread> threads = new ArrayList<>();

  private TestEnvironment where = TestEnvironment.PLAIN;

  private interface Body {
    void run(TestTree.Staging staging, Position position, Random random) throws Exception;
  }

  private void start(int seed, Body body) {
    Thread thread =
        new Thread(
            () -> {
              try {
                body.run(new TestTree.Staging(), new Position(), new Random(seed));
              } catch (Throwable e) {
                failure.compareAndSet(null, e);

                stop.set(true);
              }
            },
            "stress-" + seed);
    threads.add(thread);
    thread.start();
  }

  private void join(int writers) throws Exception {
    for (int i = 0; i < threads.size(); i++) {
      threads.get(i).join();
      if (i == writers - 1) {
        stop.set(true);
      }
    }
    if (failure.get() != null) {
      throw new AssertionError("a thread failed", failure.get());
    }
  }

  /** A key of 4 to 28 bytes: neighbors share prefixes of all lengths. */
  private static int key(TestTree.Staging st, int number) {
    int len = 4 + number % 7 * 4;
    for (int i = 0; i < len - 4; i++) {
      Mem.putByte(st.key, i, (byte) (number >>> 9));
    }
    Mem.putIntBE(st.key, len - 4, number);
    return len;
  }

  private static int value(TestTree.Staging st, int keyLength, int length) {
    int len = Math.max(length, keyLength + 12);
    Mem.copy(st.key, 0, st.value, 0, keyLength);
    Mem.putInt(st.value, keyLength, len);
    for (int i = keyLength + 4; i < len - 8; i++) {
      Mem.putByte(st.value, i, (byte) (i * 31 + len));
    }
    Mem.putLong(st.value, len - 8, Hash.hash(1, st.value, 0, len - 8));
    return len;
  }

  private static void check(TestTree.Staging st, long keyOff, int keyLength, int length) {
    assertTrue(length >= keyLength + 12, () -> "a value of " + length + " bytes");
    assertTrue(Mem.equal(st.out, 0, keyLength, st.key, keyOff, keyLength), "another key's value");
    assertEquals(length, Mem.getInt(st.out, keyLength), "length");
    assertEquals(Hash.hash(1, st.out, 0, length - 8), Mem.getLong(st.out, length - 8), "content");
  }

  private static void read(TestTree t, TestTree.Staging st, Position p, int number, boolean hint) {
    int len = key(st, number);
    for (int i = 0; ; i++) {
      if (hint) {
        t.tree.locate(st.key, 0, len, p);
      } else {
        t.tree.find(st.key, 0, len, p);
      }
      boolean found = p.found;
      int length = found ? t.tree.copyValue(p, st.out, 0, (int) st.out.byteSize()) : 0;
      if (length >= 0 && t.tree.valid(p)) {
        if (found) {
          check(st, 0, len, length);
        } else {
          assertTrue(number % 4 != 0, "a permanent key is missing");
        }
        return;
      }
      assertTrue(i < 10_000_000, "the scan does not end");
    }
  }

  /** Numbers divisible by 4 are permanent; others are inserted and deleted. */
  private void fill(TestTree t) {
    for (int n = 0; n < KEYS; n += 4) {
      int len = key(t.staging, n);
      int vLen = value(t.staging, len, 60);
      Writes.upsert(t.tree, t.staging.key, 0, len, t.staging.value, 0, vLen, t.position);
    }
  }

  private Body writer(TestTree t, int id, int writers, int operations) {
    return (st, p, random) -> {
      // Runs of inserts, then runs of deletes, so that pages split and merge.
      for (int i = 0; i < operations && !stop.get(); ) {
        boolean insert = random.nextInt(3) != 0;
        int from = random.nextInt(KEYS);
        int run = 1 + random.nextInt(200);
        for (int n = from; n < Math.min(KEYS, from + run); n++, i++) {
          if ((n >>> 2) % writers != id) {
            continue;
          }
          int len = key(st, n);
          if (n % 4 != 0 && !insert) {
            where.patiently(() -> Writes.delete(t.tree, st.key, 0, len, p));
          } else {
            int length =
                random.nextInt(100) == 0 ? 1500 + random.nextInt(9000) : random.nextInt(90);
            int vLen = value(st, len, length);
            where.patiently(() -> Writes.upsert(t.tree, st.key, 0, len, st.value, 0, vLen, p));
          }
        }
      }
    };
  }

  private Body reader(TestTree t) {
    return (st, p, random) -> {
      while (!stop.get()) {
        int n = random.nextInt(KEYS);
        boolean hint = random.nextBoolean();
        where.patiently(() -> read(t, st, p, n, hint));
        where.patiently(() -> read(t, st, p, Math.min(KEYS - 1, n + 1), true));
      }
    };
  }

  /** Each permanent key is seen once, in order. */
  private Body scanner(TestTree t, boolean descending) {
    return (st, p, random) -> {
      LeafScan scan = new LeafScan();
      KeyBuffer last = new KeyBuffer(t.tree.maxKeySize());
      while (!stop.get()) {
        where.patiently(() -> scan(t, st, scan, last, descending));
      }
    };
  }

  private static void scan(
      TestTree t, TestTree.Staging st, LeafScan scan, KeyBuffer last, boolean descending) {
    scan.seek(t.tree, st.key, 0, -1, true, descending);
    int stays = 0;
    boolean first = true;
    while (scan.load()) {
      for (int i = 0; i < scan.to() - scan.from(); i++) {
        int slot = descending ? scan.to() - 1 - i : scan.from() + i;
        int len = scan.copyKey(slot, st.key, 0);
        int c = Mem.compare(st.key, 0, len, last.segment(), 0, last.length());
        assertTrue(first || (descending ? c < 0 : c > 0), "keys out of order");
        first = false;
        last.set(st.key, 0, len);
        int number = Mem.getIntBE(st.key, len - 4);
        stays += number % 4 == 0 ? 1 : 0;
        int length = t.copyValue(scan, slot, st.out, (int) st.out.byteSize());
        if (length >= 0) {
          check(st, 0, len, length);
        }
      }
    }
    assertEquals((KEYS + 3) / 4, stays, "permanent keys");
  }

  /** Stepping from successor to successor visits each permanent key once. */
  private Body stepper(TestTree t) {
    return (st, p, random) -> {
      KeyBuffer key = new KeyBuffer(t.tree.maxKeySize());
      while (!stop.get()) {
        int stays = 0;
        key.setLength(0);
        while (step(t, key, p)) {
          stays += Mem.getIntBE(key.segment(), key.length() - 4) % 4 == 0 ? 1 : 0;
        }
        assertEquals((KEYS + 3) / 4, stays, "permanent keys");
      }
    };
  }

  private boolean step(TestTree t, KeyBuffer key, Position p) {
    boolean[] found = {false};
    where.patiently(() -> found[0] = t.tree.successor(key.segment(), 0, key.length(), p, key));
    return found[0];
  }

  private void run(int pageSize, int frames, Translation translation, int writers, int operations)
      throws Exception {
    UnreliableDeviceState smooth = where.deviceState(0);
    run(new TestTree(pageSize, frames, translation), smooth, writers, operations);
  }

  private void run(TestTree tree, UnreliableDeviceState deviceState, int writers, int operations)
      throws Exception {
    try (TestTree t = tree) {
      deviceState.faults(false);
      fill(t);
      deviceState.faults(true);
      for (int i = 0; i < writers; i++) {
        start(i, writer(t, i, writers, operations));
      }
      start(100, reader(t));
      start(101, reader(t));
      start(102, scanner(t, false));
      start(103, scanner(t, true));
      start(104, stepper(t));
      FrameVersions versions = new FrameVersions(t.pool);
      start(
          105,
          (st, p, random) -> {
            while (!stop.get()) {
              versions.inspect();
              Thread.yield();
            }
          });
      join(writers);
      deviceState.faults(false);
      t.freeStrays();
      t.verify();
      // After deleting everything the tree must be an empty root, without lost pages.
      for (int n = 0; n < KEYS; n++) {
        Writes.delete(t.tree, t.staging.key, 0, key(t.staging, n), t.position);
      }
      assertEquals(0, t.verify().keys());
    }
  }

  @ParameterizedTest
  @EnumSource(Translation.class)
  void inMemory(Translation translation) throws Exception {
    run(4096, 2048, translation, 3, 60_000);
  }

  @ParameterizedTest
  @EnumSource(value = Translation.class, names = "DIRECT", mode = EnumSource.Mode.EXCLUDE)
  void smallestPool(Translation translation) throws Exception {
    run(4096, 64, translation, 2, 6_000);
  }

  @ParameterizedTest
  @EnumSource
  void inEnvironment(TestEnvironment environment) {
    environment.each(
        1,
        (deviceState, seed) -> {
          where = environment;
          stop.set(false);
          threads.clear();
          run(
              environment.making(
                  () ->
                      new TestTree(
                          deviceState.on(new MemoryDevice()),
                          Records.with(
                              PoolConfig.ofFrames(
                                  environment.pageSize(),
                                  environment.smallest() ? PoolConfig.FRAMES_MIN : 256,
                                  // Except DIRECT, which needs memory for the whole file.
                                  Translation.values()[
                                      (int) (seed % (Translation.values().length - 1))]),
                              "frameHints",
                              environment.hints()))),
              deviceState,
              2,
              environment.steps(20_000));
        });
  }

  @ParameterizedTest
  @CsvSource({"8192, 256", "16384, 128", "65536, 96"})
  void otherPages(int pageSize, int frames) throws Exception {
    run(pageSize, frames, Translation.PREDICTIVE, 3, 30_000);
  }

  /** All threads insert and delete within one leaf, which contends for its latch. */
  @Test
  void oneHotLeaf() throws Exception {
    try (TestTree t = new TestTree(4096, 128, Translation.PREDICTIVE)) {
      int writers = 6;
      for (int id = 0; id < writers; id++) {
        int mine = id;
        start(
            id,
            (st, p, random) -> {
              for (int i = 0; i < 20_000 && !stop.get(); i++) {
                int n = random.nextInt(40) * writers + mine;
                int len = key(st, n);
                if (random.nextInt(3) == 0) {
                  Writes.delete(t.tree, st.key, 0, len, p);
                } else {
                  int vLen = value(st, len, random.nextInt(60));
                  Writes.upsert(t.tree, st.key, 0, len, st.value, 0, vLen, p);
                  Writes.patch(t.tree, st.key, 0, len, 0, st.key, 0, len, p);
                  t.tree.locate(st.key, 0, len, p);
                  int length = t.tree.copyValue(p, st.out, 0, 1000);
                  if (length >= 0 && t.tree.valid(p)) {
                    assertTrue(p.found);
                    check(st, 0, len, length);
                  }
                }
              }
            });
      }
      join(writers);
      t.verify();
    }
  }

  /** Several threads append ascending keys while others read. */
  @Test
  void concurrentAppends() throws Exception {
    try (TestTree t = new TestTree(4096, 4096, Translation.PREDICTIVE)) {
      int writers = 4;
      int each = 15_000;
      for (int id = 0; id < writers; id++) {
        int mine = id;
        start(
            id,
            (st, p, random) -> {
              for (int i = 0; i < each; i++) {
                Mem.putLongBE(st.key, 0, (long) i * writers + mine);
                int vLen = value(st, 8, 40);
                assertTrue(Writes.upsert(t.tree, st.key, 0, 8, st.value, 0, vLen, p));
                Mem.putLongBE(st.key, 0, (long) random.nextInt(i + 1) * writers + mine);
                t.tree.find(st.key, 0, 8, p);
                assertTrue(p.found);
              }
            });
      }
      join(writers);
      assertEquals((long) writers * each, t.verify().keys());
      assertNull(failure.get());
    }
  }
}
