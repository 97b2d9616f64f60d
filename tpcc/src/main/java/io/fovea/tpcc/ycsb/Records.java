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

/**
 * The table: records numbered from 0, with one or ten fields of 100 bytes.
 *
 * <pre>
 *   key           "ycsbuser" 8 | hash of the number 8 | number 8                  24 bytes
 *   first field   number 8 | count 8 | stamp 8 | length 2, filling 74            100
 *   other fields  count 8 | length 2, filling 90                                 100
 * </pre>
 *
 * <p>A count is the number of replacements of its field; a write of the whole record resets it to
 * 0. The stamp names the attempt that last wrote the whole record; 0 if none did.
 */
final class Records {
  static final String NAME = "ycsb_records";

  private static final int FIELD_BYTES = 100;
  private static final int COUNT_BYTES = 8;
  private static final int LENGTH_BYTES = 2;
  private static final int OWN_BYTES = 16;
  private static final long PREFIX = 0x7963_7362_7573_6572L;

  final Database database;
  final RowTable table;
  final Field number;
  final Field stamp;
  private final Field[] counts;
  private final Field[] fillings;

  private Records(Database database, int fields) {
    this.database = database;
    counts = new Field[fields];
    fillings = new Field[fields];
    Layout.Definition b = Layout.define();
    number = b.int64("number");
    counts[0] = b.int64("count0");
    stamp = b.int64("stamp");
    fillings[0] = b.bytes("field0", FIELD_BYTES - OWN_BYTES - COUNT_BYTES - LENGTH_BYTES);
    for (int i = 1; i < fields; i++) {
      counts[i] = b.int64("count" + i);
      fillings[i] = b.bytes("field" + i, FIELD_BYTES - COUNT_BYTES - LENGTH_BYTES);
    }
    KeySpec key = KeySpec.of(FieldType.INT64, FieldType.INT64, FieldType.INT64);
    table = database.table(TableSpec.of(NAME, key, b.build()));
  }

  static Records open(Database db, int fields) {
    return new Records(db, fields);
  }

  static long bytes(int fields) {
    return 24 + (long) fields * FIELD_BYTES;
  }

  int fields() {
    return counts.length;
  }

  // -------------------------------------------------------------------------------------- keys

  /** Scatters numbers with the finalizer of SplitMix64, which is a bijection. */
  static long hash(long number) {
    long z = number;
    z = (z ^ (z >>> 30)) * 0xbf58_476d_1ce4_e5b9L;
    z = (z ^ (z >>> 27)) * 0x94d0_49bb_1331_11ebL;
    return z ^ (z >>> 31);
  }

  /**
   * Returns the number of a hash: the inverse steps, with the inverses of the factors modulo 2^64.
   */
  static long number(long hash) {
    long z = hash;
    z = (z ^ (z >>> 31) ^ (z >>> 62)) * 0x3196_42b2_d24d_8ec3L;
    z = (z ^ (z >>> 27) ^ (z >>> 54)) * 0x96de_1b17_3f11_9089L;
    return z ^ (z >>> 30) ^ (z >>> 60);
  }

  static Key set(Key key, long number) {
    return key.clear().int64(PREFIX).int64(hash(number)).int64(number);
  }

  /** Sets a key to the common prefix of the keys with this hash. */
  static Key setHash(Key key, long hash) {
    return key.clear().int64(PREFIX).int64(hash);
  }

  // -------------------------------------------------------------------------------------- rows

  /**
   * Fills a row with a new record.
   *
   * @param filling at least {@link #FILLING_MAX} bytes from {@code at}
   */
  void fill(Row row, long recordNumber, long by, byte[] filling, int at) {
    row.setLong(number, recordNumber);
    row.setLong(stamp, by);
    for (int i = 0; i < counts.length; i++) {
      row.setLong(counts[i], 0);
      row.setBytes(fillings[i], filling, at, fillings[i].width());
    }
  }

  static final int FILLING_MAX = FIELD_BYTES - COUNT_BYTES - LENGTH_BYTES;

  void replace(Row row, int field, byte[] filling, int at) {
    row.setLong(counts[field], row.getLong(counts[field]) + 1);
    row.setBytes(fillings[field], filling, at, fillings[field].width());
  }

  /** Returns the sum of the counts of a record. */
  long count(Row row) {
    long sum = 0;
    for (Field c : counts) {
      sum += row.getLong(c);
    }
    return sum;
  }
}
