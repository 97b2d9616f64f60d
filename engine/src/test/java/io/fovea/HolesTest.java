package io.fovea;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.fovea.config.Durability;
import io.fovea.error.CorruptionException;
import io.fovea.schema.TableSpec;
import io.fovea.support.Sample;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Long values are not moved. After a compaction the free pages between them take no disk space. */
@Tag("slow")
@Execution(ExecutionMode.CONCURRENT)
class HolesTest {
  private static final int RECORDS = 200;
  private static final int EVERY = 20;

  /** Values per transaction. */
  private static final int TOGETHER = 10;

  private static final Options OPTIONS = Options.defaults().bufferBytes(16 << 20);

  /** With moves there would be no free pages between used ones. */
  private static final CompactOptions IN_PLACE = CompactOptions.defaults().movePages(false);

  @TempDir Path dir;

  private static byte[] key(int i) {
    return ByteBuffer.allocate(4).putInt(i).array();
  }

  private static byte[] value(int i, int version) {
    byte[] v = new byte[20_000 + i % 7 * 3000];
    Arrays.fill(v, (byte) (i * 31 + version + 1));
    return v;
  }

  private static Table<byte[], byte[]> table(Database db) {
    return db.table(TableSpec.bytes("wide", 4)).bytes();
  }

  private static void put(Database db, Table<byte[], byte[]> table, int version) {
    for (int i = 0; i < RECORDS; i += TOGETHER) {
      int first = i;
      db.run(
          tx -> {
            for (int id = first; id < first + TOGETHER; id++) {
              table.put(tx, key(id), value(id, version));
            }
          });
    }
  }

  private static void thin(Database db, Table<byte[], byte[]> table) {
    for (int i = 0; i < RECORDS; i += TOGETHER) {
      int first = i;
      db.run(
          tx -> {
            for (int id = first; id < first + TOGETHER; id++) {
              if (id % EVERY != 0) {
                table.delete(tx, key(id));
              }
            }
          });
    }
  }

  private static void check(Database db, int version) {
    VerifyReport report = db.verify();
    assertTrue(report.ok(), report::toString);
    Table<byte[], byte[]> table = table(db);
    db.read(
        tx -> {
          for (int i = 0; i < RECORDS; i++) {
            byte[] found = table.get(tx, key(i));
            if (i % EVERY == 0) {
              assertArrayEquals(value(i, version), found, "record " + i);
            } else {
              assertNull(found, "record " + i);
            }
          }
          return null;
        });
  }

  /** Returns the allocated bytes of a file, or -1 if unknown. */
  private static long allocated(Path file) throws Exception {
    Process p;
    try {
      p = new ProcessBuilder("stat", "-c", "%b %B", file.toString()).start();
    } catch (IOException e) {
      return -1;
    }
    String said = new String(p.getInputStream().readAllBytes(), StandardCharsets.UTF_8).trim();
    if (p.waitFor() != 0) {
      return -1;
    }
    String[] parts = said.split(" ");
    return Long.parseLong(parts[0]) * Long.parseLong(parts[1]);
  }

  private static void requireSpace(Path file, CompactReport report) throws Exception {
    long takes = allocated(file);
    assumeTrue(takes >= 0 && report.bytesPunched() > 0, "the file system does not support holes");
    assertTrue(takes <= 1.3 * report.bytesUsed() + (2 << 20), takes + " bytes on disk; " + report);
  }

  @Test
  void allocatedBytesMatchTheContents() throws Exception {
    Path file = dir.resolve("holes.fovea");
    CompactReport report;
    try (Database db = Database.open(file, OPTIONS)) {
      Table<byte[], byte[]> table = table(db);
      put(db, table, 1);
      thin(db, table);
      CompactReport none = db.compact(IN_PLACE.punchHoles(false));
      assertEquals(0, none.bytesPunched());
      long before = allocated(file);
      assertTrue(before < 0 || before > 3 * none.bytesUsed(), before + " bytes; " + none);
      report = db.compact(IN_PLACE);
      requireSpace(file, report);
      assertTrue(report.bytesAfter() > 3 * report.bytesUsed(), report::toString);
      assertEquals(report.bytesPunched(), db.stats().storage().bytesPunched());
      check(db, 1);
      assertEquals(0, db.compact(IN_PLACE).bytesPunched(), "the second compaction punches nothing");
    }
    long closed = allocated(file);
    FileReport found = FileReport.verify(file, OPTIONS);
    assertTrue(found.ok(), found::toString);
    assertEquals(closed, allocated(file));
    try (Database db = Database.open(file, OPTIONS)) {
      check(db, 1);
      assertEquals(0, db.compact(IN_PLACE).bytesPunched(), "nor does the third");
      put(db, table(db), 2); // reuses the holes
      assertTrue(Files.size(file) <= 1.3 * report.bytesBefore(), "the holes are used first");
      thin(db, table(db));
      requireSpace(file, db.compact(IN_PLACE.bytesPerSecond(64 << 20)));
      check(db, 2);
    }
    try (Database db = Database.open(file, OPTIONS.durability(Durability.NONE))) {
      check(db, 2);
      put(db, table(db), 3);
      thin(db, table(db));
      check(db, 3);
    }
    try (Database db = Database.open(file, OPTIONS)) {
      check(db, 3);
    }
  }

  @Test
  void backups() {
    Path file = dir.resolve("backed.fovea");
    Path[] to = new Path[5];
    for (int i = 0; i < to.length; i++) {
      to[i] = dir.resolve("backup" + i);
    }
    try (Database db = Database.open(file, OPTIONS)) {
      Table<byte[], byte[]> table = table(db);
      put(db, table, 1);
      BackupPosition full = Objects.requireNonNull(db.backup(to[0]).position());
      thin(db, table);
      db.backup(to[1], BackupOptions.defaults().since(full));
      db.compact(IN_PLACE);
      BackupPosition holes =
          Objects.requireNonNull(db.backup(to[2], BackupOptions.defaults().since(full)).position());
      db.backup(to[3]);
      put(db, table, 2);
      thin(db, table);
      db.backup(to[4], BackupOptions.defaults().since(holes));
    }
    restored("a", 1, Restore.from(to[0]).then(to[1]));
    restored("b", 1, Restore.from(to[0]).then(to[2]));
    restored("c", 1, Restore.from(to[0]).then(to[1]).then(to[2]));
    restored("d", 1, Restore.from(to[3]));
    restored("e", 2, Restore.from(to[3]).then(to[4]));
    restored("f", 2, Restore.from(to[0]).then(to[2]).then(to[4]));
  }

  private void restored(String name, int version, Restore restore) {
    Path file = dir.resolve(name);
    FileReport found = restore.to(file, OPTIONS);
    assertTrue(found.ok(), found::toString);
    try (Database db = Database.open(file, OPTIONS)) {
      check(db, version);
      put(db, table(db), 9);
      thin(db, table(db));
      check(db, 9);
    }
  }

  /**
   * In a file with holes a page of zeros may be a free one. A reader with a reference to it detects
   * that no tree contains it.
   */
  @Test
  void aPageLostByTheDeviceIsDetected() throws Exception {
    Path file = dir.resolve("whole.fovea");
    try (Database db = Database.open(file, OPTIONS)) {
      Table<byte[], byte[]> table = table(db);
      put(db, table, 1);
      thin(db, table);
      assumeTrue(db.compact(IN_PLACE).bytesPunched() > 0, "no holes");
    }
    byte[] whole = Files.readAllBytes(file);
    int pageSize = 4096;
    int tried = 0;
    int[] seen = new int[256];
    Path lost = dir.resolve("lost.fovea");
    Sample sample = Sample.oneOf(24);
    for (int at = 2 * pageSize; at < whole.length; at += pageSize) {
      int type = whole[at + 4];
      if (type < 2 || type > 4 || seen[type]++ > 0 && !sample.has(seen[type])) {
        continue;
      }
      tried++;
      byte[] page = Arrays.copyOfRange(whole, at, at + pageSize);
      Arrays.fill(whole, at, at + pageSize, (byte) 0);
      Files.write(lost, whole);
      System.arraycopy(page, 0, whole, at, pageSize);
      boolean[] found = new boolean[3];
      FileReport report = null;
      try {
        report = FileReport.verify(lost, OPTIONS);
        found[0] = !report.ok();
      } catch (CorruptionException e) {
        found[0] = true;
      }
      try (Database db = Database.open(lost, OPTIONS)) {
        check(db, 1);
      } catch (CorruptionException | AssertionError e) {
        found[1] = true;
      }
      try (Database db = Database.open(lost, OPTIONS)) {
        db.backup(dir.resolve("backup" + at));
      } catch (CorruptionException e) {
        found[2] = true;
      }
      int pid = at / pageSize;
      String what = "-Dsample.seed=" + Sample.seed() + ": page " + pid + " of type " + type;
      assertTrue(found[0], what + " in the file: " + report);
      assertTrue(found[1], what);
      assertTrue(found[2], what + " in a backup");
    }
    Sample.requireMet(tried, 3, "number of pages tried");
  }

  /**
   * Other threads write and delete long values; a snapshot reads pages that have since been freed.
   */
  @Test
  void churn() throws Exception {
    Path file = dir.resolve("churn.fovea");
    try (Database db = Database.open(file, OPTIONS.bufferBytes(4 << 20))) {
      Table<byte[], byte[]> table = table(db);
      put(db, table, 1);
      thin(db, table);
      AtomicBoolean stop = new AtomicBoolean();
      AtomicReference<Throwable> failure = new AtomicReference<>();
      Thread[] writers = new Thread[2];
      for (int t = 0; t < writers.length; t++) {
        Random r = new Random(t);
        int mine = t;
        writers[t] =
            Thread.ofPlatform()
                .start(
                    () -> {
                      try {
                        for (int n = 0; n < 100 || !stop.get(); n++) {
                          int i = RECORDS + 2 * r.nextInt(150) + mine;
                          if (r.nextInt(3) > 0) {
                            db.run(tx -> table.delete(tx, key(i)));
                            continue;
                          }
                          db.run(tx -> table.put(tx, key(i), value(i, 7)));
                          byte[] found = db.read(tx -> table.get(tx, key(i)));
                          assertArrayEquals(value(i, 7), found);
                        }
                      } catch (Throwable e) {
                        failure.set(e);
                      }
                    });
      }
      long punched = 0;
      try (Database then = db.snapshot()) {
        for (int i = 0; i < 2; i++) {
          punched += db.compact(IN_PLACE).bytesPunched();
          then.read(
              tx -> {
                Table<byte[], byte[]> old = then.table(TableSpec.bytes("wide", 4)).bytes();
                for (int id = 0; id < RECORDS; id += EVERY) {
                  assertArrayEquals(value(id, 1), old.get(tx, key(id)));
                }
                return null;
              });
        }
      } finally {
        stop.set(true);
        for (Thread w : writers) {
          w.join();
        }
      }
      assertNull(failure.get());
      db.compact(IN_PLACE);
      CompactReport report = db.compact(IN_PLACE);
      long takes = allocated(file);
      if (takes >= 0 && punched > 0) {
        assertTrue(
            takes <= 1.3 * report.bytesUsed() + (2 << 20), takes + " bytes on disk; " + report);
      }
      check(db, 1);
    }
    try (Database db = Database.open(file, OPTIONS)) {
      check(db, 1);
    }
  }
}
