package io.fovea.tpcc;

import io.fovea.Database;
import io.fovea.Key;
import io.fovea.Options;
import io.fovea.Range;
import io.fovea.Row;
import io.fovea.RowCursor;
import io.fovea.RowTable;
import io.fovea.ScanOrder;
import io.fovea.tpcc.bench.Progress;
import io.fovea.tpcc.bench.Shutdown;
import java.io.PrintWriter;
import java.io.Writer;
import java.util.function.BiConsumer;

/** A database in memory with fewer rows, for tests. */
final class SmallDatabase implements AutoCloseable {
  static final Scale SCALE = new Scale(200, 30, 9);

  final Database database = Database.inMemory(Options.defaults().bufferBytes(64 << 20));
  final Tables tables = Tables.open(database);
  final Progress silent = new Progress(new PrintWriter(Writer.nullWriter()));
  final Meta meta;

  SmallDatabase(int warehouses, long seed, int threads) {
    try (Shutdown shutdown = new Shutdown()) {
      new Loader(tables, warehouses, SCALE, seed, threads, silent, shutdown).load();
    }
    meta = Meta.read(tables);
  }

  /** Visits all rows of a table. */
  void each(RowTable table, BiConsumer<Key, Row> visitor) {
    database.read(
        tx -> {
          try (RowCursor rows = table.scan(tx, Range.all(), ScanOrder.ASCENDING)) {
            while (rows.next()) {
              visitor.accept(rows.key(), rows.row());
            }
          }
          return null;
        });
  }

  int count(RowTable table) {
    int[] n = {0};
    each(table, (key, row) -> n[0]++);
    return n[0];
  }

  java.util.List<Condition> check() {
    try (Shutdown shutdown = new Shutdown()) {
      return new Checker(tables, Meta.read(tables), silent, shutdown).check();
    }
  }

  @Override
  public void close() {
    database.close();
  }
}
