package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.catalog.DeferredDrops;
import io.fovea.error.StorageException;
import io.fovea.memory.Waits;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import io.fovea.support.SetClock;
import io.fovea.support.SimCrash;
import io.fovea.support.SimDisk;
import io.fovea.support.SimStorage;
import io.fovea.support.ThreadStarts;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Faults of the engine's threads: for each n, the n-th start fails, or one iteration of a thread
 * does. Every operation ends, either normally or with an error after which a retry succeeds.
 */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class EngineThreadsTest {
  private static final Layout.Definition B = Layout.define();
  private static final Field AT = B.int64("at");
  private static final TableSpec EVENTS =
      TableSpec.of("events", KeySpec.of(FieldType.INT32), B.build())
          .with(IndexSpec.on("by_time", AT))
          .expireAfter(AT, Duration.ofMillis(100));
  private static final TableSpec PLAIN = TableSpec.bytes("plain", 40);
  private static final TableSpec DOOMED = TableSpec.bytes("doomed", 40);

  private static final int ROWS = 40;
  private static final int RECORDS = 600;
  private static final int STARTS_MAX = 100;

  /** Identifies the threads of a test; the threads that they start inherit it. */
  private final ThreadGroup group = new ThreadGroup("EngineThreadsTest");

  private final SetClock clock = new SetClock(1_000);
  private final AtomicInteger errors = new AtomicInteger();

  private Options options() {
    return Options.defaults()
        .bufferBytes(4 << 20)
        .memory(mem -> mem.timestampBytes(1 << 20))
        .expiry(e -> e.clock(clock).sweepInterval(Duration.ofMillis(1)))
        .transactions(txs -> txs.maxActive(4))
        .snapshots(s -> s.memoryBytes(256 << 10).fileBytes(8 << 20))
        .log(
            log ->
                log.bufferBytes(64 << 10)
                    .segmentBytes(64 << 10)
                    .maxBytes(256 << 10)
                    .checkpointInterval(Duration.ZERO));
  }

  private boolean own() {
    return Thread.currentThread().getThreadGroup() == group;
  }

  private void inGroup(Runnable work) throws InterruptedException {
    AtomicReference<@Nullable Throwable> thrown = new AtomicReference<>();
    Thread thread =
        new Thread(
            group,
            () -> {
              try {
                work.run();
              } catch (Throwable t) {
                thrown.set(t);
              }
            },
            "engine-threads");
    thread.start();
    thread.join();
    if (thrown.get() != null) {
      throw new AssertionError(thrown.get());
    }
  }

  /** Retries once after an error of the JVM, which a failed start throws. */
  private <T> T retrying(Supplier<T> work) {
    try {
      return work.get();
    } catch (OutOfMemoryError | StorageException e) {
      if (e instanceof StorageException && !(e.getCause() instanceof OutOfMemoryError)) {
        throw e;
      }
      errors.incrementAndGet();
      return work.get();
    }
  }

  private void retrying(Runnable work) {
    retrying(
        () -> {
          work.run();
          return 0;
        });
  }

  private static byte[] bytes(int i) {
    return ByteBuffer.allocate(4).putInt(i).array();
  }

  private static void awaits(String what, BooleanSupplier condition) {
    for (int i = 0; !condition.getAsBoolean(); i++) {
      assertTrue(i < 20_000, what);
      try {
        Thread.sleep(1);
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
    }
  }

  private void fill(Database db, TableSpec spec, int records) {
    Table<byte[], byte[]> t = retrying(() -> db.table(spec)).bytes();
    for (int i = 0; i < records; i += 20) {
      int from = i;
      retrying(
          () ->
              db.run(
                  tx -> {
                    for (int k = from; k < from + 20; k++) {
                      t.put(tx, bytes(k), new byte[400]);
                    }
                  }));
    }
  }

  /** Everything that needs threads, with several times as many changes as the log may hold. */
  private void everything(SimDisk disk, boolean allRun) {
    clock.set(1_000);
    try (Database db = retrying(() -> Database.open(new SimStorage(disk), options()))) {
      RowTable events = retrying(() -> db.table(EVENTS));
      retrying(
          () ->
              db.run(
                  tx -> {
                    for (int i = 0; i < ROWS; i++) {
                      events.put(tx, events.key().set(i), events.row().setLong(AT, 900 + i));
                    }
                  }));
      fill(db, PLAIN, RECORDS);
      fill(db, DOOMED, RECORDS);
      try (Database then = retrying(db::snapshot)) {
        fill(db, PLAIN, RECORDS);
        assertEquals(RECORDS, then.table(PLAIN).count());
      }
      db.checkpoint();
      clock.set(5_000);
      drop(db);
      fill(db, PLAIN, RECORDS);
      db.checkpoint();
      if (allRun) {
        awaits("expired rows are swept", () -> db.stats().expiredRows().swept() >= ROWS);
        awaits("pages are free", () -> drops(db) == 0);
      }
      assertEquals(DatabaseStats.Health.OK, db.stats().health());
    }
  }

  private void drop(Database db) {
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch dropped = new CountDownLatch(1);
    Thread other =
        new Thread(
            () -> {
              try (Transaction tx = db.begin()) {
                begun.countDown();
                awaitUninterruptibly(dropped);
                tx.rollback();
              }
            });
    other.start();
    awaitUninterruptibly(begun);
    try {
      retrying(() -> db.dropTable("doomed"));
    } finally {
      dropped.countDown();
      Waits.join(other);
    }
  }

  private static void awaitUninterruptibly(CountDownLatch latch) {
    awaits("the other thread", () -> latch.getCount() == 0);
  }

  private static int drops(Database db) {
    AtomicInteger n = new AtomicInteger();
    DeferredDrops.forEach(db.store().catalog(), (id, root, from, to) -> n.incrementAndGet());
    return n.get();
  }

  /** Crashes, recovers (with new threads) and verifies everything. */
  private void after(SimDisk disk) {
    SimDisk left;
    Database db = retrying(() -> Database.open(new SimStorage(disk), options()));
    fill(db, PLAIN, RECORDS + 40);
    db.checkpoint();
    fill(db, PLAIN, RECORDS + 40);
    left = disk.crash(SimCrash.KEEP_ALL);
    db.abandon();
    try (Database then = retrying(() -> Database.open(new SimStorage(left), options()))) {
      assertEquals(RECORDS + 40, then.table(PLAIN).count());
      VerifyReport report = then.verify();
      assertTrue(report.ok(), report::toString);
    }
  }

  @Test
  void everyStartFailsOnce() throws InterruptedException {
    int n = 1;
    for (boolean some = true; some; n++) {
      assertTrue(n < STARTS_MAX, "too many starts");
      int nth = n;
      try (ThreadStarts starts = ThreadStarts.failing(name -> own(), start -> start == nth)) {
        SimDisk disk = new SimDisk(n);
        errors.set(0);
        inGroup(
            () -> {
              everything(disk, false);
              after(disk);
            });
        assertTrue(errors.get() <= 1, "the error was repeated");
        some = starts.failed() > 0;
      }
    }
    assertTrue(n > 8, n + " starts");
  }

  /** The n-th iteration of a thread fails, for some n. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "fovea-checkpoint",
        "fovea-reclaim",
        "fovea-sweep",
        "fovea-copies",
        "fovea-writer"
      })
  void iterationFails(String thread) throws InterruptedException {
    Predicate<String> which = name -> own() && name.startsWith(thread);
    for (int n = 1; n <= 2; n++) {
      int nth = n;
      try (ThreadStarts turns = ThreadStarts.failingTurns(which, turn -> turn <= nth)) {
        SimDisk disk = new SimDisk(n);
        errors.set(0);
        inGroup(
            () -> {
              everything(disk, true);
              after(disk);
            });
        assertEquals(0, errors.get(), "no caller observes a thread's error");
        assertTrue(turns.failed() > 0, "no iteration failed");
      }
    }
  }
}
