package io.fovea;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Protocol;
import io.fovea.error.AbortCause;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.DuplicateKeyException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.OperationInterruptedException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.Id;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import io.fovea.support.SimDisk;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Migrations of tables: their results, and what other threads see of them. */
@Tag("slow")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class MigrateTest extends IndexBuilds {
  record Old(@Id int number, String email, String city) {}

  record Person(@Id String email, int number, String city) {}

  private static final ObjectSpec<Integer, Old> OLD =
      ObjectSpec.of("old", Integer.class, Old.class).index("cities", "city");
  private static final ObjectSpec<String, Person> PEOPLE =
      ObjectSpec.of("people", String.class, Person.class)
          .unique("numbers", "number")
          .index("cities", "city");

  private static void people(Integer number, Old o, TableLoad<String, Person> to) {
    to.add(o.email, new Person(o.email, number, o.city));
  }

  private static Table<Integer, Old> filled(Database db, int records) {
    Table<Integer, Old> old = db.table(OLD);
    for (int i = 0; i < records; i += 50) {
      int from = i;
      db.run(
          tx -> {
            for (int n = from; n < Math.min(records, from + 50); n++) {
              old.insert(tx, new Old(n, mail(n), "city" + n % 7));
            }
          });
    }
    return old;
  }

  /** Sorts differently from the number. */
  private static String mail(int n) {
    return Integer.toHexString(n * 0x9E37_79B9) + "@" + n;
  }

  /** Stops the first mapping of a key until released. */
  private static final class Stop {
    final CountDownLatch there = new CountDownLatch(1);
    final CountDownLatch go = new CountDownLatch(1);
    private final AtomicBoolean seen = new AtomicBoolean();

    void at(boolean here) {
      if (here && seen.compareAndSet(false, true)) {
        there.countDown();
        awaitQuietly(go);
      }
    }

    Builder start(Runnable work) throws InterruptedException {
      Builder builder = new Builder(work);
      builder.start();
      there.await();
      return builder;
    }
  }

  private static Runnable people(Database db, Stop stop, int at) {
    Table<Integer, Old> old = db.table(OLD);
    return () ->
        db.migrate(
            old,
            PEOPLE,
            (number, o, to) -> {
              stop.at(number == at);
              people(number, o, to);
            });
  }

  /** Requires that the new table has the given record for a number, by all its indexes. */
  private static void check(Database db, int number, String email, String city) {
    Table<String, Person> people = db.table(PEOPLE);
    Index<Integer, String, Person> numbers = people.index("numbers", Integer.class);
    Person is = db.read(tx -> numbers.get(tx, number).getValue());
    assertEquals(new Person(email, number, city), is);
    assertEquals(is, db.read(tx -> people.get(tx, email)));
  }

  private static void unchanged(Database db, int records) throws InterruptedException {
    assertNull(db.describe("people"));
    assertEquals(records, db.table(OLD).count());
    assertEquals(1, db.table(OLD).table().core().readable().size());
    verify(db);
    db.run(tx -> db.table(OLD).put(tx, new Old(0, mail(0), "city0")));
    awaitNoDrops(db); // after the write: only a file that is written to is freed of leftovers
  }

  @Test
  void objects() throws Exception {
    SimDisk disk = new SimDisk(1);
    try (Database db = open(disk, SMALL)) {
      Table<Integer, Old> old = filled(db, 1_000);
      long before = pagesInUse(db);
      MigrateReport report = db.migrate(old, PEOPLE, MigrateTest::people);
      assertEquals(1_000, report.records());
      assertEquals(List.of("people"), db.tables());
      assertEquals(1_000, db.table(PEOPLE).count());
      for (int n = 0; n < 1_000; n += 37) {
        check(db, n, mail(n), "city" + n % 7);
      }
      InvalidUseException e =
          assertThrows(InvalidUseException.class, () -> db.read(tx -> old.get(tx, 1)));
      assertEquals(
          "Table old was migrated to table people. Use the handle that Database.table"
              + " returns for the new specification.",
          e.getMessage());
      assertThrows(InvalidUseException.class, old::count);
      verify(db);
      awaitNoDrops(db);
      assertTrue(pagesInUse(db) < 2 * before, "pages are lost");
    }
    try (Database db = open(disk, SMALL)) {
      check(db, 999, mail(999), "city" + 999 % 7);
      verify(db);
    }
  }

  private static final Layout.Definition D = Layout.define();
  private static final Field NAME = D.varText("name", 40);
  private static final Field GROUP = D.int32("group");
  private static final TableSpec ROWS =
      TableSpec.of("rows", KeySpec.of(FieldType.INT64), D.build())
          .with(IndexSpec.on("groups", GROUP));
  private static final TableSpec NEW_ROWS =
      TableSpec.of("rows", KeySpec.of(FieldType.INT32, FieldType.INT64), D.build())
          .with(IndexSpec.unique("names", NAME));

  /** Rows of variable length, to a table of the same name; a group of them is left out. */
  @Test
  void rows() {
    try (Database db = Database.inMemory(MEMORY)) {
      RowTable old = db.table(ROWS);
      db.run(
          tx -> {
            for (long n = 0; n < 300; n++) {
              Row row = old.row().setText(NAME, "n".repeat((int) n % 20) + n);
              old.put(tx, old.key().set(n), row.setInt(GROUP, (int) (n % 5)));
            }
          });
      MigrateReport report =
          db.migrate(
              old,
              NEW_ROWS,
              (key, row, to) -> {
                int group = row.getInt(GROUP);
                if (group != 4) {
                  Row copy = to.row().setText(NAME, row.getText(NAME)).setInt(GROUP, group);
                  to.add(to.key().int32(group).int64(key.getLong(0)), copy);
                }
              });
      assertEquals(240, report.records());
      RowTable fresh = db.table(NEW_ROWS);
      Row row = fresh.row();
      db.run(
          tx -> {
            for (long n = 0; n < 300; n++) {
              Key key = fresh.key().int32((int) n % 5).int64(n);
              assertEquals(n % 5 != 4, fresh.get(tx, key, row));
              RowIndex names = fresh.index("names");
              String name = "n".repeat((int) n % 20) + n;
              assertEquals(n % 5 != 4, names.get(tx, names.key().set(name), row));
            }
          });
      verify(db);
    }
  }

  private static byte[] bytes(String s) {
    return s.getBytes(StandardCharsets.UTF_8);
  }

  /** Byte strings, long ones too, to others and to objects. */
  @Test
  void byteStrings() {
    try (Database db = Database.inMemory(MEMORY)) {
      Table<byte[], byte[]> old = db.table(TableSpec.bytes("b", 20)).bytes();
      db.run(
          tx -> {
            for (int n = 0; n < 50; n++) {
              old.put(tx, bytes("k" + n), new byte[n * 1_000]);
            }
          });
      TableSpec longer = TableSpec.bytes("longer", 30);
      db.migrate(old, longer, RowTable::bytes, (k, v, to) -> to.add(bytes("x" + new String(k)), v));
      Table<byte[], byte[]> fresh = db.table(longer).bytes();
      db.run(
          tx -> {
            for (int n = 0; n < 50; n++) {
              assertArrayEquals(new byte[n * 1_000], fresh.get(tx, bytes("xk" + n)));
            }
          });
      ObjectSpec<String, Person> spec = ObjectSpec.of("p", String.class, Person.class);
      db.migrate(
          fresh,
          spec,
          (k, v, to) -> to.add(new String(k), new Person(new String(k), v.length, "")));
      assertEquals(
          49_000, db.<Integer, RuntimeException>read(tx -> db.table(spec).get(tx, "xk49").number));
      verify(db);
    }
  }

  /** Changes of all kinds, before and behind the position of the copy. */
  @ParameterizedTest
  @EnumSource(Protocol.class)
  void changesDuringACopy(Protocol protocol) throws Exception {
    try (Database db = Database.inMemory(MEMORY.experiments(exp -> exp.protocol(protocol)))) {
      Table<Integer, Old> old = filled(db, 1_000);
      Stop stop = new Stop();
      Builder builder = stop.start(people(db, stop, 500));
      for (int n : new int[] {100, 900}) {
        db.run(tx -> old.put(tx, new Old(n, mail(n), "same key")));
        db.run(tx -> old.put(tx, new Old(n + 1, "other" + n, "other key")));
        db.run(tx -> old.update(tx, n + 2, o -> new Old(o.number, "twice" + n, "")));
        db.run(tx -> old.update(tx, n + 2, o -> new Old(o.number, "thrice" + n, "")));
        db.run(tx -> old.delete(tx, n + 3));
        db.run(tx -> old.deleteRange(tx, n + 4, n + 6));
        db.run(tx -> old.insert(tx, new Old(10_000 + n, "inserted" + n, "")));
        // Two records exchange their new keys.
        db.run(
            tx -> {
              old.put(tx, new Old(n + 10, mail(n + 11), "exchanged"));
              old.put(tx, new Old(n + 11, mail(n + 10), "exchanged"));
            });
      }
      assertNull(db.describe("people"));
      stop.go.countDown();
      builder.done();
      for (int n : new int[] {100, 900}) {
        check(db, n, mail(n), "same key");
        check(db, n + 1, "other" + n, "other key");
        check(db, n + 2, "thrice" + n, "");
        check(db, n + 10, mail(n + 11), "exchanged");
        check(db, n + 11, mail(n + 10), "exchanged");
        check(db, 10_000 + n, "inserted" + n, "");
      }
      assertEquals(1_000 - 6 + 2, db.table(PEOPLE).count());
      verify(db);
    }
  }

  @Test
  void duplicateKeys() throws Exception {
    try (Database db = open(new SimDisk(1), SMALL)) {
      Table<Integer, Old> old = filled(db, 1_000);
      db.run(tx -> old.put(tx, new Old(700, mail(20), "")));
      DuplicateKeyException e =
          assertThrows(
              DuplicateKeyException.class, () -> db.migrate(old, PEOPLE, MigrateTest::people));
      assertEquals(
          "Records 20 and 700 of table \"old\" would both have the key "
              + mail(20)
              + " in table \"people\". Nothing was migrated. Change or delete one of them, or map"
              + " them to different keys.",
          e.getMessage());
      assertEquals("people", e.table());
      assertNull(e.index());
      unchanged(db, 1_000);
      assertThrows(
          DuplicateKeyException.class,
          () -> db.migrate(old, PEOPLE, (k, o, to) -> to.add("all", new Person("all", k, ""))));
      unchanged(db, 1_000);
      db.run(tx -> old.delete(tx, 20));
      db.migrate(old, PEOPLE, MigrateTest::people);
      check(db, 700, mail(20), "");
      verify(db);
    }
  }

  @Test
  void duplicatesInAUniqueIndex() throws Exception {
    try (Database db = open(new SimDisk(1), SMALL)) {
      Table<Integer, Old> old = filled(db, 300);
      DuplicateKeyException e =
          assertThrows(
              DuplicateKeyException.class,
              () ->
                  db.migrate(
                      old,
                      PEOPLE,
                      (k, o, to) -> to.add(o.email, new Person(o.email, k % 299, o.city))));
      assertEquals(
          "Records 0 and 299 of table \"old\" would have the same key in unique index"
              + " \"numbers\", which record "
              + mail(0)
              + " has, of table \"people\". Nothing was migrated. Change or delete one of them, or"
              + " map them to different keys.",
          e.getMessage());
      assertEquals("numbers", e.index());
      unchanged(db, 300);
    }
  }

  /** A new key moves to a record that the copy finds before it has settled the earlier one. */
  @Test
  void aKeyThatMoves() throws Exception {
    try (Database db = Database.inMemory(MEMORY)) {
      Table<Integer, Old> old = filled(db, 1_000);
      Stop stop = new Stop();
      Builder builder = stop.start(people(db, stop, 500));
      db.run(
          tx -> {
            for (int n = 0; n < 100; n++) {
              old.put(tx, new Old(n, "moved" + n, ""));
              old.put(tx, new Old(n + 600, mail(n), ""));
            }
          });
      stop.go.countDown();
      builder.done();
      for (int n = 0; n < 100; n++) {
        check(db, n, "moved" + n, "");
        check(db, n + 600, mail(n), "");
      }
      assertEquals(1_000, db.table(PEOPLE).count());
      verify(db);
    }
  }

  /** A migration that stops while the old table is frozen. */
  private static final class Frozen {
    final Stop stop = new Stop();
    final Builder builder;

    /** Returns once it is frozen; runs an action during the copy. */
    Frozen(Database db, Table<Integer, Old> old, Runnable action) throws InterruptedException {
      this(db, old, action, 50, "changed", () -> {});
    }

    /**
     * Gives a record an email after the last round before the freeze, then runs another action;
     * stops at that record.
     */
    Frozen(
        Database db,
        Table<Integer, Old> old,
        Runnable action,
        int record,
        String email,
        Runnable lastAction)
        throws InterruptedException {
      Stop copying = new Stop();
      Stop settling = new Stop();
      int[] mapped = new int[2];
      builder =
          copying.start(
              () ->
                  db.migrate(
                      old,
                      PEOPLE,
                      (number, o, to) -> {
                        copying.at(number == 200);
                        settling.at(number == 100 && ++mapped[0] == 2);
                        stop.at(number == record && ++mapped[1] == 2);
                        people(number, o, to);
                      }));
      boolean reached = false;
      try {
        action.run();
        db.run(tx -> old.put(tx, new Old(100, mail(100), "changed")));
        copying.go.countDown();
        settling.there.await();
        db.run(tx -> old.put(tx, new Old(record, email, ""))); // behind the present round
        lastAction.run();
        settling.go.countDown();
        stop.there.await();
        reached = true;
      } finally {
        if (!reached) {
          copying.go.countDown(); // otherwise the close would wait
          settling.go.countDown();
          stop.go.countDown();
        }
      }
    }

    void done(Database db) throws Exception {
      stop.go.countDown();
      builder.done();
      check(db, 50, "changed", "");
      check(db, 100, mail(100), "changed");
      assertEquals(300, db.table(PEOPLE).count());
    }
  }

  /**
   * An open transaction that has used the old table is not waited for, and can't commit. Under the
   * other protocols the last round before the freeze is repeated, and leaves no key to stop at.
   */
  @ParameterizedTest
  @EnumSource(names = {"TICTOC", "TWO_PHASE_LOCKING", "SILO"})
  void usersOfAFrozenTableAreAborted(Protocol protocol) throws Exception {
    try (Database db = Database.inMemory(MEMORY.experiments(exp -> exp.protocol(protocol)))) {
      Table<Integer, Old> old = filled(db, 300);
      Transaction[] open = new Transaction[2];
      Frozen frozen =
          new Frozen(
              db,
              old,
              () -> {
                open[0] = db.begin();
                old.put(open[0], new Old(5_000, "late", ""));
                open[1] = db.begin();
                old.put(open[1], new Old(6_000, "later", ""));
              });
      try {
        TransactionAbortedException e =
            assertThrows(TransactionAbortedException.class, open[0]::commit);
        assertTrue(e.retryable(), e::toString);
        try (Transaction user = db.begin()) {
          e = assertThrows(TransactionAbortedException.class, () -> old.get(user, 1));
          assertEquals(AbortCause.CATALOG, e.abortCause());
        }
      } finally {
        frozen.stop.go.countDown();
      }
      frozen.done(db);
      assertTrue(assertThrows(TransactionAbortedException.class, open[1]::commit).retryable());
      verify(db);
    }
  }

  /** A lock that a transaction keeps holds up the migration, but not other users of the table. */
  @Test
  void aKeptLockEndsTheFreeze() throws Exception {
    Options options = MEMORY.experiments(exp -> exp.protocol(Protocol.TWO_PHASE_LOCKING));
    try (Database db = Database.inMemory(options)) {
      Table<Integer, Old> old = filled(db, 300);
      Transaction[] open = new Transaction[1];
      Frozen frozen =
          new Frozen(
              db,
              old,
              () -> {},
              40,
              "changed",
              () -> {
                db.run(tx -> old.put(tx, new Old(50, "changed too", ""))); // behind it too
                open[0] = db.begin();
                old.put(open[0], new Old(50, "never", ""));
              });
      try (Transaction user = db.begin()) {
        TransactionAbortedException e =
            assertThrows(TransactionAbortedException.class, () -> old.get(user, 1));
        assertEquals(AbortCause.CATALOG, e.abortCause());
      } finally {
        frozen.stop.go.countDown();
      }
      assertEquals(new Old(1, mail(1), "city1"), db.read(tx -> old.get(tx, 1)));
      db.run(tx -> old.put(tx, new Old(60, "last", "")));
      assertTrue(assertThrows(TransactionAbortedException.class, open[0]::commit).retryable());
      frozen.builder.done();
      check(db, 40, "changed", "");
      check(db, 50, "changed too", "");
      check(db, 60, "last", "");
      assertEquals(300, db.table(PEOPLE).count());
      verify(db);
    }
  }

  /** Two records get the same new key when only the rounds of the frozen table are left. */
  @Test
  void aDuplicateInAFrozenTable() throws Exception {
    try (Database db = Database.inMemory(MEMORY)) {
      Table<Integer, Old> old = filled(db, 300);
      Frozen frozen = new Frozen(db, old, () -> {}, 50, mail(60), () -> {});
      frozen.stop.go.countDown();
      frozen.builder.join();
      Throwable e = frozen.builder.failure.get();
      assertEquals(DuplicateKeyException.class, e.getClass(), e::toString);
      assertTrue(e.getMessage().startsWith("Records 60 and 50 of table"), e::getMessage);
      assertEquals(300, db.table(OLD).count());
      verify(db);
    }
  }

  /** A pass ends, even if each record that it reads is followed by a new one. */
  @Test
  void recordsAddedAtTheEndAreLeftToTheNextRound() throws Exception {
    try (Database db = Database.inMemory(MEMORY);
        ExecutorService other = Executors.newSingleThreadExecutor()) {
      Table<Integer, Old> old = filled(db, 300);
      int[] mapped = new int[1];
      db.migrate(
          old,
          PEOPLE,
          (number, o, to) -> {
            mapped[0]++;
            if (number < 300) {
              Old next = new Old(1_000 + number, mail(1_000 + number), "");
              getQuietly(other.submit(() -> db.run(tx -> old.put(tx, next))));
            }
            people(number, o, to);
          });
      // 300 in the pass and 300 in rounds, not all 600 in the pass; more if a piece is repeated.
      assertTrue(mapped[0] >= 600 && mapped[0] < 900, mapped[0] + " records were mapped");
      assertEquals(600, db.table(PEOPLE).count());
      check(db, 1_299, mail(1_299), "");
      verify(db);
    }
  }

  private static void getQuietly(Future<?> done) {
    try {
      done.get();
    } catch (InterruptedException | ExecutionException e) {
      throw new AssertionError(e);
    }
  }

  /** The size of new records counts, too. */
  @Test
  void shortRecordsBecomeLong() {
    Options options = MEMORY.transactions(txs -> txs.maxBytes(1 << 20));
    try (Database db = Database.inMemory(options)) {
      Table<byte[], byte[]> old = db.table(TableSpec.bytes("b", 20)).bytes();
      db.run(
          tx -> {
            for (int n = 0; n < 100; n++) {
              old.put(tx, bytes("k" + n), new byte[1]);
            }
          });
      TableSpec longer = TableSpec.bytes("longer", 20);
      byte[] value = new byte[40_000];
      assertEquals(
          100, db.migrate(old, longer, RowTable::bytes, (k, v, to) -> to.add(k, value)).records());
      verify(db);
    }
  }

  /** A change that waits for a migration to the same name is applied to the new table. */
  @Test
  void changesThatWaitForASuccessor() throws Exception {
    try (Database db = Database.inMemory(MEMORY)) {
      Table<Integer, Old> old = filled(db, 300);
      ObjectSpec<String, Person> successor =
          ObjectSpec.of("old", String.class, Person.class).index("cities", "city");
      Stop stop = new Stop();
      Builder builder =
          stop.start(
              () ->
                  db.migrate(
                      old,
                      successor,
                      (number, o, to) -> {
                        stop.at(number == 200);
                        people(number, o, to);
                      }));
      boolean[] renamed = new boolean[1];
      Builder other = new Builder(() -> renamed[0] = db.renameTable("old", "renamed"));
      other.start();
      awaitBlocked(other);
      stop.go.countDown();
      builder.done();
      other.done();
      assertTrue(renamed[0]);
      assertEquals(List.of("renamed"), db.tables());
      verify(db);
    }
  }

  private static void awaitBlocked(Thread thread) {
    while (thread.getState() == Thread.State.NEW || thread.getState() == Thread.State.RUNNABLE) {
      Thread.onSpinWait();
    }
  }

  /** A transaction begun before the last record is settled may read a state without it. */
  @ParameterizedTest
  @EnumSource(Protocol.class)
  void aPartOfTheNewTableIsInvisible(Protocol protocol) throws Exception {
    try (Database db = Database.inMemory(MEMORY.experiments(exp -> exp.protocol(protocol)))) {
      Table<byte[], byte[]> other = db.table(OTHER).bytes();
      db.run(tx -> other.put(tx, new byte[1], new byte[1]));
      for (boolean writes : new boolean[] {false, true}) {
        Frozen frozen = new Frozen(db, filled(db, 300), () -> {});
        try (Transaction open = db.begin(writes ? TxOptions.defaults() : TxOptions.forReading())) {
          assertTrue(other.exists(open, new byte[1]));
          if (writes) {
            other.put(open, new byte[1], new byte[2]);
          }
          frozen.done(db);
          Table<String, Person> people = db.table(PEOPLE);
          Person changed = people.get(open, "changed");
          Person before = people.get(open, mail(50));
          open.commit();
          assertEquals(new Person("changed", 50, ""), changed);
          assertNull(before);
        } catch (TransactionAbortedException e) {
          assertTrue(e.retryable(), e::toString);
        }
        verify(db);
        db.dropTable("people");
      }
    }
  }

  /** Subscribers see the old table's changes, then its end. */
  @Test
  void changeFeed() throws Exception {
    SimDisk disk = new SimDisk(1);
    Options options = SMALL.log(log -> log.changeRetentionBytes(4 << 20));
    try (Database db = open(disk, options)) {
      Table<Integer, Old> old = filled(db, 300);
      ChangesCopy copy = new ChangesCopy();
      copy.begin(db);
      Stop stop = new Stop();
      Builder builder = stop.start(people(db, stop, 200));
      db.run(tx -> old.put(tx, new Old(100, "changed", "")));
      db.run(tx -> old.delete(tx, 250));
      copy.check(db);
      assertEquals(0, copy.loads);
      ChangePosition before = db.changesPosition();
      stop.go.countDown();
      builder.done();
      db.run(tx -> db.table(PEOPLE).put(tx, new Person("later", 9_000, "")));
      copy.check(db);
      assertEquals(1, copy.loads);
      try (Changes changes = db.changes(before)) {
        List<String> seen = new ArrayList<>();
        ChangeBatch batch;
        while ((batch = changes.poll(Duration.ZERO)) != null) {
          batch.changes().forEach(c -> seen.add(c.kind() + " " + c.table()));
        }
        assertEquals(List.of("DROPPED old", "LOADED people", "PUT people"), seen);
      }
      db.run(tx -> db.table(PEOPLE).delete(tx, "later"));
      copy.check(db);
      assertEquals(1, copy.loads);
    }
  }

  record Lease(@Id int number, Instant until) {}

  /** Expired records are not copied; the new table has its own expiry. */
  @Test
  void expiry() {
    try (Database db = Database.inMemory(MEMORY.expiry(e -> e.sweepInterval(Duration.ZERO)))) {
      ObjectSpec<Integer, Lease> spec =
          ObjectSpec.of("leases", Integer.class, Lease.class).expireAfter("until", Duration.ZERO);
      Table<Integer, Lease> old = db.table(spec);
      db.run(
          tx -> {
            for (int n = 0; n < 100; n++) {
              Instant until = n % 2 == 0 ? Instant.EPOCH.plusSeconds(1) : Instant.MAX;
              old.put(tx, new Lease(n, n % 2 == 0 ? until : Instant.parse("2500-01-01T00:00:00Z")));
            }
          });
      ObjectSpec<Integer, Lease> fresh =
          ObjectSpec.of("leases2", Integer.class, Lease.class)
              .expireAfter("until", Duration.ofDays(1));
      // Two old records have one new key, but one of them has expired.
      db.migrate(old, fresh, (k, v, to) -> to.add(k / 2, new Lease(k / 2, v.until)));
      assertEquals(50, db.table(fresh).count());
      db.run(tx -> db.table(fresh).put(tx, new Lease(7, Instant.EPOCH.plusSeconds(1))));
      assertNull(db.read(tx -> db.table(fresh).get(tx, 7)));
      assertEquals(1, db.sweepExpired());
      verify(db);
    }
  }

  @Test
  void misuse() throws Exception {
    SimDisk disk = new SimDisk(1);
    try (Database db = open(disk, SMALL);
        Database another = Database.inMemory(MEMORY)) {
      Table<Integer, Old> old = filled(db, 300);
      refused("in a transaction", () -> db.run(tx -> db.migrate(old, PEOPLE, MigrateTest::people)));
      try (Transaction tx = db.begin()) {
        assertTrue(tx.isActive());
        refused("in a transaction", () -> db.migrate(old, PEOPLE, MigrateTest::people));
      }
      refused("another database", () -> another.migrate(old, PEOPLE, MigrateTest::people));
      try (Database then = db.snapshot()) {
        Table<Integer, Old> frozen = then.table(OLD);
        refused("read-only", () -> then.migrate(frozen, PEOPLE, MigrateTest::people));
      }
      refused(
          "at most one record",
          () ->
              db.migrate(
                  old,
                  PEOPLE,
                  (k, o, to) -> {
                    people(k, o, to);
                    people(k, o, to);
                  }));
      refused(
          "in a transaction",
          () ->
              db.migrate(
                  old,
                  PEOPLE,
                  (k, o, to) -> db.migrate(db.table(OLD), PEOPLE, MigrateTest::people)));
      unchanged(db, 300);
      db.table(PEOPLE);
      refused("already exists", () -> db.migrate(old, PEOPLE, MigrateTest::people));
      db.dropTable("people");
      IllegalStateException failure = new IllegalStateException("no");
      assertEquals(
          failure,
          assertThrows(
              IllegalStateException.class,
              () ->
                  db.migrate(
                      old,
                      PEOPLE,
                      (k, o, to) -> {
                        people(k, o, to);
                        if (k == 250) {
                          throw failure;
                        }
                      })));
      unchanged(db, 300);
      // A handle of the new table is refused before the switch.
      RowTable[] early = new RowTable[1];
      TableSpec spec = TableSpec.bytes("bytes", 30);
      db.migrate(
          old,
          spec,
          t -> {
            early[0] = t;
            return t.bytes();
          },
          (k, o, to) -> {
            if (k == 0) {
              Builder other =
                  new Builder(
                      () ->
                          refused(
                              "can be used once",
                              () -> db.run(tx -> early[0].bytes().get(tx, bytes("a")))));
              other.start();
              try {
                other.done();
              } catch (Exception e) {
                throw new AssertionError(e);
              }
            }
            to.add(bytes(o.email), bytes(o.city));
          });
      assertArrayEquals(bytes("city0"), db.read(tx -> early[0].bytes().get(tx, bytes(mail(0)))));
      refused("was migrated", () -> db.migrate(old, PEOPLE, MigrateTest::people));
    }
    try (Database db = open(disk, SMALL.readOnly(true))) {
      Table<byte[], byte[]> b = db.table(TableSpec.bytes("bytes", 30)).bytes();
      refused(
          "read-only",
          () ->
              db.migrate(b, TableSpec.bytes("c", 30), RowTable::bytes, (k, v, to) -> to.add(k, v)));
    }
  }

  private static void refused(String why, Executable call) {
    InvalidUseException e = assertThrows(InvalidUseException.class, call);
    assertTrue(e.getMessage().contains(why), e::getMessage);
  }

  @Test
  void interruptsDropsAndCloses() throws Exception {
    SimDisk disk = new SimDisk(1);
    Database db = open(disk, SMALL);
    filled(db, 300);
    Stop stop = new Stop();
    Builder builder = stop.start(people(db, stop, 200));
    builder.interrupt();
    stop.go.countDown();
    builder.join();
    assertEquals(OperationInterruptedException.class, builder.failure.get().getClass());
    unchanged(db, 300);

    Stop beforeDrop = new Stop();
    Builder dropped = beforeDrop.start(people(db, beforeDrop, 200));
    Builder drop = new Builder(() -> db.dropTable("old"));
    drop.start();
    while (!db.table(OLD).table().core().isDropPending()) {
      Thread.onSpinWait();
    }
    beforeDrop.go.countDown();
    dropped.join();
    drop.done();
    assertEquals(InvalidUseException.class, dropped.failure.get().getClass());
    assertEquals(List.of(), db.tables());
    verify(db);

    filled(db, 300);
    Stop beforeClose = new Stop();
    Builder closed = beforeClose.start(people(db, beforeClose, 200));
    Builder close = new Builder(db::close);
    close.start();
    while (db.isOpen()) {
      Thread.onSpinWait();
    }
    beforeClose.go.countDown();
    closed.join();
    close.done();
    assertEquals(DatabaseClosedException.class, closed.failure.get().getClass());
    try (Database again = open(disk, SMALL)) {
      unchanged(again, 300);
      again.migrate(again.table(OLD), PEOPLE, MigrateTest::people);
      check(again, 299, mail(299), "city" + 299 % 7);
      verify(again);
    }
  }

  /** Operations on the old table wait; a snapshot, a compaction and a verification do not. */
  @Test
  void besideOthers() throws Exception {
    try (Database db = open(new SimDisk(1), SMALL)) {
      filled(db, 1_000);
      db.run(tx -> db.table(OLD).deleteRange(tx, 300, 600));
      Stop stop = new Stop();
      Builder builder = stop.start(people(db, stop, 200));
      TableSpec with = OLD.table();
      Builder index =
          new Builder(
              () ->
                  assertThrows(
                      InvalidUseException.class,
                      () -> {
                        db.table(OLD.index("more", "email"));
                        throw new InvalidUseException("It was built after the migration.");
                      }));
      index.start();
      try (Database then = db.snapshot()) {
        assertNull(then.describe("people"));
        verify(then);
        assertEquals(700, then.table(OLD).count());
      }
      assertFalse(db.tables().contains("people"));
      assertEquals(with.name(), db.tables().get(0));
      db.checkpoint();
      db.compact(CompactOptions.defaults());
      stop.go.countDown();
      builder.done();
      index.done();
      verify(db);
      if (db.tables().contains("old")) {
        db.dropTable("old"); // created again by the thread with the index
      }
      assertEquals(700, db.table(PEOPLE).count());
      db.compact(CompactOptions.defaults());
      verify(db);
    }
  }
}
