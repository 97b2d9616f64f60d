package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Durability;
import io.fovea.config.LeakDetection;
import io.fovea.error.DatabaseClosedException;
import io.fovea.schema.FieldType;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import io.fovea.support.Logged;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.function.IntFunction;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/** Leaked transactions and cursors are found and their contexts reused. */
@Tag("slow")
@Isolated("counts mappings, and collects garbage")
class LeaksTest {
  private static final Options ALL =
      Options.defaults()
          .bufferBytes(4 << 20)
          .transactions(txs -> txs.maxActive(2).leakDetection(LeakDetection.ALL));

  private static void await(BooleanSupplier condition) {
    for (int i = 0; i < 500 && !condition.getAsBoolean(); i++) {
      System.gc();
      java.util.concurrent.locks.LockSupport.parkNanos(10_000_000);
    }
    assertTrue(condition.getAsBoolean());
  }

  @Test
  void leakedTransactionsAreRolledBack() {
    try (Database db = Database.inMemory(ALL)) {
      RowTable t =
          db.table(TableSpec.of("t", KeySpec.of(FieldType.INT32), Layout.define().build()));
      for (int i = 0; i < 2; i++) {
        forget(db, t, i);
      }
      await(() -> db.leaks().found() == 2);
      await(() -> db.stats().activeTransactions() == 0);
      db.run(
          tx -> {
            try (RowCursor c = t.scan(tx, Range.all(), ScanOrder.ASCENDING)) {
              assertEquals(false, c.next());
            }
          });
    }
  }

  /** Closing a database ends its transactions; those closed later do not count as leaked. */
  @Test
  void closedAfterTheirDatabase() {
    Database closed = Database.inMemory(ALL);
    Transaction first = closed.begin();
    Transaction second = closed.begin();
    closed.close();
    first.close();
    assertThrows(DatabaseClosedException.class, second::commit);
    second.close();
    first = null;
    second = null;
    leakedTransactionsAreRolledBack(); // makes the leak detector report earlier ones
    assertEquals(0, closed.leaks().found());
  }

  /** A leaked pessimistic transaction gives up its ticket. */
  @Test
  void leakedPessimisticTransactionsBlockNoThread() {
    TxOptions pessimistic =
        TxOptions.defaults()
            .name("forgotten")
            .pessimisticAfterAborts(0)
            .timeout(Duration.ofSeconds(10));
    try (Database db = Database.inMemory(ALL)) {
      RowTable t =
          db.table(TableSpec.of("t", KeySpec.of(FieldType.INT32), Layout.define().build()));
      for (int i = 0; i < 2; i++) {
        int found = i + 1;
        List<String> lines =
            Logged.warnings(
                () -> {
                  forget(db, t, found - 1, pessimistic);
                  await(() -> db.leaks().found() == found);
                  await(() -> db.stats().activeTransactions() == 0); // follows the log line
                });
        assertTrue(lines.toString().contains("Transaction \"forgotten\" of"), lines::toString);
        try (Transaction tx = db.begin(pessimistic)) {
          assertTrue(tx.isPessimistic());
          t.insert(tx, t.key().set(i), t.row());
          tx.commit();
        }
        db.run(pessimistic, tx -> assertTrue(tx.isPessimistic()));
      }
    }
  }

  private static void forget(Database db, RowTable t, int id) {
    forget(db, t, id, TxOptions.defaults());
  }

  private static void forget(Database db, RowTable t, int id, TxOptions options) {
    Transaction tx = db.begin(options);
    t.insert(tx, t.key().set(id), t.row());
    t.scan(tx, Range.all(), ScanOrder.ASCENDING).next();
  }

  @Test
  void leakedCursorsAreReported() {
    try (Database db = Database.inMemory(ALL)) {
      RowTable t =
          db.table(TableSpec.of("t", KeySpec.of(FieldType.INT32), Layout.define().build()));
      db.run(
          tx -> {
            t.scan(tx, Range.all(), ScanOrder.ASCENDING);
            t.scan(tx, Range.all(), ScanOrder.ASCENDING).close();
          });
      assertEquals(1, db.leaks().found());
      try (Transaction tx = db.begin()) {
        t.scan(tx, Range.all(), ScanOrder.ASCENDING).close();
        tx.commit();
      }
      assertEquals(1, db.leaks().found());
    }
  }

  /**
   * A process is limited to about 65,000 mappings, and the JVM exits when it cannot get one. A
   * database that kept two after its close would crash a test suite, or a server that opens many
   * databases.
   */
  @Test
  @EnabledOnOs(OS.LINUX)
  void aClosedDatabaseLeavesNoMapping(@TempDir Path folder) throws IOException {
    Options logged = ALL.durability(Durability.SYNC).log(log -> log.segmentBytes(2 << 20));
    leavesNoMapping(i -> Database.inMemory(ALL));
    leavesNoMapping(
        i -> Database.open(folder.resolve("unlogged" + i), ALL.durability(Durability.NONE)));
    leavesNoMapping(i -> Database.open(folder.resolve("logged" + i), logged));
  }

  /**
   * The garbage collector also changes mappings, some time after earlier tests, but not in every
   * attempt; a leaking database leaves some in every one.
   */
  private static void leavesNoMapping(IntFunction<Database> opening) throws IOException {
    openAndClose(opening, 0, 20); // by then the JVM has created its own mappings
    long more = Long.MAX_VALUE;
    for (int i = 20; i < 140 && more >= 30; i += 40) {
      long before = mappings();
      openAndClose(opening, i, i + 40);
      more = mappings() - before;
    }
    assertTrue(more < 30, more + " additional mappings after 40 databases, three times");
  }

  private static void openAndClose(IntFunction<Database> opening, int from, int to) {
    for (int i = from; i < to; i++) {
      try (Database db = opening.apply(i)) {
        RowTable t =
            db.table(TableSpec.of("t", KeySpec.of(FieldType.INT32), Layout.define().build()));
        db.run(tx -> t.insert(tx, t.key().set(1), t.row()));
      }
    }
  }

  private static long mappings() throws IOException {
    try (Stream<String> lines = Files.lines(Path.of("/proc/self/maps"))) {
      return lines.count();
    }
  }
}
