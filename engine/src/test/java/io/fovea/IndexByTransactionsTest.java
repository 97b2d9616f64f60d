package io.fovea;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.catalog.IndexBuild;
import io.fovea.error.DuplicateKeyException;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.TableSpec;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Indexes built by transactions because too many others are being built. */
@Tag("slow")
@Timeout(300)
class IndexByTransactionsTest extends IndexBuilds {
  @Test
  void aPieceIsBoundedWhateverTheSize() throws Exception {
    try (Database db = Database.inMemory(MEMORY)) {
      RowTable t = db.table(PLAIN);
      put(db, t, 0, 6000);
      AtomicInteger calls = new AtomicInteger();
      AtomicBoolean late = new AtomicBoolean();
      Crowd crowd = new Crowd(db);
      long before = db.stats().commits();
      db.table(
          PLAIN.with(
              IndexSpec.extracted(
                  "computed",
                  KeySpec.of(FieldType.INT64),
                  true,
                  (key, row, out) -> {
                    int n = calls.incrementAndGet();
                    long pieces = db.store().engine().stats().commits() - before;
                    late.compareAndSet(false, n > (pieces + 1) * IndexBuild.PIECE_RECORDS);
                    out.set(row.getLong(U));
                    return true;
                  })));
      assertTrue(calls.get() >= 6000);
      assertFalse(late.get(), "more records than fit into the pieces that were committed");
      crowd.close();
      verify(db);
    }
  }

  /** A record that the build has not reached gives up its value, and another record takes it. */
  @Test
  void aUniqueEntryIsRemovedByItsOwnRecordOnly() throws Exception {
    try (Database db = Database.inMemory(MEMORY)) {
      RowTable t = db.table(PLAIN);
      put(db, t, 0, 1000);
      Held held = new Held();
      TableSpec with = PLAIN.with(held.spec(IndexBuild.PIECE_RECORDS + 50, true));
      Crowd crowd = new Crowd(db);
      Builder builder = held.start(() -> db.table(with));
      // The build has passed 3, but not yet 900 and 901.
      db.run(tx -> t.put(tx, t.key().set(3L), t.row().setLong(V, 3).setLong(U, 900)));
      db.run(tx -> t.put(tx, t.key().set(900L), t.row().setLong(V, 3).setLong(U, 77_777)));
      db.run(tx -> t.put(tx, t.key().set(4L), t.row().setLong(V, 3).setLong(U, 901)));
      db.run(tx -> t.delete(tx, t.key().set(901L)));
      held.go.countDown();
      builder.done();
      crowd.close();
      verify(db);
      RowTable opened = db.table(with);
      RowIndex i = opened.index("computed");
      db.run(tx -> assertTrue(i.get(tx, i.key().set(900L), opened.row())));
      db.run(tx -> assertTrue(i.get(tx, i.key().set(901L), opened.row())));
    }
  }

  @Test
  void aWriterIsRefusedADuplicateWhileTheIndexIsBuilt() throws Exception {
    try (Database db = Database.inMemory(MEMORY)) {
      RowTable t = db.table(PLAIN);
      put(db, t, 0, 500);
      Crowd crowd = new Crowd(db);
      CountDownLatch there = new CountDownLatch(1);
      CountDownLatch go = new CountDownLatch(1);
      AtomicReference<Thread> thread = new AtomicReference<>();
      AtomicInteger seen = new AtomicInteger();
      IndexSpec unique =
          IndexSpec.extracted(
              "computed",
              KeySpec.of(FieldType.INT64),
              true,
              (key, row, out) -> {
                if (Thread.currentThread() == thread.get() && seen.incrementAndGet() == 400) {
                  there.countDown();
                  awaitQuietly(go);
                }
                out.set(row.getLong(U));
                return true;
              });
      Builder builder = new Builder(() -> db.table(PLAIN.with(unique)));
      thread.set(builder);
      builder.start();
      there.await();
      DuplicateKeyException e =
          assertThrows(
              DuplicateKeyException.class,
              () ->
                  db.run(tx -> t.put(tx, t.key().set(9999L), t.row().setLong(V, 1).setLong(U, 3))));
      assertTrue(e.getMessage().contains("being built"), e::getMessage);
      assertTrue(e.getMessage().contains("(3)"), e::getMessage);
      // A duplicate that the build will find: it has not reached record 450 yet.
      db.run(tx -> t.put(tx, t.key().set(9999L), t.row().setLong(V, 1).setLong(U, 450)));
      go.countDown();
      builder.join();
      assertTrue(
          builder.failure.get() instanceof DuplicateKeyException, () -> "" + builder.failure.get());
      crowd.close();
      verify(db);
      awaitNoDrops(db);
      db.run(tx -> t.delete(tx, t.key().set(9999L)));
      db.table(PLAIN.with(BY_U));
      verify(db);
    }
  }

  /** The build needs log only for its current piece: the redo point advances in the meantime. */
  @Test
  void theRedoPointAdvances() throws Exception {
    long max = 1 << 20;
    long[] log = logOf(max, 40_000, BY_U, true);
    assertTrue(log[0] > 3 * max, () -> log[0] + " bytes of log");
    assertTrue(log[1] <= 2 * max, () -> log[1] + " bytes from the redo point to the end");
  }
}
