package io.fovea.tpcc;

import io.fovea.Database;
import io.fovea.Key;
import io.fovea.Range;
import io.fovea.Row;
import io.fovea.RowCursor;
import io.fovea.RowTable;
import io.fovea.ScanOrder;

/**
 * Reads long ranges of a database at rest in read transactions of moderate size, one after the
 * other. What is wanted of each row is put into an array of longs inside the transaction and looked
 * at after it, so that a transaction that runs twice counts once. Nor does it move where it began:
 * the first attempt reads by leaves, and is aborted where one of them leaves the buffer.
 */
final class Pieces {
  private static final int ROWS = 1_000;

  private final Database database;
  private final int columns;
  private final long[] values;

  /** Makes one for rows of which {@code columns} numbers are wanted. */
  Pieces(Database database, int columns) {
    this.database = database;
    this.columns = columns;
    this.values = new long[ROWS * columns];
  }

  /** Takes what is wanted from a row. */
  @FunctionalInterface
  interface Extractor {
    void take(Key key, Row row, long[] to, int at);
  }

  /** Looks at what was taken from a row. */
  @FunctionalInterface
  interface Visitor {
    void visit(long[] from, int at);
  }

  /** Visits all rows from one prefix to another, both included, in the order of their keys. */
  void each(RowTable table, Key first, Key last, Extractor extractor, Visitor visitor) {
    Key passed = table.key();
    Key end = table.key();
    Range range = Range.between(first, last);
    int n;
    do {
      Range piece = range;
      n = database.read(tx -> read(table.scan(tx, piece, ScanOrder.ASCENDING), end, extractor));
      passed.set(end); // of the last row of a full piece, and not asked for otherwise
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
