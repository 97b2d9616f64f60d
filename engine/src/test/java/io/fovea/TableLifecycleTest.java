package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.DuplicateKeyException;
import io.fovea.error.InvalidUseException;
import io.fovea.index.IndexCore;
import io.fovea.index.TableCore;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.lang.ref.WeakReference;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tables that are created, used in every way and dropped leave behind no objects and no pages. */
@Tag("slow")
@Timeout(120)
class TableLifecycleTest {
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

  /** Runs every kind of statement, so that all caches refer to the table. */
  private static void use(Database db, String name) {
    RowTable t = db.table(spec(name));
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
    boolean found = db.call(TxOptions.forReading(), tx -> t.get(tx, key.set(3L), row));
    assertTrue(found);
    db.run(
        tx -> {
          RowIndex i = t.index("by_w");
          assertTrue(i.get(tx, i.key().set(99L), row));
          try (RowCursor c = t.scan(tx, Range.all(), ScanOrder.ASCENDING)) {
            while (c.next()) {
              c.key();
            }
          }
          try (RowCursor c = t.index("by_v").scan(tx, Range.all(), ScanOrder.DESCENDING)) {
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
      // The context of this thread caches its last used table.
      use(db, "stays");
      assertEquals(0, reachable(gone));
    }
  }

  @Test
  void pagesAreReused() {
    try (Database db = Database.inMemory(Options.defaults().bufferBytes(16 << 20))) {
      dropped(db, 4);
      long pages = pages(db);
      long slots = db.store().engine().memoryBytes();
      dropped(db, TABLES);
      assertEquals(pages, pages(db));
      assertEquals(slots, db.store().engine().memoryBytes());
      VerifyReport report = db.verify();
      assertTrue(report.ok(), report::toString);
    }
  }

  /** Single-record reads while the pages of the table become those of another table. */
  @Test
  void readsOfOneRecordDuringDrops() throws InterruptedException {
    try (Database db = Database.inMemory(Options.defaults().bufferBytes(16 << 20))) {
      long empty = pages(db);
      AtomicReference<Named> current = new AtomicReference<>(filled(db, 0));
      long ofOne = pages(db) - empty;
      AtomicBoolean over = new AtomicBoolean();
      AtomicReference<Throwable> failed = new AtomicReference<>();
      AtomicLong seen = new AtomicLong();
      Thread reader = Thread.ofPlatform().start(() -> read(db, current, over, failed, seen));
      // Until the reader has read as often as there are tables.
      for (int n = 1; (n <= 300 || seen.get() <= 300) && failed.get() == null; n++) {
        while (seen.get() < n - 50 && failed.get() == null) {
          Thread.yield(); // no page is freed while the reader is descheduled in a transaction
        }
        Named before = current.get();
        current.set(filled(db, n));
        assertTrue(db.dropTable(before.name()));
      }
      over.set(true);
      reader.join();
      Assertions.assertNull(failed.get(), () -> failed.get() + " after " + seen + " reads");
      assertTrue(pages(db) < 150 * ofOne, () -> pages(db) + " pages, but one table has " + ofOne);
    }
  }

  private static long pages(Database db) {
    return db.store().pool().allocatorState().highWater();
  }

  private record Named(String name, Table<byte[], byte[]> table) {}

  /** Returns a table of several pages whose records identify it. */
  private static Named filled(Database db, int n) {
    Table<byte[], byte[]> t = db.table(TableSpec.bytes("b" + n, 8)).bytes();
    byte[] value = ("b" + n + ".").repeat(40).getBytes(StandardCharsets.UTF_8);
    db.run(
        tx -> {
          for (int k = 0; k < 200; k++) {
            t.put(tx, new byte[] {(byte) k}, value);
          }
        });
    return new Named("b" + n, t);
  }

  private static void read(
      Database db,
      AtomicReference<Named> current,
      AtomicBoolean over,
      AtomicReference<Throwable> failed,
      AtomicLong seen) {
    SplittableRandom random = new SplittableRandom(1);
    try {
      while (!over.get()) {
        Named t = current.get();
        byte[] key = {(byte) random.nextInt(200)};
        try {
          byte[] value = db.read(tx -> t.table.get(tx, key));
          String said = new String(value, StandardCharsets.UTF_8);
          assertEquals((t.name() + ".").repeat(40), said);
          seen.incrementAndGet();
        } catch (InvalidUseException e) {
          assertTrue(t != current.get(), e::toString);
        }
      }
    } catch (Throwable e) {
      failed.set(e);
    }
  }

  /** Long names make the catalog grow to many leaves; after the drops it shrinks. */
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
      RowTable t = db.table(plain);
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
      RowTable with = db.table(plain.with(unique));
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
