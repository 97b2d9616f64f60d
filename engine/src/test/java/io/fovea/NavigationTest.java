package io.fovea;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Protocol;
import io.fovea.error.FoveaException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Seeks, reversals, nearest records, streams and pages: conflicts and refusals. */
@Execution(ExecutionMode.CONCURRENT)
class NavigationTest {
  private static final Layout.Definition B = Layout.define();
  private static final Field COLOUR = B.int32("colour");
  private static final TableSpec ROWS =
      TableSpec.of("rows", KeySpec.of(FieldType.INT32, FieldType.INT32), B.build())
          .with(IndexSpec.on("by_colour", COLOUR));

  private static Options options(Protocol protocol) {
    return Options.defaults().bufferBytes(4 << 20).experiments(e -> e.protocol(protocol));
  }

  private static byte[] key(int n) {
    return new byte[] {(byte) n};
  }

  private static Table<byte[], byte[]> bytes(Database db) {
    Table<byte[], byte[]> t = db.table(TableSpec.bytes("t", 16)).bytes();
    db.run(
        tx -> {
          for (int n = 10; n <= 100; n += 10) {
            t.put(tx, key(n), key(n));
          }
        });
    return t;
  }

  @ParameterizedTest
  @EnumSource
  void deferred(Protocol protocol) {
    for (ScanOrder order : ScanOrder.values()) {
      boolean up = order == ScanOrder.ASCENDING;
      try (Database db = Database.inMemory(options(protocol))) {
        Table<byte[], byte[]> t = bytes(db);
        Transaction one = db.begin();
        Cursor<byte[], byte[]> c = t.scan(one, null, null, order);
        assertTrue(c.first());
        assertTrue(c.seek(key(up ? 90 : 20)));
        assertEquals(up ? 90 : 20, c.key()[0]);
        db.run(
            tx -> {
              t.put(tx, key(50), key(1));
              t.put(tx, key(55), key(1));
              t.delete(tx, key(60));
            });
        t.put(one, key(200), key(1));
        one.commit();
      }
    }
  }

  private record Skew(String name, int inserts, Consumer<Look> look) {}

  private record Look(Table<byte[], byte[]> table, Transaction tx) {
    Cursor<byte[], byte[]> scan(ScanOrder order) {
      return table.scan(tx, null, null, order);
    }
  }

  /** Two transactions each read a gap and insert into the other's. */
  @ParameterizedTest
  @EnumSource
  void gapsThatWereRead(Protocol protocol) {
    List<Skew> skews =
        List.of(
            new Skew("seek up", 55, l -> assertTrue(l.scan(ScanOrder.ASCENDING).seek(key(52)))),
            new Skew("seek down", 55, l -> assertTrue(l.scan(ScanOrder.DESCENDING).seek(key(58)))),
            new Skew("ceiling", 55, l -> assertNotNull(l.table.ceiling(l.tx, key(52)))),
            new Skew("floor", 55, l -> assertNotNull(l.table.floor(l.tx, key(58)))),
            new Skew("higher", 55, l -> assertNotNull(l.table.higher(l.tx, key(50)))),
            new Skew("lower", 55, l -> assertNotNull(l.table.lower(l.tx, key(60)))),
            new Skew("first", 5, l -> assertNotNull(l.table.first(l.tx))),
            new Skew("last", 105, l -> assertNotNull(l.table.last(l.tx))),
            new Skew("nothing above", 105, l -> assertNull(l.table.ceiling(l.tx, key(101)))),
            new Skew("nothing below", 5, l -> assertNull(l.table.floor(l.tx, key(9)))),
            new Skew(
                "turn down",
                55,
                l -> {
                  Cursor<byte[], byte[]> c = l.scan(ScanOrder.ASCENDING);
                  assertTrue(c.seek(key(60)));
                  assertTrue(c.previous());
                }),
            new Skew(
                "turn up",
                55,
                l -> {
                  Cursor<byte[], byte[]> c = l.scan(ScanOrder.DESCENDING);
                  assertTrue(c.seek(key(50)));
                  assertTrue(c.previous());
                }),
            new Skew("end", 105, l -> assertTrue(l.scan(ScanOrder.ASCENDING).last())),
            new Skew("begin", 5, l -> assertTrue(l.scan(ScanOrder.DESCENDING).last())));
    for (Skew s : skews) {
      try (Database db = Database.inMemory(options(protocol))) {
        Table<byte[], byte[]> t = bytes(db);
        Table<byte[], byte[]> other = db.table(TableSpec.bytes("other", 16)).bytes();
        db.run(tx -> other.put(tx, key(1), key(1)));
        int committed = 0;
        Transaction one = db.begin();
        Transaction two = db.begin();
        try {
          s.look.accept(new Look(t, one));
          assertNull(other.get(two, key(9)));
          other.put(one, key(9), key(1));
          t.put(two, key(s.inserts), key(1));
          // In the opposite order, the write that the second transaction has read would suffice for
          // a conflict.
          committed += commits(two) ? 1 : 0;
          committed += commits(one) ? 1 : 0;
        } catch (TransactionAbortedException e) {
          // thrown by a statement
        } finally {
          one.close();
          two.close();
        }
        assertTrue(committed < 2, protocol + ", " + s.name + ": each read what the other wrote");
      }
    }
  }

  private static boolean commits(Transaction tx) {
    try {
      tx.commit();
      return true;
    } catch (TransactionAbortedException e) {
      return false;
    }
  }

  /** A pessimistic transaction locks only the record that it has found. */
  @Test
  void pessimistic() {
    try (Database db = Database.inMemory(options(Protocol.TICTOC))) {
      Table<byte[], byte[]> t = bytes(db);
      try (Transaction one = db.begin(TxOptions.defaults().pessimisticAfterAborts(0))) {
        assertTrue(t.scan(one, null, null, ScanOrder.ASCENDING).seek(key(52)));
        db.run(tx -> t.put(tx, key(20), key(7)));
        try (Transaction two = db.begin()) {
          t.put(two, key(55), key(1));
          assertThrows(TransactionAbortedException.class, two::commit);
        }
        one.commit();
      }
    }
  }

  /** The write set moves in memory while a cursor is at the transaction's own record. */
  @Test
  void cursorsStayAtUncommittedRecords() {
    try (Database db = Database.inMemory(options(Protocol.TICTOC))) {
      Table<byte[], byte[]> t = bytes(db);
      db.run(
          tx -> {
            t.put(tx, key(55), key(56));
            Cursor<byte[], byte[]> c = t.scan(tx, null, null, ScanOrder.ASCENDING);
            assertTrue(c.seek(key(51)));
            for (int n = 0; n < 100; n++) {
              t.put(tx, key(101 + n), new byte[1_000 * n]);
              assertArrayEquals(key(55), c.key());
              assertArrayEquals(key(56), c.value());
            }
            assertTrue(c.previous());
            assertArrayEquals(key(50), c.key());
            assertTrue(c.next());
            assertArrayEquals(key(55), c.key());
            assertTrue(c.next());
            assertArrayEquals(key(60), c.key());
          });
    }
  }

  @Test
  void cursorsStartBeforeTheFirstAndEndAfterTheLast() {
    try (Database db = Database.inMemory(options(Protocol.TICTOC))) {
      Table<byte[], byte[]> t = bytes(db);
      db.run(
          tx -> {
            Cursor<byte[], byte[]> c = t.scan(tx, key(20), key(50), ScanOrder.DESCENDING);
            assertFalse(c.previous());
            assertThrows(InvalidUseException.class, c::key);
            assertTrue(c.next());
            assertArrayEquals(key(40), c.key());
            assertFalse(c.previous());
            assertTrue(c.next());
            assertArrayEquals(key(40), c.key());
            assertFalse(c.seek(key(15)));
            assertTrue(c.previous());
            assertArrayEquals(key(20), c.key());
            assertFalse(c.next());
            t.put(tx, key(15), key(1));
            assertFalse(c.next());
            assertTrue(c.seek(key(200)));
            assertArrayEquals(key(40), c.key());
            c.close();
            assertThrows(InvalidUseException.class, c::first);
            assertThrows(FoveaException.class, () -> c.seek(new byte[17]));
          });
    }
  }

  private static RowTable rows(Database db) {
    RowTable t = db.table(ROWS);
    db.run(
        tx -> {
          for (int a = 1; a <= 5; a++) {
            for (int b = 1; b <= 5; b++) {
              t.put(tx, t.key().set(a, b), t.row().setInt(COLOUR, (a + b) % 2));
            }
          }
        });
    return t;
  }

  private static String text(Key k) {
    return k.getInt(0) + "." + k.getInt(1);
  }

  @Test
  void prefixes() {
    try (Database db = Database.inMemory(options(Protocol.TICTOC))) {
      RowTable t = rows(db);
      db.run(
          tx -> {
            Key three = t.key().set(3);
            Row row = t.row();
            Key key = t.key();
            assertTrue(t.ceiling(tx, three, row));
            assertEquals("3.1", text(row.key(key)));
            assertTrue(t.floor(tx, three, row));
            assertEquals("3.5", text(row.key(key)));
            assertTrue(t.lower(tx, three, row));
            assertEquals("2.5", text(row.key(key)));
            assertTrue(t.higher(tx, three, row));
            assertEquals("4.1", text(row.key(key)));
            assertFalse(t.higher(tx, t.key().set(5, 5), row));
            assertThrows(InvalidUseException.class, () -> row.key(key));
            assertThrows(InvalidUseException.class, () -> t.row().key(key));
            RowCursor c = t.scan(tx, Range.greaterThan(three), ScanOrder.ASCENDING);
            assertTrue(c.next());
            assertEquals("4.1", text(c.key()));
            c = t.scan(tx, Range.lessThan(t.key().set(3, 2)), ScanOrder.DESCENDING);
            assertTrue(c.next());
            assertEquals("3.1", text(c.key()));
            assertTrue(c.seek(t.key().set(2)));
            assertEquals("2.5", text(c.key()));
            assertTrue(c.seek(t.key()));
            assertEquals("3.1", text(c.key()));
            RowCursor other = c;
            assertThrows(InvalidUseException.class, () -> other.seek(t.index("by_colour").key()));
            assertEquals("3.1", text(c.key()), "a refused seek doesn't move the cursor");
          });
    }
  }

  @Test
  void streamsEndWithTheirTransaction() throws InterruptedException {
    try (Database db = Database.inMemory(options(Protocol.TICTOC))) {
      Table<byte[], byte[]> t = bytes(db);
      RowTable rows = rows(db);
      Stream<Map.Entry<byte[], byte[]>> late =
          db.read(tx -> t.stream(tx, null, null, ScanOrder.ASCENDING));
      InvalidUseException e = assertThrows(InvalidUseException.class, late::toList);
      assertTrue(e.getMessage().contains("has committed"), e::getMessage);
      late.close();
      Stream<String> lateRows =
          db.read(tx -> rows.stream(tx, Range.all(), ScanOrder.ASCENDING, (k, r) -> text(k)));
      e = assertThrows(InvalidUseException.class, lateRows::toList);
      assertTrue(e.getMessage().contains("has committed"), e::getMessage);
      try (Transaction tx = db.begin()) {
        Iterator<Map.Entry<byte[], byte[]>> begun =
            t.stream(tx, null, null, ScanOrder.DESCENDING).iterator();
        assertArrayEquals(key(100), begun.next().getKey());
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        Thread other =
            Thread.ofPlatform()
                .start(
                    () ->
                        thrown.set(
                            assertThrows(
                                InvalidUseException.class,
                                () -> t.stream(tx, null, null, ScanOrder.ASCENDING).toList())));
        other.join();
        assertNotNull(thrown.get());
        Stream<String> closed =
            rows.stream(tx, Range.all(), ScanOrder.ASCENDING, (k, r) -> text(k));
        closed.close();
        Stream<String> some = rows.stream(tx, Range.all(), ScanOrder.ASCENDING, (k, r) -> text(k));
        assertEquals(List.of("1.1", "1.2", "1.3"), some.limit(3).toList());
        tx.rollback();
        e = assertThrows(InvalidUseException.class, begun::next);
        assertTrue(e.getMessage().contains("rolled back"), e::getMessage);
      }
    }
  }

  private static Page<String> page(
      Database db, RowRangeOperations rows, ScanOrder order, @Nullable String after, int limit) {
    return db.read(tx -> rows.page(tx, Range.all(), order, after, limit, (k, r) -> text(k)));
  }

  /**
   * Pages of an index continue between records of equal value, whatever happens to these records.
   */
  @Test
  void pagesOfEqualValues() {
    try (Database db = Database.inMemory(options(Protocol.TICTOC))) {
      RowTable t = rows(db);
      RowIndex i = t.index("by_colour");
      for (ScanOrder order : ScanOrder.values()) {
        List<String> all = new ArrayList<>();
        int pages = 0;
        for (String after = null; ; pages++) {
          Page<String> p = page(db, i, order, after, 3);
          all.addAll(p.items());
          after = p.next();
          if (after == null) {
            assertFalse(p.hasNext());
            break;
          }
        }
        assertEquals(8, pages);
        assertEquals(25, all.size());
        assertEquals(25, all.stream().distinct().count());
      }
      Page<String> first = page(db, i, ScanOrder.ASCENDING, null, 3);
      assertEquals(List.of("1.1", "1.3", "1.5"), first.items());
      db.run(tx -> t.delete(tx, t.key().set(1, 5))); // the record that the token names
      assertEquals(
          List.of("2.2", "2.4"), page(db, i, ScanOrder.ASCENDING, first.next(), 2).items());
      Page<String> whole = page(db, i, ScanOrder.ASCENDING, null, 24);
      assertEquals(24, whole.items().size());
      assertNull(whole.next(), "no page follows");
      assertThrows(UnsupportedOperationException.class, () -> whole.items().clear());
    }
  }

  @Test
  void foreignTokensAreRefused() {
    try (Database db = Database.inMemory(options(Protocol.TICTOC))) {
      RowTable t = rows(db);
      RowIndex i = t.index("by_colour");
      String token = page(db, t, ScanOrder.ASCENDING, null, 3).next();
      assertNotNull(token);
      assertEquals("AQDG8rDl-g-8ioAAAAGAAAADRHy05w", token, "the format of tokens has changed");
      refused("was not created for", () -> page(db, i, ScanOrder.ASCENDING, token, 3));
      refused("order opposite to", () -> page(db, t, ScanOrder.DESCENDING, token, 3));
      refused("characters", () -> page(db, t, ScanOrder.ASCENDING, token + "!", 3));
      refused("too short", () -> page(db, t, ScanOrder.ASCENDING, "", 3));
      refused("checksum", () -> page(db, t, ScanOrder.ASCENDING, token.substring(4), 3));
      for (int n = 0; n < token.length() - 1; n++) {
        char c = token.charAt(n) == 'A' ? 'B' : 'A';
        String forged = token.substring(0, n) + c + token.substring(n + 1);
        refused("checksum", () -> page(db, t, ScanOrder.ASCENDING, forged, 3));
      }
      Table<byte[], byte[]> b = bytes(db);
      String ofBytes = db.read(tx -> b.page(tx, null, null, ScanOrder.ASCENDING, null, 3)).next();
      refused("use it only with the table", () -> page(db, t, ScanOrder.ASCENDING, ofBytes, 3));
      refused(
          "use it only with the table",
          () -> db.read(tx -> b.page(tx, null, null, ScanOrder.ASCENDING, token, 3)));
      byte[] newer = Base64.getUrlDecoder().decode(token);
      newer[0] = 2;
      java.util.zip.CRC32C crc = new java.util.zip.CRC32C();
      crc.update(newer, 0, newer.length - 4);
      java.nio.ByteBuffer.wrap(newer).putInt(newer.length - 4, (int) crc.getValue());
      refused(
          "format 2",
          () -> page(db, t, ScanOrder.ASCENDING, Base64.getUrlEncoder().encodeToString(newer), 3));
      assertThrows(IllegalArgumentException.class, () -> page(db, t, ScanOrder.ASCENDING, null, 0));
      // The range takes precedence.
      assertEquals(
          List.of("2.1"),
          db.read(
                  tx ->
                      t.page(
                          tx,
                          Range.prefix(t.key().set(2)),
                          ScanOrder.ASCENDING,
                          token,
                          1,
                          (k, r) -> text(k)))
              .items());
    }
  }

  private static void refused(String why, Runnable what) {
    InvalidUseException e = assertThrows(InvalidUseException.class, what::run);
    assertTrue(e.getMessage().contains(why), e::getMessage);
  }
}
