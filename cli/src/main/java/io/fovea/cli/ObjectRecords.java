package io.fovea.cli;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import io.fovea.Change;
import io.fovea.Cursor;
import io.fovea.ObjectDump;
import io.fovea.Page;
import io.fovea.RowTable;
import io.fovea.ScanOrder;
import io.fovea.Table;
import io.fovea.Transaction;
import io.fovea.schema.Shape;
import io.fovea.schema.Shape.Component;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Records of a table of objects, decoded by the file's shapes: the parts of the key, then the
 * components. A component with the name of a key part is {@code object.NAME}.
 */
final class ObjectRecords extends Records {
  private final Table<byte[], byte[]> bytes;
  private final ObjectDump dump;
  private final List<String> keyNames;

  ObjectRecords(FileCommand command, RowTable table) {
    super(command, table);
    this.bytes = table.bytes();
    this.dump = ObjectDump.of(table);
    this.keyNames = dump.keyNames();
  }

  @Override
  List<String> columns() {
    List<String> names = new ArrayList<>(keyNames);
    names.addAll(components().keySet());
    return names;
  }

  private String column(String component) {
    return keyNames.contains(component) ? "object." + component : component;
  }

  @Override
  int keyParts() {
    return keyNames.size();
  }

  @Override
  void scan(
      Transaction tx,
      Bounds bounds,
      @Nullable String index,
      ScanOrder order,
      Predicate<Map<String, @Nullable Object>> sink) {
    try (Cursor<byte[], byte[]> c = cursor(tx, bounds, index, order)) {
      boolean goesOn = true;
      while (goesOn && c.next()) {
        goesOn = sink.test(record(c.key(), c.value()));
      }
    }
  }

  private Cursor<byte[], byte[]> cursor(
      Transaction tx, Bounds bounds, @Nullable String index, ScanOrder order) {
    if (index != null) {
      requireIndex(index);
      if (bounds.isBounded()) {
        throw command.mistake("an index of objects takes PART, but no bounds");
      }
      try {
        return dump.scanIndex(tx, index, bounds.parts(), order);
      } catch (IllegalArgumentException e) {
        throw wrong(e);
      }
    }
    byte[] prefix = key(whole(bounds.parts()));
    if (!bounds.isBounded()) {
      return prefix.length == 0
          ? bytes.scan(tx, null, null, order)
          : bytes.scanPrefix(tx, prefix, order);
    }
    byte[] low = key(whole(bounds.low()));
    byte[] high = key(whole(bounds.high()));
    byte[] from = bounds.isLowIncluded() ? low : Bounds.above(low);
    byte[] to = bounds.isHighIncluded() ? Bounds.above(high) : high;
    return ByteRecords.between(bytes, tx, bounds.isLowIncluded(), from, to, order);
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
          key(whole(bounds.parts())),
          key(whole(bounds.low())),
          order,
          after,
          limit,
          (k, v) -> item.apply(record(k, v)));
    }
    requireIndex(index);
    if (bounds.isBounded()) {
      throw command.mistake("an index of objects takes PART, but no bounds");
    }
    try {
      return dump.pageIndex(
          tx, index, bounds.parts(), order, after, limit, (k, v) -> item.apply(record(k, v)));
    } catch (IllegalArgumentException e) {
      throw wrong(e);
    }
  }

  private byte[] key(List<String> parts) {
    try {
      return dump.key(parts);
    } catch (IllegalArgumentException e) {
      throw wrong(e);
    }
  }

  private RuntimeException wrong(IllegalArgumentException e) {
    return command.mistake(Text.reason(e));
  }

  private Map<String, @Nullable Object> record(byte[] key, byte[] value) {
    try {
      Map<String, @Nullable Object> m = new LinkedHashMap<>(dump.key(key));
      dump.object(value).forEach((name, v) -> m.put(column(name), v));
      return m;
    } catch (IllegalArgumentException e) {
      throw command.mistake(
          "an object does not match the file's description of its type ("
              + e.getMessage()
              + "): --hex shows its bytes");
    }
  }

  @Override
  Map<String, @Nullable Object> key(Change of) {
    return new LinkedHashMap<>(dump.key(of.keyBytes()));
  }

  @Override
  Map<String, @Nullable Object> value(Change of) {
    Map<String, @Nullable Object> m = new LinkedHashMap<>();
    dump.object(Objects.requireNonNull(of.valueBytes()))
        .forEach((name, v) -> m.put(column(name), v));
    return m;
  }

  @Override
  @Nullable Map<String, @Nullable Object> get(Transaction tx, List<String> parts) {
    byte[] key = wholeKey(parts);
    byte[] value = bytes.get(tx, key);
    return value == null ? null : record(key, value);
  }

  private byte[] wholeKey(List<String> parts) {
    requireWholeKey(parts);
    return key(parts);
  }

  /** Replaces the whole object: components not in the map are null if they may be. */
  @Override
  void put(Transaction tx, List<String> key, Map<String, @Nullable String> values) {
    byte[] k = wholeKey(key);
    Map<String, @Nullable Object> components = new LinkedHashMap<>();
    values.forEach((column, text) -> add(components, component(column), text));
    bytes.put(tx, k, object(components));
  }

  private Component component(String column) {
    Component of = components().get(column);
    if (of == null) {
      throw command.mistake(
          "an object has no component '"
              + column
              + "': it has "
              + String.join(", ", components().keySet()));
    }
    return of;
  }

  private void add(Map<String, @Nullable Object> to, Component of, @Nullable String text) {
    to.put(of.name(), text != null && hasParts(of.shape()) ? parts(text) : text);
  }

  private byte[] object(Map<String, @Nullable Object> components) {
    try {
      return dump.object(components);
    } catch (IllegalArgumentException e) {
      throw wrong(e);
    }
  }

  private static final class ObjectColumns extends Columns {
    /** The components of the values that are not parts of the key. */
    final Component[] components;

    ObjectColumns(Columns of, Component[] components) {
      super(of);
      this.components = components;
    }
  }

  @Override
  Columns resolve(List<String> names) {
    Columns columns = super.resolve(names);
    Component[] of = new Component[columns.others.length];
    for (int i = 0; i < of.length; i++) {
      of[i] = component(names.get(columns.others[i]));
    }
    return new ObjectColumns(columns, of);
  }

  @Override
  void set(Target to, Columns columns, @Nullable String[] values, boolean emptyIfMissing) {
    String[] parts = new String[columns.key.length];
    for (int i = 0; i < parts.length; i++) {
      parts[i] = part(columns, i, values, emptyIfMissing);
    }
    byte[] key = key(List.of(parts));
    Map<String, @Nullable Object> components = new LinkedHashMap<>();
    Component[] of = ((ObjectColumns) columns).components;
    for (int i = 0; i < of.length; i++) {
      add(components, of[i], values[columns.others[i]]);
    }
    ByteRecords.put(to, bytes, key, object(components));
  }

  @Override
  boolean mayBeNull(String column) {
    return !keyNames.contains(column);
  }

  /** The components by column. */
  private Map<String, Component> components() {
    Map<String, Component> all = new LinkedHashMap<>();
    var shapes = table.spec().objects();
    if (shapes != null) {
      for (Component c : shapes.value().components()) {
        all.put(column(c.name()), c);
      }
    }
    return all;
  }

  private static boolean hasParts(Shape shape) {
    return switch (shape) {
      case Shape.Scalar s -> false;
      case Shape.Enumeration e -> false;
      case Shape.Maybe m -> hasParts(m.of());
      case Shape.Sequence s -> true;
      case Shape.Collected c -> true;
      case Shape.Mapping m -> true;
      case Shape.Composite c -> true;
      case Shape.OneOf o -> true;
    };
  }

  /** Parses lists, and maps by name, of texts. */
  private @Nullable Object parts(String json) {
    try {
      return plain(JsonParser.parseString(json));
    } catch (JsonParseException e) {
      throw command.mistake("'" + json + "' is not JSON, which a component with parts requires");
    }
  }

  private static @Nullable Object plain(JsonElement e) {
    if (e instanceof JsonArray a) {
      List<@Nullable Object> all = new ArrayList<>();
      a.forEach(each -> all.add(plain(each)));
      return all;
    }
    if (e instanceof JsonObject o) {
      Map<String, @Nullable Object> all = new LinkedHashMap<>();
      o.asMap().forEach((name, each) -> all.put(name, plain(each)));
      return all;
    }
    return e.isJsonNull() ? null : e.getAsString();
  }

  @Override
  boolean delete(Transaction tx, List<String> parts) {
    return bytes.delete(tx, wholeKey(parts));
  }
}
