package io.fovea;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Protocol;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
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
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Compaction moves pages of long values like other pages, during any concurrent operation. */
@Tag("slow")
@Timeout(180)
@Execution(ExecutionMode.CONCURRENT)
class CompactLongTest {
  private static final Options OPTIONS = Options.defaults().bufferBytes(8 << 20);
  private static final int VALUES = 120;

  @TempDir Path dir;

  private static byte[] key(int i) {
    return ByteBuffer.allocate(8).putInt(i * 0x9E3779B1).putInt(i).array();
  }

  /** 5 to 60 KB; every eighth byte identifies the record. */
  private static byte[] value(int i, int version) {
    byte[] v = new byte[5_000 + (i * 7919 + version * 31) % 55_000];
    for (int at = 0; at + 8 <= v.length; at += 8) {
      ByteBuffer.wrap(v).putInt(at, i).putInt(at + 4, version + at);
    }
    return v;
  }

  private static Table<byte[], byte[]> table(Database db, String name) {
    return db.table(TableSpec.bytes(name, 8)).bytes();
  }

  private static void fill(Database db, Table<byte[], byte[]> stays, Table<byte[], byte[]> goes) {
    for (int i = 0; i < VALUES; i++) {
      int n = i;
      db.run(
          tx -> {
            goes.put(tx, key(n), value(n, 2));
            if (n % 5 == 0) {
              stays.put(tx, key(n), value(n, 1));
            }
          });
    }
  }

  private static void empty(Database db, Table<byte[], byte[]> goes) {
    for (int first = 0; first < VALUES; first += 10) {
      int from = first;
      db.run(
          tx -> {
            for (int n = from; n < from + 10; n++) {
              goes.delete(tx, key(n));
            }
          });
    }
  }

  private static void check(Database db, Table<byte[], byte[]> stays) {
    db.read(
        tx -> {
          for (int i = 0; i < VALUES; i++) {
            byte[] found = stays.get(tx, key(i));
            if (i % 5 == 0) {
              assertArrayEquals(value(i, 1), found, "value " + i);
            } else {
              assertNull(found);
            }
          }
          return null;
        });
  }

  private static void verify(Database db) {
    VerifyReport report = db.verify();
    assertTrue(report.ok(), report::toString);
  }

  private static Options under(Protocol protocol) {
    return OPTIONS.experiments(exp -> exp.protocol(protocol));
  }

  @ParameterizedTest
  @EnumSource(Protocol.class)
  void fileIsAsLongAsItsContents(Protocol protocol) throws Exception {
    Path file = dir.resolve("long.fovea");
    try (Database db = Database.open(file, under(protocol))) {
      Table<byte[], byte[]> stays = table(db, "stays");
      Table<byte[], byte[]> goes = table(db, "goes");
      fill(db, stays, goes);
      empty(db, goes);
      CompactReport report = db.compact(CompactOptions.defaults());
      assertTrue(report.bytesAfter() <= 1.05 * report.bytesUsed(), report::toString);
      assertTrue(report.bytesBefore() > 3 * report.bytesAfter(), report::toString);
      assertTrue(Files.size(file) <= report.bytesAfter() + (1 << 20));
      verify(db);
      check(db, stays);
      assertEquals(0, db.compact(CompactOptions.defaults()).bytesMoved());
      fill(db, stays, goes);
      check(db, stays);
    }
    try (Database db = Database.open(file, under(protocol))) {
      check(db, table(db, "stays"));
      verify(db);
    }
  }

  /** Of a value that fills nearly the whole file, only the pages at the end move. */
  @Test
  void oneVeryLongValue() {
    try (Database db = Database.open(dir.resolve("one.fovea"), OPTIONS)) {
      Table<byte[], byte[]> table = table(db, "a");
      byte[] small = new byte[40_000];
      byte[] large = new byte[12_000_000];
      new Random(1).nextBytes(large);
      db.run(tx -> table.put(tx, key(1), small));
      db.run(tx -> table.put(tx, key(2), large));
      db.run(tx -> table.delete(tx, key(1)));
      CompactReport report = db.compact(CompactOptions.defaults());
      assertEquals(report.bytesUsed(), report.bytesAfter(), report::toString);
      assertTrue(report.bytesMoved() < 200_000, report::toString);
      verify(db);
      assertArrayEquals(large, db.read(tx -> table.get(tx, key(2))));
    }
  }

  @Test
  void aWideTable() {
    Path file = dir.resolve("wide.fovea");
    Layout.Definition layout = Layout.define();
    for (int i = 0; i < 300; i++) {
      layout.int64("a_field_with_a_long_name_" + i);
    }
    KeySpec.Definition id = KeySpec.define();
    id.int64("id");
    TableSpec wide = TableSpec.of("wide", id.build(), layout.build());
    try (Database db = Database.open(file, OPTIONS)) {
      Table<byte[], byte[]> goes = table(db, "goes");
      Table<byte[], byte[]> stays = table(db, "stays");
      fill(db, stays, goes);
      db.table(wide);
      empty(db, goes);
      CompactReport report = db.compact(CompactOptions.defaults());
      assertTrue(report.bytesAfter() <= 1.05 * report.bytesUsed(), report::toString);
      verify(db);
    }
    try (Database db = Database.open(file, OPTIONS)) {
      db.table(wide);
      verify(db);
    }
  }

  /** A snapshot reads chains as they were; an increment has the pages at their new addresses. */
  @Test
  void duringASnapshotAndABackup() {
    Path file = dir.resolve("snapshot.fovea");
    Path full = dir.resolve("full.fovea");
    Path more = dir.resolve("more.fovea");
    try (Database db = Database.open(file, OPTIONS)) {
      Table<byte[], byte[]> stays = table(db, "stays");
      Table<byte[], byte[]> goes = table(db, "goes");
      fill(db, stays, goes);
      empty(db, goes);
      BackupReport first = db.backup(full);
      try (Database then = db.snapshot()) {
        CompactReport report = db.compact(CompactOptions.defaults());
        assertTrue(report.bytesBefore() > 3 * report.bytesAfter(), report::toString);
        fill(db, stays, goes); // reuses the old pages
        check(then, table(then, "stays"));
      }
      BackupPosition position = Objects.requireNonNull(first.position());
      db.backup(more, BackupOptions.defaults().since(position));
    }
    Path restored = dir.resolve("restored.fovea");
    assertTrue(Restore.from(full).then(more).to(restored, OPTIONS).ok());
    try (Database db = Database.open(restored, OPTIONS)) {
      check(db, table(db, "stays"));
      verify(db);
    }
  }

  @Test
  void movesAreNotInTheChangeFeed() {
    Options followed = OPTIONS.log(l -> l.changeRetentionBytes(64 << 20));
    try (Database db = Database.open(dir.resolve("followed.fovea"), followed)) {
      Table<byte[], byte[]> stays = table(db, "stays");
      Table<byte[], byte[]> goes = table(db, "goes");
      fill(db, stays, goes);
      empty(db, goes);
      ChangesCopy copy = new ChangesCopy();
      copy.begin(db);
      final long before = copy.batches;
      assertTrue(db.compact(CompactOptions.defaults()).bytesMoved() > 0);
      copy.check(db);
      assertEquals(before, copy.batches);
      db.run(tx -> stays.put(tx, key(0), value(0, 7)));
      db.run(tx -> goes.put(tx, key(0), value(0, 7)));
      copy.check(db);
      assertEquals(before + 2, copy.batches);
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"TICTOC", "MVTO", "TWO_PHASE_LOCKING"})
  void duringWrites(Protocol protocol) throws Exception {
    Path file = dir.resolve("writers.fovea");
    try (Database db = Database.open(file, under(protocol).bufferBytes(4 << 20))) {
      Table<byte[], byte[]> stays = table(db, "stays");
      Table<byte[], byte[]> goes = table(db, "goes");
      Table<byte[], byte[]> changes = table(db, "changes");
      AtomicBoolean stop = new AtomicBoolean();
      AtomicLong done = new AtomicLong();
      List<Throwable> failures = new ArrayList<>();
      List<Thread> threads = new ArrayList<>();
      fill(db, stays, goes);
      for (int t = 0; t < 3; t++) {
        int me = t;
        threads.add(
            new Thread(
                () -> {
                  Random r = new Random(me);
                  try {
                    do { // at least once, even if scheduled late
                      work(db, stays, changes, me, r);
                      done.incrementAndGet();
                    } while (!stop.get());
                  } catch (Throwable e) {
                    synchronized (failures) {
                      failures.add(e);
                    }
                  }
                }));
      }
      threads.forEach(Thread::start);
      for (int i = 0; i < 2; i++) {
        empty(db, goes);
        db.compact(CompactOptions.defaults());
        if (i < 1) {
          fill(db, stays, goes);
        }
      }
      stop.set(true);
      for (Thread t : threads) {
        t.join();
      }
      assertEquals(List.of(), failures);
      assertTrue(done.get() > 0);
      check(db, stays);
      CompactReport report = db.compact(CompactOptions.defaults());
      assertTrue(report.bytesAfter() <= 1.1 * report.bytesUsed(), report::toString);
      verify(db);
    }
    try (Database db = Database.open(file, OPTIONS)) {
      check(db, table(db, "stays"));
      verify(db);
    }
  }

  private static void work(
      Database db, Table<byte[], byte[]> stays, Table<byte[], byte[]> changes, int me, Random r) {
    int n = r.nextInt(20) * 3 + me;
    switch (r.nextInt(4)) {
      case 0 -> db.run(tx -> changes.delete(tx, key(n)));
      case 1 -> {
        int version = r.nextInt(100);
        db.run(tx -> changes.put(tx, key(n), value(n, version)));
        assertArrayEquals(value(n, version), db.read(tx -> changes.get(tx, key(n))));
      }
      default -> {
        int i = r.nextInt(VALUES / 5) * 5;
        assertArrayEquals(value(i, 1), db.read(tx -> stays.get(tx, key(i))));
      }
    }
  }
}
