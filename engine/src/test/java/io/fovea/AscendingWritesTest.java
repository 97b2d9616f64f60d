package io.fovea;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Protocol;
import io.fovea.error.DuplicateKeyException;
import io.fovea.schema.TableSpec;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Compares writes of ascending keys, within and across transactions, with sorted maps. A commit
 * reuses what it knows from the previous entry (successor, absence of the key, leaf); the reused
 * knowledge must be right under each protocol, when runs of several threads meet, and when runs are
 * interrupted.
 */
@Timeout(120)
class AscendingWritesTest {
  private static final long SEED = Long.getLong("models.seed", 20261126L);
  private static final int KEY_MAX = 24;

  private static final Options OPTIONS =
      Options.defaults().bufferBytes(16 << 20).transactions(txs -> txs.maxActive(8));

  private static Database open(Protocol protocol) {
    return Database.inMemory(OPTIONS.experiments(exp -> exp.protocol(protocol)));
  }

  private static Table<byte[], byte[]> table(Database db, String name) {
    return db.table(TableSpec.bytes(name, KEY_MAX)).bytes();
  }

  private static byte[] key(long n) {
    return ByteBuffer.allocate(8).putLong(n).array();
  }

  private static byte[] value(Random random) {
    byte[] value = new byte[random.nextInt(20) == 0 ? 1500 : 1 + random.nextInt(200)];
    random.nextBytes(value);
    return value;
  }

  /**
   * Returns a run of keys: ascending, descending, in steps, interleaved, overlapping, or prefixes
   * of each other.
   */
  private static List<byte[]> run(Random random) {
    List<byte[]> keys = new ArrayList<>();
    int n = 1 + random.nextInt(120);
    long from = random.nextInt(3000);
    switch (random.nextInt(6)) {
      case 0 -> {
        for (int i = 0; i < n; i++) {
          keys.add(key(from + i));
        }
      }
      case 1 -> {
        for (int i = n; i > 0; i--) {
          keys.add(key(from + i));
        }
      }
      case 2 -> {
        int step = 2 + random.nextInt(50);
        for (int i = 0; i < n; i++) {
          keys.add(key(from + (long) i * step));
        }
      }
      case 3 -> {
        for (int i = 0; i < n; i++) {
          keys.add(key((i & 1) == 0 ? from + i : 3000 - from + i));
        }
      }
      case 4 -> {
        // Each key is a prefix of the next; then keys between them.
        byte[] longest = new byte[KEY_MAX];
        Arrays.fill(longest, (byte) ('a' + random.nextInt(3)));
        for (int length = 1; length <= KEY_MAX; length++) {
          keys.add(Arrays.copyOf(longest, length));
        }
        for (int i = 0; i < n % 30; i++) {
          byte[] other = Arrays.copyOf(longest, 1 + random.nextInt(KEY_MAX));
          other[other.length - 1] += (byte) (random.nextInt(3) - 1);
          keys.add(other);
        }
      }
      default -> {
        for (int i = 0; i < n; i++) {
          keys.add(("k" + random.nextInt(2000)).getBytes(StandardCharsets.UTF_8));
        }
      }
    }
    return keys;
  }

  private static void assertSame(
      NavigableMap<byte[], byte[]> model, Database db, Table<byte[], byte[]> t) {
    db.read(
        tx -> {
          Iterator<Map.Entry<byte[], byte[]>> expected = model.entrySet().iterator();
          try (Cursor<byte[], byte[]> c = t.scan(tx, null, null, ScanOrder.ASCENDING)) {
            while (c.next()) {
              Map.Entry<byte[], byte[]> e = expected.next();
              assertArrayEquals(e.getKey(), c.key());
              assertArrayEquals(e.getValue(), c.value());
            }
          }
          assertFalse(expected.hasNext());
          return null;
        });
    assertTrue(db.verify().ok(), () -> db.verify().toString());
    assertEquals(model.size(), t.table().count());
  }

  @ParameterizedTest
  @EnumSource
  void runsAgreeWithAMap(Protocol protocol) {
    Random random = new Random(SEED + protocol.ordinal());
    try (Database db = open(protocol)) {
      List<Table<byte[], byte[]>> tables = List.of(table(db, "a"), table(db, "b"));
      List<NavigableMap<byte[], byte[]>> models =
          List.of(new TreeMap<>(Arrays::compareUnsigned), new TreeMap<>(Arrays::compareUnsigned));
      for (int round = 0; round < 60; round++) {
        List<TreeMap<byte[], byte[]>> after = new ArrayList<>();
        for (NavigableMap<byte[], byte[]> m : models) {
          TreeMap<byte[], byte[]> copy = new TreeMap<>(Arrays::compareUnsigned);
          copy.putAll(m);
          after.add(copy);
        }
        boolean rolledBack = random.nextInt(10) == 0;
        boolean both = random.nextInt(4) == 0;
        List<byte[]> keys = run(random);
        long seed = random.nextLong();
        try {
          db.run(
              tx -> {
                Random r = new Random(seed);
                for (int i = 0; i < keys.size(); i++) {
                  int which = both ? i & 1 : (int) (seed & 1);
                  write(tx, tables.get(which), after.get(which), keys.get(i), r);
                }
                if (rolledBack) {
                  throw new IllegalStateException("no");
                }
              });
          for (int m = 0; m < models.size(); m++) {
            models.get(m).clear();
            models.get(m).putAll(after.get(m));
          }
        } catch (IllegalStateException e) {
          assertTrue(rolledBack, () -> "seed " + SEED);
        }
      }
      for (int m = 0; m < models.size(); m++) {
        assertSame(models.get(m), db, tables.get(m));
      }
    }
  }

  private static void write(
      Transaction tx,
      Table<byte[], byte[]> t,
      TreeMap<byte[], byte[]> model,
      byte[] key,
      Random r) {
    byte[] value = value(r);
    switch (r.nextInt(12)) {
      case 0 -> {
        assertEquals(model.remove(key) != null, t.delete(tx, key));
      }
      case 1, 2, 3 -> {
        if (model.containsKey(key)) {
          assertThrows(DuplicateKeyException.class, () -> t.insert(tx, key, value));
        } else {
          t.insert(tx, key, value);
          model.put(key, value);
        }
      }
      case 4 -> assertArrayEquals(model.get(key), t.get(tx, key));
      default -> {
        t.put(tx, key, value);
        model.put(key, value);
      }
    }
  }

  /**
   * Threads ascend in nested ranges, so each finds keys of others in its gaps. Every insert and
   * update increments the key's counter, which shows whether the existing key was seen.
   */
  @ParameterizedTest
  @EnumSource
  void threadsWhoseRunsMeet(Protocol protocol) throws Exception {
    int threads = 4;
    int perThread = 30;
    int batch = 40;
    try (Database db = open(protocol)) {
      Table<byte[], byte[]> own = table(db, "own");
      Table<byte[], byte[]> shared = table(db, "shared");
      AtomicReference<Throwable> failure = new AtomicReference<>();
      CountDownLatch go = new CountDownLatch(1);
      List<Thread> all = new ArrayList<>();
      for (int id = 0; id < threads; id++) {
        int me = id;
        all.add(
            Thread.ofPlatform()
                .start(
                    () -> {
                      try {
                        go.await();
                        for (int n = 0; n < perThread; n++) {
                          int from = n * batch;
                          db.run(tx -> rise(tx, own, shared, me, threads, from, batch));
                        }
                      } catch (Throwable t) {
                        failure.compareAndSet(null, t);
                      }
                    }));
      }
      go.countDown();
      for (Thread t : all) {
        t.join();
      }
      if (failure.get() != null) {
        throw new AssertionError("seed " + SEED, failure.get());
      }
      int keys = perThread * batch;
      assertEquals((long) threads * keys, own.table().count());
      assertEquals(keys, shared.table().count());
      db.read(
          tx -> {
            for (int i = 0; i < keys; i++) {
              byte[] there = shared.get(tx, key(i));
              assertEquals(threads, ByteBuffer.wrap(there).getInt(), "key " + i);
            }
            return null;
          });
      assertTrue(db.verify().ok(), () -> db.verify().toString());
    }
  }

  private static void rise(
      Transaction tx,
      Table<byte[], byte[]> own,
      Table<byte[], byte[]> shared,
      int me,
      int threads,
      int from,
      int batch) {
    for (int i = from; i < from + batch; i++) {
      own.put(tx, key((long) i * threads + me), new byte[100]);
    }
    for (int i = from; i < from + batch; i++) {
      byte[] there = shared.get(tx, key(i));
      int was = there == null ? 0 : ByteBuffer.wrap(there).getInt();
      shared.put(tx, key(i), ByteBuffer.allocate(60).putInt(was + 1).array());
    }
  }

  @Test
  void blindPutsCountOnce() throws Exception {
    try (Database db = open(Protocol.TICTOC)) {
      Table<byte[], byte[]> t = table(db, "t");
      AtomicReference<Throwable> failure = new AtomicReference<>();
      List<Thread> all = new ArrayList<>();
      for (int id = 0; id < 4; id++) {
        int me = id;
        all.add(
            Thread.ofPlatform()
                .start(
                    () -> {
                      try {
                        Random r = new Random(SEED + me);
                        for (int n = 0; n < 150; n++) {
                          int from = r.nextInt(1500);
                          int step = 1 + r.nextInt(3);
                          boolean delete = r.nextInt(4) == 0;
                          db.run(
                              tx -> {
                                for (int i = 0; i < 50; i++) {
                                  if (delete) {
                                    t.delete(tx, key(from + i * step));
                                  } else {
                                    t.put(tx, key(from + i * step), new byte[90]);
                                  }
                                }
                              });
                        }
                      } catch (Throwable e) {
                        failure.compareAndSet(null, e);
                      }
                    }));
      }
      for (Thread thread : all) {
        thread.join();
      }
      if (failure.get() != null) {
        throw new AssertionError("seed " + SEED, failure.get());
      }
      long there =
          db.read(
              tx -> {
                long n = 0;
                try (Cursor<byte[], byte[]> c = t.scan(tx, null, null, ScanOrder.ASCENDING)) {
                  while (c.next()) {
                    n++;
                  }
                }
                return n;
              });
      assertEquals(there, t.table().count());
      assertTrue(db.verify().ok(), () -> db.verify().toString());
    }
  }
}
