package io.fovea;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Durability;
import io.fovea.config.Replacement;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.DatabaseLockedException;
import io.fovea.error.DuplicateKeyException;
import io.fovea.error.IncompatibleFormatException;
import io.fovea.error.IncompatibleSchemaException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.KeyTooLargeException;
import io.fovea.error.PoolTooSmallException;
import io.fovea.error.UncleanShutdownException;
import io.fovea.error.ValueTooLargeException;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Databases and tables, used by one thread at a time. */
class DatabaseTest {
  private static final Options SMALL = Options.defaults().bufferBytes(4 << 20);

  private static final KeySpec.Definition KEY = KeySpec.define();
  private static final Field W = KEY.int32("w");
  private static final Field ID = KEY.int32("id");
  private static final KeySpec KEY_SPEC = KEY.build();
  private static final Layout.Definition LAYOUT = Layout.define();
  private static final Field QUANTITY = LAYOUT.int32("quantity");
  private static final Field YTD = LAYOUT.int64("ytd");
  private static final Field NAME = LAYOUT.text("name", 24);
  private static final Field DATA = LAYOUT.bytes("data", 50);
  private static final Layout LAYOUT_SPEC = LAYOUT.build();
  private static final TableSpec STOCK = TableSpec.of("stock", KEY_SPEC, LAYOUT_SPEC);
  private static final IndexSpec BY_NAME = IndexSpec.on("by_name", W, NAME);
  private static final IndexSpec BY_YTD = IndexSpec.unique("by_ytd", YTD);
  private static final IndexSpec BY_INITIAL =
      IndexSpec.extracted(
          "by_initial",
          text("initial"),
          false,
          (pk, row, entry) -> {
            String name = row.getText(NAME);
            if (name.isEmpty()) {
              return false;
            }
            entry.text(name.substring(0, 1));
            return true;
          });
  private static final TableSpec INDEXED = STOCK.with(BY_NAME).with(BY_YTD).with(BY_INITIAL);

  @TempDir Path dir;

  private static KeySpec text(String name) {
    KeySpec.Definition b = KeySpec.define();
    b.text(name, 24);
    return b.build();
  }

  private static void fill(Database db, RowTable t, int from, int to) {
    Key key = t.key();
    Row row = t.row();
    db.run(
        tx -> {
          for (int i = from; i < to; i++) {
            row.clear().setInt(QUANTITY, i).setLong(YTD, 1000L + i).setText(NAME, "n" + i % 10);
            t.insert(tx, key.set(i % 3, i), row);
          }
        });
  }

  private static void verify(Database db) {
    VerifyReport report = db.verify();
    assertTrue(report.ok(), report::toString);
  }

  // ----- records

  @Test
  void putRecordsAreFound() {
    try (Database db = Database.inMemory(SMALL)) {
      RowTable t = db.table(STOCK);
      Key key = t.key();
      Row row = t.row();
      db.run(
          tx -> {
            assertFalse(t.get(tx, key.set(1, 2), row));
            t.insert(
                tx,
                key,
                row.clear()
                    .setInt(QUANTITY, -1)
                    .setLong(YTD, Long.MIN_VALUE)
                    .setText(NAME, "Äpfel")
                    .setBytes(DATA, new byte[] {1, 0, 2}));
            assertTrue(t.get(tx, key, row));
            assertEquals(-1, row.getInt(QUANTITY));
          });
      Row other = t.row();
      db.read(
          tx -> {
            assertTrue(t.exists(tx, key));
            assertTrue(t.get(tx, key, other));
            assertEquals(-1, other.getInt(QUANTITY));
            assertEquals(Long.MIN_VALUE, other.getLong(YTD));
            assertEquals("Äpfel", other.getText(NAME));
            assertTrue(other.textEquals(NAME, "Äpfel"));
            assertFalse(other.textEquals(NAME, "Äpfe"));
            assertEquals(6, other.length(NAME));
            assertArrayEquals(new byte[] {1, 0, 2}, other.getBytes(DATA));
            byte[] into = new byte[4];
            assertEquals(3, other.getBytes(DATA, into, 2));
            assertArrayEquals(new byte[] {0, 0, 1, 0}, into);
            return null;
          });
      db.run(
          tx -> {
            assertTrue(t.delete(tx, key));
            assertFalse(t.delete(tx, key));
          });
      db.read(
          tx -> {
            assertFalse(t.exists(tx, key));
            return null;
          });
      verify(db);
    }
  }

  @Test
  void anUpdateWritesOnlyChangedFields() {
    try (Database db = Database.inMemory(SMALL)) {
      RowTable t = db.table(STOCK);
      fill(db, t, 0, 3);
      Key key = t.key();
      Row a = t.row();
      Row b = t.row();
      db.run(
          tx -> {
            t.get(tx, key.set(1, 1), a);
            t.get(tx, key, b);
            a.setInt(QUANTITY, 50);
            b.setText(NAME, "changed by b");
            t.update(tx, b);
            t.update(tx, a); // must not restore the old name
            t.update(tx, a); // nothing has changed since then
          });
      db.read(
          tx -> {
            t.get(tx, key, a);
            assertEquals(50, a.getInt(QUANTITY));
            assertEquals("changed by b", a.getText(NAME));
            assertEquals(1001, a.getLong(YTD));
            return null;
          });
    }
  }

  @Test
  void dirtyFieldsAreTracked() {
    try (Database db = Database.inMemory(SMALL)) {
      RowTable t = db.table(STOCK);
      fill(db, t, 0, 2);
      Key key = t.key();
      Row row = t.row();
      row.setInt(QUANTITY, 3);
      assertFalse(row.buffer().changed(), "a new row has nothing to compare with");
      db.run(
          tx -> {
            t.get(tx, key.set(1, 1), row);
            row.setInt(QUANTITY, row.getInt(QUANTITY));
            assertFalse(row.buffer().changed(), "the same value is no change");
            row.setLong(YTD, 5);
            row.setBytes(DATA, new byte[7]);
            assertEquals(YTD.ordinal(), row.buffer().nextChanged(0));
            assertEquals(DATA.ordinal(), row.buffer().nextChanged(YTD.ordinal() + 1));
            assertEquals(-1, row.buffer().nextChanged(DATA.ordinal() + 1));
            assertEquals(DATA.offset() + 2 + 7, row.buffer().end(DATA.ordinal()));
            t.update(tx, row);
            assertFalse(row.buffer().changed());
          });
    }
  }

  @Test
  void manyFieldsAreTrackedToo() {
    Layout.Definition b = Layout.define();
    Field[] f = new Field[200];
    for (int i = 0; i < f.length; i++) {
      f[i] = i % 2 == 0 ? b.int32("f" + i) : b.text("f" + i, 3);
    }
    try (Database db = Database.inMemory(SMALL)) {
      RowTable t = db.table(TableSpec.of("wide", KeySpec.of(FieldType.INT32), b.build()));
      Key key = t.key().set(1);
      Row row = t.row();
      db.run(tx -> t.insert(tx, key, row));
      db.run(
          tx -> {
            t.get(tx, key, row);
            row.setInt(f[0], 1).setText(f[63], "abc").setInt(f[64], 2).setInt(f[198], 3);
            t.update(tx, row);
          });
      db.read(
          tx -> {
            t.get(tx, key, row);
            for (int i = 0; i < f.length; i++) {
              if (i % 2 == 0) {
                assertEquals(i == 0 ? 1 : i == 64 ? 2 : i == 198 ? 3 : 0, row.getInt(f[i]));
              } else {
                assertEquals(i == 63 ? "abc" : "", row.getText(f[i]));
              }
            }
            return null;
          });
    }
  }

  @Test
  void rowsMayBeLargerThanAPage() {
    Layout.Definition b = Layout.define();
    Field first = b.int32("first");
    Field wide = b.bytes("wide", 9000);
    Field last = b.int64("last");
    TableSpec spec =
        TableSpec.of("wide", KeySpec.of(FieldType.INT32), b.build())
            .with(IndexSpec.on("by_last", last));
    try (Database db = Database.inMemory(SMALL)) {
      RowTable t = db.table(spec);
      Key key = t.key();
      Row row = t.row();
      byte[] bytes = new byte[9000];
      java.util.Arrays.fill(bytes, (byte) 7);
      db.run(
          tx -> {
            for (int i = 0; i < 20; i++) {
              t.insert(tx, key.set(i), row.setBytes(wide, bytes).setLong(last, i));
            }
          });
      db.run(
          tx -> {
            for (int i = 0; i < 20; i++) {
              assertTrue(t.get(tx, key.set(i), row));
              t.update(tx, row.setInt(first, i * i).setLong(last, -i));
            }
          });
      db.read(
          tx -> {
            int expected = 19;
            RowIndex byLast = t.index("by_last");
            try (RowCursor c = byLast.scan(tx, Range.all(), ScanOrder.ASCENDING)) {
              while (c.next()) {
                assertEquals(expected, c.key().getInt(0));
                assertEquals(expected * expected, c.row().getInt(first));
                assertArrayEquals(bytes, c.row().getBytes(wide));
                expected--;
              }
            }
            assertEquals(-1, expected);
            return null;
          });
      verify(db);
    }
  }

  @Test
  void aProjectionReadsOnlyItsFields() {
    try (Database db = Database.inMemory(SMALL)) {
      RowTable t = db.table(STOCK);
      fill(db, t, 0, 3);
      Key key = t.key();
      Row row = t.row();
      Projection p = Projection.of(LAYOUT_SPEC, YTD);
      db.run(
          tx -> {
            assertTrue(t.get(tx, key.set(2, 2), row, p));
            assertEquals(1002, row.getLong(YTD));
            assertThrows(InvalidUseException.class, () -> row.getText(NAME));
            assertThrows(InvalidUseException.class, () -> t.put(tx, key, row));
            row.setLong(YTD, 7);
            t.update(tx, row);
          });
      db.read(
          tx -> {
            t.get(tx, key, row);
            assertEquals(7, row.getLong(YTD));
            assertEquals("n2", row.getText(NAME));
            return null;
          });
      Layout.Definition other = Layout.define();
      Field foreign = other.int32("x");
      assertThrows(IllegalArgumentException.class, () -> Projection.of(LAYOUT_SPEC, foreign));
      assertThrows(IllegalArgumentException.class, () -> Projection.of(LAYOUT_SPEC));
    }
  }

  @Test
  void aBatchReadsAll() {
    try (Database db = Database.inMemory(SMALL)) {
      RowTable t = db.table(STOCK);
      fill(db, t, 0, 30);
      Batch batch = t.batch(10);
      db.run(
          tx -> {
            for (int i = 0; i < 10; i++) {
              batch.add().set(i % 3, i * 4);
            }
            assertThrows(InvalidUseException.class, batch::add);
            assertEquals(8, t.getAll(tx, batch)); // only those below 30
            int found = 0;
            for (int i = 0; i < batch.size(); i++) {
              if (batch.found(i)) {
                assertEquals(batch.key(i).getInt(ID), batch.row(i).getInt(QUANTITY));
                found++;
              } else {
                int at = i;
                assertThrows(InvalidUseException.class, () -> batch.row(at).getInt(QUANTITY));
              }
            }
            assertEquals(8, found);
          });
    }
  }

  @Test
  void scansGoBothWaysAndPrefixesAreExact() {
    try (Database db = Database.inMemory(SMALL)) {
      RowTable t = db.table(STOCK);
      fill(db, t, 0, 300);
      assertEquals(300, ids(db, t, Range.all(), ScanOrder.ASCENDING).size());
      Key one = t.key().set(1);
      List<Integer> up = ids(db, t, Range.prefix(one), ScanOrder.ASCENDING);
      assertEquals(100, up.size());
      assertEquals(1, up.get(0));
      assertEquals(298, up.get(99));
      List<Integer> down = ids(db, t, Range.prefix(one), ScanOrder.DESCENDING);
      assertEquals(up.reversed(), down);
      Key lo = t.key().set(1, 40);
      Key hi = t.key().set(1, 52);
      assertEquals(
          List.of(40, 43, 46, 49, 52), ids(db, t, Range.between(lo, hi), ScanOrder.ASCENDING));
      assertEquals(
          List.of(49, 46, 43), ids(db, t, Range.of(lo, false, hi, false), ScanOrder.DESCENDING));
      assertEquals(200, ids(db, t, Range.atLeast(one), ScanOrder.ASCENDING).size());
      assertEquals(200, ids(db, t, Range.atMost(one), ScanOrder.ASCENDING).size());
      Key two = t.key().set(2);
      assertEquals(100, ids(db, t, Range.of(one, false, two, true), ScanOrder.ASCENDING).size());
      assertEquals(100, ids(db, t, Range.of(one, true, two, false), ScanOrder.ASCENDING).size());
      assertEquals(0, ids(db, t, Range.of(one, false, two, false), ScanOrder.ASCENDING).size());
      assertEquals(0, ids(db, t, Range.between(hi, lo), ScanOrder.DESCENDING).size());
      Key none = t.key();
      assertEquals(300, ids(db, t, Range.prefix(none), ScanOrder.ASCENDING).size());
      assertEquals(0, ids(db, t, Range.of(none, false, none, true), ScanOrder.ASCENDING).size());
      assertEquals(0, ids(db, t, Range.of(none, true, none, false), ScanOrder.ASCENDING).size());
    }
  }

  private static List<Integer> ids(Database db, RowTable t, Range range, ScanOrder order) {
    return db.read(
        tx -> {
          List<Integer> ids = new ArrayList<>();
          try (RowCursor c = t.scan(tx, range, order)) {
            while (c.next()) {
              assertEquals(c.key().getInt(ID), c.row().getInt(QUANTITY));
              ids.add(c.key().getInt(1));
            }
          }
          return ids;
        });
  }

  @Test
  void recordsAreUpdatedAndDeletedAtACursor() {
    try (Database db = Database.inMemory(SMALL)) {
      RowTable t = db.table(INDEXED);
      fill(db, t, 0, 60);
      db.run(
          tx -> {
            try (RowCursor c = t.scan(tx, Range.prefix(t.key().set(0)), ScanOrder.ASCENDING)) {
              while (c.next()) {
                if (c.key().getInt(ID) % 2 == 0) {
                  t.update(tx, c.row().setInt(QUANTITY, -1).setText(NAME, "even"));
                } else {
                  assertTrue(t.delete(tx, c.key()));
                }
              }
            }
          });
      List<String> names = new ArrayList<>();
      db.read(
          tx -> {
            try (RowCursor c = t.scan(tx, Range.prefix(t.key().set(0)), ScanOrder.ASCENDING)) {
              while (c.next()) {
                names.add(c.row().getText(NAME));
              }
            }
            return null;
          });
      assertEquals(java.util.Collections.nCopies(10, "even"), names);
      verify(db);
    }
  }

  // ----- indexes

  @Test
  void indexesAreKeptUpToDate() {
    try (Database db = Database.inMemory(SMALL)) {
      RowTable t = db.table(INDEXED);
      fill(db, t, 0, 100);
      RowIndex byName = t.index("by_name");
      RowIndex byYtd = t.index("by_ytd");
      Key nameKey = byName.key();
      Key ytdKey = byYtd.key();
      Row row = t.row();
      db.run(
          tx -> {
            assertTrue(byYtd.get(tx, ytdKey.set(1042L), row));
            assertEquals(42, row.getInt(QUANTITY));
            row.setLong(YTD, 5);
            t.update(tx, row);
            assertFalse(byYtd.get(tx, ytdKey.set(1042L), row));
            assertTrue(byYtd.get(tx, ytdKey.set(5L), row));
          });
      db.read(
          tx -> {
            nameKey.clear().int32(1).text("n7");
            List<Integer> ids = new ArrayList<>();
            try (RowCursor c = byName.scan(tx, Range.prefix(nameKey), ScanOrder.ASCENDING)) {
              while (c.next()) {
                assertEquals("n7", c.indexKey().getText(NAME));
                assertEquals(1, c.indexKey().getInt(W));
                assertEquals(c.indexKey().getInt(ID), c.key().getInt(ID));
                ids.add(c.key().getInt(ID));
              }
            }
            assertEquals(List.of(7, 37, 67, 97), ids);
            assertTrue(byName.get(tx, nameKey.clear().int32(1).textPrefix("n"), row));
            assertEquals("n0", row.getText(NAME));
            assertFalse(byName.get(tx, nameKey.clear().int32(1).text("n"), row));
            RowIndex initial = t.index("by_initial");
            int n = 0;
            try (RowCursor c =
                initial.scan(tx, Range.prefix(initial.key().set("n")), ScanOrder.DESCENDING)) {
              while (c.next()) {
                assertEquals('n', c.row().getText(NAME).charAt(0));
                n++;
              }
            }
            assertEquals(100, n);
            return null;
          });
      verify(db);
    }
  }

  @Test
  void aRecordDeletedUnderACursorOfAnIndexIsMisuseAndNotCorruption() {
    try (Database db = Database.inMemory(SMALL)) {
      RowTable t = db.table(INDEXED);
      fill(db, t, 0, 10);
      RowIndex byName = t.index("by_name");
      db.run(
          tx -> {
            try (RowCursor c =
                byName.scan(tx, Range.prefix(byName.key().set(1)), ScanOrder.ASCENDING)) {
              assertTrue(c.next());
              assertTrue(t.delete(tx, c.key()));
              assertThrows(InvalidUseException.class, c::row);
              assertTrue(c.next());
              assertNotNull(c.row());
            }
          });
      verify(db);
    }
  }

  @Test
  void aUniqueViolationChangesNothing() {
    try (Database db = Database.inMemory(SMALL)) {
      RowTable t = db.table(INDEXED);
      fill(db, t, 0, 10);
      Key key = t.key();
      Row row = t.row();
      db.run(
          tx -> {
            row.clear().setLong(YTD, 1003).setText(NAME, "x");
            DuplicateKeyException e =
                assertThrows(DuplicateKeyException.class, () -> t.insert(tx, key.set(9, 9), row));
            assertTrue(e.getMessage().contains("by_ytd"), e.getMessage());
            assertFalse(t.exists(tx, key));
            e =
                assertThrows(
                    DuplicateKeyException.class,
                    () -> t.insert(tx, key.set(0, 0), row.setLong(YTD, 77)));
            assertTrue(e.getMessage().contains("table \"stock\""), e.getMessage());
            t.get(tx, key.set(1, 1), row);
            row.setLong(YTD, 1002).setText(NAME, "y");
            assertThrows(DuplicateKeyException.class, () -> t.update(tx, row));
            row.setLong(YTD, 1001);
            t.update(tx, row);
            row.clear().setLong(YTD, 1002);
            assertThrows(DuplicateKeyException.class, () -> t.put(tx, key.set(1, 1), row));
            t.put(tx, key.set(2, 2), row);
          });
      verify(db);
      db.read(
          tx -> {
            assertTrue(t.get(tx, key.set(1, 1), row));
            assertEquals("y", row.getText(NAME));
            assertEquals(1001, row.getLong(YTD));
            return null;
          });
    }
  }

  @Test
  void severalRowsOfOneRecordKeepItsIndexesRight() {
    try (Database db = Database.inMemory(SMALL)) {
      RowTable t = db.table(INDEXED);
      fill(db, t, 0, 5);
      Key key = t.key().set(1, 1);
      Row a = t.row();
      Row b = t.row();
      db.run(
          tx -> {
            t.get(tx, key, a);
            t.get(tx, key, b);
            t.update(tx, b.setText(NAME, "first").setLong(YTD, 1));
            t.update(tx, a.setText(NAME, "second"));
          });
      verify(db);
      db.run(
          tx -> {
            t.get(tx, key, a);
            assertEquals("second", a.getText(NAME));
            assertEquals(1, a.getLong(YTD));
            t.delete(tx, key);
            assertThrows(InvalidUseException.class, () -> t.update(tx, a.setText(NAME, "gone")));
            assertThrows(InvalidUseException.class, () -> t.update(tx, a.setInt(QUANTITY, 3)));
          });
      verify(db);
    }
  }

  @Test
  void anIndexIsBuiltOverExistingRecords() {
    Path file = dir.resolve("db");
    try (Database db = Database.open(file, SMALL)) {
      RowTable t = db.table(STOCK);
      fill(db, t, 0, 500);
      RowTable with = db.table(STOCK.with(BY_NAME));
      // The older handle maintains the new index too.
      db.run(
          tx -> {
            Row row = t.row().setText(NAME, "late").setLong(YTD, 3);
            t.insert(tx, t.key().set(1, 9999), row);
            assertTrue(
                with.index("by_name")
                    .get(tx, with.index("by_name").key().set(1).text("late"), with.row()));
          });
      assertThrows(IllegalArgumentException.class, () -> t.index("by_name"));
      verify(db);
      db.run(tx -> t.put(tx, t.key().set(1, 9998), t.row().setLong(YTD, 3)));
      DuplicateKeyException e =
          assertThrows(
              DuplicateKeyException.class, () -> db.table(STOCK.with(BY_NAME).with(BY_YTD)));
      assertTrue(e.getMessage().contains("by_ytd"), e.getMessage());
      verify(db);
      db.run(tx -> assertTrue(t.delete(tx, t.key().set(1, 9998))));
      RowTable all = db.table(INDEXED);
      assertNotNull(all.index("by_initial"));
      verify(db);
      assertTrue(db.dropIndex("stock", "by_name"));
      assertFalse(db.dropIndex("stock", "by_name"));
      verify(db);
      db.table(INDEXED);
      verify(db);
    }
    assertTrue(FileVerifier.verify(file).ok());
  }

  @Test
  void anIndexIsNotBuiltInATransaction() {
    try (Database db = Database.inMemory(SMALL)) {
      db.table(STOCK);
      db.run(
          tx -> {
            db.table(STOCK); // opening is allowed
            db.table(TableSpec.bytes("new", 20));
            assertThrows(InvalidUseException.class, () -> db.table(INDEXED));
            assertThrows(InvalidUseException.class, () -> db.dropTable("stock"));
            assertThrows(InvalidUseException.class, db::verify);
          });
    }
  }

  // ----- open and close

  @Test
  void contentsSurviveReopening() {
    Path file = dir.resolve("db");
    try (Database db = Database.open(file, SMALL)) {
      fill(db, db.table(INDEXED), 0, 2000);
      db.run(
          tx ->
              db.table(TableSpec.bytes("bytes", 30))
                  .bytes()
                  .put(tx, new byte[] {1}, new byte[100_000]));
    }
    VerifyReport report = FileVerifier.verify(file);
    assertTrue(report.ok(), report::toString);
    assertEquals(2001, report.records());
    try (Database db = Database.open(file, SMALL)) {
      assertEquals(List.of("bytes", "stock"), db.tables());
      RowTable t = db.table(INDEXED);
      db.run(
          tx -> {
            Row row = t.row();
            RowIndex byYtd = t.index("by_ytd");
            for (int i = 0; i < 2000; i++) {
              assertTrue(byYtd.get(tx, byYtd.key().set(1000L + i), row));
              assertEquals(i, row.getInt(QUANTITY));
            }
            assertEquals(
                100_000,
                db.table(TableSpec.bytes("bytes", 30)).bytes().get(tx, new byte[] {1}).length);
          });
      verify(db);
      fill(db, t, 2000, 2100);
    }
    report = FileVerifier.verify(file);
    assertTrue(report.ok(), report::toString);
    assertEquals(2101, report.records());
  }

  @Test
  void anEmptyDatabaseOpensAgain() {
    Path file = dir.resolve("db");
    for (int i = 0; i < 3; i++) {
      try (Database db = Database.open(file, SMALL)) {
        assertEquals(List.of(), db.tables());
      }
      assertTrue(FileVerifier.verify(file).ok());
    }
  }

  @Test
  void pagesOfDroppedTablesAreReused() {
    Path file = dir.resolve("db");
    try (Database db = Database.open(file, SMALL)) {
      RowTable t = db.table(INDEXED);
      fill(db, t, 0, 1000);
      long size = db.stats().storage().bytes();
      assertTrue(db.dropTable("stock"));
      assertFalse(db.dropTable("stock"));
      verify(db);
      assertTrue(db.stats().storage().freeBytes() > size / 2);
      assertThrows(
          InvalidUseException.class, () -> db.run(tx -> t.get(tx, t.key().set(1, 1), t.row())));
      fill(db, db.table(INDEXED), 0, 1000);
      assertTrue(db.stats().storage().bytes() <= size + 3 * 4096);
      verify(db);
    }
    assertTrue(FileVerifier.verify(file).ok());
  }

  @Test
  void anotherSpecificationIsRefused() {
    Path file = dir.resolve("db");
    try (Database db = Database.open(file, SMALL)) {
      db.table(INDEXED);
    }
    try (Database db = Database.open(file, SMALL)) {
      String[] words = {"its key", "layout", "byte strings", "by_initial", "not unique", "fields"};
      TableSpec[] specs = {
        TableSpec.of("stock", KeySpec.of(FieldType.INT32), LAYOUT_SPEC),
        TableSpec.of("stock", KEY_SPEC, Layout.define().build()),
        TableSpec.bytes("stock", 30),
        STOCK.with(BY_NAME).with(BY_YTD),
        STOCK.with(IndexSpec.unique("by_name", W, NAME)).with(BY_YTD).with(BY_INITIAL),
        STOCK.with(IndexSpec.on("by_name", NAME, W)).with(BY_YTD).with(BY_INITIAL),
      };
      for (int i = 0; i < specs.length; i++) {
        TableSpec spec = specs[i];
        IncompatibleSchemaException e =
            assertThrows(IncompatibleSchemaException.class, () -> db.table(spec));
        assertTrue(e.getMessage().contains(words[i]), e.getMessage());
        assertTrue(e.getMessage().contains("stock"), e.getMessage());
      }
      assertNotNull(db.table(INDEXED));
    }
  }

  @Test
  void foreignFilesAreRefusedAndUnchanged() throws IOException {
    Path file = dir.resolve("letter.txt");
    Files.writeString(file, "Dear Sir or Madam, ".repeat(1000));
    byte[] before = Files.readAllBytes(file);
    assertThrows(IncompatibleFormatException.class, () -> Database.open(file, SMALL));
    assertArrayEquals(before, Files.readAllBytes(file));
    assertThrows(IncompatibleFormatException.class, () -> Database.open(dir, SMALL));
    Path absent = dir.resolve("absent");
    assertThrows(
        IncompatibleFormatException.class, () -> Database.open(absent, SMALL.create(false)));
    assertFalse(Files.exists(absent));
    Path tiny = dir.resolve("tiny");
    Files.writeString(tiny, "x");
    assertThrows(IncompatibleFormatException.class, () -> Database.open(tiny, SMALL));
  }

  @Test
  void anotherPageSizeIsRefused() {
    Path file = dir.resolve("db");
    Database.open(file, SMALL.device(dev -> dev.pageSize(8192))).close();
    IncompatibleFormatException e =
        assertThrows(IncompatibleFormatException.class, () -> Database.open(file, SMALL));
    assertTrue(e.getMessage().contains("pageSize(8192)"), e.getMessage());
    assertTrue(FileVerifier.verify(file).ok());
  }

  @Test
  void aSecondOpenNamesTheHolder() throws IOException {
    Path file = dir.resolve("db");
    Path link = dir.resolve("link");
    try (Database db = Database.open(file, SMALL)) {
      DatabaseLockedException e =
          assertThrows(DatabaseLockedException.class, () -> Database.open(file, SMALL));
      assertEquals(ProcessHandle.current().pid(), e.holderPid());
      Files.createSymbolicLink(link, file);
      assertThrows(DatabaseLockedException.class, () -> Database.open(link, SMALL));
      assertTrue(db.isOpen());
    }
    Database.open(link, SMALL).close();
  }

  @Test
  void aSmallPoolIsRefused() {
    assertThrows(
        PoolTooSmallException.class,
        () -> Database.inMemory(Options.defaults().bufferBytes(100_000)));
    Path file = dir.resolve("db");
    assertThrows(
        PoolTooSmallException.class,
        () -> Database.open(file, Options.defaults().bufferBytes(100_000)));
    Database.open(file, SMALL).close();
  }

  @Test
  void tooLargeBuffersAreRefused() {
    InvalidUseException e =
        assertThrows(
            InvalidUseException.class,
            () -> Database.inMemory(Options.defaults().bufferBytes(1L << 50)));
    assertTrue(e.getMessage().contains("heap"), e.getMessage());
  }

  @Test
  void anUncleanFileWithoutALogIsRefused() throws IOException {
    Path file = dir.resolve("db");
    Path copy = dir.resolve("copy");
    Options none = SMALL.durability(Durability.NONE);
    Database.open(file, none).close();
    try (Database db = Database.open(file, none)) {
      Files.copy(file, copy);
      Database.open(copy, none).close(); // nothing written so far
      fill(db, db.table(STOCK), 0, 10);
      Files.delete(copy);
      Files.copy(file, copy);
    }
    UncleanShutdownException e =
        assertThrows(UncleanShutdownException.class, () -> Database.open(copy, SMALL));
    assertTrue(e.getMessage().contains("copy"), e.getMessage());
    assertThrows(UncleanShutdownException.class, () -> Database.open(copy, none));
    Database.open(file, SMALL).close();
  }

  @Test
  void afterCloseEverythingThrows() {
    Database db = Database.inMemory(SMALL);
    RowTable t = db.table(INDEXED);
    fill(db, t, 0, 10);
    Key key = t.key().set(1, 1);
    Row row = t.row();
    Transaction tx = db.begin();
    assertTrue(t.get(tx, key, row));
    RowCursor c = t.scan(tx, Range.all(), ScanOrder.ASCENDING);
    assertTrue(c.next());
    db.close();
    db.close();
    assertFalse(db.isOpen());
    assertThrows(DatabaseClosedException.class, () -> t.get(tx, key, row));
    assertThrows(DatabaseClosedException.class, () -> t.insert(tx, key, t.row()));
    assertThrows(DatabaseClosedException.class, c::next);
    assertThrows(DatabaseClosedException.class, c::row);
    assertThrows(DatabaseClosedException.class, tx::commit);
    tx.close();
    c.close();
    assertThrows(DatabaseClosedException.class, db::begin);
    assertThrows(DatabaseClosedException.class, () -> db.run(x -> {}));
    assertThrows(DatabaseClosedException.class, () -> db.table(STOCK));
    assertThrows(DatabaseClosedException.class, db::tables);
    assertThrows(DatabaseClosedException.class, db::stats);
    assertThrows(DatabaseClosedException.class, db::verify);
    assertThrows(DatabaseClosedException.class, () -> db.dropTable("stock"));
    assertThrows(DatabaseClosedException.class, t::key);
    assertThrows(DatabaseClosedException.class, t::row);
    assertThrows(DatabaseClosedException.class, () -> t.index("by_name"));
    assertThrows(DatabaseClosedException.class, () -> row.getInt(QUANTITY));
  }

  // ----- misuse

  @Test
  void objectsOfAnotherTableAreRefused() {
    try (Database db = Database.inMemory(SMALL);
        Database other = Database.inMemory(SMALL)) {
      RowTable t = db.table(INDEXED);
      RowTable u = other.table(INDEXED);
      RowTable v = db.table(TableSpec.of("v", KEY_SPEC, LAYOUT_SPEC));
      db.run(
          tx -> {
            assertThrows(InvalidUseException.class, () -> t.get(tx, u.key().set(1, 1), t.row()));
            assertThrows(InvalidUseException.class, () -> t.get(tx, v.key().set(1, 1), t.row()));
            assertThrows(InvalidUseException.class, () -> t.get(tx, t.key().set(1, 1), v.row()));
            assertThrows(InvalidUseException.class, () -> u.get(tx, u.key().set(1, 1), u.row()));
            assertThrows(InvalidUseException.class, () -> t.get(tx, t.key().set(1), t.row()));
            assertThrows(
                InvalidUseException.class,
                () -> t.scan(tx, Range.prefix(v.key().set(1)), ScanOrder.ASCENDING));
            assertThrows(
                InvalidUseException.class,
                () -> t.index("by_ytd").get(tx, t.index("by_name").key().set(1), t.row()));
            assertThrows(InvalidUseException.class, () -> t.getAll(tx, v.batch(2)));
            assertThrows(InvalidUseException.class, () -> t.update(tx, t.row()));
            assertThrows(NullPointerException.class, () -> t.get(tx, null, t.row()));
            assertThrows(NullPointerException.class, () -> t.get(tx, t.key().set(1, 1), null));
            assertThrows(NullPointerException.class, () -> t.get(null, t.key(), t.row()));
            assertThrows(NullPointerException.class, () -> t.scan(tx, null, ScanOrder.ASCENDING));
            assertThrows(InvalidUseException.class, t::bytes);
          });
      assertThrows(NullPointerException.class, () -> db.table((TableSpec) null));
      assertThrows(NullPointerException.class, () -> db.run(null));
      assertThrows(NullPointerException.class, () -> Database.open((Path) null, SMALL));
    }
  }

  @Test
  void rowsEndWithTheirTransaction() {
    try (Database db = Database.inMemory(SMALL)) {
      RowTable t = db.table(STOCK);
      fill(db, t, 0, 5);
      Key key = t.key().set(1, 1);
      Row row = t.row();
      db.run(tx -> assertTrue(t.get(tx, key, row)));
      assertThrows(InvalidUseException.class, () -> row.getInt(QUANTITY));
      assertThrows(InvalidUseException.class, () -> row.setInt(QUANTITY, 1));
      db.run(
          tx -> {
            assertThrows(InvalidUseException.class, () -> row.getInt(QUANTITY));
            assertThrows(InvalidUseException.class, () -> t.put(tx, key, row));
            assertThrows(InvalidUseException.class, () -> t.update(tx, row));
            assertFalse(t.get(tx, key.set(8, 8), row));
            assertThrows(InvalidUseException.class, () -> row.getInt(QUANTITY));
            row.clear().setInt(QUANTITY, 8);
            t.insert(tx, key, row);
          });
      assertEquals(8, row.getInt(QUANTITY), "a new row belongs to its creator");
      assertEquals("Row[quantity=8, ytd=0, name=\"\", data=0 bytes]", row.toString());
    }
  }

  @Test
  void rowsBelongToTheThreadOfTheirTransaction() throws InterruptedException {
    Database db = Database.inMemory(SMALL);
    RowTable t = db.table(STOCK);
    fill(db, t, 0, 5);
    Row row = t.row();
    Transaction tx = db.begin();
    assertTrue(t.get(tx, t.key().set(1, 1), row));
    List<Throwable> thrown = new CopyOnWriteArrayList<>();
    Thread other =
        Thread.ofPlatform()
            .start(
                () -> {
                  thrown.add(assertThrows(InvalidUseException.class, () -> row.getInt(QUANTITY)));
                  db.run(
                      mine ->
                          thrown.add(
                              assertThrows(InvalidUseException.class, () -> t.update(mine, row))));
                });
    other.join();
    assertEquals(2, thrown.size());
    assertTrue(thrown.get(0).getMessage().contains("belongs to thread"), thrown::toString);
    row.setInt(QUANTITY, 3);
    t.update(tx, row);
    tx.commit();
    InvalidUseException ended = assertThrows(InvalidUseException.class, () -> row.getInt(QUANTITY));
    assertTrue(ended.getMessage().contains("has committed"), ended::getMessage);
    db.close();
    assertThrows(DatabaseClosedException.class, () -> row.getInt(QUANTITY));
  }

  @Test
  void fieldsAreChecked() {
    try (Database db = Database.inMemory(SMALL)) {
      Row row = db.table(STOCK).row();
      assertThrows(InvalidUseException.class, () -> row.getInt(YTD));
      assertThrows(InvalidUseException.class, () -> row.getInt(W));
      assertThrows(InvalidUseException.class, () -> row.setText(DATA, "x"));
      assertThrows(ValueTooLargeException.class, () -> row.setText(NAME, "x".repeat(25)));
      assertThrows(ValueTooLargeException.class, () -> row.setText(NAME, "ä".repeat(13)));
      assertThrows(ValueTooLargeException.class, () -> row.setBytes(DATA, new byte[51]));
      assertThrows(IndexOutOfBoundsException.class, () -> row.setBytes(DATA, new byte[5], 3, 3));
      assertThrows(NullPointerException.class, () -> row.setText(NAME, null));
      row.setText(NAME, "ä".repeat(12));
      assertThrows(InvalidUseException.class, () -> row.setText(NAME, "ab\uD83D"));
      assertEquals("ä".repeat(12), row.getText(NAME));
      assertThrows(IllegalArgumentException.class, () -> LAYOUT_SPEC.field("nothing"));
    }
  }

  @Test
  void cursorsEndWithTheirTransaction() {
    try (Database db = Database.inMemory(SMALL)) {
      RowTable t = db.table(STOCK);
      fill(db, t, 0, 5);
      RowCursor[] c = new RowCursor[1];
      Row[] r = new Row[1];
      db.run(
          tx -> {
            c[0] = t.scan(tx, Range.all(), ScanOrder.ASCENDING);
            assertThrows(InvalidUseException.class, () -> c[0].row());
            assertTrue(c[0].next());
            assertThrows(InvalidUseException.class, () -> c[0].indexKey());
            r[0] = c[0].row();
          });
      assertThrows(InvalidUseException.class, () -> c[0].next());
      assertThrows(InvalidUseException.class, () -> r[0].getInt(QUANTITY));
      c[0].close();
      db.run(
          tx -> {
            RowCursor d = t.scan(tx, Range.all(), ScanOrder.DESCENDING);
            assertTrue(d.next());
            Row row = d.row();
            d.close();
            d.close();
            assertThrows(InvalidUseException.class, d::next);
            assertThrows(InvalidUseException.class, d::key);
            assertThrows(InvalidUseException.class, () -> row.getInt(QUANTITY));
          });
    }
  }

  @Test
  void keysThatAreTooLongAreRefused() {
    KeySpec.Definition b = KeySpec.define();
    Field longText = b.text("long", 400);
    try (Database db = Database.inMemory(SMALL)) {
      RowTable t = db.table(TableSpec.of("long", b.build(), Layout.define().build()));
      assertEquals(longText, t.spec().key().part("long"));
      Key key = t.key();
      db.run(
          tx -> {
            t.insert(tx, key.set("x".repeat(400)), t.row());
            key.set("\0".repeat(400));
            assertThrows(KeyTooLargeException.class, () -> t.insert(tx, key, t.row()));
            assertThrows(KeyTooLargeException.class, () -> t.get(tx, key, t.row()));
            assertTrue(t.exists(tx, key.set("x".repeat(400))));
          });
      assertThrows(KeyTooLargeException.class, () -> db.table(TableSpec.bytes("longer", 60_000)));
      verify(db);
    }
  }

  @Test
  void aTableWithoutFieldsIsASet() {
    try (Database db = Database.inMemory(SMALL)) {
      RowTable t =
          db.table(TableSpec.of("set", KeySpec.of(FieldType.INT64), Layout.define().build()));
      db.run(
          tx -> {
            for (long i = 0; i < 100; i++) {
              t.put(tx, t.key().set(i * i), t.row());
            }
            t.put(tx, t.key().set(4L), t.row());
            assertTrue(t.exists(tx, t.key().set(81L)));
            assertFalse(t.exists(tx, t.key().set(82L)));
            assertTrue(t.get(tx, t.key().set(81L), t.row()));
          });
      verify(db);
    }
  }

  @Test
  void optionsAreValues() {
    Options o = Options.defaults();
    assertEquals(4096, o.device().pageSize());
    assertEquals(8192, o.device(dev -> dev.pageSize(8192)).device().pageSize());
    assertEquals(4096, o.device().pageSize());
    assertThrows(IllegalArgumentException.class, () -> o.device(dev -> dev.pageSize(5000)));
    assertThrows(IllegalArgumentException.class, () -> o.device(dev -> dev.pageSize(2048)));
    assertThrows(IllegalArgumentException.class, () -> o.bufferBytes(0));
    assertThrows(IllegalArgumentException.class, () -> o.transactions(txs -> txs.maxActive(0)));
    assertThrows(NullPointerException.class, () -> o.device(dev -> dev.io(null)));
    assertThrows(NullPointerException.class, () -> o.experiments(exp -> exp.replacement(null)));
    assertEquals(Replacement.SECOND_CHANCE, o.experiments().replacement());
    assertEquals(
        Replacement.SAMPLING,
        o.experiments(exp -> exp.replacement(Replacement.SAMPLING)).experiments().replacement());
    assertEquals(64, o.device().maxInFlightReads());
    assertEquals(7, o.device(dev -> dev.maxInFlightReads(7)).device().maxInFlightReads());
    assertThrows(IllegalArgumentException.class, () -> o.device(dev -> dev.maxInFlightReads(0)));
    assertThrows(IllegalArgumentException.class, () -> o.device(dev -> dev.maxInFlightReads(65)));
    assertTrue(
        o.experiments(exp -> exp.replacement(Replacement.SAMPLING))
            .toString()
            .contains("replacement=SAMPLING"),
        o.toString());
    assertTrue(o.toString().contains("pageSize=4096"));
    assertNull(TxOptions.defaults().timeout());
    assertTrue(TxOptions.forReading().readOnly());
  }
}
