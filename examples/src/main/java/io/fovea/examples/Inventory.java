package io.fovea.examples;

import io.fovea.Cursor;
import io.fovea.Database;
import io.fovea.Index;
import io.fovea.Key;
import io.fovea.Options;
import io.fovea.Order;
import io.fovea.Range;
import io.fovea.Row;
import io.fovea.Table;
import io.fovea.error.DuplicateKeyException;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Products with three secondary indexes: one by fields, one that is unique, one of some records.
 *
 * <p>The engine keeps indexes in the transactions that change the records. The program declares
 * them and reads them. {@code to_reorder} has entries only for products that are short: its
 * extractor leaves out the others, so the index stays small and its scan finds nothing else.
 *
 * <p>Usage: {@code Inventory FOLDER}
 */
public final class Inventory {
  private static final KeySpec.Builder KEY = KeySpec.builder();
  private static final Field SKU = KEY.text("sku", 16);
  private static final Layout.Builder LAYOUT = Layout.builder();
  private static final Field STOCK = LAYOUT.int32("stock"); // what changes comes first
  private static final Field REORDER_AT = LAYOUT.int32("reorder_at");
  private static final Field PRICE_CENTS = LAYOUT.int64("price_cents");
  private static final Field CATEGORY = LAYOUT.text("category", 20);
  private static final Field EAN = LAYOUT.int64("ean");
  private static final Field NAME = LAYOUT.text("name", 60);

  private static final TableSpec SPEC =
      TableSpec.of("products", KEY.build(), LAYOUT.build())
          .with(IndexSpec.on("by_category", CATEGORY, PRICE_CENTS))
          .with(IndexSpec.unique("by_ean", EAN))
          .with(
              IndexSpec.extracted(
                  "to_reorder",
                  KeySpec.of(FieldType.INT32),
                  false,
                  (key, product, entry) -> {
                    int missing = product.getInt(REORDER_AT) - product.getInt(STOCK);
                    if (missing <= 0) {
                      return false; // no entry
                    }
                    entry.set(missing);
                    return true;
                  }));

  private final Database db;
  private final Table products;
  private final Index byCategory;
  private final Index byEan;
  private final Index toReorder;

  private Inventory(Database db) {
    this.db = db;
    this.products = db.table(SPEC);
    this.byCategory = products.index("by_category");
    this.byEan = products.index("by_ean");
    this.toReorder = products.index("to_reorder");
  }

  public static void main(String[] args) {
    Path file = Path.of(args[0]).resolve("inventory.fovea");
    try (Database db = Database.open(file, Options.defaults())) {
      Inventory inventory = new Inventory(db);
      inventory.add("B-1", "Kant, Critique", "book", 18_00, 9780521657297L, 12, 5);
      inventory.add("B-2", "Knuth, Volume 3", "book", 75_00, 9780201896855L, 3, 2);
      inventory.add("B-3", "Bible, small", "book", 9_90, 9783438010421L, 40, 10);
      inventory.add("C-1", "Coffee, 500 g", "food", 7_50, 4006581000012L, 80, 20);
      boolean added = inventory.add("C-2", "Tea", "food", 4_00, 4006581000012L, 1, 1);
      System.out.println("the same EAN again: " + (added ? "added" : "refused"));

      System.out.println("books up to 20.00: " + inventory.upTo("book", 20_00));
      inventory.take("B-2", 2);
      inventory.take("C-1", 75);
      System.out.println("to reorder: " + inventory.shortest(10));
      System.out.println("EAN 9783438010421: " + inventory.nameOf(9783438010421L));
    }
  }

  /** Adds a product; false if there is one of that SKU or EAN. */
  private boolean add(
      String sku, String name, String category, long price, long ean, int stock, int reorderAt) {
    Key key = products.key().set(sku);
    Row row = products.row().setText(NAME, name).setText(CATEGORY, category);
    row.setLong(PRICE_CENTS, price).setLong(EAN, ean);
    row.setInt(STOCK, stock).setInt(REORDER_AT, reorderAt);
    try {
      db.run(tx -> products.insert(tx, key, row));
      return true;
    } catch (DuplicateKeyException e) {
      return false; // rolled back
    }
  }

  /** Takes pieces out of the stock. An update of fields of an index changes its entry. */
  private void take(String sku, int pieces) {
    Key key = products.key().set(sku);
    Row row = products.row();
    db.run(
        tx -> {
          if (!products.getForUpdate(tx, key, row) || row.getInt(STOCK) < pieces) {
            throw new IllegalArgumentException("There are no " + pieces + " pieces of " + sku);
          }
          products.update(tx, row.setInt(STOCK, row.getInt(STOCK) - pieces));
        });
  }

  /** The products of a category up to a price, the cheapest first: a range of two fields. */
  private List<String> upTo(String category, long cents) {
    Key from = byCategory.key().text(category); // a prefix: all prices
    Key to = byCategory.key().text(category).int64(cents);
    return db.read(
        tx -> {
          List<String> names = new ArrayList<>(); // new in each attempt
          try (Cursor c = byCategory.scan(tx, Range.between(from, to), Order.ASCENDING)) {
            while (c.next()) {
              names.add(c.row().getText(NAME));
            }
          }
          return names;
        });
  }

  /** The products that are short, those first of which most pieces are missing. */
  private List<String> shortest(int count) {
    return db.read(
        tx -> {
          List<String> skus = new ArrayList<>();
          try (Cursor c = toReorder.scan(tx, Range.all(), Order.DESCENDING)) {
            while (skus.size() < count && c.next()) {
              skus.add(c.key().getText(SKU)); // the primary key: the record is not read
            }
          }
          return skus;
        });
  }

  private String nameOf(long ean) {
    Key key = byEan.key().set(ean);
    Row row = products.row();
    return db.read(tx -> byEan.get(tx, key, row) ? row.getText(NAME) : "unknown");
  }
}
