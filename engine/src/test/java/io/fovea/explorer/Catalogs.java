package io.fovea.explorer;

import io.fovea.Database;
import io.fovea.Range;
import io.fovea.Row;
import io.fovea.RowCursor;
import io.fovea.RowTable;
import io.fovea.ScanOrder;
import io.fovea.Table;
import io.fovea.Transaction;
import io.fovea.error.InvalidUseException;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.SequenceSpec;
import io.fovea.schema.Step;
import io.fovea.schema.TableSpec;
import java.util.Objects;
import java.util.Random;

/** Creates, changes and drops tables. Each worker has its own. */
final class Catalogs {
  private static final Layout.Definition D1 = Layout.define();
  private static final Field A1 = D1.int64("a");
  private static final Field B1 = D1.text("b", 20);
  private static final Layout LAYOUT1 = D1.build();
  private static final Layout.Definition D2 = Layout.define();
  private static final Field A2 = D2.int64("a");
  private static final Field C2 = D2.text("c", 20);
  private static final Field N2 = D2.int64("n");
  private static final Layout LAYOUT2 = D2.build();
  private static final KeySpec KEY = KeySpec.of(FieldType.INT32);

  private Catalogs() {}

  private static String name(Worker worker) {
    return "own" + worker.id;
  }

  /** Creates, fills, renames and drops a table with indexes, by calls of the database. */
  static void table(Life life, Worker worker) {
    Database db = life.db;
    Random r = worker.random;
    String name = name(worker);
    db.dropTable(name);
    db.dropTable(name + "x");
    TableSpec spec = TableSpec.of(name, KEY, LAYOUT1).with(IndexSpec.on("by_a", A1));
    if (r.nextBoolean()) {
      spec = spec.with(IndexSpec.unique("by_b", B1));
    }
    RowTable t = db.table(spec);
    int n = r.nextInt(6) == 0 ? 2_000 + r.nextInt(2_000) : 1 + r.nextInt(200);
    for (int i = 0; i < n; i += 200) {
      int from = i;
      db.run(tx -> fill(tx, t, from, Math.min(n, from + 200)));
    }
    if (r.nextBoolean()) {
      Violation.unless(db.renameTable(name, name + "x"), "rename " + name);
      name = name + "x";
    }
    check(db, t, n, name);
    if (r.nextInt(3) != 0) {
      Violation.unless(db.dropTable(name), "drop " + name);
      Violation.unless(!db.tables().contains(name), name + " exists after its drop");
    }
  }

  private static void fill(Transaction tx, RowTable t, int from, int n) {
    Row row = t.row();
    for (int i = from; i < n; i++) {
      t.insert(tx, t.key().set(i), row.clear().setLong(A1, i % 7).setText(B1, "row " + i));
    }
  }

  private static void check(Database db, RowTable t, int n, String name) {
    long[] found = new long[2];
    db.read(
        tx -> {
          found[0] = 0;
          found[1] = 0;
          try (RowCursor c = t.scan(tx, Range.all(), ScanOrder.ASCENDING)) {
            while (c.next()) {
              Violation.same(found[0]++, c.key().getInt(0), "key in " + name);
            }
          }
          try (RowCursor c = t.index("by_a").scan(tx, Range.all(), ScanOrder.ASCENDING)) {
            while (c.next()) {
              found[1]++;
              Violation.same(c.key().getInt(0) % 7, c.row().getLong(A1), "row in " + name);
            }
          }
          return null;
        });
    Violation.same(n, found[0], "records of " + name);
    Violation.same(n, found[1], "entries of " + name);
    Violation.same(n, t.count(), "count of " + name);
  }

  /** Does the same in a transaction, which commits or not. */
  static void inTransaction(Life life, Worker worker) throws Exception {
    Random r = worker.random;
    String name = "tx" + worker.id;
    byte[] key = Life.key("t/", worker.id);
    boolean renames = r.nextInt(4) == 0;
    int n = 1 + r.nextInt(60);
    life.write(
        worker,
        tx -> {
          long there = Life.number(life.small.get(tx, key));
          if (there > 0) {
            Violation.unless(tx.tables().contains(name), name + " is missing");
            Table<byte[], byte[]> t = tx.table(TableSpec.bytes(name, 20)).bytes();
            Violation.same(there, Ranges.members(t, tx), "records of " + name);
            if (renames) {
              tx.dropTable(name + "x");
              Violation.unless(tx.renameTable(name, name + "x"), "rename " + name);
              Violation.same(there, Ranges.members(t, tx), "records of " + name + " renamed");
              Violation.unless(tx.renameTable(name + "x", name), "rename back " + name);
              return;
            }
            Violation.unless(tx.dropTable(name), "drop " + name);
            life.small.put(tx, key, Life.number(0));
            if (n % 2 == 0) {
              return;
            }
          } else {
            Violation.unless(!tx.tables().contains(name), name + " exists");
          }
          Table<byte[], byte[]> t = tx.table(TableSpec.bytes(name, 20)).bytes();
          for (int i = 0; i < n; i++) {
            t.insert(tx, Life.key("k", i), new byte[i]);
          }
          life.small.put(tx, key, Life.number(n));
        });
  }

  /** Evolves a table from an older version to a newer one. */
  static void evolve(Life life, Worker worker) {
    Database db = life.db;
    String name = "ev" + worker.id;
    db.dropTable(name);
    RowTable old = db.table(TableSpec.of(name, KEY, LAYOUT1));
    int n = 1 + worker.random.nextInt(100);
    db.run(tx -> fill(tx, old, 0, n));
    TableSpec spec =
        TableSpec.builder(name, KEY, LAYOUT2)
            .version(2, Step.rename("b", "c"), Step.add("n", 42))
            .build();
    RowTable now = db.table(spec);
    try {
      db.run(tx -> old.put(tx, old.key().set(0), old.row()));
      throw new Violation("a handle of an older version of " + name + " can be used");
    } catch (InvalidUseException e) {
      // expected
    }
    db.run(
        tx -> {
          Row row = now.row();
          for (int i = 0; i < n; i++) {
            Violation.unless(now.get(tx, now.key().set(i), row), "row " + i + " of " + name);
            Violation.same(i % 7, row.getLong(A2), "a in " + name);
            Violation.same(42, row.getLong(N2), "n in " + name);
            Violation.unless(row.textEquals(C2, "row " + i), "c in " + name);
            if (i % 3 == 0) {
              now.update(tx, row);
            }
          }
        });
    Violation.unless(db.dropTable(name), "drop " + name);
  }

  /** Values of a sequence are distinct. */
  static void sequence(Life life, Worker worker) throws Exception {
    Random r = worker.random;
    long before = life.expected.sequenceTop();
    int n = 1 + r.nextInt(r.nextInt(10) == 0 ? 3_000 : 20);
    boolean inside = r.nextInt(3) == 0;
    if (inside) {
      life.write(
          worker,
          tx -> {
            long first = life.ids.next();
            life.issued.take(first, 1);
            life.expected.gave(first);
          });
      return;
    }
    long first = life.ids.next(n);
    Violation.unless(first > before, "the sequence returned " + first + " after " + before);
    life.issued.take(first, n);
    life.expected.gave(first + n - 1);
    if (worker.oneIn(20)) {
      String name = "seq" + worker.id;
      life.db.dropSequence(name);
      life.db.sequence(SequenceSpec.of(name).from(5).cached(3));
      Violation.same(5, life.db.sequence(name).next(), "first of " + name);
      SequenceSpec later = Objects.requireNonNull(life.db.describeSequence(name)).from(5_000);
      Violation.unless(life.db.alterSequence(later), "alter " + name);
      Violation.same(5_000, life.db.sequence(name).next(), "first of " + name + " altered");
      Violation.unless(life.db.dropSequence(name), "drop " + name);
    }
  }
}
