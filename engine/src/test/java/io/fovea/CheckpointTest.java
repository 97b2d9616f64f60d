package io.fovea;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.buffer.AllocatorRecord;
import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageHeader;
import io.fovea.buffer.TestLatches;
import io.fovea.error.AbortCause;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.DurabilityLostException;
import io.fovea.error.FoveaException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.StorageException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.io.BlockDevice;
import io.fovea.io.Storage;
import io.fovea.schema.TableSpec;
import io.fovea.support.SimDisk;
import io.fovea.support.SimStorage;
import io.fovea.wal.LogSession;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.IntConsumer;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Checkpoints on demand, by log size, and after failures. */
class CheckpointTest {
  private static final Options SMALL =
      Options.defaults()
          .bufferBytes(4 << 20)
          .memory(mem -> mem.timestampBytes(1 << 20))
          .transactions(txs -> txs.maxActive(4))
          .log(
              log ->
                  log.bufferBytes(64 << 10)
                      .segmentBytes(64 << 10)
                      .maxBytes(256 << 10)
                      .checkpointInterval(Duration.ZERO));

  private static final TableSpec SPEC = TableSpec.bytes("t", 40);

  private final AtomicBoolean interrupted = new AtomicBoolean();

  private static byte[] bytes(String s) {
    return s.getBytes(StandardCharsets.UTF_8);
  }

  private static void put(Database db, int from, int to) {
    Table<byte[], byte[]> t = db.table(SPEC).bytes();
    for (int i = from; i < to; i++) {
      byte[] key = bytes("key" + i);
      db.run(tx -> t.put(tx, key, new byte[200]));
    }
  }

  /**
   * The files of a disk.
   *
   * @param before called before each call of a device with the file's suffix and the method's name,
   *     such as {@code ".log write"}; may wait or throw
   */
  private record Intercepting(SimStorage files, Consumer<String> before) implements Storage {
    @Override
    public BlockDevice open(String suffix) {
      BlockDevice device = files.open(suffix);
      return (BlockDevice)
          Proxy.newProxyInstance(
              BlockDevice.class.getClassLoader(),
              new Class<?>[] {BlockDevice.class},
              (proxy, method, arguments) -> {
                before.accept(suffix + " " + method.getName());
                try {
                  return method.invoke(device, arguments);
                } catch (InvocationTargetException e) {
                  throw e.getCause();
                }
              });
    }

    @Override
    public boolean exists(String suffix) {
      return files.exists(suffix);
    }

    @Override
    public void delete(String suffix) {
      files.delete(suffix);
    }

    @Override
    public String name() {
      return files.name();
    }
  }

  private static StorageException eio() {
    return new StorageException("write", "db", -1, 5, "EIO (by the test)");
  }

  /** Holds each write of a superblock until a test lets it succeed or fail. */
  private static final class Held implements Consumer<String> {
    private final SynchronousQueue<Boolean> ends = new SynchronousQueue<>();
    private final AtomicInteger held = new AtomicInteger();
    private volatile boolean on;
    private volatile boolean logFails;

    @Override
    public void accept(String call) {
      if (logFails && call.matches("\\" + Storage.LOG + " (write|submit|run|sync)")) {
        throw eio();
      }
      if (on && call.equals(Storage.DATA + " write")) {
        held.incrementAndGet();
        boolean well;
        try {
          well = ends.take();
        } catch (InterruptedException e) {
          throw new AssertionError(e);
        }
        if (!well) {
          throw eio();
        }
      }
    }

    void await(int n) {
      while (held.get() < n) {
        Thread.onSpinWait();
      }
    }

    void end(boolean well) throws InterruptedException {
      ends.put(well);
    }
  }

  private static void awaitAsleep(Thread thread) {
    while (thread.isAlive()
        && thread.getState() != Thread.State.WAITING
        && thread.getState() != Thread.State.TIMED_WAITING) {
      Thread.onSpinWait();
    }
  }

  private static final class Caller {
    final FutureTask<@Nullable Void> result;
    final Thread thread;

    Caller(Runnable what) {
      result = new FutureTask<>(what, null);
      thread = Thread.ofPlatform().start(result);
    }

    /** Returns the exception of the caller, or null. */
    @Nullable Throwable failure() throws InterruptedException {
      try {
        result.get();
        return null;
      } catch (ExecutionException e) {
        return e.getCause();
      }
    }
  }

  private static List<Caller> callers(Database db) {
    List<Caller> callers = new ArrayList<>();
    for (int i = 0; i < 40; i++) {
      callers.add(new Caller(db::checkpoint));
    }
    callers.forEach(c -> awaitRequest(c.thread));
    return callers;
  }

  /** Returns once the thread waits for its checkpoint rather than for the lock before it. */
  private static void awaitRequest(Thread thread) {
    while (thread.isAlive()
        && Arrays.stream(thread.getStackTrace())
            .noneMatch(f -> f.getClassName().endsWith("ConditionObject"))) {
      Thread.onSpinWait();
    }
  }

  /** Several callers, since the last one to wake up could get another's result. */
  @Test
  void eachCallerGetsTheResultOfItsOwnCheckpoint() throws InterruptedException {
    Held held = new Held();
    Storage files = new Intercepting(new SimStorage(new SimDisk(9)), held);
    try (Database db = Database.open(files, SMALL)) {
      put(db, 0, 20);
      held.on = true;
      Caller zeroth = new Caller(db::checkpoint);
      held.await(1);
      List<Caller> first = callers(db);
      held.end(true);
      held.await(2);
      List<Caller> second = callers(db);
      held.end(false);
      held.await(3);
      List<Caller> third = callers(db);
      held.end(true);
      held.await(4);
      held.on = false;
      held.end(false);
      assertNull(zeroth.failure());
      for (Caller c : first) {
        assertInstanceOf(StorageException.class, c.failure());
      }
      for (Caller c : second) {
        assertNull(c.failure());
      }
      for (Caller c : third) {
        assertInstanceOf(StorageException.class, c.failure());
      }
      db.checkpoint();
      assertEquals(2, db.stats().checkpoints().failed());
    }
  }

  /** Starts a thread that commits until the log is full, while the only checkpoint is held. */
  private Caller writer(Database db, Held held) {
    return writer(db, held, i -> put(db, i, i + 1));
  }

  private Caller writer(Database db, Held held, IntConsumer put) {
    IntStream.range(0, 20).forEach(put);
    held.on = true;
    Caller writer =
        new Caller(
            () -> {
              IntStream.range(20, 5_000).forEach(put);
              interrupted.set(Thread.currentThread().isInterrupted());
            });
    held.await(1);
    while (db.stats().checkpoints().commitWaits() == 0) {
      Thread.onSpinWait();
    }
    awaitAsleep(writer.thread);
    return writer;
  }

  private static void let(Held held) throws InterruptedException {
    held.on = false;
    held.end(true);
  }

  @Test
  void aCheckpointWakesWaitersForLogSpace() throws InterruptedException {
    Held held = new Held();
    Storage files = new Intercepting(new SimStorage(new SimDisk(10)), held);
    try (Database db = Database.open(files, SMALL)) {
      Caller writer = writer(db, held);
      let(held);
      assertNull(writer.failure());
    }
  }

  @Test
  void anInterruptDoesNotEndTheWaitForLogSpace() throws InterruptedException {
    Held held = new Held();
    Storage files = new Intercepting(new SimStorage(new SimDisk(11)), held);
    try (Database db = Database.open(files, SMALL)) {
      Caller writer = writer(db, held);
      writer.thread.interrupt();
      while (writer.thread.isInterrupted()) {
        Thread.onSpinWait(); // it saves the flag and clears it
      }
      awaitAsleep(writer.thread);
      assertFalse(writer.result.isDone());
      let(held);
      assertNull(writer.failure());
      assertTrue(interrupted.get(), "the interrupt flag is preserved");
    }
  }

  @Test
  void aCloseEndsTheWaitForLogSpace() throws InterruptedException {
    Held held = new Held();
    Storage files = new Intercepting(new SimStorage(new SimDisk(12)), held);
    Database db =
        Database.open(files, SMALL.transactions(txs -> txs.closeTimeout(Duration.ofMillis(200))));
    Caller writer = writer(db, held);
    Caller close = new Caller(db::close);
    assertInstanceOf(DatabaseClosedException.class, writer.failure());
    let(held);
    assertNull(close.failure());
  }

  @Test
  void aFailureOfTheEngineEndsTheWaitForLogSpace() throws InterruptedException {
    Held held = new Held();
    Storage files = new Intercepting(new SimStorage(new SimDisk(13)), held);
    Database db = Database.open(files, SMALL);
    Caller writer = writer(db, held);
    db.store().engine().halt(new IllegalStateException("by the test"));
    assertInstanceOf(DurabilityLostException.class, writer.failure());
    let(held);
    assertThrows(DurabilityLostException.class, db::close);
  }

  @Test
  void aFailureOfTheLogEndsTheWaitForLogSpace() throws InterruptedException {
    Held held = new Held();
    Storage files = new Intercepting(new SimStorage(new SimDisk(14)), held);
    Database db = Database.open(files, SMALL);
    LogSession session = db.store().newSession();
    Caller writer = writer(db, held);
    held.logFails = true;
    session.begin(AllocatorRecord.ALLOCATE_SPACE);
    BufferPool pool = db.store().pool();
    int frame = pool.allocate(db.store().catalog().treeId(), PageHeader.OVERFLOW, session);
    pool.releaseExclusive(frame);
    long end = session.recordEnd();
    session.end();
    assertThrows(DurabilityLostException.class, () -> db.store().awaitDurable(end));
    assertInstanceOf(DurabilityLostException.class, writer.failure());
    let(held);
    assertThrows(DurabilityLostException.class, db::close);
  }

  @Test
  void theTimeoutEndsTheWaitForLogSpace() throws InterruptedException {
    Held held = new Held();
    Storage files = new Intercepting(new SimStorage(new SimDisk(15)), held);
    Options limited = SMALL.transactions(txs -> txs.timeout(Duration.ofMillis(500)));
    try (Database db = Database.open(files, limited)) {
      IntConsumer put =
          i -> {
            try {
              put(db, i, i + 1);
            } catch (TransactionAbortedException e) {
              // A busy machine may time out elsewhere too.
              if (e.abortCause() != AbortCause.TIMEOUT
                  || String.valueOf(e.getMessage()).contains("space in the log")) {
                throw e;
              }
            }
          };
      Caller writer = writer(db, held, put);
      TransactionAbortedException e =
          assertInstanceOf(TransactionAbortedException.class, writer.failure());
      assertEquals(AbortCause.TIMEOUT, e.abortCause());
      let(held);
    }
  }

  @Test
  void aFailedSyncIsFinal() {
    SimDisk disk = new SimDisk(1);
    AtomicBoolean fails = new AtomicBoolean();
    Storage files =
        new Intercepting(
            new SimStorage(disk),
            call -> {
              if (fails.get() && call.equals(Storage.DATA + " sync")) {
                throw eio();
              }
            });
    Database db = Database.open(files, SMALL);
    put(db, 0, 100);
    assertEquals(DatabaseStats.Health.OK, db.stats().health());
    fails.set(true);
    assertThrows(FoveaException.class, db::checkpoint);
    assertEquals(DatabaseStats.Health.DURABILITY_LOST, db.stats().health());
    fails.set(false);
    assertThrows(DurabilityLostException.class, db::checkpoint);
    assertThrows(DurabilityLostException.class, () -> put(db, 100, 101));
    DurabilityLostException e = assertThrows(DurabilityLostException.class, db::close);
    assertTrue(e.getMessage().contains("Reopen the database"), e.getMessage());
    try (Database again = Database.open(new SimStorage(disk), SMALL)) {
      Table<byte[], byte[]> t = again.table(SPEC).bytes();
      for (int i = 0; i < 100; i++) {
        byte[] key = bytes("key" + i);
        assertArrayEquals(new byte[200], again.read(tx -> t.get(tx, key)));
      }
      assertTrue(again.verify().ok());
    }
  }

  @Test
  void theLogDoesNotGrowBeyondItsMaximum() throws InterruptedException {
    SimDisk disk = new SimDisk(2);
    try (Database db = Database.open(new SimStorage(disk), SMALL)) {
      db.table(SPEC);
      List<Thread> threads = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        int from = i * 1000;
        threads.add(Thread.ofVirtual().start(() -> put(db, from, from + 1000)));
      }
      for (Thread t : threads) {
        t.join();
      }
      DatabaseStats s = db.stats();
      assertTrue(s.log().bytes() > 2 * SMALL.log().maxBytes(), s::toString);
      // Admitted commits, of this and other threads, may still append their records.
      assertTrue(s.log().redoBytes() < SMALL.log().maxBytes() + (128 << 10), s::toString);
      assertTrue(s.storage().logBytes() < 4 * SMALL.log().maxBytes(), s::toString);
      assertTrue(s.checkpoints().made() >= 2, s::toString);
      assertTrue(db.verify().ok());
    }
  }

  @Test
  void checkpointReturnsWhenComplete() {
    SimDisk disk = new SimDisk(3);
    Database db = Database.open(new SimStorage(disk), SMALL);
    put(db, 0, 20); // less than a checkpoint triggered by size needs; each is one block of the log
    long made = db.stats().checkpoints().made();
    db.checkpoint();
    assertEquals(made + 1, db.stats().checkpoints().made());
    // Count records follow the redo point.
    assertTrue(db.stats().log().redoBytes() < 256, db.stats()::toString);
    db.checkpoint();
    assertEquals(0, db.stats().checkpoints().failed());
    db.close();
    assertThrows(DatabaseClosedException.class, db::checkpoint);
    try (Database again = Database.open(new SimStorage(disk), SMALL)) {
      again.checkpoint();
      assertEquals(0, again.stats().checkpoints().made());
    }
  }

  /** While a long operation holds the redo point back, checkpoints aren't repeated. */
  @Test
  void uselessCheckpointsAreNotRepeated() throws InterruptedException {
    SimDisk disk = new SimDisk(8);
    try (Database db = Database.open(new SimStorage(disk), SMALL)) {
      put(db, 0, 10);
      LogSession session = db.store().newSession();
      session.begin(0);
      Thread writer = Thread.ofPlatform().start(() -> put(db, 10, 2_000));
      long before = db.stats().checkpoints().made();
      long began = System.nanoTime();
      Thread.sleep(500);
      long made = db.stats().checkpoints().made() - before;
      long most = 3 + (System.nanoTime() - began) / 50_000_000;
      session.end();
      writer.join();
      assertTrue(made <= most, made + " checkpoints instead of at most " + most);
    }
  }

  /** Only the log since the session's start names an allocated page that is in no tree. */
  @Test
  void aStoppedPoolIsNotCheckpointed() {
    SimDisk disk = new SimDisk(7);
    Database db = Database.open(new SimStorage(disk), SMALL);
    put(db, 0, 50);
    db.checkpoint();
    BufferPool pool = db.store().pool();
    LogSession session = db.store().newSession();
    session.begin(AllocatorRecord.ALLOCATE_SPACE);
    int frame = pool.allocate(db.store().catalog().treeId(), PageHeader.OVERFLOW, session);
    TestLatches.stop(pool, new StackOverflowError("thrown on purpose"));
    pool.releaseExclusive(frame);
    session.end();
    assertThrows(FoveaException.class, db::checkpoint);
    assertThrows(DurabilityLostException.class, db::close);
    try (Database again = Database.open(new SimStorage(disk), SMALL)) {
      assertEquals(1, again.stats().recovery().pagesReclaimed());
      assertTrue(again.verify().ok(), () -> again.verify().problems().toString());
    }
  }

  @Test
  void aFileThatWasOnlyReadStaysClean() {
    SimDisk disk = new SimDisk(4);
    try (Database db = Database.open(new SimStorage(disk), SMALL)) {
      put(db, 0, 10);
    }
    byte[] before = disk.peek("db", 0, 8192);
    Database db = Database.open(new SimStorage(disk), SMALL);
    Table<byte[], byte[]> t = db.table(SPEC).bytes();
    assertEquals(true, db.read(tx -> t.exists(tx, bytes("key1"))));
    db.abandon();
    assertArrayEquals(before, disk.peek("db", 0, 8192));
    try (Database again = Database.open(new SimStorage(disk), SMALL)) {
      assertEquals(0, again.stats().recovery().nanos());
      assertTrue(again.verify().ok());
    }
  }

  @Test
  void optionsThatDoNotFitAreRefused() {
    Options o = Options.defaults();
    assertThrows(IllegalArgumentException.class, () -> o.log(log -> log.bufferBytes(100_000)));
    assertThrows(IllegalArgumentException.class, () -> o.log(log -> log.bufferBytes(4096)));
    assertThrows(IllegalArgumentException.class, () -> o.log(log -> log.segmentBytes(100_000)));
    assertThrows(IllegalArgumentException.class, () -> o.log(log -> log.maxBytes(1)));
    assertThrows(
        IllegalArgumentException.class,
        () -> o.log(log -> log.maxFlushDelay(Duration.ZERO, 1 << 20)));
    assertThrows(
        IllegalArgumentException.class,
        () -> o.log(log -> log.maxFlushDelay(Duration.ofMillis(1), 1)));
    assertThrows(
        IllegalArgumentException.class,
        () -> o.log(log -> log.checkpointInterval(Duration.ofMillis(-1))));
    refused(SMALL.device(dev -> dev.pageSize(65536)).bufferBytes(16 << 20), "bufferBytes");
    refused(SMALL.log(log -> log.bufferBytes(1 << 20).maxBytes(8 << 20)), "segmentBytes");
    refused(SMALL.log(log -> log.segmentBytes(1 << 20)), "maxBytes(4194304)");
    // Nothing remains that could hold it back.
    SimDisk disk = new SimDisk(5);
    assertThrows(
        InvalidUseException.class,
        () -> Database.open(new SimStorage(disk), SMALL.log(log -> log.segmentBytes(1 << 20))));
    assertFalse(disk.exists("db.log"));
    Database.open(new SimStorage(disk), SMALL).close();
  }

  private static void refused(Options options, String what) {
    InvalidUseException e =
        assertThrows(
            InvalidUseException.class,
            () -> Database.open(new SimStorage(new SimDisk(6)), options));
    assertTrue(e.getMessage().contains(what), e.getMessage());
  }
}
