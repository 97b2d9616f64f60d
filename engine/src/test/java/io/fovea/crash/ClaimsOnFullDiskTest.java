package io.fovea.crash;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Cursor;
import io.fovea.Database;
import io.fovea.LoadOptions;
import io.fovea.Options;
import io.fovea.ScanOrder;
import io.fovea.SimDatabase;
import io.fovea.Table;
import io.fovea.Transaction;
import io.fovea.VerifyReport;
import io.fovea.config.Durability;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.DurabilityLostException;
import io.fovea.error.FoveaException;
import io.fovea.error.StorageFullException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import io.fovea.support.SimDisk;
import io.fovea.support.SimStorage;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Transactions that write much log after their commit, with a log limited to n segments. If the
 * space needed is known in advance, the transaction is refused unless there is space for all of it
 * and for a checkpoint, a close and the next opening. Otherwise it waits, and a close ends the
 * wait.
 */
@Timeout(value = 300, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ClaimsOnFullDiskTest {
  private static final TableSpec SPEC = TableSpec.bytes("t", 8);
  private static final TableSpec OTHER = TableSpec.bytes("u", 8);
  private static final int SEGMENT = 64 << 10;

  /** The transaction, its number of records, and the largest number of segments to try. */
  private enum Deed {
    /** Deletes an interval as a whole; its pages become free. */
    RANGE(12_000, 900, 32, 2) {
      @Override
      void in(Transaction tx, Table<byte[], byte[]> t) {
        t.deleteRange(tx, key(1), key(records - 1));
      }

      @Override
      int left() {
        return 2;
      }
    },

    /** Deletes long values; their pages become free. */
    LONG(3, 900_000, 16, 1) {
      @Override
      void in(Transaction tx, Table<byte[], byte[]> t) {
        for (int i = 0; i < records; i++) {
          t.delete(tx, key(i));
        }
      }

      @Override
      int left() {
        return 0;
      }
    };

    final int records;
    final int bytes;
    final int segmentsMax;
    final int step;

    Deed(int records, int bytes, int segmentsMax, int step) {
      this.records = records;
      this.bytes = bytes;
      this.segmentsMax = segmentsMax;
      this.step = step;
    }

    abstract void in(Transaction tx, Table<byte[], byte[]> t);

    /** Returns the number of records afterwards. */
    abstract int left();
  }

  private static Options options() {
    return Session.small()
        .durability(Durability.ASYNC)
        .bufferBytes(8 << 20)
        .memory(mem -> mem.timestampBytes(8 << 20))
        .log(
            log ->
                log.bufferBytes(64 << 10)
                    .segmentBytes(SEGMENT)
                    .maxBytes(8 << 20)
                    .checkpointInterval(Duration.ZERO));
  }

  private static byte[] key(int i) {
    return ByteBuffer.allocate(8).putLong(i).array();
  }

  private static int count(Database db) {
    Table<byte[], byte[]> t = db.table(SPEC).bytes();
    return db.read(
        tx -> {
          int n = 0;
          try (Cursor<byte[], byte[]> c = t.scan(tx, null, null, ScanOrder.ASCENDING)) {
            while (c.next()) {
              n++;
            }
          }
          return n;
        });
  }

  private static boolean tried(Runnable what) {
    try {
      what.run();
      return true;
    } catch (StorageFullException | DatabaseClosedException | DurabilityLostException e) {
      return false;
    }
  }

  private static void open(SimDisk disk, Consumer<Database> use) {
    try (Database db = SimDatabase.open(new SimStorage(disk), options())) {
      use.accept(db);
    }
  }

  private static void fill(Database db, Deed deed) {
    Table<byte[], byte[]> t = db.table(SPEC).bytes();
    t.load(
        LoadOptions.defaults().ascending(true),
        into -> {
          for (int i = 0; i < deed.records; i++) {
            into.add(key(i), new byte[deed.bytes]);
          }
        });
    db.checkpoint();
  }

  /** Returns whether the transaction was done. */
  private static boolean with(Deed deed, int segments) {
    SimDisk disk = new SimDisk(3);
    boolean[] done = new boolean[1];
    open(disk, db -> fill(db, deed));
    String name = SimStorage.NAME + ".log";
    boolean closed =
        tried(
            () ->
                open(
                    disk,
                    db -> {
                      Table<byte[], byte[]> t = db.table(SPEC).bytes();
                      disk.capacity(name, disk.allocated(name) + (long) segments * SEGMENT);
                      done[0] = tried(() -> db.run(tx -> deed.in(tx, t)));
                      boolean checked = tried(db::checkpoint);
                      assertTrue(checked || !done[0], "no space for a checkpoint");
                      assertEquals(done[0] ? deed.left() : deed.records, count(db));
                    }));
    assertTrue(closed || !done[0], "no space for a close");
    tried(() -> open(disk, db -> assertEquals(done[0] ? deed.left() : deed.records, count(db))));
    disk.capacity(name, Long.MAX_VALUE);
    open(
        disk,
        db -> {
          assertEquals(done[0] ? deed.left() : deed.records, count(db));
          VerifyReport report = db.verify();
          assertTrue(report.ok(), () -> segments + " segments: " + report);
        });
    return done[0];
  }

  @ParameterizedTest
  @EnumSource(Deed.class)
  void acceptedTransactionsHaveSpace(Deed deed) {
    int refused = 0;
    int done = 0;
    for (int segments = 0; segments <= deed.segmentsMax; segments += deed.step) {
      if (with(deed, segments)) {
        done++;
      } else {
        refused++;
      }
    }
    assertTrue(refused > 0, "never refused");
    assertTrue(done > 0, "refused with " + deed.segmentsMax + " segments");
  }

  /**
   * Splits log page images, so the commit waits for space with its record in the log. A checkpoint
   * still ends while other transactions begin and are refused. A close ends the commit, and any
   * thread that creates a table and waits for the log.
   */
  @Test
  void closeEndsCommitsThatWait() {
    int inDoubt = 0;
    for (int segments = 0; segments <= 160; segments += 20) {
      SimDisk disk = new SimDisk(segments);
      String name = SimStorage.NAME + ".log";
      Attempt attempt = new Attempt();
      List<Thread> others = new ArrayList<>();
      int more = segments;
      tried(
          () -> {
            Options options =
                options().transactions(txs -> txs.closeTimeout(Duration.ZERO).maxActive(8));
            try (Database db = SimDatabase.open(new SimStorage(disk), options)) {
              Table<byte[], byte[]> t = db.table(SPEC).bytes();
              Table<byte[], byte[]> u = db.table(OTHER).bytes();
              db.checkpoint();
              disk.capacity(name, disk.allocated(name) + (long) more * SEGMENT);
              attempt.start(db, t);
              others.add(inBackground(i -> db.run(tx -> u.put(tx, key(i), new byte[100]))));
              others.add(inBackground(i -> db.run(tx -> u.put(tx, key(-i), new byte[100]))));
              others.add(inBackground(i -> db.table(TableSpec.bytes("made " + i, 8))));
              attempt.join(200);
              tried(db::checkpoint);
            }
          });
      attempt.join(0);
      others.forEach(thread -> join(thread, 0));
      inDoubt += attempt.inDoubt ? 1 : 0;
      disk.capacity(name, Long.MAX_VALUE);
      open(
          disk,
          db -> {
            int n = count(db);
            boolean may = attempt.done ? n == Attempt.RECORDS || n == 0 : n == 0;
            assertTrue(
                may || attempt.inDoubt && n == Attempt.RECORDS,
                () -> more + " segments, " + n + " records: " + text(attempt.refusal));
            VerifyReport report = db.verify();
            assertTrue(report.ok(), () -> more + " segments, " + n + " records: " + report);
          });
    }
    assertTrue(inDoubt > 0, "no commit had to wait");
  }

  /**
   * A load holds back the redo point. The log fills up when some trees of a new table exist but are
   * not in the catalog yet. Their pages are freed, immediately or by the next opening.
   */
  @Test
  void failedTableCreationLeaksNoPage() {
    Layout.Definition definition = Layout.define();
    Field field = definition.int64("f");
    Layout layout = definition.build();
    int refused = 0;
    for (int filled = 0; filled < 16; filled++) {
      SimDisk disk = new SimDisk(filled);
      String name = SimStorage.NAME + ".log";
      CountDownLatch begun = new CountDownLatch(1);
      CountDownLatch over = new CountDownLatch(1);
      Thread loader = null;
      Thread maker = null;
      boolean closed = false;
      Options options = options().transactions(txs -> txs.closeTimeout(Duration.ZERO));
      Database db = SimDatabase.open(new SimStorage(disk), options);
      try (db) {
        Table<byte[], byte[]> t = db.table(SPEC).bytes();
        Table<byte[], byte[]> u = db.table(OTHER).bytes();
        db.checkpoint();
        loader =
            Thread.ofPlatform()
                .start(
                    () ->
                        tried(
                            () ->
                                t.load(
                                    into -> {
                                      into.add(key(1), new byte[10]);
                                      begun.countDown();
                                      await(over);
                                    })));
        await(begun);
        disk.capacity(name, disk.allocated(name) + SEGMENT);
        for (int i = 0; i < filled; i++) {
          int key = i;
          tried(() -> db.run(tx -> u.put(tx, key(key), new byte[900])));
        }
        maker =
            inBackground(
                i -> {
                  TableSpec spec = TableSpec.of("made " + i, KeySpec.of(FieldType.INT64), layout);
                  for (int index = 0; index < 6; index++) {
                    spec = spec.with(IndexSpec.on("by " + index, field));
                  }
                  db.table(spec);
                });
        // It continues until the log is full; a slow machine only changes how far it gets.
        join(maker, 300);
        refused += maker.isAlive() ? 1 : 0;
        closed = true;
      } catch (StorageFullException | DatabaseClosedException | DurabilityLostException e) {
        assertTrue(closed, () -> text(e));
      } finally {
        over.countDown();
      }
      join(maker, 0);
      join(loader, 0);
      disk.capacity(name, Long.MAX_VALUE);
      int more = filled;
      open(
          disk,
          again -> {
            VerifyReport report = again.verify();
            assertTrue(report.ok(), () -> more + " records before: " + report);
          });
    }
    assertTrue(refused > 0, "no table had to wait");
  }

  /** Puts many records in one transaction, in its own thread. */
  private static final class Attempt {
    static final int RECORDS = 3_000;

    private Thread thread = new Thread(() -> {});
    volatile boolean done;
    volatile boolean inDoubt;
    volatile @Nullable FoveaException refusal;

    /** Starts it; returns when it has ended or has made no progress for a while. */
    void start(Database db, Table<byte[], byte[]> t) {
      thread = new Thread(() -> run(db, t));
      thread.start();
      join(1000);
    }

    private void run(Database db, Table<byte[], byte[]> t) {
      try {
        db.run(
            tx -> {
              for (int i = 0; i < RECORDS; i++) {
                t.put(tx, key(i), new byte[900]);
              }
            });
        done = true;
      } catch (DurabilityLostException e) {
        inDoubt = e.mayHaveCommitted();
        refusal = e;
      } catch (StorageFullException | DatabaseClosedException e) {
        refusal = e; // not committed
      }
    }

    void join(long millis) {
      ClaimsOnFullDiskTest.join(thread, millis);
    }
  }

  /** Starts a thread that repeats an action, refused or not, until the database is closed. */
  private static Thread inBackground(IntConsumer what) {
    Thread thread =
        new Thread(
            () -> {
              for (int i = 1; ; i++) {
                try {
                  what.accept(i);
                } catch (StorageFullException | TransactionAbortedException e) {
                  Thread.yield();
                } catch (DatabaseClosedException | DurabilityLostException e) {
                  return;
                }
              }
            });
    thread.start();
    return thread;
  }

  private static void await(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static String text(@Nullable FoveaException e) {
    StringWriter text = new StringWriter();
    if (e != null) {
      e.printStackTrace(new PrintWriter(text));
    }
    return text.toString();
  }

  private static void join(Thread thread, long millis) {
    try {
      thread.join(millis);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }
}
