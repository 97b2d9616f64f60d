package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;

/** What is forgotten is found, and its context is used again. */
class LeaksTest {
  private static final Options ALL =
      Options.defaults()
          .bufferBytes(4 << 20)
          .maxTransactions(2)
          .leakDetection(Options.LeakDetection.ALL);

  private static void await(BooleanSupplier condition) {
    for (int i = 0; i < 500 && !condition.getAsBoolean(); i++) {
      System.gc();
      java.util.concurrent.locks.LockSupport.parkNanos(10_000_000);
    }
    assertTrue(condition.getAsBoolean());
  }

  @Test
  void forgottenTransactionsAreRolledBack() {
    try (Database db = Database.inMemory(ALL)) {
      Table t = db.table(TableSpec.of("t", KeySpec.of(FieldType.INT32), Layout.builder().build()));
      for (int i = 0; i < 2; i++) {
        forget(db, t, i);
      }
      await(() -> db.leaks().found() == 2);
      await(() -> db.stats().activeTransactions() == 0);
      db.run(
          tx -> {
            try (Cursor c = t.scan(tx, Range.all(), Order.ASCENDING)) {
              assertEquals(false, c.next());
            }
          });
    }
  }

  private static void forget(Database db, Table t, int id) {
    Transaction tx = db.begin();
    t.insert(tx, t.key().set(id), t.row());
    t.scan(tx, Range.all(), Order.ASCENDING).next();
  }

  @Test
  void forgottenCursorsAreTold() {
    try (Database db = Database.inMemory(ALL)) {
      Table t = db.table(TableSpec.of("t", KeySpec.of(FieldType.INT32), Layout.builder().build()));
      db.run(
          tx -> {
            t.scan(tx, Range.all(), Order.ASCENDING);
            t.scan(tx, Range.all(), Order.ASCENDING).close();
          });
      assertEquals(1, db.leaks().found());
      try (Transaction tx = db.begin()) {
        t.scan(tx, Range.all(), Order.ASCENDING).close();
        tx.commit();
      }
      assertEquals(1, db.leaks().found());
    }
  }
}
