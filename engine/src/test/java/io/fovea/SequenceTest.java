package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Durability;
import io.fovea.config.Protocol;
import io.fovea.error.AbortCause;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.IncompatibleSchemaException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.OperationInterruptedException;
import io.fovea.error.SequenceExhaustedException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.schema.SequenceSpec;
import io.fovea.schema.TableSpec;
import io.fovea.support.SimDisk;
import io.fovea.support.SimStorage;
import java.math.BigInteger;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiConsumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Sequences return each value once, in order, and are created, dropped and kept like tables. */
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class SequenceTest {
  private static final SequenceSpec ORDERS = SequenceSpec.of("orders").cached(10);

  private final SimDisk disk = new SimDisk(1);

  private static Options options() {
    return Options.defaults().bufferBytes(4 << 20).device(dev -> dev.pageSize(4096));
  }

  private Database open() {
    return SimDatabase.open(new SimStorage(disk), options());
  }

  // ----- values

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 10, 1000})
  void valuesAreConsecutive(int cached) {
    try (Database db = open()) {
      Sequence s = db.sequence(ORDERS.cached(cached));
      for (long i = 1; i <= 100; i++) {
        assertEquals(i, s.peek());
        assertEquals(i, s.next());
      }
      assertEquals(101, s.next(30));
      assertEquals(131, s.next());
      assertEquals(132, s.next(1));
      s.skipTo(100);
      assertEquals(133, s.next());
      s.skipTo(134);
      assertEquals(134, s.next());
      s.skipTo(100_000);
      assertEquals(100_000, s.next());
      assertEquals(Long.MAX_VALUE - 100_000, s.remaining());
      assertEquals("orders", s.name());
      assertThrows(InvalidUseException.class, () -> s.next(0));
    }
    try (Database db = open()) {
      assertEquals(100_001, db.sequence("orders").next(), "a close skips nothing");
    }
  }

  @Test
  void stepsAndEnds() {
    try (Database db = open()) {
      Sequence s = db.sequence(SequenceSpec.of("s").from(-7).upTo(12).by(5).cached(3));
      assertEquals(4, s.remaining());
      assertEquals(-7, s.next());
      SequenceExhaustedException few =
          assertThrows(SequenceExhaustedException.class, () -> s.next(4));
      assertEquals(3, few.remaining());
      assertEquals(
          "The sequence s from -7 to 12 by 5, 3 cached, has only 3 of 4 values left. Call "
              + "Database.alterSequence with a range that begins after this one.",
          few.getMessage());
      s.skipTo(-1);
      assertEquals(3, s.next());
      assertEquals(8, s.next());
      for (int i = 0; i < 3; i++) {
        assertEquals(0, assertThrows(SequenceExhaustedException.class, s::next).remaining());
      }
      assertEquals("s", assertThrows(SequenceExhaustedException.class, s::peek).sequence());
      assertEquals(0, s.remaining());
      assertThrows(SequenceExhaustedException.class, () -> s.next(1));
      s.skipTo(13);
      assertThrows(InvalidUseException.class, () -> s.skipTo(18));
    }
    try (Database db = open()) {
      assertThrows(SequenceExhaustedException.class, () -> db.sequence("s").next());
    }
  }

  @Test
  void limitsOfLong() {
    try (Database db = open()) {
      Sequence high = db.sequence(SequenceSpec.of("high").from(Long.MAX_VALUE - 1));
      assertEquals(Long.MAX_VALUE - 1, high.next());
      assertEquals(Long.MAX_VALUE, high.next());
      assertThrows(SequenceExhaustedException.class, high::next);
      Sequence all = db.sequence(SequenceSpec.of("all").from(Long.MIN_VALUE));
      assertEquals(Long.MIN_VALUE, all.next());
      all.skipTo(-5);
      assertEquals(-5, all.next());
      SequenceSpec wide = SequenceSpec.of("wide").from(Long.MIN_VALUE).by(Long.MAX_VALUE);
      assertEquals(3, wide.values());
      Sequence w = db.sequence(wide);
      assertEquals(Long.MIN_VALUE, w.next());
      assertEquals(-1, w.next());
      assertEquals(Long.MAX_VALUE - 1, w.next());
      assertThrows(SequenceExhaustedException.class, w::next);
      Sequence one = db.sequence(SequenceSpec.of("one").from(5).upTo(5));
      assertEquals(5, one.next());
      assertThrows(SequenceExhaustedException.class, one::next);
    }
  }

  @Test
  void invalidSequencesAreRefused() {
    for (Callable<?> bad :
        List.<Callable<?>>of(
            () -> SequenceSpec.of(""),
            () -> SequenceSpec.of("x").upTo(0),
            () -> SequenceSpec.of("x").by(0),
            () -> SequenceSpec.of("x").by(-1),
            () -> SequenceSpec.of("x").cached(0),
            () -> SequenceSpec.of("x").cached(SequenceSpec.CACHED_MAX + 1))) {
      assertThrows(IllegalArgumentException.class, bad::call);
    }
    try (Database db = open()) {
      db.sequence(ORDERS);
      assertThrows(IncompatibleSchemaException.class, () -> db.sequence(ORDERS.from(2)));
      assertThrows(IncompatibleSchemaException.class, () -> db.sequence(ORDERS.by(2)));
      assertThrows(IncompatibleSchemaException.class, () -> db.sequence(ORDERS.upTo(9)));
      assertEquals(77, db.sequence(ORDERS.cached(77)).spec().cached());
      assertEquals(77, db.sequence("orders").spec().cached());
    }
  }

  /** Ranges of all kinds, compared with arithmetic that does not overflow. */
  @Test
  void rangesMatchExactArithmetic() {
    Random random = new Random(7);
    long[] ends = {
      Long.MIN_VALUE, Long.MIN_VALUE + 1, -1, 0, 1, Long.MAX_VALUE - 1, Long.MAX_VALUE
    };
    try (Database db = open()) {
      for (int n = 0; n < 300; n++) {
        long a = random.nextBoolean() ? ends[random.nextInt(ends.length)] : random.nextLong();
        long b = random.nextBoolean() ? a + random.nextInt(50) : random.nextLong();
        long first = Math.min(a, b);
        long last = Math.max(a, b);
        long step = random.nextBoolean() ? 1 + random.nextInt(9) : random.nextLong() >>> 1 | 1;
        SequenceSpec spec = new SequenceSpec("s" + n, first, last, step, 1 + random.nextInt(5));
        BigInteger values =
            BigInteger.valueOf(last)
                .subtract(BigInteger.valueOf(first))
                .divide(BigInteger.valueOf(step))
                .add(BigInteger.ONE)
                .min(BigInteger.valueOf(Long.MAX_VALUE));
        assertEquals(values.longValueExact(), spec.values(), spec::toString);
        Sequence s = db.sequence(spec);
        long count = Math.min(20, spec.values());
        for (long i = 0; i < count; i++) {
          assertEquals(first + i * step, s.next());
        }
        if (count == spec.values()) {
          assertThrows(SequenceExhaustedException.class, s::next);
        }
        // The first value that is not below a random value of the range.
        long to = first + (long) ((last - first) * random.nextDouble());
        if (to >= first && to <= last && spec.values() > count) {
          BigInteger next =
              BigInteger.valueOf(to)
                  .subtract(BigInteger.valueOf(first))
                  .add(BigInteger.valueOf(step - 1))
                  .divide(BigInteger.valueOf(step))
                  .max(BigInteger.valueOf(count));
          if (next.compareTo(BigInteger.valueOf(spec.values())) < 0) {
            s.skipTo(to);
            assertEquals(first + next.longValueExact() * step, s.peek(), spec + " to " + to);
          }
        }
      }
    }
  }

  /** Each value is returned once, and values ascend in each thread. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void manyThreads(boolean virtual) throws Exception {
    int threads = virtual ? 200 : 4;
    int each = virtual ? 100 : 20_000;
    try (Database db = open();
        ExecutorService pool =
            virtual
                ? Executors.newVirtualThreadPerTaskExecutor()
                : Executors.newFixedThreadPool(threads)) {
      Sequence s = db.sequence(ORDERS.cached(64));
      List<Future<long[]>> all = new ArrayList<>();
      for (int t = 0; t < threads; t++) {
        boolean rows = t % 2 == 0;
        all.add(
            pool.submit(
                () -> {
                  long[] mine = new long[each];
                  for (int i = 0; i < each; i++) {
                    mine[i] = rows || i % 7 != 0 ? s.next() : s.next(3);
                  }
                  return mine;
                }));
      }
      BitSet seen = new BitSet();
      for (Future<long[]> f : all) {
        long before = 0;
        for (long v : f.get()) {
          assertTrue(v > before, "not above the previous value");
          assertFalse(seen.get((int) v), "returned twice");
          seen.set((int) v);
          before = v;
        }
      }
      assertEquals(threads * each, seen.cardinality());
    }
  }

  // ----- the catalog

  @Test
  void sequencesAreCreatedAndDropped() {
    String name = "ü".repeat(200); // too long for the key of its record
    try (Database db = open()) {
      assertEquals(List.of(), db.sequences());
      assertNull(db.describeSequence("orders"));
      assertFalse(db.dropSequence("orders"));
      Sequence s = db.sequence("orders");
      db.sequence(name).next();
      db.table(TableSpec.bytes("orders", 8)); // tables have a separate namespace
      assertEquals(List.of("orders", name), db.sequences());
      assertEquals(SequenceSpec.of("orders"), db.describeSequence("orders"));
      assertEquals(1, s.next());
      assertTrue(db.dropSequence("orders"));
      assertEquals(
          "Sequence orders was dropped. Open it again.",
          assertThrows(InvalidUseException.class, s::next).getMessage());
      assertThrows(InvalidUseException.class, () -> s.next(2));
      assertThrows(InvalidUseException.class, s::peek);
      assertEquals(List.of(name), db.sequences());
      assertEquals(1, db.sequence(ORDERS).next());
      assertTrue(db.verify().ok());
    }
    try (Database db = open()) {
      assertEquals(List.of("orders", name), db.sequences());
      assertEquals(2, db.sequence(name).next());
      assertEquals(ORDERS, db.describeSequence("orders"));
    }
  }

  @ParameterizedTest
  @EnumSource
  void inTransactions(Protocol protocol) {
    Options o = options().experiments(exp -> exp.protocol(protocol));
    try (Database db = SimDatabase.open(new SimStorage(disk), o)) {
      Sequence[] made = new Sequence[3];
      db.run(
          tx -> {
            Table<byte[], byte[]> t = tx.table(TableSpec.bytes("t", 8)).bytes();
            made[0] = tx.sequence(ORDERS);
            for (int i = 1; i <= 25; i++) {
              assertEquals(i, made[0].next());
            }
            assertEquals(26, made[0].next(5));
            assertEquals(List.of(), db.sequences());
            assertEquals(31, tx.sequence(ORDERS).next());
            t.put(tx, new byte[] {1}, new byte[] {1});
          });
      assertEquals(32, made[0].next());
      assertEquals(33, db.sequence(ORDERS).next());
      assertThrows(
          IllegalStateException.class,
          () ->
              db.run(
                  tx -> {
                    assertTrue(tx.dropSequence("orders"));
                    assertFalse(tx.dropSequence("orders"));
                    made[1] = tx.sequence(ORDERS.from(500));
                    assertEquals(500, made[1].next());
                    throw new IllegalStateException();
                  }));
      assertEquals(34, made[0].next());
      assertEquals(
          "Sequence orders was created by a transaction that did not commit. Open it again.",
          assertThrows(InvalidUseException.class, made[1]::next).getMessage());
      db.run(
          tx -> {
            assertTrue(tx.dropSequence("orders"));
            made[2] = tx.sequence(ORDERS.from(500));
            assertEquals(500, made[2].next());
          });
      assertThrows(InvalidUseException.class, made[0]::next);
      assertEquals(501, made[2].next());
      db.run(
          tx -> {
            Sequence s = tx.sequence(SequenceSpec.of("short"));
            assertEquals(1, s.next());
            assertTrue(tx.dropSequence("short"));
            assertThrows(InvalidUseException.class, s::next);
            assertFalse(tx.dropSequence("short"));
          });
      assertEquals(List.of("orders"), db.sequences());
      assertTrue(db.verify().ok());
    }
    try (Database db = open()) {
      assertEquals(502, db.sequence("orders").next());
    }
  }

  @Test
  void renamedAndAltered() {
    String name = "ü".repeat(200);
    try (Database db = open()) {
      assertFalse(db.renameSequence("a", "b"));
      assertFalse(db.alterSequence(SequenceSpec.of("a")));
      Sequence a = db.sequence("a");
      Sequence b = db.sequence("b");
      assertEquals(1, a.next());
      assertTrue(
          assertThrows(InvalidUseException.class, () -> db.renameSequence("a", "b"))
              .getMessage()
              .contains("sequence b"));
      assertTrue(db.renameSequence("a", "a"));
      assertTrue(db.renameSequence("a", name));
      assertEquals(name, a.name());
      assertEquals(2, a.next());
      assertEquals(3, db.sequence(name).next());
      assertNull(db.describeSequence("a"));
      SequenceSpec other = SequenceSpec.of("b").from(-10).upTo(-8).by(2);
      assertEquals(1, b.next());
      assertTrue(db.alterSequence(other));
      assertEquals(other, b.spec());
      assertEquals(other, db.describeSequence("b"));
      assertEquals(-10, b.peek());
      assertEquals(2, b.remaining());
      assertEquals(-10, b.next(2));
      assertThrows(SequenceExhaustedException.class, b::next);
      // An exhausted sequence continues, even after several changes.
      assertTrue(db.alterSequence(other.upTo(100).from(7)));
      assertTrue(db.alterSequence(db.describeSequence("b").from(50)));
      assertEquals(50, b.next());
      b.skipTo(60);
      assertEquals("Sequence[sequence b from 50 to 100 by 2, 1000 cached]", b.toString());
      assertThrows(IncompatibleSchemaException.class, () -> db.sequence(other));
      assertTrue(db.dropSequence("b"));
      assertThrows(InvalidUseException.class, b::next);
      assertEquals(1, db.sequence("b").next());
      assertTrue(db.verify().ok());
    }
    try (Database db = open()) {
      assertEquals(List.of("b", name), db.sequences());
      assertEquals(4, db.sequence(name).next());
      assertEquals(2, db.sequence("b").next());
    }
  }

  @ParameterizedTest
  @EnumSource
  void renamedAndAlteredInTransactions(Protocol protocol) {
    Options o = options().experiments(exp -> exp.protocol(protocol));
    try (Database db = SimDatabase.open(new SimStorage(disk), o)) {
      Sequence a = db.sequence("a");
      Sequence b = db.sequence(SequenceSpec.of("b").from(100));
      Sequence[] altered = new Sequence[2];
      a.next();
      assertThrows(
          IllegalStateException.class,
          () ->
              db.run(
                  tx -> {
                    assertTrue(tx.renameSequence("a", "c"));
                    assertFalse(tx.renameSequence("a", "d"));
                    assertEquals(2, tx.sequence(SequenceSpec.of("c")).next());
                    altered[0] = tx.alterSequence(SequenceSpec.of("b").from(900));
                    assertNotNull(altered[0]);
                    assertEquals(900, altered[0].next());
                    assertEquals(100, b.next());
                    assertNull(tx.alterSequence(SequenceSpec.of("a")));
                    throw new IllegalStateException();
                  }));
      assertEquals(List.of("a", "b"), db.sequences());
      assertEquals("a", a.name());
      assertEquals(3, a.next());
      assertEquals(101, b.next());
      assertThrows(InvalidUseException.class, altered[0]::next);
      // Two sequences swap names, and one restarts.
      db.run(
          tx -> {
            assertTrue(tx.renameSequence("a", "c"));
            assertTrue(tx.renameSequence("b", "a"));
            assertThrows(InvalidUseException.class, () -> tx.renameSequence("a", "c"));
            assertTrue(tx.renameSequence("c", "b"));
            altered[1] = tx.alterSequence(SequenceSpec.of("b").from(500));
            assertNotNull(altered[1]);
            assertEquals(500, altered[1].next());
            assertEquals(4, a.next());
          });
      assertEquals("b", a.name());
      assertEquals(501, a.next());
      assertEquals("a", b.name());
      assertEquals(102, b.next());
      db.run(
          tx -> {
            Sequence n = tx.sequence(SequenceSpec.of("n"));
            assertEquals(1, n.next());
            assertTrue(tx.renameSequence("n", "m"));
            assertEquals("m", n.name());
            Sequence m = tx.alterSequence(SequenceSpec.of("m").from(10));
            assertNotNull(m);
            assertEquals(10, m.next());
            assertEquals(11, n.next());
            assertNotNull(tx.alterSequence(SequenceSpec.of("b").from(700)));
            assertTrue(tx.dropSequence("b"));
          });
      assertThrows(InvalidUseException.class, a::next);
      assertEquals(List.of("a", "m"), db.sequences());
      assertTrue(db.verify().ok());
    }
    try (Database db = open()) {
      assertEquals(103, db.sequence("a").next());
      assertEquals(12, db.sequence("m").next());
    }
  }

  /** Threads that take values during changes get each one once, from the old or the new range. */
  @Test
  void alteredWhileInUse() throws Exception {
    try (Database db = Database.inMemory(options());
        ExecutorService pool = Executors.newFixedThreadPool(3)) {
      Sequence s = db.sequence(SequenceSpec.of("s").cached(10));
      AtomicBoolean over = new AtomicBoolean();
      Set<Long> seen = ConcurrentHashMap.newKeySet();
      List<Future<?>> takers = new ArrayList<>();
      for (int i = 0; i < 2; i++) {
        int n = i + 1;
        takers.add(
            pool.submit(
                () -> {
                  while (!over.get()) {
                    long v = s.next(n);
                    for (int k = 0; k < n; k++) {
                      assertTrue(seen.add(v + k), () -> "returned twice: " + v);
                    }
                  }
                }));
      }
      for (int round = 1; round <= 40; round++) {
        SequenceSpec next = SequenceSpec.of(s.name()).from(round * 1_000_000L).cached(10);
        assertTrue(db.alterSequence(next));
        assertTrue(s.next() >= next.first());
        String to = "s" + round;
        db.run(tx -> tx.renameSequence(s.name(), to));
      }
      over.set(true);
      for (Future<?> f : takers) {
        f.get(60, TimeUnit.SECONDS);
      }
      assertEquals(List.of("s40"), db.sequences());
    }
  }

  /** A transaction that has looked up a sequence depends on its existence or absence. */
  @ParameterizedTest
  @EnumSource
  void lookupsAreValidatedAtCommit(Protocol protocol) throws Exception {
    try (Database db = Database.inMemory(options().experiments(exp -> exp.protocol(protocol)));
        ExecutorService other = Executors.newSingleThreadExecutor()) {
      Transaction tx = db.begin();
      tx.sequence(ORDERS).next();
      other.submit(() -> db.sequence(ORDERS).next()).get();
      AbortCause cause = assertThrows(TransactionAbortedException.class, tx::commit).abortCause();
      assertEquals(AbortCause.CATALOG, cause);
      Transaction drops = db.begin();
      drops.dropSequence("orders");
      other.submit(() -> db.dropSequence("orders")).get();
      assertThrows(TransactionAbortedException.class, drops::commit);
      assertEquals(List.of(), db.sequences());
    }
  }

  /** Values taken in bodies cause no conflict; those of a rolled-back body are skipped. */
  @Test
  void noConflicts() {
    try (Database db = open()) {
      Sequence s = db.sequence(ORDERS.cached(3));
      Table<byte[], byte[]> t = db.table(TableSpec.bytes("t", 8)).bytes();
      long retries = db.stats().retries();
      for (int i = 0; i < 50; i++) {
        byte[] key = {(byte) i};
        db.run(tx -> t.insert(tx, key, Long.toString(s.next()).getBytes()));
      }
      assertThrows(
          IllegalStateException.class,
          () ->
              db.run(
                  tx -> {
                    assertEquals(51, s.next());
                    throw new IllegalStateException();
                  }));
      assertEquals(52, s.next());
      assertEquals(retries, db.stats().retries());
    }
  }

  // ----- concurrency

  /** A body that needs a block of values aborts if another thread holds the schema unchanged. */
  @Test
  void aBodyYieldsToASchemaLock() throws Exception {
    try (Database db = open();
        ExecutorService other = Executors.newSingleThreadExecutor()) {
      Sequence s = db.sequence(ORDERS.cached(1));
      CountDownLatch has = new CountDownLatch(1);
      CountDownLatch end = new CountDownLatch(1);
      Runnable holds =
          () -> {
            has.countDown();
            try {
              end.await();
            } catch (InterruptedException e) {
              throw new IllegalStateException(e);
            }
          };
      Future<?> all = other.submit(() -> db.schema().whileFrozen(holds));
      has.await();
      List<AbortCause> causes = new ArrayList<>();
      db.run(
          tx -> {
            if (tx.previousAbort() != null) {
              causes.add(tx.previousAbort());
              end.countDown();
              all.get();
            }
            s.next();
          });
      assertEquals(List.of(AbortCause.CATALOG), causes);
    }
  }

  @Test
  void aBodyContinuesWhileOthersWaitForIt() throws Exception {
    try (Database db = open()) {
      Sequence s = db.sequence(ORDERS.cached(1));
      Thread[] waits = new Thread[1];
      db.run(
          tx -> {
            assertEquals(null, tx.previousAbort());
            waits[0] =
                Thread.ofPlatform().start(() -> db.schema().whileQuiescent("wait", () -> {}));
            do {
              s.next();
            } while (Arrays.stream(waits[0].getStackTrace())
                .noneMatch(e -> e.getMethodName().equals("beginAlone")));
            s.next();
          });
      waits[0].join();
    }
  }

  @Test
  void interruptSkipsAtMostOneValue() throws Exception {
    try (Database db = open();
        ExecutorService other = Executors.newSingleThreadExecutor()) {
      Sequence s = db.sequence(ORDERS.cached(1));
      CountDownLatch has = new CountDownLatch(1);
      CountDownLatch end = new CountDownLatch(1);
      Future<?> holds =
          other.submit(
              () ->
                  db.schema()
                      .whileFrozen(
                          () -> {
                            has.countDown();
                            try {
                              end.await();
                            } catch (InterruptedException e) {
                              throw new IllegalStateException(e);
                            }
                          }));
      has.await();
      Thread.currentThread().interrupt();
      assertThrows(OperationInterruptedException.class, s::next);
      assertTrue(Thread.interrupted());
      end.countDown();
      holds.get();
      assertEquals(2, s.next());
    }
  }

  @Test
  void snapshotsAndReadersReturnNoValues(@TempDir Path folder) {
    Path file = folder.resolve("s.fovea");
    try (Database db = Database.open(file, options())) {
      Sequence s = db.sequence(ORDERS);
      s.next();
      try (Database then = db.snapshot()) {
        assertEquals(List.of("orders"), then.sequences());
        assertThrows(InvalidUseException.class, () -> then.sequence("orders").next());
        assertThrows(InvalidUseException.class, () -> then.sequence("others"));
      }
      assertEquals(2, s.next());
    }
    try (Database db = Database.open(file, options().readOnly(true))) {
      assertEquals(3, db.sequence("orders").peek());
      assertThrows(InvalidUseException.class, () -> db.sequence("orders").next());
      assertThrows(InvalidUseException.class, () -> db.sequence("others"));
    }
  }

  @Test
  void backupsContainSequences(@TempDir Path folder) {
    Path file = folder.resolve("s.fovea");
    try (Database db = Database.open(file, options())) {
      Sequence s = db.sequence(ORDERS);
      for (int i = 0; i < 17; i++) {
        s.next();
      }
      db.backup(folder.resolve("backup"));
      assertEquals(18, s.next());
    }
    Path copy = folder.resolve("copy.fovea");
    Restore.from(folder.resolve("backup")).to(copy, options());
    try (Database db = Database.open(copy, options())) {
      long next = db.sequence("orders").next();
      assertTrue(next >= 18 && next <= 18 + 20, "next is " + next);
    }
  }

  /**
   * Whatever maintenance runs while a sequence is open, no value is returned twice after the next
   * opening. The sequence ends with its first block, so that no later reservation hides what was
   * written.
   */
  @Test
  void noValueTwiceAfterMaintenance(@TempDir Path folder) {
    SequenceSpec ten = ORDERS.upTo(10);
    for (Durability durability : Durability.values()) {
      Options options = options().durability(durability);
      List<BiConsumer<Database, Path>> maintenance =
          List.of(
              (db, to) -> db.backup(to),
              (db, to) -> db.compact(CompactOptions.defaults()),
              (db, to) -> db.checkpoint(),
              (db, to) -> assertTrue(db.verify().ok()),
              (db, to) -> db.snapshot().close());
      for (int m = 0; m < maintenance.size(); m++) {
        for (int more : new int[] {0, 1, 9}) {
          String name = durability + "-" + m + "-" + more;
          Path file = folder.resolve(name);
          try (Database db = Database.open(file, options)) {
            Sequence s = db.sequence(ten);
            s.next();
            maintenance.get(m).accept(db, folder.resolve("backup-" + name));
            for (int i = 0; i < more; i++) {
              s.next();
            }
          }
          try (Database db = Database.open(file, options)) {
            assertEquals(9 - more, db.sequence("orders").remaining(), name);
          }
        }
      }
    }
  }

  @Test
  void closedSequencesAreRefused() {
    Sequence s;
    try (Database db = open()) {
      s = db.sequence(ORDERS);
      s.next();
      db.onClose(() -> assertNotEquals(0, s.next()));
    }
    assertThrows(DatabaseClosedException.class, s::next);
    assertThrows(DatabaseClosedException.class, () -> s.next(2));
    assertThrows(DatabaseClosedException.class, s::remaining);
  }

  /** Threads take values during a close: these are not returned again. */
  @Test
  void closedWhileInUse() throws Exception {
    long highest = 0;
    for (int round = 0; round < 20; round++) {
      List<Future<Long>> all = new ArrayList<>();
      try (ExecutorService pool = Executors.newFixedThreadPool(3)) {
        try (Database db = open()) {
          Sequence s = db.sequence(ORDERS);
          assertTrue(s.peek() > highest, "returned twice");
          CountDownLatch began = new CountDownLatch(3);
          for (int t = 0; t < 3; t++) {
            all.add(
                pool.submit(
                    () -> {
                      long last = 0;
                      try {
                        while (true) {
                          last = s.next();
                          began.countDown();
                        }
                      } catch (DatabaseClosedException e) {
                        return last;
                      }
                    }));
          }
          began.await();
        }
        for (Future<Long> f : all) {
          highest = Math.max(highest, f.get());
        }
      }
    }
  }
}
