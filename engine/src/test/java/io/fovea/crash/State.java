package io.fovea.crash;

import io.fovea.Cursor;
import io.fovea.Database;
import io.fovea.IndexCursor;
import io.fovea.Key;
import io.fovea.Range;
import io.fovea.Row;
import io.fovea.RowCursor;
import io.fovea.RowIndex;
import io.fovea.RowTable;
import io.fovea.ScanOrder;
import io.fovea.SimDatabase;
import io.fovea.Transaction;
import io.fovea.error.IncompatibleSchemaException;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.TableSpec;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.NavigableSet;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * The contents of a database as a value: tables, their indexes and records. Used as the test model
 * and for what is read from the engine. Change only a {@link #copy} of a state that is shared.
 */
final class State {
  private static final KeySpec.Definition KEY = KeySpec.define();
  static final Field GROUP = KEY.int32("group");
  static final Field NAME = KEY.text("name", 12);
  static final KeySpec KEY_SPEC = KEY.build();

  /** The kinds of tables. */
  enum Kind {
    /** Rows of about 100 bytes. */
    NARROW(60),
    /** Rows of more than two pages: all changes are changes of long values. */
    WIDE(9000),
    /** Rows with fields of variable length, of up to half a page. */
    VARIABLE(600),
    /** Byte strings of any length. */
    BYTES(4), // the width is not used
    /** Narrow rows that expire by {@link Value#unique}. */
    TIMED(60);

    /** The width of the field that fills most of a row. */
    final int padBytes;

    Kind(int padBytes) {
      this.padBytes = padBytes;
    }
  }

  /** Returns an index of byte strings; each record has an entry in it. */
  private static IndexSpec ofBytes(String name) {
    return switch (originally(name)) {
      case "by_length" ->
          IndexSpec.bytes(
              name,
              KeySpec.of(FieldType.INT32),
              false,
              (key, value, entry) -> {
                entry.int32(value.length);
                return true;
              });
      case "by_end" ->
          IndexSpec.bytes(
              name,
              KeySpec.of(FieldType.INT32, FieldType.INT32),
              false,
              (key, value, entry) -> {
                entry.set(value.length == 0 ? -1 : value[value.length - 1], key.length);
                return true;
              });
      case "by_name" ->
          IndexSpec.bytes(
              name,
              KeySpec.builder().bytes("name", 100).int32("group").build(),
              true,
              (key, value, entry) -> {
                entry.bytes(key, 1, key.length - 1).int32(key[0]);
                return true;
              });
      default -> throw new IllegalArgumentException(name);
    };
  }

  /** Returns the name with which an index was created. */
  static String originally(String index) {
    return index.endsWith("~") ? index.substring(0, index.length() - 1) : index;
  }

  /** How long after its time a row of {@link Kind#TIMED} expires. */
  static final long EXPIRES_AFTER = 1000;

  /** The key of a record. */
  record Pk(int group, String name) implements Comparable<Pk> {
    private static final Comparator<Pk> ORDER =
        Comparator.comparingInt(Pk::group).thenComparing(Pk::name);

    @Override
    public int compareTo(Pk o) {
      return ORDER.compare(this, o);
    }

    /** Encodes the key for tables of byte strings. */
    byte[] bytes() {
      return ((char) ('A' + group) + name).getBytes(StandardCharsets.ISO_8859_1);
    }

    static Pk of(byte[] bytes) {
      String s = new String(bytes, StandardCharsets.ISO_8859_1);
      if (s.isEmpty()) {
        throw new AssertionError("a key without a byte");
      }
      return new Pk(s.charAt(0) - 'A', s.substring(1));
    }

    Key key(RowTable t) {
      return t.key().clear().int32(group).text(name);
    }

    static Pk of(Key key) {
      return new Pk(key.getInt(GROUP), key.getText(NAME));
    }
  }

  /**
   * Bytes derived from a seed, so that the model need not store them.
   *
   * @param length 0, or at least 4
   * @param seed -1 if what was read is not such a string
   */
  record Blob(int length, int seed) {
    static final Blob EMPTY = new Blob(0, 0);

    byte[] bytes() {
      byte[] b = new byte[length];
      for (int i = 0; i < length; i++) {
        b[i] = i < 4 ? (byte) (seed >>> 8 * i) : (byte) ((seed + i) * 0x9E3779B1 >>> 24);
      }
      return b;
    }

    static Blob of(byte[] b) {
      if (b.length == 0) {
        return EMPTY;
      }
      int seed = 0;
      for (int i = 0; i < Math.min(4, b.length); i++) {
        seed |= (b[i] & 255) << 8 * i;
      }
      Blob blob = new Blob(b.length, seed);
      return Arrays.equals(blob.bytes(), b) ? blob : new Blob(b.length, -1);
    }
  }

  /**
   * A record; in a table of byte strings, only {@code pad}.
   *
   * @param extra 0 if the table has no such field
   */
  record Value(int a, String text, long unique, Blob pad, long extra) {
    /** Returns the value as a table of some shape can store it. */
    Value in(Contents c) {
      return extra == 0 || c.kind != Kind.BYTES && c.shape().extra != null ? this : withExtra(0);
    }

    Value withExtra(long other) {
      return new Value(a, text, unique, pad, other);
    }

    Row row(Row row, Shape shape) {
      row.clear()
          .setText(shape.text, text)
          .setLong(shape.unique, unique)
          .setBytes(shape.pad, pad.bytes());
      setA(row, shape);
      if (shape.extra != null) {
        row.setLong(shape.extra, extra);
      }
      return row;
    }

    void setA(Row row, Shape shape) {
      if (shape.a.type() == FieldType.INT32) {
        row.setInt(shape.a, a);
      } else {
        row.setLong(shape.a, a);
      }
    }

    static Value of(Row row, Shape shape) {
      return new Value(
          shape.a.type() == FieldType.INT32 ? row.getInt(shape.a) : (int) row.getLong(shape.a),
          row.getText(shape.text),
          row.getLong(shape.unique),
          Blob.of(row.getBytes(shape.pad)),
          shape.extra == null ? 0 : row.getLong(shape.extra));
    }
  }

  /** A table. If its rows expire, it has those visible to readers, swept or not. */
  record Contents(
      Kind kind, int version, NavigableSet<String> indexes, NavigableMap<Pk, Value> records) {
    Contents(Kind kind, NavigableSet<String> indexes) {
      this(kind, 1, indexes, new TreeMap<>());
    }

    Contents copy() {
      return of(version);
    }

    private Contents of(int otherVersion) {
      return new Contents(kind, otherVersion, new TreeSet<>(indexes), new TreeMap<>(records));
    }

    /** Returns the table at the next version. */
    Contents evolved() {
      Contents c = of(version + 1);
      c.records.replaceAll((pk, v) -> v.withExtra(Shape.extraAfter(c.version, v.extra)));
      return c;
    }

    /** Removes what has expired at a time; returns whether anything has. */
    boolean expire(long now) {
      return kind == Kind.TIMED && records.values().removeIf(v -> isExpired(v, now));
    }

    /** Returns this, or a copy without expired rows. */
    Contents at(long now) {
      if (kind != Kind.TIMED || records.values().stream().noneMatch(v -> isExpired(v, now))) {
        return this;
      }
      Contents c = copy();
      c.expire(now);
      return c;
    }

    private static boolean isExpired(Value v, long now) {
      return v.unique > 0 && v.unique <= now - EXPIRES_AFTER;
    }

    Shape shape() {
      return Shape.of(kind, version);
    }

    /** Returns the present name of an index; null if there is none. */
    @Nullable String named(String index) {
      return indexes.contains(index) ? index : indexes.contains(index + "~") ? index + "~" : null;
    }

    @Override
    public boolean equals(Object o) {
      return o == this
          || o instanceof Contents c
              && kind == c.kind
              && version == c.version
              && indexes.equals(c.indexes)
              && records.equals(c.records);
    }

    @Override
    public int hashCode() {
      return records.hashCode();
    }

    TableSpec spec(String name) {
      if (kind == Kind.BYTES) {
        TableSpec spec = TableSpec.bytes(name, 100);
        for (String index : indexes) {
          spec = spec.with(ofBytes(index));
        }
        return spec;
      }
      TableSpec spec = shape().spec(name, indexes);
      return kind == Kind.TIMED
          ? spec.expireAfter(shape().unique, Duration.ofMillis(EXPIRES_AFTER))
          : spec;
    }

    /** Returns whether a unique index has the value for another key. */
    boolean taken(Pk self, long unique) {
      return named("by_unique") != null
          && records.entrySet().stream()
              .anyMatch(e -> e.getValue().unique == unique && !e.getKey().equals(self));
    }
  }

  final NavigableMap<String, Contents> tables = new TreeMap<>();

  /** The clock; not part of the contents. */
  long now = EXPIRES_AFTER;

  /** The tables that no other state shares. */
  private final Set<String> own = new HashSet<>();

  /** Returns a mutable copy that shares unchanged tables. */
  State copy() {
    State copy = new State();
    copy.tables.putAll(tables);
    copy.now = now;
    own.clear();
    return copy;
  }

  /** Returns the state at a later time, without what expires. */
  State at(long later) {
    State s = copy();
    s.now = later;
    s.tables.replaceAll((name, c) -> c.at(later));
    return s;
  }

  /** Returns a table that may be changed. */
  Contents change(String table) {
    if (own.add(table)) {
      tables.put(table, tables.get(table).copy());
    }
    return tables.get(table);
  }

  void put(String table, @Nullable Contents contents) {
    own.remove(table);
    tables.put(table, Objects.requireNonNull(contents));
  }

  @Nullable Contents remove(String table) {
    own.remove(table);
    return tables.remove(table);
  }

  int records() {
    return tables.values().stream().mapToInt(t -> t.records.size()).sum();
  }

  /** Returns how many trees a file with these contents has. */
  int trees() {
    return 1 + tables.values().stream().mapToInt(t -> 1 + t.indexes.size()).sum();
  }

  @Override
  public boolean equals(Object o) {
    return o instanceof State s && tables.equals(s.tables);
  }

  @Override
  public int hashCode() {
    return tables.hashCode();
  }

  // -------------------------------------------------------------------------------------- reading

  /**
   * Reads a database with the tables of an expected state.
   *
   * @param trees how many trees it was found to have
   * @return null if it has other tables or indexes
   */
  static @Nullable State read(Database db, State expected, int trees) {
    if (trees != expected.trees() || !db.tables().equals(List.copyOf(expected.tables.keySet()))) {
      return null;
    }
    State found = new State();
    for (Map.Entry<String, Contents> e : expected.tables.entrySet()) {
      RowTable t;
      if (SimDatabase.version(db, e.getKey()) != e.getValue().version) {
        return null; // opening it would create the difference
      }
      try {
        if (!e.getValue().indexes.equals(SimDatabase.indexes(db, e.getKey()))) {
          return null; // opening it would build the index
        }
        t = db.table(e.getValue().spec(e.getKey()));
      } catch (IncompatibleSchemaException another) {
        return null;
      }
      Contents c =
          new Contents(
              e.getValue().kind,
              e.getValue().version,
              new TreeSet<>(e.getValue().indexes),
              new TreeMap<>());
      db.read(
          tx -> {
            c.records.clear();
            records(tx, t, c);
            return null;
          });
      counted(t, c);
      found.tables.put(e.getKey(), c);
    }
    return found;
  }

  private static void records(Transaction tx, RowTable t, Contents c) {
    if (c.kind == Kind.BYTES) {
      try (Cursor<byte[], byte[]> cursor = t.bytes().scan(tx, null, null, ScanOrder.ASCENDING)) {
        while (cursor.next()) {
          c.records.put(Pk.of(cursor.key()), Step.bytes(Blob.of(cursor.value())));
        }
      }
      for (String name : c.indexes) {
        int n = 0;
        try (IndexCursor<Key, byte[], byte[]> cursor =
            t.bytes().index(name, Key.class).scan(tx, null, null, ScanOrder.DESCENDING)) {
          while (cursor.next()) {
            other(t, name, c, Pk.of(cursor.key()), Step.bytes(Blob.of(cursor.value())));
            n++;
          }
        }
        all(t, name, c, n);
      }
      return;
    }
    try (RowCursor cursor = t.scan(tx, Range.all(), ScanOrder.ASCENDING)) {
      while (cursor.next()) {
        c.records.put(Pk.of(cursor.key()), Value.of(cursor.row(), c.shape()));
      }
    }
    // The other access path to each record, which uses the index's hints.
    for (String name : c.indexes) {
      RowIndex index = t.index(name);
      int n = 0;
      try (RowCursor cursor = index.scan(tx, Range.all(), ScanOrder.DESCENDING)) {
        while (cursor.next()) {
          other(t, name, c, Pk.of(cursor.key()), Value.of(cursor.row(), c.shape()));
          n++;
        }
      }
      all(t, name, c, n);
    }
  }

  /** Checks that an index leads to the table's record. */
  private static void other(RowTable t, String index, Contents c, Pk pk, Value found) {
    if (!found.equals(c.records.get(pk))) {
      throw new AssertionError(t.name() + ", index " + index + ": wrong record for " + pk);
    }
  }

  private static void all(RowTable t, String index, Contents c, int entries) {
    if (entries != c.records.size()) {
      throw new AssertionError(
          t.name() + ", index " + index + ": " + entries + " entries of " + c.records.size());
    }
  }

  /** Compares the engine's count with what was read. */
  private static void counted(RowTable t, Contents c) {
    long most = t.count();
    long least = most;
    for (String name : c.indexes) {
      long n = t.index(name).count();
      most = Math.max(most, n);
      least = Math.min(least, n);
    }
    // Expired rows count until they are swept.
    boolean right = c.kind == Kind.TIMED ? least >= c.records.size() : least == c.records.size();
    if (!right || most != least) {
      throw new AssertionError(
          t.name() + " counts from " + least + " to " + most + " records of " + c.records.size());
    }
  }

  /** Describes the first differences between two states. */
  static String difference(State expected, State found) {
    StringBuilder out = new StringBuilder();
    if (!expected.tables.keySet().equals(found.tables.keySet())) {
      return "tables " + found.tables.keySet() + " instead of " + expected.tables.keySet();
    }
    int n = 0;
    for (Map.Entry<String, Contents> e : expected.tables.entrySet()) {
      Contents f = found.tables.get(e.getKey());
      NavigableSet<Pk> keys = new TreeSet<>(e.getValue().records.keySet());
      keys.addAll(f.records.keySet());
      for (Pk pk : keys) {
        Value a = e.getValue().records.get(pk);
        Value b = f.records.get(pk);
        if (!Objects.equals(a, b) && n++ < 8) {
          out.append("\n    " + e.getKey() + " " + pk + ": " + b + " instead of " + a);
        }
      }
    }
    return out + (n > 8 ? "\n    and " + (n - 8) + " more" : "");
  }
}
