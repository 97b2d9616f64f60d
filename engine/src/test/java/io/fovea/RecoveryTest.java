package io.fovea;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Durability;
import io.fovea.error.CorruptionException;
import io.fovea.error.FoveaException;
import io.fovea.error.IncompatibleFormatException;
import io.fovea.schema.Field;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Databases reopened after the process was killed; the crash tests cover power failures. */
@Tag("slow")
class RecoveryTest {
  private static final Options SMALL =
      Options.defaults()
          .bufferBytes(4 << 20)
          .log(log -> log.bufferBytes(256 << 10).segmentBytes(256 << 10).maxBytes(2 << 20));

  private static final TableSpec BYTES = TableSpec.bytes("bytes", 60);
  private static final KeySpec.Definition KEY = KeySpec.define();
  private static final Field ID = KEY.int32("id");
  private static final KeySpec KEY_SPEC = KEY.build();
  private static final Layout.Definition LAYOUT = Layout.define();
  private static final Field NUMBER = LAYOUT.int64("number");
  private static final Field NAME = LAYOUT.text("name", 24);
  private static final Layout LAYOUT_SPEC = LAYOUT.build();
  private static final TableSpec ROWS = TableSpec.of("rows", KEY_SPEC, LAYOUT_SPEC);
  private static final IndexSpec BY_NUMBER = IndexSpec.unique("by_number", NUMBER);
  private static final IndexSpec BY_NAME = IndexSpec.on("by_name", NAME);
  private static final TableSpec INDEXED = ROWS.with(BY_NUMBER).with(BY_NAME);

  @TempDir Path dir;

  private Path file() {
    return dir.resolve("db");
  }

  private Database open(Options options) {
    return Database.open(file(), options);
  }

  private Database open() {
    return open(SMALL);
  }

  private static void verify(Database db) {
    VerifyReport report = db.verify();
    assertTrue(report.ok(), report::toString);
  }

  private static byte[] bytes(String s) {
    return s.getBytes(StandardCharsets.UTF_8);
  }

  private static byte[] key(int i) {
    return bytes(String.format("key%08d", i));
  }

  private static byte[] value(Random random, int max) {
    byte[] v = new byte[random.nextInt(max)];
    random.nextBytes(v);
    return v;
  }

  private static TreeMap<String, byte[]> contents(Database db) {
    Table<byte[], byte[]> t = db.table(BYTES).bytes();
    TreeMap<String, byte[]> all = new TreeMap<>();
    db.read(
        tx -> {
          all.clear();
          try (Cursor<byte[], byte[]> c = t.scan(tx, null, null, ScanOrder.ASCENDING)) {
            while (c.next()) {
              all.put(new String(c.key(), StandardCharsets.UTF_8), c.value());
            }
          }
          return null;
        });
    return all;
  }

  private static void assertContents(Map<String, byte[]> expected, Database db) {
    TreeMap<String, byte[]> found = contents(db);
    assertEquals(expected.keySet(), found.keySet());
    expected.forEach((k, v) -> assertArrayEquals(v, found.get(k), k));
  }

  private static void work(
      Database db, TreeMap<String, byte[]> model, Random random, int transactions, int valueMax) {
    Table<byte[], byte[]> t = db.table(BYTES).bytes();
    for (int i = 0; i < transactions; i++) {
      TreeMap<String, byte[]> changed = new TreeMap<>();
      int n = 1 + random.nextInt(8);
      db.run(
          tx -> {
            for (int k = 0; k < n; k++) {
              byte[] key = key(random.nextInt(600));
              String name = new String(key, StandardCharsets.UTF_8);
              if (random.nextInt(4) == 0) {
                t.delete(tx, key);
                changed.put(name, null);
              } else {
                byte[] v = value(random, random.nextInt(10) == 0 ? valueMax : 200);
                t.put(tx, key, v);
                changed.put(name, v);
              }
            }
          });
      changed.forEach(
          (k, v) -> {
            if (v == null) {
              model.remove(k);
            } else {
              model.put(k, v);
            }
          });
    }
  }

  @Test
  void committedRecordsSurvive() {
    Database db = open();
    Table<byte[], byte[]> t = db.table(BYTES).bytes();
    db.run(tx -> t.put(tx, bytes("a"), bytes("1")));
    db.abandon();
    try (Database again = open()) {
      assertArrayEquals(
          bytes("1"), again.read(tx -> again.table(BYTES).bytes().get(tx, bytes("a"))));
      verify(again);
    }
    try (Database clean = open()) {
      assertArrayEquals(
          bytes("1"), clean.read(tx -> clean.table(BYTES).bytes().get(tx, bytes("a"))));
      verify(clean);
    }
  }

  @Test
  void anEmptyDatabaseIsRecovered() {
    open().abandon();
    open().abandon();
    try (Database db = open()) {
      assertTrue(db.tables().isEmpty());
      verify(db);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4})
  void randomTransactionsSurvive(int seed) {
    Random random = new Random(seed);
    TreeMap<String, byte[]> model = new TreeMap<>();
    for (int round = 0; round < 6; round++) {
      Database db = open();
      assertContents(db.tables().isEmpty() ? Map.of() : model, db);
      work(db, model, random, 300, 20_000);
      if (random.nextBoolean()) {
        db.checkpoint();
        work(db, model, random, 20, 20_000);
      }
      if (random.nextInt(3) == 0) {
        db.close();
      } else {
        db.abandon();
      }
      try (Database again = open()) {
        assertContents(model, again);
        verify(again);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {4096, 16384, 65536})
  void everyPageSize(int pageSize) {
    Options options =
        SMALL
            .device(dev -> dev.pageSize(pageSize))
            .bufferBytes(16 << 20)
            .log(log -> log.bufferBytes(1 << 20).segmentBytes(1 << 20).maxBytes(8 << 20));
    TreeMap<String, byte[]> model = new TreeMap<>();
    Database db = open(options);
    work(db, model, new Random(5), 300, 100_000);
    db.abandon();
    try (Database again = open(options)) {
      assertContents(model, again);
      verify(again);
    }
  }

  @Test
  void anIncompleteRecoveryIsRepeated() {
    Random random = new Random(7);
    TreeMap<String, byte[]> model = new TreeMap<>();
    Database db = open();
    work(db, model, random, 500, 20_000);
    db.abandon();
    for (int i = 0; i < 5; i++) {
      db = open();
      assertContents(model, db);
      db.abandon(); // after the recovery, before a checkpoint
    }
    try (Database again = open()) {
      assertContents(model, again);
      verify(again);
    }
  }

  @Test
  void transactionsLargerThanTheLogsBuffer() {
    TreeMap<String, byte[]> model = new TreeMap<>();
    Database db = open();
    Table<byte[], byte[]> t = db.table(BYTES).bytes();
    db.run(
        tx -> {
          for (int i = 0; i < 3000; i++) {
            byte[] v = new byte[500];
            Arrays.fill(v, (byte) i);
            t.put(tx, key(i), v);
            model.put(new String(key(i), StandardCharsets.UTF_8), v);
          }
        });
    db.abandon();
    try (Database again = open()) {
      assertContents(model, again);
      verify(again);
    }
  }

  @Test
  void rowsAndTheirIndexes() {
    Database db = open();
    RowTable t = db.table(INDEXED);
    rows(db, t, 0, 2000);
    Key key = t.key();
    Row row = t.row();
    db.run(
        tx -> {
          for (int i = 0; i < 500; i++) {
            assertTrue(t.get(tx, key.set(i), row));
            t.update(tx, row.setText(NAME, "changed" + i));
            assertTrue(t.delete(tx, key.set(1000 + i)));
          }
        });
    db.abandon();
    try (Database again = open()) {
      RowTable u = again.table(INDEXED);
      Key k = u.key();
      Row r = u.row();
      again.read(
          tx -> {
            for (int i = 0; i < 2000; i++) {
              assertEquals(i < 1000 || i >= 1500, u.get(tx, k.set(i), r), "row " + i);
              if (i < 500) {
                assertEquals("changed" + i, r.getText(NAME));
              }
            }
            return null;
          });
      verify(again);
    }
  }

  private static void rows(Database db, RowTable t, int from, int to) {
    Key key = t.key();
    Row row = t.row();
    db.run(
        tx -> {
          for (int i = from; i < to; i++) {
            t.insert(tx, key.set(i), row.clear().setLong(NUMBER, i).setText(NAME, "n" + i % 10));
          }
        });
  }

  @Test
  void schemaChangesSurvive() {
    Database db = open();
    rows(db, db.table(ROWS), 0, 3000);
    db.table(TableSpec.bytes("other", 20));
    db.abandon();
    db = open();
    assertEquals(java.util.List.of("other", "rows"), db.tables());
    db.table(INDEXED); // builds both indexes
    db.abandon();
    db = open();
    RowTable t = db.table(INDEXED);
    verify(db);
    rows(db, t, 3000, 4000);
    assertTrue(db.dropIndex("rows", "by_name"));
    assertTrue(db.dropTable("other"));
    db.abandon();
    db = open();
    assertEquals(java.util.List.of("rows"), db.tables());
    db.table(ROWS.with(BY_NUMBER));
    verify(db);
    assertTrue(db.dropTable("rows"));
    db.abandon();
    try (Database again = open()) {
      assertTrue(again.tables().isEmpty());
      VerifyReport report = again.verify();
      assertTrue(report.ok(), report::toString);
      assertEquals(report.pages() - 3, report.freePages());
    }
  }

  @Test
  void aTableWithLongValuesIsDropped() {
    TreeMap<String, byte[]> model = new TreeMap<>();
    Database db = open();
    work(db, model, new Random(11), 300, 50_000);
    db.checkpoint();
    work(db, model, new Random(12), 100, 50_000);
    assertTrue(db.dropTable("bytes"));
    db.abandon();
    try (Database again = open()) {
      VerifyReport report = again.verify();
      assertTrue(report.ok(), report::toString);
      assertEquals(report.pages() - 3, report.freePages());
    }
  }

  @Test
  void treeIdsAreNotReused() {
    Database db = open();
    for (int i = 0; i < 5; i++) {
      db.table(TableSpec.bytes("t" + i, 20));
      db.dropTable("t" + i);
    }
    db.abandon();
    db = open();
    TreeMap<String, byte[]> model = new TreeMap<>();
    work(db, model, new Random(3), 50, 10_000);
    db.abandon();
    try (Database again = open()) {
      assertContents(model, again);
      verify(again);
    }
  }

  /**
   * The pages that the first records of the log name are newer than all that has been read of it.
   */
  @Test
  void theBufferThatSufficedBeforeACrashSufficesAfterIt() {
    Options small =
        Options.defaults()
            .durability(Durability.ASYNC)
            .bufferBytes(700_000)
            .memory(mem -> mem.timestampBytes(1 << 20))
            .device(dev -> dev.pageSize(4096))
            .log(
                log ->
                    log.maxBytes(128 << 20)
                        .segmentBytes(32 << 20)
                        .checkpointInterval(Duration.ofHours(1)));
    int records = 10_000;
    Database db = Database.open(dir.resolve("small"), small);
    Table<byte[], byte[]> t = db.table(TableSpec.bytes("t", 20)).bytes();
    for (int step = 0; step < 4; step++) {
      int kind = step % 2; // old records, or new ones between them, which split their leaves
      for (int i = 0; i < records; i += 50) {
        int from = i;
        db.run(
            tx -> {
              for (int k = from; k < from + 50; k++) {
                t.put(tx, text("k%06d/%d".formatted(k, kind)), new byte[200]);
              }
            });
      }
      if (step == 0) {
        db.checkpoint();
      }
    }
    db.abandon();
    try (Database again = Database.open(dir.resolve("small"), small)) {
      assertEquals(2 * records, again.table(TableSpec.bytes("t", 20)).bytes().count());
      assertEquals(List.of(), again.verify().problems());
    }
  }

  private static byte[] text(String s) {
    return s.getBytes(StandardCharsets.US_ASCII);
  }

  @Test
  void checkpointsUnderLoad() throws InterruptedException {
    Options options =
        SMALL.log(log -> log.maxBytes(1 << 20).checkpointInterval(Duration.ofMillis(30)));
    Database db = open(options);
    Table<byte[], byte[]> t = db.table(BYTES).bytes();
    AtomicReference<Throwable> failed = new AtomicReference<>();
    Thread[] threads = new Thread[3];
    for (int i = 0; i < threads.length; i++) {
      int me = i;
      threads[i] =
          Thread.ofVirtual()
              .start(
                  () -> {
                    try {
                      for (int n = 0; n < 600; n++) {
                        byte[] v = bytes("value " + n + " " + "x".repeat(n % 300));
                        db.run(
                            tx -> {
                              t.put(tx, bytes("hot" + me), v);
                              for (int k = 0; k < 5; k++) {
                                t.put(tx, bytes("t" + me + "-" + (v.length * 7 + k) % 500), v);
                              }
                            });
                      }
                    } catch (Throwable e) {
                      failed.set(e);
                    }
                  });
    }
    for (Thread thread : threads) {
      thread.join();
    }
    assertNull(failed.get());
    assertTrue(db.stats().checkpoints().made() > 1, () -> db.stats().checkpoints().toString());
    TreeMap<String, byte[]> expected = contents(db);
    db.abandon();
    try (Database again = open(options)) {
      assertContents(expected, again);
      verify(again);
    }
  }

  @Test
  void afterACheckpointThereIsNothingToRecover() {
    Database db = open();
    work(db, new TreeMap<>(), new Random(1), 200, 2000);
    db.checkpoint();
    db.abandon();
    try (Database again = open()) {
      assertEquals(0, again.stats().recovery().changes());
      verify(again);
    }
  }

  @Test
  void durabilityMayChange() {
    Random random = new Random(9);
    TreeMap<String, byte[]> model = new TreeMap<>();
    Durability[] order = {
      Durability.NONE,
      Durability.SYNC,
      Durability.NONE,
      Durability.ASYNC,
      Durability.SYNC,
      Durability.NONE,
      Durability.SYNC
    };
    for (Durability d : order) {
      try (Database db = open(SMALL.durability(d))) {
        work(db, model, random, 100, 10_000);
        assertContents(model, db);
        verify(db);
      }
      if (d != Durability.NONE) {
        Database db = open(SMALL.durability(d));
        work(db, model, random, 100, 10_000);
        if (d == Durability.ASYNC) {
          db.table(TableSpec.bytes("wait" + random.nextInt(), 20)); // waits for the log
        }
        db.abandon();
      }
    }
    try (Database db = open(SMALL.durability(Durability.NONE))) {
      assertContents(model, db);
      verify(db);
    }
  }

  @ParameterizedTest
  @EnumSource(Durability.class)
  void inMemoryThereIsNoLog(Durability durability) {
    try (Database db = Database.inMemory(SMALL.durability(durability))) {
      work(db, new TreeMap<>(), new Random(2), 100, 10_000);
      db.checkpoint();
      verify(db);
      assertFalse(db.stats().log().enabled());
    }
  }

  @Test
  void withoutTheDoubleWriteArea() {
    Options options = SMALL.log(log -> log.doubleWrite(false));
    TreeMap<String, byte[]> model = new TreeMap<>();
    for (int i = 0; i < 3; i++) {
      Database db = open(i % 2 == 0 ? options : SMALL);
      work(db, model, new Random(i), 200, 10_000);
      assertEquals(i % 2 == 1, Files.exists(dir.resolve("db.dwb")));
      db.abandon();
    }
    try (Database db = open(options)) {
      assertContents(model, db);
      verify(db);
    }
  }

  @Test
  void withoutItsLogAnUncleanFileIsDamaged() throws IOException {
    Database db = open();
    work(db, new TreeMap<>(), new Random(1), 20, 100);
    db.abandon();
    Path log = dir.resolve("db.log");
    Files.move(log, dir.resolve("away"));
    CorruptionException e = assertThrows(CorruptionException.class, this::open);
    assertTrue(e.getMessage().contains("log"), e.getMessage());
    Files.createFile(log);
    assertThrows(FoveaException.class, this::open);
    Files.move(dir.resolve("away"), log, StandardCopyOption.REPLACE_EXISTING);
    try (Database again = open()) {
      verify(again);
    }
  }

  @Test
  void theLogOfAnotherDatabaseIsRefused() throws IOException {
    Database db = open();
    work(db, new TreeMap<>(), new Random(1), 20, 100);
    db.abandon();
    Database other = Database.open(dir.resolve("other"), SMALL);
    work(other, new TreeMap<>(), new Random(2), 20, 100);
    other.abandon();
    Files.copy(
        dir.resolve("other.log"), dir.resolve("db.log"), StandardCopyOption.REPLACE_EXISTING);
    CorruptionException e = assertThrows(CorruptionException.class, this::open);
    assertTrue(e.getMessage().contains("another"), e.getMessage());
  }

  @Test
  void anOlderLogIsDetected() throws IOException {
    Database db = open();
    work(db, new TreeMap<>(), new Random(1), 20, 100);
    db.abandon();
    Files.copy(dir.resolve("db.log"), dir.resolve("old"));
    db = open();
    work(db, new TreeMap<>(), new Random(2), 200, 100);
    db.checkpoint();
    db.abandon();
    Files.copy(dir.resolve("old"), dir.resolve("db.log"), StandardCopyOption.REPLACE_EXISTING);
    IncompatibleFormatException e = assertThrows(IncompatibleFormatException.class, this::open);
    assertTrue(
        e.getMessage().contains("belongs to a copy or to another point in time"), e.getMessage());
  }
}
