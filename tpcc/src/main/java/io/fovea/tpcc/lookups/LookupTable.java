package io.fovea.tpcc.lookups;

import io.fovea.Database;
import io.fovea.DatabaseStats;
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
 * The table: records with the keys 0, 1, 2 and so on. A record holds its own number, which every
 * lookup checks, and the number of its updates.
 */
final class LookupTable {
  /** A number, a count, and a filling of one byte with a length of two bytes. */
  static final int VALUE_BYTES_MIN = 19;

  /** Several such values fit in a page of 4 KiB. */
  static final int VALUE_BYTES_MAX = 1_000;

  private static final String NAME = "lookup_records";
  private static final int FILLING_AT = 8 + 8 + 2;
  private static final int META_ID = 1;
  private static final Field META_COMPLETE;
  private static final Field META_VALUE_BYTES;
  private static final Field META_RECORDS;
  private static final TableSpec META;

  static {
    Layout.Definition b = Layout.define();
    META_COMPLETE = b.int32("complete");
    META_VALUE_BYTES = b.int32("value_bytes");
    META_RECORDS = b.int64("records");
    META = TableSpec.of("lookup_driver", KeySpec.of(FieldType.INT32), b.build());
  }

  final Database database;
  final RowTable table;
  final long records;
  final Field number;
  final Field updates;
  private final Field filling;

  private LookupTable(Database database, Shape shape) {
    this.database = database;
    this.records = shape.records;
    Layout.Definition b = Layout.define();
    number = b.int64("number");
    updates = b.int64("updates");
    filling = b.bytes("filling", shape.valueBytes - FILLING_AT);
    table = database.table(TableSpec.of(NAME, KeySpec.of(FieldType.INT64), b.build()));
  }

  /** The records of a load. */
  record Shape(boolean complete, long records, int valueBytes) {
    Shape completed() {
      return new Shape(true, records, valueBytes);
    }

    /** Writes the shape, at the start and at the end of a load. */
    void write(Database db) {
      RowTable t = db.table(META);
      db.run(
          tx -> {
            Row row = t.row();
            row.setInt(META_COMPLETE, complete ? 1 : 0);
            row.setInt(META_VALUE_BYTES, valueBytes);
            row.setLong(META_RECORDS, records);
            t.put(tx, t.key().set(META_ID), row);
          });
    }
  }

  static boolean foreign(Database db) {
    return !Set.of(NAME, META.name()).containsAll(db.tables());
  }

  /** Reads the shape of a load; null if there is none. */
  static Shape shape(Database db) {
    if (!db.tables().contains(META.name())) {
      return null;
    }
    RowTable t = db.table(META);
    return db.read(
        tx -> {
          Key key = t.key().set(META_ID);
          Row row = t.row();
          if (!t.get(tx, key, row)) {
            return null;
          }
          return new Shape(
              row.getInt(META_COMPLETE) != 0,
              row.getLong(META_RECORDS),
              row.getInt(META_VALUE_BYTES));
        });
  }

  /** Drops the result of an interrupted load. */
  static void drop(Database db) {
    db.dropTable(NAME);
    db.dropTable(META.name());
  }

  static LookupTable open(Database db, Shape shape) {
    return new LookupTable(db, shape);
  }

  /** Creates the row of an unchanged record. */
  Row row() {
    byte[] bytes = new byte[filling.width()];
    for (int i = 0; i < bytes.length; i++) {
      bytes[i] = (byte) ('a' + i % 26);
    }
    return table.row().setBytes(filling, bytes);
  }

  /** Returns the bytes of the file per record, including inner nodes and free space in pages. */
  double bytesPerRecord() {
    DatabaseStats.Storage s = database.stats().storage();
    return (double) (s.bytes() - s.freeBytes()) / records;
  }

  long poolRecords() {
    DatabaseStats.Buffer b = database.stats().buffer();
    return Math.max(1, (long) (b.frames() * (double) b.pageSize() / bytesPerRecord()));
  }
}
