package io.fovea;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.InvalidUseException;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.NameText;
import io.fovea.schema.TableSpec;
import io.fovea.support.SimDisk;
import io.fovea.support.SimStorage;
import java.util.List;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** Names of any characters, and renamed tables and indexes. */
class NamesTest {
  private static final Options SMALL =
      Options.defaults().bufferBytes(4 << 20).device(dev -> dev.pageSize(4096));

  private static final Layout.Definition B = Layout.define();
  private static final Field A = B.int32("a");
  private static final Field C = B.text("c", 10);
  private static final Layout LAYOUT = B.build();
  private static final KeySpec KEY = KeySpec.of(FieldType.INT32);

  private static final List<String> ODD =
      List.of(
          "t",
          "T",
          " ",
          "a b",
          "a\"b\\c",
          "line\nfeed",
          "\0",
          "zero\0inside",
          "tab\tand \u200b\u2028",
          "-",
          "../x",
          "x".repeat(249),
          "x".repeat(255),
          "x".repeat(254) + "y",
          "\u00ff".repeat(127),
          "\u00ff".repeat(128),
          "\u6f22".repeat(255),
          "\u6f22".repeat(254) + "!",
          "\ud83d\ude00".repeat(127));

  private static TableSpec spec(String name, String index) {
    return TableSpec.of(name, KEY, LAYOUT).with(IndexSpec.on(index, A));
  }

  private static void insert(Database db, RowTable t, int id, int a) {
    db.run(tx -> t.insert(tx, t.key().set(id), t.row().clear().setInt(A, a).setText(C, "c" + id)));
  }

  private static String byIndex(Database db, RowIndex index, int a) {
    return db.read(
        tx -> {
          Row row = index.table().row();
          return index.get(tx, index.key().set(a), row) ? row.getText(C) : "none";
        });
  }

  private static void verify(Database db) {
    VerifyReport report = db.verify();
    assertTrue(report.ok(), report::toString);
  }

  @Test
  void namesHaveAnyCharacters() {
    SimDisk disk = new SimDisk(1);
    try (Database db = SimDatabase.open(new SimStorage(disk), SMALL)) {
      for (int i = 0; i < ODD.size(); i++) {
        insert(db, db.table(spec(ODD.get(i), ODD.get(ODD.size() - 1 - i))), 1, i);
      }
    }
    try (Database db = SimDatabase.open(new SimStorage(disk), SMALL)) {
      assertEquals(List.copyOf(new TreeSet<>(ODD)), db.tables());
      for (int i = 0; i < ODD.size(); i++) {
        String index = ODD.get(ODD.size() - 1 - i);
        RowTable t = db.table(spec(ODD.get(i), index));
        assertEquals("c1", byIndex(db, t.index(index), i));
      }
      verify(db);
      for (String name : ODD) {
        assertTrue(db.dropTable(name));
      }
      assertEquals(List.of(), db.tables());
      verify(db);
    }
  }

  @Test
  void invalidNamesAreRefused() {
    for (String name : List.of("", "x".repeat(256), "a\ud83d", "\ude00b")) {
      assertThrows(IllegalArgumentException.class, () -> TableSpec.bytes(name, 9), name);
      assertThrows(IllegalArgumentException.class, () -> IndexSpec.on(name, A), name);
    }
    try (Database db = Database.inMemory(SMALL)) {
      db.table(TableSpec.bytes("t", 9));
      assertThrows(IllegalArgumentException.class, () -> db.renameTable("t", ""));
    }
  }

  @Test
  void messagesQuoteAmbiguousNames() {
    assertEquals("plain_-.9", NameText.of("plain_-.9"));
    assertEquals("\"a b\"", NameText.of("a b"));
    assertEquals("\"a\\\"b\\u000a\\u200b\"", NameText.of("a\"b\n\u200b"));
    assertEquals("\"\u6f22\ud83d\ude00\"", NameText.of("\u6f22\ud83d\ude00"));
    try (Database db = Database.inMemory(SMALL)) {
      RowTable t = db.table(TableSpec.bytes("was dropped", 9));
      db.dropTable("was dropped");
      InvalidUseException e =
          assertThrows(
              InvalidUseException.class, () -> db.run(tx -> t.bytes().get(tx, new byte[1])));
      assertTrue(e.getMessage().startsWith("Table \"was dropped\" was dropped"), e::getMessage);
    }
  }

  /** A handle continues under the new name, even in the transaction that it is used in. */
  @Test
  void renamedTablesKeepTheirHandles() {
    SimDisk disk = new SimDisk(2);
    String longName = "\u6f22".repeat(255);
    try (Database db = SimDatabase.open(new SimStorage(disk), SMALL)) {
      RowTable t = db.table(spec("one", "by_a"));
      RowIndex byA = t.index("by_a");
      insert(db, t, 1, 10);
      assertFalse(db.renameTable("none", "two"));
      try (Transaction tx = db.begin()) {
        t.insert(tx, t.key().set(2), t.row().clear().setInt(A, 20).setText(C, "c2"));
        Thread other = Thread.ofPlatform().start(() -> assertTrue(db.renameTable("one", longName)));
        join(other);
        assertEquals(longName, t.name());
        t.insert(tx, t.key().set(3), t.row().clear().setInt(A, 30).setText(C, "c3"));
        InvalidUseException e =
            assertThrows(InvalidUseException.class, () -> db.renameTable(longName, "x"));
        assertTrue(e.getMessage().contains("transaction"), e::getMessage);
        tx.commit();
      }
      assertEquals(List.of(longName), db.tables());
      assertEquals("c3", byIndex(db, byA, 30));
      RowTable another = db.table(spec("one", "by_a"));
      insert(db, another, 1, 99);
      InvalidUseException taken =
          assertThrows(InvalidUseException.class, () -> db.renameTable("one", longName));
      assertTrue(taken.getMessage().contains("already"), taken::getMessage);
      assertTrue(db.renameTable("one", "one"));
      verify(db);
    }
    try (Database db = SimDatabase.open(new SimStorage(disk), SMALL)) {
      assertEquals(List.of("one", longName), db.tables());
      assertEquals("c2", byIndex(db, db.table(spec(longName, "by_a")).index("by_a"), 20));
      assertTrue(db.renameTable(longName, "two"));
      assertEquals("c1", byIndex(db, db.table(spec("one", "by_a")).index("by_a"), 99));
      assertEquals("c2", byIndex(db, db.table(spec("two", "by_a")).index("by_a"), 20));
      verify(db);
    }
  }

  @Test
  void renamedIndexesKeepTheirEntries() {
    SimDisk disk = new SimDisk(3);
    try (Database db = SimDatabase.open(new SimStorage(disk), SMALL)) {
      RowTable t = db.table(spec("t", "by_a").with(IndexSpec.unique("by_c", C)));
      RowIndex byA = t.index("by_a");
      insert(db, t, 1, 10);
      assertFalse(db.renameIndex("none", "by_a", "x"));
      assertFalse(db.renameIndex("t", "none", "x"));
      assertThrows(InvalidUseException.class, () -> db.renameIndex("t", "by_a", "by_c"));
      assertTrue(db.renameIndex("t", "by_a", "a b"));
      insert(db, t, 2, 20);
      assertEquals("c2", byIndex(db, byA, 20));
      assertEquals("a b", byA.name());
      assertThrows(IllegalArgumentException.class, () -> t.index("by_a"));
    }
    try (Database db = SimDatabase.open(new SimStorage(disk), SMALL)) {
      RowTable t = db.table(spec("t", "a b").with(IndexSpec.unique("by_c", C)));
      assertEquals("c1", byIndex(db, t.index("a b"), 10));
      verify(db);
    }
  }

  @Test
  void tablesOfBytesAreRenamedToo() {
    try (Database db = Database.inMemory(SMALL)) {
      Table<byte[], byte[]> t = db.table(TableSpec.bytes("t", 9)).bytes();
      db.run(tx -> t.put(tx, new byte[] {1}, new byte[] {2}));
      assertTrue(db.renameTable("t", "u"));
      db.run(tx -> assertArrayEquals(new byte[] {2}, t.get(tx, new byte[] {1})));
    }
  }

  private static void join(Thread other) {
    try {
      other.join();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }
}
