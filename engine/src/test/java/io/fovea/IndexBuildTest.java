package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Protocol;
import io.fovea.error.DuplicateKeyException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.OperationInterruptedException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.index.IndexStage;
import io.fovea.io.Storage;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.TableSpec;
import io.fovea.support.SimDisk;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Indexes are built and dropped while other threads change the table. */
@Tag("slow")
@Timeout(300)
class IndexBuildTest extends IndexBuilds {
  @Test
  void othersContinueDuringABuild() throws Exception {
    try (Database db = open(new SimDisk(1), SMALL)) {
      RowTable t = db.table(PLAIN);
      Table<byte[], byte[]> other = db.table(OTHER).bytes();
      put(db, t, 0, 1000);
      Held held = new Held();
      TableSpec with = PLAIN.with(held.spec(700));
      Builder builder = held.start(() -> db.table(with));
      // The build is suspended midway. Everything else continues, in this table and in others.
      Row row = t.row();
      for (long i = 0; i < 100; i++) {
        long k = i * 9;
        db.run(tx -> t.put(tx, t.key().set(k), t.row().setLong(V, -k).setLong(U, 5000 + k)));
        db.run(tx -> assertTrue(t.get(tx, t.key().set(k), row)));
        db.run(tx -> t.delete(tx, t.key().set(k + 1)));
        db.run(tx -> t.put(tx, t.key().set(k + 100_000), t.row().setLong(V, 1).setLong(U, k)));
        db.run(
            tx -> {
              Row own = t.row();
              if (t.getForUpdate(tx, t.key().set(k + 2), own)) {
                t.update(tx, own.setLong(V, 77));
              }
            });
        db.run(tx -> other.put(tx, new byte[] {(byte) k}, new byte[1]));
      }
      db.table(TableSpec.bytes("new", 10));
      assertTrue(db.dropTable("new"));
      assertTrue(builder.isAlive());
      assertThrows(IllegalArgumentException.class, () -> t.index("computed"));
      held.go.countDown();
      builder.done();
      assertEquals(1, db.table(with).core().readable().size());
      verify(db);
      awaitNoDrops(db);
    }
  }

  /**
   * A build waits for transactions that may not know of the index, which is invisible until then.
   */
  @ParameterizedTest
  @EnumSource(Protocol.class)
  void laterTransactionsSeeTheIndex(Protocol protocol) throws Exception {
    try (Database db = Database.inMemory(MEMORY.experiments(exp -> exp.protocol(protocol)))) {
      RowTable t = db.table(PLAIN);
      put(db, t, 0, 300);
      TableSpec with = PLAIN.with(BY_V);
      Transaction open = db.begin();
      t.put(open, t.key().set(1000L), t.row().setLong(V, 3).setLong(U, 1000));
      Builder builder = new Builder(() -> db.table(with));
      builder.start();
      while (t.core().indexes().length == 0) {
        Thread.sleep(1);
      }
      // This change predates the index: its transaction must end first, whatever the builder does.
      t.put(open, t.key().set(1001L), t.row().setLong(V, 4).setLong(U, 1001));
      assertNull(t.core().index("by_v"));
      assertTrue(builder.isAlive());
      open.commit();
      builder.done();
      verify(db);
      RowIndex i = db.table(with).index("by_v");
      assertEquals(302, entries(db, i));
    }
  }

  /** A transaction begun before the last entry was created may read a state without it. */
  @ParameterizedTest
  @EnumSource(Protocol.class)
  void partialIndexesAreInvisible(Protocol protocol) throws Exception {
    try (Database db = Database.inMemory(MEMORY.experiments(exp -> exp.protocol(protocol)))) {
      RowTable t = db.table(PLAIN);
      put(db, t, 0, 300);
      Held held = new Held();
      TableSpec with = PLAIN.with(held.spec(20));
      Builder builder = held.start(() -> db.table(with));
      try (Transaction open = db.begin(TxOptions.forReading())) {
        held.go.countDown();
        for (int i = 0; i < 50 && t.core().index("computed") == null; i++) {
          Thread.sleep(1);
        }
        if (t.core().index("computed") != null) {
          RowIndex index = db.table(with).index("computed");
          try (RowCursor c = index.scan(open, Range.all(), ScanOrder.ASCENDING)) {
            int n = 0;
            while (c.next()) {
              n++;
            }
            assertEquals(300, n);
          }
        }
        open.commit();
      }
      builder.done();
      verify(db);
    }
  }

  /** A transaction that does not know of the index overwrites a record of one that does. */
  @Test
  void olderTransactionsOverwriteIndexedRecords() throws Exception {
    try (Database db = Database.inMemory(MEMORY)) {
      RowTable t = db.table(PLAIN);
      put(db, t, 0, 100);
      CountDownLatch begun = new CountDownLatch(1);
      CountDownLatch go = new CountDownLatch(1);
      Builder old =
          new Builder(
              () -> {
                try (Transaction tx = db.begin()) {
                  t.put(tx, t.key().set(7L), t.row().setLong(V, 3).setLong(U, 7));
                  begun.countDown();
                  awaitQuietly(go);
                  tx.commit();
                }
              });
      old.start();
      begun.await();
      Builder builder = new Builder(() -> db.table(PLAIN.with(BY_V)));
      builder.start();
      while (t.core().indexes().length == 0) {
        Thread.sleep(1);
      }
      for (int i = 0; i < 50 && t.core().indexes()[0].stage == IndexStage.DELETE_ONLY; i++) {
        Thread.sleep(1);
      }
      db.run(tx -> t.put(tx, t.key().set(7L), t.row().setLong(V, 99).setLong(U, 7)));
      go.countDown();
      old.done();
      builder.done();
      verify(db);
    }
  }

  @ParameterizedTest
  @EnumSource(Protocol.class)
  void duringWrites(Protocol protocol) throws Exception {
    duringWrites(protocol, false);
  }

  /** The same with entries created by transactions. */
  @ParameterizedTest
  @EnumSource(Protocol.class)
  void duringWritesByTransactions(Protocol protocol) throws Exception {
    duringWrites(protocol, true);
  }

  private static void duringWrites(Protocol protocol, boolean crowded) throws Exception {
    long seed = 42;
    try (Database db =
        Database.inMemory(
            MEMORY
                .experiments(exp -> exp.protocol(protocol))
                .transactions(txs -> txs.maxActive(8)))) {
      RowTable t = db.table(PLAIN);
      put(db, t, 0, 400);
      AtomicBoolean end = new AtomicBoolean();
      AtomicLong changes = new AtomicLong();
      List<Builder> writers = new ArrayList<>();
      for (int w = 0; w < 3; w++) {
        Random random = new Random(seed + w);
        Builder writer = new Builder(() -> write(db, random, end, changes));
        writer.start();
        writers.add(writer);
      }
      try {
        for (int round = 0; round < 6; round++) {
          boolean second = round % 2 == 1;
          Crowd crowd = crowded ? new Crowd(db) : null;
          try {
            db.table(PLAIN.with(second ? BY_U : BY_V));
          } catch (DuplicateKeyException e) {
            assertTrue(second && e.getMessage().contains("by_u"), e::getMessage);
            assertNull(t.core().index("by_u"));
          } finally {
            if (crowd != null) {
              crowd.close();
            }
          }
          verify(db);
          for (int i = 0; crowded && i < Storage.LOADS; i++) {
            assertTrue(db.dropTable("crowd" + i));
          }
          db.dropIndex("t", second ? "by_u" : "by_v");
          verify(db);
        }
        // Duplicates are removed, so that at least one build succeeds.
        end.set(true);
        for (Builder writer : writers) {
          writer.done();
        }
        makeUnique(db, t);
        db.table(PLAIN.with(BY_U));
        verify(db);
      } finally {
        end.set(true);
      }
      assertTrue(changes.get() > 0);
      awaitNoDrops(db);
    }
  }

  @Test
  void interruptedAnywhere() throws Exception {
    try (Database db = open(new SimDisk(1), SMALL)) {
      RowTable t = db.table(PLAIN);
      put(db, t, 0, 700);
      long pages = pagesInUse(db);
      int points = 0;
      for (int at : new int[] {0, 1, 2, 64, 127, 128, 129, 500, 699, 700}) {
        AtomicInteger seen = new AtomicInteger();
        IndexSpec spec =
            IndexSpec.extracted(
                "computed",
                KeySpec.of(FieldType.INT64),
                false,
                (key, row, out) -> {
                  if (seen.incrementAndGet() == at) {
                    Thread.currentThread().interrupt();
                  }
                  out.set(row.getLong(V));
                  return true;
                });
        if (at == 0) {
          Thread.currentThread().interrupt();
        }
        assertThrows(OperationInterruptedException.class, () -> db.table(PLAIN.with(spec)));
        assertTrue(Thread.interrupted(), "the interrupt flag is preserved");
        points++;
        awaitNoDrops(db);
        assertEquals(0, t.core().indexes().length);
        assertEquals(pages, pagesInUse(db));
        verify(db);
      }
      assertEquals(10, points);
      db.table(PLAIN.with(BY_V));
      verify(db);
    }
  }

  @Test
  void interruptedWhileItWaits() throws Exception {
    try (Database db = Database.inMemory(MEMORY)) {
      RowTable t = db.table(PLAIN.with(BY_V));
      put(db, t, 0, 100);
      Transaction open = db.begin();
      RowIndex index = t.index("by_v");
      for (boolean build : new boolean[] {true, false}) {
        Builder builder =
            new Builder(
                () -> {
                  if (build) {
                    db.table(PLAIN.with(BY_V).with(BY_U));
                  } else {
                    db.dropIndex("t", "by_v");
                  }
                });
        builder.start();
        while (build ? t.core().indexes().length < 2 : t.core().index("by_v") != null) {
          Thread.sleep(1);
        }
        builder.interrupt();
        builder.join();
        assertTrue(
            builder.failure.get() instanceof OperationInterruptedException,
            () -> "" + builder.failure.get());
      }
      // The index that was not dropped is used as before, through the old handle.
      assertTrue(index.get(open, index.key().set(3L), t.row()));
      open.commit();
      put(db, t, 100, 200);
      awaitNoDrops(db);
      assertEquals(1, t.core().indexes().length);
      verify(db);
    }
  }

  @Test
  void theTableIsDroppedMeanwhile() throws Exception {
    try (Database db = open(new SimDisk(1), SMALL)) {
      db.table(OTHER);
      long pages = pagesInUse(db);
      RowTable t = db.table(PLAIN);
      put(db, t, 0, 700);
      Held held = new Held();
      Builder builder = held.start(() -> db.table(PLAIN.with(held.spec(300))));
      Builder dropper = new Builder(() -> assertTrue(db.dropTable("t")));
      dropper.start();
      while (!t.core().isDropPending()) {
        Thread.sleep(1);
      }
      held.go.countDown();
      dropper.done();
      builder.join();
      assertTrue(
          builder.failure.get() instanceof InvalidUseException, () -> "" + builder.failure.get());
      awaitNoDrops(db);
      assertEquals(pages, pagesInUse(db));
      verify(db);
    }
  }

  @Test
  void notInATransaction() {
    try (Database db = Database.inMemory(MEMORY)) {
      db.table(PLAIN);
      db.run(
          tx -> {
            assertThrows(InvalidUseException.class, () -> db.table(PLAIN.with(BY_V)));
            assertThrows(InvalidUseException.class, () -> db.dropTable("t"));
          });
      verify(db);
    }
  }

  /** Transactions that exceed their time limit are not mistaken for conflicts. */
  @Test
  void timeLimitsOfTransactionsDoNotEndABuild() {
    try (Database db =
        Database.inMemory(MEMORY.transactions(txs -> txs.timeout(Duration.ofMillis(1))))) {
      RowTable t = db.table(PLAIN);
      for (long k = 0; k < 300; k++) {
        long own = k;
        for (boolean done = false; !done; ) {
          try {
            db.run(tx -> t.put(tx, t.key().set(own), t.row().setLong(V, 1).setLong(U, own)));
            done = true;
          } catch (TransactionAbortedException e) {
          }
        }
      }
      db.table(PLAIN.with(BY_V));
      verify(db);
    }
  }
}
