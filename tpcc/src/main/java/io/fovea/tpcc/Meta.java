package io.fovea.tpcc;

import io.fovea.Key;
import io.fovea.Row;
import io.fovea.RowTable;

/**
 * Facts about a loaded database.
 *
 * @param loadCLast the constant of NURand for C_LAST that the load used
 */
record Meta(boolean complete, int warehouses, Scale scale, int loadCLast, int runs) {
  private static final int ID = 1;

  /**
   * A loader uses the number of its warehouse as its stream of history rows. Runs take streams
   * above those.
   */
  private static int firstRunStream(int warehouses) {
    return warehouses + 1;
  }

  /** Reads the facts; null if the database is empty. */
  static Meta read(Tables tables) {
    return tables
        .database()
        .read(
            tx -> {
              RowTable t = tables.driver();
              Key key = t.key().set(ID);
              Row row = t.row();
              if (!t.get(tx, key, row)) {
                return null;
              }
              return new Meta(
                  row.getInt(Schema.Driver.COMPLETE) != 0,
                  row.getInt(Schema.Driver.WAREHOUSES),
                  new Scale(
                      row.getInt(Schema.Driver.ITEMS),
                      row.getInt(Schema.Driver.CUSTOMERS),
                      row.getInt(Schema.Driver.UNDELIVERED)),
                  row.getInt(Schema.Driver.LOAD_C_LAST),
                  row.getInt(Schema.Driver.RUNS));
            });
  }

  /** Writes the facts: at the start of a load with {@code complete} false, and again at its end. */
  void write(Tables tables) {
    tables
        .database()
        .run(
            tx -> {
              RowTable t = tables.driver();
              Row row = t.row();
              row.setInt(Schema.Driver.COMPLETE, complete ? 1 : 0);
              row.setInt(Schema.Driver.WAREHOUSES, warehouses);
              row.setInt(Schema.Driver.ITEMS, scale.items());
              row.setInt(Schema.Driver.CUSTOMERS, scale.customers());
              row.setInt(Schema.Driver.UNDELIVERED, scale.undelivered());
              row.setInt(Schema.Driver.LOAD_C_LAST, loadCLast);
              row.setInt(Schema.Driver.NEXT_STREAM, firstRunStream(warehouses));
              row.setInt(Schema.Driver.RUNS, runs);
              t.put(tx, t.key().set(ID), row);
            });
  }

  /**
   * Registers a run and allocates streams of history rows for its workers. Returns the first of {@code workers} unused streams.
   */
  static int beginRun(Tables tables, int workers) {
    return tables
        .database()
        .call(
            tx -> {
              RowTable t = tables.driver();
              Row row = t.row();
              if (!t.getForUpdate(tx, t.key().set(ID), row)) {
                throw new IllegalStateException("a run on a database that was never loaded");
              }
              int first = row.getInt(Schema.Driver.NEXT_STREAM);
              row.setInt(Schema.Driver.NEXT_STREAM, Math.addExact(first, workers));
              row.setInt(Schema.Driver.RUNS, row.getInt(Schema.Driver.RUNS) + 1);
              t.update(tx, row);
              return first;
            });
  }
}
