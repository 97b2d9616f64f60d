package io.fovea.crash;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.CompactOptions;
import io.fovea.Database;
import io.fovea.DatabaseStats;
import io.fovea.Options;
import io.fovea.SimDatabase;
import io.fovea.Table;
import io.fovea.config.Durability;
import io.fovea.config.TimestampStore;
import io.fovea.error.StorageFullException;
import io.fovea.schema.TableSpec;
import io.fovea.support.Sample;
import io.fovea.support.SimCrash;
import io.fovea.support.SimDisk;
import io.fovea.support.SimStorage;
import io.fovea.support.SoakReport;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * A full disk, or a file that may not grow, at each size, under threads; then there is space again.
 *
 * <pre>
 *   each transaction puts the same records into two tables, or deletes them from both
 *   full:    it is done, or refused with StorageFullException and has changed nothing; reads and
 *            operations that need no space work; no thread waits
 *   after:   everything works in the same open database; no acknowledged change is lost
 * </pre>
 */
@Tag("slow")
@Timeout(value = 15, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Execution(ExecutionMode.CONCURRENT)
class FullDiskTest {
  private static final int THREADS = 3;
  private static final int STEPS = 60;
  private static final int STEPS_AFTER = 25;
  private static final int KEYS = 400;

  /** The number of long values, one of eight of which is kept. */
  private static final int HOLES = 60;

  /**
   * Each refused transaction, and the engine itself, tries a few times, asking for less each time.
   */
  private static final long REFUSALS_MAX = 60L * THREADS * STEPS + 2_000;

  private static Options options(Durability durability) {
    return Session.small()
        .durability(durability)
        .bufferBytes(1 << 20)
        .memory(mem -> mem.timestampBytes(2 << 20))
        .transactions(txs -> txs.maxActive(4))
        .log(log -> log.maxBytes(512 << 10));
  }

  /** The expected records of one thread's keys. */
  private static final class Client {
    final int id;
    final Random random;
    final TreeMap<Integer, byte[]> model = new TreeMap<>();
    final Table<byte[], byte[]> a;
    final Table<byte[], byte[]> b;
    final Database db;
    int refused;

    Client(int id, long seed, Database db, Table<byte[], byte[]> a, Table<byte[], byte[]> b) {
      this.id = id;
      this.random = new Random(seed * 31 + id);
      this.db = db;
      this.a = a;
      this.b = b;
    }

    byte[] key(int n) {
      // spread over the tables, so that threads share leaves
      return String.format("%05d-%d", n * 7919 % KEYS, id).getBytes();
    }

    private byte[] value(int length) {
      byte[] v = new byte[length];
      random.nextBytes(v);
      return v;
    }

    private int length() {
      return switch (random.nextInt(20)) {
        case 0 -> 9_000;
        case 1, 2, 3 -> 1_200;
        default -> 50 + random.nextInt(300);
      };
    }

    /** Puts records, replaces values by others of the same length, or deletes some. */
    void step(@Nullable AtomicBoolean mayRefuse, boolean sameMayRefuse) {
      TreeMap<Integer, byte[]> change = new TreeMap<>();
      int what = random.nextInt(10);
      for (int n = 1 + random.nextInt(4); n > 0; n--) {
        int k = random.nextInt(KEYS);
        byte[] old = model.get(k);
        if (what < 6) {
          change.put(k, value(length()));
        } else if (old != null) {
          change.put(k, what < 8 && old.length < 1_000 ? value(old.length) : new byte[0]);
        }
      }
      boolean needsSpace = what < 6 || what >= 8 || sameMayRefuse;
      try {
        db.run(
            tx ->
                change.forEach(
                    (k, v) -> {
                      if (v.length == 0) {
                        a.delete(tx, key(k));
                        b.delete(tx, key(k));
                      } else {
                        a.put(tx, key(k), v);
                        b.put(tx, key(k), v);
                      }
                    }));
        change.forEach(
            (k, v) -> {
              if (v.length == 0) {
                model.remove(k);
              } else {
                model.put(k, v);
              }
            });
      } catch (StorageFullException e) {
        if (mayRefuse == null
            || !needsSpace && change.values().stream().noneMatch(v -> v.length == 0)) {
          throw new AssertionError("refused although it needs no space: " + change.keySet(), e);
        }
        mayRefuse.set(true);
        refused++;
      }
      look(change.navigableKeySet());
    }

    void look(Iterable<Integer> keys) {
      db.read(
          tx -> {
            for (int k : keys) {
              assertArrayEquals(model.get(k), a.get(tx, key(k)), () -> "a, key " + k);
              assertArrayEquals(model.get(k), b.get(tx, key(k)), () -> "b, key " + k);
            }
            return null;
          });
    }
  }

  private record Outcome(boolean hit, int refused) {}

  private static void limit(SimDisk disk, String file, long bytes) {
    if (file.equals("*")) {
      disk.capacity(bytes);
    } else {
      disk.capacity(file, bytes);
    }
  }

  private static Outcome run(long seed, String file, long bytes, Options options) throws Exception {
    SimDisk disk = new SimDisk(seed);
    limit(disk, file, bytes);
    Database db = null;
    for (int refused = 0; db == null; refused++) {
      try {
        db = SimDatabase.open(new SimStorage(disk), options);
        db.table(TableSpec.bytes("a", 16));
        db.table(TableSpec.bytes("b", 16));
      } catch (StorageFullException e) {
        if (db != null) {
          db.close();
          db = null;
        }
        if (refused > 0) {
          limit(disk, file, Long.MAX_VALUE);
        }
      }
    }
    return run(seed, file, disk, db, options);
  }

  private static Outcome run(long seed, String file, SimDisk disk, Database db, Options options)
      throws Exception {
    Table<byte[], byte[]> a = db.table(TableSpec.bytes("a", 16)).bytes();
    Table<byte[], byte[]> b = db.table(TableSpec.bytes("b", 16)).bytes();
    Client[] clients = new Client[THREADS];
    for (int i = 0; i < THREADS; i++) {
      clients[i] = new Client(i, seed, db, a, b);
    }
    AtomicBoolean waited = new AtomicBoolean();
    disk.onOperation(
        n -> {
          if (disk.refusals() > REFUSALS_MAX && waited.compareAndSet(false, true)) {
            limit(disk, file, Long.MAX_VALUE); // otherwise it would never end
          }
        });
    AtomicBoolean refused = new AtomicBoolean();
    boolean logFull = !file.equals(SimStorage.NAME);
    Threads.run(
        THREADS,
        i -> {
          for (int s = 0; s < STEPS; s++) {
            clients[i].step(refused, logFull);
          }
        });
    assertTrue(!waited.get(), "a thread requested space endlessly");
    boolean hit = disk.refusals() > 0;
    limit(disk, file, Long.MAX_VALUE);
    assertEquals(DatabaseStats.Health.OK, db.stats().health());
    // The log retries from time to time; transactions that are refused meanwhile are repeated.
    Threads.run(
        THREADS,
        i -> {
          for (int s = 0; s < STEPS_AFTER; s++) {
            clients[i].step(logFull ? refused : null, logFull);
          }
        });
    int sum = 0;
    for (Client c : clients) {
      c.look(c.model.keySet());
      sum += c.refused;
    }
    assertTrue(db.verify().ok(), () -> "verify: " + db.verify());
    db.close();
    reopened(disk, options, clients);
    return new Outcome(hit, sum);
  }

  private static void reopened(SimDisk disk, Options options, Client[] clients) {
    try (Database db = SimDatabase.open(new SimStorage(disk), options)) {
      Table<byte[], byte[]> a = db.table(TableSpec.bytes("a", 16)).bytes();
      Table<byte[], byte[]> b = db.table(TableSpec.bytes("b", 16)).bytes();
      for (Client c : clients) {
        Client again = new Client(c.id, 1, db, a, b);
        again.model.putAll(c.model);
        for (int k = 0; k < KEYS; k++) {
          again.look(java.util.List.of(k));
        }
      }
      assertTrue(db.verify().ok());
    }
  }

  @ParameterizedTest
  @CsvSource({
    "db,     SYNC,  28672",
    "db,     NONE,  28672",
    "db.log, SYNC,  65536",
    "db.log, ASYNC, 65536",
    "db.dwb, SYNC,  131072",
    "db.ts,  SYNC,  16384",
    "*,      SYNC,  77824"
  })
  void fullAtEachSize(String file, Durability durability, long step) throws Exception {
    Options options = options(durability);
    if (file.equals("db.ts")) {
      options =
          options
              .experiments(exp -> exp.timestamps(TimestampStore.DISK))
              .memory(mem -> mem.timestampBytes(1 << 20));
    }
    int refused = 0;
    int runs = 0;
    boolean hit = true;
    for (long size = step + from(step); hit && runs < 300; size += 2 * step, runs++) {
      try {
        Outcome outcome = run(CrashTest.SEED + runs, file, size, options);
        hit = outcome.hit;
        refused += outcome.refused;
      } catch (Throwable e) {
        throw new AssertionError(
            file + " full at " + size + " bytes, seed " + (CrashTest.SEED + runs), e);
      }
    }
    assertTrue(refused > 0 || !file.equals("db"), "the disk was never full");
    SoakReport.line(
        "FullDiskTest " + file + " " + durability,
        runs + " sizes, " + refused + " transactions refused");
  }

  /** Returns the first size, which varies from run to run: whole pages, below two steps. */
  private static long from(long step) {
    return Sample.oneOf((int) (2 * step / 4096)).first() * 4096L;
  }

  /** Returns a database whose file is mostly holes, with two small tables. */
  private static Database withHoles(SimDisk disk, Options options) {
    Database db = SimDatabase.open(new SimStorage(disk), options);
    Table<byte[], byte[]> wide = db.table(TableSpec.bytes("wide", 16)).bytes();
    for (int i = 0; i < HOLES; i++) {
      byte[] key = {(byte) i};
      db.run(tx -> wide.put(tx, key, new byte[30_000]));
    }
    db.table(TableSpec.bytes("a", 16));
    db.table(TableSpec.bytes("b", 16));
    for (int i = 0; i < HOLES; i++) {
      byte[] key = {(byte) i};
      if (i % 8 != 0) {
        db.run(tx -> wide.delete(tx, key));
      }
    }
    long punched = 0;
    // A pass skips pages that are being written, so repeat it.
    for (int i = 0; i < 50 && punched <= HOLES * 20_000L; i++) {
      punched += db.compact(CompactOptions.defaults().movePages(false)).bytesPunched();
    }
    assertTrue(punched > HOLES * 20_000L, "punched: " + punched);
    return db;
  }

  /**
   * The file has space in holes, and the disk is full: in the database that made the holes, and
   * after it was reopened.
   */
  @ParameterizedTest
  @CsvSource({
    "db, SYNC,  69632",
    "db, NONE,  94208",
    "*,  SYNC,  118784",
  })
  void holesAtEachSize(String file, Durability durability, long step) throws Exception {
    Options options = options(durability);
    int refused = 0;
    int runs = 0;
    boolean hit = true;
    for (long size = from(step); hit && runs < 300; size += 2 * step, runs++) {
      long seed = CrashTest.SEED + runs;
      try {
        SimDisk disk = new SimDisk(seed);
        Database db = withHoles(disk, options);
        if (runs % 2 == 1) {
          db.close();
          db = SimDatabase.open(new SimStorage(disk), options);
        }
        limit(disk, file, size + (file.equals("*") ? disk.allocated() : disk.allocated(file)));
        Outcome outcome = run(seed, file, disk, db, options);
        hit = outcome.hit;
        refused += outcome.refused;
      } catch (Throwable e) {
        throw new AssertionError(file + ": " + size + " bytes for holes, seed " + seed, e);
      }
    }
    assertTrue(refused > 0, "the disk was never full");
    SoakReport.line(
        "FullDiskTest.holes " + file + " " + durability,
        runs + " sizes, " + refused + " transactions refused");
  }

  /** On a full disk, deleting and compacting makes space to continue. */
  @Test
  void compactionFreesSpaceOnAFullDisk() {
    SimDisk disk = new SimDisk(CrashTest.SEED);
    Options options = options(Durability.SYNC).bufferBytes(4 << 20);
    try (Database db = withHoles(disk, options)) {
      limit(disk, SimStorage.NAME, disk.allocated(SimStorage.NAME));
      Table<byte[], byte[]> a = db.table(TableSpec.bytes("a", 16)).bytes();
      Table<byte[], byte[]> wide = db.table(TableSpec.bytes("wide", 16)).bytes();
      int before = fill(db, a, 0);
      recovers(disk, before, options);
      db.checkpoint();
      boolean[] moves = {false, true};
      for (boolean m : moves) {
        try {
          db.compact(CompactOptions.defaults().movePages(m));
        } catch (StorageFullException e) {
          // moved pages need space at their destination
        }
      }
      db.run(
          tx -> {
            for (int i = 0; i < HOLES; i++) {
              wide.delete(tx, new byte[] {(byte) i});
            }
          });
      db.compact(CompactOptions.defaults().movePages(false));
      int after = fill(db, a, before);
      assertTrue(after > before, before + " records, then " + after);
      limit(disk, SimStorage.NAME, Long.MAX_VALUE);
      assertTrue(db.verify().ok(), () -> "verify: " + db.verify());
      assertEquals(after, db.table(TableSpec.bytes("a", 16)).count());
      db.compact(CompactOptions.defaults());
      assertTrue(db.verify().ok(), () -> "verify: " + db.verify());
    }
    try (Database db = SimDatabase.open(new SimStorage(disk), options)) {
      assertTrue(db.verify().ok(), () -> "verify: " + db.verify());
    }
  }

  /** Recovers from a crash now: the file has grown because its holes could not get space. */
  private static void recovers(SimDisk disk, int records, Options options) {
    SimDisk after = disk.copy().crash(SimCrash.LOSE_ALL);
    limit(after, SimStorage.NAME, Long.MAX_VALUE);
    try (Database db = SimDatabase.open(new SimStorage(after), options)) {
      assertTrue(db.verify().ok(), () -> "verify: " + db.verify());
      assertEquals(records, db.table(TableSpec.bytes("a", 16)).count());
    }
  }

  /** Puts records until one is refused; returns how many there are then. */
  private static int fill(Database db, Table<byte[], byte[]> table, int from) {
    for (int i = from; ; i++) {
      byte[] key = {(byte) (i >> 8), (byte) i};
      try {
        db.run(tx -> table.put(tx, key, new byte[1000]));
      } catch (StorageFullException e) {
        return i;
      }
    }
  }
}
