package io.fovea.explorer;

import io.fovea.Database;
import io.fovea.Range;
import io.fovea.Row;
import io.fovea.RowCursor;
import io.fovea.RowIndex;
import io.fovea.RowTable;
import io.fovea.ScanOrder;
import io.fovea.Transaction;
import io.fovea.error.InvalidUseException;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import org.jspecify.annotations.Nullable;

/**
 * Members, who exchange their numbers and points, are in one of two tables: by their ids or by
 * their numbers. Migrations move all of them from one to the other.
 */
final class Migrants {
  private static final int MEMBERS = 200;
  private static final long POINTS = 100;

  private static final Layout.Definition D = Layout.define();
  private static final Field OTHER = D.int64("other");
  private static final Field SUM = D.int64("points");
  private static final Field NOTE = D.varBytes("note", 100);
  private static final Layout LAYOUT = D.build();

  /** In each table, the unique field is the key of the other one. */
  private static final List<TableSpec> TABLES =
      List.of(spec("members.ids"), spec("members.numbers"));

  private static TableSpec spec(String name) {
    return TableSpec.of(name, KeySpec.of(FieldType.INT64), LAYOUT)
        .with(IndexSpec.unique("by_other", OTHER));
  }

  /** The table that has the members, as far as this opening of the database knows. */
  private volatile @Nullable RowTable current;

  private Migrants() {}

  private RowTable table(Database db) {
    RowTable known = current;
    if (known != null) {
      return known;
    }
    RowTable opened =
        db.call(
            tx -> {
              List<String> names = tx.tables();
              for (TableSpec spec : TABLES) {
                if (names.contains(spec.name())) {
                  return tx.table(spec);
                }
              }
              RowTable made = tx.table(TABLES.get(0));
              for (long i = 0; i < MEMBERS; i++) {
                Row row = made.row().setLong(OTHER, i).setLong(SUM, POINTS);
                made.insert(tx, made.key().set(i), row.setBytes(NOTE, new byte[(int) i % 100]));
              }
              return made;
            });
    current = opened;
    return opened;
  }

  static void step(Life life, Worker worker) throws Exception {
    Migrants all = life.state(Migrants.class, Migrants::new);
    RowTable t = all.table(life.db);
    try {
      switch (worker.random.nextInt(12)) {
        case 0 -> all.migrate(life.db, t);
        case 1 ->
            life.<@Nullable Void, RuntimeException>readOnly(
                tx -> {
                  check(t, tx);
                  return null;
                });
        default -> exchange(life, worker, t);
      }
    } catch (Exception e) {
      Throwable cause = e;
      while (cause instanceof CompletionException || cause instanceof ExecutionException) {
        cause = cause.getCause();
      }
      if (!(cause instanceof InvalidUseException refused)
          || !String.valueOf(refused.getMessage()).contains(" was migrated to ")) {
        throw e;
      }
      all.forget(t);
    }
  }

  private synchronized void forget(RowTable t) {
    if (current == t) {
      current = null;
    }
  }

  private void migrate(Database db, RowTable t) {
    TableSpec to = TABLES.get(t.spec().name().equals(TABLES.get(0).name()) ? 1 : 0);
    Violation.same(
        MEMBERS,
        db.migrate(
                t,
                to,
                (key, row, into) ->
                    into.add(
                        into.key().set(row.getLong(OTHER)),
                        into.row()
                            .setLong(OTHER, key.getLong(0))
                            .setLong(SUM, row.getLong(SUM))
                            .setBytes(NOTE, row.getBytes(NOTE))))
            .records(),
        "migrated members");
    forget(t);
  }

  /** Exchanges the keys in the other table, and points; or replaces a member. */
  private static void exchange(Life life, Worker worker, RowTable t) throws Exception {
    Random r = worker.random;
    long x = r.nextInt(MEMBERS);
    long y = (x + 1 + r.nextInt(MEMBERS - 1)) % MEMBERS;
    int amount = r.nextInt(20);
    boolean replaces = r.nextInt(4) == 0;
    byte[] note = new byte[r.nextInt(100)];
    life.write(
        worker,
        tx -> {
          Row p = t.row();
          Row q = t.row();
          Violation.unless(t.get(tx, t.key().set(x), p), "member " + x + " is missing");
          Violation.unless(t.getForUpdate(tx, t.key().set(y), q), "member " + y + " is missing");
          long op = p.getLong(OTHER);
          long oq = q.getLong(OTHER);
          p.setLong(SUM, p.getLong(SUM) - amount).setBytes(NOTE, note);
          q.setLong(SUM, q.getLong(SUM) + amount);
          if (replaces) {
            t.delete(tx, t.key().set(x));
            t.update(tx, q);
            t.insert(tx, t.key().set(x), p);
          } else {
            t.update(tx, p.setLong(OTHER, -1 - worker.id));
            t.update(tx, q.setLong(OTHER, op));
            t.update(tx, p.setLong(OTHER, oq));
          }
        });
  }

  /** Requires all members, in one table; there are none before the first step. */
  static void check(Database there, Transaction tx) {
    List<String> names = there.tables();
    int found = 0;
    for (TableSpec spec : TABLES) {
      if (names.contains(spec.name())) {
        check(there.table(spec), tx);
        found++;
      }
    }
    Violation.unless(found < 2, "members are in both tables");
  }

  private static void check(RowTable t, Transaction tx) {
    Set<Long> others = new HashSet<>();
    long sum = 0;
    Row row = t.row();
    RowIndex index = t.index("by_other");
    try (RowCursor c = t.scan(tx, Range.all(), ScanOrder.ASCENDING)) {
      while (c.next()) {
        long key = c.key().getLong(0);
        long other = c.row().getLong(OTHER);
        Violation.same(others.size(), key, "next member");
        Violation.unless(
            others.add(other) && other >= 0 && other < MEMBERS, "number " + other + " of " + key);
        Violation.unless(index.get(tx, index.key().set(other), row), "by_other has no " + other);
        Violation.same(key, row.key(t.key()).getLong(0), "by_other of " + other);
        sum += c.row().getLong(SUM);
      }
    }
    Violation.same(MEMBERS, others.size(), "members");
    Violation.same(MEMBERS * POINTS, sum, "points of all members");
  }
}
