package io.fovea.crash;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.CompactOptions;
import io.fovea.CompactReport;
import io.fovea.Cursor;
import io.fovea.Database;
import io.fovea.Key;
import io.fovea.LoadOptions;
import io.fovea.LoadReport;
import io.fovea.Range;
import io.fovea.Row;
import io.fovea.RowCursor;
import io.fovea.RowTable;
import io.fovea.ScanOrder;
import io.fovea.TableLoad;
import io.fovea.Transaction;
import io.fovea.config.Duplicates;
import io.fovea.config.Durability;
import io.fovea.crash.State.Blob;
import io.fovea.crash.State.Contents;
import io.fovea.crash.State.Kind;
import io.fovea.crash.State.Pk;
import io.fovea.crash.State.Value;
import io.fovea.error.DuplicateKeyException;
import io.fovea.error.InvalidUseException;
import io.fovea.support.SetClock;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * An atomic operation on a database. {@link #apply} does it to a model, and {@link #run} to the
 * engine, whose answers are compared with the model's.
 */
sealed interface Step {
  /** Does the step to a model. */
  void apply(State state);

  /**
   * Does the step to a database.
   *
   * @param before the expected contents; may be changed
   */
  void run(Database db, State before);

  // --------------------------------------------------------------------------------- transactions

  record Transact(List<Op> ops, boolean commit) implements Step {
    @Override
    public void apply(State state) {
      if (commit) {
        ops.forEach(op -> op.apply(state));
      }
    }

    @Override
    public void run(Database db, State before) {
      try (Transaction tx = db.begin()) {
        for (Op op : ops) {
          Contents c = before.tables.get(op.table());
          boolean answer = op.run(tx, db.table(c.spec(op.table())), c);
          assertEquals(op.apply(before), answer, op::toString);
        }
        if (commit) {
          tx.commit();
        }
      }
    }
  }

  /**
   * Changes of the catalog and of records, in one transaction.
   *
   * @param parts {@link Change}s and {@link Op}s
   */
  record Migrate(List<Object> parts, boolean commit) implements Step {
    @Override
    public void apply(State state) {
      if (commit) {
        parts.forEach(part -> apply(part, state));
      }
    }

    static boolean apply(Object part, State state) {
      return part instanceof Change change ? change.apply(state) : ((Op) part).apply(state);
    }

    @Override
    public void run(Database db, State before) {
      List<String> outside = db.tables();
      try (Transaction tx = db.begin()) {
        for (Object part : parts) {
          boolean answer;
          if (part instanceof Change change) {
            answer = change.run(tx, before);
          } else {
            Op op = (Op) part;
            Contents c = before.tables.get(op.table());
            answer = op.run(tx, tx.table(c.spec(op.table())), c);
          }
          assertEquals(apply(part, before), answer, part::toString);
        }
        assertEquals(List.copyOf(before.tables.keySet()), tx.tables());
        assertEquals(outside, db.tables());
        if (commit) {
          tx.commit();
        }
      }
    }
  }

  /** A change of the catalog, in a transaction. */
  sealed interface Change {
    /** Does it to a model; returns the answer. */
    boolean apply(State state);

    /** Does it in a transaction; returns the answer. */
    boolean run(Transaction tx, State before);
  }

  /** Creates a table that does not exist. */
  record CreateInTransaction(String table, Kind kind, List<String> indexes) implements Change {
    private Contents contents() {
      return new Contents(kind, new TreeSet<>(indexes));
    }

    @Override
    public boolean apply(State state) {
      state.put(table, contents());
      return true;
    }

    @Override
    public boolean run(Transaction tx, State before) {
      return tx.table(contents().spec(table)).name().equals(table);
    }
  }

  /** Drops a table if it exists. */
  record DropInTransaction(String table) implements Change {
    @Override
    public boolean apply(State state) {
      return state.remove(table) != null;
    }

    @Override
    public boolean run(Transaction tx, State before) {
      return tx.dropTable(table);
    }
  }

  /** Renames an existing table, or refuses because the name is taken. */
  record RenameInTransaction(String table, String to) implements Change {
    @Override
    public boolean apply(State state) {
      if (!state.tables.containsKey(to)) {
        state.put(to, state.remove(table));
        return true;
      }
      return table.equals(to);
    }

    @Override
    public boolean run(Transaction tx, State before) {
      try {
        return tx.renameTable(table, to);
      } catch (InvalidUseException e) {
        return false;
      }
    }
  }

  /** A change of records. */
  sealed interface Op {
    String table();

    /** Does it to a model; returns the answer. */
    boolean apply(State state);

    /** Does it in a transaction; returns the answer. */
    boolean run(Transaction tx, RowTable t, Contents c);
  }

  /** Sets a record, which may have expired already. */
  private static void set(State state, String table, Pk pk, Value value) {
    Contents c = state.change(table);
    c.records().put(pk, value);
    c.expire(state.now);
  }

  /** Inserts a record, or refuses because it exists. */
  record Insert(String table, Pk pk, Value value) implements Op {
    @Override
    public boolean apply(State state) {
      Contents c = state.tables.get(table);
      if (c.records().containsKey(pk) || c.taken(pk, value.unique())) {
        return false;
      }
      set(state, table, pk, value.in(c));
      return true;
    }

    @Override
    public boolean run(Transaction tx, RowTable t, Contents c) {
      try {
        if (c.kind() == Kind.BYTES) {
          t.bytes().insert(tx, pk.bytes(), value.pad().bytes());
        } else {
          t.insert(tx, pk.key(t), value.row(t.row(), c.shape()));
        }
        return true;
      } catch (DuplicateKeyException e) {
        return false;
      }
    }
  }

  record Put(String table, Pk pk, Value value) implements Op {
    @Override
    public boolean apply(State state) {
      Contents c = state.tables.get(table);
      if (c.taken(pk, value.unique())) {
        return false;
      }
      set(state, table, pk, value.in(c));
      return true;
    }

    @Override
    public boolean run(Transaction tx, RowTable t, Contents c) {
      try {
        if (c.kind() == Kind.BYTES) {
          t.bytes().put(tx, pk.bytes(), value.pad().bytes());
        } else {
          t.put(tx, pk.key(t), value.row(t.row(), c.shape()));
        }
        return true;
      } catch (DuplicateKeyException e) {
        return false;
      }
    }
  }

  /**
   * Updates parts of a record.
   *
   * @param a whether to change the first field, which may be indexed
   * @param unique whether to change the last field
   * @param extra whether to change the field that a version has added, if any
   */
  record Patch(String table, Pk pk, boolean a, boolean unique, boolean extra, Value to)
      implements Op {
    private Value changed(Value v) {
      return new Value(
          a ? to.a() : v.a(),
          v.text(),
          unique ? to.unique() : v.unique(),
          v.pad(),
          extra ? to.extra() : v.extra());
    }

    @Override
    public boolean apply(State state) {
      Contents c = state.tables.get(table);
      Value old = c.records().get(pk);
      if (old == null || c.taken(pk, changed(old).unique())) {
        return false;
      }
      set(state, table, pk, changed(old).in(c));
      return true;
    }

    @Override
    public boolean run(Transaction tx, RowTable t, Contents c) {
      Row row = t.row();
      if (!t.getForUpdate(tx, pk.key(t), row)) {
        return false;
      }
      Shape shape = c.shape();
      if (a) {
        to.setA(row, shape);
      }
      if (unique) {
        row.setLong(shape.unique, to.unique());
      }
      if (extra && shape.extra != null) {
        row.setLong(shape.extra, to.extra());
      }
      try {
        t.update(tx, row);
        return true;
      } catch (DuplicateKeyException e) {
        return false;
      }
    }
  }

  /** Deletes a record if it exists. */
  record Delete(String table, Pk pk) implements Op {
    @Override
    public boolean apply(State state) {
      return state.tables.get(table).records().containsKey(pk)
          && state.change(table).records().remove(pk) != null;
    }

    @Override
    public boolean run(Transaction tx, RowTable t, Contents c) {
      return c.kind() == Kind.BYTES ? t.bytes().delete(tx, pk.bytes()) : t.delete(tx, pk.key(t));
    }
  }

  /**
   * Deletes all records of a group, including those of this transaction: one by one for every
   * second group, otherwise in one call.
   */
  record DeleteGroup(String table, int group) implements Op {
    @Override
    public boolean apply(State state) {
      return state.change(table).records().keySet().removeIf(pk -> pk.group() == group);
    }

    @Override
    public boolean run(Transaction tx, RowTable t, Contents c) {
      List<Pk> found = new ArrayList<>();
      if (c.kind() == Kind.BYTES) {
        byte[] prefix = {new Pk(group, "").bytes()[0]};
        if (group % 2 == 0) {
          return t.bytes().deletePrefix(tx, prefix) > 0;
        }
        try (Cursor<byte[], byte[]> cursor =
            t.bytes().scanPrefix(tx, prefix, ScanOrder.DESCENDING)) {
          while (cursor.next()) {
            found.add(Pk.of(cursor.key()));
          }
        }
        found.forEach(pk -> t.bytes().delete(tx, pk.bytes()));
      } else {
        Range range = Range.prefix(t.key().set(group));
        if (group % 2 == 0) {
          return t.deleteRange(tx, range) > 0;
        }
        try (RowCursor cursor = t.scan(tx, range, ScanOrder.ASCENDING)) {
          while (cursor.next()) {
            found.add(Pk.of(cursor.key()));
          }
        }
        found.forEach(pk -> t.delete(tx, pk.key(t)));
      }
      return !found.isEmpty();
    }
  }

  /**
   * Deletes the records from one key (inclusive) to another (exclusive), in one call; null: no
   * bound.
   */
  record DeleteRange(String table, @Nullable Pk from, @Nullable Pk to) implements Op {
    @Override
    public boolean apply(State state) {
      return state
          .change(table)
          .records()
          .keySet()
          .removeIf(
              pk ->
                  (from == null || from.compareTo(pk) <= 0)
                      && (to == null || pk.compareTo(to) < 0));
    }

    @Override
    public boolean run(Transaction tx, RowTable t, Contents c) {
      if (c.kind() == Kind.BYTES) {
        return t.bytes()
                .deleteRange(tx, from == null ? null : from.bytes(), to == null ? null : to.bytes())
            > 0;
      }
      Key low = from == null ? t.key().clear() : from.key(t);
      Range range = to == null ? Range.atLeast(low) : Range.of(low, true, to.key(t), false);
      return t.deleteRange(tx, range) > 0;
    }
  }

  // --------------------------------------------------------------------------------------- schema

  /** Creates a table. */
  record CreateTable(String table, Kind kind, List<String> indexes) implements Step {
    @Override
    public void apply(State state) {
      state.tables.put(table, new Contents(kind, new TreeSet<>(indexes)));
    }

    @Override
    public void run(Database db, State before) {
      apply(before);
      db.table(before.tables.get(table).spec(table));
    }
  }

  record DropTable(String table) implements Step {
    @Override
    public void apply(State state) {
      state.tables.remove(table);
    }

    @Override
    public void run(Database db, State before) {
      assertEquals(before.tables.containsKey(table), db.dropTable(table));
    }
  }

  /** Builds an index over existing records, or refuses because of a duplicate. */
  record CreateIndex(String table, String index) implements Step {
    private static boolean possible(Contents c, String index) {
      return !State.originally(index).equals("by_unique")
          || c.records().values().stream().mapToLong(Value::unique).distinct().count()
              == c.records().size();
    }

    @Override
    public void apply(State state) {
      Contents c = state.tables.get(table);
      if (possible(c, index)) {
        state.change(table).indexes().add(index);
      }
    }

    @Override
    public void run(Database db, State before) {
      Contents c = before.change(table);
      boolean possible = possible(c, index);
      c.indexes().add(index);
      boolean done;
      try {
        db.table(c.spec(table));
        done = true;
      } catch (DuplicateKeyException e) {
        done = false;
      }
      assertEquals(possible, done, this::toString);
    }
  }

  record DropIndex(String table, String index) implements Step {
    @Override
    public void apply(State state) {
      state.change(table).indexes().remove(index);
    }

    @Override
    public void run(Database db, State before) {
      assertEquals(before.tables.get(table).indexes().contains(index), db.dropIndex(table, index));
    }
  }

  /** Renames a table, or refuses because the name is taken. */
  record Rename(String table, String to) implements Step {
    @Override
    public void apply(State state) {
      if (!state.tables.containsKey(to)) {
        state.tables.put(to, state.tables.remove(table));
      }
    }

    @Override
    public void run(Database db, State before) {
      boolean taken = before.tables.containsKey(to);
      RowTable open = db.table(before.tables.get(table).spec(table));
      try {
        assertEquals(true, db.renameTable(table, to));
        assertEquals(false, taken, this::toString);
        assertEquals(to, open.name());
      } catch (InvalidUseException e) {
        assertEquals(true, taken, e::getMessage);
      }
    }
  }

  /** Renames an index: adds or removes a character at the end of its name. */
  record RenameIndex(String table, String index) implements Step {
    private String to() {
      String original = State.originally(index);
      return index.equals(original) ? index + "~" : original;
    }

    @Override
    public void apply(State state) {
      Contents c = state.change(table);
      c.indexes().remove(index);
      c.indexes().add(to());
    }

    @Override
    public void run(Database db, State before) {
      assertEquals(true, db.renameIndex(table, index, to()));
    }
  }

  /** Opens a table with the specification of its next version. */
  record Evolve(String table) implements Step {
    @Override
    public void apply(State state) {
      state.put(table, state.tables.get(table).evolved());
    }

    @Override
    public void run(Database db, State before) {
      RowTable old = db.table(before.tables.get(table).spec(table));
      apply(before);
      db.table(before.tables.get(table).spec(table));
      Key key = new Pk(1, "").key(old);
      try {
        db.run(tx -> old.exists(tx, key));
      } catch (InvalidUseException e) {
        return; // any other exception is a device error in background work
      }
      throw new AssertionError("a handle of the previous version was not refused");
    }
  }

  // --------------------------------------------------------------------------------------- loads

  record Loaded(Pk pk, Value value) {}

  /**
   * Loads records, or refuses because of a duplicate key or unique value.
   *
   * @param ascending whether they are loaded in key order
   */
  record Load(String table, List<Loaded> rows, boolean ascending, Duplicates duplicates)
      implements Step {
    /** Returns the table's records afterwards; null if the load is refused. */
    private @Nullable TreeMap<Pk, Value> after(Contents c, long now) {
      TreeMap<Pk, Value> all = new TreeMap<>(c.records());
      for (Loaded row : rows) {
        if (all.containsKey(row.pk) && duplicates != Duplicates.REPLACE) {
          if (duplicates == Duplicates.FAIL) {
            return null;
          }
          continue;
        }
        all.put(row.pk, row.value.in(c));
      }
      Contents left = new Contents(c.kind(), c.version(), c.indexes(), all);
      left.expire(now);
      return c.named("by_unique") == null
              || all.values().stream().mapToLong(Value::unique).distinct().count() == all.size()
          ? all
          : null;
    }

    @Override
    public void apply(State state) {
      Contents c = state.tables.get(table);
      TreeMap<Pk, Value> after = after(c, state.now);
      if (after != null && !after.equals(c.records())) {
        Contents changed = state.change(table);
        changed.records().clear();
        changed.records().putAll(after);
      }
    }

    @Override
    public void run(Database db, State before) {
      Contents c = before.tables.get(table);
      TreeMap<Pk, Value> after = after(c, before.now);
      RowTable t = db.table(c.spec(table));
      LoadOptions how =
          LoadOptions.defaults().memoryBytes(1 << 20).ascending(ascending).duplicates(duplicates);
      LoadReport report;
      try {
        report = c.kind() == Kind.BYTES ? t.bytes().load(how, this::bytes) : load(t, c, how);
      } catch (DuplicateKeyException e) {
        assertEquals(null, after, () -> this + ": " + e.getMessage());
        return;
      }
      assertTrue(after != null, () -> this + " was not refused");
      assertEquals(after.size(), report.records(), this::toString);
      assertEquals(rows.size(), report.added() + report.replaced() + report.kept());
    }

    private void bytes(TableLoad<byte[], byte[]> into) {
      rows.forEach(row -> into.add(row.pk.bytes(), row.value.pad().bytes()));
    }

    private LoadReport load(RowTable t, Contents c, LoadOptions how) {
      Row r = t.row();
      return t.load(
          how, into -> rows.forEach(row -> into.add(row.pk.key(t), row.value.row(r, c.shape()))));
    }

    @Override
    public String toString() {
      return "Load[" + table + ", " + rows.size() + " rows, " + ascending + ", " + duplicates + "]";
    }
  }

  // ------------------------------------------------------------------------- contents unchanged

  /**
   * Opens a snapshot that stays open during later steps, or compares the open one with its state.
   * {@link Session} implements it; {@link #run} does both at once.
   */
  record Snap() implements Step {
    @Override
    public void apply(State state) {}

    @Override
    public void run(Database db, State before) {
      try (Database then = db.snapshot()) {
        new Look().run(then, before);
      }
    }
  }

  /** Reads everything. */
  record Look() implements Step {
    @Override
    public void apply(State state) {}

    @Override
    public void run(Database db, State before) {
      State found = State.read(db, before, before.trees());
      if (!before.equals(found)) {
        throw new AssertionError(
            "The database has different contents"
                + (found == null ? "" : State.difference(before, found)));
      }
    }
  }

  /** Advances the clock, so that rows expire. */
  record Tick(long millis) implements Step {
    @Override
    public void apply(State state) {
      state.now += millis;
      for (String table : List.copyOf(state.tables.keySet())) {
        if (state.tables.get(table).at(state.now) != state.tables.get(table)) {
          state.change(table).expire(state.now);
        }
      }
    }

    @Override
    public void run(Database db, State before) {
      ((SetClock) db.options().expiry().clock()).set(before.now + millis);
    }
  }

  /** Removes what has expired, and nothing else. */
  record Sweep() implements Step {
    /** The number of rows removed in all tests. */
    static final AtomicLong SWEPT = new AtomicLong();

    @Override
    public void apply(State state) {}

    @Override
    public void run(Database db, State before) {
      SWEPT.addAndGet(db.sweepExpired());
      before.tables.forEach(
          (name, c) -> {
            if (c.kind() == Kind.TIMED) {
              assertEquals(c.records().size(), db.table(c.spec(name)).count(), name);
            }
          });
    }
  }

  record Checkpoint() implements Step {
    @Override
    public void apply(State state) {}

    @Override
    public void run(Database db, State before) {
      io.fovea.SimDatabase.checkpoint(db);
    }
  }

  /** Moves pages towards the front of the file, or punches holes in runs of free ones. */
  record Compact(boolean moves) implements Step {
    /** The number of pages moved in all tests. */
    static final AtomicLong MOVED = new AtomicLong();

    /** The number of roots among them. */
    static final AtomicLong ROOTS = new AtomicLong();

    /** The number of pages by which files were shortened. */
    static final AtomicLong CUT = new AtomicLong();

    /** The number of pages whose space was released. */
    static final AtomicLong PUNCHED = new AtomicLong();

    @Override
    public void apply(State state) {}

    @Override
    public void run(Database db, State before) {
      if (db.options().durability() != Durability.NONE) {
        int pageSize = db.options().device().pageSize();
        Set<Long> roots = io.fovea.SimDatabase.roots(db);
        CompactReport report = db.compact(CompactOptions.defaults().movePages(moves));
        roots.removeAll(io.fovea.SimDatabase.roots(db));
        ROOTS.addAndGet(roots.size());
        MOVED.addAndGet(report.bytesMoved() / pageSize);
        PUNCHED.addAndGet(report.bytesPunched() / pageSize);
        CUT.addAndGet((report.bytesBefore() - report.bytesAfter()) / pageSize);
      }
    }
  }

  /** Closes the database and opens it again; {@link Session} implements it. */
  record Reopen() implements Step {
    @Override
    public void apply(State state) {}

    @Override
    public void run(Database db, State before) {
      throw new UnsupportedOperationException();
    }
  }

  /** Returns a value for a table of byte strings. */
  static Value bytes(int length, int seed) {
    return bytes(length == 0 ? Blob.EMPTY : new Blob(length, seed));
  }

  static Value bytes(Blob blob) {
    return new Value(0, "", 0, blob, 0);
  }
}
