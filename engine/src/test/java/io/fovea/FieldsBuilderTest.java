package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import org.junit.jupiter.api.Test;

/** Fluent chains produce the same specifications as builders. */
class FieldsBuilderTest {
  @Test
  void keys() {
    KeySpec.Definition b = KeySpec.define();
    b.text("sku", 40);
    b.int64("n");
    KeySpec key = KeySpec.builder().text("sku", 40).int64("n").build();
    assertEquals(b.build(), key);
    assertEquals(FieldType.TEXT, key.part("sku").type());
    assertEquals(KeySpec.of(FieldType.INT64), KeySpec.builder().int64("k0").build());
    assertThrows(IllegalArgumentException.class, () -> KeySpec.builder().build());
    assertThrows(IllegalArgumentException.class, () -> KeySpec.builder().nullable().build());
    assertThrows(IllegalArgumentException.class, () -> KeySpec.builder().int32("a").int32("a"));
  }

  @Test
  void layouts() {
    Layout.Definition b = Layout.define();
    b.int32("a");
    b.int64("b");
    b.nullable().text("c", 10);
    b.bytes("d", 5);
    b.bool("e");
    b.float64("f");
    b.uuid("g");
    b.instant("h");
    Field i = b.decimal("i", 10, 2);
    b.add("j", i);
    Layout layout =
        Layout.builder()
            .int32("a")
            .int64("b")
            .nullable()
            .text("c", 10)
            .bytes("d", 5)
            .bool("e")
            .float64("f")
            .uuid("g")
            .instant("h")
            .decimal("i", 10, 2)
            .add("j", i)
            .build();
    assertEquals(b.build(), layout);
    assertTrue(layout.field("c").nullable());
  }

  @Test
  void inATable() {
    TableSpec spec =
        TableSpec.of(
            "stock",
            KeySpec.builder().text("sku", 40).build(),
            Layout.builder().int32("count").nullable().text("note", 80).build());
    Field count = spec.layout().field("count");
    try (Database db = Database.inMemory(Options.defaults().bufferBytes(2 << 20))) {
      RowTable t = db.table(spec);
      db.run(tx -> t.insert(tx, t.key().set("tea"), t.row().setInt(count, 7)));
      assertEquals(
          7,
          db.<Integer, RuntimeException>read(
              tx -> {
                Row row = t.row();
                return t.get(tx, t.key().set("tea"), row) ? row.getInt(count) : -1;
              }));
    }
  }
}
