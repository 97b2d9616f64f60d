package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Duplicates;
import io.fovea.config.Durability;
import io.fovea.error.AbortCause;
import io.fovea.error.FoveaException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.SequenceSpec;
import io.fovea.schema.TableSpec;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * The log is full while a load or index build holds back the redo point: writers wait for log
 * space, and no other thread waits for them.
 */
@Timeout(600)
class FullLogTest {
  private static final TableSpec WRITTEN = TableSpec.bytes("written", 20);
  private static final TableSpec LOADED = TableSpec.bytes("loaded", 20);
  private static final int ROUNDS = Integer.getInteger("logroom.rounds", 15);

  @TempDir Path folder;

  private Database open() {
    return Database.open(
        folder.resolve("d"),
        Options.defaults()
            .bufferBytes(16 << 20)
            .durability(Durability.ASYNC)
            .transactions(t -> t.closeTimeout(Duration.ZERO))
            .log(l -> l.bufferBytes(256 << 10).segmentBytes(512 << 10).maxBytes(2 << 20)));
  }

  private interface Work {
    void run() throws Exception;
  }

  private static Thread start(Queue<Throwable> failures, AtomicBoolean stop, Work work) {
    return Thread.ofPlatform()
        .start(
            () -> {
              try {
                while (!stop.get()) {
                  work.run();
                }
              } catch (Throwable e) {
                failures.add(e);
                stop.set(true);
              }
            });
  }

  private static void write(Database db, TxOptions how, Table<byte[], byte[]> w, Random r) {
    db.run(
        how,
        tx -> {
          for (int i = 0; i < 10; i++) {
            w.put(tx, ("k" + r.nextInt(3000)).getBytes(), new byte[800]);
          }
        });
  }

  /** Runs writers, catalog transactions, and maintenance that holds back the redo point. */
  private void concurrently(Database db, Work maintenance) throws Exception {
    Table<byte[], byte[]> w = db.table(WRITTEN).bytes();
    Queue<Throwable> failures = new ConcurrentLinkedQueue<>();
    AtomicBoolean stop = new AtomicBoolean();
    List<Thread> threads = new ArrayList<>();
    for (int t = 0; t < 3; t++) {
      Random r = new Random(t);
      threads.add(start(failures, stop, () -> write(db, TxOptions.defaults(), w, r)));
    }
    threads.add(
        start(
            failures,
            stop,
            () ->
                db.run(
                    tx -> {
                      tx.dropTable("d");
                      tx.table(TableSpec.bytes("d", 20)).bytes().put(tx, new byte[1], new byte[9]);
                    })));
    for (int i = 0; i < ROUNDS && !stop.get(); i++) {
      maintenance.run();
    }
    stop.set(true);
    for (Thread t : threads) {
      t.join();
    }
    assertEquals(List.of(), List.copyOf(failures));
    assertTrue(db.verify().ok());
  }

  @Test
  void loadsDuringCatalogChanges() throws Exception {
    try (Database db = open()) {
      Table<byte[], byte[]> l = db.table(LOADED).bytes();
      concurrently(
          db,
          () ->
              l.load(
                  LoadOptions.defaults().duplicates(Duplicates.REPLACE),
                  into -> {
                    for (int k = 0; k < 10_000; k++) {
                      into.add(("k" + k).getBytes(), new byte[100]);
                    }
                  }));
    }
  }

  @Test
  void indexBuildsDuringCatalogChanges() throws Exception {
    Layout.Definition layout = Layout.define();
    Field a = layout.int64("a");
    layout.bytes("p", 100);
    TableSpec rows = TableSpec.of("rows", KeySpec.of(FieldType.INT32), layout.build());
    TableSpec indexed = rows.with(IndexSpec.on("by_a", a));
    try (Database db = open()) {
      RowTable t = db.table(rows);
      t.load(
          into -> {
            for (int k = 0; k < 10_000; k++) {
              into.add(t.key().set(k), t.row().setLong(a, k * 7919L % 1000));
            }
          });
      concurrently(
          db,
          () -> {
            db.table(indexed);
            db.dropIndex("rows", "by_a");
          });
    }
  }

  /** Runs an action while a load holds back the redo point until the test ends it. */
  private void whileLoading(Database db, AtomicReference<Throwable> failure, Work work)
      throws Exception {
    Table<byte[], byte[]> l = db.table(LOADED).bytes();
    CountDownLatch loads = new CountDownLatch(1);
    CountDownLatch end = new CountDownLatch(1);
    Thread load =
        Thread.ofPlatform()
            .name("loader")
            .start(
                () -> {
                  try {
                    l.load(
                        LoadOptions.defaults().ascending(true),
                        into -> {
                          into.add(new byte[] {1}, new byte[10]);
                          loads.countDown();
                          end.await();
                          into.add(new byte[] {2}, new byte[10]);
                        });
                  } catch (Throwable e) {
                    failure.set(e);
                  }
                });
    try {
      loads.await();
      work.run();
    } finally {
      end.countDown();
      load.join();
    }
  }

  private static String lateness(Work work) {
    TransactionAbortedException e =
        assertThrows(
            TransactionAbortedException.class,
            () -> {
              while (true) {
                work.run();
              }
            });
    assertEquals(AbortCause.TIMEOUT, e.abortCause());
    return String.valueOf(e.getMessage());
  }

  @Test
  void theTimeLimitEndsTheWaitAndNamesTheHolder() throws Exception {
    AtomicReference<Throwable> failure = new AtomicReference<>();
    try (Database db = open()) {
      Table<byte[], byte[]> w = db.table(WRITTEN).bytes();
      TxOptions flushUrgent = TxOptions.defaults().timeout(Duration.ofSeconds(2));
      whileLoading(
          db,
          failure,
          () -> {
            Random r = new Random(1);
            String holder = "held up by 'load table loaded', on thread ";
            String message = lateness(() -> write(db, flushUrgent, w, r));
            assertTrue(message.contains("space in the log"), message);
            assertTrue(message.contains(holder), message);
            assertTrue(message.contains("\"loader\" for "), message);
            message = lateness(() -> db.run(flushUrgent, tx -> tx.table(TableSpec.bytes("n", 9))));
            assertTrue(message.contains(holder), message);
            // None of the waiting threads holds the schema lock.
            db.table(TableSpec.bytes("m", 9));
            assertEquals(1, db.sequence(SequenceSpec.of("s")).next());
            try (Database then = db.snapshot()) {
              assertEquals(List.of("loaded", "m", "written"), then.tables());
            }
          });
      assertEquals(null, failure.get());
      write(db, TxOptions.defaults(), w, new Random(2));
      assertTrue(db.verify().ok());
    }
  }

  @Test
  void aCloseEndsTheWait() throws Exception {
    AtomicReference<Throwable> failure = new AtomicReference<>();
    Database db = open();
    Table<byte[], byte[]> w = db.table(WRITTEN).bytes();
    Queue<Throwable> ends = new ConcurrentLinkedQueue<>();
    List<Thread> threads = new ArrayList<>();
    whileLoading(
        db,
        failure,
        () -> {
          AtomicBoolean stop = new AtomicBoolean();
          Random r = new Random(1);
          threads.add(start(ends, stop, () -> write(db, TxOptions.defaults(), w, r)));
          TableSpec n = TableSpec.bytes("n", 9);
          threads.add(
              start(
                  ends,
                  new AtomicBoolean(),
                  () ->
                      db.run(
                          tx -> {
                            tx.dropTable("n");
                            tx.table(n);
                          })));
          while (Objects.requireNonNull(db.store().checkpointStats()).spaceWaits() < 2) {
            Thread.onSpinWait();
          }
          db.close();
          for (Thread t : threads) {
            t.join();
          }
        });
    assertEquals(2, ends.size());
    ends.forEach(e -> assertTrue(e instanceof FoveaException, () -> e.toString()));
    assertNotNull(failure.get());
    try (Database again = open()) {
      assertTrue(again.verify().ok());
    }
  }

  @Test
  void aSourceDoesNotWaitForItsLoad() throws Exception {
    try (Database db = open()) {
      Table<byte[], byte[]> w = db.table(WRITTEN).bytes();
      Table<byte[], byte[]> l = db.table(LOADED).bytes();
      Random r = new Random(1);
      l.load(
          LoadOptions.defaults().ascending(true),
          into -> {
            for (int i = 100; i < 600; i++) {
              into.add(("k" + i).getBytes(), new byte[10]);
              write(db, TxOptions.defaults(), w, r);
            }
          });
      assertEquals(500, l.table().count());
      assertTrue(db.verify().ok());
    }
  }
}
