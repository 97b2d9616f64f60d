package io.fovea.tpcc.ycsb;

import io.fovea.Database;
import io.fovea.Key;
import io.fovea.Row;
import io.fovea.RowTable;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.util.Set;

/**
 * Facts about a database.
 *
 * @param counted the sum of the records' counts, when no run is active; -1 (unknown) after an unchecked run
 */
record Meta(
    boolean complete,
    int fields,
    long loaded,
    long count,
    long counted,
    int runs,
    boolean running) {
  private static final int ID = 1;
  private static final Field COMPLETE;
  private static final Field FIELDS;
  private static final Field LOADED;
  private static final Field COUNT;
  private static final Field COUNTED;
  private static final Field RUNS;
  private static final Field RUNNING;
  private static final TableSpec SPEC;

  static {
    Layout.Definition b = Layout.define();
    COMPLETE = b.int32("complete");
    FIELDS = b.int32("fields");
    LOADED = b.int64("loaded");
    COUNT = b.int64("count");
    COUNTED = b.int64("counted");
    RUNS = b.int32("runs");
    RUNNING = b.int32("running");
    SPEC = TableSpec.of("ycsb_driver", KeySpec.of(FieldType.INT32), b.build());
  }

  static Meta loading(int fields, long records) {
    return new Meta(false, fields, records, records, 0, 0, false);
  }

  Meta completed() {
    return new Meta(true, fields, loaded, count, counted, runs, false);
  }

  Meta begun() {
    return new Meta(complete, fields, loaded, count, counted, runs + 1, true);
  }

  Meta ended(long nowCount, long nowCounted) {
    return new Meta(complete, fields, loaded, nowCount, nowCounted, runs, false);
  }

  static boolean foreign(Database db) {
    return !Set.of(Records.NAME, SPEC.name()).containsAll(db.tables());
  }

  /** Drops the result of an interrupted load. */
  static void drop(Database db) {
    db.dropTable(Records.NAME);
    db.dropTable(SPEC.name());
  }

  /** Reads the facts; null if nothing was loaded. */
  static Meta read(Database db) {
    if (!db.tables().contains(SPEC.name())) {
      return null;
    }
    RowTable t = db.table(SPEC);
    return db.read(
        tx -> {
          Key key = t.key().set(ID);
          Row row = t.row();
          if (!t.get(tx, key, row)) {
            return null;
          }
          return new Meta(
              row.getInt(COMPLETE) != 0,
              row.getInt(FIELDS),
              row.getLong(LOADED),
              row.getLong(COUNT),
              row.getLong(COUNTED),
              row.getInt(RUNS),
              row.getInt(RUNNING) != 0);
        });
  }

  void write(Database db) {
    RowTable t = db.table(SPEC);
    db.run(
        tx -> {
          Row row = t.row();
          row.setInt(COMPLETE, complete ? 1 : 0);
          row.setInt(FIELDS, fields);
          row.setLong(LOADED, loaded);
          row.setLong(COUNT, count);
          row.setLong(COUNTED, counted);
          row.setInt(RUNS, runs);
          row.setInt(RUNNING, running ? 1 : 0);
          t.put(tx, t.key().set(ID), row);
        });
  }
}
