package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.InvalidUseException;
import io.fovea.schema.EntryHints;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.Step;
import io.fovea.schema.TableSpec;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The table specifications that a file describes equal the original ones and open the tables. */
class DescribeTest {
  private static final Options SMALL = Options.defaults().bufferBytes(4 << 20);
  private static final KeySpec.Definition K = KeySpec.define();
  private static final Field SHOP = K.int32("shop");
  private static final Field NUMBER = K.text("number", 20);
  private static final KeySpec KEY = K.build();
  private static final Layout.Definition B = Layout.define();
  private static final Field NAME = B.text("name", 30);
  private static final Field DUE = B.int64("due");
  private static final Layout ROW = B.build();

  private static final TableSpec PLAIN =
      TableSpec.of("plain", KEY, ROW)
          .with(IndexSpec.on("by_name", NAME, NUMBER))
          .with(IndexSpec.unique("by_due", DUE, SHOP, NUMBER).hints(EntryHints.PAGE_SLOT));

  private static final TableSpec EXPIRING =
      TableSpec.of("\u6f22".repeat(200), KEY, ROW).expireAfter(DUE, Duration.ofHours(2));

  private static final TableSpec EXTRACTED =
      TableSpec.of("extracted", KEY, ROW)
          .with(
              IndexSpec.extracted(
                  "by_length",
                  KeySpec.of(FieldType.INT32),
                  false,
                  (key, row, entry) -> {
                    entry.set(row.length(NAME));
                    return true;
                  }));

  record Thing(String name, int size) {}

  @TempDir Path dir;

  private Path file() {
    return dir.resolve("described.fovea");
  }

  private static TableSpec described(Database db, String name) {
    return Objects.requireNonNull(db.describe(name), name);
  }

  private static void same(TableSpec expected, TableSpec found) {
    assertEquals(expected.toString(), found.toString());
    assertEquals(expected.name(), found.name());
    assertEquals(expected.key(), found.key());
    assertEquals(expected.isBytes(), found.isBytes());
    assertEquals(expected.objects(), found.objects());
    assertEquals(expected.expiry(), found.expiry());
    assertEquals(expected.version(), found.version());
    if (!expected.isBytes()) {
      assertEquals(expected.layout(), found.layout());
    }
    assertEquals(expected.indexes().size(), found.indexes().size());
    for (int i = 0; i < expected.indexes().size(); i++) {
      IndexSpec a = expected.indexes().get(i);
      IndexSpec b = found.indexes().get(i);
      assertEquals(a.name(), b.name());
      assertEquals(a.isUnique(), b.isUnique());
      assertEquals(a.fields(), b.fields());
      assertEquals(a.extractedKey(), b.extractedKey());
      assertTrue(a.hints() == null || a.hints() == b.hints());
      assertNull(b.extractor());
    }
  }

  /** By field names, since fields of another layout are rejected. */
  private static Row row(RowTable t, String name) {
    Layout layout = t.spec().layout();
    return t.row().setText(layout.field("name"), name).setLong(layout.field("due"), 0);
  }

  private static void put(Database db, RowTable t, int shop, String name) {
    db.run(tx -> t.put(tx, t.key().clear().int32(shop).text("n" + shop), row(t, name)));
  }

  @Test
  void allKindsOfTables() {
    ObjectSpec<String, Thing> things = ObjectSpec.of("things", String.class, Thing.class);
    Layout.Definition more = Layout.define();
    more.text("title", 30);
    more.int64("due");
    more.int32("stars");
    TableSpec newer =
        TableSpec.builder("plain", KEY, more.build())
            .version(2, Step.rename("name", "title"), Step.add("stars", 3))
            .index(IndexSpec.on("by_name", more.build().field("title"), NUMBER))
            .index(IndexSpec.unique("by_due", more.build().field("due"), SHOP, NUMBER))
            .build();
    try (Database db = Database.open(file(), SMALL)) {
      db.table(TableSpec.bytes("bytes", 77));
      db.table(PLAIN);
      db.table(EXPIRING);
      db.table(EXTRACTED);
      db.table(things);
      same(TableSpec.bytes("bytes", 77), described(db, "bytes"));
      same(PLAIN, described(db, "plain"));
      same(EXPIRING, described(db, EXPIRING.name()));
      same(EXTRACTED, described(db, "extracted"));
      same(things.table(), described(db, "things"));
      assertNull(db.describe("none"));
      db.table(newer);
      assertTrue(db.renameTable("bytes", "renamed"));
      assertTrue(db.dropIndex("plain", "by_due"));
    }
    try (Database db = Database.open(file(), SMALL)) {
      assertEquals(2, described(db, "plain").version());
      assertEquals(1, described(db, "plain").indexes().size());
      assertNull(db.describe("bytes"));
      for (String name : db.tables()) {
        if (!name.equals("extracted")) {
          db.table(described(db, name));
        }
      }
      put(db, db.table(described(db, EXPIRING.name())), 1, "one");
    }
  }

  /** The file doesn't contain the function that computes the entries. */
  @Test
  void aTableIsReadableWithoutItsExtractor() {
    try (Database db = Database.open(file(), SMALL)) {
      RowTable t = db.table(EXTRACTED);
      put(db, t, 1, "abc");
      put(db, t, 2, "ab");
      RowTable same = db.table(described(db, "extracted"));
      put(db, same, 3, "a");
      try (Database then = db.snapshot()) {
        assertEquals(List.of(3, 2, 1), shopsByLength(then));
      }
    }
    try (Database db = Database.open(file(), SMALL)) {
      TableSpec spec = described(db, "extracted");
      var e = assertThrows(InvalidUseException.class, () -> db.table(spec));
      assertTrue(e.getMessage().contains("by_length"), e.getMessage());
      db.run(tx -> assertThrows(InvalidUseException.class, () -> tx.table(spec)));
      try (Database then = db.snapshot()) {
        assertEquals(List.of(3, 2, 1), shopsByLength(then));
      }
      put(db, db.table(EXTRACTED), 4, "");
      assertThrows(
          InvalidUseException.class,
          () ->
              db.table(
                  TableSpec.of("new", KEY, ROW)
                      .with(IndexSpec.described("x", KeySpec.of(FieldType.INT32), false))));
      assertFalse(db.tables().contains("new"));
    }
    try (Database db = Database.open(file(), SMALL.readOnly(true))) {
      assertEquals(List.of(4, 3, 2, 1), shopsByLength(db));
      db.table(EXTRACTED);
      assertNotNull(db.table(described(db, "extracted")));
    }
  }

  private static List<Integer> shopsByLength(Database db) {
    RowTable t = db.table(described(db, "extracted"));
    RowIndex index = t.index("by_length");
    return db.read(
        tx -> {
          List<Integer> shops = new ArrayList<>();
          try (RowCursor c = index.scan(tx, Range.all(), ScanOrder.ASCENDING)) {
            while (c.next()) {
              shops.add(c.key().getInt(SHOP));
            }
          }
          return shops;
        });
  }
}
