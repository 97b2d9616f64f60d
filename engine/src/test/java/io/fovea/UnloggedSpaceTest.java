package io.fovea;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Durability;
import io.fovea.schema.TableSpec;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Free pages are released even without a log, by compactions and by a close. */
@Tag("slow")
@Timeout(180)
class UnloggedSpaceTest {
  private static final Options OPTIONS =
      Options.defaults().bufferBytes(8 << 20).durability(Durability.NONE);
  private static final int RECORDS = 1500;

  @TempDir Path dir;

  private static byte[] key(int i) {
    return ByteBuffer.allocate(8).putInt(i * 0x9E3779B1).putInt(i).array();
  }

  /** Every tenth value is long. */
  private static byte[] value(int i, int version) {
    byte[] v = new byte[i % 10 == 0 ? 9_000 + i : 700];
    Arrays.fill(v, (byte) (i * 31 + version));
    return v;
  }

  private static Table<byte[], byte[]> table(Database db, String name) {
    return db.table(TableSpec.bytes(name, 8)).bytes();
  }

  private static void fill(Database db, int version) {
    Table<byte[], byte[]> a = table(db, "a");
    Table<byte[], byte[]> b = table(db, "b");
    for (int first = 0; first < RECORDS; first += 100) {
      int begin = first;
      db.run(
          tx -> {
            for (int i = begin; i < begin + 100; i++) {
              a.put(tx, key(i), value(i, version));
              b.put(tx, key(i), value(i, version));
            }
          });
    }
    Table<byte[], byte[]> late = table(db, "late");
    db.run(tx -> late.put(tx, key(1), value(1, version)));
  }

  /** Keeps one of twenty records of the first table, and none of the second. */
  private static void thin(Database db) {
    Table<byte[], byte[]> a = table(db, "a");
    Table<byte[], byte[]> b = table(db, "b");
    for (int first = 0; first < RECORDS; first += 100) {
      int begin = first;
      db.run(
          tx -> {
            for (int i = begin; i < begin + 100; i++) {
              b.delete(tx, key(i));
              if (i % 20 != 0) {
                a.delete(tx, key(i));
              }
            }
          });
    }
  }

  private static void check(Database db, int version) {
    VerifyReport report = db.verify();
    assertTrue(report.ok(), report::toString);
    Table<byte[], byte[]> a = table(db, "a");
    for (int i = 0; i < RECORDS; i += 20) {
      int n = i;
      assertArrayEquals(value(i, version), db.read(tx -> a.get(tx, key(n))));
    }
    Table<byte[], byte[]> late = table(db, "late");
    assertArrayEquals(value(1, version), db.read(tx -> late.get(tx, key(1))));
  }

  @Test
  void aFile() throws Exception {
    Path file = dir.resolve("file.fovea");
    try (Database db = Database.open(file, OPTIONS)) {
      fill(db, 1);
      thin(db);
      CompactReport report = db.compact(CompactOptions.defaults());
      assertTrue(report.bytesAfter() <= 1.05 * report.bytesUsed(), report::toString);
      assertTrue(report.bytesBefore() > 3 * report.bytesAfter(), report::toString);
      assertTrue(Files.size(file) <= report.bytesAfter() + (1 << 20), report::toString);
      check(db, 1);
      fill(db, 2);
      thin(db);
      db.compact(CompactOptions.defaults().bytesPerSecond(16 << 20));
      check(db, 2);
    }
    for (Durability durability : Durability.values()) {
      try (Database db = Database.open(file, OPTIONS.durability(durability))) {
        check(db, 2);
      }
    }
  }

  @Test
  void aCloseTruncatesTheFile() throws Exception {
    Path file = dir.resolve("closed.fovea");
    long before;
    try (Database db = Database.open(file, OPTIONS)) {
      Table<byte[], byte[]> stays = table(db, "stays");
      db.run(tx -> stays.put(tx, key(1), value(1, 1)));
      fill(db, 1);
      for (String name : List.of("a", "b", "late")) {
        db.dropTable(name);
      }
      before = Files.size(file);
      // Pages are freed in the background: wait until no more are.
      long free = 0;
      for (long seen = -1; free < 6_600_000 || seen != free; ) {
        seen = free;
        Thread.sleep(300);
        free = db.stats().storage().freeBytes();
      }
    }
    assertTrue(Files.size(file) < before / 2, before + " bytes, then " + Files.size(file));
    try (Database db = Database.open(file, OPTIONS)) {
      VerifyReport report = db.verify();
      assertTrue(report.ok(), report::toString);
      fill(db, 2);
      check(db, 2);
    }
  }

  /** Holes are punched once, where the file system supports it, and reused. */
  @Test
  void holes() {
    Path file = dir.resolve("holes.fovea");
    CompactOptions inPlace = CompactOptions.defaults().movePages(false);
    try (Database db = Database.open(file, OPTIONS)) {
      fill(db, 1);
      thin(db);
      CompactReport report = db.compact(inPlace);
      check(db, 1);
      assertEquals(0, db.compact(inPlace).bytesPunched(), report::toString);
    }
    try (Database db = Database.open(file, OPTIONS)) {
      check(db, 1);
      fill(db, 2);
      check(db, 2);
      thin(db);
      db.compact(inPlace);
      check(db, 2);
    }
    FileReport found = FileReport.verify(file, OPTIONS);
    assertTrue(found.ok(), found::toString);
  }

  @Test
  void inMemory() {
    try (Database db = Database.inMemory(OPTIONS)) {
      fill(db, 1);
      thin(db);
      CompactReport report = db.compact(CompactOptions.defaults());
      assertTrue(report.bytesAfter() <= 1.05 * report.bytesUsed(), report::toString);
      check(db, 1);
      fill(db, 2);
      thin(db);
      check(db, 2);
    }
  }

  /** Other threads write, and the database is copied, while pages move. */
  @Test
  void duringOtherOperations() throws Exception {
    Path file = dir.resolve("beside.fovea");
    Path copy = dir.resolve("copy");
    try (Database db = Database.open(file, OPTIONS)) {
      fill(db, 1);
      thin(db);
      Table<byte[], byte[]> moves = table(db, "moves");
      AtomicBoolean stop = new AtomicBoolean();
      List<Throwable> failures = new ArrayList<>();
      Thread writer =
          new Thread(
              () -> {
                Random r = new Random(1);
                try {
                  while (!stop.get()) {
                    int i = r.nextInt(200);
                    db.run(tx -> moves.put(tx, key(i), value(i, 1)));
                    db.run(tx -> moves.delete(tx, key(r.nextInt(200))));
                  }
                } catch (Throwable e) {
                  failures.add(e);
                }
              });
      Thread copies =
          new Thread(
              () -> {
                try {
                  db.backup(copy);
                } catch (Throwable e) {
                  failures.add(e);
                }
              });
      writer.start();
      copies.start();
      for (int i = 0; i < 3; i++) {
        db.compact(CompactOptions.defaults());
      }
      copies.join();
      stop.set(true);
      writer.join();
      assertEquals(List.of(), failures);
      check(db, 1);
    }
    Path restored = dir.resolve("restored.fovea");
    assertTrue(Restore.from(copy).to(restored, OPTIONS).ok());
    try (Database db = Database.open(restored, OPTIONS)) {
      check(db, 1);
    }
  }
}
