package io.fovea;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Durability;
import io.fovea.config.LeakDetection;
import io.fovea.io.IoOp;
import io.fovea.schema.TableSpec;
import io.fovea.support.SimCrash;
import io.fovea.support.SimDisk;
import io.fovea.support.SimFault;
import io.fovea.support.SimStorage;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The log of an idle database releases its space, whatever fails. */
@Timeout(120)
class IdleLogTest {
  private static final long SEED = Long.getLong("crash.seed", 5L);
  private static final long SEGMENT = 128 << 10;
  private static final long WAIT_NANOS = 100_000_000_000L;

  /** The segments are smaller than what must be preallocated, so two are not enough. */
  private static final long LEAST = 4 * SEGMENT;

  private static final TableSpec SPEC = TableSpec.bytes("t", 16);

  private final SimDisk disk = new SimDisk(SEED);

  private static Options options(Duration quiet) {
    return Options.defaults()
        .bufferBytes(4 << 20)
        .memory(mem -> mem.timestampBytes(1 << 20))
        .transactions(txs -> txs.maxActive(4).leakDetection(LeakDetection.OFF))
        .log(
            log ->
                log.bufferBytes(128 << 10)
                    .segmentBytes(SEGMENT)
                    .maxBytes(2 << 20)
                    .checkpointInterval(Duration.ofHours(1))
                    .idleTimeout(quiet));
  }

  private Database open(Duration quiet) {
    return Database.open(new SimStorage(disk), options(quiet));
  }

  private long logBytes() {
    return disk.device("db.log").size();
  }

  private static byte[] key(int i) {
    return ByteBuffer.allocate(4).putInt(i).array();
  }

  private static void write(Database db, int from, int to) {
    Table<byte[], byte[]> t = db.table(SPEC).bytes();
    for (int i = from; i < to; i++) {
      int n = i;
      db.run(tx -> t.put(tx, key(n), ByteBuffer.allocate(900).putInt(n).array()));
    }
  }

  private static void check(Database db, int records) {
    assertTrue(db.verify().ok(), () -> db.verify().toString());
    Table<byte[], byte[]> t = db.table(SPEC).bytes();
    db.read(
        tx -> {
          for (int i = 0; i < records; i++) {
            byte[] expected = ByteBuffer.allocate(900).putInt(i).array();
            assertArrayEquals(expected, t.get(tx, key(i)), "record " + i);
          }
          return null;
        });
  }

  private static void await(BooleanSupplier what, String message) {
    await(what, () -> message);
  }

  private static void await(BooleanSupplier what, Supplier<String> message) {
    long deadline = System.nanoTime() + WAIT_NANOS;
    while (!what.getAsBoolean()) {
      assertTrue(System.nanoTime() < deadline, message);
      LockSupport.parkNanos(1_000_000);
    }
  }

  @Test
  void anIdleLogShrinksAndGrowsAgain() {
    try (Database db = open(Duration.ofMillis(30))) {
      for (int round = 0; round < 3; round++) {
        write(db, 0, 1000);
        await(() -> logBytes() <= LEAST, "round " + round + ": the log has " + logBytes());
        long redo = db.stats().log().redoBytes();
        assertTrue(redo < SEGMENT, "a crash needs " + redo);
        check(db, 1000);
      }
    }
    assertEquals(SEGMENT, logBytes());
  }

  /** A checkpoint's own log records do not cause further checkpoints. */
  @Test
  void anIdleLogIsTrimmedOnce() {
    try (Database db = open(Duration.ofMillis(20))) {
      write(db, 0, 1000);
      await(() -> logBytes() <= LEAST, "the log is small");
      long checkpoints = db.stats().checkpoints().made();
      long written = db.stats().log().bytes();
      LockSupport.parkNanos(400_000_000);
      assertTrue(db.stats().checkpoints().made() <= checkpoints + 4, "checkpoints continue");
      assertTrue(db.stats().log().bytes() < written + SEGMENT, "the log keeps growing");
    }
  }

  @Test
  void trimmingCanBeDisabled() {
    try (Database db = open(Duration.ZERO)) {
      write(db, 0, 1000);
      long large = logBytes();
      LockSupport.parkNanos(200_000_000);
      assertEquals(large, logBytes());
    }
    assertThrows(
        IllegalArgumentException.class,
        () -> LogOptions.defaults().idleTimeout(Duration.ofMillis(-1)));
    assertEquals(Duration.ofSeconds(10), LogOptions.defaults().idleTimeout());
  }

  @Test
  void failedTruncation() {
    Database db = open(Duration.ofMillis(30));
    try {
      write(db, 0, 800);
      disk.fail(SimFault.from(1).of(IoOp.RESIZE).effect(SimFault.Effect.REFUSE_CUT));
      await(() -> disk.faultsHit() > 0, "no truncation was attempted");
      disk.heal();
      write(db, 800, 1000);
      check(db, 1000);
    } finally {
      db.abandon();
    }
    try (Database again = open(Duration.ofMillis(30))) {
      check(again, 1000);
      write(again, 0, 1000);
      await(() -> logBytes() <= LEAST, "the log is small");
    }
  }

  /** The power fails before each operation of trimming an idle log and of what follows. */
  @Test
  @Tag("slow")
  void thePowerFailsDuringTrimming() {
    List<SimDisk> left = new ArrayList<>();
    try (Database db = open(Duration.ofMillis(30))) {
      write(db, 0, 600);
      disk.onOperation(
          n -> {
            synchronized (left) {
              left.add(disk.copy());
            }
          });
      await(() -> logBytes() <= LEAST, "the log is small");
      write(db, 0, 5);
      disk.onOperation(n -> {});
    }
    Set<Long> distinct = new HashSet<>();
    int step =
        Math.max(1, left.size() / 60); // pages are written one by one before the log is truncated
    for (int i = 0; i < left.size(); i++) {
      if (i % step > 0 && i < left.size() - 30) {
        continue;
      }
      for (SimCrash how : List.of(SimCrash.LOSE_ALL, SimCrash.RANDOM, SimCrash.KEEP_ALL)) {
        SimDisk crashed = left.get(i).crash(how);
        if (distinct.add(crashed.fingerprint())) {
          survives(crashed, "operation " + i + " of " + left.size() + ", " + how);
        }
      }
    }
    assertTrue(distinct.size() > 20, "crash states: " + distinct.size());
  }

  private static void survives(SimDisk crashed, String what) {
    try (Database db = Database.open(new SimStorage(crashed), options(Duration.ofMillis(1)))) {
      check(db, 600);
      write(db, 590, 600);
    } catch (RuntimeException | Error e) {
      throw new AssertionError("seed " + SEED + ", " + what, e);
    }
  }

  /** A load bypasses the log: the preallocated space of the data file is still released. */
  @Test
  void spaceOfALoadIsReleased() {
    long segment = 1 << 20;
    int records = 13_000; // the file grew by an eighth just before they ended
    Options options =
        options(Duration.ofMillis(30)).log(log -> log.segmentBytes(segment).maxBytes(8 * segment));
    try (Database db = Database.open(new SimStorage(disk), options)) {
      Table<byte[], byte[]> t = db.table(SPEC).bytes();
      t.load(
          LoadOptions.defaults().ascending(true),
          into -> {
            for (int i = 0; i < records; i++) {
              into.add(key(i), ByteBuffer.allocate(900).putInt(i).array());
            }
          });
      long used = db.stats().storage().bytes();
      assertTrue(logBytes() <= 2 * segment, "the log has " + logBytes());
      long most = used + (1 << 20) + (64 << 10); // a checkpoint before may leave up to a MiB
      await(
          () -> disk.device("db").size() <= most,
          () -> used + " bytes are used, and the file has " + disk.device("db").size());
      assertTrue(db.verify().ok(), () -> db.verify().toString());
      assertEquals(records, t.table().count());
    }
  }

  /** Preallocated space of the data file is released when idle, and at the close. */
  @Test
  void preallocatedSpaceIsReleased(@TempDir Path dir) throws Exception {
    Path file = dir.resolve("f");
    long page = 4096;
    for (Durability durability : List.of(Durability.SYNC, Durability.NONE)) {
      Options o = options(Duration.ofMillis(30)).durability(durability);
      try (Database db = Database.open(file, o)) {
        write(db, 0, 1500);
      }
      long used = FileReport.verify(file, o).header().pages();
      assertTrue(
          Files.size(file) <= (used + 80) * page, used + " pages, bytes: " + Files.size(file));
      try (Database db = Database.open(file, o)) {
        check(db, 1500);
        write(db, 1500, 1600);
        check(db, 1600);
      }
    }
  }
}
