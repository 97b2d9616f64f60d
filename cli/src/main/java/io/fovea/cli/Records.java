package io.fovea.cli;

import io.fovea.Change;
import io.fovea.Key;
import io.fovea.LoadOptions;
import io.fovea.LoadReport;
import io.fovea.LoadSource;
import io.fovea.Page;
import io.fovea.Range;
import io.fovea.RowLoad;
import io.fovea.RowTable;
import io.fovea.ScanOrder;
import io.fovea.Table;
import io.fovea.TableLoad;
import io.fovea.Transaction;
import io.fovea.error.InvalidUseException;
import io.fovea.error.ValueTooLargeException;
import io.fovea.schema.Field;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.NameText;
import java.math.BigDecimal;
import java.time.DateTimeException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The records of a table of any kind, as maps from the names in {@link #columns} to values as in
 * {@link FieldText}. Written values may also be texts that represent them.
 *
 * <p>User errors, such as a key with too many parts or a text that is not a number, are {@linkplain
 * FileCommand#mistake mistakes} of the command. Not thread-safe.
 */
abstract sealed class Records permits RowRecords, ByteRecords, ObjectRecords {
  final FileCommand command;
  final RowTable table;

  Records(FileCommand command, RowTable table) {
    this.command = command;
    this.table = table;
  }

  /**
   * Returns the records of a table.
   *
   * @param bytes whether objects are treated as bytes
   */
  static Records of(FileCommand command, RowTable table, boolean bytes) {
    return !table.spec().isBytes()
        ? new RowRecords(command, table)
        : bytes || table.spec().objects() == null
            ? new ByteRecords(command, table)
            : new ObjectRecords(command, table);
  }

  /** Names of a record's values, the parts of the key first. */
  abstract List<String> columns();

  /** Number of parts of a whole key. */
  abstract int keyParts();

  /**
   * Passes the records within bounds to the sink, in the order of an index or of their keys, until
   * the sink is full. A part of an index key may be null.
   */
  abstract void scan(
      Transaction tx,
      Bounds bounds,
      @Nullable String index,
      ScanOrder order,
      Predicate<Map<String, @Nullable Object>> sink);

  /**
   * Reads a page of the records that begin with a prefix or at a lower bound, in the order of an
   * index or of their keys. A page begins where the last one ended, whatever is before it.
   *
   * @param bounds parts, or a lower bound, or neither
   * @param after {@link Page#next} of the last page; null for the first page
   * @param item converts a record; called with one at a time, because the values of a page may not
   *     fit into memory
   * @throws InvalidUseException if {@code after} is damaged or of another search
   */
  abstract <T> Page<T> page(
      Transaction tx,
      Bounds bounds,
      @Nullable String index,
      ScanOrder order,
      @Nullable String after,
      int limit,
      Function<Map<String, @Nullable Object>, T> item);

  /**
   * Collects pages of one record, so that only one value is in memory.
   *
   * @param one returns the page after a token
   */
  static <T> Page<T> oneByOne(
      int limit,
      @Nullable String after,
      Function<@Nullable String, Page<Map.Entry<byte[], byte[]>>> one,
      BiFunction<byte[], byte[], T> item) {
    List<T> items = new ArrayList<>();
    String at = after;
    do {
      Page<Map.Entry<byte[], byte[]>> page = one.apply(at);
      page.items().forEach(e -> items.add(item.apply(e.getKey(), e.getValue())));
      at = page.next();
    } while (at != null && items.size() < limit);
    return new Page<>(items, at);
  }

  /** Reads a page by keys in bytes, which begin with a prefix or at a lower bound. */
  static <T> Page<T> page(
      Table<byte[], byte[]> table,
      Transaction tx,
      byte[] prefix,
      byte[] low,
      ScanOrder order,
      @Nullable String after,
      int limit,
      BiFunction<byte[], byte[], T> item) {
    byte[] from = prefix.length > 0 ? prefix : low;
    byte[] to = Bounds.above(prefix);
    return oneByOne(
        limit,
        after,
        at ->
            table.page(
                tx, from.length == 0 ? null : from, to.length == 0 ? null : to, order, at, 1),
        item);
  }

  /** A value in the form of a part of a key; null for null. */
  static @Nullable String text(@Nullable Object value) {
    return switch (value) {
      case null -> null;
      case byte[] b -> HexFormat.of().formatHex(b);
      case BigDecimal d -> d.toPlainString();
      default -> value.toString();
    };
  }

  /** Returns a record; null if there is none. */
  abstract @Nullable Map<String, @Nullable Object> get(Transaction tx, List<String> key);

  /**
   * Sets a record. Values not in the map are unchanged; in a new record they are null, 0 or empty.
   */
  abstract void put(Transaction tx, List<String> key, Map<String, @Nullable String> values);

  /** Where imported records go. */
  sealed interface Target {
    /** A transaction: fields that a record does not name keep their values. */
    record OfTransaction(Transaction tx) implements Target {}

    /** A load of rows. */
    record OfRows(RowLoad load) implements Target {}

    /** A load of byte strings, or of objects as bytes. */
    record OfBytes(TableLoad<byte[], byte[]> load) implements Target {}
  }

  /** The columns of imported records, resolved once. */
  static class Columns {
    final List<String> names;

    /** For each part of the key its position in a record. */
    final int[] key;

    /** The positions of the other values. */
    final int[] others;

    private Columns(List<String> names, int[] key, int[] others) {
      this.names = names;
      this.key = key;
      this.others = others;
    }

    Columns(Columns of) {
      this(of.names, of.key, of.others);
    }
  }

  /** Resolves the columns of records, for {@link #set}. */
  Columns resolve(List<String> names) {
    List<String> parts = columns().subList(0, keyParts());
    int[] key = new int[parts.size()];
    for (int i = 0; i < key.length; i++) {
      key[i] = names.indexOf(parts.get(i));
      if (key[i] < 0) {
        throw noPart(i);
      }
    }
    int[] others =
        IntStream.range(0, names.size()).filter(i -> !parts.contains(names.get(i))).toArray();
    return new Columns(names, key, others);
  }

  /**
   * Sets an imported record, as {@link #put} does.
   *
   * @param columns of this table
   * @param values exported values, in the order of the columns
   * @param emptyIfMissing whether a missing value of a column that is not nullable is empty
   */
  abstract void set(Target to, Columns columns, @Nullable String[] values, boolean emptyIfMissing);

  /** Returns a part of the key of an imported record. */
  final String part(Columns columns, int i, @Nullable String[] values, boolean emptyIfMissing) {
    String part = values[columns.key[i]];
    if (part == null && !emptyIfMissing) {
      throw noPart(i);
    }
    return part == null ? "" : part;
  }

  private RuntimeException noPart(int i) {
    return command.mistake("the key has no '" + columns().get(i) + "'");
  }

  /** Loads records: all of them or none. */
  <X extends Exception> LoadReport load(LoadOptions options, LoadSource<Target, X> source)
      throws X {
    return table.bytes().<X>load(options, load -> source.run(new Target.OfBytes(load)));
  }

  /** Deletes a record; returns whether it existed. */
  abstract boolean delete(Transaction tx, List<String> key);

  /**
   * Returns the key of a changed record.
   *
   * @throws RuntimeException if the record does not match the known table
   */
  abstract Map<String, @Nullable Object> key(Change of);

  /**
   * Returns the new value of a changed record, without its key.
   *
   * @throws RuntimeException if the record does not match the known table
   */
  abstract Map<String, @Nullable Object> value(Change of);

  /** Whether values of the column may be null. */
  boolean mayBeNull(String column) {
    return false;
  }

  /** The column of a field of the table's keys, rows or index keys. */
  String column(Field of) {
    return of.name();
  }

  /** Converts an exported value to the form used on the command line. */
  String word(String exported) {
    return exported;
  }

  final void requireWholeKey(List<String> key) {
    if (key.size() != keyParts()) {
      throw command.mistake(
          "the key has "
              + keyParts()
              + (keyParts() == 1 ? " part" : " parts")
              + ", not "
              + key.size()
              + ": "
              + String.join(", ", columns().subList(0, keyParts())));
    }
  }

  final void requireIndex(String name) {
    List<String> names = table.spec().indexes().stream().map(IndexSpec::name).toList();
    if (!names.contains(name)) {
      throw command.mistake(
          "there is no index "
              + NameText.of(name)
              + (names.isEmpty()
                  ? ": the table has no indexes"
                  : ": there is " + String.join(", ", names.stream().map(NameText::of).toList())));
    }
  }

  /** Returns the parts; none may be null. */
  final List<String> whole(List<@Nullable String> parts) {
    List<String> all = new ArrayList<>();
    for (String part : parts) {
      if (part == null) {
        throw command.mistake("parts of a table's key can't be null: give --index");
      }
      all.add(part);
    }
    return all;
  }

  final byte[] hex(String digits) {
    try {
      return HexFormat.of().parseHex(digits);
    } catch (IllegalArgumentException e) {
      throw command.mistake("'" + digits + "' does not consist of pairs of hexadecimal digits");
    }
  }

  /** The fields of an index key. */
  static List<Field> fields(IndexSpec spec) {
    return spec.extractedKey() == null ? spec.fields() : spec.extractedKey().parts();
  }

  /**
   * Returns the range of some bounds.
   *
   * @param empty creates an empty key, of the table or of an index
   * @param of the fields of that key
   */
  final Range range(Supplier<Key> empty, List<Field> of, Bounds bounds) {
    List<@Nullable String> low = bounds.low();
    List<@Nullable String> high = bounds.high();
    if (low.isEmpty() && high.isEmpty()) {
      return Range.all();
    }
    Key lo = key(empty, of, low);
    Key hi = key(empty, of, high);
    boolean from = bounds.isLowIncluded();
    if (high.isEmpty()) {
      return from ? Range.atLeast(lo) : Range.greaterThan(lo);
    }
    boolean to = bounds.isHighIncluded();
    return low.isEmpty() ? to ? Range.atMost(hi) : Range.lessThan(hi) : Range.of(lo, from, hi, to);
  }

  final Key key(Supplier<Key> empty, List<Field> of, List<? extends @Nullable String> parts) {
    if (parts.size() > of.size()) {
      throw command.mistake("the key has " + of.size() + " parts at most, not " + parts.size());
    }
    Key to = empty.get();
    set(to, of, parts);
    return to;
  }

  /** Sets the first parts of a key. */
  final void set(Key to, List<Field> of, List<? extends @Nullable String> parts) {
    to.clear();
    for (int i = 0; i < parts.size(); i++) {
      append(to, of.get(i), parts.get(i));
    }
  }

  /** Appends a part to a key. */
  final void append(Key to, Field part, @Nullable String text) {
    try {
      if (text == null) {
        to.nullValue();
      } else {
        FieldText.append(to, part, text);
      }
    } catch (IllegalArgumentException
        | DateTimeException
        | InvalidUseException
        | ValueTooLargeException e) {
      throw noValue(text, part);
    }
  }

  final RuntimeException noValue(@Nullable String text, Field of) {
    return command.mistake((text == null ? "null" : "'" + text + "'") + " is not a value of " + of);
  }
}
