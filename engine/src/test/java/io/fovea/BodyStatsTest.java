package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.LeakDetection;
import io.fovea.error.AbortCause;
import io.fovea.error.TransactionAbortedException;
import io.fovea.schema.TableSpec;
import io.fovea.txn.BodyCounters;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntConsumer;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Figures of named bodies. */
class BodyStatsTest {
  private static final int THREADS = 4;
  private static final byte[] KEY = {0};

  private Database db;
  private Table<byte[], byte[]> t;

  @BeforeEach
  void open() {
    db =
        Database.inMemory(
            Options.defaults()
                .bufferBytes(8 << 20)
                .transactions(txs -> txs.leakDetection(LeakDetection.OFF)));
    t = db.table(TableSpec.bytes("t", 10)).bytes();
    db.run(tx -> t.put(tx, KEY, KEY));
  }

  @AfterEach
  void close() {
    db.close();
  }

  private DatabaseStats.Body body(String name) {
    return db.stats().bodies().get(name);
  }

  private static long aborts(DatabaseStats.Body body) {
    return body.abortsByCause().values().stream().mapToLong(Long::longValue).sum();
  }

  private static void inThreads(IntConsumer work) throws InterruptedException {
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < THREADS; i++) {
      int n = i;
      threads.add(Thread.ofPlatform().start(() -> work.accept(n)));
    }
    for (Thread thread : threads) {
      thread.join();
    }
  }

  /** Reads a record that another transaction changes before the commit. */
  private void conflict(Transaction tx) {
    t.get(tx, KEY);
    try {
      Thread.ofPlatform().start(() -> db.run(o -> t.put(o, KEY, KEY))).join();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
    t.put(tx, KEY, KEY);
  }

  @Test
  void exactAfterAllThreadsHaveEnded() throws InterruptedException {
    int runs = 1500;
    TxOptions[] options = {TxOptions.defaults().name("a"), TxOptions.defaults().name("b")};
    AtomicLong[] attempts = {new AtomicLong(), new AtomicLong()};
    inThreads(
        n -> {
          for (int i = 0; i < runs; i++) {
            int which = (i + n) % 2;
            db.run(
                options[which],
                tx -> {
                  attempts[which].incrementAndGet();
                  byte[] value = t.get(tx, KEY);
                  t.put(tx, KEY, new byte[] {(byte) (value[0] + 1)});
                });
          }
        });
    long retries = 0;
    for (int which = 0; which < 2; which++) {
      DatabaseStats.Body body = body(which == 0 ? "a" : "b");
      assertEquals(THREADS * runs / 2, body.runs());
      assertEquals(attempts[which].get() - body.runs(), body.retries());
      assertEquals(body.retries(), aborts(body));
      assertTrue(body.maxNanos() > 0 && body.maxNanos() <= body.nanos(), body::toString);
      assertTrue(body.nanos() <= body.runs() * body.maxNanos(), body::toString);
      retries += body.retries();
    }
    assertEquals(db.stats().retries(), retries + body("other").retries());
  }

  @Test
  void retriesAndAborts() {
    db.run(
        "retried",
        tx -> {
          if (tx.attempt() <= 2) {
            conflict(tx);
          }
        });
    DatabaseStats.Body retried = body("retried");
    assertEquals(1, retried.runs());
    assertEquals(2, retried.retries());
    assertEquals(2, retried.abortsByCause().get(AbortCause.VALIDATION));
    assertEquals(AbortCause.values().length, retried.abortsByCause().size());

    TxOptions once = TxOptions.defaults().attemptsMax(1);
    TxOptions named = once.name("once");
    assertThrows(TransactionAbortedException.class, () -> db.run(named, this::conflict));
    assertThrows(TransactionAbortedException.class, () -> db.run(once, this::conflict));
    assertThrows(
        IllegalStateException.class,
        () ->
            db.run(
                named,
                tx -> {
                  throw new IllegalStateException();
                }));
    assertEquals(2, body("once").runs());
    assertEquals(0, body("once").retries());
    assertEquals(1, aborts(body("once")));
    assertEquals(2, db.stats().retries());
    // Without a name only aborted attempts are counted.
    db.run(
        tx -> {
          if (tx.attempt() == 1) {
            conflict(tx);
          }
        });
    DatabaseStats.Body other = body("other");
    assertEquals(List.of(0L, 1L, 2L), List.of(other.runs(), other.retries(), aborts(other)));
    assertEquals(0, other.nanos());
    assertEquals(db.stats().aborts(), aborts(retried) + aborts(body("once")) + aborts(other));
  }

  @Test
  void eachKindOfRun() {
    TxOptions named = TxOptions.defaults().name("x");
    db.run("x", tx -> t.put(tx, KEY, KEY));
    db.run(named, tx -> t.put(tx, KEY, KEY));
    db.call("x", tx -> t.get(tx, KEY));
    db.call(named, tx -> t.get(tx, KEY));
    db.read("x", tx -> t.get(tx, KEY));
    db.runPipelined(named, tx -> t.put(tx, KEY, KEY)).await();
    db.submit(named, tx -> t.get(tx, KEY)).toCompletableFuture().join();
    assertEquals(7, body("x").runs());
    assertEquals(Set.of("other", "x"), db.stats().bodies().keySet());

    // A joining body is a part of the enclosing one.
    db.run(named, tx -> db.run(TxOptions.defaults().name("inner").joining(), in -> t.get(in, KEY)));
    try (Transaction tx = db.begin(TxOptions.defaults().name("explicit"))) {
      t.get(tx, KEY);
      tx.commit();
    }
    assertEquals(8, body("x").runs());
    assertEquals(Set.of("other", "x"), db.stats().bodies().keySet());
  }

  @Test
  void furtherNamesAreOther() {
    for (int i = 0; i < 67; i++) {
      db.run("body " + i, tx -> t.get(tx, KEY));
    }
    for (int i = 0; i < 67; i += 60) {
      db.run("body " + i, tx -> t.get(tx, KEY));
    }
    assertEquals(65, db.stats().bodies().size());
    assertEquals(2, body("body 0").runs());
    assertEquals(1, body("body 63").runs());
    assertEquals(2, body("body 60").runs());
    assertEquals(3, body("other").runs());
    assertTrue(body("other").nanos() >= body("other").maxNanos());
    db.run("other", tx -> t.get(tx, KEY));
    assertEquals(4, body("other").runs());
  }

  @Test
  void manyThreadsNameBodies() throws InterruptedException {
    int runs = 500_000;
    String[] names = IntStream.range(0, 300).mapToObj(i -> "body " + i).toArray(String[]::new);
    BodyCounters counters = new BodyCounters();
    inThreads(
        n -> {
          for (int i = 0; i < runs; i++) {
            counters.of(names[(i * 31 + n) % names.length]).ended(1);
          }
        });
    assertEquals(65, counters.byName().size());
    long sum = 0;
    for (BodyCounters.Body body : counters.byName().values()) {
      assertEquals(body.runs(), body.nanos());
      sum += body.runs();
    }
    assertEquals((long) runs * THREADS, sum);
  }

  private static long allocated() {
    var threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
    return threads.getCurrentThreadAllocatedBytes();
  }

  /** Returns the bytes per call of the best of several rounds. */
  private static double perCall(Runnable call) {
    int n = 2000;
    long least = Long.MAX_VALUE;
    for (int round = 0; round < 5; round++) {
      long before = allocated();
      for (int i = 0; i < n; i++) {
        call.run();
      }
      least = Math.min(least, allocated() - before);
    }
    return (double) least / n;
  }

  @Test
  void countingAllocatesNothing() {
    BodyCounters counters = new BodyCounters();
    double bytes =
        perCall(
            () -> {
              counters.of("a").ended(7);
              counters.of("a").aborted(AbortCause.LOCK, true);
              counters.of(null).aborted(AbortCause.TIMEOUT, false);
            });
    assertTrue(bytes < 1, bytes + " bytes per run");
    for (int i = 0; i < 70; i++) {
      counters.of("body " + i);
    }
    double further = perCall(() -> counters.of("another").ended(7));
    assertTrue(further < 1, further + " bytes per run");
  }

  @Test
  void namedRunAllocatesNoMore() {
    TxOptions named = TxOptions.defaults().name("a");
    Task<RuntimeException> task = tx -> {};
    Runnable without = () -> db.run(TxOptions.defaults(), task);
    Runnable with = () -> db.run(named, task);
    perCall(without);
    perCall(with);
    double bytes = perCall(without);
    double more = perCall(with);
    assertTrue(more < bytes + 1, more + " bytes per run, and " + bytes + " without a name");
  }
}
