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
 * Progress, under each protocol: a transaction that is aborted again and again commits after a
 * bounded number of attempts, and those that share nothing with it notice nothing of it.
 *
 * <p>An <em>unlucky</em> transaction is one whose first attempts all end in a conflict: {@link
 * #spoil} makes it, for each protocol, by what a rival does to the key that the body is at. From
 * attempt {@link #SPOILED} + 1 on it runs in whatever way the engine has for those that were
 * aborted too often.
 */
@Tag("slow")
class ProgressTest {
  /** As many attempts as make the engine treat a transaction as unlucky. */
  private static final int SPOILED = Options.defaults().transactions().pessimisticAfterAborts();

  /** No transaction needs more attempts than this, whatever happens around it. */
  private static final int ATTEMPTS_MAX = 200;

  /** Far more than anything here takes; who waits longer than this waits in vain. */
  private static final long WAIT_SECONDS = Long.getLong("progress.wait", 60);

  private static final long START = 1_000;

  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final AtomicBoolean stop = new AtomicBoolean();
  private final List<Future<?>> background = new ArrayList<>();

  @AfterEach
  void end() throws Exception {
    stop.set(true);
    threads.shutdown();
    assertTrue(threads.awaitTermination(WAIT_SECONDS, TimeUnit.SECONDS), "a thread does not end");
    for (Future<?> f : background) {
      f.get(); // what a rival threw fails the test
    }
  }

  // ------------------------------------------------------------------------------- starvation

  /** A transaction of 1,000 reads and 1 write, among 40 writers of what it reads. */
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
      awaitMore(moved, 100); // the others go on after it
      finish(db);
    }
  }

  /** The same many times in a row by four who also get into each other's way. */
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

  /** A scan of 8,000 records that only reads, beside writers that have a pace. */
  @ParameterizedTest
  @EnumSource
  void aLongScanBesidePacedWritersEnds(Protocol protocol) throws Exception {
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

  // ------------------------------------------------------------------- who has nothing to do with
  // it

  /** Clients of another table read and write while an unlucky transaction is inside of its body. */
  @ParameterizedTest
  @EnumSource
  void strangersOfAnotherTableAreNotKeptOut(Protocol protocol) throws Exception {
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

  /** The same for clients of the same table, of keys that are far from those that it uses. */
  @ParameterizedTest
  @EnumSource
  void clientsOfOtherKeysAreNotKeptOut(Protocol protocol) throws Exception {
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

  /** An unlucky transaction waits for no one who is merely slow. */
  @ParameterizedTest
  @EnumSource
  void anUnluckyOneDoesNotWaitForALongReaderOfOtherKeys(Protocol protocol) throws Exception {
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
        await(mine, "an unlucky one beside a long reader of another table");
      } finally {
        read.countDown();
      }
      reader.get();
      finish(db);
    }
  }

  /** Nor does an explicit transaction that somebody forgot change that. */
  @ParameterizedTest
  @EnumSource
  void anIdleExplicitTransactionDoesNotStarveAnUnluckyOne(Protocol protocol) throws Exception {
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

  // ------------------------------------------------------------------------------------ deadlocks

  /** A body may wait for another thread that runs a transaction on other keys. */
  @ParameterizedTest
  @EnumSource
  void aBodyMayWaitForAnothersTransaction(Protocol protocol) throws Exception {
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

  /** And that one may be unlucky itself: being unlucky needs nothing that only one can have. */
  @ParameterizedTest
  @EnumSource
  void aBodyMayWaitForAnotherUnluckyOne(Protocol protocol) throws Exception {
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

  /** Two whose bodies cross, beside rivals of both keys. */
  @ParameterizedTest
  @EnumSource
  void twoThatCrossBothFinish(Protocol protocol) throws Exception {
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
                          // Time for the rivals, and for the other one.
                          LockSupport.parkNanos(1_000_000);
                          put(t, tx, 1 - reads, get(t, tx, 1 - reads) + 1);
                        });
                    mine.incrementAndGet();
                  }
                  return null;
                }));
      }
      for (Future<?> f : both) {
        await(f, "one of two that cross");
      }
      assertEquals(2 * each, mine.get());
      finish(db);
      long sum = db.read(tx -> get(t, tx, 0) + get(t, tx, 1));
      assertEquals(2 * START + rivals.get() + mine.get(), sum);
    }
  }

  /** Two unlucky ones that hold what the other one wants: one of them gives way. */
  @ParameterizedTest
  @EnumSource
  void twoUnluckyOnesThatCrossBothFinish(Protocol protocol) throws Exception {
    try (Database db = Database.inMemory(options(protocol))) {
      Table<byte[], byte[]> t = table(db, "t", 2);
      // Once both have come to where each has one key, they ask for the other's. Who waits longer
      // than that for the other one goes on alone: it may be kept out for good reason.
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

  // ------------------------------------------------------------------------------ what is left of
  // it

  /** An unlucky one that throws leaves nothing locked. */
  @ParameterizedTest
  @EnumSource
  void anUnluckyOneThatThrowsLeavesNothing(Protocol protocol) throws Exception {
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
        assertEquals(before, db.stats().aborts(), "something is locked");
      }
      assertEquals(START, (long) db.read(tx -> get(hot, tx, 0)));
      finish(db);
    }
  }

  /** One that takes longer than its time limit is aborted, for that, and leaves nothing locked. */
  @ParameterizedTest
  @EnumSource
  void anUnluckyOneThatTakesTooLongLeavesNothing(Protocol protocol) throws Exception {
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

  /** Who wants the very key that an unlucky one holds gets it, once that one has ended. */
  @ParameterizedTest
  @EnumSource
  void whoWantsTheSameKeyGetsItAfterwards(Protocol protocol) throws Exception {
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
              LockSupport.parkNanos(50_000_000); // so that they meet it
            }
          });
      for (Future<?> f : others) {
        await(f, "one that wants the same key");
      }
      assertEquals(START + 9, (long) db.read(tx -> get(hot, tx, 0)));
      finish(db);
    }
  }

  // -------------------------------------------------------------------------------------- support

  /** What an unlucky body does besides; it may wait. */
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

  /** Reads and writes; what it does to a value it takes back. */
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
      throw new AssertionError("waited in vain for " + what);
    }
  }

  private static void awaitMore(AtomicLong counter, int n) {
    long enough = counter.get() + n;
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(WAIT_SECONDS);
    while (counter.get() < enough) {
      assertTrue(System.nanoTime() < end, "the others stand still");
      LockSupport.parkNanos(100_000);
    }
  }

  /** Stops the rivals, and looks whether anything is left of anybody. */
  private void finish(Database db) throws Exception {
    stop.set(true);
    for (Future<?> f : background) {
      await(f, "a rival to end");
    }
    assertEquals(0, db.stats().activeTransactions());
    VerifyReport report = db.verify();
    assertTrue(report.ok(), report::toString);
  }

  /**
   * Adds one to a key, in a body whose first attempts are spoiled by a rival.
   *
   * @param body what is done between reading and writing the key, from the first attempt on that no
   *     rival spoils
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

  /** Reads and writes a key, and sees to it that this can't commit. */
  private void spoil(
      Database db, Protocol protocol, Table<byte[], byte[]> t, Transaction tx, int key)
      throws Exception {
    if (protocol == Protocol.TWO_PHASE_LOCKING) {
      // A reader holds off the writer, so the writer has to be there first.
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
