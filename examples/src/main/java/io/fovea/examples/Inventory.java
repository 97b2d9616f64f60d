package io.fovea.examples;

import io.fovea.Database;
import io.fovea.Index;
import io.fovea.ObjectSpec;
import io.fovea.ScanOrder;
import io.fovea.Table;
import io.fovea.error.DuplicateKeyException;
import io.fovea.schema.Id;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Products with three secondary indexes: by two components, by a unique one, and by one that few
 * products have.
 *
 * <p>The engine maintains indexes in the transactions that change the objects. The program declares
 * them and reads them. The number of missing pieces is a separate component, empty if there are
 * enough: a scan of {@code byMissing} from 1 on finds only products that are short.
 *
 * <p>Usage: {@code Inventory FOLDER}
 */
public final class Inventory {
  /** A product. Derived components are computed here, in one place. */
  record Product(
      @Id String sku,
      String name,
      String category,
      long cents,
      long ean,
      int stock,
      int reorderAt,
      Optional<Integer> missing) {

    static Product of(
        String sku, String name, String category, long cents, long ean, int stock, int reorderAt) {
      return new Product(sku, name, category, cents, ean, 0, reorderAt, Optional.empty())
          .with(stock);
    }

    Product with(int pieces) {
      Optional<Integer> less = Optional.of(reorderAt - pieces).filter(n -> n > 0);
      return new Product(sku, name, category, cents, ean, pieces, reorderAt, less);
    }
  }

  /** A key of the index by category and price; its components may have any names. */
  record Offer(String category, long cents) {}

  private static final ObjectSpec<String, Product> SPEC =
      ObjectSpec.of("products", String.class, Product.class)
          .index("byCategory", "category", "cents")
          .unique("byEan", "ean")
          .index("byMissing", "missing");

  private final Database db;
  private final Table<String, Product> products;
  private final Index<Offer, String, Product> byCategory;
  private final Index<Long, String, Product> byEan;
  private final Index<Integer, String, Product> byMissing;

  private Inventory(Database db) {
    this.db = db;
    this.products = db.table(SPEC);
    this.byCategory = products.index("byCategory", Offer.class);
    this.byEan = products.index("byEan", Long.class);
    this.byMissing = products.index("byMissing", Integer.class);
  }

  public static void main(String[] args) {
    Path file = Path.of(args[0]).resolve("inventory.fovea");
    try (Database db = Database.open(file)) {
      Inventory inventory = new Inventory(db);
      inventory.add(Product.of("B-1", "Kant, Critique", "book", 18_00, 9780521657297L, 12, 5));
      inventory.add(Product.of("B-2", "Knuth, Volume 3", "book", 75_00, 9780201896855L, 3, 2));
      inventory.add(Product.of("B-3", "Bible, small", "book", 9_90, 9783438010421L, 40, 10));
      inventory.add(Product.of("C-1", "Coffee, 500 g", "food", 7_50, 4006581000012L, 80, 20));
      boolean added = inventory.add(Product.of("C-2", "Tea", "food", 4_00, 4006581000012L, 1, 1));
      System.out.println("the same EAN again: " + (added ? "added" : "refused"));

      System.out.println("books up to 20.00: " + inventory.upTo("book", 20_00));
      inventory.take("B-2", 2);
      inventory.take("C-1", 75);
      System.out.println("to reorder: " + inventory.shortest(10));
      System.out.println("EAN 9783438010421: " + inventory.nameOf(9783438010421L));
    }
  }

  /** Adds a product; false if its SKU or EAN exists. */
  private boolean add(Product product) {
    try {
      db.run(tx -> products.insert(tx, product));
      return true;
    } catch (DuplicateKeyException e) {
      return false; // rolled back
    }
  }

  /** Takes pieces out of the stock. Updating indexed components updates the index entries. */
  private void take(String sku, int pieces) {
    db.run(
        tx -> {
          Product product = products.getForUpdate(tx, sku);
          if (product == null || product.stock() < pieces) {
            throw new IllegalArgumentException("There are no " + pieces + " pieces of " + sku);
          }
          products.put(tx, product.with(product.stock() - pieces));
        });
  }

  /** The products of a category up to a price, cheapest first: a range over two components. */
  private List<String> upTo(String category, long cents) {
    Offer from = new Offer(category, 0);
    Offer to = new Offer(category, cents + 1); // excluded
    return db.read(
        tx ->
            byCategory.stream(tx, from, to, ScanOrder.ASCENDING)
                .map(e -> e.getValue().name())
                .toList());
  }

  /** The products that are short, those with the most missing pieces first. */
  private List<String> shortest(int count) {
    return db.read(
        tx ->
            byMissing.stream(tx, 1, null, ScanOrder.DESCENDING)
                .limit(count)
                .map(Map.Entry::getKey)
                .toList());
  }

  private String nameOf(long ean) {
    return db.read(
        tx -> {
          Map.Entry<String, Product> found = byEan.get(tx, ean);
          return found == null ? "unknown" : found.getValue().name();
        });
  }
}
