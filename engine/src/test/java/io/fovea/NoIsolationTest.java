package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Durability;
import io.fovea.error.InvalidUseException;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import io.fovea.support.SimDisk;
import io.fovea.support.SimStorage;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * With {@link ExperimentOptions#isolated} off, transactions run one at a time, with the usual
 * results.
 */
class NoIsolationTest {
  private static final Layout.Definition LAYOUT = Layout.define();
  private static final Field NUMBER = LAYOUT.int64("number");
  private static final TableSpec SPEC =
      TableSpec.of("counts", KeySpec.of(FieldType.INT32), LAYOUT.build())
          .with(IndexSpec.on("by_number", NUMBER));

  private static Options options() {
    return Options.defaults()
        .bufferBytes(4 << 20)
        .experiments(exp -> exp.isolated(false))
        .transactions(txs -> txs.maxActive(1));
  }

  @Test
  void requiresOneTransactionAtATime() {
    InvalidUseException e =
        assertThrows(
            InvalidUseException.class,
            () -> Database.inMemory(options().transactions(txs -> txs.maxActive(2))));
    assertTrue(e.getMessage().contains("maxActive must be 1, but is 2"), e.getMessage());
    assertTrue(Options.defaults().experiments().isolated());
    assertFalse(options().experiments().isolated());
  }

  @Test
  void transactionsAreAtomicAndRunOneAtATime() throws InterruptedException {
    try (Database db = Database.inMemory(options())) {
      RowTable t = db.table(SPEC);
      db.run(
          tx -> {
            for (int i = 0; i < 10; i++) {
              t.insert(tx, t.key().set(i), t.row().setLong(NUMBER, 0));
            }
          });
      List<Thread> threads = new ArrayList<>();
      for (int n = 0; n < 4; n++) {
        Thread thread =
            new Thread(
                () -> {
                  Key key = t.key();
                  Row row = t.row();
                  for (int i = 0; i < 500; i++) {
                    int at = i % 10;
                    db.run(
                        tx -> {
                          assertTrue(t.getForUpdate(tx, key.set(at), row));
                          row.setLong(NUMBER, row.getLong(NUMBER) + 1);
                          t.update(tx, row);
                        });
                  }
                });
        threads.add(thread);
        thread.start();
      }
      for (Thread thread : threads) {
        thread.join();
      }
      assertThrows(
          IllegalStateException.class,
          () ->
              db.run(
                  tx -> {
                    t.delete(tx, t.key().set(3));
                    throw new IllegalStateException();
                  }));
      db.run(
          tx -> {
            for (int i = 0; i < 10; i++) {
              Row row = t.row();
              assertTrue(t.get(tx, t.key().set(i), row));
              assertEquals(200, row.getLong(NUMBER));
            }
          });
      assertEquals(
          0, db.stats().abortsByCause().values().stream().mapToLong(Long::longValue).sum());
      assertTrue(db.verify().ok());
    }
  }

  @Test
  void worksWithALog() {
    SimDisk disk = new SimDisk(1);
    Options options = options().durability(Durability.SYNC);
    Database db = SimDatabase.open(new SimStorage(disk), options);
    RowTable t = db.table(SPEC);
    for (int i = 0; i < 300; i++) {
      int id = i;
      db.run(tx -> t.insert(tx, t.key().set(id), t.row().setLong(NUMBER, id)));
    }
    SimDatabase.abandon(db);
    try (Database again = SimDatabase.open(new SimStorage(disk), options)) {
      RowTable found = again.table(SPEC);
      assertEquals(300, found.count());
      assertTrue(again.verify().ok());
    }
  }
}
