package io.fovea;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Protocol;
import io.fovea.error.DuplicateKeyException;
import io.fovea.error.IncompatibleSchemaException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.KeyTooLargeException;
import io.fovea.error.ValueTooLargeException;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.Step;
import io.fovea.schema.TableSpec;
import io.fovea.support.SetClock;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Rows with variable-length texts and byte strings: every operation, and their size in the file.
 * {@link EvolutionModelTest} does the same at random.
 */
class VariableRowsTest {
  private static final KeySpec KEY = KeySpec.of(FieldType.INT32);
  private static final int KEY_BYTES = 4;
  private static final Layout.Definition B = Layout.define();
  private static final Field COUNT = B.int32("count");
  private static final Field NOTE = B.varText("note", 300);
  private static final Field TIME = B.int64("time");
  private static final Field PHOTO = B.nullable().varBytes("photo", 65_535);
  private static final Field LAST = B.nullable().varText("last", 10);
  private static final Layout LAYOUT = B.build();
  private static final TableSpec SPEC = TableSpec.of("t", KEY, LAYOUT);

  /**
   * The bytes of a row other than its notes: two numbers, two lengths, two null bytes, and its
   * layout.
   */
  private static final int REST = 4 + 2 + 8 + 1 + 2 + 1 + 2 + 1;

  @TempDir Path dir;

  private Database open() {
    return Database.open(dir.resolve("db"), Options.defaults().bufferBytes(8 << 20));
  }

  private static Row row(RowTable t, int n) {
    Row row = t.row().setInt(COUNT, n).setText(NOTE, "n".repeat(n % 100)).setLong(TIME, -n);
    if (n % 3 != 0) {
      row.setBytes(PHOTO, photo(n));
    }
    return n % 2 == 0 ? row : row.setText(LAST, "é" + n % 1000);
  }

  private static byte[] photo(int n) {
    byte[] b = new byte[n * 7 % 900];
    java.util.Arrays.fill(b, (byte) n);
    return b;
  }

  private static void assertRow(int n, Row row) {
    assertEquals(n, row.getInt(COUNT));
    assertEquals("n".repeat(n % 100), row.getText(NOTE));
    assertTrue(row.textEquals(NOTE, "n".repeat(n % 100)));
    assertEquals(-n, row.getLong(TIME));
    assertEquals(n % 3 == 0, row.isNull(PHOTO));
    if (n % 3 != 0) {
      assertArrayEquals(photo(n), row.getBytes(PHOTO));
      assertEquals(photo(n).length, row.length(PHOTO));
    }
    assertEquals(n % 2 == 0, row.isNull(LAST));
    if (n % 2 != 0) {
      assertEquals("é" + n % 1000, row.getText(LAST));
    }
  }

  private static int bytes(int n) {
    return REST
        + n % 100
        + (n % 3 == 0 ? -2 : photo(n).length)
        + (n % 2 == 0 ? -2 : ("é" + n % 1000).getBytes(StandardCharsets.UTF_8).length);
  }

  private static void fill(Database db, RowTable t, int rows) {
    db.run(
        tx -> {
          for (int n = 0; n < rows; n++) {
            t.insert(tx, t.key().set(n), row(t, n));
          }
        });
  }

  @Test
  void rowsTakeOnlyTheirActualLength() {
    long expected = 0;
    for (int n = 0; n < 200; n++) {
      expected += KEY_BYTES + bytes(n);
    }
    for (int opened = 0; opened < 2; opened++) {
      try (Database db = open()) {
        RowTable t = db.table(SPEC);
        if (opened == 0) {
          fill(db, t, 200);
        }
        assertEquals(expected, t.dataBytes());
        db.run(
            tx -> {
              Row row = t.row();
              Batch batch = t.batch(200);
              for (int n = 0; n < 200; n++) {
                assertTrue(t.get(tx, t.key().set(n), row));
                assertRow(n, row);
                batch.add().set(n);
              }
              assertEquals(200, t.getAll(tx, batch));
              try (RowCursor c = t.scan(tx, Range.all(), ScanOrder.ASCENDING)) {
                for (int n = 0; n < 200; n++) {
                  assertRow(n, batch.row(n));
                  assertTrue(c.next());
                  assertRow(n, c.row());
                }
              }
              t.put(tx, t.key().set(7), row(t, 8));
              assertTrue(t.get(tx, t.key().set(7), row));
              assertRow(8, row);
              assertTrue(t.delete(tx, t.key().set(9)));
              assertFalse(t.get(tx, t.key().set(9), row));
              tx.rollback();
            });
        assertEquals(expected, t.dataBytes());
        assertTrue(db.verify().ok());
      }
    }
  }

  @Test
  void fixedFieldsArePatched() {
    try (Database db = open()) {
      RowTable t = db.table(SPEC);
      byte[] large = new byte[900]; // still fits into a leaf
      db.run(tx -> t.insert(tx, t.key().set(1), t.row().setBytes(PHOTO, large).setText(NOTE, "a")));
      long one = logBytes(db, tx -> change(t, tx, row -> row.setInt(COUNT, 5)));
      assertTrue(one < 300, one + " bytes of log");
      long all = logBytes(db, tx -> change(t, tx, row -> row.setLong(TIME, 6)));
      assertTrue(all > 900, all + " bytes of log");
      db.run(
          tx -> {
            // The second row does not know the length that the first one writes.
            Row first = t.row();
            Row second = t.row();
            Row third = t.row();
            for (Row r : List.of(first, second, third)) {
              assertTrue(t.get(tx, t.key().set(1), r));
            }
            t.update(tx, first.setText(NOTE, "longer"));
            t.update(tx, second.setInt(COUNT, 7));
            t.update(tx, third.setLong(TIME, 8));
          });
      db.run(
          tx ->
              change(
                  t,
                  tx,
                  row -> {
                    assertEquals("longer", row.getText(NOTE));
                    assertEquals(7, row.getInt(COUNT));
                    assertEquals(8, row.getLong(TIME));
                    assertArrayEquals(large, row.getBytes(PHOTO));
                    row.setNull(PHOTO);
                  }));
      assertEquals(KEY_BYTES + REST - 4 + "longer".length(), t.dataBytes());
      assertTrue(db.verify().ok());
    }
  }

  private static void change(RowTable t, Transaction tx, Consumer<Row> what) {
    Row row = t.row();
    assertTrue(t.get(tx, t.key().set(1), row));
    what.accept(row);
    t.update(tx, row);
  }

  private static long logBytes(Database db, Consumer<Transaction> work) {
    long before = db.store().logTail();
    db.run(work::accept);
    return db.store().logTail() - before;
  }

  @Test
  void limits() {
    try (Database db = Database.inMemory(Options.defaults())) {
      RowTable t = db.table(SPEC);
      Row row = t.row();
      row.setText(NOTE, "é".repeat(150));
      assertThrows(ValueTooLargeException.class, () -> row.setText(NOTE, "é".repeat(150) + "e"));
      assertThrows(ValueTooLargeException.class, () -> row.setBytes(LAST, new byte[11]));
      assertTrue(row.isNull(LAST), "a rejected value has no effect");
      row.setBytes(PHOTO, new byte[65_535]);
      db.run(
          tx -> {
            t.insert(tx, t.key().set(1), row);
            Row read = t.row();
            assertTrue(t.get(tx, t.key().set(1), read));
            assertEquals(65_535, read.length(PHOTO));
            assertEquals("é".repeat(150), read.getText(NOTE));
          });
      assertThrows(IllegalArgumentException.class, () -> Layout.define().varText("a", 65_536));
      assertThrows(IllegalArgumentException.class, () -> Layout.define().varBytes("a", 0));
      assertThrows(
          IllegalArgumentException.class,
          () -> new Field("n", FieldType.INT32, 4, 0, 0, false, true, 0, 0, false));
      assertEquals("note VARTEXT(300)", NOTE.toString());
      assertEquals("photo VARBYTES(65535) NULL", PHOTO.toString());
      // A part of a key takes only its actual length and sorts in the same order.
      assertEquals(
          KeySpec.builder().text("a", 9).build(), KeySpec.builder().varText("a", 9).build());
      assertEquals(NOTE, LAYOUT.field("note"));
      assertTrue(LAYOUT.hasVariable());
      assertFalse(Layout.builder().text("a", 3).build().hasVariable());
    }
  }

  @Test
  void segments() {
    try (Database db = Database.inMemory(Options.defaults());
        Arena arena = Arena.ofConfined()) {
      RowTable t = db.table(SPEC);
      Row row = t.row();
      MemorySegment in = arena.allocateFrom("seven bytes and more");
      row.setBytes(NOTE, in, 6, 5)
          .setBytes(PHOTO, MemorySegment.ofArray(new byte[] {1, 2, 3}), 1, 2);
      assertEquals("bytes", row.getText(NOTE));
      MemorySegment out = arena.allocate(8);
      assertEquals(5, row.getBytes(NOTE, out, 6));
      assertEquals('b', out.get(ValueLayout.JAVA_BYTE, 6));
      assertEquals('y', out.get(ValueLayout.JAVA_BYTE, 7));
      assertEquals(2, row.getBytes(PHOTO, out, 0));
      assertEquals(3, out.get(ValueLayout.JAVA_BYTE, 1));
      assertThrows(IndexOutOfBoundsException.class, () -> row.getBytes(NOTE, out, 9));
      assertThrows(IndexOutOfBoundsException.class, () -> row.setBytes(NOTE, in, 18, 5));
      assertThrows(ValueTooLargeException.class, () -> row.setBytes(LAST, in, 0, 11));
      assertThrows(InvalidUseException.class, () -> row.getBytes(COUNT, out, 0));
    }
  }

  @Test
  void projections() {
    try (Database db = open()) {
      RowTable t = db.table(SPEC);
      fill(db, t, 100);
      for (int asked = 1; asked < 32; asked++) {
        List<Field> fields = new ArrayList<>();
        for (Field f : LAYOUT.fields()) {
          if ((asked & 1 << f.ordinal()) != 0) {
            fields.add(f);
          }
        }
        Projection p = Projection.of(LAYOUT, fields.toArray(Field[]::new));
        db.run(
            tx -> {
              Row row = t.row();
              Row whole = t.row();
              for (int n = 0; n < 100; n++) {
                assertTrue(t.get(tx, t.key().set(n), row, p));
                assertTrue(t.get(tx, t.key().set(n), whole));
                for (Field f : fields) {
                  assertEquals(whole.isNull(f), row.isNull(f));
                  if (!f.type().isFixed() && !row.isNull(f)) {
                    assertArrayEquals(whole.getBytes(f), row.getBytes(f));
                  }
                }
                if (fields.contains(TIME)) {
                  assertEquals(-n, row.getLong(TIME));
                }
                if (!fields.contains(LAST)) {
                  assertThrows(InvalidUseException.class, () -> row.isNull(LAST));
                }
              }
            });
      }
    }
  }

  @Test
  void rowsAreSetFromOthersAndCleared() {
    try (Database db = Database.inMemory(Options.defaults())) {
      RowTable t = db.table(SPEC);
      Row a = row(t, 5);
      Row b = t.row().set(a);
      assertRow(5, b);
      a.clear();
      assertEquals("", a.getText(NOTE));
      assertEquals(0, a.getInt(COUNT));
      assertEquals(0, a.getLong(TIME));
      assertTrue(a.isNull(PHOTO) && a.isNull(LAST));
      fill(db, t, 3);
      db.run(
          tx -> {
            Row read = t.row();
            assertTrue(t.get(tx, t.key().set(2), read));
            t.update(tx, read.set(b));
            assertTrue(t.get(tx, t.key().set(2), a));
            assertRow(5, a);
            read.setNull(PHOTO).setText(NOTE, "");
            t.update(tx, read);
            assertTrue(t.get(tx, t.key().set(2), a));
            assertTrue(a.isNull(PHOTO));
            assertEquals("", a.getText(NOTE));
            assertEquals("é5", a.getText(LAST));
          });
      assertTrue(b.toString().contains("last=\"é5\""), b::toString);
    }
  }

  private static TableSpec indexed() {
    return SPEC.with(IndexSpec.on("by_note", NOTE))
        .with(IndexSpec.unique("by_last", LAST))
        .with(
            IndexSpec.extracted(
                "by_size",
                KeySpec.of(FieldType.INT32),
                false,
                (key, row, entry) -> {
                  entry.int32(row.isNull(PHOTO) ? -1 : row.length(PHOTO));
                  return true;
                }));
  }

  @ParameterizedTest
  @EnumSource(Protocol.class)
  void indexes(Protocol protocol) {
    Options options = Options.defaults().experiments(e -> e.protocol(protocol));
    try (Database db = Database.open(dir.resolve("db"), options)) {
      RowTable bare = db.table(SPEC);
      fill(db, bare, 100);
      RowTable t = db.table(indexed());
      db.run(
          tx -> {
            for (int n = 100; n < 120; n++) {
              t.insert(tx, t.key().set(n), row(t, n));
            }
            Row row = t.row();
            RowIndex last = t.index("by_last");
            assertTrue(last.get(tx, last.key().clear().text("é77"), row));
            assertRow(77, row);
            assertEquals(77, row.key(t.key()).getInt(0));
            assertThrows(
                DuplicateKeyException.class,
                () -> t.insert(tx, t.key().set(500), t.row().setText(LAST, "é77")));
            t.update(tx, row.setText(LAST, "other"));
            assertFalse(last.get(tx, last.key().clear().text("é77"), row));
            assertTrue(last.get(tx, last.key().clear().text("other"), row));
            t.update(tx, row.setText(NOTE, "ä"));
            t.update(tx, row.setText(LAST, "é77").setText(NOTE, "n".repeat(77)));
            assertTrue(t.delete(tx, t.key().set(5)));
            assertEquals(
                10, t.deleteRange(tx, Range.of(t.key().set(20), true, t.key().set(30), false)));
          });
      db.run(
          tx -> {
            Map<Integer, Integer> sizes = new TreeMap<>();
            String before = "";
            try (RowCursor c = t.index("by_note").scan(tx, Range.all(), ScanOrder.ASCENDING)) {
              while (c.next()) {
                int n = c.key().getInt(0);
                assertRow(n, c.row());
                assertTrue(before.compareTo(c.row().getText(NOTE)) <= 0);
                before = c.row().getText(NOTE);
                sizes.put(n, c.row().isNull(PHOTO) ? -1 : c.row().length(PHOTO));
              }
            }
            assertEquals(109, sizes.size());
            int size = Integer.MIN_VALUE;
            try (RowCursor c = t.index("by_size").scan(tx, Range.all(), ScanOrder.ASCENDING)) {
              while (c.next()) {
                int here = sizes.get(c.key().getInt(0));
                assertTrue(size <= here);
                size = here;
              }
            }
          });
      // An entry too long for a page is refused with its record.
      Layout.Definition b = Layout.define();
      Field big = b.varText("big", 20_000);
      RowTable u = db.table(TableSpec.of("u", KEY, b.build()).with(IndexSpec.on("by_big", big)));
      Row long1 = u.row().setText(big, "b".repeat(20_000));
      assertThrows(
          KeyTooLargeException.class, () -> db.run(tx -> u.insert(tx, u.key().set(1), long1)));
      assertTrue(db.verify().ok());
    }
  }

  // ----- versions

  private static long dataBytes(Database db, TableSpec spec) {
    return db.table(spec).dataBytes();
  }

  /** Rows of fixed length are distinguished from any variable-length row. */
  @Test
  void aFixedLengthTableGetsAVariableField() {
    Layout.Definition b = Layout.define();
    Field a = b.int64("a");
    Field text = b.text("text", 10);
    TableSpec first = TableSpec.of("t", KEY, b.build());
    Layout.Definition c = Layout.define();
    Field a2 = c.int64("a");
    Field note = c.varText("note", 200);
    TableSpec second =
        TableSpec.builder("t", KEY, c.build())
            .version(2, Step.rename("text", "note"), Step.widen("note"))
            .build();
    try (Database db = open()) {
      RowTable t = db.table(first);
      db.run(tx -> t.insert(tx, t.key().set(0), t.row().setLong(a, 42).setText(text, "old")));
    }
    for (int opened = 0; opened < 2; opened++) {
      try (Database db = open()) {
        RowTable t = db.table(second);
        if (opened == 0) {
          db.run(
              tx -> {
                for (int n = 1; n < 30; n++) {
                  t.insert(tx, t.key().set(n), t.row().setLong(a2, n).setText(note, "x".repeat(n)));
                }
              });
        }
        long expected = KEY_BYTES + 20;
        for (int n = 1; n < 30; n++) {
          int bytes = 8 + 2 + n + 1;
          expected += KEY_BYTES + (bytes == 20 ? 21 : bytes);
        }
        assertEquals(expected, t.dataBytes());
        db.run(
            tx -> {
              Row row = t.row();
              for (int n = 0; n < 30; n++) {
                assertTrue(t.get(tx, t.key().set(n), row));
                assertEquals(n == 0 ? 42 : n, row.getLong(a2));
                assertEquals(n == 0 ? "old" : "x".repeat(n), row.getText(note));
              }
            });
        assertTrue(db.verify().ok());
      }
    }
    // Widening a field alone makes no row outdated; if there is no space left, rows stay as they
    // are.
    Layout.Definition d = Layout.define();
    d.int64("a");
    Field wide = d.varText("note", 1000);
    TableSpec third =
        TableSpec.builder("t", KEY, d.build()).version(2).version(3, Step.widen("note")).build();
    Layout.Definition e = Layout.define();
    Field a4 = e.int64("a");
    Field flag = e.bool("flag");
    TableSpec fourth =
        TableSpec.builder("t", KEY, e.build())
            .version(2)
            .version(3)
            .version(4, Step.drop("note"), Step.add("flag", true))
            .build();
    try (Database db = open()) {
      RowTable t = db.table(third);
      assertEquals(1, db.schema().core("t").history().old().size());
      db.run(
          tx -> {
            Row row = t.row();
            assertTrue(t.get(tx, t.key().set(29), row));
            t.update(tx, row.setText(wide, "w".repeat(1000)));
          });
      RowTable u = db.table(fourth);
      assertEquals(2, db.schema().core("t").history().old().size());
      db.run(
          tx -> {
            Row row = u.row();
            for (int n = 0; n < 30; n++) {
              assertTrue(u.get(tx, u.key().set(n), row));
              assertEquals(n == 0 ? 42 : n, row.getLong(a4));
              assertTrue(row.getBoolean(flag));
              u.put(tx, u.key().set(n), row.setBoolean(flag, false));
            }
          });
      assertEquals(30 * (KEY_BYTES + 8 + 1 + 1), u.dataBytes());
      assertEquals(30 * (KEY_BYTES + 8 + 1 + 1), dataBytes(db, fourth));
      db.run(
          tx -> {
            Row row = u.row();
            assertTrue(u.get(tx, u.key().set(3), row, Projection.of(e.build(), a4)));
            u.update(tx, row.setLong(a4, 33));
            assertTrue(u.get(tx, u.key().set(3), row));
            assertEquals(33, row.getLong(a4));
            assertFalse(row.getBoolean(flag));
          });
      assertTrue(db.verify().ok());
    }
  }

  @Test
  void specificationsThatDiffer() {
    try (Database db = open()) {
      db.table(TableSpec.of("t", KEY, Layout.builder().text("note", 40).build()));
    }
    try (Database db = open()) {
      TableSpec other = TableSpec.of("t", KEY, Layout.builder().varText("note", 40).build());
      String message =
          assertThrows(IncompatibleSchemaException.class, () -> db.table(other)).getMessage();
      assertTrue(
          message.contains("note TEXT(40) in the file, note VARTEXT(40) here"), () -> message);
      assertThrows(
          IncompatibleSchemaException.class,
          () ->
              db.table(
                  TableSpec.builder("t", KEY, Layout.builder().varText("note", 39).build())
                      .version(2, Step.widen("note"))
                      .build()));
      TableSpec good =
          TableSpec.builder("t", KEY, other.layout()).version(2, Step.widen("note")).build();
      db.table(good);
      assertEquals(other.layout(), db.describe("t").layout());
    }
  }

  // ----- expiry, loads, changes, views

  /** By a field before the first variable-length field, and by one after it. */
  @ParameterizedTest
  @EnumSource(ScanOrder.class)
  void variableRowsExpire(ScanOrder order) {
    SetClock clock = new SetClock(1000);
    Layout.Definition b = Layout.define();
    boolean before = order == ScanOrder.ASCENDING;
    Field at = before ? b.nullable().instant("at") : b.varText("note", 100);
    Field note = before ? b.varText("note", 100) : b.nullable().instant("at");
    Field time = before ? at : note;
    Field text = before ? note : at;
    TableSpec spec =
        TableSpec.of("t", KEY, b.build())
            .with(IndexSpec.on("by_at", time))
            .expireAfter(time, Duration.ofMillis(100));
    Options options = Options.defaults().expiry(e -> e.clock(clock).sweepInterval(Duration.ZERO));
    Layout.Definition c = Layout.define();
    Field more = c.varBytes("more", 9);
    c.add("note", text);
    Field time2 = c.add("at", time);
    TableSpec second =
        TableSpec.builder("t", KEY, c.build())
            .version(2, Step.add("more", new byte[] {1}))
            .index(IndexSpec.on("by_at", time2))
            .build()
            .expireAfter(time2, Duration.ofMillis(100));
    try (Database db = Database.open(dir.resolve("db"), options)) {
      RowTable t = db.table(spec);
      db.run(
          tx -> {
            for (int n = 0; n < 20; n++) {
              Row row = t.row().setText(text, "n".repeat(n));
              if (n > 0) {
                row.setInstant(time, Instant.ofEpochMilli(890 + 10 * n));
              }
              t.insert(tx, t.key().set(n), row);
            }
          });
      assertSeen(db, t, 19); // the row of 900 has expired
      clock.set(1050);
      assertSeen(db, t, 14);
      RowTable u = db.table(second);
      assertSeen(db, u, 14);
      db.run(
          tx -> {
            Row row = u.row();
            assertTrue(u.get(tx, u.key().set(19), row, Projection.of(c.build(), more)));
            assertArrayEquals(new byte[] {1}, row.getBytes(more));
            assertFalse(u.get(tx, u.key().set(2), row, Projection.of(c.build(), more)));
            u.put(tx, u.key().set(2), u.row().setInstant(time2, Instant.ofEpochMilli(1040)));
          });
      assertSeen(db, u, 15);
      u.load(load -> load.add(u.key().set(100), u.row()));
      assertSeen(db, u, 16);
      assertEquals(16, u.count(), "a load skips expired rows");
      assertTrue(db.verify().ok());
    }
  }

  private static void assertSeen(Database db, RowTable t, int rows) {
    db.run(
        tx -> {
          int n = 0;
          try (RowCursor c = t.scan(tx, Range.all(), ScanOrder.DESCENDING)) {
            while (c.next()) {
              n++;
            }
          }
          assertEquals(rows, n);
          int found = 0;
          for (int i = 0; i < 101; i++) {
            found += t.exists(tx, t.key().set(i)) ? 1 : 0;
          }
          assertEquals(rows, found);
        });
  }

  @Test
  void loadsAndSnapshotsAndChanges() {
    Options options =
        Options.defaults().bufferBytes(8 << 20).log(l -> l.changeRetentionBytes(8 << 20));
    try (Database db = Database.open(dir.resolve("db"), options)) {
      RowTable t = db.table(indexed());
      try (Changes changes = db.changes(db.changesPosition())) {
        fill(db, t, 10);
        db.run(tx -> change(t, tx, row -> row.setInt(COUNT, 5)));
        List<Integer> counts = new ArrayList<>();
        ChangeBatch batch;
        while ((batch = changes.poll(Duration.ZERO)) != null) {
          for (Change c : batch.changes()) {
            Row row = c.row(t);
            assertNotNull(row);
            counts.add(row.getInt(COUNT));
            if (counts.size() <= 10) {
              assertRow(counts.size() - 1, row);
            }
          }
        }
        assertEquals(List.of(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 5), counts);
      }
      db.run(tx -> change(t, tx, row -> row.setInt(COUNT, 1)));
      try (Database s = db.snapshot()) {
        t.load(
            load -> {
              for (int n = 300; n >= 10; n--) {
                if (n % 1000 % 2 == 0 || n < 200) {
                  load.add(t.key().set(n), row(t, n));
                }
              }
            });
        RowTable then = s.table(indexed());
        s.run(
            tx -> {
              Row row = then.row();
              for (int n = 0; n < 10; n++) {
                assertTrue(then.get(tx, then.key().set(n), row));
                assertRow(n, row);
              }
              assertFalse(then.get(tx, then.key().set(11), row));
            });
      }
      db.run(
          tx -> {
            Row row = t.row();
            for (int n = 0; n < 200; n++) {
              assertTrue(t.get(tx, t.key().set(n), row));
              assertRow(n, row);
            }
            RowIndex last = t.index("by_last");
            assertTrue(last.get(tx, last.key().clear().text("é77"), row));
            assertRow(77, row);
          });
      assertTrue(db.verify().ok());
    }
  }
}
