package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Durability;
import io.fovea.config.Protocol;
import io.fovea.error.AbortCause;
import io.fovea.error.IncompatibleSchemaException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import io.fovea.support.SimDisk;
import io.fovea.support.SimStorage;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Tables created, dropped and renamed in transactions, under each protocol. */
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class CatalogTransactionTest {
  private static final Layout.Definition B = Layout.define();
  private static final Field V = B.int64("v");
  private static final Layout LAYOUT = B.build();
  private static final KeySpec KEY = KeySpec.of(FieldType.INT64);

  private final ExecutorService threads = Executors.newCachedThreadPool();

  @AfterEach
  void end() throws Exception {
    threads.shutdown();
    assertTrue(threads.awaitTermination(60, TimeUnit.SECONDS), "a thread does not finish");
  }

  private static TableSpec spec(String name) {
    return TableSpec.of(name, KEY, LAYOUT).with(IndexSpec.on("by_v", V));
  }

  private static Options options(Protocol protocol) {
    return Options.defaults()
        .bufferBytes(8 << 20)
        .device(dev -> dev.pageSize(4096))
        .durability(Durability.SYNC)
        .experiments(exp -> exp.protocol(protocol));
  }

  private static void put(RowTable t, Transaction tx, long key, long value) {
    t.put(tx, t.key().set(key), t.row().clear().setLong(V, value));
  }

  private static @Nullable Long get(RowTable t, Transaction tx, long key) {
    Row row = t.row();
    return t.get(tx, t.key().set(key), row) ? row.getLong(V) : null;
  }

  private static long count(RowTable t, Transaction tx) {
    long n = 0;
    try (RowCursor c = t.scan(tx, Range.all(), ScanOrder.ASCENDING)) {
      while (c.next()) {
        n++;
      }
    }
    return n;
  }

  private static void verify(Database db) {
    VerifyReport report = db.verify();
    assertTrue(report.ok(), report::toString);
  }

  private static AbortCause refused(Runnable what) {
    return assertThrows(TransactionAbortedException.class, what::run).abortCause();
  }

  @ParameterizedTest
  @EnumSource
  void aTableAppearsWithItsRecords(Protocol protocol) {
    try (Database db = Database.inMemory(options(protocol))) {
      RowTable record = db.table(spec("record"));
      RowTable[] made = new RowTable[1];
      db.run(
          tx -> {
            RowTable t = tx.table(spec("t"));
            made[0] = t;
            for (long k = 0; k < 100; k++) {
              put(t, tx, k, k % 10);
            }
            put(record, tx, 1, 100);
            assertEquals(7L, get(t, tx, 17));
            assertEquals(100, count(t, tx));
            RowIndex i = t.index("by_v");
            assertEquals(7L, get(t, tx, 97));
            Row row = t.row();
            assertTrue(i.get(tx, i.key().set(3L), row));
            assertEquals(List.of("record", "t"), tx.tables());
            assertEquals(List.of("record"), db.tables());
            assertEquals(t.name(), tx.table(spec("t")).name());
          });
      assertEquals(List.of("record", "t"), db.tables());
      RowTable t = db.table(spec("t"));
      db.run(
          tx -> {
            assertEquals(100, count(t, tx));
            assertEquals(100, count(made[0], tx));
            assertEquals(100L, get(record, tx, 1));
          });
      verify(db);
    }
  }

  @ParameterizedTest
  @EnumSource
  void rolledBackTablesLeaveNoTrace(Protocol protocol) {
    try (Database db = Database.inMemory(options(protocol))) {
      RowTable old = db.table(spec("old"));
      db.run(tx -> put(old, tx, 1, 1));
      for (int round = 0; round < 20; round++) {
        boolean thrown = round % 2 == 0;
        RowTable[] made = new RowTable[1];
        if (thrown) {
          assertThrows(
              IllegalStateException.class,
              () ->
                  db.run(
                      tx -> {
                        made[0] = change(tx);
                        throw new IllegalStateException("no");
                      }));
        } else {
          try (Transaction tx = db.begin()) {
            made[0] = change(tx);
          }
        }
        assertEquals(List.of("old"), db.tables());
        assertEquals(1L, (long) db.call(tx -> get(old, tx, 1)));
        InvalidUseException e =
            assertThrows(InvalidUseException.class, () -> db.run(tx -> get(made[0], tx, 1)));
        assertTrue(e.getMessage().contains("does not exist"), e::getMessage);
      }
      assertTrue(db.store().pool().allocatorState().highWater() < 200, "pages were not freed");
      verify(db);
    }
  }

  private static RowTable change(Transaction tx) {
    RowTable t = tx.table(spec("new"));
    for (long k = 0; k < 300; k++) {
      put(t, tx, k, k);
    }
    assertTrue(tx.dropTable("old"));
    assertTrue(tx.renameTable("new", "old"));
    assertEquals(List.of("old"), tx.tables());
    return t;
  }

  @ParameterizedTest
  @EnumSource
  void aTableIsSwappedIn(Protocol protocol) {
    try (Database db = Database.inMemory(options(protocol))) {
      RowTable a = db.table(spec("a"));
      RowTable b = db.table(spec("b"));
      RowTable record = db.table(spec("record"));
      db.run(tx -> put(a, tx, 1, 1));
      db.run(tx -> put(b, tx, 1, 2));
      db.run(
          tx -> {
            assertTrue(tx.dropTable("a"));
            assertThrows(InvalidUseException.class, () -> get(a, tx, 1));
            assertFalse(tx.dropTable("a"));
            assertTrue(tx.renameTable("b", "a"));
            assertFalse(tx.renameTable("b", "c"));
            assertEquals(2L, get(tx.table(spec("a")), tx, 1));
            assertEquals(2L, get(b, tx, 1));
            put(record, tx, 1, 9);
            assertEquals(List.of("a", "b", "record"), db.tables());
          });
      assertEquals(List.of("a", "record"), db.tables());
      assertEquals("a", b.name());
      assertEquals(2L, (long) db.call(tx -> get(db.table(spec("a")), tx, 1)));
      assertEquals(2L, (long) db.call(tx -> get(b, tx, 1)));
      InvalidUseException e =
          assertThrows(InvalidUseException.class, () -> db.run(tx -> get(a, tx, 1)));
      assertTrue(e.getMessage().contains("was dropped"), e::getMessage);
      verify(db);
    }
  }

  @Test
  void namesMoveInEveryWay() {
    try (Database db = Database.inMemory(options(Protocol.TICTOC))) {
      for (String name : List.of("a", "b", "c")) {
        RowTable t = db.table(spec(name));
        db.run(tx -> put(t, tx, 1, name.charAt(0)));
      }
      db.run(
          tx -> {
            tx.renameTable("a", "x");
            tx.renameTable("b", "a");
            tx.renameTable("x", "b");
          });
      assertEquals(List.of("a", "b", "c"), db.tables());
      assertEquals((long) 'b', (long) db.call(tx -> get(tx.table(spec("a")), tx, 1)));
      assertEquals((long) 'a', (long) db.call(tx -> get(tx.table(spec("b")), tx, 1)));
      db.run(
          tx -> {
            tx.dropTable("c");
            assertNull(get(tx.table(spec("c")), tx, 1));
          });
      assertEquals(0, (long) db.call(tx -> count(db.table(spec("c")), tx)));
      // A table created and dropped in one transaction never existed.
      db.run(
          tx -> {
            RowTable t = tx.table(spec("d"));
            put(t, tx, 1, 1);
            tx.renameTable("d", "e");
            tx.dropTable("e");
            assertThrows(InvalidUseException.class, () -> get(t, tx, 1));
            assertEquals(List.of("a", "b", "c"), tx.tables());
          });
      // A rename that is reverted has no effect.
      db.run(
          tx -> {
            tx.renameTable("a", "z");
            tx.renameTable("z", "a");
          });
      assertEquals(List.of("a", "b", "c"), db.tables());
      assertThrows(InvalidUseException.class, () -> db.run(tx -> tx.renameTable("a", "b")));
      assertThrows(IllegalArgumentException.class, () -> db.run(tx -> tx.renameTable("a", "")));
      assertThrows(
          IncompatibleSchemaException.class, () -> db.run(tx -> tx.table(TableSpec.bytes("a", 9))));
      assertThrows(InvalidUseException.class, () -> db.read(tx -> tx.dropTable("a")));
      assertThrows(InvalidUseException.class, () -> db.read(tx -> tx.table(spec("new"))));
      assertEquals(false, (boolean) db.read(tx -> tx.dropTable("new")));
      verify(db);
    }
  }

  @Test
  void anIndexIsNotBuiltInATransaction() {
    try (Database db = Database.inMemory(options(Protocol.TICTOC))) {
      db.table(TableSpec.of("t", KEY, LAYOUT));
      assertThrows(InvalidUseException.class, () -> db.run(tx -> tx.table(spec("t"))));
      db.table(spec("t"));
      db.run(tx -> tx.table(spec("t")));
    }
  }

  @ParameterizedTest
  @EnumSource
  void firstCreatorOfATableWins(Protocol protocol) throws Exception {
    try (Database db = Database.inMemory(options(protocol))) {
      try (Transaction mine = db.begin()) {
        put(mine.table(spec("t")), mine, 1, 1);
        Future<?> other = threads.submit(() -> db.run(tx -> put(tx.table(spec("t")), tx, 1, 2)));
        other.get(60, TimeUnit.SECONDS);
        assertEquals(AbortCause.CATALOG, refused(mine::commit));
      }
      int[] attempts = {0};
      db.run(
          tx -> {
            attempts[0]++;
            RowTable t = tx.table(spec("u"));
            if (attempts[0] == 1) {
              threads.submit(() -> db.table(spec("u"))).get(60, TimeUnit.SECONDS);
            }
            put(t, tx, 1, attempts[0]);
          });
      assertEquals(2, attempts[0]);
      assertEquals(2L, (long) db.call(tx -> get(db.table(spec("u")), tx, 1)));
      assertEquals(2L, (long) db.call(tx -> get(db.table(spec("t")), tx, 1)));
      verify(db);
    }
  }

  @ParameterizedTest
  @EnumSource
  void usersOfADroppedTableAreAborted(Protocol protocol) throws Exception {
    try (Database db = Database.inMemory(options(protocol))) {
      RowTable a = db.table(spec("a"));
      RowTable b = db.table(spec("b"));
      RowTable c = db.table(spec("c"));
      db.run(
          tx -> {
            put(a, tx, 1, 1);
            put(b, tx, 1, 1);
          });
      for (boolean writes : new boolean[] {true, false}) {
        RowTable t = db.table(spec("t"));
        db.run(tx -> put(t, tx, 1, 1));
        Transaction user = db.begin();
        Transaction bystander = db.begin();
        try (user;
            bystander) {
          assertEquals(1L, get(t, user, 1));
          assertEquals(1L, get(a, bystander, 1));
          if (writes) {
            put(t, user, 2, 2);
            put(c, bystander, 1, 5);
          }
          threads
              .submit(
                  () ->
                      db.run(
                          tx -> {
                            tx.dropTable("t");
                            put(b, tx, 1, 2);
                          }))
              .get(60, TimeUnit.SECONDS);
          assertThrows(InvalidUseException.class, () -> get(t, bystander, 1));
          assertEquals(AbortCause.CATALOG, refused(user::commit));
        }
      }
      verify(db);
    }
  }

  /** A scan of objects that found nothing counts as a use, over any kind of table. */
  @ParameterizedTest
  @EnumSource
  void scannersOfADroppedTableAreAborted(Protocol protocol) throws Exception {
    ByteCodec<byte[]> same =
        new ByteCodec<>() {
          @Override
          public byte[] encode(byte[] object) {
            return object;
          }

          @Override
          public byte[] decode(byte[] bytes) {
            return bytes;
          }
        };
    try (Database db = Database.inMemory(options(protocol))) {
      RowTable a = db.table(spec("a"));
      Table<byte[], byte[]> t = db.table(TableSpec.bytes("t", 8)).as(same, same);
      try (Transaction user = db.begin()) {
        t.scan(user, null, null, ScanOrder.ASCENDING, (k, v) -> true);
        put(a, user, 1, 1);
        threads.submit(() -> db.run(tx -> tx.dropTable("t"))).get(60, TimeUnit.SECONDS);
        assertEquals(AbortCause.CATALOG, refused(user::commit));
      }
      verify(db);
    }
  }

  @ParameterizedTest
  @EnumSource
  void othersCommitAfterADrop(Protocol protocol) throws Exception {
    try (Database db = Database.inMemory(options(protocol))) {
      RowTable a = db.table(spec("a"));
      db.table(spec("t"));
      db.run(tx -> put(a, tx, 1, 1));
      try (Transaction bystander = db.begin()) {
        assertEquals(1L, get(a, bystander, 1));
        threads.submit(() -> db.run(tx -> tx.dropTable("t"))).get(60, TimeUnit.SECONDS);
        put(a, bystander, 2, 2);
        bystander.commit();
      }
      assertEquals(List.of("a"), db.tables());
      verify(db);
    }
  }

  /** Uses are recorded in a bitmap: several tables share one bit. */
  @ParameterizedTest
  @EnumSource
  void oldDropsAbortNoTransaction(Protocol protocol) {
    try (Database db = Database.inMemory(options(protocol))) {
      for (int i = 0; i < 70; i++) {
        db.table(TableSpec.bytes("t" + i, 9));
        db.dropTable("t" + i);
      }
      RowTable a = db.table(spec("a"));
      TxOptions once = TxOptions.defaults().attemptsMax(1);
      db.run(once, tx -> put(a, tx, 1, 1));
      db.run(
          once,
          tx -> {
            put(a, tx, 2, 2);
            put(tx.table(spec("b")), tx, 1, 1);
          });
      db.run(
          once,
          tx -> {
            put(tx.table(spec("a")), tx, 3, 3);
            tx.dropTable("b");
          });
      db.run(once, tx -> put(tx.table(spec("a")), tx, 4, 4));
    }
  }

  @ParameterizedTest
  @EnumSource
  void lookupsAreValidatedAtCommit(Protocol protocol) throws Exception {
    try (Database db = Database.inMemory(options(protocol))) {
      RowTable a = db.table(spec("a"));
      for (int round = 0; round < 6; round++) {
        int r = round;
        try (Transaction mine = db.begin()) {
          if (r % 2 == 0) {
            assertFalse(mine.dropTable("none" + r));
          } else {
            mine.tables();
          }
          if (r % 3 == 0) {
            put(a, mine, 1, 1);
          }
          threads
              .submit(
                  () -> {
                    if (r < 3) {
                      db.run(tx -> tx.table(spec("none" + r)));
                    } else {
                      db.table(spec("none" + r));
                    }
                  })
              .get(60, TimeUnit.SECONDS);
          assertEquals(AbortCause.CATALOG, refused(mine::commit));
        }
        // A transaction that is affected by no change except the drop.
        try (Transaction mine = db.begin()) {
          mine.table(spec("a"));
          put(a, mine, 1, 1);
          threads.submit(() -> db.run(tx -> tx.table(spec("x" + r)))).get(60, TimeUnit.SECONDS);
          mine.commit();
        }
      }
      verify(db);
    }
  }

  @ParameterizedTest
  @EnumSource
  void waitingSchemaChangesBlockNoTransaction(Protocol protocol) throws Exception {
    try (Database db = Database.inMemory(options(protocol))) {
      RowTable a = db.table(spec("a"));
      Future<VerifyReport> verified;
      try (Transaction mine = db.begin()) {
        put(a, mine, 1, 1);
        verified = threads.submit(db::verify);
        for (int i = 0; i < 20; i++) {
          put(mine.table(spec("t" + i)), mine, 1, 1);
        }
        mine.commit();
      }
      assertTrue(verified.get(60, TimeUnit.SECONDS).ok());
      assertEquals(21, db.tables().size());
      verify(db);
    }
  }

  @ParameterizedTest
  @EnumSource
  void snapshotsHaveTheirOwnCatalog(Protocol protocol) {
    try (Database db = Database.inMemory(options(protocol))) {
      RowTable a = db.table(spec("a"));
      db.run(tx -> put(a, tx, 1, 1));
      try (Transaction half = db.begin()) {
        put(half.table(spec("half")), half, 1, 1);
        try (Database then = db.snapshot()) {
          assertEquals(List.of("a"), then.tables());
          db.run(
              tx -> {
                put(tx.table(spec("b")), tx, 1, 7);
                tx.dropTable("a");
                tx.renameTable("b", "a");
              });
          assertEquals(List.of("a"), then.tables());
          assertEquals(1L, (long) then.read(tx -> get(then.table(spec("a")), tx, 1)));
          assertEquals(1L, (long) then.read(tx -> get(tx.table(spec("a")), tx, 1)));
        }
      }
      try (Database then = db.snapshot()) {
        assertEquals(7L, (long) then.read(tx -> get(then.table(spec("a")), tx, 1)));
        assertEquals(List.of("a"), then.read(Transaction::tables));
      }
      verify(db);
    }
  }

  /** The transaction found the table by name: a later drop is a conflict, not misuse. */
  @ParameterizedTest
  @EnumSource
  void lookupsOfADroppedTableAreAborted(Protocol protocol) throws Exception {
    try (Database db = Database.inMemory(options(protocol))) {
      RowTable old = db.table(spec("a"));
      Transaction looked = db.begin();
      RowTable found = looked.table(spec("a"));
      Transaction not = db.begin();
      threads.submit(() -> db.run(tx -> tx.dropTable("a"))).get();
      assertEquals(AbortCause.CATALOG, refused(() -> get(found, looked, 1)));
      looked.close();
      assertThrows(InvalidUseException.class, () -> get(old, not, 1));
      not.close();
    }
  }

  @ParameterizedTest
  @EnumSource
  void killedTransactionsAreAtomic(Protocol protocol) {
    SimDisk disk = new SimDisk(1);
    Database db = SimDatabase.open(new SimStorage(disk), options(protocol));
    RowTable a = db.table(spec("a"));
    db.run(tx -> put(a, tx, 1, 1));
    db.checkpoint();
    db.run(
        tx -> {
          RowTable b = tx.table(spec("b"));
          for (long k = 0; k < 1000; k++) {
            put(b, tx, k, k);
          }
          tx.dropTable("a");
          tx.renameTable("b", "a");
        });
    Transaction half = db.begin();
    put(half.table(spec("half")), half, 1, 1);
    half.dropTable("a");
    SimDatabase.abandon(db);
    try (Database again = SimDatabase.open(new SimStorage(disk), options(protocol))) {
      assertEquals(List.of("a"), again.tables());
      assertEquals(1000, (long) again.call(tx -> count(again.table(spec("a")), tx)));
      verify(again);
      again.run(tx -> tx.dropTable("a"));
    }
    try (Database again = SimDatabase.open(new SimStorage(disk), options(protocol))) {
      assertEquals(List.of(), again.tables());
      verify(again);
    }
  }

  @Test
  void manyTablesInOneTransaction() {
    SimDisk disk = new SimDisk(1);
    try (Database db = SimDatabase.open(new SimStorage(disk), options(Protocol.TICTOC))) {
      db.run(
          tx -> {
            for (int i = 0; i < 60; i++) {
              put(tx.table(spec("x".repeat(240) + i)), tx, i, i);
            }
          });
      assertEquals(60, db.tables().size());
      db.run(
          tx -> {
            for (String name : tx.tables()) {
              if (name.endsWith("7")) {
                tx.dropTable(name);
              } else {
                tx.renameTable(name, name.replace('x', 'y'));
              }
            }
          });
      assertEquals(54, db.tables().size());
    }
    try (Database db = SimDatabase.open(new SimStorage(disk), options(Protocol.TICTOC))) {
      assertEquals(54, db.tables().size());
      assertTrue(db.tables().stream().allMatch(n -> n.startsWith("y")));
      verify(db);
    }
  }
}
