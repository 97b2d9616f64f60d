package io.fovea.tpcc;

import io.fovea.Database;
import io.fovea.Key;
import io.fovea.Range;
import io.fovea.Row;
import io.fovea.RowCursor;
import io.fovea.RowTable;
import io.fovea.ScanOrder;

/**
 * Reads long ranges of a quiescent database in a series of read transactions of moderate size. Each
 * transaction extracts the wanted columns into an array of longs, which is visited after the
 * commit, so a retried transaction counts once. For the same reason the start key advances only
 * after the commit: the first attempt reads by leaves and is aborted if a leaf is evicted.
 */
final class Pieces {
  private static final int ROWS = 1_000;

  private final Database database;
  private final int columns;
  private final long[] values;

  /** Creates a reader that extracts {@code columns} numbers per row. */
  Pieces(Database database, int columns) {
    this.database = database;
    this.columns = columns;
    this.values = new long[ROWS * columns];
  }

  /** Extracts the wanted numbers of a row. */
  @FunctionalInterface
  interface Extractor {
    void take(Key key, Row row, long[] to, int at);
  }

  /** Visits the extracted numbers of a row. */
  @FunctionalInterface
  interface Visitor {
    void visit(long[] from, int at);
  }

  /** Visits all rows between two prefixes, both inclusive, in key order. */
  void each(RowTable table, Key first, Key last, Extractor extractor, Visitor visitor) {
    Key passed = table.key();
    Key end = table.key();
    Range range = Range.between(first, last);
    int n;
    do {
      Range piece = range;
      n = database.read(tx -> read(table.scan(tx, piece, ScanOrder.ASCENDING), end, extractor));
      passed.set(end); // the last row of a full piece; not used otherwise
      for (int i = 0; i < n; i++) {
        visitor.visit(values, i * columns);
      }
      range = Range.of(passed, false, last, true);
    } while (n == ROWS);
  }

  private int read(RowCursor rows, Key end, Extractor extractor) {
    try (rows) {
      int n = 0;
      while (n < ROWS && rows.next()) {
        extractor.take(rows.key(), rows.row(), values, n * columns);
        n++;
        if (n == ROWS) {
          end.set(rows.key());
        }
      }
      return n;
    }
  }
}
