package io.fovea.jmh;

import io.fovea.Database;
import io.fovea.Key;
import io.fovea.Row;
import io.fovea.RowTable;
import io.fovea.schema.Field;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;

/**
 * Two tables shaped like the largest of TPC-C: STOCK (records of {@value #STOCK_BYTES} bytes with a
 * key of two numbers) and ORDER-LINE (small records with a key of four, read by scans).
 */
final class BudgetTables {
  /** Records of STOCK per warehouse, and lines per order. */
  static final int ITEMS = 100_000;

  static final int DISTRICTS = 10;
  static final int LINES = 10;

  /** The size of a record of STOCK; texts have their full width. */
  static final int STOCK_BYTES = 4 + 8 + 4 + 4 + DISTRICTS * (2 + 24) + 2 + 50;

  static final TableSpec STOCK;
  static final Field QUANTITY;
  static final Field YTD;
  static final Field ORDERS;
  static final Field REMOTE;
  static final Field[] DIST = new Field[DISTRICTS];
  static final Field DATA;

  static final TableSpec ORDER_LINE;
  static final Field ITEM;
  static final Field SUPPLIER;
  static final Field AMOUNT;
  static final Field DELIVERED;
  static final Field COUNT;
  static final Field INFO;

  static {
    KeySpec.Definition k = KeySpec.define();
    k.int32("s_w_id");
    k.int32("s_i_id");
    Layout.Definition b = Layout.define();
    QUANTITY = b.int32("s_quantity");
    YTD = b.int64("s_ytd");
    ORDERS = b.int32("s_order_cnt");
    REMOTE = b.int32("s_remote_cnt");
    for (int i = 0; i < DISTRICTS; i++) {
      DIST[i] = b.text("s_dist_" + (i + 1), 24);
    }
    DATA = b.text("s_data", 50);
    STOCK = TableSpec.of("stock", k.build(), b.build());

    k = KeySpec.define();
    k.int32("ol_w_id");
    k.int32("ol_d_id");
    k.int32("ol_o_id");
    k.int32("ol_number");
    b = Layout.define();
    DELIVERED = b.int64("ol_delivery_d");
    AMOUNT = b.int64("ol_amount");
    ITEM = b.int32("ol_i_id");
    SUPPLIER = b.int32("ol_supply_w_id");
    COUNT = b.int32("ol_quantity");
    INFO = b.text("ol_dist_info", 24);
    ORDER_LINE = TableSpec.of("order_line", k.build(), b.build());
  }

  private static final int LOAD_BATCH = 1000;
  private static final String TEXT =
      "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

  private BudgetTables() {}

  static Key stockKey(Key key, int n) {
    return key.set(n / ITEMS + 1, n % ITEMS + 1);
  }

  static void fillStock(Row row, int n) {
    row.clear();
    row.setInt(QUANTITY, 10 + n % 91).setLong(YTD, n).setInt(ORDERS, 0).setInt(REMOTE, 0);
    for (int i = 0; i < DISTRICTS; i++) {
      int at = (n + i) % 30;
      row.setText(DIST[i], TEXT.substring(at, at + 24));
    }
    row.setText(DATA, TEXT.substring(n % 10, n % 10 + 26 + n % 25));
  }

  static void fillLine(Row row, int n) {
    row.clear();
    row.setInt(ITEM, n % ITEMS).setInt(SUPPLIER, 1).setInt(COUNT, 5).setLong(AMOUNT, n);
    row.setText(INFO, TEXT.substring(n % 30, n % 30 + 24));
  }

  /** Opens STOCK and fills it in key order. */
  static RowTable loadStock(Database db, int records) {
    RowTable table = db.table(STOCK);
    Key key = table.key();
    Row row = table.row();
    for (int from = 0; from < records; from += LOAD_BATCH) {
      int begin = from;
      int end = Math.min(records, from + LOAD_BATCH);
      db.run(
          tx -> {
            for (int n = begin; n < end; n++) {
              fillStock(row, n);
              table.insert(tx, stockKey(key, n), row);
            }
          });
    }
    return table;
  }

  /**
   * Opens ORDER-LINE and fills it with orders of {@value #LINES} lines each, district by district.
   */
  static RowTable loadOrderLine(Database db, int districts, int ordersPerDistrict) {
    RowTable table = db.table(ORDER_LINE);
    Key key = table.key();
    Row row = table.row();
    int batch = LOAD_BATCH / LINES;
    for (int district = 0; district < districts; district++) {
      int d = district;
      for (int from = 1; from <= ordersPerDistrict; from += batch) {
        int begin = from;
        int end = Math.min(ordersPerDistrict + 1, from + batch);
        db.run(
            tx -> {
              for (int order = begin; order < end; order++) {
                for (int line = 1; line <= LINES; line++) {
                  fillLine(row, order * LINES + line);
                  table.insert(tx, lineKey(key, d, order, line), row);
                }
              }
            });
      }
    }
    return table;
  }

  /** Sets a key of ORDER-LINE. Districts are numbered across warehouses. */
  static Key lineKey(Key key, int district, int order, int line) {
    return key.set(district / DISTRICTS + 1, district % DISTRICTS + 1, order, line);
  }
}
