package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A snapshot is the database as it was, whatever becomes of it. */
class SnapshotTest {
  private static final Layout.Builder B = Layout.builder();
  private static final Field VALUE = B.int64("value");
  private static final Field TEXT = B.text("text", 100);
  private static final TableSpec SPEC =
      TableSpec.of("numbers", KeySpec.of(FieldType.INT64), B.build())
          .with(IndexSpec.on("byValue", VALUE));

  @TempDir Path dir;

  private static Options small() {
    return Options.defaults().bufferBytes(8 << 20).durability(Durability.ASYNC);
  }

  private static void put(Database db, long from, long to, long value) {
    Table t = db.table(SPEC);
    for (long at = from; at < to; at += 1000) {
      long first = at;
      db.run(
          tx -> {
            Key key = t.key();
            Row row = t.row();
            for (long k = first; k < Math.min(to, first + 1000); k++) {
              row.clear();
              t.put(tx, key.set(k), row.setLong(VALUE, value).setText(TEXT, "text of " + k));
            }
          });
    }
  }

  /** Count and sum, by the table and by the index. */
  private static List<Long> seen(Database db) {
    Table t = db.table(SPEC);
    return db.read(
        tx -> {
          List<Long> all = new ArrayList<>();
          long n = 0;
          long sum = 0;
          try (Cursor c = t.scan(tx, Range.all(), Order.ASCENDING)) {
            while (c.next()) {
              n++;
              sum += c.row().getLong(VALUE);
            }
          }
          all.add(n);
          all.add(sum);
          n = 0;
          sum = 0;
          try (Cursor c = t.index("byValue").scan(tx, Range.all(), Order.ASCENDING)) {
            while (c.next()) {
              n++;
              sum += c.row().getLong(VALUE);
            }
          }
          all.add(n);
          all.add(sum);
          return all;
        });
  }

  private static List<Long> of(long count, long sum) {
    return List.of(count, sum, count, sum);
  }

  @Test
  void staysAsItWas() {
    try (Database db = Database.open(dir.resolve("db"), small())) {
      put(db, 0, 20_000, 1);
      try (Database then = db.snapshot()) {
        put(db, 0, 20_000, 2);
        put(db, 20_000, 60_000, 3);
        assertEquals(of(20_000, 20_000), seen(then));
        try (Database later = db.snapshot()) {
          db.dropTable("numbers");
          put(db, 0, 30_000, 7);
          assertEquals(of(20_000, 20_000), seen(then));
          assertEquals(of(60_000, 160_000), seen(later));
          assertEquals(of(30_000, 210_000), seen(db));
        }
        assertEquals(of(20_000, 20_000), seen(then));
      }
      assertTrue(db.verify().problems().isEmpty());
    }
  }

  @Test
  void inMemory() {
    try (Database db = Database.inMemory(small())) {
      put(db, 0, 5000, 1);
      try (Database then = db.snapshot()) {
        put(db, 0, 5000, 2);
        assertEquals(of(5000, 5000), seen(then));
        assertEquals(of(5000, 10_000), seen(db));
      }
    }
  }
}
