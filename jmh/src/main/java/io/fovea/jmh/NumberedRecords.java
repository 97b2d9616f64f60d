package io.fovea.jmh;

import io.fovea.Database;
import io.fovea.Key;
import io.fovea.LoadOptions;
import io.fovea.LoadReport;
import io.fovea.Row;
import io.fovea.RowTable;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongUnaryOperator;

/**
 * A table of records with the keys 0, 1, 2 and so on, a counter that writers increment, a group for
 * an index, and padding: the data of benchmarks of large operations.
 *
 * <p>Immutable; any thread.
 */
final class NumberedRecords {
  /**
   * A prime larger than any number of records: i times this, modulo the number of records, is a
   * permutation.
   */
  private static final long SCATTER = 2_654_435_761L;

  final Field number;
  final TableSpec plain;
  final TableSpec indexed;
  private final Field group;
  private final Field pad;
  private final int padBytes;

  NumberedRecords(String name, int padBytes) {
    Layout.Definition b = Layout.define();
    this.number = b.int64("number");
    this.group = b.int64("group");
    this.pad = b.bytes("pad", padBytes);
    this.padBytes = padBytes;
    this.plain = TableSpec.of(name, KeySpec.of(FieldType.INT64), b.build());
    this.indexed = plain.with(IndexSpec.on("by_group", group));
  }

  long bytes(long records) {
    return records * (8 + 8 + 8 + padBytes);
  }

  LoadReport load(RowTable t, long records) {
    return load(t, records, LoadOptions.defaults().ascending(true), i -> i);
  }

  LoadReport loadScattered(RowTable t, long records) {
    return load(t, records, LoadOptions.defaults(), i -> i * SCATTER % records);
  }

  private LoadReport load(RowTable t, long records, LoadOptions options, LongUnaryOperator keys) {
    SplittableRandom random = new SplittableRandom(1);
    byte[] bytes = new byte[padBytes];
    return t.load(
        options,
        into -> {
          Key key = t.key();
          Row row = t.row();
          for (long i = 0; i < records; i++) {
            row.clear();
            row.setLong(number, 0).setLong(group, random.nextLong(records)).setBytes(pad, bytes);
            into.add(key.set(keys.applyAsLong(i)), row);
          }
        });
  }

  /** The transactions of a thread: each reads a record and increments its counter. */
  static final class Counting {
    private final RowTable table;
    private final Field number;
    private final long records;
    private final Key key;
    private final Row row;
    private final SplittableRandom random;

    Counting(NumberedRecords of, RowTable table, long records, long seed) {
      this.table = table;
      this.number = of.number;
      this.records = records;
      this.key = table.key();
      this.row = table.row();
      this.random = new SplittableRandom(seed);
    }

    void run(Database db) {
      long k = random.nextLong(records);
      db.run(
          tx -> {
            table.get(tx, key.set(k), row);
            table.update(tx, row.setLong(number, row.getLong(number) + 1));
          });
    }
  }

  /** Deletes the database of an earlier run. */
  static void remove(Path path) throws IOException {
    for (String suffix : List.of("", ".log", ".dwb", ".snap")) {
      Files.deleteIfExists(Path.of(path + suffix));
    }
  }

  static void idle(long nanos) {
    long until = System.nanoTime() + nanos;
    for (long left = nanos; left > 0; left = until - System.nanoTime()) {
      LockSupport.parkNanos(left);
    }
  }

  static String text(String format, double value) {
    return String.format(Locale.ROOT, format, value);
  }
}
