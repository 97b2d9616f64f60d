package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Durability;
import io.fovea.config.Protocol;
import io.fovea.error.DuplicateKeyException;
import io.fovea.index.IndexStage;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import io.fovea.support.SetClock;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Unique indexes built bottom-up while values move, and while records have equal values. */
@Tag("slow")
@Timeout(300)
class BottomUpUniqueIndexTest extends IndexBuilds {
  private static final int MANY = 4000;

  private static void set(Database db, RowTable t, long key, long u) {
    db.run(tx -> t.put(tx, t.key().set(key), t.row().setLong(V, key).setLong(U, u)));
  }

  private static void remove(Database db, RowTable t, long key) {
    db.run(tx -> t.delete(tx, t.key().set(key)));
  }

  /** Returns the key that an index has for a value; -1 for none. */
  private static long find(Database db, RowIndex i, long u) {
    return db.read(
        tx -> {
          try (RowCursor c = i.scan(tx, Range.prefix(i.key().set(u)), ScanOrder.ASCENDING)) {
            return c.next() ? c.key().getLong(0) : -1L;
          }
        });
  }

  private static void awaitBuilding(RowTable t) throws InterruptedException {
    while (t.core().indexes()[0].stage != IndexStage.BUILDING) {
      Thread.sleep(1);
    }
  }

  /** Opens a transaction in another thread, which the build waits for. */
  private static Builder open(Database db, AtomicBoolean go) throws InterruptedException {
    AtomicBoolean there = new AtomicBoolean();
    Builder open =
        new Builder(
            () -> {
              try (Transaction tx = db.begin()) {
                there.set(true);
                while (!go.get()) {
                  Thread.onSpinWait();
                }
                tx.commit();
              }
            });
    open.start();
    while (!there.get()) {
      Thread.sleep(1);
    }
    return open;
  }

  private static DuplicateKeyException duplicate(Builder builder) throws InterruptedException {
    builder.join();
    if (builder.failure.get() instanceof DuplicateKeyException e) {
      return e;
    }
    throw new AssertionError("not refused", builder.failure.get());
  }

  @Test
  void existingDuplicatesAreNamed() throws Exception {
    try (Database db = Database.inMemory(MEMORY)) {
      RowTable t = db.table(PLAIN);
      put(db, t, 0, MANY);
      set(db, t, 3999, 17);
      DuplicateKeyException e =
          assertThrows(DuplicateKeyException.class, () -> db.table(PLAIN.with(BY_U)));
      assertTrue(e.getMessage().contains("(17)"), e::getMessage);
      assertTrue("by_u".equals(e.index()), e::getMessage);
      assertTrue(e.getMessage().contains("being built"), e::getMessage);
      assertNull(t.core().index("by_u"));
      awaitNoDrops(db);
      assertEquals(0, t.core().indexes().length);
      set(db, t, 3999, 5000);
      assertEquals(MANY, db.table(PLAIN.with(BY_U)).index("by_u").count());
      verify(db);
    }
  }

  /**
   * While the table is read, values move to records before and after the build's position: to
   * records that were read with another value, and from such records.
   */
  @ParameterizedTest
  @EnumSource(Protocol.class)
  void movedValuesAreApplied(Protocol protocol) throws Exception {
    try (Database db = Database.inMemory(MEMORY.experiments(exp -> exp.protocol(protocol)))) {
      RowTable t = db.table(PLAIN);
      put(db, t, 0, MANY);
      Held held = new Held();
      TableSpec with = PLAIN.with(held.spec(MANY / 2, true));
      Builder builder = held.start(() -> db.table(with));
      for (long k = 0; k < 1000; k += 10) {
        long far = k + 3000;
        // Forward: both are read with the value. Backward: neither is.
        set(db, t, k, 100_000 + k);
        set(db, t, far, k);
        set(db, t, far + 1, 200_000 + k);
        set(db, t, k + 1, far + 1);
        // Changed and reverted, with another record in between.
        set(db, t, k + 2, 300_000 + k);
        set(db, t, far + 2, k + 2);
        set(db, t, far + 2, far + 2);
        set(db, t, k + 2, k + 2);
        // Two records have the value for a while: the second keeps it, or the first.
        set(db, t, far + 3, k + 3);
        set(db, t, k + 3, 400_000 + k);
        set(db, t, far + 4, k + 4);
        set(db, t, far + 4, 500_000 + k);
        // Deleted, and another record takes the value.
        remove(db, t, k + 5);
        set(db, t, far + 5, k + 5);
        remove(db, t, far + 6);
        set(db, t, 10_000 + k, far + 6);
        set(db, t, 20_000 + k, 600_000 + k);
        remove(db, t, 20_000 + k);
      }
      held.go.countDown();
      builder.done();
      verify(db);
      RowIndex i = db.table(with).index("computed");
      assertEquals(MANY - 100, i.count()); // two removed and one added, a hundred times
      for (long k = 0; k < 1000; k += 10) {
        long far = k + 3000;
        assertEquals(far, find(db, i, k));
        assertEquals(k, find(db, i, 100_000 + k));
        assertEquals(k + 1, find(db, i, far + 1));
        assertEquals(far + 1, find(db, i, 200_000 + k));
        assertEquals(k + 2, find(db, i, k + 2));
        assertEquals(far + 2, find(db, i, far + 2));
        assertEquals(-1, find(db, i, 300_000 + k));
        assertEquals(far + 3, find(db, i, k + 3));
        assertEquals(k + 3, find(db, i, 400_000 + k));
        assertEquals(k + 4, find(db, i, k + 4));
        assertEquals(far + 4, find(db, i, 500_000 + k));
        assertEquals(far + 5, find(db, i, k + 5));
        assertEquals(10_000 + k, find(db, i, far + 6));
        assertEquals(-1, find(db, i, 600_000 + k));
      }
      awaitNoDrops(db);
    }
  }

  /** While the table is read no writer is refused; a remaining duplicate fails the build. */
  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2})
  void aDuplicateWrittenWhileTheTableIsRead(int which) throws Exception {
    try (Database db = Database.inMemory(MEMORY)) {
      RowTable t = db.table(PLAIN);
      put(db, t, 0, MANY);
      Held held = new Held();
      Builder builder = held.start(() -> db.table(PLAIN.with(held.spec(MANY / 2, true))));
      long key = which == 0 ? 3 : 3500; // already read, or not yet
      set(db, t, key, 77);
      if (which == 2) {
        set(db, t, 77, 50_000);
      }
      held.go.countDown();
      if (which == 2) {
        builder.done();
      } else {
        assertTrue(duplicate(builder).getMessage().contains("(77)"));
        assertEquals(0, db.table(PLAIN).core().readable().size());
      }
      verify(db);
      awaitNoDrops(db);
    }
  }

  /**
   * Once the tree exists and the journal is not yet applied, a write that takes a value known to
   * the tree is refused if that value's record still has it.
   */
  @ParameterizedTest
  @EnumSource(Protocol.class)
  void writersLoseWhileTheJournalIsApplied(Protocol protocol) throws Exception {
    try (Database db = Database.inMemory(MEMORY.experiments(exp -> exp.protocol(protocol)))) {
      RowTable t = db.table(PLAIN);
      put(db, t, 0, MANY);
      Held held = new Held();
      TableSpec with = PLAIN.with(held.spec(MANY / 2, true));
      Builder builder = held.start(() -> db.table(with));
      set(db, t, 5, 90_000); // no record has 5 now, and the tree is outdated
      AtomicBoolean go = new AtomicBoolean();
      Builder open = open(db, go);
      held.go.countDown();
      awaitBuilding(t);
      set(db, t, 9000, 5);
      DuplicateKeyException e =
          assertThrows(DuplicateKeyException.class, () -> set(db, t, 9001, 5));
      assertTrue(e.getMessage().contains("(5)"), e::getMessage);
      assertTrue(e.getMessage().contains("being built"), e::getMessage);
      assertThrows(DuplicateKeyException.class, () -> set(db, t, 9001, 6));
      assertThrows(
          DuplicateKeyException.class,
          () ->
              db.run(tx -> t.insert(tx, t.key().set(9002L), t.row().setLong(V, 1).setLong(U, 7))));
      set(db, t, 5, 5_000); // gives up a value that the tree does not have
      set(db, t, 9000, 90_000);
      db.run(
          tx -> {
            t.delete(tx, t.key().set(44L));
            t.put(tx, t.key().set(9003L), t.row().setLong(V, 1).setLong(U, 44));
          });
      go.set(true);
      open.done();
      builder.done();
      RowIndex i = db.table(with).index("computed");
      assertEquals(-1, find(db, i, 5));
      assertEquals(5, find(db, i, 5_000));
      assertEquals(9000, find(db, i, 90_000));
      assertEquals(9003, find(db, i, 44));
      verify(db);
      awaitNoDrops(db);
    }
  }

  /** Two records get a value that the tree lacks, one before the tree existed and one later. */
  @Test
  void theBuildLosesIfOnlyTheJournalHasTheValue() throws Exception {
    try (Database db = Database.inMemory(MEMORY)) {
      RowTable t = db.table(PLAIN);
      put(db, t, 0, MANY);
      Held held = new Held();
      Builder builder = held.start(() -> db.table(PLAIN.with(held.spec(MANY / 2, true))));
      set(db, t, 5, 90_000); // already read, so only the journal has it
      AtomicBoolean go = new AtomicBoolean();
      Builder open = open(db, go);
      held.go.countDown();
      awaitBuilding(t);
      set(db, t, 9000, 90_000);
      go.set(true);
      open.done();
      assertTrue(duplicate(builder).getMessage().contains("(90000)"));
      verify(db);
      awaitNoDrops(db);
    }
  }

  /** A transaction whose first statement writes the journal, and whose second changes the tree. */
  @ParameterizedTest
  @EnumSource(Protocol.class)
  void aTransactionOfBothStages(Protocol protocol) throws Exception {
    try (Database db = Database.inMemory(MEMORY.experiments(exp -> exp.protocol(protocol)))) {
      RowTable t = db.table(PLAIN);
      put(db, t, 0, MANY);
      Held held = new Held();
      TableSpec with = PLAIN.with(held.spec(MANY / 2, true));
      Builder builder = held.start(() -> db.table(with));
      try (Transaction tx = db.begin()) {
        t.put(tx, t.key().set(5L), t.row().setLong(V, 0).setLong(U, 90_000));
        t.put(tx, t.key().set(6L), t.row().setLong(V, 0).setLong(U, 91_000));
        held.go.countDown();
        awaitBuilding(t);
        t.put(tx, t.key().set(5L), t.row().setLong(V, 0).setLong(U, 92_000));
        t.put(tx, t.key().set(7L), t.row().setLong(V, 0).setLong(U, 90_000)); // held by 5
        t.put(tx, t.key().set(8L), t.row().setLong(V, 0).setLong(U, 5)); // held by 5 before
        t.put(tx, t.key().set(6L), t.row().setLong(V, 0).setLong(U, 6)); // reverted
        tx.commit();
      }
      builder.done();
      verify(db);
      RowIndex i = db.table(with).index("computed");
      assertEquals(8, find(db, i, 5));
      assertEquals(6, find(db, i, 6));
      assertEquals(-1, find(db, i, 7));
      assertEquals(7, find(db, i, 90_000));
      assertEquals(-1, find(db, i, 91_000));
      assertEquals(5, find(db, i, 92_000));
    }
  }

  /** More duplicates than the build keeps: the rest of the tree is built by transactions. */
  @Test
  void moreDuplicatesThanAreKept() throws Exception {
    int half = 70_000;
    Options large =
        Options.defaults()
            .bufferBytes(64 << 20)
            .memory(mem -> mem.timestampBytes(64 << 20))
            .durability(Durability.NONE);
    try (Database db = Database.inMemory(large)) {
      RowTable t = db.table(PLAIN);
      t.load(
          LoadOptions.defaults().ascending(true),
          into -> {
            for (long k = 0; k < 2 * half; k++) {
              into.add(t.key().set(k), t.row().setLong(V, 1).setLong(U, k));
            }
          });
      Held held = new Held();
      TableSpec with = PLAIN.with(held.spec(half + 2000, true));
      Builder builder = held.start(() -> db.table(with));
      for (int from = 0; from < half; from += 500) {
        int first = from;
        db.run(
            tx -> {
              for (long k = first; k < first + 500; k++) {
                t.put(tx, t.key().set(k), t.row().setLong(V, 1).setLong(U, 1_000_000 + k));
                t.put(tx, t.key().set(k + half), t.row().setLong(V, 1).setLong(U, k));
              }
            });
      }
      held.go.countDown();
      builder.done();
      verify(db);
      RowIndex i = db.table(with).index("computed");
      assertEquals(2 * half, i.count());
      assertEquals(half, find(db, i, 0));
      assertEquals(2 * half - 1, find(db, i, half - 1));
      assertEquals(0, find(db, i, 1_000_000));
    }
  }

  /** Only duplicates: the build doesn't visit them all. */
  @Test
  void onlyDuplicates() throws Exception {
    try (Database db = Database.inMemory(MEMORY)) {
      RowTable t = db.table(PLAIN);
      t.load(
          LoadOptions.defaults().ascending(true),
          into -> {
            for (long k = 0; k < 100_000; k++) {
              into.add(t.key().set(k), t.row().setLong(V, 1).setLong(U, k % 3));
            }
          });
      long before = db.stats().commits();
      assertThrows(DuplicateKeyException.class, () -> db.table(PLAIN.with(BY_U)));
      assertTrue(db.stats().commits() - before < 100);
      verify(db);
    }
  }

  /** Entries and keys too long for a journal entry to be a key of a tree. */
  @Test
  void journalEntriesTooLongForAKey() throws Exception {
    Options small = MEMORY.device(dev -> dev.pageSize(4096));
    TableSpec strings = TableSpec.bytes("t", 500);
    Held held = new Held();
    int[] seen = {0};
    TableSpec with =
        strings.with(
            IndexSpec.bytes(
                "by_value",
                KeySpec.builder().bytes("value", 480).build(),
                true,
                (key, value, entry) -> {
                  if (Thread.currentThread() == held.builder && ++seen[0] == 60) {
                    held.there.countDown();
                    awaitQuietly(held.go);
                  }
                  entry.bytes(value, 0, value.length);
                  return true;
                }));
    try (Database db = Database.inMemory(small)) {
      Table<byte[], byte[]> t = db.table(strings).bytes();
      for (int k = 0; k < 100; k++) {
        int key = k;
        db.run(tx -> t.put(tx, bytes(key, 490), bytes(key, 470)));
      }
      Builder builder = held.start(() -> db.table(with));
      for (int k = 0; k < 30; k++) {
        int key = k;
        db.run(
            tx -> {
              t.put(tx, bytes(key, 490), bytes(key + 70, 470));
              t.put(tx, bytes(key + 70, 490), bytes(key, 470));
            });
        if (k % 2 == 0) {
          db.run(
              tx -> {
                t.put(tx, bytes(key, 490), bytes(1000 + key, 3));
                t.put(tx, bytes(key + 500, 4), bytes(key + 70, 470));
              });
        }
      }
      held.go.countDown();
      builder.done();
      verify(db);
      Index<Key, byte[], byte[]> i = db.table(with).bytes().index("by_value", Key.class);
      assertEquals(115, i.count());
      db.run(
          tx -> {
            for (int k = 0; k < 30; k++) {
              assertTrue(
                  Arrays.equals(bytes(k, 470), i.get(tx, i.key().bytes(bytes(k, 470))).getValue()));
              assertTrue(
                  Arrays.equals(
                      bytes(k + 70, 470), i.get(tx, i.key().bytes(bytes(k + 70, 470))).getValue()));
            }
          });
      awaitNoDrops(db);
    }
  }

  private static byte[] bytes(int n, int length) {
    byte[] b = new byte[Math.max(4, length)];
    Arrays.fill(b, (byte) 'x');
    ByteBuffer.wrap(b).putInt(n);
    return b;
  }

  /** Objects: threads move values while the index is built repeatedly. */
  @ParameterizedTest
  @EnumSource(Protocol.class)
  void objectsDuringWrites(Protocol protocol) throws Exception {
    ObjectSpec<Long, UniqueBuildModelTest.Item> items =
        ObjectSpec.of("t", Long.class, UniqueBuildModelTest.Item.class);
    int n = 800;
    try (Database db =
        Database.inMemory(
            MEMORY.device(dev -> dev.pageSize(4096)).experiments(exp -> exp.protocol(protocol)))) {
      Table<Long, UniqueBuildModelTest.Item> t = db.table(items);
      db.run(
          tx -> {
            for (long k = 0; k < n; k++) {
              t.put(tx, new UniqueBuildModelTest.Item(k, k));
            }
          });
      AtomicBoolean end = new AtomicBoolean();
      List<Builder> writers = new ArrayList<>();
      for (int w = 0; w < 2; w++) {
        Random r = new Random(w);
        Builder writer =
            new Builder(
                () -> {
                  while (!end.get()) {
                    long a = r.nextInt(n);
                    long b = (a + 1 + r.nextInt(n - 1)) % n;
                    db.run(
                        tx -> {
                          Long first = t.get(tx, a).mark();
                          Long second = t.get(tx, b).mark();
                          t.delete(tx, b);
                          t.put(tx, new UniqueBuildModelTest.Item(a, second));
                          t.put(tx, new UniqueBuildModelTest.Item(b, first));
                        });
                  }
                });
        writer.start();
        writers.add(writer);
      }
      try {
        for (int round = 0; round < 5; round++) {
          // No two records ever have equal values, so every build succeeds.
          assertEquals(
              n, db.table(items.unique("by_mark", "mark")).index("by_mark", Long.class).count());
          verify(db);
          assertTrue(db.dropIndex("t", "by_mark"));
        }
      } finally {
        end.set(true);
      }
      for (Builder writer : writers) {
        writer.done();
      }
    }
  }

  /** An expired row is not a duplicate: it is removed when another row takes its value. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void expiredRowsAreNoDuplicates(boolean first) {
    SetClock clock = new SetClock(1_000);
    Layout.Definition b = Layout.define();
    Field at = b.int64("at");
    Field code = b.int64("code");
    TableSpec rows =
        TableSpec.of("rows", KeySpec.of(FieldType.INT64), b.build())
            .expireAfter(at, Duration.ofMillis(100));
    Options options = MEMORY.expiry(e -> e.clock(clock).sweepInterval(Duration.ZERO));
    try (Database db = Database.inMemory(options)) {
      RowTable t = db.table(rows);
      db.run(
          tx -> {
            for (long k = 0; k < 100; k++) {
              // Keys 0 and 50, 1 and 51, ... have equal codes; one of each pair expires soon.
              boolean soon = k < 50 == first;
              t.insert(
                  tx,
                  t.key().set(k),
                  t.row().setLong(code, k % 50).setLong(at, soon ? 950 : 5_000));
            }
          });
      assertThrows(
          DuplicateKeyException.class, () -> db.table(rows.with(IndexSpec.unique("u", code))));
      clock.set(1_500);
      RowTable with = db.table(rows.with(IndexSpec.unique("u", code)));
      assertEquals(50, with.index("u").count());
      assertEquals(50, with.count());
      for (long k = 0; k < 50; k++) {
        assertEquals(first ? k + 50 : k, find(db, with.index("u"), k));
      }
      verify(db);
      assertEquals(0, db.sweepExpired());
    }
  }
}
