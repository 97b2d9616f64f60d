package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.CorruptionException;
import io.fovea.error.FoveaException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.StorageException;
import io.fovea.inspection.FollowedFile;
import io.fovea.io.IoOp;
import io.fovea.io.Storage;
import io.fovea.schema.TableSpec;
import io.fovea.support.Sample;
import io.fovea.support.SimDisk;
import io.fovea.support.SimFault;
import io.fovea.support.SimStorage;
import io.fovea.support.SoakReport;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Follows the files of a database from another process's point of view, while reads and syncs fail,
 * bits flip, and the log is damaged. Each batch arrives once and in order, or an exception says why
 * not.
 *
 * <p>{@code -Dcrash.seed=N}; {@code -Dcrash.flips=N}: number of runs with flipped bits.
 */
@Timeout(value = 15, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class FileChangesFaultTest {
  private static final TableSpec SPEC = TableSpec.bytes("b", 40);
  private static final long SEED = Long.getLong("crash.seed", Sample.seed());
  private static final Sample SAMPLE = Sample.oneOf(4);
  private static final int WAYS = Integer.getInteger("crash.flips", 10);

  private static Options options(long changeRetentionBytes) {
    return Options.defaults()
        .bufferBytes(2 << 20)
        .transactions(x -> x.maxActive(4))
        .log(
            l ->
                l.bufferBytes(64 << 10)
                    .segmentBytes(64 << 10)
                    .maxBytes(256 << 10)
                    .checkpointInterval(Duration.ZERO)
                    .changeRetentionBytes(changeRetentionBytes));
  }

  private static Database open(SimDisk disk) {
    return Database.open(new SimStorage(disk), options(1 << 20));
  }

  /** Commits values within a page, long values, and values that are read from two places. */
  private static void work(Database db, int from, int to) {
    Table<byte[], byte[]> t = db.table(SPEC).bytes();
    for (int i = from; i < to; i++) {
      byte[] value = new byte[200 + i % 7 * 900];
      new Random(i).nextBytes(value);
      byte[] key = ("k" + i % 40).getBytes(StandardCharsets.UTF_8);
      db.run(tx -> t.put(tx, key, value));
      if (i % 50 == 20) {
        db.run(
            tx -> {
              tx.renameTable("b", "c");
              t.put(tx, key, new byte[5000]);
            });
        db.run(tx -> tx.renameTable("c", "b"));
      }
    }
  }

  private static ChangesCopy begun(Database db) {
    ChangesCopy start = new ChangesCopy();
    start.begin(db);
    return start;
  }

  /** Takes all batches, retrying after each failure; returns the number of failures. */
  private static int follow(FileChanges changes, ChangesCopy copy, int failuresMax) {
    int failures = 0;
    while (true) {
      ChangePosition at = changes.position();
      try {
        ChangeBatch batch = changes.poll();
        if (batch == null) {
          return failures;
        }
        copy.take(batch);
      } catch (StorageException | CorruptionException e) {
        assertTrue(++failures <= failuresMax, e.toString());
        assertEquals(at, changes.position(), "the position is unchanged");
      }
    }
  }

  /** Returns the next read that fails: one of the opening, or of a sample of the others. */
  private static int next(int nth) {
    return nth < 6 ? nth + 1 : nth == 6 ? 7 + SAMPLE.first() : nth + SAMPLE.stride();
  }

  @Test
  void aFailedReadIsRetried() {
    SimDisk disk = new SimDisk(SEED);
    try (Database db = open(disk)) {
      db.table(SPEC);
      ChangesCopy start = begun(db);
      work(db, 0, 120);
      int failures = 0;
      int opened = 0;
      for (int nth = 1; ; nth = next(nth)) {
        ChangesCopy copy = start.copy();
        long before = disk.faultsHit();
        disk.fail(SimFault.once(nth).of(IoOp.READ));
        try (FileChanges changes = copy.ofFiles(disk)) {
          failures += follow(changes, copy, 1);
        } catch (StorageException e) {
          opened++;
          assertEquals(0, follow(copy.ofFiles(disk), copy, 0));
        }
        boolean hit = disk.faultsHit() > before;
        disk.heal();
        assertEquals(
            start.batches + 120 + 4,
            copy.batches,
            "read " + nth + ", -Dsample.seed=" + Sample.seed());
        copy.checkFiles(db, disk);
        if (!hit) {
          break;
        }
      }
      assertTrue(failures > 1 && opened > 1, failures + " failures, " + opened + " at the opening");
    }
  }

  /**
   * One bit flips in one read, of a superblock, a segment header or a group: the next call
   * continues. Retained changes are never reported as lost, and a new subscriber finds the start.
   */
  @Test
  void aDamagedReadIsRetried() {
    SimDisk disk = new SimDisk(SEED);
    try (Database db = open(disk)) {
      db.table(SPEC);
      ChangesCopy start = begun(db);
      work(db, 0, 120);
      int first = 0;
      int tried = 0;
      boolean hit = true;
      for (int nth = 1; hit; nth = next(nth)) {
        tried++;
        SimFault fault = SimFault.once(nth).of(IoOp.READ).effect(SimFault.Effect.FLIP_HEAD);
        ChangesCopy copy = start.copy();
        long before = disk.faultsHit();
        disk.fail(fault);
        try (FileChanges changes = copy.ofFiles(disk)) {
          follow(changes, copy, 1);
          disk.heal();
          follow(changes, copy, 0); // damage of the last group looks like the end
        } catch (CorruptionException e) {
          follow(copy.ofFiles(disk), copy, 0); // the first superblock identifies the database
        }
        hit = disk.faultsHit() > before;
        assertEquals(
            start.batches + 120 + 4,
            copy.batches,
            "read " + nth + ", -Dsample.seed=" + Sample.seed());
        disk.fail(fault);
        first += fromTheBeginning(disk) ? 1 : 0;
        disk.heal();
      }
      assertTrue(tried > 5, tried + " reads");
      assertEquals(tried, first, "damaged reads that were repeated");
    }
  }

  /** Follows from the first list of tables; returns false if it could not be read. */
  private static boolean fromTheBeginning(SimDisk disk) {
    SimStorage files = new SimStorage(disk);
    try (FollowedFile followed =
        FollowedFile.of(files.name(), files.open(""), files.open(Storage.LOG), () -> true)) {
      followed.from(true);
      return followed.next() != null;
    } catch (CorruptionException e) {
      return false;
    }
  }

  /** Without a sync the last commits are delivered with the next group; unsynced ones never are. */
  @Test
  void withoutASyncTheLastGroupWaits() {
    SimDisk disk = new SimDisk(SEED);
    try (Database db = open(disk)) {
      Table<byte[], byte[]> t = db.table(SPEC).bytes();
      ChangesCopy copy = begun(db);
      AtomicBoolean syncs = new AtomicBoolean();
      try (FileChanges changes = copy.ofFiles(disk, syncs::get)) {
        for (int i = 0; i < 20; i++) {
          byte[] key = {(byte) i};
          db.run(tx -> t.put(tx, key, key));
          ChangeBatch batch = changes.poll();
          if (i == 0) {
            assertNull(batch, "no group follows it");
          } else {
            assertNotNull(batch, "the group before");
            assertEquals(i - 1, batch.changes().getFirst().keyBytes()[0]);
            copy.take(batch);
            assertNull(changes.poll());
          }
        }
        syncs.set(true);
        assertEquals(0, follow(changes, copy, 0));
        copy.checkFiles(db, disk);
      }
    }
  }

  /** Both superblocks are being written while they are read, at the opening and later. */
  @Test
  void superblocksThatAreBeingWritten() {
    SimDisk disk = new SimDisk(SEED);
    try (Database db = open(disk)) {
      db.table(SPEC);
      ChangesCopy copy = begun(db);
      work(db, 0, 10);
      long[] places = {600, db.options().device().pageSize() + 600L};
      written(disk, places);
      try (FileChanges changes = copy.ofFiles(disk)) {
        assertEquals(0, follow(changes, copy, 0));
        work(db, 10, 20);
        written(disk, places);
        assertEquals(0, follow(changes, copy, 0));
        copy.checkFiles(db, disk);
      }
    }
  }

  /** Tears the superblocks for the first reads of this thread. */
  private static void written(SimDisk disk, long[] places) {
    Runnable flip =
        () -> {
          for (long at : places) {
            disk.flip("db", at, 1);
          }
        };
    Thread reader = Thread.currentThread();
    AtomicInteger left = new AtomicInteger(5);
    flip.run();
    disk.onOperation(
        n -> {
          if (Thread.currentThread() == reader && left.decrementAndGet() == 0) {
            flip.run();
          }
        });
  }

  @Test
  void flippedBitsInReads() {
    long failures = 0;
    long batches = 0;
    for (long seed = SEED; seed < SEED + WAYS; seed++) {
      Random random = new Random(seed);
      SimDisk disk = new SimDisk(seed);
      try (Database db = open(disk)) {
        db.table(SPEC);
        ChangesCopy copy = begun(db);
        FileChanges changes = copy.ofFiles(disk);
        try {
          for (int round = 0; round < 8; round++) {
            work(db, round * 15, round * 15 + 15);
            if (random.nextInt(3) == 0) {
              db.checkpoint();
            }
            for (int n = 1 + random.nextInt(12); n > 0; n--) {
              SimFault fault = SimFault.once(1 + random.nextInt(40)).of(IoOp.READ);
              disk.fail(random.nextInt(3) == 0 ? fault : fault.effect(SimFault.Effect.FLIP));
            }
            failures += follow(changes, copy, 12);
            disk.heal();
            if (random.nextInt(3) == 0) {
              changes.close();
              changes = copy.ofFiles(disk);
            }
          }
          assertEquals(0, follow(changes, copy, 0));
          copy.checkFiles(db, disk);
          batches += copy.batches;
        } finally {
          changes.close();
        }
      } catch (Throwable e) {
        throw new AssertionError("seed " + seed + ": " + e, e);
      }
    }
    SoakReport.line(
        "FileChangesFaultTest.flippedBitsInReads",
        "seed " + SEED + ": " + WAYS + " ways, " + batches + " batches, " + failures + " failures");
    assertTrue(failures > 0);
  }

  @Tag("slow")
  @Test
  void damageIsNotTheEnd() {
    SimDisk disk = new SimDisk(SEED);
    try (Database db = open(disk)) {
      db.table(SPEC);
      ChangesCopy start = begun(db);
      work(db, 0, 30);
      db.checkpoint();
      long size = new SimStorage(disk).open(Storage.LOG).size();
      int found = 0;
      for (long at = 64 + SAMPLE.first() * 4096L; at < size; at += SAMPLE.stride() * 2 * 4096L) {
        disk.flip("db.log", at, 3);
        ChangesCopy copy = start.copy();
        try (FileChanges changes = copy.ofFiles(disk)) {
          ChangeBatch batch;
          while ((batch = changes.poll()) != null) {
            copy.take(batch);
          }
          assertEquals(start.batches + 31 + 1, copy.batches, "at " + at);
        } catch (CorruptionException e) {
          found++;
        }
        disk.flip("db.log", at, 3);
      }
      Sample.requireMet(found, 3, "found");
    }
  }

  /** After a clean close the follower reports the end and its position. */
  @Test
  void nothingFollowsAClose() {
    SimDisk disk = new SimDisk(SEED);
    try (Database db = open(disk)) {
      db.table(SPEC);
      ChangesCopy copy = begun(db);
      work(db, 0, 3);
      FileChanges changes = copy.ofFiles(disk);
      ChangeBatch first = changes.poll();
      assertNotNull(first);
      changes.close();
      changes.close();
      assertThrows(InvalidUseException.class, changes::poll);
      assertThrows(InvalidUseException.class, changes::tables);
      assertEquals(first.position(), changes.position());
    }
  }

  @Test
  void theWriterLosesItsLog() {
    SimDisk disk = new SimDisk(SEED);
    Database db = open(disk);
    Table<byte[], byte[]> t = db.table(SPEC).bytes();
    ChangesCopy copy = begun(db);
    try (FileChanges changes = copy.ofFiles(disk)) {
      db.run(tx -> t.put(tx, new byte[] {1}, new byte[] {1}));
      disk.fail(SimFault.from(1).of(IoOp.WRITE));
      assertThrows(
          FoveaException.class, () -> db.run(tx -> t.put(tx, new byte[] {2}, new byte[] {2})));
      db.abandon();
      disk.heal();
      assertEquals(0, follow(changes, copy, 0));
      try (Database again = open(disk)) {
        Table<byte[], byte[]> u = again.table(SPEC).bytes();
        again.run(tx -> u.put(tx, new byte[] {3}, new byte[] {3}));
        assertEquals(0, follow(changes, copy, 0));
        copy.checkFiles(again, disk);
      }
    }
  }
}
