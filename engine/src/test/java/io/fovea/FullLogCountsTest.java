package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Durability;
import io.fovea.error.StorageFullException;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import io.fovea.support.SimCrash;
import io.fovea.support.SimDisk;
import io.fovea.support.SimStorage;
import java.time.Duration;
import java.util.Random;
import org.junit.jupiter.api.Test;

/**
 * Checkpoints without log space for row counts: after a crash the counts are either correct, or
 * unknown and counted on demand.
 */
class FullLogCountsTest {
  private static final Layout.Definition B = Layout.define();
  private static final Field N = B.int32("n");
  private static final Field PAD = B.bytes("pad", 200);
  private static final Layout LAYOUT = B.build();

  private static final int TABLES = 12;

  private static TableSpec spec(int i) {
    return TableSpec.of("t" + i, KeySpec.of(FieldType.INT64), LAYOUT).with(IndexSpec.on("by_n", N));
  }

  private static Options options() {
    return Options.defaults()
        .bufferBytes(2 << 20)
        .durability(Durability.SYNC)
        .device(dev -> dev.pageSize(4096))
        .memory(mem -> mem.timestampBytes(1 << 20))
        .transactions(txs -> txs.maxActive(2))
        .log(
            log ->
                log.maxBytes(4 << 20)
                    .bufferBytes(64 << 10)
                    .segmentBytes(64 << 10)
                    .checkpointInterval(Duration.ZERO));
  }

  /** Changes some tables; returns false if the log was full. */
  private static boolean change(Database db, Random r) {
    RowTable t = db.table(spec(r.nextInt(TABLES)));
    try {
      db.run(
          tx -> {
            for (int i = 0; i < 12; i++) {
              t.put(
                  tx,
                  t.key().set(r.nextLong(300)),
                  t.row().clear().setInt(N, r.nextInt(5)).setBytes(PAD, new byte[r.nextInt(200)]));
            }
            long from = r.nextLong(300);
            t.deleteRange(tx, Range.of(t.key().set(from), true, t.key().set(from + 8), false));
          });
      return true;
    } catch (StorageFullException e) {
      return false;
    }
  }

  private static void check(Database db) {
    for (int i = 0; i < TABLES; i++) {
      RowTable t = db.table(spec(i));
      long n =
          db.read(
              tx -> {
                long all = 0;
                try (RowCursor c = t.scan(tx, Range.all(), ScanOrder.ASCENDING)) {
                  while (c.next()) {
                    all++;
                  }
                }
                return all;
              });
      assertEquals(n, t.count(), t.name());
      assertEquals(n, t.index("by_n").count(), t.name());
    }
    VerifyReport report = db.verify();
    assertTrue(report.ok(), () -> report.problems().toString());
  }

  /** Changes a record in place, which allocates no page; returns false if the log was full. */
  private static boolean patch(Database db, Random r, int bytes) {
    RowTable t = db.table(spec(r.nextInt(TABLES)));
    try {
      db.run(
          tx -> {
            Row row = t.row();
            if (t.getForUpdate(tx, t.key().set(-1L), row)) {
              byte[] pad = new byte[bytes];
              r.nextBytes(pad);
              t.update(tx, row.setBytes(PAD, pad));
            }
          });
      return true;
    } catch (StorageFullException e) {
      return false;
    }
  }

  @Test
  void countsAreUnknownOrCorrect() {
    int unknown = 0;
    for (int seed = 1; unknown < 2 && seed <= 20; seed++) {
      unknown += areUnknown(seed) ? 1 : 0;
    }
    assertTrue(unknown > 0, "the log was never full");
  }

  /** Returns whether counts were unknown after a crash; known ones are checked. */
  private static boolean areUnknown(int seed) {
    boolean unknown;
    Random r = new Random(seed);
    SimDisk disk = new SimDisk(seed);
    Database db = SimDatabase.open(new SimStorage(disk), options());
    for (int i = 0; i < TABLES; i++) {
      RowTable t = db.table(spec(i));
      db.run(tx -> t.put(tx, t.key().set(-1L), t.row().clear().setInt(N, 1)));
    }
    for (int i = 0; i < 60; i++) {
      change(db, r);
    }
    db.checkpoint();
    for (int i = r.nextInt(5); i > 0; i--) {
      change(db, r);
    }
    disk.capacity(disk.bytes());
    // Until the log refuses even the smallest record.
    for (int bytes = 200; bytes > 0; bytes /= 5) {
      for (int i = 0; i < 2_000 && patch(db, r, bytes); i++) {}
    }
    try {
      db.checkpoint();
    } catch (StorageFullException e) {
      // A page or its image does not fit either.
    }
    disk.capacity(Long.MAX_VALUE);
    SimDisk left = disk.crash(r.nextBoolean() ? SimCrash.RANDOM : SimCrash.KEEP_ALL);
    SimDatabase.abandon(db);
    try (Database again = SimDatabase.open(new SimStorage(left), options())) {
      unknown = !SimDatabase.uncounted(again).isEmpty();
      check(again);
    }
    try (Database again = SimDatabase.open(new SimStorage(left), options())) {
      assertEquals("", SimDatabase.uncounted(again));
      check(again);
    }
    return unknown;
  }
}
