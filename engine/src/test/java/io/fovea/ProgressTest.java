package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Protocol;
import io.fovea.error.TransactionAbortedException;
import io.fovea.schema.TableSpec;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Progress under each protocol: a repeatedly aborted transaction commits after a bounded number of
 * attempts, and transactions that share no records with it are unaffected.
 *
 * <p>An <em>unlucky</em> transaction is one whose first attempts all conflict: {@link #spoil}
 * arranges that for each protocol, with a rival that changes the key in use. From attempt {@link
 * #SPOILED} + 1 on it is pessimistic.
 */
@Tag("slow")
class ProgressTest {
  /** The number of failed attempts after which the engine treats a transaction as unlucky. */
  private static final int SPOILED = Options.defaults().transactions().pessimisticAfterAborts();

  private static final int ATTEMPTS_MAX = 200;

  private static final long WAIT_SECONDS = Long.getLong("progress.wait", 60);

  private static final long START = 1_000;

  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final AtomicBoolean stop = new AtomicBoolean();
  private final List<Future<?>> background = new ArrayList<>();

  @AfterEach
  void end() throws Exception {
    stop.set(true);
    threads.shutdown();
    assertTrue(
        threads.awaitTermination(WAIT_SECONDS, TimeUnit.SECONDS), "a thread does not finish");
    for (Future<?> f : background) {
      f.get(); // rethrows the failure of a rival
    }
  }

  /** A transaction with 1,000 reads and 1 write, against 40 writers of the records it reads. */
  @ParameterizedTest
  @EnumSource
  void aLongTransactionAmongManyWritersCommits(Protocol protocol) throws Exception {
    int keys = 1_000;
    try (Database db = Database.inMemory(options(protocol))) {
      Table<byte[], byte[]> t = table(db, "accounts", keys);
      Table<byte[], byte[]> results = table(db, "results", 1);
      AtomicLong moved = new AtomicLong();
      for (int i = 0; i < 40; i++) {
        Random r = new Random(i);
        rival(
            i % 2 == 0,
            () -> {
              transfer(db, t, r, keys);
              moved.incrementAndGet();
            });
      }
      awaitMore(moved, 100);
      int[] attempts = {0};
      db.run(
          tx -> {
            bounded(++attempts[0]);
            long sum = 0;
            for (int k = 0; k < keys; k++) {
              sum += get(t, tx, k);
            }
            put(results, tx, 0, sum);
          });
      assertEquals(keys * START, (long) db.read(tx -> get(results, tx, 0)));
      awaitMore(moved, 100);
      finish(db);
    }
  }

  /** The same repeatedly in four threads, which also conflict with each other. */
  @ParameterizedTest
  @EnumSource
  void longTransactionsOfManyCommit(Protocol protocol) throws Exception {
    int keys = 200;
    int each = 5;
    try (Database db = Database.inMemory(options(protocol))) {
      Table<byte[], byte[]> t = table(db, "accounts", keys);
      Table<byte[], byte[]> results = table(db, "results", 1);
      for (int i = 0; i < 8; i++) {
        Random r = new Random(i);
        rival(i % 2 == 0, () -> transfer(db, t, r, keys));
      }
      List<Future<?>> all = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        all.add(
            threads.submit(
                () -> {
                  for (int n = 0; n < each; n++) {
                    int[] attempts = {0};
                    long sum =
                        db.call(
                            tx -> {
                              bounded(++attempts[0]);
                              long s = 0;
                              for (int k = 0; k < keys; k++) {
                                s += get(t, tx, k);
                              }
                              put(results, tx, 0, get(results, tx, 0) + 1);
                              return s;
                            });
                    assertEquals(keys * START, sum);
                  }
                  return null;
                }));
      }
      for (Future<?> f : all) {
        f.get();
      }
      assertEquals(START + 4 * each, (long) db.read(tx -> get(results, tx, 0)));
      finish(db);
    }
  }

  /** A read-only scan of 8,000 records, concurrent with rate-limited writers. */
  @ParameterizedTest
  @EnumSource
  void longScanDuringRateLimitedWritesEnds(Protocol protocol) throws Exception {
    int keys = 8_000;
    try (Database db = Database.inMemory(options(protocol))) {
      Table<byte[], byte[]> t = table(db, "accounts", keys);
      AtomicLong moved = new AtomicLong();
      for (int i = 0; i < 2; i++) {
        Random r = new Random(i);
        rival(
            i == 0,
            () -> {
              transfer(db, t, r, keys);
              moved.incrementAndGet();
              LockSupport.parkNanos(1_000_000);
            });
      }
      awaitMore(moved, 50);
      for (ScanOrder order : ScanOrder.values()) {
        int[] attempts = {0};
        long sum =
            db.read(
                tx -> {
                  bounded(++attempts[0]);
                  long s = 0;
                  int n = 0;
                  try (Cursor<byte[], byte[]> c = t.scan(tx, null, null, order)) {
                    while (c.next()) {
                      s += ByteBuffer.wrap(c.value()).getLong();
                      n++;
                    }
                  }
                  assertEquals(keys, n);
                  return s;
                });
        assertEquals(keys * START, sum);
      }
      awaitMore(moved, 50);
      finish(db);
    }
  }

  /** Clients of another table make progress while an unlucky transaction is in its body. */
  @ParameterizedTest
  @EnumSource
  void clientsOfAnotherTableAreNotBlocked(Protocol protocol) throws Exception {
    try (Database db = Database.inMemory(options(protocol))) {
      Table<byte[], byte[]> hot = table(db, "hot", 1);
      Table<byte[], byte[]> other = table(db, "other", 100);
      int attempts =
          unlucky(
              db,
              protocol,
              hot,
              0,
              tx -> {
                await(threads.submit(() -> strangers(db, other, 0, 300)), "platform threads");
                await(virtual(() -> strangers(db, other, 0, 300)), "virtual threads");
              });
      assertTrue(attempts <= SPOILED + 20, () -> attempts + " attempts without a rival");
      assertEquals(START + 1, (long) db.read(tx -> get(hot, tx, 0)));
      finish(db);
    }
  }

  /** The same for clients of distant keys in the same table. */
  @ParameterizedTest
  @EnumSource
  void clientsOfOtherKeysAreNotBlocked(Protocol protocol) throws Exception {
    try (Database db = Database.inMemory(options(protocol))) {
      Table<byte[], byte[]> t = table(db, "t", 2_000);
      int attempts =
          unlucky(
              db,
              protocol,
              t,
              0,
              tx -> await(threads.submit(() -> strangers(db, t, 1_000, 300)), "others"));
      assertTrue(attempts <= SPOILED + 20, () -> attempts + " attempts without a rival");
      assertEquals(START + 1, (long) db.read(tx -> get(t, tx, 0)));
      finish(db);
    }
  }

  /** An unlucky transaction does not wait for one that is merely slow. */
  @ParameterizedTest
  @EnumSource
  void unluckyTransactionDoesNotWaitForALongReaderOfOtherKeys(Protocol protocol) throws Exception {
    try (Database db = Database.inMemory(options(protocol))) {
      Table<byte[], byte[]> hot = table(db, "hot", 1);
      Table<byte[], byte[]> other = table(db, "other", 100);
      CountDownLatch reading = new CountDownLatch(1);
      CountDownLatch read = new CountDownLatch(1);
      Future<?> reader =
          threads.submit(
              () ->
                  db.read(
                      tx -> {
                        long v = get(other, tx, 0);
                        reading.countDown();
                        assertTrue(read.await(2 * WAIT_SECONDS, TimeUnit.SECONDS));
                        return v;
                      }));
      assertTrue(reading.await(WAIT_SECONDS, TimeUnit.SECONDS));
      Future<Integer> mine = threads.submit(() -> unlucky(db, protocol, hot, 0, tx -> {}));
      try {
        await(mine, "an unlucky one next to a long reader of another table");
      } finally {
        read.countDown();
      }
      reader.get();
      finish(db);
    }
  }

  /** A leaked explicit transaction makes no difference. */
  @ParameterizedTest
  @EnumSource
  void idleExplicitTransactionDoesNotStarveAnUnluckyOne(Protocol protocol) throws Exception {
    int keys = 200;
    try (Database db = Database.inMemory(options(protocol))) {
      Table<byte[], byte[]> t = table(db, "accounts", keys);
      Table<byte[], byte[]> results = table(db, "results", 1);
      Table<byte[], byte[]> other = table(db, "other", 1);
      CountDownLatch begun = new CountDownLatch(1);
      CountDownLatch done = new CountDownLatch(1);
      Future<?> idle =
          threads.submit(
              () -> {
                try (Transaction tx = db.begin()) {
                  get(other, tx, 0);
                  begun.countDown();
                  done.await();
                }
                return null;
              });
      try {
        begun.await();
        AtomicLong moved = new AtomicLong();
        for (int i = 0; i < 16; i++) {
          Random r = new Random(i);
          rival(
              i % 2 == 0,
              () -> {
                transfer(db, t, r, keys);
                moved.incrementAndGet();
              });
        }
        awaitMore(moved, 100);
        for (int n = 0; n < 5; n++) {
          int[] attempts = {0};
          db.run(
              tx -> {
                bounded(++attempts[0]);
                long sum = 0;
                for (int k = 0; k < keys; k++) {
                  sum += get(t, tx, k);
                }
                put(results, tx, 0, sum);
              });
          assertEquals(keys * START, (long) db.read(tx -> get(results, tx, 0)));
        }
      } finally {
        done.countDown();
      }
      idle.get();
      finish(db);
    }
  }

  /** A body may wait for another thread's transaction on other keys. */
  @ParameterizedTest
  @EnumSource
  void aBodyMayWaitForAnotherTransaction(Protocol protocol) throws Exception {
    try (Database db = Database.inMemory(options(protocol))) {
      Table<byte[], byte[]> hot = table(db, "hot", 1);
      Table<byte[], byte[]> other = table(db, "other", 2);
      unlucky(
          db,
          protocol,
          hot,
          0,
          tx -> {
            await(threads.submit(() -> db.run(t2 -> put(other, t2, 0, 1))), "a writer");
            await(threads.submit(() -> db.read(t2 -> get(other, t2, 1))), "a reader");
          });
      finish(db);
    }
  }

  /**
   * That transaction may also be unlucky: there is no resource that only one transaction can hold.
   */
  @ParameterizedTest
  @EnumSource
  void bodyMayWaitForAnotherUnluckyTransaction(Protocol protocol) throws Exception {
    try (Database db = Database.inMemory(options(protocol))) {
      Table<byte[], byte[]> hot = table(db, "hot", 1);
      Table<byte[], byte[]> other = table(db, "other", 1);
      unlucky(
          db,
          protocol,
          hot,
          0,
          tx -> await(threads.submit(() -> unlucky(db, protocol, other, 0, t2 -> {})), "another"));
      finish(db);
    }
  }

  /** Two transactions access two keys in opposite orders, with rivals on both. */
  @ParameterizedTest
  @EnumSource
  void transactionsInOppositeOrdersBothFinish(Protocol protocol) throws Exception {
    int each = 10;
    try (Database db = Database.inMemory(options(protocol))) {
      Table<byte[], byte[]> t = table(db, "t", 2);
      AtomicLong mine = new AtomicLong();
      AtomicLong rivals = new AtomicLong();
      for (int i = 0; i < 4; i++) {
        int k = i % 2;
        rival(
            i < 2,
            () -> {
              db.run(tx -> put(t, tx, k, get(t, tx, k) + 1));
              rivals.incrementAndGet();
            });
      }
      awaitMore(rivals, 50);
      List<Future<?>> both = new ArrayList<>();
      for (int i = 0; i < 2; i++) {
        int reads = i;
        both.add(
            threads.submit(
                () -> {
                  for (int n = 0; n < each; n++) {
                    int[] attempts = {0};
                    db.run(
                        tx -> {
                          bounded(++attempts[0]);
                          get(t, tx, reads);
                          LockSupport.parkNanos(1_000_000);
                          put(t, tx, 1 - reads, get(t, tx, 1 - reads) + 1);
                        });
                    mine.incrementAndGet();
                  }
                  return null;
                }));
      }
      for (Future<?> f : both) {
        await(f, "one of two with opposite orders");
      }
      assertEquals(2 * each, mine.get());
      finish(db);
      long sum = db.read(tx -> get(t, tx, 0) + get(t, tx, 1));
      assertEquals(2 * START + rivals.get() + mine.get(), sum);
    }
  }

  /** Two unlucky transactions each hold the key that the other wants: one of them yields. */
  @ParameterizedTest
  @EnumSource
  void unluckyTransactionsInOppositeOrdersBothFinish(Protocol protocol) throws Exception {
    try (Database db = Database.inMemory(options(protocol))) {
      Table<byte[], byte[]> t = table(db, "t", 2);
      // Once each has one key, both ask for the other's. A transaction that waits too long for its
      // counterpart continues alone, since the counterpart may rightly be blocked.
      CountDownLatch both = new CountDownLatch(2);
      List<Future<Integer>> all = new ArrayList<>();
      for (int i = 0; i < 2; i++) {
        int first = i;
        all.add(
            threads.submit(
                () ->
                    unlucky(
                        db,
                        protocol,
                        t,
                        first,
                        tx -> {
                          both.countDown();
                          both.await(500, TimeUnit.MILLISECONDS);
                          put(t, tx, 1 - first, get(t, tx, 1 - first) + 1);
                        })));
      }
      for (Future<Integer> f : all) {
        await(f, "one of two unlucky ones");
      }
      for (int k = 0; k < 2; k++) {
        int key = k;
        assertEquals(START + 2, (long) db.read(tx -> get(t, tx, key)));
      }
      finish(db);
    }
  }

  @ParameterizedTest
  @EnumSource
  void unluckyTransactionThatThrowsLeavesNothingLocked(Protocol protocol) throws Exception {
    try (Database db = Database.inMemory(options(protocol))) {
      Table<byte[], byte[]> hot = table(db, "hot", 1);
      for (int n = 0; n < 3; n++) {
        assertThrows(
            IllegalStateException.class,
            () ->
                unlucky(
                    db,
                    protocol,
                    hot,
                    0,
                    tx -> {
                      throw new IllegalStateException("on purpose");
                    }));
        long before = db.stats().aborts();
        db.run(tx -> put(hot, tx, 0, get(hot, tx, 0)));
        assertEquals(before, db.stats().aborts(), "something is still locked");
      }
      assertEquals(START, (long) db.read(tx -> get(hot, tx, 0)));
      finish(db);
    }
  }

  /** An unlucky transaction that exceeds its time limit aborts and leaves nothing locked. */
  @ParameterizedTest
  @EnumSource
  void unluckyTransactionThatTimesOutLeavesNothingLocked(Protocol protocol) throws Exception {
    Options o = options(protocol).transactions(txs -> txs.timeout(Duration.ofSeconds(1)));
    try (Database db = Database.inMemory(o)) {
      Table<byte[], byte[]> hot = table(db, "hot", 1);
      TransactionAbortedException e =
          assertThrows(
              TransactionAbortedException.class,
              () ->
                  unlucky(
                      db,
                      protocol,
                      hot,
                      0,
                      tx -> {
                        Thread.sleep(1_500);
                        get(hot, tx, 0);
                      }));
      assertTrue(!e.retryable(), e::toString);
      db.run(tx -> put(hot, tx, 0, get(hot, tx, 0) + 1));
      assertEquals(START + 1, (long) db.read(tx -> get(hot, tx, 0)));
      finish(db);
    }
  }

  /** A transaction that wants a key of an unlucky one gets it after that has ended. */
  @ParameterizedTest
  @EnumSource
  void waitersForTheSameKeyGetItAfterwards(Protocol protocol) throws Exception {
    try (Database db = Database.inMemory(options(protocol))) {
      Table<byte[], byte[]> hot = table(db, "hot", 1);
      List<Future<?>> others = new ArrayList<>();
      int[] asked = {0};
      unlucky(
          db,
          protocol,
          hot,
          0,
          tx -> {
            if (asked[0]++ == 0) {
              CountDownLatch inside = new CountDownLatch(8);
              for (int i = 0; i < 8; i++) {
                others.add(
                    threads.submit(
                        () -> {
                          inside.countDown();
                          db.run(t2 -> put(hot, t2, 0, get(hot, t2, 0) + 1));
                        }));
              }
              inside.await();
              LockSupport.parkNanos(50_000_000);
            }
          });
      for (Future<?> f : others) {
        await(f, "a waiter for the same key");
      }
      assertEquals(START + 9, (long) db.read(tx -> get(hot, tx, 0)));
      finish(db);
    }
  }

  /** Additional work in an unlucky body, which may wait. */
  private interface Body {
    void run(Transaction tx) throws Exception;
  }

  private static Options options(Protocol protocol) {
    return Options.defaults()
        .experiments(exp -> exp.protocol(protocol))
        .bufferBytes(32 << 20)
        .transactions(txs -> txs.maxActive(64).timeout(Duration.ofMinutes(4)));
  }

  private static Table<byte[], byte[]> table(Database db, String name, int keys) {
    Table<byte[], byte[]> t = db.table(TableSpec.bytes(name, 16)).bytes();
    db.run(
        tx -> {
          for (int k = 0; k < keys; k++) {
            put(t, tx, k, START);
          }
        });
    return t;
  }

  private static byte[] bytes(long v) {
    return ByteBuffer.allocate(8).putLong(v).array();
  }

  private static long get(Table<byte[], byte[]> t, Transaction tx, long key) {
    byte[] value = t.get(tx, bytes(key));
    assertNotNull(value);
    return ByteBuffer.wrap(value).getLong();
  }

  private static void put(Table<byte[], byte[]> t, Transaction tx, long key, long value) {
    t.put(tx, bytes(key), bytes(value));
  }

  private static void transfer(Database db, Table<byte[], byte[]> t, Random r, int keys) {
    int a = r.nextInt(keys);
    int b = (a + 1 + r.nextInt(keys - 1)) % keys;
    db.run(
        tx -> {
          put(t, tx, a, get(t, tx, a) - 1);
          put(t, tx, b, get(t, tx, b) + 1);
        });
  }

  /** Reads and writes; reverts its changes. */
  private static Void strangers(Database db, Table<byte[], byte[]> t, int from, int times) {
    for (int i = 0; i < times; i++) {
      int k = from + 10 + i % 80;
      assertEquals(START, (long) db.read(tx -> get(t, tx, k)));
      db.run(tx -> put(t, tx, k, get(t, tx, k)));
    }
    return null;
  }

  private static void bounded(int attempts) {
    assertTrue(attempts <= ATTEMPTS_MAX, "more than " + ATTEMPTS_MAX + " attempts");
  }

  private void rival(boolean virtual, Runnable work) {
    Runnable loop =
        () -> {
          while (!stop.get()) {
            work.run();
          }
        };
    background.add(virtual ? virtual(() -> run(loop)) : threads.submit(loop));
  }

  private static Void run(Runnable r) {
    r.run();
    return null;
  }

  private static <T> Future<T> virtual(java.util.concurrent.Callable<T> work) {
    java.util.concurrent.FutureTask<T> task = new java.util.concurrent.FutureTask<>(work);
    Thread.ofVirtual().start(task);
    return task;
  }

  private static <T> T await(Future<T> f, String what) throws Exception {
    try {
      return f.get(WAIT_SECONDS, TimeUnit.SECONDS);
    } catch (java.util.concurrent.TimeoutException e) {
      f.cancel(true);
      throw new AssertionError("timed out waiting for " + what);
    }
  }

  private static void awaitMore(AtomicLong counter, int n) {
    long enough = counter.get() + n;
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(WAIT_SECONDS);
    while (counter.get() < enough) {
      assertTrue(System.nanoTime() < end, "the other clients make no progress");
      LockSupport.parkNanos(100_000);
    }
  }

  /** Stops the rivals and checks that nothing is left locked. */
  private void finish(Database db) throws Exception {
    stop.set(true);
    for (Future<?> f : background) {
      await(f, "a rival to finish");
    }
    assertEquals(0, db.stats().activeTransactions());
    VerifyReport report = db.verify();
    assertTrue(report.ok(), report::toString);
  }

  /**
   * Increments a key, in a body whose first attempts are spoiled by a rival.
   *
   * @param body runs between reading and writing the key, from the first unspoiled attempt on
   * @return the number of attempts
   */
  private int unlucky(Database db, Protocol protocol, Table<byte[], byte[]> t, int key, Body body)
      throws Exception {
    AtomicInteger attempts = new AtomicInteger();
    db.run(
        tx -> {
          bounded(attempts.incrementAndGet());
          if (attempts.get() <= SPOILED) {
            spoil(db, protocol, t, tx, key);
            return;
          }
          long v = get(t, tx, key);
          body.run(tx);
          put(t, tx, key, v + 1);
        });
    return attempts.get();
  }

  /** Reads and writes a key such that this attempt cannot commit. */
  private void spoil(
      Database db, Protocol protocol, Table<byte[], byte[]> t, Transaction tx, int key)
      throws Exception {
    if (protocol == Protocol.TWO_PHASE_LOCKING) {
      // A reader blocks the writer, so the writer must come first.
      CountDownLatch locked = new CountDownLatch(1);
      CountDownLatch met = new CountDownLatch(1);
      Future<?> rival =
          threads.submit(
              () -> {
                try (Transaction r = db.begin()) {
                  put(t, r, key, get(t, r, key));
                  locked.countDown();
                  met.await();
                } finally {
                  locked.countDown();
                }
                return null;
              });
      try {
        locked.await();
        put(t, tx, key, get(t, tx, key) + 1_000_000);
      } finally {
        met.countDown();
        rival.get();
      }
    } else {
      long v = get(t, tx, key);
      threads
          .submit(
              () -> {
                try (Transaction r = db.begin()) {
                  put(t, r, key, get(t, r, key));
                  r.commit();
                }
                return null;
              })
          .get();
      put(t, tx, key, v + 1_000_000);
    }
  }
}
