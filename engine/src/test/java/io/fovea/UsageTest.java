package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.fovea.schema.Field;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Code as users of the README would write it, meant to be copied. */
class UsageTest {
  @TempDir Path dir;

  // A table is described once, in constants.
  private static final KeySpec.Definition KEY = KeySpec.define();
  private static final Field WAREHOUSE = KEY.int32("warehouse");
  private static final Field ITEM = KEY.int32("item");
  private static final Layout.Definition ROW = Layout.define();
  private static final Field QUANTITY = ROW.int32("quantity");
  private static final Field NAME = ROW.text("name", 40);
  private static final TableSpec STOCK =
      TableSpec.of("stock", KEY.build(), ROW.build())
          .with(IndexSpec.on("by_name", WAREHOUSE, NAME));

  private static final class OutOfStock extends Exception {
    private static final long serialVersionUID = 1L;
  }

  private static int take(Database db, RowTable stock, int warehouse, int item, int n)
      throws OutOfStock {
    Key key = stock.key();
    Row row = stock.row();
    return db.call(
        tx -> {
          if (!stock.get(tx, key.set(warehouse, item), row) || row.getInt(QUANTITY) < n) {
            throw new OutOfStock(); // rolls back and leaves the lambda unchanged
          }
          stock.update(tx, row.setInt(QUANTITY, row.getInt(QUANTITY) - n));
          return row.getInt(QUANTITY);
        });
  }

  @Test
  void aShop() throws OutOfStock {
    Path file = dir.resolve("shop.fovea");
    try (Database db = Database.open(file, Options.defaults().bufferBytes(64 << 20))) {
      RowTable stock = db.table(STOCK);
      db.run(
          tx -> {
            Key key = stock.key();
            Row row = stock.row();
            stock.insert(tx, key.set(1, 100), row.setInt(QUANTITY, 5).setText(NAME, "tea"));
            stock.insert(tx, key.set(1, 101), row.setInt(QUANTITY, 9).setText(NAME, "cups"));
          });
      assertEquals(3, take(db, stock, 1, 100, 2));
      assertThrows(OutOfStock.class, () -> take(db, stock, 1, 100, 4));
    }
    try (Database db = Database.open(file, Options.defaults().bufferBytes(64 << 20))) {
      RowTable stock = db.table(STOCK);
      RowIndex byName = stock.index("by_name");
      StringBuilder text = new StringBuilder();
      db.read(
          tx -> {
            text.setLength(0); // a body may run twice
            Key prefix = byName.key().set(1);
            try (RowCursor c = byName.scan(tx, Range.prefix(prefix), ScanOrder.ASCENDING)) {
              while (c.next()) {
                Row row = c.row();
                text.append(row.getText(NAME)).append(' ').append(row.getInt(QUANTITY));
                text.append(" (item ").append(c.key().getInt(ITEM)).append(") ");
              }
            }
            return null;
          });
      assertEquals("cups 9 (item 101) tea 3 (item 100) ", text.toString());
      // Explicitly, where a lambda doesn't fit.
      try (Transaction tx = db.begin()) {
        stock.delete(tx, stock.key().set(1, 100));
        tx.commit();
      }
      assertEquals(1, db.verify().records());
    }
  }
}
