package io.fovea;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.ChangesLostException;
import io.fovea.error.CorruptionException;
import io.fovea.error.DurabilityLostException;
import io.fovea.error.FoveaException;
import io.fovea.error.StorageException;
import io.fovea.error.StorageFullException;
import io.fovea.io.IoOp;
import io.fovea.io.Storage;
import io.fovea.schema.TableSpec;
import io.fovea.support.SimDisk;
import io.fovea.support.SimFault;
import io.fovea.support.SimStorage;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Follows changes on a disk that fails, is damaged or is full. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ChangesFaultTest {
  private static final TableSpec SPEC = TableSpec.bytes("b", 40);

  private static Options options() {
    return Options.defaults()
        .bufferBytes(2 << 20)
        .transactions(x -> x.maxActive(4))
        .log(
            l ->
                l.bufferBytes(64 << 10)
                    .segmentBytes(64 << 10)
                    .maxBytes(256 << 10)
                    .checkpointInterval(Duration.ZERO)
                    .changeRetentionBytes(1 << 20));
  }

  private static Database open(SimDisk disk) {
    return Database.open(new SimStorage(disk), options());
  }

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
              t.put(tx, key, new byte[5000]); // long: its commit is read from two places
            });
        db.run(tx -> tx.renameTable("c", "b"));
      }
    }
  }

  /** Each read of the log fails once: the next call continues and skips nothing. */
  @Test
  void aFailedReadIsRetried() {
    SimDisk disk = new SimDisk(1);
    try (Database db = open(disk)) {
      db.table(SPEC);
      ChangesCopy start = new ChangesCopy();
      start.begin(db);
      work(db, 0, 120);
      int failures = 0;
      for (int nth = 1; ; nth++) {
        ChangesCopy copy = start.copy();
        boolean failed = false;
        disk.fail(SimFault.once(nth).of(IoOp.READ));
        try (Changes changes = db.changes(copy.position)) {
          while (true) {
            try {
              ChangeBatch batch = changes.poll(Duration.ZERO);
              if (batch == null) {
                break;
              }
              copy.take(batch);
            } catch (StorageException e) {
              failed = true;
            }
          }
        }
        disk.heal();
        copy.check(db);
        assertEquals(start.batches + 120 + 4, copy.batches);
        if (!failed) {
          break;
        }
        failures++;
      }
      assertTrue(failures > 5, failures + " failures");
    }
  }

  @Test
  void damageIsNotTheEnd() {
    SimDisk disk = new SimDisk(2);
    try (Database db = open(disk)) {
      db.table(SPEC);
      ChangesCopy start = new ChangesCopy();
      start.begin(db);
      work(db, 0, 30);
      long size = new SimStorage(disk).open(Storage.LOG).size();
      int found = 0;
      for (long at = 4096 + 64; at < size; at += 4096) {
        disk.flip("db.log", at, 3);
        ChangesCopy copy = start.copy();
        try (Changes changes = db.changes(copy.position)) {
          ChangeBatch batch;
          while ((batch = changes.poll(Duration.ZERO)) != null) {
            copy.take(batch);
          }
          assertEquals(start.batches + 31 + 1, copy.batches, "at " + at);
        } catch (CorruptionException e) {
          found++;
        }
        disk.flip("db.log", at, 3);
      }
      assertTrue(found > 10, found + " found");
    }
  }

  /** If nothing more can become durable, all durable changes are delivered before the error. */
  @Test
  void theEndOfTheLogIsReported() {
    SimDisk disk = new SimDisk(3);
    Database db = open(disk);
    Table<byte[], byte[]> t = db.table(SPEC).bytes();
    try (Changes changes = db.changes(db.changesPosition())) {
      db.run(tx -> t.put(tx, new byte[] {1}, new byte[] {1}));
      disk.fail(SimFault.from(1).of(IoOp.SYNC));
      assertThrows(
          FoveaException.class, () -> db.run(tx -> t.put(tx, new byte[] {2}, new byte[] {2})));
      assertNotNull(changes.poll(Duration.ZERO));
      assertNull(changes.poll(Duration.ZERO));
      assertThrows(DurabilityLostException.class, () -> changes.poll(Duration.ofSeconds(30)));
      assertThrows(DurabilityLostException.class, db::changesPosition);
    } finally {
      disk.heal();
      db.abandon();
    }
  }

  /** On a full disk the changes kept for subscribers are released before a write is refused. */
  @Test
  void aFullDiskReleasesChanges() {
    SimDisk disk = new SimDisk(4);
    try (Database db = open(disk)) {
      db.table(SPEC);
      ChangePosition from = db.changesPosition();
      work(db, 0, 100);
      disk.capacity("db.log", new SimStorage(disk).open(Storage.LOG).size());
      Table<byte[], byte[]> t = db.table(SPEC).bytes();
      int refused = 0;
      for (int i = 100; i < 1200; ) {
        try {
          byte[] value = new byte[3000];
          value[0] = (byte) i;
          db.run(tx -> t.put(tx, new byte[] {value[0]}, value));
          i++;
        } catch (StorageFullException e) {
          assertTrue(refused++ < 2000, e.toString());
          LockSupport.parkNanos(5_000_000);
        }
      }
      assertThrows(
          ChangesLostException.class,
          () -> {
            try (Changes changes = db.changes(from)) {
              while (changes.poll(Duration.ZERO) != null) {}
            }
          });
      for (boolean done = false; !done; ) {
        try {
          ChangesCopy copy = new ChangesCopy();
          copy.begin(db);
          work(db, 2000, 2010);
          copy.check(db);
          done = true;
        } catch (StorageFullException | ChangesLostException e) {
          // The disk is as full as before: one more refusal or release is possible.
          assertTrue(refused++ < 2000, e.toString());
          LockSupport.parkNanos(5_000_000);
        }
      }
    }
  }

  /**
   * The disk is full, pages included. Writes that need no more space continue in the space of the
   * kept changes. The subscriber gets an error, and follows again once there is space.
   */
  @Test
  void aFullDiskReleasesOnlyKeptChanges() {
    SimDisk disk = new SimDisk(5);
    byte[][] values = new byte[200][3000];
    ChangesCopy copy = new ChangesCopy();
    try (Database db = open(disk)) {
      Table<byte[], byte[]> t = db.table(SPEC).bytes();
      for (int i = 0; i < values.length; i++) {
        byte[] key = {(byte) i};
        db.run(tx -> t.put(tx, key, values[key[0] & 0xFF]));
      }
      ChangesCopy before = new ChangesCopy();
      before.begin(db);
      disk.capacity(disk.bytes());
      int refused = 0;
      for (int i = 0; i < 1500; ) {
        byte[] key = {(byte) (i % values.length)};
        byte[] value = new byte[3000];
        new Random(i).nextBytes(value);
        try {
          db.run(tx -> t.put(tx, key, value));
          values[i % values.length] = value;
          i++;
        } catch (StorageFullException e) {
          assertTrue(refused++ < 2000, e.toString());
          LockSupport.parkNanos(5_000_000);
        }
      }
      assertTrue(disk.refusals() > 0, "it was never full");
      assertEquals(DatabaseStats.Health.OK, db.stats().health());
      assertThrows(
          ChangesLostException.class,
          () -> {
            try (Changes changes = db.changes(before.position)) {
              while (changes.poll(Duration.ZERO) != null) {}
            }
          });
      disk.capacity(Long.MAX_VALUE);
      copy.begin(db);
      work(db, 0, 60);
      copy.check(db);
    }
    try (Database db = open(disk)) {
      copy.check(db);
      Table<byte[], byte[]> t = db.table(SPEC).bytes();
      for (int i = 0; i < values.length; i++) {
        byte[] key = {(byte) i};
        assertArrayEquals(values[i], db.read(tx -> t.get(tx, key)), "record " + i);
      }
      assertTrue(db.verify().ok());
    }
  }
}
