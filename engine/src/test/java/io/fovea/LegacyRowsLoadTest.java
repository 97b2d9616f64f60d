package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Duplicates;
import io.fovea.error.DuplicateKeyException;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.Step;
import io.fovea.schema.TableSpec;
import io.fovea.support.SimCrash;
import io.fovea.support.SimDisk;
import io.fovea.support.SimStorage;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Loads into a table that has rows of three layouts, which are kept and indexed. */
class LegacyRowsLoadTest {
  private static final KeySpec KEY = KeySpec.of(FieldType.INT64);
  private static final int KEYS = 6_000;

  private static final Layout.Definition B1 = Layout.define();
  private static final Field N1 = B1.int32("n");
  private static final Field NAME1 = B1.text("name", 12);
  private static final Layout FIRST = B1.build();

  private static final Layout.Definition B2 = Layout.define();
  private static final Field N2 = B2.int32("n");
  private static final Field NAME2 = B2.text("name", 12);
  private static final Field COLOUR2 = B2.int64("colour");
  private static final Layout SECOND = B2.build();

  private static final Layout.Definition B3 = Layout.define();
  private static final Field LABEL = B3.text("label", 30);
  private static final Field COLOUR = B3.int64("colour");
  private static final Field N = B3.int64("n");
  private static final Layout THIRD = B3.build();

  private static final TableSpec V1 =
      TableSpec.builder("t", KEY, FIRST).index(IndexSpec.on("by_n", N1)).build();
  private static final TableSpec V2 =
      TableSpec.builder("t", KEY, SECOND)
          .version(2, Step.add("colour", 77))
          .index(IndexSpec.on("by_n", N2))
          .index(IndexSpec.on("by_colour", COLOUR2))
          .build();
  private static final TableSpec V3 =
      TableSpec.builder("t", KEY, THIRD)
          .version(2, Step.add("colour", 77))
          .version(3, Step.rename("name", "label"), Step.widen("label"), Step.widen("n"))
          .index(IndexSpec.on("by_n", N))
          .index(IndexSpec.on("by_colour", COLOUR))
          .index(IndexSpec.unique("by_label", LABEL))
          .build();

  private record Value(long n, String label, long colour) {}

  private final Random random = new Random(3);
  private final TreeMap<Long, Value> model = new TreeMap<>();

  private static Options options() {
    return Options.defaults()
        .bufferBytes(4 << 20)
        .device(dev -> dev.pageSize(4096))
        .memory(mem -> mem.timestampBytes(2 << 20))
        .log(log -> log.bufferBytes(256 << 10).segmentBytes(256 << 10).maxBytes(2 << 20));
  }

  private static Row row(RowTable t, Value v) {
    Row row = t.row().clear();
    return switch (t.spec().version()) {
      case 1 -> row.setInt(N1, (int) v.n).setText(NAME1, v.label);
      case 2 -> row.setInt(N2, (int) v.n).setText(NAME2, v.label).setLong(COLOUR2, v.colour);
      default -> row.setLong(N, v.n).setText(LABEL, v.label).setLong(COLOUR, v.colour);
    };
  }

  /** Writes rows of one layout with random keys. */
  private void write(Database db, TableSpec spec, int rows) {
    RowTable t = db.table(spec);
    for (int i = 0; i < rows; i += 100) {
      db.run(
          tx -> {
            for (int k = 0; k < 100; k++) {
              long key = random.nextInt(KEYS);
              Value v =
                  new Value(random.nextInt(50), "r" + key, spec == V1 ? 77 : random.nextInt(9));
              t.put(tx, t.key().set(key), row(t, v));
              model.put(key, v);
            }
          });
    }
  }

  private LoadReport load(RowTable t, int rows, Duplicates duplicates) {
    TreeMap<Long, Value> loaded = new TreeMap<>();
    LoadReport report =
        t.load(
            LoadOptions.defaults().memoryBytes(1 << 20).duplicates(duplicates),
            into -> {
              while (loaded.size() < rows) {
                long key = random.nextInt(2 * KEYS);
                Value v = new Value(random.nextLong(50), "r" + key, random.nextInt(9));
                if (loaded.putIfAbsent(key, v) == null) {
                  into.add(t.key().set(key), row(t, v));
                }
              }
            });
    loaded.forEach(
        (key, v) -> model.merge(key, v, (old, now) -> duplicates == Duplicates.KEEP ? old : now));
    return report;
  }

  private void check(Database db) {
    VerifyReport report = db.verify();
    assertTrue(report.ok(), () -> report.problems().toString());
    RowTable t = db.table(V3);
    assertEquals(model.size(), t.count());
    for (String name : List.of("", "by_n", "by_colour", "by_label")) {
      TreeMap<Long, Value> found = new TreeMap<>();
      db.read(
          tx -> {
            found.clear();
            try (RowCursor c =
                name.isEmpty()
                    ? t.scan(tx, Range.all(), ScanOrder.ASCENDING)
                    : t.index(name).scan(tx, Range.all(), ScanOrder.ASCENDING)) {
              while (c.next()) {
                Row r = c.row();
                found.put(
                    c.key().getLong(0),
                    new Value(r.getLong(N), r.getText(LABEL), r.getLong(COLOUR)));
              }
            }
            return null;
          });
      assertEquals(model, found, name);
      if (!name.isEmpty()) {
        assertEquals(model.size(), t.index(name).count(), name);
      }
    }
  }

  @Tag("slow")
  @ParameterizedTest
  @CsvSource({"4000, REPLACE", "4000, KEEP", "300, REPLACE", "3, KEEP"})
  void loadsMergeWithOldRows(int rows, Duplicates duplicates) {
    SimDisk disk = new SimDisk(rows);
    try (Database db = SimDatabase.open(new SimStorage(disk), options())) {
      write(db, V1, 3_000);
      write(db, V2, 1_000);
      write(db, V3, 500);
      check(db);
      RowTable t = db.table(V3);
      LoadReport report = load(t, rows, duplicates);
      assertEquals(rows, report.added() + report.replaced() + report.kept());
      assertEquals(model.size(), report.records());
      check(db);
      // A record whose label belongs to an old row that the load did not rewrite.
      Value taken = model.firstEntry().getValue();
      assertThrows(
          DuplicateKeyException.class,
          () -> t.load(into -> into.add(t.key().set(-1L), row(t, new Value(1, taken.label, 1)))));
      check(db);
      db.run(
          tx -> {
            for (int i = 0; i < 200; i++) {
              long key = random.nextInt(KEYS);
              Row row = t.row();
              if (t.getForUpdate(tx, t.key().set(key), row)) {
                row.setLong(N, 1_000 + i);
                t.update(tx, row);
                model.computeIfPresent(key, (k, v) -> new Value(row.getLong(N), v.label, v.colour));
              }
            }
            assertEquals(
                model.subMap(1_000L, 2_000L).size(),
                t.deleteRange(tx, Range.of(t.key().set(1_000L), true, t.key().set(2_000L), false)));
            model.subMap(1_000L, 2_000L).clear();
          });
      check(db);
      db.checkpoint();
      SimDatabase.abandon(db);
    }
    try (Database db = SimDatabase.open(new SimStorage(disk.crash(SimCrash.LOSE_ALL)), options())) {
      check(db);
    }
  }
}
