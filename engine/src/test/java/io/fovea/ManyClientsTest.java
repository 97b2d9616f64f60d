package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.HotSpotDiagnosticMXBean;
import com.sun.management.HotSpotDiagnosticMXBean.ThreadDumpFormat;
import io.fovea.config.Durability;
import io.fovea.error.FoveaException;
import io.fovea.error.OperationInterruptedException;
import io.fovea.schema.TableSpec;
import io.fovea.support.SimDisk;
import io.fovea.support.SimStorage;
import io.fovea.support.SoakReport;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/**
 * Ten thousand clients transfer money between accounts, each in its own way, while others cancel
 * and interrupt them at random. The sum is constant, each future completes, acknowledged transfers
 * took place, and no transaction, latch, lock or thread is left.
 *
 * <p>A variant with structured concurrency, a preview of the JDK, is in the module of consumers.
 * {@code -Dcrash.seed=N}, {@code -Dcrash.clients=N}.
 */
@Tag("slow")
@Isolated // inspects the threads of the process
@Timeout(value = 5, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ManyClientsTest {
  private static final long SEED = Long.getLong("crash.seed", 1);
  private static final int CLIENTS = Integer.getInteger("crash.clients", 10_000);
  private static final int ACCOUNTS = 200;
  private static final long EACH = 1000;

  @TempDir Path folder;

  private int dumps;
  private Database db;
  private Table<byte[], byte[]> accounts;
  private Table<byte[], byte[]> receipts;

  private enum Way {
    BLOCKS,
    STAGE,
    CHAIN,
    POOL
  }

  /** The outcome for a client: its receipt exists, doesn't exist, or may exist. */
  private enum End {
    DONE,
    NOT_DONE,
    UNKNOWN
  }

  private static byte[] bytes(long value) {
    return ByteBuffer.allocate(8).putLong(value).array();
  }

  private static long number(byte[] value) {
    return ByteBuffer.wrap(value).getLong();
  }

  private long transfer(Transaction tx, int client, int from, int to) {
    long amount = 1 + client % 5;
    accounts.put(tx, bytes(from), bytes(number(accounts.get(tx, bytes(from))) - amount));
    accounts.put(tx, bytes(to), bytes(number(accounts.get(tx, bytes(to))) + amount));
    receipts.insert(tx, bytes(client), bytes(amount)); // throws if the client was served before
    return amount;
  }

  private long sum() {
    return db.read(
        tx -> {
          long sum = 0;
          for (int i = 0; i < ACCOUNTS; i++) {
            sum += number(accounts.get(tx, bytes(i)));
          }
          return sum;
        });
  }

  @Test
  void theSumIsConstantAndNothingLeaks() throws Exception {
    SimDisk disk = new SimDisk(SEED);
    String before = threads();
    db =
        SimDatabase.open(
            new SimStorage(disk),
            Options.defaults()
                .durability(Durability.SYNC)
                .bufferBytes(8 << 20)
                .transactions(txs -> txs.maxActive(16)));
    accounts = db.table(TableSpec.bytes("accounts", 8)).bytes();
    receipts = db.table(TableSpec.bytes("receipts", 8)).bytes();
    db.run(
        tx -> {
          for (int i = 0; i < ACCOUNTS; i++) {
            accounts.put(tx, bytes(i), bytes(EACH));
          }
        });
    try {
      clients();
      assertEquals(0, db.stats().activeTransactions());
      assertEquals("", SimDatabase.held(db));
      assertTrue(db.verify().ok());
    } catch (Throwable e) {
      throw new AssertionError("-Dcrash.seed=" + SEED + ": " + e, e);
    } finally {
      db.close();
    }
    requireNoThreadLeft(before);
  }

  private void clients() throws Exception {
    Random random = new Random(SEED);
    List<CompletableFuture<Long>> futures = new ArrayList<>();
    List<Thread> threads = new ArrayList<>();
    End[] ends = new End[CLIENTS];
    AtomicBoolean over = new AtomicBoolean();
    AtomicInteger cancelled = new AtomicInteger();
    CountDownLatch begin = new CountDownLatch(1);
    try (ExecutorService pool = Executors.newFixedThreadPool(4)) {
      for (int i = 0; i < CLIENTS; i++) {
        int client = i;
        int from = random.nextInt(ACCOUNTS);
        int to = (from + 1 + random.nextInt(ACCOUNTS - 1)) % ACCOUNTS;
        Way way = Way.values()[random.nextInt(Way.values().length)];
        CompletableFuture<Long> future = new CompletableFuture<>();
        futures.add(future);
        threads.add(
            Thread.ofVirtual()
                .unstarted(
                    () -> {
                      begin(begin);
                      ends[client] = serve(way, pool, client, from, to, future);
                    }));
      }
      threads.forEach(Thread::start);
      begin.countDown();
      List<Thread> others = new ArrayList<>();
      for (int o = 0; o < 2; o++) {
        Random own = new Random(SEED * 31 + o);
        others.add(
            Thread.ofPlatform()
                .start(
                    () -> {
                      while (!over.get()) {
                        int whom = own.nextInt(CLIENTS);
                        if (own.nextInt(15) == 0) {
                          cancelled.addAndGet(futures.get(whom).cancel(true) ? 1 : 0);
                        } else {
                          threads.get(whom).interrupt();
                        }
                        LockSupport.parkNanos(20_000);
                      }
                    }));
      }
      others.add(
          Thread.ofPlatform()
              .start(
                  () -> {
                    while (!over.get()) {
                      long sum = sum();
                      if (sum != ACCOUNTS * EACH) {
                        throw new AssertionError("the sum is " + sum);
                      }
                    }
                  }));
      for (Thread t : threads) {
        t.join();
      }
      over.set(true);
      for (Thread t : others) {
        t.join();
      }
    }
    for (CompletableFuture<Long> f : futures) {
      ended(f);
    }
    bodiesEnd(); // of canceled stages, which no thread waits for
    check(ends, cancelled.get());
  }

  private static void begin(CountDownLatch latch) {
    while (true) {
      try {
        latch.await();
        return;
      } catch (InterruptedException e) {
        // It starts anyway.
      }
    }
  }

  private static void ended(CompletableFuture<Long> f) throws InterruptedException {
    try {
      f.get(1, TimeUnit.MINUTES);
    } catch (ExecutionException | CancellationException e) {
      // already ended
    } catch (TimeoutException e) {
      throw new AssertionError("a client never ends", e);
    }
  }

  /** Serves one client; others may cancel its future. */
  private End serve(
      Way way, ExecutorService pool, int client, int from, int to, CompletableFuture<Long> told) {
    if (way == Way.BLOCKS) {
      try {
        told.complete(db.call(tx -> transfer(tx, client, from, to)));
        return End.DONE;
      } catch (OperationInterruptedException e) {
        told.completeExceptionally(e);
        return End.NOT_DONE;
      }
    }
    CompletableFuture<Long> stage =
        switch (way) {
          case CHAIN ->
              db.submit(TxOptions.forReading(), tx -> number(accounts.get(tx, bytes(from))))
                  .thenCompose(v -> db.submit(tx -> transfer(tx, client, from, to)))
                  .toCompletableFuture();
          case POOL ->
              db.submit(TxOptions.defaults(), pool, tx -> transfer(tx, client, from, to))
                  .toCompletableFuture();
          default -> db.submit(tx -> transfer(tx, client, from, to)).toCompletableFuture();
        };
    told.whenComplete(
        (v, e) -> {
          if (told.isCancelled()) {
            stage.cancel(true);
          }
        });
    End end;
    while (true) {
      try {
        told.complete(stage.get());
        end = End.DONE;
        break;
      } catch (InterruptedException e) {
        // The wait ends; the transaction continues on another thread.
      } catch (CancellationException e) {
        end = End.UNKNOWN;
        break;
      } catch (ExecutionException e) {
        Throwable cause = e.getCause();
        cause = cause instanceof CompletionException c ? c.getCause() : cause;
        if (!(cause instanceof FoveaException) && !(cause instanceof CancellationException)) {
          throw new AssertionError(cause);
        }
        told.completeExceptionally(cause);
        end = cause instanceof CancellationException ? End.UNKNOWN : End.NOT_DONE;
        break;
      }
    }
    return end;
  }

  private void check(End[] ends, int cancelled) {
    assertEquals(ACCOUNTS * EACH, sum());
    int[] count = new int[End.values().length];
    db.read(
        tx -> {
          for (int i = 0; i < CLIENTS; i++) {
            End end = ends[i];
            assertTrue(end != null, "client " + i + " has no outcome");
            count[end.ordinal()]++;
            boolean there = receipts.get(tx, bytes(i)) != null;
            assertFalse(there && end == End.NOT_DONE, "client " + i + " was reported as not done");
            assertFalse(!there && end == End.DONE, "client " + i + " was reported as done");
          }
          return null;
        });
    SoakReport.line(
        "ManyClientsTest.theSumIsConstantAndNothingLeaks",
        "seed "
            + SEED
            + ": "
            + CLIENTS
            + " clients, "
            + count[0]
            + " done, "
            + count[1]
            + " not done, "
            + count[2]
            + " unknown, "
            + cancelled
            + " cancelled");
    assertTrue(count[0] > 0 && cancelled > 0);
  }

  private void bodiesEnd() throws IOException {
    for (int i = 0; threads().contains("fovea-submit"); i++) {
      assertTrue(i < 600, "bodies never end");
      LockSupport.parkNanos(50_000_000);
    }
  }

  /** Checks that all threads existed before the test. */
  private void requireNoThreadLeft(String before) throws IOException {
    String all = threads();
    assertTrue(all.contains("ManyClientsTest"), "this one at least");
    for (String of : List.of("fovea-submit", "io.fovea.TransactionRunner", "fovea-log")) {
      assertTrue(count(all, of) <= count(before, of), () -> of + ": " + all);
    }
  }

  private static int count(String in, String what) {
    return in.split(Pattern.quote(what), -1).length - 1;
  }

  private String threads() throws IOException {
    HotSpotDiagnosticMXBean bean =
        ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class);
    Path dump = folder.resolve("threads." + dumps++);
    bean.dumpThreads(dump.toAbsolutePath().toString(), ThreadDumpFormat.TEXT_PLAIN);
    return Files.readString(dump, StandardCharsets.UTF_8);
  }
}
