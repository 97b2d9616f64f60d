package io.fovea;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Durability;
import io.fovea.config.Protocol;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.SnapshotTooOldException;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLongArray;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A snapshot keeps its state of the database under any change. */
class SnapshotTest {
  private static final Layout.Definition B = Layout.define();
  private static final Field VALUE = B.int64("value");
  private static final Field TEXT = B.text("text", 100);
  private static final TableSpec SPEC =
      TableSpec.of("numbers", KeySpec.of(FieldType.INT64), B.build())
          .with(IndexSpec.on("byValue", VALUE));

  @TempDir Path dir;

  private static Options small() {
    return Options.defaults().bufferBytes(8 << 20).durability(Durability.ASYNC);
  }

  private static void put(Database db, long from, long to, long value) {
    RowTable t = db.table(SPEC);
    for (long at = from; at < to; at += 1000) {
      long first = at;
      db.run(
          tx -> {
            Key key = t.key();
            Row row = t.row();
            for (long k = first; k < Math.min(to, first + 1000); k++) {
              row.clear();
              t.put(tx, key.set(k), row.setLong(VALUE, value).setText(TEXT, "text of " + k));
            }
          });
    }
  }

  private static List<Long> seen(Database db) {
    RowTable t = db.table(SPEC);
    return db.read(
        tx -> {
          List<Long> all = new ArrayList<>();
          long n = 0;
          long sum = 0;
          try (RowCursor c = t.scan(tx, Range.all(), ScanOrder.ASCENDING)) {
            while (c.next()) {
              n++;
              sum += c.row().getLong(VALUE);
            }
          }
          all.add(n);
          all.add(sum);
          n = 0;
          sum = 0;
          try (RowCursor c = t.index("byValue").scan(tx, Range.all(), ScanOrder.ASCENDING)) {
            while (c.next()) {
              n++;
              sum += c.row().getLong(VALUE);
            }
          }
          all.add(n);
          all.add(sum);
          return all;
        });
  }

  private static List<Long> of(long count, long sum) {
    return List.of(count, sum, count, sum);
  }

  @Tag("slow")
  @Test
  void isUnchanged() {
    try (Database db = Database.open(dir.resolve("db"), small())) {
      put(db, 0, 20_000, 1);
      try (Database then = db.snapshot()) {
        put(db, 0, 20_000, 2);
        put(db, 20_000, 60_000, 3);
        assertEquals(of(20_000, 20_000), seen(then));
        try (Database later = db.snapshot()) {
          db.dropTable("numbers");
          put(db, 0, 30_000, 7);
          assertEquals(of(20_000, 20_000), seen(then));
          assertEquals(of(60_000, 160_000), seen(later));
          assertEquals(of(30_000, 210_000), seen(db));
        }
        assertEquals(of(20_000, 20_000), seen(then));
      }
      assertTrue(db.verify().ok());
    }
  }

  @Test
  void inMemory() {
    try (Database db = Database.inMemory(small())) {
      put(db, 0, 5000, 1);
      try (Database then = db.snapshot()) {
        put(db, 0, 5000, 2);
        assertEquals(of(5000, 5000), seen(then));
        assertEquals(of(5000, 10_000), seen(db));
      }
    }
  }

  /** Copies that exceed memory go to a file, which is deleted with the last snapshot. */
  @Test
  void goesToAFile() {
    Path file = dir.resolve("db");
    Path copies = dir.resolve("db.snap");
    Options options = small().snapshots(s -> s.memoryBytes(64 << 10));
    try (Database db = Database.open(file, options)) {
      put(db, 0, 30_000, 1);
      try (Database then = db.snapshot()) {
        put(db, 0, 30_000, 2);
        assertTrue(Files.exists(copies));
        assertEquals(of(30_000, 30_000), seen(then));
        DatabaseStats.Snapshots stats = db.stats().snapshots();
        assertEquals(1, stats.open());
        assertTrue(stats.pagesCopied() > 500, stats::toString);
        assertTrue(stats.memoryBytes() <= 64 << 10, stats::toString);
        assertTrue(stats.fileBytes() > 1 << 20, stats::toString);
      }
      assertFalse(Files.exists(copies));
      DatabaseStats.Snapshots stats = db.stats().snapshots();
      assertEquals(0, stats.open() + stats.memoryBytes() + stats.fileBytes() + stats.evicted());
    }
  }

  @Test
  void filesLeftByACrashAreDeleted() throws IOException {
    Path file = dir.resolve("db");
    Database.open(file, small()).close();
    Path copies = Files.write(dir.resolve("db.snap"), new byte[8192]);
    try (Database db = Database.open(file, small())) {
      assertFalse(Files.exists(copies));
      put(db, 0, 10, 1);
    }
  }

  /** Without space the oldest snapshot is evicted; others, and writers, continue. */
  @Test
  void isEvictedWithoutSpace() {
    Options options =
        small().snapshots(s -> s.bufferBytes(500_000).memoryBytes(1 << 20).fileBytes(0));
    try (Database db = Database.open(dir.resolve("db"), options)) {
      put(db, 0, 30_000, 1);
      try (Database first = db.snapshot()) {
        put(db, 0, 1000, 2);
        assertEquals(of(30_000, 30_000), seen(first));
        try (Database second = db.snapshot()) {
          put(db, 1000, 4000, 2); // too many for the first snapshot, but not for the second
          assertEquals(of(30_000, 31_000), seen(second));
          put(db, 0, 30_000, 3);
          for (Database given : List.of(first, second)) {
            assertThrows(SnapshotTooOldException.class, () -> seen(given));
          }
        }
        assertEquals(2, db.stats().snapshots().evicted());
        try (Database third = db.snapshot()) {
          put(db, 0, 1000, 4);
          assertEquals(of(30_000, 90_000), seen(third));
        }
      }
      assertTrue(db.verify().ok());
    }
  }

  /** A buffer of a few pages, and more records than any cache holds. */
  @Tag("slow")
  @Tag("slow")
  @Test
  void readsMoreThanTheBufferHolds() {
    Options options = small().snapshots(s -> s.bufferBytes(500_000));
    try (Database db = Database.open(dir.resolve("db"), options)) {
      put(db, 0, 100_000, 1);
      try (Database then = db.snapshot()) {
        put(db, 50_000, 60_000, 2);
        assertEquals(of(100_000, 100_000), seen(then));
        RowTable t = then.table(SPEC);
        then.run(
            TxOptions.forReading(),
            tx -> {
              Key key = t.key();
              Row row = t.row();
              for (long k = 0; k < 100_000; k += 7) {
                assertTrue(t.get(tx, key.set(k), row));
                assertEquals("text of " + k, row.getText(TEXT));
              }
            });
      }
    }
  }

  @Test
  void isClosedWithItsDatabase() {
    Database db = Database.open(dir.resolve("db"), small());
    put(db, 0, 100, 1);
    Database then = db.snapshot();
    Database other = db.snapshot();
    other.close();
    db.close();
    assertFalse(then.isOpen());
    assertThrows(DatabaseClosedException.class, () -> seen(then));
    assertThrows(DatabaseClosedException.class, then::snapshot);
    assertThrows(DatabaseClosedException.class, db::snapshot);
    then.close();
  }

  @Test
  void onlyReads() {
    try (Database db = Database.inMemory(small())) {
      put(db, 0, 100, 1);
      try (Database then = db.snapshot()) {
        assertThrows(InvalidUseException.class, () -> put(then, 0, 1, 2));
        assertThrows(InvalidUseException.class, () -> then.dropTable("numbers"));
        assertThrows(
            InvalidUseException.class, () -> then.table(SPEC.with(IndexSpec.on("i", TEXT))));
        assertThrows(InvalidUseException.class, () -> then.table(TableSpec.bytes("new", 40)));
        RowTable ofTheOther = db.table(SPEC);
        assertThrows(
            InvalidUseException.class,
            () -> then.run(tx -> ofTheOther.exists(tx, ofTheOther.key().set(1L))));
        assertTrue(then.options().readOnly());
        assertEquals(of(100, 100), seen(then));
      }
      db.run(tx -> assertThrows(InvalidUseException.class, db::snapshot));
    }
  }

  /** Snapshots of a snapshot and of a read-only database. */
  @Test
  void ofReadOnlyDatabases() {
    Path file = dir.resolve("db");
    try (Database db = Database.open(file, small())) {
      put(db, 0, 5000, 1);
      try (Database then = db.snapshot()) {
        put(db, 0, 5000, 2);
        Database again = then.snapshot();
        assertEquals(of(5000, 5000), seen(again));
        put(db, 0, 5000, 3);
        assertEquals(of(5000, 5000), seen(again));
        assertEquals(of(5000, 5000), seen(then));
      }
    }
    try (Database db = Database.open(file, small().readOnly(true));
        Database then = db.snapshot()) {
      assertEquals(of(5000, 15_000), seen(then));
    }
  }

  @Test
  void isVerifiedAndEstimated() {
    try (Database db = Database.open(dir.resolve("db"), small())) {
      put(db, 0, 20_000, 1);
      try (Database then = db.snapshot()) {
        put(db, 5000, 40_000, 2);
        long n = then.read(tx -> then.table(SPEC).estimate(tx, Range.all()).count());
        assertTrue(n > 15_000 && n < 25_000, () -> n + " records");
        assertEquals(20_000, then.stats().storage().bytes() > 0 ? seen(then).getFirst() : 0);
      }
    }
  }

  /** Verifies while pages are free, and while others are freed and reused. */
  @Test
  void isVerified() {
    try (Database db = Database.open(dir.resolve("db"), small())) {
      put(db, 0, 20_000, 1);
      db.table(TableSpec.bytes("gone", 40));
      Table<byte[], byte[]> bytes = db.table(TableSpec.bytes("long", 40)).bytes();
      db.run(tx -> bytes.put(tx, new byte[] {1}, new byte[100_000]));
      db.run(tx -> bytes.put(tx, new byte[] {1}, new byte[10]));
      try (Database then = db.snapshot()) {
        db.dropTable("gone");
        db.run(tx -> bytes.put(tx, new byte[] {2}, new byte[200_000]));
        put(db, 5000, 40_000, 2);
        VerifyReport report = then.verify();
        assertTrue(report.ok(), report::toString);
        assertEquals(20_001, report.records());
        assertThrows(InvalidUseException.class, () -> then.backup(dir.resolve("copy")));
        assertFalse(Files.exists(dir.resolve("copy").resolve("db")));
      }
      assertTrue(db.verify().ok());
    }
  }

  @Test
  void duringIndexChanges() {
    try (Database db = Database.open(dir.resolve("db"), small())) {
      put(db, 0, 5000, 1);
      try (Database then = db.snapshot()) {
        db.table(SPEC.with(IndexSpec.on("byText", TEXT)));
        db.dropIndex("numbers", "byValue");
        try (Database later = db.snapshot()) {
          assertEquals(of(5000, 5000), seen(then));
          TableSpec now =
              TableSpec.of("numbers", KeySpec.of(FieldType.INT64), SPEC.layout())
                  .with(IndexSpec.on("byText", TEXT));
          String first =
              later.read(
                  tx -> {
                    try (RowCursor c =
                        later
                            .table(now)
                            .index("byText")
                            .scan(tx, Range.all(), ScanOrder.ASCENDING)) {
                      assertTrue(c.next());
                      return c.row().getText(TEXT);
                    }
                  });
          assertEquals("text of 0", first);
        }
      }
    }
  }

  /**
   * Transfers between accounts under every protocol: each snapshot has every transfer acknowledged
   * before it was opened, and no partial one; many threads read it concurrently with equal results.
   */
  @ParameterizedTest
  @EnumSource
  void isConsistent(Protocol protocol) throws Exception {
    int accounts = 200;
    int writers = 3;
    Options options = small().bufferBytes(1 << 20).experiments(exp -> exp.protocol(protocol));
    AtomicLongArray acknowledged = new AtomicLongArray(writers);
    AtomicBoolean stop = new AtomicBoolean();
    try (Database db = Database.open(dir.resolve("db"), options);
        ExecutorService threads = Executors.newCachedThreadPool()) {
      put(db, 0, accounts, 1000);
      put(db, 10_000, 10_000 + writers, 0);
      List<Future<?>> work = new ArrayList<>();
      for (int w = 0; w < writers; w++) {
        int writer = w;
        work.add(threads.submit(() -> transfers(db, writer, accounts, acknowledged, stop)));
      }
      try {
        for (int round = 0; round < 15; round++) {
          long[] before = new long[writers];
          for (int w = 0; w < writers; w++) {
            before[w] = acknowledged.get(w);
          }
          try (Database then = db.snapshot()) {
            List<Future<long[]>> readers = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
              readers.add(threads.submit(() -> balances(then, accounts, writers)));
            }
            long[] first = readers.getFirst().get();
            assertEquals(1000L * accounts, first[0]);
            for (int w = 0; w < writers; w++) {
              assertTrue(first[1 + w] >= before[w], "acknowledged writes are present");
            }
            for (Future<long[]> other : readers) {
              assertArrayEquals(first, other.get());
            }
            assertArrayEquals(first, balances(then, accounts, writers));
          }
        }
      } finally {
        stop.set(true);
      }
      for (Future<?> w : work) {
        w.get();
      }
      assertTrue(db.verify().ok());
    }
  }

  private static void transfers(
      Database db, int writer, int accounts, AtomicLongArray acknowledged, AtomicBoolean stop) {
    RowTable t = db.table(SPEC);
    Random random = new Random(writer);
    for (long n = 1; !stop.get(); n++) {
      long from = random.nextInt(accounts);
      long to = random.nextInt(accounts);
      long amount = random.nextInt(10);
      long count = n;
      db.run(
          tx -> {
            Row row = t.row();
            add(tx, t, row, from, -amount);
            add(tx, t, row, to, amount);
            row.clear();
            t.put(tx, t.key().set(10_000L + writer), row.setLong(VALUE, count));
          });
      acknowledged.set(writer, n);
    }
  }

  private static void add(Transaction tx, RowTable t, Row row, long account, long amount) {
    assertTrue(t.get(tx, t.key().set(account), row));
    t.update(tx, row.setLong(VALUE, row.getLong(VALUE) + amount));
  }

  /** Returns the sum of all accounts, and the number of writes of each writer. */
  private static long[] balances(Database db, int accounts, int writers) {
    RowTable t = db.table(SPEC);
    return db.read(
        tx -> {
          long[] all = new long[1 + writers];
          Row row = t.row();
          for (long a = 0; a < accounts; a++) {
            assertTrue(t.get(tx, t.key().set(a), row));
            all[0] += row.getLong(VALUE);
          }
          for (int w = 0; w < writers; w++) {
            assertTrue(t.get(tx, t.key().set(10_000L + w), row));
            all[1 + w] = row.getLong(VALUE);
          }
          return all;
        });
  }
}
