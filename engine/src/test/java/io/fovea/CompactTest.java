package io.fovea;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Durability;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.OperationInterruptedException;
import io.fovea.schema.TableSpec;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Compaction shrinks a file with free pages to the size of its contents, while in use. */
@Tag("slow")
@Execution(ExecutionMode.CONCURRENT)
class CompactTest {
  private static final int RECORDS = 8000;
  private static final Options OPTIONS = Options.defaults().bufferBytes(16 << 20);

  @TempDir Path dir;

  private static byte[] key(int i) {
    return ByteBuffer.allocate(8).putInt(i * 0x9E3779B1).putInt(i).array();
  }

  private static byte[] value(int i, int version) {
    byte[] v = new byte[600];
    Arrays.fill(v, (byte) (i * 31 + version));
    return v;
  }

  private static void put(Database db, Table<byte[], byte[]> table, int from, int to, int version) {
    for (int first = from; first < to; first += 200) {
      int begin = first;
      db.run(
          tx -> {
            for (int i = begin; i < Math.min(to, begin + 200); i++) {
              table.put(tx, key(i), value(i, version));
            }
          });
    }
  }

  private static void thin(Database db, Table<byte[], byte[]> table) {
    for (int first = 0; first < RECORDS; first += 200) {
      int begin = first;
      db.run(
          tx -> {
            for (int i = begin; i < begin + 200; i++) {
              if (i % 10 != 0) {
                table.delete(tx, key(i));
              }
            }
          });
    }
  }

  private static void check(Database db, Table<byte[], byte[]> table, int version) {
    VerifyReport report = db.verify();
    assertTrue(report.ok(), report::toString);
    db.read(
        tx -> {
          for (int i = 0; i < RECORDS; i++) {
            byte[] found = table.get(tx, key(i));
            if (i % 10 == 0) {
              assertArrayEquals(value(i, version), found, "record " + i);
            } else {
              assertNull(found, "record " + i);
            }
          }
          return null;
        });
  }

  private static Table<byte[], byte[]> table(Database db, String name) {
    return db.table(TableSpec.bytes(name, 8)).bytes();
  }

  @Test
  void fileIsAsLongAsItsContents() throws Exception {
    Path file = dir.resolve("compact.fovea");
    try (Database db = Database.open(file, OPTIONS)) {
      Table<byte[], byte[]> table = table(db, "a");
      put(db, table, 0, RECORDS, 1);
      thin(db, table);
      db.checkpoint();
      long before = Files.size(file);
      List<CompactReport> told = new ArrayList<>();
      CompactReport report = db.compact(CompactOptions.defaults().progress(told::add));
      assertTrue(report.bytesMoved() > 0, report::toString);
      assertTrue(report.bytesAfter() <= 1.3 * report.bytesUsed(), report::toString);
      assertTrue(report.bytesBefore() > 3 * report.bytesAfter(), report::toString);
      assertEquals(report, told.getLast());
      long after = Files.size(file);
      assertTrue(after < before / 2, before + " bytes, then " + after);
      check(db, table, 1);
      CompactReport again = db.compact(CompactOptions.defaults());
      assertTrue(again.bytesMoved() <= report.bytesMoved() / 10, again::toString);
      put(db, table, 0, RECORDS, 2);
      thin(db, table);
      check(db, table, 2);
    }
    try (Database db = Database.open(file, OPTIONS)) {
      check(db, table(db, "a"), 2);
    }
  }

  /**
   * The pool is much smaller than the free list, which is read in large pieces, not page by page.
   */
  @ParameterizedTest
  @ValueSource(ints = {1_000, 50_000})
  void freeSpaceIsReadInLargePieces(int length) {
    Options options = OPTIONS.bufferBytes(2 << 20).durability(Durability.ASYNC);
    int n = 9_000_000 / length;
    try (Database db = Database.open(dir.resolve("free.fovea"), options)) {
      Table<byte[], byte[]> goes = table(db, "goes");
      Table<byte[], byte[]> stays = table(db, "stays");
      int some = 500_000 / length;
      for (int first = 0; first < n; first += some) {
        int begin = first;
        db.run(
            tx -> {
              for (int i = begin; i < begin + some; i++) {
                goes.put(tx, key(i), new byte[length]);
              }
              stays.put(tx, key(begin), new byte[500]);
            });
      }
      for (int first = 0; first < n; first += some) {
        int begin = first;
        db.run(
            tx -> {
              for (int i = begin; i < begin + some; i++) {
                goes.delete(tx, key(i));
              }
            });
      }
      db.checkpoint();
      long before = db.stats().io().reads();
      List<CompactReport> told = new ArrayList<>();
      CompactReport report = db.compact(CompactOptions.defaults().progress(told::add));
      long reads = db.stats().io().reads() - before;
      long mib = report.bytesBefore() >> 20;
      long moved = report.bytesMoved() / 4096;
      assertTrue(mib > 4 && report.bytesAfter() < 1 << 20, report::toString);
      assertTrue(reads <= 8 * mib + 8 * moved + 100, reads + " reads of " + mib + " MiB, " + moved);
      VerifyReport verified = db.verify();
      assertTrue(verified.ok(), verified::toString);
    }
  }

  /**
   * Records are inserted and deleted, with occasional compactions. At the end the file exceeds its
   * contents by at most a third.
   */
  @Test
  void churn() throws Exception {
    Path file = dir.resolve("churn.fovea");
    // Not synced, which does not affect what a compaction moves and truncates.
    Options options = OPTIONS.bufferBytes(4 << 20).durability(Durability.ASYNC);
    try (Database db = Database.open(file, options)) {
      List<Table<byte[], byte[]>> tables = List.of(table(db, "a"), table(db, "b"));
      for (int round = 0; round < 2; round++) {
        AtomicBoolean stop = new AtomicBoolean();
        AtomicReference<Throwable> failure = new AtomicReference<>();
        Random r = new Random(round);
        Thread writer =
            Thread.ofPlatform()
                .start(
                    () -> {
                      try {
                        for (int n = 0; n < 50 || !stop.get(); n++) {
                          churn(db, tables.get(n % 2), r);
                        }
                      } catch (Throwable e) {
                        failure.set(e);
                      }
                    });
        for (int i = 0; i < 2; i++) {
          db.compact(CompactOptions.defaults().bytesPerSecond(16 << 20));
        }
        stop.set(true);
        writer.join();
        assertNull(failure.get());
        CompactReport report = db.compact(CompactOptions.defaults());
        assertTrue(report.bytesAfter() <= 1.3 * report.bytesUsed(), report::toString);
        assertTrue(Files.size(file) <= 1.3 * report.bytesUsed() + (2 << 20), report::toString);
        VerifyReport verified = db.verify();
        assertTrue(verified.ok(), verified::toString);
      }
      assertTrue(db.stats().storage().bytesMoved() > 0);
      assertTrue(db.stats().storage().bytesReclaimed() > 0);
    }
  }

  /** Inserts a few hundred records, or deletes most records of a range. */
  private static void churn(Database db, Table<byte[], byte[]> table, Random r) {
    int first = r.nextInt(8) * 500;
    if (r.nextInt(3) == 0) {
      put(db, table, first, first + 500, r.nextInt(100));
      return;
    }
    db.run(
        tx -> {
          for (int i = first; i < first + 500; i++) {
            if (i % 10 != 0) {
              table.delete(tx, key(i));
            }
          }
        });
  }

  /** A backup keeps the end of the file; an increment has the pages at their new addresses. */
  @Test
  void duringABackup() {
    Path file = dir.resolve("backed.fovea");
    Path full = dir.resolve("full.fovea");
    Path more = dir.resolve("more.fovea");
    try (Database db = Database.open(file, OPTIONS)) {
      Table<byte[], byte[]> table = table(db, "a");
      put(db, table, 0, RECORDS, 1);
      thin(db, table);
      BackupReport first = db.backup(full);
      CompactReport report = db.compact(CompactOptions.defaults());
      assertTrue(report.bytesMoved() > 0, report::toString);
      BackupPosition position = Objects.requireNonNull(first.position());
      db.backup(more, BackupOptions.defaults().since(position));
    }
    Path restored = dir.resolve("restored.fovea");
    assertTrue(Restore.from(full).then(more).to(restored, OPTIONS).ok());
    try (Database db = Database.open(restored, OPTIONS)) {
      check(db, table(db, "a"), 1);
    }
  }

  @Test
  void aCloseEndsIt() throws Exception {
    Path file = dir.resolve("closed.fovea");
    AtomicReference<Throwable> thrown = new AtomicReference<>();
    Database db = Database.open(file, OPTIONS);
    Table<byte[], byte[]> table = table(db, "a");
    put(db, table, 0, RECORDS, 1);
    thin(db, table);
    CountDownLatch moves = new CountDownLatch(1);
    CompactOptions slowly =
        CompactOptions.defaults().bytesPerSecond(1 << 20).progress(r -> moves.countDown());
    Thread compacts =
        Thread.ofPlatform()
            .start(
                () -> {
                  try {
                    db.compact(slowly);
                  } catch (Throwable e) {
                    thrown.set(e);
                  }
                });
    moves.await();
    db.close();
    compacts.join();
    assertEquals(DatabaseClosedException.class, thrown.get().getClass());
    try (Database again = Database.open(file, OPTIONS)) {
      check(again, table(again, "a"), 1);
    }
  }

  @Test
  void duringEverythingElse() throws Exception {
    Path file = dir.resolve("beside.fovea");
    try (Database db = Database.open(file, OPTIONS.bufferBytes(2 << 20))) {
      Table<byte[], byte[]> still = table(db, "still");
      Table<byte[], byte[]> moves = table(db, "moves");
      put(db, still, 0, RECORDS, 1);
      put(db, moves, 0, RECORDS, 1);
      thin(db, still);
      AtomicBoolean stop = new AtomicBoolean();
      AtomicLong done = new AtomicLong();
      List<Throwable> failures = new ArrayList<>();
      List<Thread> threads = new ArrayList<>();
      for (int t = 0; t < 3; t++) {
        int me = t;
        threads.add(
            new Thread(
                () -> {
                  Random r = new Random(me);
                  try {
                    do { // at least once, even if scheduled late
                      work(db, still, moves, me, r);
                      done.incrementAndGet();
                    } while (!stop.get());
                  } catch (Throwable e) {
                    synchronized (failures) {
                      failures.add(e);
                    }
                  }
                }));
      }
      try (Database then = db.snapshot()) {
        threads.forEach(Thread::start);
        long moved = 0;
        for (int i = 0; i < 2; i++) {
          moved += db.compact(CompactOptions.defaults()).bytesMoved();
        }
        assertTrue(moved > 0);
        check(then, table(then, "still"), 1);
        stop.set(true);
        for (Thread t : threads) {
          t.join();
        }
      }
      assertEquals(List.of(), failures);
      assertTrue(done.get() > 0);
      check(db, still, 1);
    }
    try (Database db = Database.open(file, OPTIONS)) {
      check(db, table(db, "still"), 1);
    }
  }

  private static void work(
      Database db, Table<byte[], byte[]> still, Table<byte[], byte[]> moves, int me, Random r) {
    switch (r.nextInt(12)) {
      case 0 -> {
        String name = "t" + me;
        put(db, table(db, name), 0, 200, me);
        db.dropTable(name);
      }
      case 1, 2, 3, 4 -> {
        int i = r.nextInt(RECORDS / 10) * 10;
        assertArrayEquals(value(i, 1), db.read(tx -> still.get(tx, key(i))));
      }
      case 5, 6, 7, 8 ->
          db.run(
              tx -> {
                for (int n = 0; n < 20; n++) {
                  moves.delete(tx, key(r.nextInt(RECORDS) / 3 * 3 + me));
                }
              });
      default ->
          db.run(
              tx -> {
                int i = r.nextInt(RECORDS) / 3 * 3 + me;
                moves.put(tx, key(i), value(i, r.nextInt(100)));
                assertNotNull(moves.get(tx, key(i)));
              });
    }
  }

  @Test
  void anInterruptEndsIt() {
    try (Database db = Database.open(dir.resolve("interrupt.fovea"), OPTIONS)) {
      Table<byte[], byte[]> table = table(db, "a");
      put(db, table, 0, RECORDS, 1);
      thin(db, table);
      CompactOptions slowly = CompactOptions.defaults().bytesPerSecond(1 << 20);
      CompactOptions ends = slowly.progress(r -> Thread.currentThread().interrupt());
      assertThrows(OperationInterruptedException.class, () -> db.compact(ends));
      assertTrue(Thread.interrupted());
      RuntimeException mine = new RuntimeException("mine");
      CompactOptions fails =
          CompactOptions.defaults()
              .progress(
                  r -> {
                    throw mine;
                  });
      assertEquals(mine, assertThrows(RuntimeException.class, () -> db.compact(fails)));
      check(db, table, 1);
    }
  }

  @Test
  void unsupportedCases() {
    try (Database db = Database.open(dir.resolve("where.fovea"), OPTIONS)) {
      assertThrows(
          InvalidUseException.class, () -> db.run(tx -> db.compact(CompactOptions.defaults())));
      CompactOptions within =
          CompactOptions.defaults().progress(r -> db.compact(CompactOptions.defaults()));
      assertThrows(InvalidUseException.class, () -> db.compact(within));
      try (Database then = db.snapshot()) {
        assertThrows(InvalidUseException.class, () -> then.compact(CompactOptions.defaults()));
      }
    }
    assertThrows(
        IllegalArgumentException.class, () -> CompactOptions.defaults().bytesPerSecond(-1));
  }
}
