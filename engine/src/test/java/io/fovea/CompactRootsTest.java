package io.fovea;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.schema.TableSpec;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Compaction moves the roots of trees like other pages, during any concurrent operation. */
@Tag("slow")
@Timeout(180)
@Execution(ExecutionMode.CONCURRENT)
class CompactRootsTest {
  private static final Options OPTIONS = Options.defaults().bufferBytes(8 << 20);
  private static final int TABLES = 200;
  private static final int FILL = 4000;

  @TempDir Path dir;

  private static byte[] key(int i) {
    return ByteBuffer.allocate(8).putInt(i * 0x9E3779B1).putInt(i).array();
  }

  private static byte[] value(int i, int length) {
    byte[] v = new byte[length];
    Arrays.fill(v, (byte) (i * 31 + length));
    return v;
  }

  private static Table<byte[], byte[]> table(Database db, String name) {
    return db.table(TableSpec.bytes(name, 8)).bytes();
  }

  private static void fill(Database db, Table<byte[], byte[]> table) {
    for (int first = 0; first < FILL; first += 200) {
      int begin = first;
      db.run(
          tx -> {
            for (int i = begin; i < begin + 200; i++) {
              table.put(tx, key(i), value(i, 600));
            }
          });
    }
  }

  private static void empty(Database db, Table<byte[], byte[]> table) {
    for (int first = 0; first < FILL; first += 200) {
      int begin = first;
      db.run(
          tx -> {
            for (int i = begin; i < begin + 200; i++) {
              table.delete(tx, key(i));
            }
          });
    }
  }

  private static void small(Database db) {
    Table<byte[], byte[]> big = table(db, "big");
    fill(db, big);
    for (int t = 0; t < TABLES; t++) {
      Table<byte[], byte[]> table = table(db, "t" + t);
      int mine = t;
      db.run(tx -> table.put(tx, key(mine), value(mine, 100)));
    }
    empty(db, big);
  }

  private static void checkSmall(Database db) {
    for (int t = 0; t < TABLES; t++) {
      int mine = t;
      Table<byte[], byte[]> table = table(db, "t" + t);
      assertArrayEquals(value(t, 100), db.read(tx -> table.get(tx, key(mine))));
    }
  }

  private static void verify(Database db) {
    VerifyReport report = db.verify();
    assertTrue(report.ok(), report::toString);
  }

  @Test
  void manySmallTablesAtTheEnd() throws Exception {
    Path file = dir.resolve("small.fovea");
    try (Database db = Database.open(file, OPTIONS)) {
      small(db);
      CompactReport report = db.compact(CompactOptions.defaults());
      assertTrue(report.bytesAfter() <= 1.3 * report.bytesUsed(), report::toString);
      assertTrue(report.bytesBefore() > 3 * report.bytesAfter(), report::toString);
      assertTrue(Files.size(file) <= report.bytesAfter() + (1 << 20), report::toString);
      verify(db);
      checkSmall(db);
      CompactReport again = db.compact(CompactOptions.defaults());
      assertEquals(0, again.bytesMoved(), again::toString);
    }
    try (Database db = Database.open(file, OPTIONS)) {
      checkSmall(db);
      verify(db);
    }
  }

  /**
   * A snapshot finds its tables at the old addresses, a backup and an increment at the new ones.
   */
  @Test
  void duringASnapshotAndABackup() {
    Path file = dir.resolve("snapshot.fovea");
    Path full = dir.resolve("full.fovea");
    Path more = dir.resolve("more.fovea");
    try (Database db = Database.open(file, OPTIONS)) {
      small(db);
      BackupReport first = db.backup(full);
      try (Database then = db.snapshot()) {
        CompactReport report = db.compact(CompactOptions.defaults());
        assertTrue(report.bytesBefore() > 3 * report.bytesAfter(), report::toString);
        fill(db, table(db, "big")); // reuses the old pages of the roots
        checkSmall(then);
      }
      try (Database now = db.snapshot()) {
        checkSmall(now);
      }
      BackupPosition position = Objects.requireNonNull(first.position());
      db.backup(more, BackupOptions.defaults().since(position));
    }
    Path restored = dir.resolve("restored.fovea");
    assertTrue(Restore.from(full).then(more).to(restored, OPTIONS).ok());
    try (Database db = Database.open(restored, OPTIONS)) {
      checkSmall(db);
      verify(db);
    }
  }

  /** Trees gain and lose levels while their roots move; tables are renamed and dropped. */
  @Test
  void duringWrites() throws Exception {
    Path file = dir.resolve("writers.fovea");
    int tables = 12;
    try (Database db = Database.open(file, OPTIONS.bufferBytes(4 << 20))) {
      Table<byte[], byte[]> big = table(db, "big");
      AtomicBoolean stop = new AtomicBoolean();
      AtomicLong done = new AtomicLong();
      List<Throwable> failures = new ArrayList<>();
      List<Thread> threads = new ArrayList<>();
      for (int t = 0; t < 3; t++) {
        int me = t;
        threads.add(
            new Thread(
                () -> {
                  try {
                    Random r = new Random(me);
                    while (!stop.get()) {
                      int n = r.nextInt(tables / 3) * 3 + me;
                      grow(db, table(db, "s" + n), r);
                      if (r.nextInt(8) == 0) {
                        db.renameTable("s" + n, "x" + n);
                        db.dropTable("x" + n);
                      }
                      done.incrementAndGet();
                    }
                  } catch (Throwable e) {
                    synchronized (failures) {
                      failures.add(e);
                    }
                  }
                }));
      }
      threads.forEach(Thread::start);
      for (int i = 0; i < 4; i++) {
        fill(db, big);
        long was = done.get();
        while (done.get() < was + 10 && failures.isEmpty()) {
          Thread.onSpinWait();
        }
        empty(db, big);
        db.compact(CompactOptions.defaults());
      }
      stop.set(true);
      for (Thread t : threads) {
        t.join();
      }
      assertEquals(List.of(), failures);
      CompactReport report = db.compact(CompactOptions.defaults());
      assertTrue(report.bytesAfter() <= 1.3 * report.bytesUsed(), report::toString);
      verify(db);
    }
    try (Database db = Database.open(file, OPTIONS)) {
      verify(db);
    }
  }

  /** Grows a tree to several leaves, reads it, and empties it. */
  private static void grow(Database db, Table<byte[], byte[]> table, Random r) {
    int n = 1 + r.nextInt(120);
    int first = r.nextInt(1000);
    db.run(
        tx -> {
          for (int i = first; i < first + n; i++) {
            table.put(tx, key(i), value(i, 300));
          }
        });
    db.read(
        tx -> {
          for (int i = first; i < first + n; i++) {
            assertArrayEquals(value(i, 300), table.get(tx, key(i)));
          }
          return null;
        });
    db.run(
        tx -> {
          for (int i = first; i < first + n; i++) {
            assertTrue(table.delete(tx, key(i)));
          }
        });
  }
}
