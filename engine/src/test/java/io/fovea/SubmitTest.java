package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.DatabaseClosedException;
import io.fovea.error.DurabilityLostException;
import io.fovea.error.InvalidUseException;
import io.fovea.io.IoOp;
import io.fovea.schema.TableSpec;
import io.fovea.support.SimDisk;
import io.fovea.support.SimFault;
import io.fovea.support.SimStorage;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Transactions submitted to other threads, whose stages complete when they are durable. */
@Timeout(value = 3, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SubmitTest {
  private static final int CLIENTS = 10_000;
  private static final int COUNTERS = 64;

  private final SimDisk disk = new SimDisk(1);
  private Database db = open();
  private Table<byte[], byte[]> table = db.table(TableSpec.bytes("counters", 8)).bytes();

  private Database open() {
    return SimDatabase.open(
        new SimStorage(disk),
        Options.defaults().bufferBytes(4 << 20).transactions(txs -> txs.maxActive(8)));
  }

  @AfterEach
  void close() {
    disk.letGo();
    db.close();
  }

  private static byte[] key(int counter) {
    return new byte[] {(byte) counter};
  }

  private static byte[] bytes(long value) {
    return ByteBuffer.allocate(8).putLong(value).array();
  }

  private long get(Transaction tx, int counter) {
    byte[] value = table.get(tx, key(counter));
    return value == null ? 0 : ByteBuffer.wrap(value).getLong();
  }

  private long add(Transaction tx, int counter) {
    long value = get(tx, counter) + 1;
    table.put(tx, key(counter), bytes(value));
    return value;
  }

  private long sum() {
    return db.read(
        tx -> {
          long sum = 0;
          for (int i = 0; i < COUNTERS; i++) {
            sum += get(tx, i);
          }
          return sum;
        });
  }

  private static <R> R join(CompletionStage<R> stage) {
    return stage.toCompletableFuture().join();
  }

  private static long value(CompletionStage<Long> stage) {
    return join(stage);
  }

  private static Throwable cause(CompletionStage<?> stage) {
    return assertThrows(CompletionException.class, () -> join(stage)).getCause();
  }

  @Test
  void aStageGetsTheResult() {
    assertEquals(1, value(db.submit(tx -> add(tx, 1))));
    assertEquals(1, value(db.submit(TxOptions.forReading(), tx -> get(tx, 1))));
    assertEquals(true, join(db.submit(tx -> Thread.currentThread().isVirtual())));
    Thread self = Thread.currentThread();
    assertEquals(
        self, join(db.submit(TxOptions.defaults(), Runnable::run, tx -> Thread.currentThread())));
    assertEquals(4, value(db.submit(tx -> add(tx, 1)).thenCompose(v -> db.submit(tx -> v + 2))));
  }

  @Test
  void exceptionsOfABodyCompleteTheStage() {
    IOException thrown = new IOException("no");
    CompletionStage<Void> stage =
        db.submit(
            tx -> {
              add(tx, 1);
              throw thrown;
            });
    assertEquals(thrown, cause(stage));
    assertEquals(0, sum());
    AssertionError error = new AssertionError("even an error");
    assertEquals(
        error,
        cause(
            db.submit(
                tx -> {
                  throw error;
                })));
    assertInstanceOf(
        InvalidUseException.class,
        cause(db.submit(TxOptions.forReading(), tx -> add(tx, 1))),
        "as call() would throw it");
  }

  @Test
  void aBodyInsideOfAnotherOnTheSameThreadIsRefused() {
    CompletionStage<Long> inner =
        db.call(tx -> db.submit(TxOptions.defaults(), Runnable::run, other -> add(other, 1)));
    assertInstanceOf(InvalidUseException.class, cause(inner));
  }

  @Test
  void anExecutorMayRefuse() {
    assertThrows(
        RejectedExecutionException.class,
        () ->
            db.submit(
                TxOptions.defaults(),
                body -> {
                  throw new RejectedExecutionException();
                },
                tx -> add(tx, 1)));
    assertEquals(0, sum());
  }

  @Test
  void stageCancelledBeforeItsBodyBeginsRunsNoBody() {
    List<Runnable> bodies = new ArrayList<>();
    CompletionStage<Long> stage = db.submit(TxOptions.defaults(), bodies::add, tx -> add(tx, 1));
    assertTrue(stage.toCompletableFuture().cancel(true));
    bodies.forEach(Runnable::run);
    assertEquals(0, sum());
  }

  /** One thread runs all bodies while the device is held, and no stage completes. */
  @Test
  void noThreadWaitsForTheDevice() throws Exception {
    disk.hold(IoOp.SYNC);
    List<CompletionStage<Long>> stages = new ArrayList<>();
    try (ExecutorService one = Executors.newSingleThreadExecutor()) {
      for (int i = 0; i < 100; i++) {
        int counter = i % COUNTERS;
        stages.add(db.submit(TxOptions.defaults(), one, tx -> add(tx, counter)));
      }
      one.submit(() -> {}).get(); // after all bodies
      assertTrue(stages.stream().noneMatch(s -> s.toCompletableFuture().isDone()));
      disk.letGo();
      stages.forEach(SubmitTest::join);
    }
    assertEquals(100, sum());
  }

  @Test
  void dependentStagesRunOnVirtualThreadsAndMayBlock() throws Exception {
    disk.hold(IoOp.SYNC);
    CountDownLatch never = new CountDownLatch(1);
    CountDownLatch blocked = new CountDownLatch(1);
    CompletionStage<Long> first = db.submit(tx -> add(tx, 1));
    CompletionStage<Boolean> blocks =
        first.thenApply(
            v -> {
              blocked.countDown();
              assertTrue(Thread.currentThread().isVirtual());
              try {
                return never.await(1, TimeUnit.MINUTES);
              } catch (InterruptedException e) {
                throw new AssertionError(e);
              }
            });
    CompletionStage<Long> second = db.submit(tx -> add(tx, 2));
    disk.letGo();
    assertEquals(1, value(second));
    blocked.await();
    db.run(tx -> add(tx, 3));
    never.countDown();
    assertEquals(true, join(blocks));
  }

  @Test
  void aReceiptHasAStage() throws Exception {
    disk.hold(IoOp.SYNC);
    CommitHandle commitHandle = db.runPipelined(tx -> add(tx, 1));
    CompletableFuture<?> stage = commitHandle.whenDurable().toCompletableFuture();
    CompletableFuture<?> another = commitHandle.whenDurable().toCompletableFuture();
    assertFalse(stage.isDone());
    disk.letGo();
    stage.get();
    another.get();
    assertTrue(commitHandle.isDurable());
    assertTrue(commitHandle.whenDurable().toCompletableFuture().isDone());
    assertTrue(db.runPipelined(tx -> {}).whenDurable().toCompletableFuture().isDone());
  }

  @Test
  void lostDurabilityCompletesAllStages() {
    disk.hold(IoOp.SYNC);
    List<CompletionStage<Long>> stages = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      int counter = i;
      stages.add(db.submit(tx -> add(tx, counter)));
    }
    disk.awaitHeld(1);
    disk.fail(SimFault.from(1).of(IoOp.SYNC));
    disk.letGo();
    int lost = 0;
    for (CompletionStage<Long> stage : stages) {
      try {
        join(stage);
      } catch (CompletionException e) {
        assertInstanceOf(DurabilityLostException.class, e.getCause());
        lost++;
      }
    }
    assertNotEquals(0, lost);
    disk.heal();
    assertThrows(DurabilityLostException.class, db::close);
    db = open();
    table = db.table(TableSpec.bytes("counters", 8)).bytes();
  }

  @Test
  void closeCompletesCommittedStages() throws Exception {
    disk.hold(IoOp.SYNC);
    List<CompletionStage<Long>> stages = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      int counter = i;
      stages.add(db.submit(TxOptions.defaults(), Runnable::run, tx -> add(tx, counter)));
    }
    Thread closer = Thread.startVirtualThread(db::close);
    disk.awaitHeld(1);
    disk.letGo();
    closer.join();
    for (CompletionStage<Long> stage : stages) {
      assertEquals(1, value(stage));
    }
    assertInstanceOf(DatabaseClosedException.class, cause(db.submit(tx -> add(tx, 1))));
    db = open();
    table = db.table(TableSpec.bytes("counters", 8)).bytes();
    assertEquals(20, sum());
  }

  /**
   * Some clients are canceled, some waiting threads are interrupted: every reported success is
   * true.
   */
  @Test
  void tenThousandClients() throws Exception {
    Random random = new Random(1);
    AtomicInteger done = new AtomicInteger();
    AtomicInteger cancelled = new AtomicInteger();
    List<Thread> clients = new ArrayList<>();
    for (int i = 0; i < CLIENTS; i++) {
      int counter = random.nextInt(COUNTERS);
      int what = random.nextInt(10);
      Thread client =
          Thread.startVirtualThread(
              () -> {
                CompletableFuture<Long> f = db.submit(tx -> add(tx, counter)).toCompletableFuture();
                if (what == 0 && f.cancel(true)) {
                  cancelled.incrementAndGet();
                  return;
                }
                boolean interrupted = false;
                while (true) {
                  try {
                    assertTrue(f.get() > 0);
                    done.incrementAndGet();
                    break;
                  } catch (InterruptedException e) {
                    interrupted = true;
                  } catch (java.util.concurrent.ExecutionException e) {
                    throw new AssertionError(e);
                  }
                }
                assertTrue(!interrupted || what == 1);
              });
      clients.add(client);
      if (what == 1) {
        client.interrupt();
      }
    }
    for (Thread client : clients) {
      client.join();
    }
    assertEquals(CLIENTS, done.get() + cancelled.get());
    long sum = sum();
    assertTrue(
        sum >= done.get() && sum <= CLIENTS,
        () -> sum + " commits, " + done + " done, " + cancelled + " cancelled");
    assertEquals(0, db.stats().activeTransactions());
  }

  /**
   * Tasks of a scope, as in structured concurrency: one fails, the others are interrupted. Each
   * transaction either commits or does not, and reports which.
   */
  @Test
  void aFailingScope() throws Exception {
    AtomicInteger committed = new AtomicInteger();
    for (int round = 0; round < 10; round++) {
      List<Future<Long>> tasks = new ArrayList<>();
      try (ExecutorService scope = Executors.newVirtualThreadPerTaskExecutor()) {
        int failing = 50 * round;
        for (int i = 0; i < 1_000; i++) {
          int counter = i % COUNTERS;
          boolean fails = i == failing;
          Callable<Long> task =
              () -> {
                if (fails) {
                  throw new IOException("one fails");
                }
                long value = db.call(tx -> add(tx, counter));
                committed.incrementAndGet();
                return value;
              };
          tasks.add(scope.submit(task));
        }
        assertThrows(java.util.concurrent.ExecutionException.class, () -> tasks.get(failing).get());
        scope.shutdownNow();
      }
      assertEquals(0, db.stats().activeTransactions());
      assertEquals(committed.get(), sum());
    }
  }
}
