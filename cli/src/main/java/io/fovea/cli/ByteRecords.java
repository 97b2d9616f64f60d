package io.fovea.cli;

import com.google.gson.JsonElement;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import io.fovea.Change;
import io.fovea.Cursor;
import io.fovea.Index;
import io.fovea.IndexCursor;
import io.fovea.Key;
import io.fovea.ObjectDump;
import io.fovea.Page;
import io.fovea.Range;
import io.fovea.RowTable;
import io.fovea.ScanOrder;
import io.fovea.Table;
import io.fovea.TableLoad;
import io.fovea.Transaction;
import io.fovea.error.InvalidUseException;
import io.fovea.schema.Field;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** Records of a table of bytes, or of a table of objects as bytes. */
final class ByteRecords extends Records {
  static final String KEY = "key";
  static final String VALUE = "value";

  /** The prefix of hexadecimal digits where text is accepted too. */
  private static final String HEX = "0x";

  private final Table<byte[], byte[]> bytes;

  ByteRecords(FileCommand command, RowTable table) {
    super(command, table);
    this.bytes = table.bytes();
  }

  @Override
  List<String> columns() {
    return List.of(KEY, VALUE);
  }

  @Override
  int keyParts() {
    return 1;
  }

  @Override
  void scan(
      Transaction tx,
      Bounds bounds,
      @Nullable String index,
      ScanOrder order,
      Predicate<Map<String, @Nullable Object>> sink) {
    if (index != null) {
      scanIndex(tx, bounds, index, order, sink);
      return;
    }
    try (Cursor<byte[], byte[]> c = cursor(tx, bounds, order)) {
      boolean goesOn = true;
      while (goesOn && c.next()) {
        goesOn = sink.test(record(c.key(), c.value()));
      }
    }
  }

  private Cursor<byte[], byte[]> cursor(Transaction tx, Bounds bounds, ScanOrder order) {
    byte[] prefix = bound(whole(bounds.parts()));
    if (!bounds.isBounded()) {
      return prefix.length == 0
          ? bytes.scan(tx, null, null, order)
          : bytes.scanPrefix(tx, prefix, order);
    }
    if (prefix.length > 0) {
      throw command.mistake(
          "a table of " + TableFile.kind(table.spec()) + " takes PART or bounds, not both");
    }
    byte[] low = bound(whole(bounds.low()));
    byte[] from =
        bounds.isLowIncluded()
            ? low
            : low.length < table.spec().key().maxBytes()
                ? Arrays.copyOf(low, low.length + 1) // the next key
                : Bounds.above(low);
    byte[] to = bound(whole(bounds.high()));
    return between(bytes, tx, bounds.isLowIncluded(), from, to, order);
  }

  /**
   * Returns the records between two byte strings, the upper one exclusive.
   *
   * @param open whether an empty {@code from} means no lower bound; otherwise it means that the
   *     range is empty
   * @param to empty for no upper bound
   */
  static Cursor<byte[], byte[]> between(
      Table<byte[], byte[]> table,
      Transaction tx,
      boolean open,
      byte[] from,
      byte[] to,
      ScanOrder order) {
    if (from.length == 0 && !open) {
      byte[] nowhere = {0};
      return table.scan(tx, nowhere, nowhere, order);
    }
    return table.scan(tx, from.length == 0 ? null : from, to.length == 0 ? null : to, order);
  }

  /** Returns a bound of a table of bytes as a key. */
  private byte[] bound(List<String> parts) {
    if (parts.size() > 1) {
      throw command.mistake("a table of " + TableFile.kind(table.spec()) + " has keys of one part");
    }
    return parts.isEmpty() ? new byte[0] : bytes(parts.getFirst());
  }

  private void scanIndex(
      Transaction tx,
      Bounds bounds,
      String index,
      ScanOrder order,
      Predicate<Map<String, @Nullable Object>> sink) {
    requireIndex(index);
    if (table.spec().objects() == null) {
      scanComputed(tx, bounds, bytes.index(index, Key.class), order, sink);
      return;
    }
    if (!bounds.isAll()) {
      throw command.mistake(
          "an index of "
              + TableFile.kind(table.spec())
              + " as bytes is shown as a whole, without a key");
    }
    try (Cursor<byte[], byte[]> c = ObjectDump.of(table).scanIndex(tx, index, List.of(), order)) {
      boolean goesOn = true;
      while (goesOn && c.next()) {
        goesOn = sink.test(record(c.key(), c.value()));
      }
    }
  }

  /** Scans in the order of a computed key, which is stored in the index entries. */
  private void scanComputed(
      Transaction tx,
      Bounds bounds,
      Index<Key, byte[], byte[]> index,
      ScanOrder order,
      Predicate<Map<String, @Nullable Object>> sink) {
    List<Field> of = fields(index.spec());
    try (IndexCursor<Key, byte[], byte[]> c =
        index.scan(tx, range(index::key, of, bounds), order)) {
      boolean goesOn = true;
      while (goesOn && c.next()) {
        Map<String, @Nullable Object> m = values(c.indexKey(), of);
        m.putAll(record(c.key(), c.value()));
        goesOn = sink.test(m);
      }
    }
  }

  @Override
  <T> Page<T> page(
      Transaction tx,
      Bounds bounds,
      @Nullable String index,
      ScanOrder order,
      @Nullable String after,
      int limit,
      Function<Map<String, @Nullable Object>, T> item) {
    if (index == null) {
      return page(
          bytes,
          tx,
          bound(whole(bounds.parts())),
          bound(whole(bounds.low())),
          order,
          after,
          limit,
          (k, v) -> item.apply(record(k, v)));
    }
    requireIndex(index);
    if (table.spec().objects() != null) {
      throw command.mistake("an index of objects as bytes has no pages");
    }
    return pageComputed(tx, bounds, bytes.index(index, Key.class), order, after, limit, item);
  }

  /**
   * Reads a page in the order of a computed key, which only the entries contain: a page of records
   * has no entries, so these are read by a second cursor. It begins after all entries with the last
   * key of the page before: until the records reach its first entry, they have that key.
   *
   * <pre>
   *   entries     7 a   7 b   7 c   7 d   8 e   9 f        the page before ended with 7 b
   *   records                 c     d     e     f          7, 7, then with the cursor: 8, 9
   *   cursor                              8 e   9 f
   * </pre>
   *
   * @param after a token of the engine, a dot, and the last key as a JSON array
   */
  private <T> Page<T> pageComputed(
      Transaction tx,
      Bounds bounds,
      Index<Key, byte[], byte[]> index,
      ScanOrder order,
      @Nullable String after,
      int limit,
      Function<Map<String, @Nullable Object>, T> item) {
    List<Field> of = fields(index.spec());
    Key prefix = bounds.parts().isEmpty() ? null : key(index::key, of, bounds.parts());
    Key low = bounds.low().isEmpty() ? null : key(index::key, of, bounds.low());
    Key last = null;
    String token = null;
    if (after != null) {
      int dot = after.indexOf('.') + 1;
      token = after.substring(0, Math.max(0, dot - 1));
      last = key(index::key, of, parts(after.substring(dot)));
    }
    Range rest =
        last == null
            ? range(index::key, of, bounds)
            : order == ScanOrder.ASCENDING ? Range.greaterThan(last) : Range.lessThan(last);
    List<Map<String, @Nullable Object>> current = new ArrayList<>();
    current.add(last == null ? Map.of() : values(last, of));
    try (IndexCursor<Key, byte[], byte[]> entries = index.scan(tx, rest, order)) {
      boolean[] found = {entries.next()};
      Page<T> page =
          oneByOne(
              limit,
              token,
              at ->
                  prefix == null
                      ? index.page(tx, low, null, order, at, 1)
                      : index.page(tx, prefix, order, at, 1),
              (k, v) -> {
                if (found[0] && Arrays.equals(entries.key(), k)) {
                  current.set(0, values(entries.indexKey(), of));
                  found[0] = entries.next();
                }
                Map<String, @Nullable Object> m = new LinkedHashMap<>(current.getFirst());
                m.putAll(record(k, v));
                return item.apply(m);
              });
      String next = page.next();
      return new Page<>(
          page.items(),
          next == null
              ? null
              : next
                  + '.'
                  + Json.compact(current.getFirst().values().stream().map(Records::text).toList()));
    }
  }

  /** The parts of a computed key by column. */
  private static Map<String, @Nullable Object> values(Key by, List<Field> of) {
    Map<String, @Nullable Object> m = new LinkedHashMap<>();
    for (int i = 0; i < of.size(); i++) {
      m.put(column(of.get(i).name()), FieldText.value(by, i, of.get(i)));
    }
    return m;
  }

  private static List<@Nullable String> parts(String json) {
    try {
      List<@Nullable String> parts = new ArrayList<>();
      for (JsonElement e : JsonParser.parseString(json).getAsJsonArray()) {
        parts.add(e.isJsonNull() ? null : e.getAsString());
      }
      return parts;
    } catch (JsonParseException | IllegalStateException | UnsupportedOperationException e) {
      throw new InvalidUseException("The position is damaged, or belongs to another search.");
    }
  }

  @Override
  String column(Field of) {
    return column(of.name());
  }

  private static String column(String part) {
    return part.equals(KEY) || part.equals(VALUE) ? "index." + part : part;
  }

  private static Map<String, @Nullable Object> record(byte[] key, byte[] value) {
    Map<String, @Nullable Object> m = new LinkedHashMap<>();
    m.put(KEY, key);
    m.put(VALUE, value);
    return m;
  }

  @Override
  Map<String, @Nullable Object> key(Change of) {
    return named(KEY, of.keyBytes());
  }

  @Override
  Map<String, @Nullable Object> value(Change of) {
    return named(VALUE, of.valueBytes());
  }

  /** Returns a map with one value. */
  static Map<String, @Nullable Object> named(String name, byte @Nullable [] bytes) {
    Map<String, @Nullable Object> m = new LinkedHashMap<>();
    m.put(name, bytes);
    return m;
  }

  @Override
  @Nullable Map<String, @Nullable Object> get(Transaction tx, List<String> key) {
    byte[] k = wholeKey(key);
    byte[] value = bytes.get(tx, k);
    return value == null ? null : record(k, value);
  }

  @Override
  void put(Transaction tx, List<String> key, Map<String, @Nullable String> values) {
    byte[] k = wholeKey(key);
    values.keySet().forEach(this::requireValue);
    bytes.put(tx, k, bytes(required(values.get(VALUE))));
  }

  private void requireValue(String column) {
    if (!column.equals(VALUE)) {
      throw command.mistake("a record has only a key and a value, and no " + column);
    }
  }

  private String required(@Nullable String value) {
    if (value == null) {
      throw command.mistake("the value is missing");
    }
    return value;
  }

  @Override
  boolean delete(Transaction tx, List<String> key) {
    return bytes.delete(tx, wholeKey(key));
  }

  @Override
  void set(Target to, Columns columns, @Nullable String[] values, boolean emptyIfMissing) {
    byte[] key = hex(part(columns, 0, values, emptyIfMissing));
    String value = null;
    for (int i : columns.others) {
      requireValue(columns.names.get(i));
      value = values[i] == null && emptyIfMissing ? "" : values[i];
    }
    put(to, bytes, key, hex(required(value)));
  }

  /** Sets a record as it is stored. */
  static void put(Target to, Table<byte[], byte[]> table, byte[] key, byte[] value) {
    switch (to) {
      case Target.OfTransaction(Transaction tx) -> table.put(tx, key, value);
      case Target.OfBytes(TableLoad<byte[], byte[]> load) -> load.add(key, value);
      case Target.OfRows r -> throw new IllegalArgumentException("a load of rows");
    }
  }

  @Override
  String word(String exported) {
    return HEX + exported;
  }

  private byte[] wholeKey(List<String> key) {
    requireWholeKey(key);
    return bytes(key.getFirst());
  }

  /** The bytes of a text or of hexadecimal digits. */
  byte[] bytes(String text) {
    return text.startsWith(HEX)
        ? hex(text.substring(HEX.length()))
        : text.getBytes(StandardCharsets.UTF_8);
  }
}
