package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.IncompatibleSchemaException;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.Step;
import io.fovea.schema.TableSpec;
import java.math.BigDecimal;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.UUID;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Adds and widens fields of each type; {@link EvolutionModelTest} does so at random. */
class FieldTypesEvolutionTest {
  private static final KeySpec KEY = KeySpec.of(FieldType.INT32);
  private static final UUID ID = UUID.fromString("00112233-4455-6677-8899-aabbccddeeff");
  private static final Instant TIME = Instant.parse("1969-12-31T23:59:59.000000001Z");

  @TempDir Path dir;

  private Database open() {
    return Database.open(dir.resolve("db"), Options.defaults().bufferBytes(8 << 20));
  }

  private static Layout layout(Consumer<Layout.Definition> fields) {
    Layout.Definition b = Layout.define();
    fields.accept(b);
    return b.build();
  }

  private void begin(Layout layout, IndexSpec... indexes) {
    try (Database db = open()) {
      TableSpec spec = TableSpec.of("t", KEY, layout);
      for (IndexSpec i : indexes) {
        spec = spec.with(i);
      }
      RowTable t = db.table(spec);
      db.run(tx -> t.insert(tx, t.key().set(1), t.row()));
    }
  }

  private static Row read(Database db, RowTable t, Transaction tx, int key) {
    Row row = t.row();
    assertTrue(t.get(tx, t.key().set(key), row));
    return row;
  }

  @Test
  void addedWithADefaultOfEachType() {
    begin(layout(b -> b.int32("n")));
    Layout.Definition b = Layout.define();
    Field flag = b.bool("flag");
    Field rate = b.float64("rate");
    Field id = b.uuid("id");
    Field at = b.instant("at");
    Field price = b.decimal("price", 9, 3);
    Field nothing = b.nullable().text("nothing", 5);
    Field empty = b.nullable().text("empty", 5);
    Field zero = b.nullable().int32("zero");
    Field maybe = b.nullable().decimal("maybe", 38, 1);
    Field bare = b.instant("bare");
    b.int32("n");
    TableSpec.Builder spec =
        TableSpec.builder("t", KEY, b.build())
            .version(
                2,
                Step.add("flag", true),
                Step.add("rate", -0.0),
                Step.add("id", ID),
                Step.add("at", TIME),
                Step.add("price", new BigDecimal("-1.50")),
                Step.add("nothing"),
                Step.add("empty", ""),
                Step.add("zero", 0),
                Step.add("maybe", new BigDecimal("1E3")),
                Step.add("bare"));
    for (int opened = 0; opened < 2; opened++) {
      try (Database db = open()) {
        RowTable t = db.table(spec.build());
        db.run(
            tx -> {
              Row row = read(db, t, tx, 1);
              assertTrue(row.getBoolean(flag));
              assertEquals(-0.0, row.getDouble(rate));
              assertEquals(ID, row.getUuid(id));
              assertEquals(TIME, row.getInstant(at));
              assertEquals(new BigDecimal("-1.500"), row.getDecimal(price));
              assertTrue(row.isNull(nothing));
              assertEquals("", row.getText(empty));
              assertEquals(0, row.getInt(zero));
              assertEquals(new BigDecimal("1000.0"), row.getDecimal(maybe));
              assertEquals(Instant.EPOCH, row.getInstant(bare));
            });
      }
    }
    // The default remains the same number after the field is widened and made nullable.
    Layout.Definition c = Layout.define();
    Field wider = c.nullable().decimal("price", 30, 20);
    c.int32("n");
    for (Field f : b.build().fields()) {
      if (!List.of("price", "n").contains(f.name())) {
        c.add(f.name(), f);
      }
    }
    TableSpec.Builder third = TableSpec.builder("t", KEY, c.build());
    third.version(2).version(3, Step.widen("price"));
    try (Database db = open()) {
      RowTable t = db.table(third.build());
      db.run(
          tx ->
              assertEquals(
                  0, new BigDecimal("-1.5").compareTo(read(db, t, tx, 1).getDecimal(wider))));
      assertTrue(db.verify().ok());
    }
  }

  @Test
  void decimalsGetMoreDigitsAndFieldsBecomeNullable() {
    Layout.Definition b = Layout.define();
    Field small = b.decimal("price", 4, 2);
    Field flag = b.bool("flag");
    Layout first = b.build();
    begin(first, IndexSpec.on("by_price", small), IndexSpec.unique("by_flag", flag));
    try (Database db = open()) {
      RowTable t =
          db.table(
              TableSpec.of("t", KEY, first)
                  .with(IndexSpec.on("by_price", small))
                  .with(IndexSpec.unique("by_flag", flag)));
      db.run(
          tx -> {
            Row row = t.row().setDecimal(small, new BigDecimal("-99.99")).setBoolean(flag, true);
            t.insert(tx, t.key().set(2), row);
          });
    }
    Layout.Definition c = Layout.define();
    Field price = c.nullable().decimal("price", 38, 20);
    Field maybe = c.nullable().bool("flag");
    TableSpec spec =
        TableSpec.builder("t", KEY, c.build())
            .version(2, Step.widen("price"), Step.widen("flag"))
            .index(IndexSpec.on("by_price", price))
            .index(IndexSpec.unique("by_flag", maybe))
            .build();
    try (Database db = open()) {
      RowTable t = db.table(spec);
      db.run(
          tx -> {
            Row row = read(db, t, tx, 2);
            assertEquals(0, new BigDecimal("-99.99").compareTo(row.getDecimal(price)));
            assertTrue(row.getBoolean(maybe));
            assertFalse(read(db, t, tx, 1).getBoolean(maybe));
            t.update(tx, row.setNull(maybe).setDecimal(price, new BigDecimal("1E17")));
            t.insert(tx, t.key().set(3), t.row());
            try (RowCursor i = t.index("by_price").scan(tx, Range.all(), ScanOrder.ASCENDING)) {
              for (int key : new int[] {3, 1, 2}) {
                assertTrue(i.next());
                assertEquals(key, i.key().getInt(0));
              }
            }
            assertTrue(t.index("by_flag").get(tx, t.index("by_flag").key().bool(false), row));
            assertEquals(1, row.key(t.key()).getInt(0));
            assertFalse(t.index("by_flag").get(tx, t.index("by_flag").key().bool(true), row));
          });
      assertTrue(db.verify().ok());
      assertNull(db.describe("t").expiry());
    }
  }

  @Test
  void narrowingIsRefused() {
    begin(
        layout(
            b -> {
              b.nullable().int32("n");
              b.decimal("d", 10, 4);
            }));
    refused(b -> b.int32("n"), b -> b.decimal("d", 10, 4), "n");
    refused(b -> b.nullable().int32("n"), b -> b.decimal("d", 10, 5), "d");
    refused(b -> b.nullable().int32("n"), b -> b.decimal("d", 12, 3), "d");
    refused(b -> b.nullable().int32("n"), b -> b.decimal("d", 9, 4), "d");
    refused(b -> b.nullable().int32("n"), b -> b.float64("d"), "d");
    Layout good = layout(b -> b.decimal("x", 4, 2));
    for (String wrong : new String[] {"100", "0.001", "1E30"}) {
      IllegalArgumentException e =
          assertThrows(
              IllegalArgumentException.class,
              () ->
                  TableSpec.builder("t", KEY, good)
                      .version(2, Step.add("x", new BigDecimal(wrong)))
                      .build());
      assertTrue(e.getMessage().contains("DECIMAL(4, 2), and its default is"), e.getMessage());
    }
    assertThrows(
        IllegalArgumentException.class, () -> Step.add("x", new BigDecimal("1E1000000000")));
    assertThrows(
        IllegalArgumentException.class, () -> Step.add("x", new BigDecimal("1E-1000000000")));
    assertThrows(
        IllegalArgumentException.class,
        () -> TableSpec.builder("t", KEY, good).version(2, Step.add("x", 1)).build());
    assertEquals("add x 1.5", Step.add("x", new BigDecimal("1.50")).toString());
    assertEquals("add x true", Step.add("x", true).toString());
    assertEquals("add x " + ID, Step.add("x", ID).toString());
    assertEquals("add x " + TIME, Step.add("x", TIME).toString());
    assertEquals("add x -0.5", Step.add("x", -0.5).toString());
  }

  private void refused(
      Consumer<Layout.Definition> n, Consumer<Layout.Definition> d, String widened) {
    Layout to = layout(n.andThen(d));
    TableSpec spec = TableSpec.builder("t", KEY, to).version(2, Step.widen(widened)).build();
    try (Database db = open()) {
      String said =
          assertThrows(IncompatibleSchemaException.class, () -> db.table(spec)).getMessage();
      assertTrue(said.contains("which can't hold all of its values"), said);
    }
  }
}
