package io.fovea;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Durability;
import io.fovea.config.Protocol;
import io.fovea.error.DuplicateKeyException;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.TableSpec;
import io.fovea.support.PowerCuts;
import io.fovea.support.SimCrash;
import io.fovea.support.SimDisk;
import io.fovea.support.SimStorage;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.ShrinkingMode;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Compares indexed byte strings with sorted maps while indexes are built and dropped, the file is
 * closed and reopened, the power fails, and other threads write.
 *
 * <p>A value is a code, a length and padding. Index {@code 0} is on the padding, {@code 1} on the
 * length of non-empty values, {@code 2} on non-negative codes.
 */
@Tag("slow")
@net.jqwik.api.Tag("slow")
class ByteIndexModelTest {
  private static final int KEYS = 60;
  private static final TableSpec PLAIN = TableSpec.bytes("t", 24);

  private static final Options SMALL =
      Options.defaults()
          .bufferBytes(4 << 20)
          .durability(Durability.SYNC)
          .device(dev -> dev.pageSize(4096))
          .memory(mem -> mem.timestampBytes(2 << 20))
          .log(log -> log.bufferBytes(256 << 10).segmentBytes(256 << 10).maxBytes(2 << 20));

  private static byte[] value(int code, int length, int filling) {
    byte[] v = new byte[4 + length];
    Arrays.fill(v, (byte) filling);
    ByteBuffer.wrap(v).putInt(code);
    return v;
  }

  private static int code(byte[] value) {
    return ByteBuffer.wrap(value).getInt();
  }

  private static IndexSpec index(int kind, String name) {
    return switch (kind) {
      case 0 ->
          IndexSpec.bytes(
              name,
              KeySpec.builder().bytes("filling", 4).build(),
              false,
              (key, value, entry) -> {
                entry.bytes(value, 4, Math.min(4, value.length - 4));
                return true;
              });
      case 1 ->
          IndexSpec.bytes(
              name,
              KeySpec.of(FieldType.INT32, FieldType.BOOLEAN),
              false,
              (key, value, entry) -> {
                if (value.length == 4) {
                  return false;
                }
                entry.int32(value.length).bool(key.length > 1);
                return true;
              });
      default ->
          IndexSpec.bytes(
              name,
              KeySpec.of(FieldType.INT32),
              true,
              (key, value, entry) -> {
                entry.set(code(value));
                return code(value) >= 0;
              });
    };
  }

  /** Returns the indexed part of an index key, without the primary key; null for no entry. */
  private static byte @Nullable [] place(int kind, byte[] key, byte[] value) {
    return switch (kind) {
      case 0 -> Arrays.copyOfRange(value, 4, Math.min(8, value.length));
      case 1 ->
          value.length == 4
              ? null
              : ByteBuffer.allocate(5)
                  .putInt(value.length)
                  .put((byte) (key.length > 1 ? 1 : 0))
                  .array();
      default -> code(value) < 0 ? null : ByteBuffer.allocate(4).putInt(code(value)).array();
    };
  }

  /** Returns the entries of an index, ordered by indexed part and key. */
  private static List<Map.Entry<byte[], byte[]>> expected(int kind, TreeMap<byte[], byte[]> model) {
    record Entry(byte[] place, Map.Entry<byte[], byte[]> of) {}
    List<Entry> all = new ArrayList<>();
    for (Map.Entry<byte[], byte[]> e : model.entrySet()) {
      byte[] place = place(kind, e.getKey(), e.getValue());
      if (place != null) {
        all.add(new Entry(place, e));
      }
    }
    all.sort((a, b) -> Arrays.compareUnsigned(a.place, b.place)); // stable: keys are already sorted
    return all.stream().map(Entry::of).toList();
  }

  private static final class Run {
    private final Random r;
    private final TreeMap<byte[], byte[]> model = new TreeMap<>(Arrays::compareUnsigned);
    private final boolean[] has = new boolean[3];
    private SimDisk disk;
    private Database db;

    Run(long seed) {
      r = new Random(seed);
      disk = new SimDisk(seed);
      open();
    }

    private void open() {
      Protocol p = Protocol.values()[r.nextInt(Protocol.values().length)];
      db = Database.open(new SimStorage(disk), SMALL.experiments(exp -> exp.protocol(p)));
    }

    private TableSpec spec() {
      TableSpec spec = PLAIN;
      for (int i = 0; i < has.length; i++) {
        if (has[i]) {
          spec = spec.with(index(i, "i" + i));
        }
      }
      return spec;
    }

    private byte[] key() {
      byte[] key = new byte[1 + r.nextInt(2)];
      for (int i = 0; i < key.length; i++) {
        key[i] = (byte) (r.nextInt(8) * 37);
      }
      return key;
    }

    private byte[] any() {
      int length = r.nextInt(10) == 0 ? r.nextInt(9_000) : r.nextInt(9);
      return value(r.nextInt(KEYS) - KEYS / 2, length, r.nextInt(4) * 85);
    }

    private boolean taken(byte[] key, byte[] value) {
      return has[2]
          && code(value) >= 0
          && model.entrySet().stream()
              .anyMatch(e -> !Arrays.equals(e.getKey(), key) && code(e.getValue()) == code(value));
    }

    private boolean hasTwice() {
      return model.values().stream()
              .filter(v -> code(v) >= 0)
              .mapToInt(v -> code(v))
              .distinct()
              .count()
          != model.values().stream().filter(v -> code(v) >= 0).count();
    }

    void step() {
      Table<byte[], byte[]> t = db.table(spec()).bytes();
      byte[] key = key();
      switch (r.nextInt(12)) {
        case 0, 1, 2, 3, 4, 5 -> put(t, key, any());
        case 6 -> {
          db.run(tx -> assertEquals(model.containsKey(key), t.delete(tx, key)));
          model.remove(key);
        }
        case 7 -> {
          byte[] to = key();
          Map<byte[], byte[]> gone =
              Arrays.compareUnsigned(key, to) < 0 ? model.subMap(key, to) : Map.of();
          int n = gone.size();
          db.run(tx -> assertEquals(n, t.deleteRange(tx, key, to)));
          if (n > 0) {
            gone.clear();
          }
        }
        case 8 -> load(t);
        case 9 -> again();
        default -> indexes();
      }
    }

    private void put(Table<byte[], byte[]> t, byte[] key, byte[] value) {
      boolean taken = taken(key, value);
      boolean insert = r.nextInt(4) == 0;
      boolean refused = taken || insert && model.containsKey(key);
      boolean failed = false;
      try {
        db.run(
            tx -> {
              if (insert) {
                t.insert(tx, key, value);
              } else {
                t.put(tx, key, value);
              }
            });
      } catch (DuplicateKeyException e) {
        failed = true;
      }
      assertEquals(refused, failed);
      if (!refused) {
        model.put(key, value);
      }
    }

    private void load(Table<byte[], byte[]> t) {
      TreeMap<byte[], byte[]> more = new TreeMap<>(Arrays::compareUnsigned);
      for (int i = 0; i < 5; i++) {
        int n = r.nextInt(100_000);
        byte[] key = ByteBuffer.allocate(8).putLong(Long.MIN_VALUE + n).array();
        if (!model.containsKey(key)) {
          more.put(key, value(1_000_000 + n, r.nextInt(9), r.nextInt(256)));
        }
      }
      t.load(into -> more.forEach(into::add));
      model.putAll(more);
    }

    private void indexes() {
      int i = r.nextInt(3);
      if (has[i]) {
        has[i] = !db.dropIndex("t", "i" + i);
        assertTrue(!has[i]);
        return;
      }
      has[i] = true;
      boolean refused = i == 2 && hasTwice();
      boolean failed = false;
      try {
        db.table(spec());
      } catch (DuplicateKeyException e) {
        failed = true;
      }
      assertEquals(refused, failed);
      has[i] = !refused;
    }

    private void again() {
      if (r.nextInt(2) == 0) {
        db.close();
      } else {
        SimDisk crashed = disk.crash(SimCrash.RANDOM);
        db.abandon();
        disk = crashed;
      }
      open();
    }

    void look() {
      Table<byte[], byte[]> t = db.table(spec()).bytes();
      for (int kind = 0; kind < 3; kind++) {
        if (!has[kind]) {
          continue;
        }
        Index<Key, byte[], byte[]> index = t.index("i" + kind, Key.class);
        List<Map.Entry<byte[], byte[]>> wanted = expected(kind, model);
        same(wanted, index, ScanOrder.ASCENDING);
        same(wanted.reversed(), index, ScanOrder.DESCENDING);
        assertEquals(wanted.size(), index.count());
      }
      if (has[2]) {
        Index<Key, byte[], byte[]> index = t.index("i2", Key.class);
        db.run(
            tx -> {
              List<Key> keys = new ArrayList<>();
              List<byte[]> wanted = new ArrayList<>();
              for (Map.Entry<byte[], byte[]> e : expected(2, model)) {
                keys.add(index.key().set(code(e.getValue())));
                wanted.add(e.getKey());
                assertArrayEquals(e.getKey(), index.get(tx, keys.getLast()).getKey());
              }
              List<byte[]> found = index.getAll(tx, keys).stream().map(Map.Entry::getKey).toList();
              assertArrayEquals(wanted.toArray(), found.toArray());
            });
      }
      assertEquals(List.of(), db.verify().problems());
    }

    private void same(
        List<Map.Entry<byte[], byte[]>> wanted, Index<Key, byte[], byte[]> index, ScanOrder order) {
      db.read(
          tx -> {
            int n = 0;
            try (IndexCursor<Key, byte[], byte[]> c = index.scan(tx, null, null, order)) {
              while (c.next()) {
                assertArrayEquals(wanted.get(n).getKey(), c.key());
                assertArrayEquals(wanted.get(n).getValue(), c.value());
                assertTrue(c.indexKey().isComplete());
                n++;
              }
            }
            assertEquals(wanted.size(), n);
            return null;
          });
    }
  }

  @Property(tries = 12, shrinking = ShrinkingMode.OFF)
  void agreesWithSortedMaps(@ForAll long seed) {
    Run run = new Run(seed);
    for (int i = 0; i < 250; i++) {
      run.step();
      if (i % 25 == 0) {
        run.look();
      }
    }
    run.look();
    run.db.close();
  }

  private static byte[] key(int n) {
    return ByteBuffer.allocate(4).putInt(n).array();
  }

  @ParameterizedTest
  @EnumSource(Protocol.class)
  void indexesAreBuiltDuringWrites(Protocol protocol) throws Exception {
    Options options =
        Options.defaults().bufferBytes(16 << 20).experiments(exp -> exp.protocol(protocol));
    try (Database db = Database.inMemory(options)) {
      Table<byte[], byte[]> t = db.table(PLAIN).bytes();
      for (int from = 0; from < 3_000; from += 100) {
        int first = from;
        db.run(
            tx -> {
              for (int k = first; k < first + 100; k++) {
                t.insert(tx, key(k), value(k, k % 7, k));
              }
            });
      }
      AtomicBoolean stop = new AtomicBoolean();
      AtomicReference<Throwable> failure = new AtomicReference<>();
      List<Thread> threads = new ArrayList<>();
      for (int w = 0; w < 2; w++) {
        int own = w;
        threads.add(
            Thread.ofPlatform()
                .start(
                    () -> {
                      Random r = new Random(own);
                      try {
                        while (!stop.get()) {
                          int k = 2 * r.nextInt(1_600) + own;
                          db.run(
                              tx -> {
                                switch (r.nextInt(4)) {
                                  case 0 -> t.delete(tx, key(k));
                                  case 1 -> t.deleteRange(tx, key(k), key(k + 1));
                                  default -> t.put(tx, key(k), value(k, r.nextInt(9), r.nextInt()));
                                }
                              });
                        }
                      } catch (Throwable e) {
                        failure.set(e);
                      }
                    }));
      }
      TableSpec with = PLAIN;
      for (int i : new int[] {0, 2, 1}) {
        with = with.with(index(i, "i" + i));
        db.table(with);
      }
      db.dropIndex("t", "i0");
      stop.set(true);
      for (Thread thread : threads) {
        thread.join();
      }
      assertEquals(null, failure.get());
      assertEquals(List.of(), db.verify().problems());
      TableSpec left = PLAIN.with(index(2, "i2")).with(index(1, "i1"));
      assertEquals(
          db.tableSizes().get("t").records(),
          db.table(left).bytes().index("i2", Key.class).count());
    }
  }

  /** Changes during the build's scan are applied: reverted, deleted, inserted, reinserted. */
  @ParameterizedTest
  @EnumSource(Protocol.class)
  void concurrentChangesAreApplied(Protocol protocol) throws Exception {
    // A unique index is filled by transactions, and one is suspended here, which only protocols
    // without locks allow.
    for (boolean unique : protocol == Protocol.TICTOC ? List.of(false, true) : List.of(false)) {
      Options options =
          Options.defaults().bufferBytes(16 << 20).experiments(exp -> exp.protocol(protocol));
      try (Database db = Database.inMemory(options)) {
        Table<byte[], byte[]> t = db.table(PLAIN).bytes();
        db.run(
            tx -> {
              for (int k = 0; k < 1_000; k++) {
                t.put(tx, key(k), value(k, k % 5, 0));
              }
            });
        CountDownLatch there = new CountDownLatch(1);
        CountDownLatch go = new CountDownLatch(1);
        AtomicReference<Thread> builder = new AtomicReference<>();
        AtomicInteger seen = new AtomicInteger();
        IndexSpec spec =
            IndexSpec.bytes(
                "i",
                KeySpec.of(FieldType.INT32),
                unique,
                (key, value, entry) -> {
                  if (Thread.currentThread() == builder.get() && seen.incrementAndGet() == 500) {
                    there.countDown();
                    awaitQuietly(go);
                  }
                  entry.set(code(value));
                  return code(value) >= 0;
                });
        TableSpec with = PLAIN.with(spec);
        AtomicReference<Throwable> failure = new AtomicReference<>();
        Thread thread =
            Thread.ofPlatform()
                .unstarted(
                    () -> {
                      try {
                        db.table(with);
                      } catch (Throwable e) {
                        failure.set(e);
                      }
                    });
        builder.set(thread);
        thread.start();
        there.await();
        for (int k = 0; k < 1_000; k += 10) {
          if (unique && k >= 370 && k < 630) {
            continue; // the build locks its piece and would block the writers
          }
          set(db, t, k, 5_000 + k);
          set(db, t, k + 1, 15_000 + k);
          set(db, t, k + 1, k + 1);
          set(db, t, k + 2, -1); // removes its entry
          remove(db, t, k + 3);
          remove(db, t, k + 4);
          set(db, t, k + 4, 35_000 + k);
          set(db, t, k + 5, -1);
          set(db, t, k + 5, k + 5);
          set(db, t, 10_000 + k, 45_000 + k);
          set(db, t, 20_000 + k, 55_000 + k);
          remove(db, t, 20_000 + k);
        }
        go.countDown();
        thread.join();
        if (failure.get() != null) {
          throw new AssertionError(failure.get());
        }
        assertEquals(List.of(), db.verify().problems());
        int tens = unique ? 74 : 100;
        Index<Key, byte[], byte[]> index = db.table(with).bytes().index("i", Key.class);
        assertEquals(1_000 - tens, index.count()); // two removed, one added
        assertEquals(
            (long) 1_000 - tens,
            db.read(tx -> index.stream(tx, null, null, ScanOrder.ASCENDING).count()).longValue());
      }
    }
  }

  private static void set(Database db, Table<byte[], byte[]> t, int k, int code) {
    db.run(tx -> t.put(tx, key(k), value(code, k % 3, 1)));
  }

  private static void remove(Database db, Table<byte[], byte[]> t, int k) {
    db.run(tx -> t.delete(tx, key(k)));
  }

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @ParameterizedTest
  @EnumSource(Protocol.class)
  void aUniqueCodeHasOneRecord(Protocol protocol) throws Exception {
    Options options =
        Options.defaults().bufferBytes(16 << 20).experiments(exp -> exp.protocol(protocol));
    try (Database db = Database.inMemory(options)) {
      Table<byte[], byte[]> t = db.table(PLAIN.with(index(2, "i2"))).bytes();
      Index<Key, byte[], byte[]> byCode = t.index("i2", Key.class);
      AtomicReference<Throwable> failure = new AtomicReference<>();
      List<Thread> threads = new ArrayList<>();
      for (int w = 0; w < 3; w++) {
        long seed = w;
        threads.add(
            Thread.ofPlatform()
                .start(
                    () -> {
                      Random r = new Random(seed);
                      try {
                        for (int i = 0; i < 1_000; i++) {
                          int k = r.nextInt(40);
                          int code = r.nextInt(20);
                          try {
                            db.run(tx -> t.put(tx, key(k), value(code, 3, i(r))));
                          } catch (DuplicateKeyException e) {
                            db.run(
                                tx -> {
                                  Key wanted = byCode.key().set(code);
                                  Map.Entry<byte[], byte[]> other = byCode.get(tx, wanted);
                                  if (other != null) {
                                    assertEquals(code, code(other.getValue()));
                                    t.delete(tx, other.getKey());
                                  }
                                });
                          }
                        }
                      } catch (Throwable e) {
                        failure.set(e);
                      }
                    }));
      }
      for (Thread thread : threads) {
        thread.join();
      }
      assertEquals(null, failure.get());
      assertEquals(List.of(), db.verify().problems());
      List<Integer> codes =
          db.read(
              tx ->
                  t.stream(tx, null, null, ScanOrder.ASCENDING)
                      .map(e -> code(e.getValue()))
                      .toList());
      assertEquals(codes.size(), codes.stream().distinct().count());
      assertEquals(codes.size(), byCode.count());
    }
  }

  private static int i(Random r) {
    return r.nextInt(256);
  }

  /** The power fails at any operation while indexes are built, used, renamed and dropped. */
  @Test
  void crashesLeaveAConsistentState() {
    Options options =
        Options.defaults()
            .bufferBytes(600_000)
            .transactions(x -> x.maxActive(2))
            .log(l -> l.checkpointInterval(Duration.ZERO));
    SimDisk disk = new SimDisk(1);
    int[] done = {0};
    PowerCuts<Integer> cuts = new PowerCuts<>(disk, () -> done[0]);
    TableSpec one = PLAIN.with(index(0, "i0"));
    TableSpec two = one.with(index(2, "i2"));
    List<Consumer<Database>> way =
        List.of(
            db -> db.table(one),
            db -> db.table(two),
            db -> {
              Table<byte[], byte[]> t = db.table(two).bytes();
              db.run(
                  tx -> {
                    t.put(tx, key(1), value(1_000, 2_000, 7));
                    t.delete(tx, key(2));
                    t.put(tx, key(1_000), value(2, 1, 2));
                  });
            },
            db -> assertTrue(db.renameIndex("t", "i0", "other")),
            Database::checkpoint,
            db -> assertTrue(db.dropIndex("t", "i2")));
    try (Database db = Database.open(new SimStorage(disk), options)) {
      Table<byte[], byte[]> t = db.table(PLAIN).bytes();
      db.run(
          tx -> {
            for (int k = 0; k < 200; k++) {
              t.insert(tx, key(k), value(k, k % 9, k));
            }
          });
      db.checkpoint();
      cuts.during(
          () -> {
            for (Consumer<Database> step : way) {
              step.accept(db);
              done[0]++;
            }
          });
    }
    assertTrue(cuts.size() > 15, cuts.size() + " cuts");
    cuts.forEach(
        (left, steps) -> {
          try (Database db = Database.open(new SimStorage(left), options)) {
            after(db, steps);
          }
        });
  }

  private static void after(Database db, int done) {
    // Before the extractors are declared, and afterwards.
    assertEquals(List.of(), db.verify().problems());
    TableSpec spec = PLAIN;
    for (IndexSpec i : db.describe("t").indexes()) {
      spec = spec.with(index(i.isUnique() ? 2 : 0, i.name()));
    }
    List<String> names = spec.indexes().stream().map(IndexSpec::name).toList();
    assertTrue(
        names.size() >= (done >= 6 ? 1 : Math.min(done, 2)) - (done == 5 ? 1 : 0), names::toString);
    assertTrue(done < 4 || names.contains("other"), done + ": " + names);
    Table<byte[], byte[]> t = db.table(spec).bytes();
    assertEquals(List.of(), db.verify().problems());
    long first = db.read(tx -> t.get(tx, key(1))).length;
    assertTrue(done < 3 || first == 2_004, first + " bytes");
    for (String name : names) {
      Index<Key, byte[], byte[]> index = t.index(name, Key.class);
      assertEquals(200, index.count());
      db.run(tx -> index.forEach(tx, null, null, (k, v) -> assertArrayEquals(t.get(tx, k), v)));
    }
    db.run(tx -> t.put(tx, key(500), value(500, 0, 0)));
    for (String name : names) {
      assertEquals(201, t.index(name, Key.class).count());
    }
    assertEquals(List.of(), db.verify().problems());
  }
}
