package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.buffer.PoolConfig;
import io.fovea.config.Replacement;
import io.fovea.config.Translation;
import io.fovea.error.DuplicateKeyException;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import io.fovea.support.LockHolderProgress;
import io.fovea.support.Sample;
import io.fovea.support.SimDisk;
import io.fovea.support.SimStorage;
import io.fovea.support.TestEnvironment;
import io.fovea.support.UnreliableStorage;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.IntPredicate;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Invariants that hold only if transactions are serializable, with many threads. */
@Tag("slow")
class ConcurrencyTest {
  private static final int ACCOUNTS = 100;
  private static final long START = 1000;

  private static final Layout.Definition B = Layout.define();
  private static final Field BALANCE = B.int64("balance");
  private static final Field OWNER = B.int32("owner");
  private static final Layout LAYOUT = B.build();
  private static final TableSpec ACCOUNT =
      TableSpec.of("account", KeySpec.of(FieldType.INT32), LAYOUT)
          .with(IndexSpec.on("by_balance", BALANCE))
          .with(IndexSpec.on("by_owner", OWNER));

  @TempDir Path dir;

  /** Runs a job in several threads, each with its number; throws what any of them threw. */
  private static void inThreads(int n, boolean virtual, Job job) throws Exception {
    inThreads(n, id -> virtual, job);
  }

  private static void inThreads(int n, IntPredicate virtual, Job job) throws Exception {
    AtomicReference<Throwable> failure = new AtomicReference<>();
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < n; i++) {
      int id = i;
      ThreadFactory factory =
          virtual.test(id) ? Thread.ofVirtual().factory() : Thread.ofPlatform().factory();
      Thread t =
          factory.newThread(
              () -> {
                try {
                  job.run(id);
                } catch (Throwable e) {
                  failure.compareAndSet(null, e);
                }
              });
      threads.add(t);
      t.start();
    }
    for (Thread t : threads) {
      t.join();
    }
    if (failure.get() != null) {
      throw new AssertionError(failure.get());
    }
  }

  private interface Job {
    void run(int id) throws Exception;
  }

  private static void fill(Database db, RowTable t) {
    db.run(
        tx -> {
          Row row = t.row();
          for (int i = 0; i < ACCOUNTS; i++) {
            t.insert(tx, t.key().set(i), row.setLong(BALANCE, START).setInt(OWNER, i % 7));
          }
        });
  }

  private static long sum(Transaction tx, RowTable t) {
    long sum = 0;
    int n = 0;
    try (RowCursor c = t.scan(tx, Range.all(), ScanOrder.ASCENDING)) {
      while (c.next()) {
        sum += c.row().getLong(BALANCE);
        n++;
      }
    }
    assertEquals(ACCOUNTS, n);
    return sum;
  }

  private static long sumByIndex(Transaction tx, RowIndex index, ScanOrder order) {
    long sum = 0;
    int n = 0;
    long last = order == ScanOrder.ASCENDING ? Long.MIN_VALUE : Long.MAX_VALUE;
    try (RowCursor c = index.scan(tx, Range.all(), order)) {
      while (c.next()) {
        long balance = c.row().getLong(BALANCE);
        assertEquals(balance, c.indexKey().getLong(0));
        assertTrue(order == ScanOrder.ASCENDING ? balance >= last : balance <= last);
        last = balance;
        sum += balance;
        n++;
      }
    }
    assertEquals(ACCOUNTS, n);
    return sum;
  }

  private static void transfer(Database db, RowTable t, Random r, Key key, Row from, Row to) {
    int a = r.nextInt(ACCOUNTS);
    int b = (a + 1 + r.nextInt(ACCOUNTS - 1)) % ACCOUNTS;
    long amount = r.nextInt(50);
    db.run(
        tx -> {
          t.get(tx, key.set(a), from);
          t.get(tx, key.set(b), to);
          if (from.getLong(BALANCE) < amount) {
            tx.rollback();
            return;
          }
          t.update(tx, from.setLong(BALANCE, from.getLong(BALANCE) - amount));
          t.update(tx, to.setLong(BALANCE, to.getLong(BALANCE) + amount));
        });
  }

  /** Money moves between accounts; the sum over any index is constant. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void scansOfMovingMoneySumToAConstant(boolean virtual) throws Exception {
    Path file = dir.resolve("bank" + virtual);
    try (Database db =
        Database.open(
            file, Options.defaults().bufferBytes(4 << 20).transactions(txs -> txs.maxActive(8)))) {
      RowTable t = db.table(ACCOUNT);
      fill(db, t);
      AtomicBoolean stop = new AtomicBoolean();
      AtomicInteger movers = new AtomicInteger(3);
      inThreads(
          5,
          virtual,
          id -> {
            if (id < 3) {
              Random r = new Random(id);
              Key key = t.key();
              Row from = t.row();
              Row to = t.row();
              try {
                for (int i = 0; i < Sample.rounds(500, 1500); i++) {
                  transfer(db, t, r, key, from, to);
                }
              } finally {
                if (movers.decrementAndGet() == 0) {
                  stop.set(true);
                }
              }
            } else {
              int n = 0;
              while (!stop.get() || n < 3) {
                long expected = ACCOUNTS * START;
                assertEquals(expected, (long) db.read(tx -> sum(tx, t)));
                ScanOrder order = n % 2 == 0 ? ScanOrder.ASCENDING : ScanOrder.DESCENDING;
                assertEquals(
                    expected, (long) db.read(tx -> sumByIndex(tx, t.index("by_balance"), order)));
                n++;
                // Virtual threads that never wait starve the others: a thread that yields is
                // resumed before those that were unparked.
                java.util.concurrent.locks.LockSupport.parkNanos(1_000);
              }
            }
          });
      VerifyReport report = db.verify();
      assertTrue(report.ok(), report::toString);
      assertEquals(0, db.stats().activeTransactions());
    }
    assertTrue(io.fovea.FileVerifier.verify(file).ok());
  }

  @ParameterizedTest
  @EnumSource(Translation.class)
  void countersCountEveryIncrement(Translation translation) throws Exception {
    int threads = 4;
    int each = Sample.rounds(300, 600);
    try (Database db =
        Database.inMemory(
            Options.defaults()
                .bufferBytes(4 << 20)
                .experiments(exp -> exp.translation(translation)))) {
      RowTable t = db.table(ACCOUNT);
      fill(db, t);
      inThreads(
          threads,
          false,
          id -> {
            Key key = t.key();
            Row row = t.row();
            Random r = new Random(id);
            for (int i = 0; i < each; i++) {
              int account = r.nextInt(3);
              db.run(
                  tx -> {
                    t.get(tx, key.set(account), row);
                    t.update(tx, row.setLong(BALANCE, row.getLong(BALANCE) + 1));
                  });
            }
          });
      assertEquals(ACCOUNTS * START + threads * each, (long) db.read(tx -> sum(tx, t)));
    }
  }

  @Test
  void numbersAreUnique() throws Exception {
    int threads = 4;
    int each = 300;
    try (Database db = Database.inMemory(Options.defaults().bufferBytes(4 << 20))) {
      RowTable t = db.table(ACCOUNT);
      inThreads(
          threads,
          true,
          id -> {
            Row row = t.row();
            Key key = t.key();
            for (int i = 0; i < each; i++) {
              db.run(
                  tx -> {
                    int next = 0;
                    try (RowCursor c = t.scan(tx, Range.all(), ScanOrder.DESCENDING)) {
                      if (c.next()) {
                        next = c.key().getInt(0) + 1;
                      }
                    }
                    t.insert(tx, key.set(next), row.setInt(OWNER, id));
                  });
            }
          });
      db.read(
          tx -> {
            int expected = 0;
            try (RowCursor c = t.scan(tx, Range.all(), ScanOrder.ASCENDING)) {
              while (c.next()) {
                assertEquals(expected++, c.key().getInt(0));
              }
            }
            assertEquals(threads * each, expected);
            return null;
          });
      assertTrue(db.verify().ok());
    }
  }

  @Test
  void uniqueValueBelongsToOneRecord() throws Exception {
    TableSpec spec =
        TableSpec.of("u", KeySpec.of(FieldType.INT32, FieldType.INT32), LAYOUT)
            .with(IndexSpec.unique("by_balance", BALANCE));
    try (Database db = Database.inMemory(Options.defaults().bufferBytes(4 << 20))) {
      RowTable t = db.table(spec);
      AtomicInteger won = new AtomicInteger();
      int values = 200;
      inThreads(
          4,
          false,
          id -> {
            Row row = t.row();
            Key key = t.key();
            for (int i = 0; i < values; i++) {
              int value = i;
              try {
                db.run(tx -> t.insert(tx, key.set(id, value), row.setLong(BALANCE, value)));
                won.incrementAndGet();
              } catch (DuplicateKeyException e) {
                assertTrue(e.getMessage().contains("by_balance"));
              }
            }
          });
      assertEquals(values, won.get());
      VerifyReport report = db.verify();
      assertTrue(report.ok(), report::toString);
      assertEquals(values, report.records());
    }
  }

  /** Write skew: of two transactions that each check that the other is absent, at most one acts. */
  @Test
  void writeSkewIsImpossible() throws Exception {
    try (Database db = Database.inMemory(Options.defaults().bufferBytes(4 << 20))) {
      RowTable t = db.table(ACCOUNT);
      int rounds = Sample.rounds(150, 300);
      inThreads(
          3,
          false,
          id -> {
            Row row = t.row();
            for (int i = 0; i < rounds; i++) {
              int round = i;
              db.run(
                  tx -> {
                    // Whether another one is registered for this round; overlooking it is a
                    // phantom.
                    boolean taken;
                    Key key = t.index("by_owner").key().set(round);
                    try (RowCursor c =
                        t.index("by_owner").scan(tx, Range.prefix(key), ScanOrder.ASCENDING)) {
                      taken = c.next();
                    }
                    if (!taken) {
                      t.insert(tx, t.key().set(round * 10 + id), row.clear().setInt(OWNER, round));
                    }
                  });
            }
          });
      VerifyReport report = db.verify();
      assertTrue(report.ok(), report::toString);
      assertEquals(rounds, report.records());
    }
  }

  @Test
  void interruptsAreHarmless() throws Exception {
    Path file = dir.resolve("interrupts");
    try (Database db = Database.open(file, Options.defaults().bufferBytes(2 << 20))) {
      RowTable t = db.table(ACCOUNT);
      fill(db, t);
      AtomicBoolean stop = new AtomicBoolean();
      List<Thread> workers = java.util.Collections.synchronizedList(new ArrayList<>());
      Thread interrupter =
          Thread.ofPlatform()
              .start(
                  () -> {
                    while (!stop.get()) {
                      synchronized (workers) {
                        workers.forEach(Thread::interrupt);
                      }
                      java.util.concurrent.locks.LockSupport.parkNanos(1_000_000);
                    }
                  });
      try {
        inThreads(
            3,
            false,
            id -> {
              workers.add(Thread.currentThread());
              Random r = new Random(id);
              Key key = t.key();
              Row from = t.row();
              Row to = t.row();
              for (int i = 0; i < Sample.rounds(200, 400); i++) {
                transfer(db, t, r, key, from, to);
              }
            });
      } finally {
        stop.set(true);
        interrupter.join();
      }
      assertEquals(ACCOUNTS * START, (long) db.read(tx -> sum(tx, t)));
    }
    assertTrue(io.fovea.FileVerifier.verify(file).ok());
  }

  private static final int GROUP = 40;
  private static final KeySpec.Definition K = KeySpec.define();
  private static final Field IN_GROUP = K.int32("group");
  private static final Field NUMBER = K.int32("number");
  private static final KeySpec WIDE_KEY = K.build();
  private static final Layout.Definition W = Layout.define();
  private static final Field MONEY = W.int64("money");
  private static final Field COUNT = W.int32("count");
  private static final Field PAD = W.bytes("pad", 200);
  private static final TableSpec WIDE =
      TableSpec.of("wide", WIDE_KEY, W.build()).with(IndexSpec.on("by_money", IN_GROUP, MONEY));

  /**
   * Eight threads, half of them virtual, work on data several times larger than the pool. Money
   * moves within groups, group sums are constant, and increments count once. Any exception fails
   * the test, {@code PoolExhaustedException} included.
   */
  @ParameterizedTest
  @EnumSource
  void moneyIsConservedInAllEnvironments(TestEnvironment environment) {
    environment.each(
        1,
        (deviceState, seed) -> {
          SimDisk disk = new SimDisk(seed);
          UnreliableStorage storage = new UnreliableStorage(new SimStorage(disk), deviceState);
          Options options = options(environment);
          deviceState.faults(false);
          Database db = SimDatabase.open(storage, options, environment);
          try {
            RowTable t = db.table(WIDE);
            int groups = 60 * (environment.pageSize() / 4096);
            fillGroups(db, t, groups);
            deviceState.faults(true);
            AtomicInteger increments = new AtomicInteger();
            inThreads(
                8, id -> id % 2 == 1, id -> work(id, seed, environment, db, t, groups, increments));
            deviceState.faults(false);
            checkGroups(db, t, groups, increments.get());
            VerifyReport report = db.verify();
            assertTrue(report.ok(), report::toString);
            assertTrue(
                !environment.smallest() || db.stats().buffer().misses() > 1000,
                "the data fits into the pool");
          } finally {
            db.close();
          }
          try (Database again = SimDatabase.open(storage, options)) {
            assertTrue(again.verify().ok());
          }
        });
  }

  private static Options options(TestEnvironment environment) {
    long least =
        PoolConfig.bytesMin(
            environment.pageSize(),
            io.fovea.config.Translation.PREDICTIVE,
            Replacement.SECOND_CHANCE);
    return Options.defaults()
        .device(dev -> dev.pageSize(environment.pageSize()))
        .bufferBytes(environment.smallest() ? least : 4 << 20)
        .memory(mem -> mem.timestampBytes(4 << 20))
        .log(log -> log.maxBytes(2 << 20).bufferBytes(256 << 10).segmentBytes(128 << 10));
  }

  /**
   * As many threads as the smallest pool has frames, each of which needs several to split nodes.
   * They wait for each other, and every wait ends.
   */
  @Test
  void asManyThreadsAsFrames() {
    TestEnvironment environment = TestEnvironment.SMALLEST_AND_SHUFFLED;
    int threads = PoolConfig.FRAMES_MIN;
    int each = 30;
    environment.each(
        1,
        (deviceState, seed) -> {
          UnreliableStorage storage =
              new UnreliableStorage(new SimStorage(new SimDisk(seed)), deviceState);
          Options options = options(environment).transactions(txs -> txs.maxActive(threads));
          try (Database db = SimDatabase.open(storage, options)) {
            RowTable t = db.table(WIDE);
            inThreads(
                threads,
                id -> id % 2 == 1,
                id -> {
                  Random r = new Random(seed * threads + id);
                  Key key = t.key();
                  Row row = t.row();
                  for (int i = 0; i < each; i++) {
                    int n = i * threads + id;
                    long money = r.nextLong();
                    db.run(
                        tx ->
                            t.insert(
                                tx,
                                key.set(r.nextInt(), n),
                                row.clear().setLong(MONEY, money).setBytes(PAD, new byte[200])));
                  }
                });
            VerifyReport report = db.verify();
            assertTrue(report.ok(), report::toString);
            assertEquals(threads * each, report.records());
          }
        });
  }

  private static void fillGroups(Database db, RowTable t, int groups) {
    for (int g = 0; g < groups; g++) {
      int group = g;
      db.run(
          tx -> {
            Row row = t.row();
            for (int n = 0; n < GROUP; n++) {
              row.clear().setLong(MONEY, START).setBytes(PAD, new byte[200]);
              t.insert(tx, t.key().set(group, n), row);
            }
          });
    }
  }

  private static void work(
      int id,
      long seed,
      TestEnvironment environment,
      Database db,
      RowTable t,
      int groups,
      AtomicInteger increments) {
    Random r = new Random(seed * 8 + id);
    Key key = t.key();
    Row from = t.row();
    Row to = t.row();
    for (int i = environment.steps(Sample.rounds(200, 400)); i > 0; i--) {
      int group = r.nextInt(groups);
      int a = r.nextInt(GROUP);
      int b = (a + 1 + r.nextInt(GROUP - 1)) % GROUP;
      int what = r.nextInt(8);
      long amount = r.nextInt(50);
      environment.patiently(
          () -> {
            if (what == 0) {
              assertEquals(GROUP * START, (long) db.read(tx -> groupSum(tx, t, group)));
            } else if (what == 1) {
              assertEquals(GROUP * START, (long) db.read(tx -> groupSumByIndex(tx, t, group)));
            } else if (what < 5) {
              db.run(
                  tx -> {
                    t.getForUpdate(tx, key.set(group, a), from);
                    t.update(tx, from.setInt(COUNT, from.getInt(COUNT) + 1));
                  });
              increments.incrementAndGet();
            } else {
              db.run(
                  tx -> {
                    t.get(tx, key.set(group, a), from);
                    t.get(tx, key.set(group, b), to);
                    t.update(tx, from.setLong(MONEY, from.getLong(MONEY) - amount));
                    t.update(tx, to.setLong(MONEY, to.getLong(MONEY) + amount));
                  });
            }
          });
    }
  }

  private static long groupSum(Transaction tx, RowTable t, int group) {
    return sumOf(t.scan(tx, Range.prefix(t.key().set(group)), ScanOrder.ASCENDING));
  }

  private static long groupSumByIndex(Transaction tx, RowTable t, int group) {
    RowIndex index = t.index("by_money");
    return sumOf(index.scan(tx, Range.prefix(index.key().set(group)), ScanOrder.DESCENDING));
  }

  private static long sumOf(RowCursor cursor) {
    long sum = 0;
    int n = 0;
    try (cursor) {
      while (cursor.next()) {
        sum += cursor.row().getLong(MONEY);
        n++;
      }
    }
    assertEquals(GROUP, n);
    return sum;
  }

  private static void checkGroups(Database db, RowTable t, int groups, int increments) {
    db.read(
        tx -> {
          int count = 0;
          for (int g = 0; g < groups; g++) {
            assertEquals(GROUP * START, groupSum(tx, t, g));
            assertEquals(GROUP * START, groupSumByIndex(tx, t, g));
          }
          try (RowCursor c = t.scan(tx, Range.all(), ScanOrder.ASCENDING)) {
            while (c.next()) {
              assertTrue(c.key().getInt(NUMBER) < GROUP);
              count += c.row().getInt(COUNT);
            }
          }
          assertEquals(increments, count);
          return null;
        });
  }

  /** One transaction at a time, whose thread sleeps within it. */
  @Test
  @Timeout(value = 2, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
  void waitersForAdmissionYieldTheirCarrier() throws InterruptedException {
    Options options =
        Options.defaults()
            .bufferBytes(1 << 20)
            .transactions(txs -> txs.maxActive(1).timeout(Duration.ZERO));
    try (Database db = Database.inMemory(options)) {
      AtomicReference<Transaction> active = new AtomicReference<>();
      LockHolderProgress.check(
          () -> active.set(db.begin()),
          () -> Objects.requireNonNull(active.getAndSet(null)).rollback());
    }
  }
}
