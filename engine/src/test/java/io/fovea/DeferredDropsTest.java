package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.buffer.AllocatorState;
import io.fovea.catalog.DeferredDrops;
import io.fovea.config.Durability;
import io.fovea.config.LeakDetection;
import io.fovea.error.InvalidUseException;
import io.fovea.error.StorageException;
import io.fovea.io.IoOp;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import io.fovea.support.SimCrash;
import io.fovea.support.SimDisk;
import io.fovea.support.SimFault;
import io.fovea.support.SimStorage;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * A dropped table disappears immediately, even while it or others are in use. All of its pages are
 * freed later, whatever happens in between.
 */
@Tag("slow")
@Timeout(300)
class DeferredDropsTest {
  private static final TableSpec DOOMED = TableSpec.bytes("doomed", 60);
  private static final TableSpec OTHER = TableSpec.bytes("other", 60);

  /** Few frames, so that the pages of a table must be read. */
  private static final Options SMALL =
      Options.defaults()
          .bufferBytes(400_000)
          .device(dev -> dev.pageSize(4096))
          .memory(mem -> mem.timestampBytes(1 << 20))
          .transactions(txs -> txs.maxActive(4))
          .log(
              log ->
                  log.maxBytes(1 << 20)
                      .bufferBytes(64 << 10)
                      .segmentBytes(64 << 10)
                      .checkpointInterval(Duration.ZERO))
          .durability(Durability.SYNC)
          .transactions(txs -> txs.leakDetection(LeakDetection.OFF));

  private static byte[] key(int i) {
    return String.format("key%06d", i).getBytes(StandardCharsets.UTF_8);
  }

  private static Database open(SimDisk disk, Options options) {
    return Database.open(new SimStorage(disk), options);
  }

  /** Fills a table with records of all lengths: in leaves, and in chains of several pages. */
  private static void fill(Database db, TableSpec spec, int records) {
    Table<byte[], byte[]> t = db.table(spec).bytes();
    for (int i = 0; i < records; i += 10) {
      int from = i;
      db.run(
          tx -> {
            for (int k = from; k < Math.min(records, from + 10); k++) {
              t.put(tx, key(k), new byte[k % 9 == 0 ? 20_000 : 700]);
            }
          });
    }
  }

  private static long pagesInUse(Database db) {
    AllocatorState s = db.store().pool().allocatorState();
    return s.highWater() - s.freePages() - 2;
  }

  private static void awaitPages(Database db, long pages) throws InterruptedException {
    while (pagesInUse(db) != pages || catalogHasDrops(db)) {
      Thread.sleep(1);
    }
    verify(db);
    assertEquals(pages, pagesInUse(db));
  }

  private static boolean catalogHasDrops(Database db) {
    boolean[] some = {false};
    DeferredDrops.forEach(db.store().catalog(), (id, root, from, to) -> some[0] = true);
    return some[0];
  }

  private static void verify(Database db) {
    VerifyReport report = db.verify();
    assertTrue(report.ok(), report::toString);
  }

  /** Returns the pages of a database with only the catalog and an empty table. */
  private static long pagesWithout(Options options) {
    try (Database db = open(new SimDisk(1), options)) {
      db.table(OTHER);
      return pagesInUse(db);
    }
  }

  @Test
  void othersContinueWhilePagesAreFreed() throws Exception {
    SimDisk disk = new SimDisk(1);
    try (Database db = open(disk, SMALL)) {
      fill(db, DOOMED, 600);
      Table<byte[], byte[]> doomed = db.table(DOOMED).bytes();
      Table<byte[], byte[]> other = db.table(OTHER).bytes();
      db.run(tx -> other.put(tx, key(1), new byte[1]));
      db.checkpoint();
      // Only one read, since creating a table may also need a page that must be read.
      disk.holdNext(IoOp.READ);
      AtomicReference<Throwable> failure = new AtomicReference<>();
      Thread dropper =
          new Thread(
              () -> {
                try {
                  assertTrue(db.dropTable("doomed"));
                } catch (Throwable e) {
                  failure.set(e);
                }
              });
      dropper.start();
      disk.awaitHeld(1);
      for (int i = 0; i < 200; i++) {
        byte[] value = {(byte) i};
        db.run(tx -> other.put(tx, key(1), value));
        assertEquals(value[0], db.read(tx -> other.get(tx, key(1)))[0]);
      }
      assertThrows(InvalidUseException.class, () -> db.read(tx -> doomed.get(tx, key(1))));
      assertFalse(db.tables().contains("doomed"));
      db.table(TableSpec.bytes("new", 20));
      db.table(DOOMED);
      assertTrue(db.dropTable("new"));
      assertTrue(dropper.isAlive() || failure.get() != null, "the drop was not delayed");
      disk.letGo();
      dropper.join();
      assertEquals(null, failure.get());
      assertTrue(db.dropTable("doomed"));
      awaitPages(db, pagesWithout(SMALL));
    }
  }

  @Test
  void dropsReturnImmediatelyAndPagesWaitForTransactions() throws Exception {
    SimDisk disk = new SimDisk(1);
    try (Database db = open(disk, SMALL)) {
      fill(db, DOOMED, 60);
      Table<byte[], byte[]> doomed = db.table(DOOMED).bytes();
      Table<byte[], byte[]> other = db.table(OTHER).bytes();
      Transaction[] open = new Transaction[1];
      Worker worker = new Worker();
      worker.run(
          () -> {
            open[0] = db.begin();
            doomed.put(open[0], key(3), new byte[30_000]);
            doomed.get(open[0], key(4));
            other.put(open[0], key(5), new byte[5]);
          });
      long before = pagesInUse(db);
      assertTrue(db.dropTable("doomed"));
      // Other transactions begin and end; the one that may use the table keeps its pages.
      for (int i = 0; i < 50; i++) {
        db.run(tx -> other.put(tx, key(6), new byte[6]));
      }
      assertTrue(pagesInUse(db) >= before);
      worker.run(
          () -> {
            assertThrows(InvalidUseException.class, () -> doomed.get(open[0], key(4)));
            open[0].commit();
          });
      worker.end();
      assertEquals(5, db.read(tx -> other.get(tx, key(5))).length);
      awaitPages(db, pagesWithout(SMALL));
    }
  }

  private static final class Worker {
    private final ExecutorService thread = Executors.newSingleThreadExecutor();

    void run(Runnable work) throws Exception {
      thread.submit(work).get();
    }

    void end() {
      thread.shutdown();
    }
  }

  /** However large the table is, a piece is a few pages: the redo point advances between pieces. */
  @Test
  void theRedoPointAdvancesBetweenPieces() throws Exception {
    SimDisk disk = new SimDisk(1);
    long expected = pagesWithout(SMALL);
    SimDisk crashed;
    try (Database db = open(disk, SMALL)) {
      fill(db, DOOMED, 600);
      db.table(OTHER);
      Worker worker = new Worker();
      Transaction[] open = new Transaction[1];
      worker.run(() -> open[0] = db.begin());
      assertTrue(db.dropTable("doomed"));
      assertTrue(catalogHasDrops(db));
      long dropped = db.store().journal().log().tail();
      // The drop is incomplete but holds nothing back.
      db.checkpoint();
      db.checkpoint();
      long redo = dropped - db.stats().log().redoBytes();
      assertTrue(redo >= dropped - 4096, () -> redo + " of " + dropped);
      crashed = disk.crash(SimCrash.LOSE_ALL);
      worker.run(() -> open[0].rollback());
      worker.end();
      awaitPages(db, expected);
    }
    try (Database db = open(crashed, SMALL)) {
      assertFalse(db.tables().contains("doomed"));
      awaitPages(db, expected);
    }
  }

  @Test
  void valuesCommittedAfterTheDropAreFreed() throws Exception {
    for (boolean checkpoint : new boolean[] {false, true}) {
      SimDisk disk = new SimDisk(1);
      long expected = pagesWithout(SMALL);
      SimDisk crashed;
      try (Database db = open(disk, SMALL)) {
        fill(db, DOOMED, 40);
        Table<byte[], byte[]> doomed = db.table(DOOMED).bytes();
        db.table(OTHER);
        Worker worker = new Worker();
        Worker second = new Worker();
        Transaction[] open = new Transaction[2];
        worker.run(() -> open[0] = db.begin());
        second.run(
            () -> {
              open[1] = db.begin();
              for (int i = 0; i < 5; i++) {
                doomed.put(open[1], key(i * 7), new byte[25_000]);
                doomed.put(open[1], key(1000 + i), new byte[9_000]);
              }
            });
        assertTrue(db.dropTable("doomed"));
        if (checkpoint) {
          db.checkpoint();
        }
        second.run(() -> open[1].commit());
        second.end();
        crashed = disk.crash(SimCrash.LOSE_ALL);
        worker.run(() -> open[0].rollback());
        worker.end();
        awaitPages(db, expected);
      }
      try (Database db = open(crashed, SMALL)) {
        awaitPages(db, expected);
      }
    }
  }

  /** The power fails before any operation of a drop, then also before one of its continuation. */
  @Test
  void everyOperationOfADrop() throws Exception {
    long expected = pagesWithout(SMALL);
    SimDisk filled = new SimDisk(7);
    try (Database db = open(filled, SMALL)) {
      fill(db, DOOMED, 150);
      db.table(OTHER);
    }
    int crashes = 0;
    int step = 1;
    for (long n = 1; ; n += step++) {
      SimDisk disk = filled.copy();
      Database db = open(disk, SMALL);
      long end = disk.operations() + n;
      disk.powerOffAt(end);
      boolean gone = false;
      try {
        gone = db.dropTable("doomed");
        while (disk.operations() < end && catalogHasDrops(db)) {
          Thread.sleep(1);
        }
      } catch (RuntimeException e) {
        // the power is off
      }
      boolean over = gone && disk.operations() < end;
      db.abandon();
      if (over) {
        break;
      }
      crashes++;
      SimDisk again = disk.crash(crashes % 2 == 0 ? SimCrash.LOSE_ALL : SimCrash.RANDOM);
      if (crashes % 2 == 0) {
        again = crashedAgain(again, 1 + crashes * 7L % 80);
      }
      Database second = open(again, SMALL);
      try (Database db2 = second) {
        verify(db2);
        if (db2.tables().contains("doomed")) {
          assertFalse(gone, "an acknowledged drop was lost");
          Table<byte[], byte[]> t = db2.table(DOOMED).bytes();
          for (int k = 0; k < 150; k++) {
            int i = k;
            assertEquals(k % 9 == 0 ? 20_000 : 700, db2.read(tx -> t.get(tx, key(i))).length);
          }
          db2.dropTable("doomed");
        }
        // Nothing has been written so far; the first change continues the drop.
        Table<byte[], byte[]> other = db2.table(OTHER).bytes();
        db2.run(tx -> other.put(tx, key(1), new byte[1]));
        awaitPages(db2, expected);
      }
    }
    assertTrue(crashes > 10, "crashes: " + crashes);
  }

  private static SimDisk crashedAgain(SimDisk disk, long operations) throws InterruptedException {
    long end = disk.operations() + operations;
    disk.powerOffAt(end);
    try {
      Database db = open(disk, SMALL);
      try {
        while (disk.operations() < end && catalogHasDrops(db)) {
          Thread.sleep(1);
        }
      } finally {
        db.abandon();
      }
    } catch (RuntimeException e) {
      // the power is off
    }
    return disk.crash(SimCrash.RANDOM);
  }

  /**
   * A close does not wait for the rest, which continues at the first change after the next opening.
   */
  @Test
  void acrossCloses() throws Exception {
    for (Durability durability : Durability.values()) {
      Options options = SMALL.durability(durability);
      long expected = pagesWithout(options);
      SimDisk disk = new SimDisk(1);
      Worker worker = new Worker();
      try (Database db =
          open(disk, options.transactions(txs -> txs.closeTimeout(Duration.ofMillis(1))))) {
        fill(db, DOOMED, 300);
        db.table(OTHER);
        worker.run(db::begin);
        assertTrue(db.dropTable("doomed"));
        assertTrue(catalogHasDrops(db));
      }
      worker.end();
      try (Database db = open(disk, options)) {
        verify(db);
        assertTrue(catalogHasDrops(db));
      }
      for (int i = 0; i < 3; i++) {
        try (Database db = open(disk, options)) {
          Table<byte[], byte[]> other = db.table(OTHER).bytes();
          db.run(tx -> other.put(tx, key(1), new byte[1]));
          verify(db);
          if (i == 2) {
            awaitPages(db, expected);
          }
        }
      }
    }
  }

  @Test
  void aBackupDuringADrop() throws Exception {
    for (Durability durability : new Durability[] {Durability.SYNC, Durability.NONE}) {
      Options options = SMALL.durability(durability);
      long expected = pagesWithout(options);
      Path dir = Files.createTempDirectory("drops");
      try (Database db = Database.open(dir.resolve("db"), options)) {
        fill(db, DOOMED, 900);
        db.table(OTHER);
        assertTrue(db.dropTable("doomed"));
        db.backup(dir.resolve("copy"));
        awaitPages(db, expected);
      }
      try (Database db = Database.open(dir.resolve("copy").resolve("db"), options)) {
        verify(db);
        Table<byte[], byte[]> other = db.table(OTHER).bytes();
        db.run(tx -> other.put(tx, key(1), new byte[1]));
        awaitPages(db, expected);
      }
    }
  }

  /** Each read fails once, at every position in turn: all pages are still freed. */
  @Test
  void failingReads() throws Exception {
    long expected = pagesWithout(SMALL);
    SimDisk filled = new SimDisk(7);
    try (Database db = open(filled, SMALL)) {
      fill(db, DOOMED, 100);
      db.table(OTHER);
    }
    boolean hit = true;
    for (int n = 1; hit; n += 9) {
      SimDisk disk = filled.copy();
      try (Database db = open(disk, SMALL)) {
        db.table(OTHER);
        disk.fail(SimFault.once(n).of(IoOp.READ));
        try {
          db.dropTable("doomed");
        } catch (StorageException e) {
          disk.heal();
          db.dropTable("doomed");
        }
        awaitPages(db, expected);
        hit = disk.faultsHit() > 0;
      }
    }
  }

  /** An interrupted thread leaves the rest to the background and preserves its interrupt flag. */
  @Test
  void anInterruptLeavesTheRestToTheBackground() throws Exception {
    try (Database db = open(new SimDisk(1), SMALL)) {
      fill(db, DOOMED, 300);
      db.table(OTHER);
      Thread.currentThread().interrupt();
      boolean gone = db.dropTable("doomed");
      assertTrue(Thread.interrupted());
      assertTrue(gone);
      awaitPages(db, pagesWithout(SMALL));
    }
  }

  /** Rows and index entries never have chains: their leaves aren't read. */
  @Test
  void leavesWithoutLongValuesAreNotRead() throws Exception {
    Layout.Definition b = Layout.define();
    Field v = b.int64("v");
    Field t = b.text("t", 400);
    TableSpec rows = TableSpec.of("rows", KeySpec.of(FieldType.INT64), b.build());
    SimDisk disk = new SimDisk(1);
    // Large enough to avoid a checkpoint, which would read free pages to truncate the file.
    Options options = SMALL.log(log -> log.maxBytes(64 << 20));
    try (Database db = open(disk, options)) {
      RowTable table = db.table(rows.with(IndexSpec.on("by_v", v)));
      db.table(OTHER);
      for (int from = 0; from < 4000; from += 50) {
        int f = from;
        db.run(
            tx -> {
              for (long i = f; i < f + 50; i++) {
                table.put(
                    tx, table.key().set(i), table.row().setLong(v, -i).setText(t, "x".repeat(400)));
              }
            });
      }
      long pages = pagesInUse(db);
      db.checkpoint();
      long reads = db.stats().io().reads();
      assertTrue(db.dropTable("rows"));
      awaitPagesOnly(db, pagesWithout(SMALL));
      long more = db.stats().io().reads() - reads;
      assertTrue(pages > 400 && more < pages / 4, more + " reads for " + pages + " pages");
      verify(db);
    }
  }

  private static void awaitPagesOnly(Database db, long pages) throws InterruptedException {
    while (pagesInUse(db) != pages || catalogHasDrops(db)) {
      Thread.sleep(1);
    }
  }
}
