package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.InvalidUseException;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.BiConsumer;
import org.junit.jupiter.api.Test;

/** {@link Transaction#changesDigest} is equal if and only if databases are changed alike. */
class ChangesDigestTest {
  private static final Layout.Definition B = Layout.define();
  private static final Field N = B.int64("n");
  private static final Field M = B.int64("m");
  private static final Layout LAYOUT = B.build();
  private static final TableSpec ROWS = TableSpec.of("rows", KeySpec.of(FieldType.INT64), LAYOUT);
  private static final TableSpec BYTES = TableSpec.bytes("bytes", 64);
  private static final TableSpec OTHERS = TableSpec.bytes("others", 64);

  private static TableSpec rows(Database db) {
    boolean cuts = db.options().experiments().subtreeDeleteThreshold() == 1;
    return cuts ? ROWS : ROWS.with(IndexSpec.on("by n", N));
  }

  private static Database open(int subtreeDeleteThreshold) {
    return Database.inMemory(
        Options.defaults()
            .bufferBytes(32 << 20)
            .device(d -> d.pageSize(4096))
            .experiments(e -> e.subtreeDeleteThreshold(subtreeDeleteThreshold)));
  }

  /** Runs a body in two databases whose trees have different numbers and pages. */
  private static final class Two implements AutoCloseable {
    final Database a = open(1);
    final Database b = open(Integer.MAX_VALUE);

    Two() {
      b.run(tx -> tx.table(OTHERS));
      b.table(rows(b));
      for (Database db : List.of(a, b)) {
        db.run(
            tx -> {
              tx.table(BYTES);
              tx.table(OTHERS);
              RowTable t = tx.table(rows(db));
              for (long i = 0; i < 2000; i++) {
                t.insert(tx, t.key().set(i), t.row().setLong(N, i).setLong(M, i));
              }
            });
      }
    }

    long alike(BiConsumer<Database, Transaction> body) {
      long one = digest(a, body);
      assertEquals(one, digest(b, body));
      return one;
    }

    @Override
    public void close() {
      a.close();
      b.close();
    }
  }

  private static long digest(Database db, BiConsumer<Database, Transaction> body) {
    try (Transaction tx = db.begin()) {
      body.accept(db, tx);
      long digest = tx.changesDigest();
      assertEquals(digest, tx.changesDigest());
      return digest;
    }
  }

  private static byte[] key(int n) {
    return new byte[] {(byte) n};
  }

  private static void put(Transaction tx, TableSpec table, int key, int... value) {
    byte[] bytes = new byte[value.length];
    for (int i = 0; i < value.length; i++) {
      bytes[i] = (byte) value[i];
    }
    tx.table(table).bytes().put(tx, key(key), bytes);
  }

  @Test
  void eachDifferenceIsDetected() {
    Map<Long, String> seen = new HashMap<>();
    try (Two two = new Two()) {
      Map<String, BiConsumer<Database, Transaction>> bodies = new HashMap<>();
      bodies.put("put", (db, tx) -> put(tx, BYTES, 1, 2));
      bodies.put("other value", (db, tx) -> put(tx, BYTES, 1, 3));
      bodies.put("longer value", (db, tx) -> put(tx, BYTES, 1, 2, 0));
      bodies.put("empty value", (db, tx) -> put(tx, BYTES, 1));
      bodies.put("other key", (db, tx) -> put(tx, BYTES, 2, 2));
      bodies.put("other table", (db, tx) -> put(tx, OTHERS, 1, 2));
      bodies.put("new table", (db, tx) -> tx.table(TableSpec.bytes("new", 64)));
      bodies.put("new tables", (db, tx) -> put(tx, TableSpec.bytes("new", 64), 1, 2));
      bodies.put("dropped", (db, tx) -> tx.dropTable("others"));
      bodies.put("renamed", (db, tx) -> tx.renameTable("others", "those"));
      bodies.put("a large value", (db, tx) -> put(tx, BYTES, 1, new int[20_000]));
      for (long n : new long[] {7, 8}) {
        bodies.put(
            "update " + n,
            (db, tx) -> {
              RowTable t = tx.table(rows(db));
              Row row = t.row();
              assertTrue(t.get(tx, t.key().set(5), row));
              t.update(tx, row.setLong(N, n));
            });
      }
      bodies.put(
          "update of the other field",
          (db, tx) -> {
            RowTable t = tx.table(rows(db));
            Row row = t.row();
            assertTrue(t.get(tx, t.key().set(5), row));
            t.update(tx, row.setLong(M, 7));
          });
      bodies.put("delete 5", (db, tx) -> deleteRow(db, tx, 5));
      bodies.put("delete 6", (db, tx) -> deleteRow(db, tx, 6));
      bodies.put("no record", (db, tx) -> deleteRange(db, tx, 5000, 6000));
      bodies.put("a record", (db, tx) -> deleteRange(db, tx, 5, 6));
      bodies.put("a range", (db, tx) -> deleteRange(db, tx, 5, 1500));
      bodies.put("a longer range", (db, tx) -> deleteRange(db, tx, 5, 1501));
      bodies.put(
          "a range, and a record inserted into it",
          (db, tx) -> {
            deleteRange(db, tx, 5, 1500);
            RowTable t = tx.table(rows(db));
            t.put(tx, t.key().set(17), t.row().setLong(N, 1).setLong(M, 1));
          });
      bodies.forEach(
          (what, body) -> {
            String other = seen.put(two.alike(body), what);
            assertEquals(null, other, what);
          });
    }
    assertTrue(!seen.containsKey(0L));
  }

  private static void deleteRow(Database db, Transaction tx, long key) {
    RowTable t = tx.table(rows(db));
    assertTrue(t.delete(tx, t.key().set(key)));
  }

  private static void deleteRange(Database db, Transaction tx, long from, long to) {
    RowTable t = tx.table(rows(db));
    t.deleteRange(tx, Range.between(t.key().set(from), t.key().set(to)));
  }

  @Test
  void unchangedRecordsDoNotCount() {
    try (Two two = new Two()) {
      assertEquals(0, two.alike((db, tx) -> {}));
      assertEquals(0, two.alike((db, tx) -> assertTrue(tx.tables().contains("rows"))));
      assertEquals(
          0,
          two.alike(
              (db, tx) -> {
                tx.table(BYTES).bytes().insert(tx, key(1), key(2));
                tx.table(BYTES).bytes().delete(tx, key(1));
              }));
      Transaction ended = two.a.begin();
      ended.rollback();
      assertThrows(InvalidUseException.class, ended::changesDigest);
    }
  }

  @Test
  void theOrderOfWritesDoesNotMatter() {
    try (Two two = new Two()) {
      List<Integer> keys = new ArrayList<>();
      for (int i = 0; i < 100; i++) {
        keys.add(i);
      }
      long first =
          two.alike((db, tx) -> keys.forEach(k -> put(tx, k % 2 == 0 ? BYTES : OTHERS, k, k)));
      Collections.shuffle(keys, new Random(3));
      long second =
          two.alike((db, tx) -> keys.forEach(k -> put(tx, k % 2 == 0 ? BYTES : OTHERS, k, k)));
      assertEquals(first, second);
      long swapped =
          two.alike((db, tx) -> keys.forEach(k -> put(tx, k % 2 == 1 ? BYTES : OTHERS, k, k)));
      assertNotEquals(first, swapped);
    }
  }

  /** The digest is exchanged between releases. */
  @Test
  void theDigestIsStableAcrossReleases() {
    try (Two two = new Two()) {
      assertEquals(5597163665908690037L, two.alike((db, tx) -> put(tx, BYTES, 1, 2)));
    }
  }
}
