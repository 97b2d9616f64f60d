package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Durability;
import io.fovea.schema.TableSpec;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The last group of a log changes more pages than the recovering pool has frames. It is unknown
 * whether that group was durable, so none of these pages may be written before the log is open.
 */
@Tag("slow")
class TailGroupsTest {
  private static final TableSpec SPEC = TableSpec.bytes("t", 20);
  private static final int VALUES = 300;

  /** The log is written after half a second or a few megabytes. */
  private static final Options LARGE =
      Options.defaults()
          .durability(Durability.ASYNC)
          .bufferBytes(16 << 20)
          .log(
              log ->
                  log.bufferBytes(8 << 20)
                      .segmentBytes(16 << 20)
                      .checkpointInterval(Duration.ZERO)
                      .maxFlushDelay(Duration.ofMillis(500), 4 << 20));

  enum Change {
    /** Long values are inserted: CHAIN. */
    CHAINS,
    /** Long values are deleted: FREE, the shortest record of a page. */
    FREES,
    /** Leaves are split: STRUCTURE, several pages each. */
    SPLITS,
    DROP
  }

  @TempDir Path dir;

  private static byte[] key(int i) {
    return ByteBuffer.allocate(4).putInt(i).array();
  }

  private static void put(Database db, int from, int to, int bytes) {
    Table<byte[], byte[]> t = db.table(SPEC).bytes();
    for (int i = from; i < to; i++) {
      int n = i;
      db.run(tx -> t.put(tx, key(n), new byte[bytes + n % 7]));
    }
  }

  private static void change(Database db, Change change) throws InterruptedException {
    switch (change) {
      case CHAINS -> put(db, VALUES, 2 * VALUES, 3_000);
      case SPLITS -> put(db, VALUES, 8 * VALUES, 900);
      case FREES -> {
        Table<byte[], byte[]> t = db.table(SPEC).bytes();
        db.run(
            tx -> {
              for (int i = 0; i < VALUES; i++) {
                t.delete(tx, key(i));
              }
            });
      }
      case DROP -> {
        long free = db.stats().storage().freeBytes();
        db.dropTable("other");
        while (db.stats().storage().freeBytes() < free + VALUES * 4096L) {
          Thread.sleep(1);
        }
      }
    }
  }

  private static Map<Integer, Integer> contents(Database db) {
    Table<byte[], byte[]> t = db.table(SPEC).bytes();
    return db.read(
        tx -> {
          Map<Integer, Integer> all = new TreeMap<>();
          try (Cursor<byte[], byte[]> c = t.scan(tx, null, null, ScanOrder.ASCENDING)) {
            while (c.next()) {
              all.put(ByteBuffer.wrap(c.key()).getInt(), c.value().length);
            }
          }
          return all;
        });
  }

  @ParameterizedTest
  @EnumSource
  void morePagesThanFrames(Change change) throws InterruptedException {
    Path file = dir.resolve("db");
    Database db = Database.open(file, LARGE);
    put(db, 0, VALUES, 3_000);
    Table<byte[], byte[]> other = db.table(TableSpec.bytes("other", 20)).bytes();
    for (int i = 0; i < VALUES; i++) {
      int n = i;
      db.run(tx -> other.put(tx, key(n), new byte[3_000]));
    }
    db.checkpoint();
    DatabaseStats.Log before = db.stats().log();
    change(db, change);
    for (DatabaseStats.Log now = before;
        now.groups() == before.groups()
            || now.writtenBytes() - before.writtenBytes() < now.bytes() - before.bytes();
        now = db.stats().log()) {
      Thread.sleep(1); // until everything is written
    }
    Map<Integer, Integer> expected = contents(db);
    db.abandon();

    Options small = Options.defaults().bufferBytes(1 << 20);
    try (Database again = Database.open(file, small)) {
      assertTrue(again.stats().buffer().frames() < VALUES, again.stats()::toString);
      assertEquals(expected, contents(again));
      VerifyReport report = again.verify();
      assertTrue(report.ok(), report::toString);
    }
  }
}
