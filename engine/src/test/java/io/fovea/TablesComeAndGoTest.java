package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.DuplicateKeyException;
import io.fovea.index.IndexCore;
import io.fovea.index.TableCore;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tables that are made, used in every way and dropped leave nothing: no object, no page. */
@Tag("slow")
@Timeout(120)
class TablesComeAndGoTest {
  private static final int TABLES = 60;
  private static final Layout LAYOUT;
  private static final Field V;
  private static final Field W;
  private static final Field T;

  static {
    Layout.Definition b = Layout.define();
    V = b.int64("v");
    W = b.int64("w");
    T = b.text("t", 12);
    LAYOUT = b.build();
  }

  private static TableSpec spec(String name) {
    KeySpec extracted = KeySpec.of(FieldType.INT64);
    return TableSpec.of(name, KeySpec.of(FieldType.INT64), LAYOUT)
        .with(IndexSpec.on("by_v", V))
        .with(IndexSpec.unique("by_w", W))
        .with(
            IndexSpec.extracted(
                "computed",
                extracted,
                false,
                (key, row, out) -> {
                  out.set(row.getLong(V) + row.getLong(W));
                  return true;
                }));
  }

  /** Every kind of statement, so that whatever keeps something of a table has it. */
  private static void use(Database db, String name) {
    Table t = db.table(spec(name));
    Row row = t.row();
    Key key = t.key();
    db.run(
        tx -> {
          for (long n = 0; n < 20; n++) {
            t.put(tx, key.set(n), row.setLong(V, n).setLong(W, n).setText(T, "x"));
          }
        });
    db.run(
        tx -> {
          if (t.getForUpdate(tx, key.set(1L), row)) {
            t.update(tx, row.setLong(V, 9).setLong(W, 99));
          }
          t.delete(tx, key.set(2L));
        });
    db.run(
        tx -> {
          Index i = t.index("by_w");
          assertTrue(i.get(tx, i.key().set(99L), row));
          try (Cursor c = t.scan(tx, Range.all(), Order.ASCENDING)) {
            while (c.next()) {
              c.key();
            }
          }
          try (Cursor c = t.index("by_v").scan(tx, Range.all(), Order.DESCENDING)) {
            while (c.next()) {
              c.key();
            }
          }
        });
  }

  private static List<WeakReference<Object>> dropped(Database db, int tables) {
    List<WeakReference<Object>> gone = new ArrayList<>();
    for (int i = 0; i < tables; i++) {
      String name = "t" + i;
      use(db, name);
      TableCore core = db.table(spec(name)).core();
      gone.add(new WeakReference<>(core));
      gone.add(new WeakReference<>(core.tree));
      for (IndexCore index : core.indexes()) {
        gone.add(new WeakReference<>(index));
        gone.add(new WeakReference<>(index.tree));
      }
      assertTrue(db.dropTable(name));
    }
    return gone;
  }

  private static long reachable(List<WeakReference<Object>> gone) throws InterruptedException {
    long left = gone.size();
    for (int i = 0; i < 200 && left > 0; i++) {
      System.gc();
      Thread.sleep(5);
      left = gone.stream().filter(r -> r.get() != null).count();
    }
    return left;
  }

  @Test
  void nothingOfADroppedTableIsReachable() throws Exception {
    try (Database db = Database.inMemory(Options.defaults().bufferBytes(16 << 20))) {
      List<WeakReference<Object>> gone = dropped(db, TABLES);
      // What the context of this thread has used last, it has used of this table.
      use(db, "stays");
      assertEquals(0, reachable(gone));
    }
  }

  @Test
  void pagesAreUsedAgain() {
    try (Database db = Database.inMemory(Options.defaults().bufferBytes(16 << 20))) {
      dropped(db, 4);
      long pages = db.store().pool().allocatorState().highWater();
      long slots = db.store().transactionBytes();
      dropped(db, TABLES);
      assertEquals(pages, db.store().pool().allocatorState().highWater());
      assertEquals(slots, db.store().transactionBytes());
      VerifyReport report = db.verify();
      assertTrue(report.ok(), report::toString);
    }
  }

  /** Names that are long, so that the catalog grows to many leaves; dropped, it shrinks again. */
  @Test
  void theCatalogShrinks() {
    try (Database db = Database.inMemory(Options.defaults().bufferBytes(32 << 20))) {
      String longName = "n".repeat(55);
      for (int i = 0; i < 300; i++) {
        db.table(spec(longName + i));
      }
      assertTrue(db.store().catalog().height() > 1);
      for (int i = 0; i < 300; i++) {
        assertTrue(db.dropTable(longName + i));
      }
      assertEquals(1, db.store().catalog().height());
      var allocator = db.store().pool().allocatorState();
      assertEquals(allocator.highWater() - allocator.freePages(), 3, "superblocks and catalog");
    }
  }

  @Test
  void aDuplicateNamesTableIndexAndKey() {
    try (Database db = Database.inMemory(Options.defaults().bufferBytes(16 << 20))) {
      TableSpec plain = TableSpec.of("people", KeySpec.of(FieldType.INT64), LAYOUT);
      IndexSpec unique = IndexSpec.unique("by_w", W);
      Table t = db.table(plain);
      db.run(
          tx -> {
            for (long n = 0; n < 3; n++) {
              t.put(tx, t.key().set(n), t.row().setLong(V, n).setLong(W, 4711).setText(T, ""));
            }
          });
      DuplicateKeyException built =
          Assertions.assertThrows(DuplicateKeyException.class, () -> db.table(plain.with(unique)));
      says(built, "by_w", "people", "4711", "being built");
      db.run(tx -> t.delete(tx, t.key().set(1L)));
      db.run(tx -> t.delete(tx, t.key().set(2L)));
      Table with = db.table(plain.with(unique));
      DuplicateKeyException inserted =
          Assertions.assertThrows(
              DuplicateKeyException.class,
              () ->
                  db.run(
                      tx ->
                          with.insert(
                              tx,
                              with.key().set(9L),
                              with.row().setLong(V, 1).setLong(W, 4711).setText(T, ""))));
      says(inserted, "by_w", "people", "4711");
      Assertions.assertFalse(inserted.getMessage().contains("put"), inserted::getMessage);
      Assertions.assertFalse(inserted.getMessage().contains("built"), inserted::getMessage);
    }
  }

  private static void says(Exception e, String... words) {
    for (String word : words) {
      assertTrue(e.getMessage().contains(word), e::getMessage);
    }
  }
}
