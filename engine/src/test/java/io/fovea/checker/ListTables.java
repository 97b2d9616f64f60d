package io.fovea.checker;

import io.fovea.Row;
import io.fovea.RowTable;
import io.fovea.Transaction;
import io.fovea.error.InvalidUseException;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * Lists that are tables with one record each. A list begins when its table is created. It ends when
 * the table is dropped, or renamed to another list's table, which begins that list. So a
 * transaction's view of the catalog is part of the history.
 */
final class ListTables {
  private static final String PREFIX = "list-";
  private static final Layout.Definition B = Layout.define();
  private static final Field KEY = B.int64("key");
  private static final Field LIFE = B.int32("life");
  private static final Field ELEMENTS = B.bytes("elements", 8 * ListClient.LENGTH_MAX);
  private static final Layout LAYOUT = B.build();
  private static final KeySpec KEY_SPEC = KeySpec.of(FieldType.INT32);

  /** The maximum number of table handles that a client reuses without a lookup by name. */
  private static final int HANDLES_MAX = 8;

  private final ListClient client;
  private final List<RowTable> handles = new ArrayList<>();

  ListTables(ListClient client) {
    this.client = client;
  }

  private static TableSpec spec(long key) {
    return TableSpec.of(PREFIX + key, KEY_SPEC, LAYOUT);
  }

  private RowTable open(Transaction tx, long key) {
    RowTable t = tx.table(spec(key));
    if (handles.size() == HANDLES_MAX) {
      handles.removeFirst();
    }
    handles.add(t);
    return t;
  }

  /** Reads a list by its table's name. */
  State read(long key) {
    Transaction tx = client.tx();
    State s = State.ABSENT;
    if (tx.tables().contains(PREFIX + key)) {
      RowTable t = open(tx, key);
      Row row = t.row();
      if (!get(t, row) || row.getLong(KEY) != key) {
        throw new ListClient.Impossible("table of " + key + " has no record, or a wrong one");
      }
      s = state(row);
    }
    client.txn().ops.add(new Op.Read(key, s));
    return s;
  }

  private boolean get(RowTable t, Row row) {
    try {
      return t.get(client.tx(), t.key().set(0), row);
    } catch (InvalidUseException e) {
      handles.remove(t);
      throw new ListClient.Impossible("dropped, or never created: " + e.getMessage());
    }
  }

  private static State state(Row row) {
    ByteBuffer b = ByteBuffer.wrap(row.getBytes(ELEMENTS));
    long[] list = new long[b.capacity() / 8];
    b.asLongBuffer().get(list);
    return State.of(row.getInt(LIFE), list);
  }

  private void write(long key, State s) {
    Transaction tx = client.tx();
    RowTable t = open(tx, key);
    byte[] bytes = new byte[8 * s.list().length];
    ByteBuffer.wrap(bytes).asLongBuffer().put(s.list());
    Row row = t.row().clear().setLong(KEY, key).setInt(LIFE, s.life()).setBytes(ELEMENTS, bytes);
    try {
      t.put(tx, t.key().set(0), row);
    } catch (InvalidUseException e) {
      throw new ListClient.Impossible("dropped meanwhile: " + e.getMessage());
    }
    client.txn().ops.add(new Op.Append(key, s));
  }

  /** Appends to a list, or begins one and creates its table; only reads a full one. */
  void append(long key) {
    State before = read(key);
    long element = client.element(before);
    if (element >= 0) {
      write(key, before.present() ? before.append(element) : State.of(life(key), element));
    }
  }

  private int life(long key) {
    return client.read(Keys.grave(key)).list().length + 1;
  }

  /** Returns whether a list that was read can be dropped. */
  private boolean ends(long key, State before) {
    return before.present() && client.read(Keys.grave(key)).list().length < ListClient.LENGTH_MAX;
  }

  /** Drops the table of a list, if there is one. */
  void drop(long key) {
    State before = read(key);
    if (ends(key, before)) {
      if (!client.tx().dropTable(PREFIX + key)) {
        throw new ListClient.Impossible("read " + before + ", but could not drop it");
      }
      client.txn().ops.add(new Op.Delete(key, before));
      client.append(Keys.grave(key));
    }
  }

  /** Renames the table of a list to that of another, absent one. */
  void rename(long from, long to) {
    State before = read(from);
    State other = read(to);
    if (ends(from, before) && !other.present()) {
      long element = client.element(other);
      if (element < 0) {
        return;
      }
      int life = life(to);
      if (!client.tx().renameTable(PREFIX + from, PREFIX + to)) {
        throw new ListClient.Impossible("read " + before + ", but could not rename it");
      }
      client.txn().ops.add(new Op.Delete(from, before));
      client.append(Keys.grave(from));
      write(to, State.of(life, element));
    }
  }

  /** Reads a list by another transaction's table handle, whatever its name is now. */
  void readByHandle(int which) {
    RowTable t = handles.isEmpty() ? null : handles.get(which % handles.size());
    if (t == null) {
      return;
    }
    Row row = t.row();
    try {
      if (!t.get(client.tx(), t.key().set(0), row)) {
        throw new ListClient.Impossible("read a table without its record");
      }
    } catch (InvalidUseException e) {
      handles.remove(t); // dropped, or never created
      return;
    }
    client.txn().ops.add(new Op.Read(row.getLong(KEY), state(row)));
  }

  /** Reads all lists. */
  void readAll() {
    for (String name : client.tx().tables()) {
      if (name.startsWith(PREFIX)) {
        read(Long.parseLong(name.substring(PREFIX.length())));
      }
    }
  }
}
