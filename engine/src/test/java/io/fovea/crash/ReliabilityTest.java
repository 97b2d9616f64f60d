package io.fovea.crash;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Database;
import io.fovea.Key;
import io.fovea.Options;
import io.fovea.Range;
import io.fovea.Row;
import io.fovea.RowCursor;
import io.fovea.RowTable;
import io.fovea.ScanOrder;
import io.fovea.VerifyReport;
import io.fovea.config.Durability;
import io.fovea.config.Io;
import io.fovea.error.PoolTooSmallException;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import io.fovea.support.SimDisk;
import java.nio.file.Path;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Reliability without crashes: the smallest pool, interrupts, every kind of device. {@code
 * MisuseTest} and {@code FileLockTest} cover close and double open.
 */
@Timeout(value = 15, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ReliabilityTest {
  private static final int ACCOUNTS = 40;
  private static final int THREADS = 4;
  private static final Layout.Definition B = Layout.define();
  private static final Field BALANCE = B.int64("balance");
  private static final Field PAD = B.bytes("pad", 600);
  private static final TableSpec SPEC =
      TableSpec.of("accounts", KeySpec.of(FieldType.INT32), B.build());

  @TempDir Path dir;

  @BeforeAll
  static void quiet() {
    Session.quiet();
  }

  private static RowTable fill(Database db) {
    RowTable t = db.table(SPEC);
    db.run(
        tx -> {
          for (int i = 0; i < ACCOUNTS; i++) {
            t.put(tx, t.key().set(i), t.row().setLong(BALANCE, 100));
          }
        });
    return t;
  }

  private static void transfer(Database db, RowTable t, Random r) {
    int from = r.nextInt(ACCOUNTS);
    int to = (from + 1 + r.nextInt(ACCOUNTS - 1)) % ACCOUNTS;
    byte[] pad = new byte[r.nextInt(600)];
    db.run(
        tx -> {
          Key key = t.key();
          Row row = t.row();
          assertTrue(t.get(tx, key.set(from), row));
          t.update(tx, row.setLong(BALANCE, row.getLong(BALANCE) - 1).setBytes(PAD, pad));
          assertTrue(t.get(tx, key.set(to), row));
          t.update(tx, row.setLong(BALANCE, row.getLong(BALANCE) + 1));
        });
  }

  private static void check(Database db, RowTable t) {
    long[] sum = new long[1];
    db.read(
        tx -> {
          sum[0] = 0;
          try (RowCursor c = t.scan(tx, Range.all(), ScanOrder.ASCENDING)) {
            while (c.next()) {
              sum[0] += c.row().getLong(BALANCE);
            }
          }
          return null;
        });
    assertEquals(100L * ACCOUNTS, sum[0]);
    VerifyReport report = db.verify();
    assertTrue(report.ok(), report::toString);
  }

  /** A thread is interrupted at every commit: nothing fails, and the flag is preserved. */
  @ParameterizedTest
  @EnumSource(names = {"SYNC", "ASYNC"})
  void interruptsDoNoHarm(Durability durability) throws Exception {
    Options options =
        Victim.options().durability(durability).transactions(txs -> txs.maxActive(THREADS));
    Path file = dir.resolve("interrupts-" + durability);
    try (Database db = Database.open(file, options)) {
      RowTable t = fill(db);
      Threads.run(
          THREADS,
          id -> {
            Random r = new Random(id);
            for (int i = 0; i < 150; i++) {
              Thread.currentThread().interrupt();
              if (i % 50 == 49) {
                db.checkpoint();
              } else {
                transfer(db, t, r);
              }
              assertTrue(Thread.interrupted(), "the interrupt flag was lost");
            }
          });
      check(db, t);
      Thread.currentThread().interrupt(); // for the close
    }
    assertTrue(Thread.interrupted(), "close lost the interrupt flag");
    try (Database db = Database.open(file, options)) {
      check(db, db.table(SPEC));
    }
  }

  /** The smallest accepted pool works, and a smaller one is refused. */
  @Test
  void theSmallestPool() {
    for (int transactions : new int[] {1, 2, 8}) {
      Options options = Session.small().transactions(txs -> txs.maxActive(transactions));
      SimDisk disk = new SimDisk(transactions);
      Session s = new Session(disk, options.bufferBytes(1), false, new State());
      PoolTooSmallException e = assertThrows(PoolTooSmallException.class, s::open);
      s.options = options.bufferBytes(e.bytesNeeded() - 1);
      assertThrows(PoolTooSmallException.class, s::open);
      s.options = options.bufferBytes(e.bytesNeeded());
      s.open();
      s.first();
      s.steps(new Generator(CrashTest.SEED, 48, true, true), 60);
      s.check();
      s.abandon();
      s.open();
      s.check();
      s.close();
    }
  }

  /** With the smallest pool, all threads make progress. */
  @Test
  void theSmallestPoolUnderThreads() throws Exception {
    Options options = Victim.options().transactions(txs -> txs.maxActive(THREADS)).bufferBytes(1);
    Path file = dir.resolve("small");
    PoolTooSmallException e =
        assertThrows(PoolTooSmallException.class, () -> Database.open(file, options));
    try (Database db = Database.open(file, options.bufferBytes(e.bytesNeeded()))) {
      RowTable t = fill(db);
      Threads.run(
          THREADS,
          id -> {
            Random r = new Random(id);
            for (int i = 0; i < 200; i++) {
              transfer(db, t, r);
            }
          });
      check(db, t);
    }
  }

  /** All devices behave alike, and each opens files that another has written. */
  @Test
  void everyDevice() throws Exception {
    Path file = dir.resolve("devices");
    boolean first = true;
    for (Io io : Io.values()) {
      for (boolean direct : new boolean[] {true, false}) {
        Options options =
            Victim.options()
                .device(dev -> dev.io(io).directIo(direct))
                .transactions(txs -> txs.maxActive(THREADS));
        try (Database db = Database.open(file, options)) {
          RowTable t = first ? fill(db) : db.table(SPEC);
          first = false;
          check(db, t);
          Threads.run(
              THREADS,
              id -> {
                Random r = new Random(id);
                for (int i = 0; i < 60; i++) {
                  transfer(db, t, r);
                }
              });
          check(db, t);
        }
      }
    }
  }
}
