package io.fovea;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Durability;
import io.fovea.config.LeakDetection;
import io.fovea.error.StorageException;
import io.fovea.io.IoOp;
import io.fovea.schema.TableSpec;
import io.fovea.support.Sample;
import io.fovea.support.SimCrash;
import io.fovea.support.SimDisk;
import io.fovea.support.SimFault;
import io.fovea.support.SimStorage;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.function.BiConsumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * A page that cannot be read when it is to be freed is freed later: before the redo point passes
 * it, and before the database closes. The n-th read fails once, for n = 1, 32, 63 and so on.
 */
@Tag("slow")
class OrphanPagesTest {
  private static final TableSpec SPEC = TableSpec.bytes("long", 60);

  /** Three times as many pages as the pool has frames: most pages to be freed must be read. */
  private static final int VALUES = 60;

  private static final int VALUE_BYTES = 20_000;
  private static final Sample SAMPLE = Sample.oneOf(67);

  private static final Options SMALL =
      Options.defaults()
          .bufferBytes(400_000)
          .memory(mem -> mem.timestampBytes(1 << 20))
          .transactions(txs -> txs.maxActive(2))
          .log(
              log ->
                  log.maxBytes(4 << 20)
                      .bufferBytes(64 << 10)
                      .segmentBytes(64 << 10)
                      .checkpointInterval(Duration.ZERO))
          .transactions(txs -> txs.leakDetection(LeakDetection.OFF));

  private static final Options LOGGED = SMALL.durability(Durability.SYNC);
  private static final Options UNLOGGED = SMALL.durability(Durability.NONE);

  private static byte[] key(int i) {
    return ("key" + i).getBytes(StandardCharsets.UTF_8);
  }

  private static void fill(Database db) {
    Table<byte[], byte[]> t = db.table(SPEC).bytes();
    for (int i = 0; i < VALUES; i++) {
      byte[] k = key(i);
      db.run(tx -> t.put(tx, k, new byte[VALUE_BYTES]));
    }
  }

  private static void shorten(Database db) {
    Table<byte[], byte[]> t = db.table(SPEC).bytes();
    db.run(
        tx -> {
          for (int i = 0; i < VALUES; i++) {
            t.put(tx, key(i), new byte[1]);
          }
        });
  }

  private static void drop(Database db) {
    db.dropTable(SPEC.name());
  }

  private interface Work {
    void on(Database db);
  }

  /** Runs work with one failing read, then a check; returns the number of runs that succeed. */
  private static int loop(Options options, Work work, BiConsumer<Database, SimDisk> then) {
    int silent = 0;
    boolean hit = true;
    for (int n = 1 + SAMPLE.first(); hit; n += SAMPLE.stride()) {
      SimDisk disk = new SimDisk(n);
      Database db = Database.open(new SimStorage(disk), options);
      boolean told = false;
      try {
        fill(db);
        disk.fail(SimFault.once(n).of(IoOp.READ));
        try {
          work.on(db);
        } catch (StorageException e) {
          told = true;
        }
        hit = disk.faultsHit() > 0;
        silent += hit && !told ? 1 : 0;
        disk.heal();
        then.accept(db, disk);
      } catch (Throwable e) {
        throw new AssertionError("read " + n + " fails", e);
      } finally {
        db.abandon();
      }
    }
    return silent;
  }

  private static void verify(SimDisk disk, Options options) {
    try (Database db = Database.open(new SimStorage(disk), options)) {
      VerifyReport report = db.verify();
      assertTrue(report.ok(), report::toString);
    }
  }

  private static void byClose(Options options, Work work) {
    int silent =
        loop(
            options,
            work,
            (db, disk) -> {
              db.close();
              verify(disk, options);
            });
    assertTrue(silent > 0, "no failed read was deferred");
  }

  private static void byCheckpoint(Work work) {
    int silent =
        loop(
            LOGGED,
            work,
            (db, disk) -> {
              db.checkpoint();
              verify(disk.crash(SimCrash.LOSE_ALL), LOGGED);
            });
    assertTrue(silent > 0, "no failed read was deferred");
  }

  @Test
  void valuesByClose() {
    byClose(LOGGED, OrphanPagesTest::shorten);
  }

  @Test
  void valuesByCheckpoint() {
    byCheckpoint(OrphanPagesTest::shorten);
  }

  @Test
  void valuesWithoutLog() {
    byClose(UNLOGGED, OrphanPagesTest::shorten);
  }

  @Test
  void aTableByClose() {
    byClose(LOGGED, OrphanPagesTest::drop);
  }

  @Test
  void aTableByCheckpoint() {
    byCheckpoint(OrphanPagesTest::drop);
  }

  @Test
  void aTableWithoutLog() {
    byClose(UNLOGGED, OrphanPagesTest::drop);
  }
}
