package io.fovea.explorer;

import io.fovea.Database;
import io.fovea.Range;
import io.fovea.Row;
import io.fovea.RowCursor;
import io.fovea.RowIndex;
import io.fovea.RowTable;
import io.fovea.ScanOrder;
import io.fovea.Transaction;
import io.fovea.TxOptions;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.util.HashSet;
import java.util.Random;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Accounts: their sum is constant, each has a unique number that moves between accounts, and all
 * indexes agree with the records.
 */
final class Bank {
  static final int ACCOUNTS = 48;
  static final long CENTS = 1_000;

  private static final Layout.Definition D = Layout.define();
  static final Field MONEY = D.int64("cents");
  static final Field UNIQUE = D.int64("u");
  static final Field GROUP = D.int32("g");
  static final Field NOTE = D.varBytes("note", 400);
  static final TableSpec SPEC =
      TableSpec.of("bank", KeySpec.of(FieldType.INT32), D.build())
          .with(IndexSpec.unique("by_u", UNIQUE))
          .with(IndexSpec.on("by_g", GROUP));

  final RowTable table;

  /** The fields of the layout with which the table was opened. */
  private final Field money;

  private final Field unique;

  Bank(Database db) {
    money = MONEY;
    unique = UNIQUE;
    // The table may exist from an earlier life.
    TableSpec there = db.describe("bank");
    if (there != null) {
      for (IndexSpec i : there.indexes()) {
        if (!i.name().equals("by_u") && !i.name().equals("by_g")) {
          db.dropIndex("bank", i.name());
        }
      }
    }
    table = db.table(SPEC);
    db.run(
        tx -> {
          Row row = table.row();
          for (int i = 0; i < ACCOUNTS; i++) {
            if (!table.exists(tx, table.key().set(i))) {
              row.clear().setLong(MONEY, CENTS).setLong(UNIQUE, i).setInt(GROUP, i % 7);
              table.insert(tx, table.key().set(i), row.setBytes(NOTE, new byte[i]));
            }
          }
        });
  }

  private Bank(Database db, TableSpec spec) {
    this.table = db.table(spec);
    money = spec.layout().field("cents");
    unique = spec.layout().field("u");
  }

  /** Returns the bank of another database; null if it has no table for it. */
  static @Nullable Bank of(Database db) {
    TableSpec spec = db.describe("bank");
    return spec == null ? null : new Bank(db, spec);
  }

  static void transfer(Life life, Worker worker) throws Exception {
    Random r = worker.random;
    RowTable t = life.bank.table;
    int x = r.nextInt(ACCOUNTS);
    int y = (x + 1 + r.nextInt(ACCOUNTS - 1)) % ACCOUNTS;
    int amount = r.nextInt(50);
    boolean swaps = r.nextBoolean();
    boolean moves = r.nextInt(4) == 0;
    byte[] note = new byte[r.nextInt(400)];
    int group = r.nextInt(7);
    life.write(
        worker,
        tx -> {
          Row p = t.row();
          Row q = t.row();
          Violation.unless(t.get(tx, t.key().set(x), p), "account " + x + " is missing");
          Violation.unless(
              moves ? t.getForUpdate(tx, t.key().set(y), q) : t.get(tx, t.key().set(y), q),
              "account " + y + " is missing");
          long up = p.getLong(UNIQUE);
          long uq = q.getLong(UNIQUE);
          p.setLong(MONEY, p.getLong(MONEY) - amount).setInt(GROUP, group);
          q.setLong(MONEY, q.getLong(MONEY) + amount).setBytes(NOTE, note);
          if (swaps) {
            t.update(tx, p.setLong(UNIQUE, -1 - worker.id));
            t.update(tx, q.setLong(UNIQUE, up));
            t.update(tx, p.setLong(UNIQUE, uq));
          } else if (moves) {
            t.delete(tx, t.key().set(x));
            t.update(tx, q);
            t.insert(tx, t.key().set(x), p);
          } else {
            t.update(tx, p);
            t.update(tx, q);
          }
        });
  }

  static void sum(Life life, Worker worker) {
    RowTable t = life.bank.table;
    int how = worker.random.nextInt(4);
    ScanOrder order = worker.random.nextBoolean() ? ScanOrder.ASCENDING : ScanOrder.DESCENDING;
    life.<@Nullable Void>read(
        TxOptions::forReading,
        tx -> {
          switch (how) {
            case 0 -> life.bank.check(tx);
            case 1 -> life.bank.total(t.scan(tx, Range.all(), order), "table");
            case 2 -> life.bank.total(t.index("by_u").scan(tx, Range.all(), order), "by_u");
            default -> life.bank.total(t.index("by_g").scan(tx, Range.all(), order), "by_g");
          }
          return null;
        });
    if (how == 3) {
      long n = life.db.<Long, RuntimeException>read(tx -> t.estimate(tx, Range.all()).count());
      Violation.unless(n >= 0, "estimate " + n);
    }
  }

  private long total(RowCursor cursor, String what) {
    long sum = 0;
    long n = 0;
    long hash = 0;
    try (cursor) {
      while (cursor.next()) {
        long cents = cursor.row().getLong(money);
        sum += cents;
        n++;
        hash +=
            (cents * 31 + cursor.row().getLong(unique)) * 0x9E37_79B9_7F4A_7C15L
                ^ cursor.key().getInt(0);
      }
    }
    Violation.same(ACCOUNTS, n, what + " has accounts");
    Violation.same(ACCOUNTS * CENTS, sum, what + " has a sum");
    return hash;
  }

  /** Requires that table and indexes agree; returns a hash of them. */
  long check(Transaction tx) {
    Set<Long> seen = new HashSet<>();
    try (RowCursor c = table.scan(tx, Range.all(), ScanOrder.ASCENDING)) {
      Row other = table.row();
      RowIndex byU = indexOf("by_u");
      while (c.next()) {
        long u = c.row().getLong(unique);
        Violation.unless(
            seen.add(u) && u >= 0 && u < ACCOUNTS, "number " + u + " is duplicate or out of range");
        Violation.unless(byU.get(tx, byU.key().set(u), other), "by_u has no " + u);
        Violation.same(c.key().getInt(0), other.key(table.key()).getInt(0), "by_u of " + u);
      }
    }
    long hash = total(table.scan(tx, Range.all(), ScanOrder.ASCENDING), "table");
    for (IndexSpec i : table.spec().indexes()) {
      long same = total(indexOf(i.name()).scan(tx, Range.all(), ScanOrder.DESCENDING), i.name());
      Violation.same(hash, same, i.name() + " has other records");
    }
    return hash;
  }

  private RowIndex indexOf(String name) {
    return table.index(name);
  }

  // ------------------------------------------------------------------------------ index builds

  /** Builds another index online, checks, renames and drops it; one at a time. */
  static void index(Life life, Worker worker) {
    Database db = life.db;
    Random r = worker.random;
    TableSpec there = db.describe("bank");
    for (IndexSpec i : there.indexes()) {
      if (i.name().startsWith("more")) {
        db.dropIndex("bank", i.name()); // left by an interrupted step
      }
    }
    IndexSpec more =
        switch (r.nextInt(3)) {
          case 0 -> IndexSpec.on("more", MONEY);
          case 1 -> IndexSpec.unique("more", GROUP, UNIQUE);
          default -> IndexSpec.on("more", GROUP, MONEY);
        };
    RowTable t = db.table(SPEC.with(more));
    for (int i = 0; i < 3; i++) {
      db.read(
          tx ->
              life.bank.total(t.index("more").scan(tx, Range.all(), ScanOrder.ASCENDING), "more"));
    }
    String name = "more";
    if (r.nextBoolean()) {
      Violation.unless(db.renameIndex("bank", "more", "more2"), "rename index");
      name = "more2";
    }
    Violation.unless(db.dropIndex("bank", name), "drop index " + name);
  }
}
