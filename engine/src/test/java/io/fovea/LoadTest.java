package io.fovea;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Duplicates;
import io.fovea.config.LoadProgress;
import io.fovea.config.Protocol;
import io.fovea.error.DuplicateKeyException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.OperationInterruptedException;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import io.fovea.support.Sample;
import io.fovea.support.SimCrash;
import io.fovea.support.SimDisk;
import io.fovea.support.SimStorage;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Loads: the resulting table, their effects on other threads, and crashes. */
class LoadTest {
  private static final Layout.Definition B = Layout.define();
  private static final Field COLOUR = B.int32("colour");
  private static final Field CODE = B.int64("code");
  private static final TableSpec ROWS =
      TableSpec.of("rows", KeySpec.of(FieldType.INT32), B.build())
          .with(IndexSpec.on("by_colour", COLOUR))
          .with(IndexSpec.unique("by_code", CODE))
          .with(
              IndexSpec.extracted(
                  "even",
                  KeySpec.of(FieldType.INT64),
                  false,
                  (k, r, e) -> {
                    e.set(r.getLong(CODE));
                    return r.getLong(CODE) % 2 == 0;
                  }));
  private static final TableSpec BYTES = TableSpec.bytes("bytes", 40);

  @TempDir Path dir;

  private Database open() {
    return Database.open(dir.resolve("db"), Options.defaults().bufferBytes(8 << 20));
  }

  private static byte[] key(long i) {
    return ByteBuffer.allocate(8).putLong(i).array();
  }

  private static byte[] value(long i, int length) {
    byte[] v = new byte[length];
    new Random(i).nextBytes(v);
    return v;
  }

  private static void check(Database db, Table<byte[], byte[]> t, TreeMap<Long, byte[]> expected) {
    List<Long> keys = new ArrayList<>();
    db.read(
        tx -> {
          keys.clear();
          try (Cursor<byte[], byte[]> c = t.scan(tx, null, null, ScanOrder.ASCENDING)) {
            while (c.next()) {
              long k = ByteBuffer.wrap(c.key()).getLong();
              keys.add(k);
              assertArrayEquals(expected.get(k), c.value());
            }
          }
          return 0;
        });
    assertEquals(new ArrayList<>(expected.keySet()), keys);
  }

  private static void sound(Database db) {
    VerifyReport report = db.verify();
    assertTrue(report.ok(), () -> report.problems().toString());
  }

  private void leavesNoFiles() throws IOException {
    try (var files = Files.list(dir)) {
      assertEquals(List.of(), files.map(Path::toString).filter(f -> f.contains(".load")).toList());
    }
  }

  @Test
  void unsortedRecordsAreMergedWithExistingOnes() throws IOException {
    TreeMap<Long, byte[]> expected = new TreeMap<>();
    Random random = new Random(7);
    try (Database db = open()) {
      Table<byte[], byte[]> t = db.table(BYTES).bytes();
      LoadReport none = t.load(into -> {});
      assertEquals(0, none.records());
      for (int round = 0; round < 4; round++) {
        long[] keys = random.longs(20_000, 0, 60_000).toArray();
        int seed = round;
        LoadReport r =
            t.load(
                LoadOptions.defaults().memoryBytes(1 << 20).duplicates(Duplicates.REPLACE),
                into -> {
                  for (long k : keys) {
                    byte[] v = value(k + seed, k % 997 == 0 ? 20_000 : (int) (k % 90));
                    into.add(key(k), v);
                    expected.put(k, v);
                  }
                });
        assertTrue(r.sortedBytes() > 0);
        assertEquals(expected.size(), r.records());
        assertEquals(keys.length, r.added() + r.replaced());
        check(db, t, expected);
        sound(db);
        db.run(tx -> t.put(tx, key(70_000 + seed), key(1)));
        expected.put(70_000L + seed, key(1));
      }
      leavesNoFiles();
    }
    try (Database db = open()) {
      check(db, db.table(BYTES).bytes(), expected);
      sound(db);
    }
  }

  @Test
  void progressIsCounted() {
    int n = 30_000;
    try (Database db = open()) {
      Table<byte[], byte[]> t = db.table(BYTES).bytes();
      DatabaseStats.Loads none = db.stats().loads();
      assertEquals(new DatabaseStats.Loads(0, 0, 0, 0, 0, 0), none);
      LoadReport r =
          t.load(
              LoadOptions.defaults().memoryBytes(1 << 20),
              into -> {
                for (long k = 0; k < n; k++) {
                  if (k == n / 2) {
                    DatabaseStats.Loads half = db.stats().loads();
                    assertEquals(1, half.running());
                    assertTrue(half.records() <= k && k < half.records() + 256, half::toString);
                    assertTrue(half.runs() > 0 && half.runBytes() > 0, half::toString);
                  }
                  into.add(key(k * 7919 % n), value(k, 100));
                }
              });
      DatabaseStats.Loads loaded = db.stats().loads();
      assertEquals(0, loaded.running());
      assertEquals(n, loaded.records());
      assertEquals(r.sortedBytes(), loaded.runBytes());
      assertTrue(loaded.writtenBytes() > 100L * n, loaded::toString);
      db.table(
          BYTES.with(
              IndexSpec.bytes(
                  "by_value",
                  KeySpec.builder().bytes("value", 8).build(),
                  true,
                  (key, value, entry) -> {
                    entry.bytes(value, 0, 8);
                    return true;
                  })));
      DatabaseStats.Loads built = db.stats().loads();
      assertEquals(n, built.records());
      assertEquals(n, built.indexRecords());
      assertTrue(built.writtenBytes() > loaded.writtenBytes() + 8L * n, built::toString);
      sound(db);
    }
  }

  @Test
  void ascendingRecordsAreNotSorted() {
    TreeMap<Long, byte[]> expected = new TreeMap<>();
    try (Database db = open()) {
      Table<byte[], byte[]> t = db.table(BYTES).bytes();
      LoadReport r =
          t.load(
              LoadOptions.defaults().ascending(true),
              into -> {
                for (long k = 0; k < 50_000; k++) {
                  into.add(key(k), value(k, 50));
                  expected.put(k, value(k, 50));
                }
              });
      assertEquals(0, r.sortedBytes());
      assertEquals(50_000, r.added());
      check(db, t, expected);
      InvalidUseException e =
          assertThrows(
              InvalidUseException.class,
              () ->
                  t.load(
                      LoadOptions.defaults().ascending(true),
                      into -> {
                        into.add(key(100_001), key(1));
                        into.add(key(100_000), key(1));
                      }));
      assertTrue(e.getMessage().contains("not in key order"));
      check(db, t, expected);
      sound(db);
    }
  }

  private static Row row(RowTable t, int i) {
    return t.row().setInt(COLOUR, i % 7).setLong(CODE, 3L * i);
  }

  @Test
  void pagesHaveTheRequestedFill() {
    int n = 20_000;
    Map<Double, Long> pages = new HashMap<>();
    for (double fill : new double[] {0.5, 0.75, LoadOptions.defaults().fill(), 1}) {
      try (Database db = Database.inMemory(Options.defaults().bufferBytes(32 << 20))) {
        Table<byte[], byte[]> t = db.table(BYTES).bytes();
        long before = db.stats().storage().bytes();
        t.load(
            LoadOptions.defaults().fill(fill),
            into -> {
              for (int i = 0; i < n; i++) {
                into.add(key(i), value(i, 120));
              }
            });
        pages.put(fill, db.stats().storage().bytes() - before);
        sound(db);
      }
    }
    double whole = pages.get(1.0);
    // A leaf takes about 30 records, so it may be one record short of the requested fill.
    pages.forEach((fill, of) -> assertEquals(fill, whole / of, 0.04, pages::toString));
    for (double no : new double[] {0.49, 1.01, 0, -1, Double.NaN}) {
      assertThrows(
          IllegalArgumentException.class, () -> LoadOptions.defaults().fill(no), () -> "" + no);
    }
  }

  @Test
  void indexesAreLoaded() {
    try (Database db = open()) {
      RowTable t = db.table(ROWS);
      RowIndex handle = t.index("by_code");
      db.run(
          tx -> {
            for (int i = 0; i < 100; i++) {
              t.insert(tx, t.key().set(10 * i), row(t, 10 * i));
            }
          });
      LoadReport r =
          t.load(
              LoadOptions.defaults().memoryBytes(1 << 20).duplicates(Duplicates.KEEP),
              into -> {
                for (int i = 30_000; i-- > 0; ) {
                  into.add(t.key().set(i), row(t, i));
                }
              });
      assertEquals(100, r.kept());
      assertEquals(30_000, r.records());
      assertEquals(30_000, t.count());
      sound(db);
      db.read(
          tx -> {
            Row out = t.row();
            assertTrue(handle.get(tx, handle.key().set(3L * 12_345), out));
            assertEquals(12_345 % 7, out.getInt(COLOUR));
            RowIndex even = t.index("even");
            assertTrue(even.get(tx, even.key().set(3L * 1000), out));
            return 0;
          });
      db.run(tx -> t.delete(tx, t.key().set(12_345)));
      assertFalse(
          db.read(tx -> handle.get(tx, handle.key().set(3L * 12_345), t.row())).booleanValue());
      DuplicateKeyException e =
          assertThrows(
              DuplicateKeyException.class,
              () ->
                  t.load(
                      into -> {
                        into.add(t.key().set(50_000), row(t, 50_000));
                        into.add(t.key().set(50_001), row(t, 77));
                      }));
      assertEquals(List.of("rows", "by_code"), List.of(e.table(), String.valueOf(e.index())));
      assertFalse(db.read(tx -> t.exists(tx, t.key().set(50_000))).booleanValue());
      sound(db);
    }
  }

  @Test
  void duplicatesAreNamed() {
    try (Database db = Database.inMemory(Options.defaults())) {
      Table<byte[], byte[]> t = db.table(BYTES).bytes();
      t.load(into -> into.add(key(5), key(1)));
      DuplicateKeyException there =
          assertThrows(DuplicateKeyException.class, () -> t.load(into -> into.add(key(5), key(2))));
      assertTrue(there.getMessage().contains("is already in"), there.getMessage());
      assertEquals(BYTES.name(), there.table());
      assertNull(there.index());
      assertArrayEquals(key(5), there.key());
      assertThrows(
          DuplicateKeyException.class,
          () ->
              t.load(
                  into -> {
                    into.add(key(6), key(2));
                    into.add(key(6), key(3));
                  }));
      t.load(
          LoadOptions.defaults().duplicates(Duplicates.REPLACE),
          into -> {
            into.add(key(5), key(2));
            into.add(key(5), key(3));
          });
      assertArrayEquals(key(3), db.read(tx -> t.get(tx, key(5))));
      t.load(LoadOptions.defaults().duplicates(Duplicates.KEEP), into -> into.add(key(5), key(9)));
      assertArrayEquals(key(3), db.read(tx -> t.get(tx, key(5))));
      sound(db);
    }
  }

  @Test
  void othersReadTheOldStateAndCannotWrite() {
    try (Database db = open()) {
      Table<byte[], byte[]> t = db.table(BYTES).bytes();
      Table<byte[], byte[]> other = db.table(TableSpec.bytes("other", 8)).bytes();
      db.run(tx -> t.put(tx, key(1), key(1)));
      t.load(
          into -> {
            assertArrayEquals(key(1), db.read(tx -> t.get(tx, key(1))));
            assertThrows(InvalidUseException.class, () -> db.run(tx -> t.put(tx, key(2), key(2))));
            assertThrows(InvalidUseException.class, () -> db.run(tx -> t.delete(tx, key(1))));
            assertThrows(InvalidUseException.class, () -> t.load(more -> {}));
            assertThrows(InvalidUseException.class, db::verify);
            db.run(tx -> other.put(tx, key(2), key(2)));
            into.add(key(3), key(3));
          });
      db.run(tx -> t.put(tx, key(2), key(2)));
      db.run(tx -> assertThrows(InvalidUseException.class, () -> t.load(into -> {})));
      sound(db);
    }
  }

  /** Commits made during a slow source exceed the log's maximum several times. */
  @Test
  void aSlowSourceBlocksNoThread() {
    long most = 1 << 20;
    Options small =
        Options.defaults()
            .bufferBytes(8 << 20)
            .log(log -> log.maxBytes(most).segmentBytes(256 << 10).bufferBytes(256 << 10));
    try (Database db = Database.open(dir.resolve("db"), small)) {
      Table<byte[], byte[]> t = db.table(BYTES).bytes();
      Table<byte[], byte[]> other = db.table(TableSpec.bytes("other", 8)).bytes();
      db.run(tx -> t.put(tx, key(1), key(1)));
      t.load(
          into -> {
            for (int i = 0; i < 100; i++) {
              long k = 100 - i;
              into.add(key(k + 1), key(k));
              db.run(tx -> other.put(tx, key(k), value(k, 50_000)));
            }
          });
      TreeMap<Long, byte[]> expected = new TreeMap<>();
      for (long k = 0; k <= 100; k++) {
        expected.put(k + 1, key(k == 0 ? 1 : k));
      }
      check(db, t, expected);
      sound(db);
    }
  }

  /** An ascending source is built as it arrives: other threads wait until it ends. */
  @Test
  void aSlowAscendingSourceBlocksOthersUntilItEnds() throws Exception {
    Options small =
        Options.defaults()
            .bufferBytes(8 << 20)
            .log(log -> log.maxBytes(1 << 20).segmentBytes(256 << 10).bufferBytes(256 << 10));
    try (Database db = Database.open(dir.resolve("db"), small)) {
      Table<byte[], byte[]> t = db.table(BYTES).bytes();
      Table<byte[], byte[]> other = db.table(TableSpec.bytes("other", 8)).bytes();
      AtomicInteger done = new AtomicInteger();
      Thread[] writer = new Thread[1];
      t.load(
          LoadOptions.defaults().ascending(true),
          into -> {
            writer[0] =
                Thread.ofPlatform()
                    .start(
                        () -> {
                          for (long k = 0; k < 100; k++) {
                            byte[] key = key(k);
                            db.run(tx -> other.put(tx, key, value(1, 50_000)));
                            done.incrementAndGet();
                          }
                        });
            while (done.get() < 3) {
              Thread.onSpinWait();
            }
            into.add(key(1), key(1));
          });
      writer[0].join();
      assertEquals(100, done.get());
      sound(db);
    }
  }

  @ParameterizedTest
  @EnumSource(Protocol.class)
  void readersOfTheOldStateCannotCommitAfterTheLoad(Protocol protocol) throws Exception {
    try (Database db =
        Database.open(
            dir.resolve("db"), Options.defaults().experiments(e -> e.protocol(protocol)))) {
      Table<byte[], byte[]> t = db.table(BYTES).bytes();
      Table<byte[], byte[]> other = db.table(TableSpec.bytes("other", 8)).bytes();
      db.run(tx -> t.put(tx, key(1), key(1)));
      int[] attempts = {0};
      CountDownLatch reading = new CountDownLatch(1);
      CountDownLatch seen = new CountDownLatch(1);
      Thread loading =
          Thread.ofPlatform()
              .start(
                  () -> {
                    try {
                      t.load(
                          into -> {
                            reading.countDown();
                            seen.await();
                            into.add(key(2), key(2));
                          });
                    } catch (InterruptedException e) {
                      throw new IllegalStateException(e);
                    }
                  });
      reading.await();
      db.run(
          tx -> {
            attempts[0]++;
            long there = t.get(tx, key(2)) == null ? 0 : 1;
            if (attempts[0] == 1) {
              seen.countDown();
              loading.join();
            }
            other.put(tx, key(1), key(there));
          });
      assertEquals(2, attempts[0]);
      assertArrayEquals(key(1), db.read(tx -> other.get(tx, key(1))));
    }
  }

  @Tag("slow")
  @Test
  void failedLoadLeavesNoPages() throws IOException {
    TreeMap<Long, byte[]> expected = new TreeMap<>();
    try (Database db = open()) {
      Table<byte[], byte[]> t = db.table(BYTES).bytes();
      t.load(into -> into.add(key(1), key(1)));
      expected.put(1L, key(1));
      sound(db);
      for (boolean ascending : new boolean[] {true, false}) {
        LoadOptions how = LoadOptions.defaults().memoryBytes(1 << 20).ascending(ascending);
        assertThrows(
            IOException.class,
            () ->
                t.load(
                    how,
                    into -> {
                      for (int k = 2; k < 100_000; k++) {
                        into.add(key(k), value(k, 60));
                      }
                      throw new IOException("the source has failed");
                    }));
        assertThrows(
            OperationInterruptedException.class,
            () ->
                t.load(
                    how,
                    into -> {
                      for (int k = 2; k < 100_000; k++) {
                        into.add(key(k), value(k, 60));
                        if (k == 50_000) {
                          Thread.currentThread().interrupt();
                        }
                      }
                    }));
        assertTrue(Thread.interrupted());
        assertThrows(
            IllegalStateException.class,
            () ->
                t.load(
                    how.progress(
                        p -> {
                          if (p.phase() == LoadProgress.Phase.PUBLISHING) {
                            throw new IllegalStateException("no more");
                          }
                        }),
                    into -> {
                      for (int k = 2; k < 100_000; k++) {
                        into.add(key(k), value(k, 60));
                      }
                    }));
        check(db, t, expected);
        sound(db);
        leavesNoFiles();
      }
      db.run(tx -> t.put(tx, key(2), key(2)));
      assertEquals("", SimDatabase.held(db));
    }
  }

  @Test
  void aCloseEndsALoad() {
    Database db = open();
    Table<byte[], byte[]> t = db.table(BYTES).bytes();
    assertThrows(
        RuntimeException.class,
        () ->
            t.load(
                LoadOptions.defaults().ascending(true),
                into -> {
                  for (int k = 0; k < 100_000; k++) {
                    into.add(key(k), value(k, 60));
                    if (k == 70_000) {
                      db.close();
                    }
                  }
                }));
    try (Database again = open()) {
      check(again, again.table(BYTES).bytes(), new TreeMap<>());
      sound(again);
    }
  }

  @Tag("slow")
  @Test
  void aCrashLeavesAllOrNothing() {
    Options options =
        Options.defaults()
            .bufferBytes(600_000)
            .memory(m -> m.timestampBytes(1 << 20))
            .log(l -> l.maxBytes(1 << 20).bufferBytes(64 << 10).segmentBytes(64 << 10))
            .transactions(x -> x.maxActive(2));
    int records = 3_000;
    for (boolean second : new boolean[] {false, true}) {
      SimDisk disk = new SimDisk(1);
      List<SimDisk> cuts = new ArrayList<>();
      boolean[] all = {false};
      Random random = new Random(Sample.seed() + (second ? 2 : 1));
      try (Database db = Database.open(new SimStorage(disk), options)) {
        Table<byte[], byte[]> t = db.table(BYTES).bytes();
        db.run(tx -> t.put(tx, key(-1), key(1)));
        if (second) {
          t.load(into -> into.add(key(-2), value(1, 9_000)));
        }
        disk.onOperation(
            n -> {
              if (all[0] || random.nextInt(14) == 0) {
                cuts.add(disk.copy());
              }
            });
        t.load(
            LoadOptions.defaults().memoryBytes(1 << 20),
            into -> {
              for (int k = records; k-- > 0; ) {
                into.add(key(k), value(k, k % 500 == 0 ? 9_000 : 200));
              }
            });
        all[0] = true;
        db.run(tx -> t.put(tx, key(-3), key(1)));
        db.checkpoint();
        disk.onOperation(n -> {});
      }
      int before = 0;
      int after = 0;
      for (SimDisk cut : cuts) {
        for (SimCrash how : List.of(SimCrash.LOSE_ALL, SimCrash.KEEP_ALL, SimCrash.RANDOM)) {
          try (Database db = Database.open(new SimStorage(cut.crash(how)), options)) {
            Table<byte[], byte[]> t = db.table(BYTES).bytes();
            long n = db.read(tx -> count(t, tx));
            assertEquals(n, db.table(BYTES).count());
            long old = second ? 2 : 1;
            boolean loaded = n > old;
            assertTrue(
                n == old || n == records + old || n == records + old + 1,
                "records: " + n + ", -Dsample.seed=" + Sample.seed());
            before += loaded ? 0 : 1;
            after += loaded ? 1 : 0;
            sound(db);
            t.load(into -> into.add(key(1_000_000), key(1)));
            sound(db);
          }
        }
      }
      assertTrue(before > 0 && after > 0, before + " before, " + after + " after");
    }
  }

  /**
   * Another load holds the redo point in the middle of the records that allocated this load's
   * pages, while the catalog lists the trees as to be freed.
   */
  @Test
  void crashWhileAnotherLoadHoldsTheRedoPointLosesNoPage() throws Exception {
    Options options = Options.defaults().bufferBytes(4 << 20);
    SimDisk disk = new SimDisk(1);
    try (Database db = Database.open(new SimStorage(disk), options)) {
      Table<byte[], byte[]> t = db.table(BYTES).bytes();
      Table<byte[], byte[]> other = db.table(TableSpec.bytes("other", 40)).bytes();
      CountDownLatch begun = new CountDownLatch(1);
      CountDownLatch crashed = new CountDownLatch(1);
      Thread[] threads = new Thread[2];
      AtomicLong middle = new AtomicLong();
      threads[0] =
          Thread.ofPlatform()
              .start(
                  () ->
                      t.load(
                          LoadOptions.defaults().ascending(true),
                          into -> {
                            for (int k = 0; k < 4_000; k++) {
                              into.add(key(k), value(k, k % 100 == 0 ? 9_000 : 200));
                              if (k == 2_000) {
                                middle.set(db.store().logTail());
                                threads[1] = loads(other, begun, crashed);
                                await(begun);
                              }
                            }
                          }));
      while (middle.get() == 0 || db.store().redoLsn() < middle.get()) {
        Thread.onSpinWait();
      }
      SimDisk cut = disk.copy();
      crashed.countDown();
      threads[0].join();
      threads[1].join();
      sound(db);
      for (SimCrash how : List.of(SimCrash.LOSE_ALL, SimCrash.KEEP_ALL)) {
        try (Database again = Database.open(new SimStorage(cut.crash(how)), options)) {
          assertEquals(0, again.table(BYTES).count());
          sound(again);
        }
      }
    }
  }

  private static void await(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  private static Thread loads(
      Table<byte[], byte[]> table, CountDownLatch begun, CountDownLatch end) {
    return Thread.ofPlatform()
        .start(
            () ->
                table.load(
                    LoadOptions.defaults().ascending(true),
                    into -> {
                      for (int k = 0; k < 100; k++) {
                        into.add(key(k), value(k, 200));
                      }
                      begun.countDown();
                      await(end);
                    }));
  }

  private static long count(Table<byte[], byte[]> t, Transaction tx) {
    long n = 0;
    try (Cursor<byte[], byte[]> c = t.scan(tx, null, null, ScanOrder.ASCENDING)) {
      while (c.next()) {
        n += c.value().length >= 0 ? 1 : 0;
      }
    }
    return n;
  }

  @Test
  void aFullDiskRefusesALoad() {
    SimDisk disk = new SimDisk(1);
    Options options = Options.defaults().bufferBytes(600_000).transactions(x -> x.maxActive(2));
    try (Database db = Database.open(new SimStorage(disk), options)) {
      Table<byte[], byte[]> t = db.table(BYTES).bytes();
      db.run(tx -> t.put(tx, key(1), key(1)));
      db.checkpoint();
      disk.capacity("db", disk.device("db").size() + (1 << 20));
      assertThrows(
          io.fovea.error.StorageFullException.class,
          () ->
              t.load(
                  into -> {
                    for (int k = 2; k < 40_000; k++) {
                      into.add(key(k), value(k, 200));
                    }
                  }));
      disk.capacity("db", Long.MAX_VALUE);
      db.run(tx -> t.put(tx, key(2), key(1)));
      sound(db);
    }
  }

  @Tag("slow")
  @Test
  void aBackupWhileATableIsLoadedHasAllOrNothing() throws Exception {
    try (Database db = open()) {
      Table<byte[], byte[]> t = db.table(BYTES).bytes();
      Thread loading =
          Thread.ofPlatform()
              .start(
                  () ->
                      t.load(
                          LoadOptions.defaults().ascending(true),
                          into -> {
                            for (int k = 0; k < 200_000; k++) {
                              into.add(key(k), value(k, 60));
                            }
                          }));
      List<Path> copies = new ArrayList<>();
      do {
        Path to = dir.resolve("copy" + copies.size());
        db.backup(to, BackupOptions.defaults());
        copies.add(to);
      } while (loading.isAlive());
      loading.join();
      for (Path copy : copies) {
        try (Database there = Database.open(copy.resolve("db"), Options.defaults())) {
          Table<byte[], byte[]> c = there.table(BYTES).bytes();
          long n = there.read(tx -> count(c, tx));
          assertTrue(n == 0 || n == 200_000, "records: " + n);
          sound(there);
        }
      }
    }
  }
}
