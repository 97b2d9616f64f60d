package io.fovea.crash;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.fovea.ByteCursor;
import io.fovea.Cursor;
import io.fovea.Database;
import io.fovea.Key;
import io.fovea.Order;
import io.fovea.Range;
import io.fovea.Row;
import io.fovea.Table;
import io.fovea.Transaction;
import io.fovea.crash.State.Blob;
import io.fovea.crash.State.Contents;
import io.fovea.crash.State.Kind;
import io.fovea.crash.State.Pk;
import io.fovea.crash.State.Value;
import io.fovea.error.DuplicateKeyException;
import io.fovea.error.InvalidUseException;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Something that is done to a database, as a whole or not at all.
 *
 * <p>{@link #apply} does it to a model, {@link #run} to the engine; whether the engine answers as
 * the model does is checked on the way.
 */
sealed interface Step {
  /** Does it to a model. */
  void apply(State state);

  /**
   * Does it to a database.
   *
   * @param before what the database holds; may be changed
   */
  void run(Database db, State before);

  // --------------------------------------------------------------------------------- transactions

  /** Changes of records. */
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
          boolean answer = op.run(tx, db.table(c.spec(op.table())), c.kind());
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
   * @param parts each a {@link Change} or an {@link Op}
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
            answer = op.run(tx, tx.table(c.spec(op.table())), c.kind());
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

  /** One change of the catalog, in a transaction. */
  sealed interface Change {
    /** Does it to a model; returns the answer. */
    boolean apply(State state);

    /** Does it in a transaction; returns the answer. */
    boolean run(Transaction tx, State before);
  }

  /** Makes a table, which is not there. */
  record Make(String table, Kind kind, List<String> indexes) implements Change {
    private Contents contents() {
      return new Contents(kind, new TreeSet<>(indexes), new TreeMap<>());
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

  /** Drops a table, where it is. */
  record Gone(String table) implements Change {
    @Override
    public boolean apply(State state) {
      return state.remove(table) != null;
    }

    @Override
    public boolean run(Transaction tx, State before) {
      return tx.dropTable(table);
    }
  }

  /** Renames a table, which is there, or refuses because the name is taken. */
  record Moved(String table, String to) implements Change {
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

  /** One change. */
  sealed interface Op {
    String table();

    /** Does it to a model; returns the answer. */
    boolean apply(State state);

    /** Does it in a transaction; returns the answer. */
    boolean run(Transaction tx, Table t, Kind kind);
  }

  /** Adds a record, or refuses because it is there. */
  record Insert(String table, Pk pk, Value value) implements Op {
    @Override
    public boolean apply(State state) {
      Contents c = state.tables.get(table);
      if (c.records().containsKey(pk) || c.taken(pk, value.unique())) {
        return false;
      }
      state.change(table).records().put(pk, value);
      return true;
    }

    @Override
    public boolean run(Transaction tx, Table t, Kind kind) {
      try {
        if (kind == Kind.BYTES) {
          t.bytes().insert(tx, pk.bytes(), value.pad().bytes());
        } else {
          t.insert(tx, pk.key(t), value.row(t.row(), kind));
        }
        return true;
      } catch (DuplicateKeyException e) {
        return false;
      }
    }
  }

  /** Sets a record. */
  record Put(String table, Pk pk, Value value) implements Op {
    @Override
    public boolean apply(State state) {
      Contents c = state.tables.get(table);
      if (c.taken(pk, value.unique())) {
        return false;
      }
      state.change(table).records().put(pk, value);
      return true;
    }

    @Override
    public boolean run(Transaction tx, Table t, Kind kind) {
      try {
        if (kind == Kind.BYTES) {
          t.bytes().put(tx, pk.bytes(), value.pad().bytes());
        } else {
          t.put(tx, pk.key(t), value.row(t.row(), kind));
        }
        return true;
      } catch (DuplicateKeyException e) {
        return false;
      }
    }
  }

  /**
   * Changes fields of a record: some bytes of it.
   *
   * @param a whether to change the first field, which an index may be on
   * @param unique whether to change the last field
   */
  record Patch(String table, Pk pk, boolean a, boolean unique, Value to) implements Op {
    private Value changed(Value v) {
      return new Value(a ? to.a() : v.a(), v.text(), unique ? to.unique() : v.unique(), v.pad());
    }

    @Override
    public boolean apply(State state) {
      Contents c = state.tables.get(table);
      Value old = c.records().get(pk);
      if (old == null || c.taken(pk, changed(old).unique())) {
        return false;
      }
      state.change(table).records().put(pk, changed(old));
      return true;
    }

    @Override
    public boolean run(Transaction tx, Table t, Kind kind) {
      Row row = t.row();
      if (!t.getForUpdate(tx, pk.key(t), row)) {
        return false;
      }
      if (a) {
        row.setInt(kind.a, to.a());
      }
      if (unique) {
        row.setLong(kind.unique, to.unique());
      }
      try {
        t.update(tx, row);
        return true;
      } catch (DuplicateKeyException e) {
        return false;
      }
    }
  }

  /** Removes a record, where it is. */
  record Delete(String table, Pk pk) implements Op {
    @Override
    public boolean apply(State state) {
      return state.tables.get(table).records().containsKey(pk)
          && state.change(table).records().remove(pk) != null;
    }

    @Override
    public boolean run(Transaction tx, Table t, Kind kind) {
      return kind == Kind.BYTES ? t.bytes().delete(tx, pk.bytes()) : t.delete(tx, pk.key(t));
    }
  }

  /** Removes all records of a group, those that the transaction has made as well. */
  record DeleteGroup(String table, int group) implements Op {
    @Override
    public boolean apply(State state) {
      return state.change(table).records().keySet().removeIf(pk -> pk.group() == group);
    }

    @Override
    public boolean run(Transaction tx, Table t, Kind kind) {
      List<Pk> found = new ArrayList<>();
      if (kind == Kind.BYTES) {
        byte[] prefix = {new Pk(group, "").bytes()[0]};
        try (ByteCursor c = t.bytes().scanPrefix(tx, prefix, Order.DESCENDING)) {
          while (c.next()) {
            found.add(Pk.of(c.key()));
          }
        }
        found.forEach(pk -> t.bytes().delete(tx, pk.bytes()));
      } else {
        try (Cursor c = t.scan(tx, Range.prefix(t.key().set(group)), Order.ASCENDING)) {
          while (c.next()) {
            found.add(Pk.of(c.key()));
          }
        }
        found.forEach(pk -> t.delete(tx, pk.key(t)));
      }
      return !found.isEmpty();
    }
  }

  /**
   * Removes the records from one key to another, in one call.
   *
   * @param from where they begin, null for no bound
   * @param to where they end, itself excluded; null for no bound
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
    public boolean run(Transaction tx, Table t, Kind kind) {
      if (kind == Kind.BYTES) {
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

  /** Makes a table, with records in a transaction of their own or without. */
  record CreateTable(String table, Kind kind, List<String> indexes) implements Step {
    @Override
    public void apply(State state) {
      state.tables.put(table, new Contents(kind, new TreeSet<>(indexes), new TreeMap<>()));
    }

    @Override
    public void run(Database db, State before) {
      apply(before);
      db.table(before.tables.get(table).spec(table));
    }
  }

  /** Drops a table. */
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

  /** Builds an index over what is there, or refuses because of two records with one value. */
  record CreateIndex(String table, String index) implements Step {
    private static boolean possible(Contents c, String index) {
      return !index.equals("by_unique")
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

  /** Drops an index. */
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
      Table open = db.table(before.tables.get(table).spec(table));
      try {
        assertEquals(true, db.renameTable(table, to));
        assertEquals(false, taken, this::toString);
        assertEquals(to, open.name());
      } catch (InvalidUseException e) {
        assertEquals(true, taken, e::getMessage);
      }
    }
  }

  // --------------------------------------------------------------------------- no change of state

  /** Reads everything. */
  record Look() implements Step {
    @Override
    public void apply(State state) {}

    @Override
    public void run(Database db, State before) {
      State found = State.read(db, before, before.trees());
      if (!before.equals(found)) {
        throw new AssertionError(
            "The database holds something else"
                + (found == null ? "" : State.difference(before, found)));
      }
    }
  }

  /** A checkpoint. */
  record Checkpoint() implements Step {
    @Override
    public void apply(State state) {}

    @Override
    public void run(Database db, State before) {
      io.fovea.SimDatabase.checkpoint(db);
    }
  }

  /** Closes the database and opens it again: what has the database does it. */
  record Reopen() implements Step {
    @Override
    public void apply(State state) {}

    @Override
    public void run(Database db, State before) {
      throw new UnsupportedOperationException();
    }
  }

  /** A value for a table of byte strings. */
  static Value bytes(int length, int seed) {
    return new Value(0, "", 0, length == 0 ? Blob.EMPTY : new Blob(length, seed));
  }
}
