package io.fovea.cli;

import io.fovea.Change;
import io.fovea.Key;
import io.fovea.LoadOptions;
import io.fovea.LoadReport;
import io.fovea.LoadSource;
import io.fovea.Page;
import io.fovea.Range;
import io.fovea.Row;
import io.fovea.RowCursor;
import io.fovea.RowIndex;
import io.fovea.RowLoad;
import io.fovea.RowTable;
import io.fovea.ScanOrder;
import io.fovea.Transaction;
import io.fovea.error.InvalidUseException;
import io.fovea.error.ValueTooLargeException;
import io.fovea.schema.Field;
import java.time.DateTimeException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** Records of a table of rows. */
final class RowRecords extends Records {
  private final List<Field> keyFields;

  /** The fields of rows by column. */
  private final Map<String, Field> fields = new LinkedHashMap<>();

  private final Key key;
  private final Row row;

  RowRecords(FileCommand command, RowTable table) {
    super(command, table);
    this.keyFields = table.spec().key().parts();
    List<String> names = keyFields.stream().map(Field::name).toList();
    for (Field f : table.spec().layout().fields()) {
      // A part of the key may have the same name.
      fields.put(names.contains(f.name()) ? "row." + f.name() : f.name(), f);
    }
    this.key = table.key();
    this.row = table.row();
  }

  @Override
  List<String> columns() {
    List<String> names = new ArrayList<>();
    keyFields.forEach(f -> names.add(f.name()));
    names.addAll(fields.keySet());
    return names;
  }

  @Override
  int keyParts() {
    return keyFields.size();
  }

  @Override
  void scan(
      Transaction tx,
      Bounds bounds,
      @Nullable String index,
      ScanOrder order,
      Predicate<Map<String, @Nullable Object>> sink) {
    RowIndex by = index == null ? null : index(index);
    List<Field> of = by == null ? keyFields : fields(by.spec());
    Range range = range(by == null ? table::key : by::key, of, bounds);
    try (RowCursor c = by == null ? table.scan(tx, range, order) : by.scan(tx, range, order)) {
      boolean goesOn = true;
      while (goesOn && c.next()) {
        goesOn = sink.test(record(c.key(), c.row()));
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
    RowIndex by = index == null ? null : index(index);
    List<Field> of = by == null ? keyFields : fields(by.spec());
    Range range = range(by == null ? table::key : by::key, of, bounds);
    BiFunction<Key, Row, T> converted = (k, r) -> item.apply(record(k, r));
    return by == null
        ? table.page(tx, range, order, after, limit, converted)
        : by.page(tx, range, order, after, limit, converted);
  }

  private RowIndex index(String name) {
    requireIndex(name);
    return table.index(name);
  }

  private Map<String, @Nullable Object> record(Key of, Row with) {
    Map<String, @Nullable Object> m = parts(of);
    m.putAll(values(with));
    return m;
  }

  private Map<String, @Nullable Object> parts(Key of) {
    Map<String, @Nullable Object> m = new LinkedHashMap<>();
    for (int i = 0; i < keyFields.size(); i++) {
      Field f = keyFields.get(i);
      m.put(f.name(), FieldText.value(of, i, f));
    }
    return m;
  }

  private Map<String, @Nullable Object> values(Row of) {
    Map<String, @Nullable Object> m = new LinkedHashMap<>();
    fields.forEach((column, f) -> m.put(column, FieldText.value(of, f)));
    return m;
  }

  @Override
  Map<String, @Nullable Object> key(Change of) {
    return parts(of.key(table));
  }

  @Override
  Map<String, @Nullable Object> value(Change of) {
    return values(Objects.requireNonNull(of.row(table)));
  }

  @Override
  @Nullable Map<String, @Nullable Object> get(Transaction tx, List<String> parts) {
    setKey(parts);
    return table.get(tx, key, row) ? record(key, row) : null;
  }

  private void setKey(List<String> parts) {
    requireWholeKey(parts);
    set(key, keyFields, parts);
  }

  @Override
  void put(Transaction tx, List<String> parts, Map<String, @Nullable String> values) {
    setKey(parts);
    if (values.keySet().containsAll(fields.keySet()) || !table.get(tx, key, row)) {
      row.clear();
    }
    values.forEach((column, text) -> set(field(column), text));
    table.put(tx, key, row);
  }

  private Field field(String column) {
    Field f = fields.get(column);
    if (f == null) {
      throw command.mistake(
          "a row has no field '" + column + "': it has " + String.join(", ", fields.keySet()));
    }
    return f;
  }

  private static final class RowColumns extends Columns {
    /** The fields of the values that are not parts of the key. */
    final Field[] fields;

    RowColumns(Columns of, Field[] fields) {
      super(of);
      this.fields = fields;
    }
  }

  @Override
  Columns resolve(List<String> names) {
    Columns columns = super.resolve(names);
    Field[] of = new Field[columns.others.length];
    for (int i = 0; i < of.length; i++) {
      of[i] = field(names.get(columns.others[i]));
    }
    return new RowColumns(columns, of);
  }

  @Override
  void set(Target to, Columns columns, @Nullable String[] values, boolean emptyIfMissing) {
    key.clear();
    for (int i = 0; i < columns.key.length; i++) {
      append(key, keyFields.get(i), part(columns, i, values, emptyIfMissing));
    }
    Field[] of = ((RowColumns) columns).fields;
    if (!(to instanceof Target.OfTransaction t)
        || of.length == fields.size()
        || !table.get(t.tx(), key, row)) {
      row.clear();
    }
    for (int i = 0; i < of.length; i++) {
      String text = values[columns.others[i]];
      set(of[i], text == null && emptyIfMissing && !of[i].nullable() ? "" : text);
    }
    switch (to) {
      case Target.OfTransaction(Transaction tx) -> table.put(tx, key, row);
      case Target.OfRows(RowLoad load) -> load.add(key, row);
      case Target.OfBytes b -> throw new IllegalArgumentException("not a load of rows");
    }
  }

  @Override
  <X extends Exception> LoadReport load(LoadOptions options, LoadSource<Target, X> source)
      throws X {
    return table.<X>load(options, load -> source.run(new Target.OfRows(load)));
  }

  private void set(Field f, @Nullable String text) {
    try {
      FieldText.set(row, f, text);
    } catch (IllegalArgumentException
        | DateTimeException
        | InvalidUseException
        | ValueTooLargeException e) {
      throw noValue(text, f);
    }
  }

  @Override
  String column(Field of) {
    return of.key() || fields.containsKey(of.name()) ? of.name() : "row." + of.name();
  }

  @Override
  boolean mayBeNull(String column) {
    Field f = fields.get(column);
    return f != null && f.nullable();
  }

  @Override
  boolean delete(Transaction tx, List<String> parts) {
    setKey(parts);
    return table.delete(tx, key);
  }
}
