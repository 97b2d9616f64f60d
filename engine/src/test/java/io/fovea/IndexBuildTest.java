package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.buffer.AllocatorState;
import io.fovea.catalog.DeferredDrops;
import io.fovea.catalog.IndexBuild;
import io.fovea.error.DuplicateKeyException;
import io.fovea.error.FoveaException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.OperationInterruptedException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.index.IndexCore;
import io.fovea.index.IndexStage;
import io.fovea.index.TableCore;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import io.fovea.store.Switches;
import io.fovea.support.SimCrash;
import io.fovea.support.SimDisk;
import io.fovea.support.SimFault;
import io.fovea.support.SimStorage;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Indexes are built and dropped while others change the very table. */
@Tag("slow")
@Timeout(300)
class IndexBuildTest {
  private static final Layout LAYOUT;
  private static final Field V;
  private static final Field U;

  static {
    Layout.Definition b = Layout.define();
    V = b.int64("v");
    U = b.int64("u");
    LAYOUT = b.build();
  }

  private static final TableSpec PLAIN = TableSpec.of("t", KeySpec.of(FieldType.INT64), LAYOUT);
  private static final TableSpec OTHER = TableSpec.bytes("other", 20);
  private static final IndexSpec BY_V = IndexSpec.on("by_v", V);
  private static final IndexSpec BY_U = IndexSpec.unique("by_u", U);

  private static final Options SMALL =
      Options.defaults()
          .bufferBytes(600_000)
          .device(dev -> dev.pageSize(4096))
          .memory(mem -> mem.timestampBytes(1 << 20))
          .transactions(txs -> txs.activeMax(8))
          .log(
              log ->
                  log.bytesMax(1 << 20)
                      .bufferBytes(64 << 10)
                      .segmentBytes(64 << 10)
                      .checkpointInterval(Duration.ZERO))
          .durability(Durability.SYNC)
          .transactions(txs -> txs.leakDetection(LeakDetection.OFF));

  private static final Options MEMORY = Options.defaults().bufferBytes(16 << 20);

  private static Database open(SimDisk disk, Options options) {
    return Database.open(new SimStorage(disk), options, Switches.NONE);
  }

  private static void put(Database db, Table t, long from, long to) {
    for (long i = from; i < to; i += 50) {
      long first = i;
      db.run(
          tx -> {
            for (long k = first; k < Math.min(to, first + 50); k++) {
              t.put(tx, t.key().set(k), t.row().setLong(V, k % 17).setLong(U, k));
            }
          });
    }
  }

  private static void verify(Database db) {
    VerifyReport report = db.verify();
    assertTrue(report.ok(), report::toString);
  }

  private static long pagesInUse(Database db) {
    AllocatorState s = db.store().pool().allocatorState();
    return s.highWater() - s.freePages() - 2;
  }

  private static boolean hasDrops(Database db) {
    boolean[] some = {false};
    DeferredDrops.forEach(db.store().catalog(), (id, root) -> some[0] = true);
    return some[0];
  }

  /** Ends with the time limit of the test if it does not come true. */
  private static void awaitNoDrops(Database db) throws InterruptedException {
    while (hasDrops(db)) {
      Thread.sleep(1);
    }
  }

  /** A thread that builds, and what it was told. */
  private static final class Builder extends Thread {
    final AtomicReference<Throwable> failure = new AtomicReference<>();
    private final Runnable work;

    Builder(Runnable work) {
      this.work = work;
    }

    @Override
    public void run() {
      try {
        work.run();
      } catch (Throwable e) {
        failure.set(e);
      }
    }

    void done() throws Exception {
      join();
      if (failure.get() != null) {
        throw new AssertionError(failure.get());
      }
    }
  }

  /** An index by v + u whose builder stops at a record, until it is let go. */
  private static final class Held {
    final CountDownLatch there = new CountDownLatch(1);
    final CountDownLatch go = new CountDownLatch(1);
    volatile Thread builder;

    IndexSpec spec(int record) {
      return spec(record, false);
    }

    /** The same, or a unique one by u. */
    IndexSpec spec(int record, boolean unique) {
      AtomicInteger seen = new AtomicInteger();
      return IndexSpec.extracted(
          "computed",
          KeySpec.of(FieldType.INT64),
          unique,
          (key, row, out) -> {
            if (Thread.currentThread() == builder && seen.incrementAndGet() == record) {
              there.countDown();
              awaitQuietly(go);
            }
            out.set((unique ? 0 : row.getLong(V)) + row.getLong(U));
            return true;
          });
    }
  }

  private static void awaitQuietly(CountDownLatch latch) {
    boolean interrupted = false;
    while (true) {
      try {
        latch.await();
        break;
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  // ------------------------------------------------------------------------ nobody stands still

  @Test
  void othersGoOnWhileAnIndexIsBuilt() throws Exception {
    try (Database db = open(new SimDisk(1), SMALL)) {
      Table t = db.table(PLAIN);
      ByteTable other = db.table(OTHER).bytes();
      put(db, t, 0, 1000);
      Held held = new Held();
      TableSpec with = PLAIN.with(held.spec(700));
      Builder builder = new Builder(() -> db.table(with));
      held.builder = builder;
      builder.start();
      held.there.await();
      // The build stands in the middle. All else goes on, in this table and in others.
      Row row = t.row();
      for (long i = 0; i < 100; i++) {
        long k = i * 9;
        db.run(tx -> t.put(tx, t.key().set(k), t.row().setLong(V, -k).setLong(U, 5000 + k)));
        db.run(tx -> assertTrue(t.get(tx, t.key().set(k), row)));
        db.run(tx -> t.delete(tx, t.key().set(k + 1)));
        db.run(tx -> t.put(tx, t.key().set(k + 100_000), t.row().setLong(V, 1).setLong(U, k)));
        db.run(
            tx -> {
              Row own = t.row();
              if (t.getForUpdate(tx, t.key().set(k + 2), own)) {
                t.update(tx, own.setLong(V, 77));
              }
            });
        db.run(tx -> other.put(tx, new byte[] {(byte) k}, new byte[1]));
      }
      db.table(TableSpec.bytes("new", 10));
      assertTrue(db.dropTable("new"));
      assertTrue(builder.isAlive());
      assertThrows(IllegalArgumentException.class, () -> t.index("computed"));
      held.go.countDown();
      builder.done();
      assertEquals(1, db.table(with).core().readable().size());
      verify(db);
      awaitNoDrops(db);
    }
  }

  /**
   * Whatever the size of the table, a transaction of a unique index has at most so many records.
   */
  @Test
  void aPieceIsBoundedWhateverTheSize() {
    try (Database db = Database.inMemory(MEMORY)) {
      Table t = db.table(PLAIN);
      put(db, t, 0, 6000);
      AtomicInteger calls = new AtomicInteger();
      long before = db.stats().commits();
      AtomicBoolean late = new AtomicBoolean();
      db.table(
          PLAIN.with(
              IndexSpec.extracted(
                  "computed",
                  KeySpec.of(FieldType.INT64),
                  true,
                  (key, row, out) -> {
                    int n = calls.incrementAndGet();
                    long pieces = db.store().engine().stats().commits() - before;
                    late.compareAndSet(false, n > (pieces + 1) * IndexBuild.PIECE_RECORDS);
                    out.set(row.getLong(U));
                    return true;
                  })));
      assertTrue(calls.get() >= 6000);
      assertFalse(late.get(), "more records than fit into the pieces that were committed");
      verify(db);
    }
  }

  /** A build waits for who may not know of the index, and is not seen before it is complete. */
  @ParameterizedTest
  @EnumSource(Protocol.class)
  void itIsSeenByWhoBeginsLater(Protocol protocol) throws Exception {
    try (Database db = Database.inMemory(MEMORY.experiments(exp -> exp.protocol(protocol)))) {
      Table t = db.table(PLAIN);
      put(db, t, 0, 300);
      TableSpec with = PLAIN.with(BY_V);
      Transaction open = db.begin();
      t.put(open, t.key().set(1000L), t.row().setLong(V, 3).setLong(U, 1000));
      Builder builder = new Builder(() -> db.table(with));
      builder.start();
      while (t.core().indexes().length == 0) {
        Thread.sleep(1);
      }
      // Its own changes are of before the index: it must end first, whatever the builder does.
      t.put(open, t.key().set(1001L), t.row().setLong(V, 4).setLong(U, 1001));
      assertNull(t.core().index("by_v"));
      assertTrue(builder.isAlive());
      open.commit();
      builder.done();
      verify(db);
      Index i = db.table(with).index("by_v");
      long n =
          db.read(
              tx -> {
                long count = 0;
                try (Cursor c = i.scan(tx, Range.all(), Order.ASCENDING)) {
                  while (c.next()) {
                    count++;
                  }
                }
                return count;
              });
      assertEquals(302, n);
    }
  }

  /** One that began before the last entry was made may read the past, which has it not. */
  @ParameterizedTest
  @EnumSource(Protocol.class)
  void whoBeganDuringTheBuildDoesNotSeeAPartOfIt(Protocol protocol) throws Exception {
    try (Database db = Database.inMemory(MEMORY.experiments(exp -> exp.protocol(protocol)))) {
      Table t = db.table(PLAIN);
      put(db, t, 0, 300);
      Held held = new Held();
      TableSpec with = PLAIN.with(held.spec(20));
      Builder builder = new Builder(() -> db.table(with));
      held.builder = builder;
      builder.start();
      held.there.await();
      try (Transaction open = db.begin(TxOptions.forReading())) {
        held.go.countDown();
        for (int i = 0; i < 50 && t.core().index("computed") == null; i++) {
          Thread.sleep(1);
        }
        if (t.core().index("computed") != null) {
          Index index = db.table(with).index("computed");
          try (Cursor c = index.scan(open, Range.all(), Order.ASCENDING)) {
            int n = 0;
            while (c.next()) {
              n++;
            }
            assertEquals(300, n);
          }
        }
        open.commit();
      }
      builder.done();
      verify(db);
    }
  }

  // ------------------------------------------------------------------------------ with writers

  /** Threads that change records at random, while indexes are built and dropped all the time. */
  @ParameterizedTest
  @EnumSource(Protocol.class)
  void amongWriters(Protocol protocol) throws Exception {
    long seed = 42;
    try (Database db =
        Database.inMemory(
            MEMORY
                .experiments(exp -> exp.protocol(protocol))
                .transactions(txs -> txs.activeMax(8)))) {
      Table t = db.table(PLAIN);
      put(db, t, 0, 400);
      AtomicBoolean end = new AtomicBoolean();
      AtomicLong changes = new AtomicLong();
      List<Builder> writers = new ArrayList<>();
      for (int w = 0; w < 3; w++) {
        Random random = new Random(seed + w);
        Builder writer = new Builder(() -> write(db, random, end, changes));
        writer.start();
        writers.add(writer);
      }
      try {
        int unique = 0;
        for (int round = 0; round < 12; round++) {
          boolean second = round % 2 == 1;
          try {
            db.table(PLAIN.with(second ? BY_U : BY_V));
            unique += second ? 1 : 0;
            verify(db);
            assertTrue(db.dropIndex("t", second ? "by_u" : "by_v"));
          } catch (DuplicateKeyException e) {
            assertTrue(second && e.getMessage().contains("by_u"), e::getMessage);
            assertNull(t.core().index("by_u"));
          }
          verify(db);
        }
        // What writers have made twice is made unique again, so that one succeeds at least.
        end.set(true);
        for (Builder writer : writers) {
          writer.done();
        }
        makeUnique(db, t);
        db.table(PLAIN.with(BY_U));
        verify(db);
      } finally {
        end.set(true);
      }
      assertTrue(changes.get() > 0);
      awaitNoDrops(db);
    }
  }

  private static void makeUnique(Database db, Table t) {
    for (long k = 0; k < 600; k++) {
      long own = k;
      db.run(
          tx -> {
            Row row = t.row();
            if (t.getForUpdate(tx, t.key().set(own), row)) {
              t.update(tx, row.setLong(U, 1_000_000 + own));
            }
          });
    }
  }

  private static void write(Database db, Random random, AtomicBoolean end, AtomicLong changes) {
    while (!end.get()) {
      Table t;
      try {
        t = db.table(PLAIN);
      } catch (io.fovea.error.IncompatibleSchemaException e) {
        // It has an index by now: any handle will do for changes.
        t = new Table(db, coreOf(db), PLAIN);
      }
      Table table = t;
      long k = random.nextInt(600);
      long v = random.nextInt(20);
      // Mostly unique, now and then not.
      long u = random.nextInt(40) == 0 ? random.nextInt(600) : k;
      int what = random.nextInt(4);
      try {
        db.run(
            tx -> {
              Key key = table.key().set(k);
              Row row = table.row();
              switch (what) {
                case 0 -> table.put(tx, key, row.setLong(V, v).setLong(U, u));
                case 1 -> table.delete(tx, key);
                case 2 -> {
                  if (table.getForUpdate(tx, key, row)) {
                    table.update(tx, row.setLong(V, v).setLong(U, u));
                  }
                }
                default -> {
                  table.delete(tx, key);
                  table.put(tx, key, row.setLong(V, v).setLong(U, u));
                }
              }
            });
        changes.incrementAndGet();
      } catch (DuplicateKeyException e) {
        // there is one, or was when the index was there
      }
    }
  }

  private static TableCore coreOf(Database db) {
    return db.schema().core("t");
  }

  /** A record that is not gone through yet gives up its value, which another one has taken. */
  @Test
  void aUniqueEntryIsRemovedByItsOwnRecordOnly() throws Exception {
    try (Database db = Database.inMemory(MEMORY)) {
      Table t = db.table(PLAIN);
      put(db, t, 0, 1000);
      Held held = new Held();
      TableSpec with = PLAIN.with(held.spec(IndexBuild.PIECE_RECORDS + 50, true));
      Builder builder = new Builder(() -> db.table(with));
      held.builder = builder;
      builder.start();
      held.there.await();
      // 3 is gone through, 900 and 901 are not.
      db.run(tx -> t.put(tx, t.key().set(3L), t.row().setLong(V, 3).setLong(U, 900)));
      db.run(tx -> t.put(tx, t.key().set(900L), t.row().setLong(V, 3).setLong(U, 77_777)));
      db.run(tx -> t.put(tx, t.key().set(4L), t.row().setLong(V, 3).setLong(U, 901)));
      db.run(tx -> t.delete(tx, t.key().set(901L)));
      held.go.countDown();
      builder.done();
      verify(db);
      Table opened = db.table(with);
      Index i = opened.index("computed");
      db.run(tx -> assertTrue(i.get(tx, i.key().set(900L), opened.row())));
      db.run(tx -> assertTrue(i.get(tx, i.key().set(901L), opened.row())));
    }
  }

  /** Who does not know of the index yet overwrites, unseen, what one has written who knows. */
  @Test
  void whoKnowsNothingOfTheIndexOverwrites() throws Exception {
    try (Database db = Database.inMemory(MEMORY)) {
      Table t = db.table(PLAIN);
      put(db, t, 0, 100);
      CountDownLatch begun = new CountDownLatch(1);
      CountDownLatch go = new CountDownLatch(1);
      Builder old =
          new Builder(
              () -> {
                try (Transaction tx = db.begin()) {
                  t.put(tx, t.key().set(7L), t.row().setLong(V, 3).setLong(U, 7));
                  begun.countDown();
                  awaitQuietly(go);
                  tx.commit();
                }
              });
      old.start();
      begun.await();
      Builder builder = new Builder(() -> db.table(PLAIN.with(BY_V)));
      builder.start();
      while (t.core().indexes().length == 0) {
        Thread.sleep(1);
      }
      for (int i = 0; i < 50 && t.core().indexes()[0].stage == IndexStage.DELETE_ONLY; i++) {
        Thread.sleep(1);
      }
      db.run(tx -> t.put(tx, t.key().set(7L), t.row().setLong(V, 99).setLong(U, 7)));
      go.countDown();
      old.done();
      builder.done();
      verify(db);
    }
  }

  @Test
  void aWriterIsRefusedADuplicateWhileTheIndexIsBuilt() throws Exception {
    try (Database db = Database.inMemory(MEMORY)) {
      Table t = db.table(PLAIN);
      put(db, t, 0, 500);
      CountDownLatch there = new CountDownLatch(1);
      CountDownLatch go = new CountDownLatch(1);
      AtomicReference<Thread> thread = new AtomicReference<>();
      AtomicInteger seen = new AtomicInteger();
      IndexSpec unique =
          IndexSpec.extracted(
              "computed",
              KeySpec.of(FieldType.INT64),
              true,
              (key, row, out) -> {
                if (Thread.currentThread() == thread.get() && seen.incrementAndGet() == 400) {
                  there.countDown();
                  awaitQuietly(go);
                }
                out.set(row.getLong(U));
                return true;
              });
      Builder builder = new Builder(() -> db.table(PLAIN.with(unique)));
      thread.set(builder);
      builder.start();
      there.await();
      DuplicateKeyException e =
          assertThrows(
              DuplicateKeyException.class,
              () ->
                  db.run(tx -> t.put(tx, t.key().set(9999L), t.row().setLong(V, 1).setLong(U, 3))));
      assertTrue(e.getMessage().contains("being built"), e::getMessage);
      assertTrue(e.getMessage().contains("(3)"), e::getMessage);
      // One that the build finds: record 450 is not gone through yet.
      db.run(tx -> t.put(tx, t.key().set(9999L), t.row().setLong(V, 1).setLong(U, 450)));
      go.countDown();
      builder.join();
      assertTrue(
          builder.failure.get() instanceof DuplicateKeyException, () -> "" + builder.failure.get());
      verify(db);
      awaitNoDrops(db);
      db.run(tx -> t.delete(tx, t.key().set(9999L)));
      db.table(PLAIN.with(BY_U));
      verify(db);
    }
  }

  // ------------------------------------------------------------------------------- given up

  @Test
  void interruptedAnywhere() throws Exception {
    try (Database db = open(new SimDisk(1), SMALL)) {
      Table t = db.table(PLAIN);
      put(db, t, 0, 700);
      long pages = pagesInUse(db);
      int points = 0;
      for (int at : new int[] {0, 1, 2, 64, 127, 128, 129, 500, 699, 700}) {
        AtomicInteger seen = new AtomicInteger();
        IndexSpec spec =
            IndexSpec.extracted(
                "computed",
                KeySpec.of(FieldType.INT64),
                false,
                (key, row, out) -> {
                  if (seen.incrementAndGet() == at) {
                    Thread.currentThread().interrupt();
                  }
                  out.set(row.getLong(V));
                  return true;
                });
        if (at == 0) {
          Thread.currentThread().interrupt();
        }
        assertThrows(OperationInterruptedException.class, () -> db.table(PLAIN.with(spec)));
        assertTrue(Thread.interrupted(), "the flag is kept");
        points++;
        awaitNoDrops(db);
        assertEquals(0, t.core().indexes().length);
        assertEquals(pages, pagesInUse(db));
        verify(db);
      }
      assertEquals(10, points);
      db.table(PLAIN.with(BY_V));
      verify(db);
    }
  }

  /** Who waits for a transaction that does not end can be interrupted, too. */
  @Test
  void interruptedWhileItWaits() throws Exception {
    try (Database db = Database.inMemory(MEMORY)) {
      Table t = db.table(PLAIN.with(BY_V));
      put(db, t, 0, 100);
      Transaction open = db.begin();
      Index index = t.index("by_v");
      for (boolean build : new boolean[] {true, false}) {
        Builder builder =
            new Builder(
                () -> {
                  if (build) {
                    db.table(PLAIN.with(BY_V).with(BY_U));
                  } else {
                    db.dropIndex("t", "by_v");
                  }
                });
        builder.start();
        while (build ? t.core().indexes().length < 2 : t.core().index("by_v") != null) {
          Thread.sleep(1);
        }
        builder.interrupt();
        builder.join();
        assertTrue(
            builder.failure.get() instanceof OperationInterruptedException,
            () -> "" + builder.failure.get());
      }
      // The index that was not dropped is used as before, by the handle of before.
      assertTrue(index.get(open, index.key().set(3L), t.row()));
      open.commit();
      put(db, t, 100, 200);
      awaitNoDrops(db);
      assertEquals(1, t.core().indexes().length);
      verify(db);
    }
  }

  @Test
  void theTableIsDroppedMeanwhile() throws Exception {
    try (Database db = open(new SimDisk(1), SMALL)) {
      db.table(OTHER);
      long pages = pagesInUse(db);
      Table t = db.table(PLAIN);
      put(db, t, 0, 700);
      Held held = new Held();
      Builder builder = new Builder(() -> db.table(PLAIN.with(held.spec(300))));
      held.builder = builder;
      builder.start();
      held.there.await();
      Builder dropper = new Builder(() -> assertTrue(db.dropTable("t")));
      dropper.start();
      while (!t.core().isLeaving()) {
        Thread.sleep(1);
      }
      held.go.countDown();
      dropper.done();
      builder.join();
      assertTrue(
          builder.failure.get() instanceof InvalidUseException, () -> "" + builder.failure.get());
      awaitNoDrops(db);
      assertEquals(pages, pagesInUse(db));
      verify(db);
    }
  }

  @Test
  void notInATransaction() {
    try (Database db = Database.inMemory(MEMORY)) {
      db.table(PLAIN);
      db.run(
          tx -> {
            assertThrows(InvalidUseException.class, () -> db.table(PLAIN.with(BY_V)));
            assertThrows(InvalidUseException.class, () -> db.dropTable("t"));
          });
      verify(db);
    }
  }

  /** What has changed while the table was read is in the index as it is at the end. */
  @ParameterizedTest
  @EnumSource(Protocol.class)
  void whatChangesMeanwhileIsSettled(Protocol protocol) throws Exception {
    try (Database db = Database.inMemory(MEMORY.experiments(exp -> exp.protocol(protocol)))) {
      Table t = db.table(PLAIN);
      put(db, t, 0, 1000);
      Held held = new Held();
      TableSpec with = PLAIN.with(held.spec(500));
      Builder builder = new Builder(() -> db.table(with));
      held.builder = builder;
      builder.start();
      held.there.await();
      // Of each ten records, before and behind where the build is: changed, there and back, twice,
      // deleted, deleted and made again, made and deleted.
      for (long k = 0; k < 1000; k += 10) {
        set(db, t, k, 5_000);
        set(db, t, k + 1, 5_000);
        set(db, t, k + 1, k + 1);
        set(db, t, k + 2, 6_000);
        set(db, t, k + 2, 7_000);
        remove(db, t, k + 3);
        remove(db, t, k + 4);
        set(db, t, k + 4, 8_000);
        remove(db, t, k + 5);
        set(db, t, k + 5, k + 5);
        set(db, t, 10_000 + k, 1);
        set(db, t, 20_000 + k, 2);
        remove(db, t, 20_000 + k);
      }
      held.go.countDown();
      builder.done();
      verify(db);
      Index i = db.table(with).index("computed");
      long n =
          db.read(
              tx -> {
                long count = 0;
                try (Cursor c = i.scan(tx, Range.all(), Order.ASCENDING)) {
                  while (c.next()) {
                    count++;
                  }
                }
                return count;
              });
      assertEquals(1000, n); // a hundred less, a hundred more
      assertEquals(1000, i.count());
      awaitNoDrops(db);
    }
  }

  private static void set(Database db, Table t, long key, long v) {
    db.run(tx -> t.put(tx, t.key().set(key), t.row().setLong(V, v).setLong(U, key)));
  }

  private static void remove(Database db, Table t, long key) {
    db.run(tx -> t.delete(tx, t.key().set(key)));
  }

  /** The database is closed while the table is read, and then no page is lost. */
  @Test
  void closedMeanwhile() throws Exception {
    SimDisk disk = new SimDisk(1);
    Database db = open(disk, SMALL);
    Table t = db.table(PLAIN);
    put(db, t, 0, 700);
    Held held = new Held();
    Builder builder = new Builder(() -> db.table(PLAIN.with(held.spec(300))));
    held.builder = builder;
    builder.start();
    held.there.await();
    Builder closer = new Builder(db::close);
    closer.start();
    while (db.isOpen()) {
      Thread.sleep(1);
    }
    held.go.countDown();
    builder.join();
    if (!(builder.failure.get() instanceof FoveaException)) {
      throw new AssertionError(builder.failure.get());
    }
    closer.done();
    try (Database again = open(disk, SMALL)) {
      verify(again);
      again.table(PLAIN.with(BY_V)); // with the first change drops go on
      awaitNoDrops(again);
      verify(again);
    }
  }

  /** Any operation of the device fails once: the index is there or not, and no page is lost. */
  @Test
  void anyOperationFails() throws Exception {
    SimDisk filled = new SimDisk(3);
    try (Database db = open(filled, SMALL)) {
      Table t = db.table(PLAIN);
      t.load(
          LoadOptions.defaults(),
          into -> {
            for (long k = 0; k < 12_000; k++) {
              into.add(t.key().set(k), t.row().setLong(V, k % 17).setLong(U, k));
            }
          });
    }
    int failures = 0;
    long step = 1;
    boolean over = false;
    for (long n = 1; !over; n += step++) {
      SimDisk disk = filled.copy();
      try (Database db = open(disk, SMALL)) {
        Table t = db.table(PLAIN);
        set(db, t, 1, 1);
        disk.fail(SimFault.once(n));
        try {
          db.table(PLAIN.with(BY_V));
        } catch (FoveaException e) {
          failures++;
        }
        over = disk.faultsHit() == 0;
      } catch (FoveaException e) {
        failures++; // the close
      }
      disk.heal();
      try (Database again = open(disk, SMALL)) {
        verify(again);
        set(again, new Table(again, coreOf(again), PLAIN), 2, 2);
        awaitNoDrops(again);
        verify(again);
      }
    }
    assertTrue(failures > 3, "failures: " + failures);
  }

  // --------------------------------------------------------------------------------- crashes

  /**
   * The power fails at any operation of a build with a writer beside it: of a tree whose pages are
   * logged, and of one whose pages are written and not logged.
   */
  @ParameterizedTest
  @ValueSource(ints = {600, 12_000})
  void everyOperationOfABuild(int records) throws Exception {
    SimDisk filled = new SimDisk(7);
    long without;
    try (Database db = open(filled, SMALL)) {
      Table t = db.table(PLAIN);
      t.load(
          LoadOptions.defaults(),
          into -> {
            for (long k = 0; k < records; k++) {
              into.add(t.key().set(k), t.row().setLong(V, k % 17).setLong(U, k));
            }
          });
      without = pagesInUse(db);
    }
    int crashes = 0;
    int step = 1;
    boolean over = false;
    for (long n = 1; !over; n += step++) {
      SimDisk disk = filled.copy();
      Database db = open(disk, SMALL);
      long end = disk.operations() + n;
      disk.powerOffAt(end);
      AtomicLong acknowledged = new AtomicLong(-1);
      boolean built = false;
      AtomicBoolean stop = new AtomicBoolean();
      Builder writer =
          new Builder(
              () -> {
                Table t = new Table(db, coreOf(db), PLAIN);
                for (long i = 0; !stop.get(); i++) {
                  long k = i * 7 % 600;
                  long v = 100 + i;
                  db.run(tx -> t.put(tx, t.key().set(k), t.row().setLong(V, v).setLong(U, k)));
                  acknowledged.set(i);
                }
              });
      writer.start();
      try {
        db.table(records > 600 ? PLAIN.with(BY_V) : PLAIN.with(BY_V).with(BY_U));
        built = true;
      } catch (RuntimeException e) {
        // the power is off
      }
      over = disk.operations() < end;
      stop.set(true);
      writer.join();
      db.abandon();
      crashes++;
      SimDisk again = disk.crash(crashes % 2 == 0 ? SimCrash.LOSE_ALL : SimCrash.RANDOM);
      try (Database db2 = open(again, SMALL)) {
        verify(db2);
        List<IndexCore> found = coreOf(db2).readable();
        int all = records > 600 ? 1 : 2;
        assertTrue(!built || found.size() == all, "an acknowledged index was lost");
        TableSpec spec = PLAIN;
        for (IndexCore i : found) {
          spec = spec.with(i.name.equals("by_v") ? BY_V : BY_U);
        }
        Table t = db2.table(spec);
        for (long i = Math.max(0, acknowledged.get() - 50); i <= acknowledged.get(); i++) {
          long k = i * 7 % 600;
          long least = 100 + i;
          Row row = t.row();
          db2.run(
              tx -> {
                assertTrue(t.get(tx, t.key().set(k), row));
                assertTrue(row.getLong(V) >= least);
              });
        }
        db2.run(tx -> t.put(tx, t.key().set(1L), t.row().setLong(V, 1).setLong(U, 1)));
        awaitNoDrops(db2);
        verify(db2);
        for (IndexCore i : found) {
          assertTrue(db2.dropIndex("t", i.name));
        }
        awaitNoDrops(db2);
        assertEquals(without, pagesInUse(db2));
      }
    }
    assertTrue(crashes > 10, "crashes: " + crashes);
  }

  /** Transactions that are told to end by a time limit are not confused with conflicts. */
  @Test
  void aTimeLimitOfTransactionsIsNotThatOfABuild() {
    try (Database db =
        Database.inMemory(MEMORY.transactions(txs -> txs.timeout(Duration.ofMillis(1))))) {
      Table t = db.table(PLAIN);
      for (long k = 0; k < 300; k++) {
        long own = k;
        for (boolean done = false; !done; ) {
          try {
            db.run(tx -> t.put(tx, t.key().set(own), t.row().setLong(V, 1).setLong(U, own)));
            done = true;
          } catch (TransactionAbortedException e) {
            // again
          }
        }
      }
      db.table(PLAIN.with(BY_V));
      verify(db);
    }
  }

  /**
   * A build of a unique index needs no log but that of what it does just then: the redo point goes
   * on beside it.
   */
  @Test
  void theRedoPointGoesOn() throws Exception {
    long max = 1 << 20;
    long[] log = logOf(max, 40_000, BY_U);
    assertTrue(log[0] > 3 * max, () -> log[0] + " bytes of log");
    assertTrue(log[1] <= 2 * max, () -> log[1] + " bytes from the redo point to the end");
  }

  /** Another one is built from below: no entry is logged. */
  @Test
  void entriesAreNotLogged() throws Exception {
    long[] log = logOf(1 << 20, 40_000, BY_V);
    assertTrue(log[0] < 200_000, () -> log[0] + " bytes of log");
  }

  /** What the log has no room for, while the redo point stays, is left to transactions. */
  @Test
  void theLogHasNoRoomForTheWholeTree() throws Exception {
    long max = 256 << 10;
    long[] log = logOf(max, 400_000, BY_V);
    assertTrue(log[0] > 3 * max, () -> log[0] + " bytes of log");
    assertTrue(log[1] <= 2 * max, () -> log[1] + " bytes from the redo point to the end");
  }

  /** The log that a build takes, and the most of it that a crash would have needed. */
  private static long[] logOf(long max, int records, IndexSpec index) throws Exception {
    SimDisk disk = new SimDisk(11);
    try (Database db =
        open(
            disk,
            SMALL
                .bufferBytes(8 << 20)
                .durability(Durability.ASYNC)
                .log(log -> log.bytesMax(max)))) {
      Table t = db.table(PLAIN);
      t.load(
          LoadOptions.defaults().ascending(true),
          into -> {
            for (long k = 0; k < records; k++) {
              into.add(t.key().set(k), t.row().setLong(V, k % 17).setLong(U, k));
            }
          });
      db.checkpoint();
      DatabaseStats.Log before = db.stats().log();
      AtomicLong most = new AtomicLong();
      AtomicBoolean over = new AtomicBoolean();
      Thread looks =
          Thread.ofPlatform()
              .start(
                  () -> {
                    while (!over.get()) {
                      most.accumulateAndGet(db.stats().log().redoBytes(), Math::max);
                      Thread.yield();
                    }
                  });
      try {
        db.table(PLAIN.with(index));
      } finally {
        over.set(true);
        looks.join();
      }
      long written = db.stats().log().bytes() - before.bytes();
      verify(db);
      return new long[] {written, most.get()};
    }
  }
}
