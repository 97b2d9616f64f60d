package io.fovea.cli;

import io.fovea.Database;
import io.fovea.Page;
import io.fovea.ScanOrder;
import io.fovea.cli.console.Failure;
import io.fovea.cli.console.Request;
import io.fovea.error.InvalidUseException;
import io.fovea.schema.NameText;
import io.fovea.schema.TableSpec;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;

/**
 * Reads and changes the records of a console's tables.
 *
 * <p>A page of records ends with a position, from which the next page continues: {@link
 * Records#page}.
 *
 * <p>The pages are not one snapshot: a record that changes its place in between may occur twice, or
 * not at all. Thread-safe.
 */
final class ConsoleRecords {
  private static final int PAGE = 50;
  private static final int PAGE_MAX = 500;

  /** Longer values are abbreviated in lists, and beyond the second limit everywhere. */
  private static final int LIST_CHARS = 100;

  private static final int RECORD_CHARS = 100_000;

  private final ServeCommand command;
  private final ConsoleDatabase database;

  ConsoleRecords(ServeCommand command, ConsoleDatabase database) {
    this.command = command;
    this.database = database;
  }

  private Records open(Database db, String table) {
    TableSpec spec = db.describe(table);
    if (spec == null) {
      throw new Failure(404, "there is no table " + NameText.of(table));
    }
    return Records.of(command, db.table(spec), false);
  }

  // -----------------------------------------------------------------------------------------
  // reading

  /** Returns a page of records. */
  Map<String, @Nullable Object> page(Request r) {
    return database.with(db -> page(db, r));
  }

  private Map<String, @Nullable Object> page(Database db, Request r) {
    Records records = open(db, r.required("table"));
    String index = r.optional("index");
    boolean down = "descending".equals(r.optional("order"));
    boolean starts = !"from".equals(r.optional("mode"));
    int limit = limit(r);
    List<@Nullable String> parts = new ArrayList<>(r.all("part"));
    r.all("null").forEach(i -> parts.set(nullPart(i, parts), null));
    String after = r.optional("at");
    Bounds bounds =
        new Bounds(starts ? parts : List.of(), starts ? List.of() : parts, List.of(), List.of());
    ScanOrder order = down ? ScanOrder.DESCENDING : ScanOrder.ASCENDING;
    Page<Found> page;
    try {
      page =
          db.read(
              tx ->
                  records.page(
                      tx, bounds, index, order, after, limit, each -> found(records, each)));
    } catch (InvalidUseException e) {
      throw after == null ? e : new Failure(400, Text.reason(e));
    }
    List<Found> shown = page.items();
    Map<String, @Nullable Object> m = new LinkedHashMap<>();
    Set<String> columns = new LinkedHashSet<>();
    shown.forEach(each -> columns.addAll(each.cells.keySet()));
    columns.addAll(records.columns());
    m.put("columns", columns);
    m.put(
        "records",
        shown.stream()
            .map(
                record -> {
                  Map<String, @Nullable Object> each = new LinkedHashMap<>();
                  each.put("key", record.key);
                  each.put("cells", columns.stream().map(record.cells::get).toList());
                  return each;
                })
            .toList());
    m.put("next", page.next());
    return m;
  }

  /**
   * A record of a page. Its values are abbreviated, because all long ones of a page may not fit
   * into memory.
   */
  private record Found(
      List<@Nullable String> key, Map<String, @Nullable Map<String, Object>> cells) {}

  private static Found found(Records records, Map<String, @Nullable Object> record) {
    Map<String, @Nullable Map<String, Object>> cells = new LinkedHashMap<>();
    record.forEach((column, value) -> cells.put(column, cell(value, LIST_CHARS)));
    return new Found(texts(records, record, keyColumns(records)), cells);
  }

  private static int limit(Request r) {
    String text = r.optional("limit");
    try {
      int limit = text == null ? PAGE : Integer.parseInt(text);
      if (limit > 0 && limit <= PAGE_MAX) {
        return limit;
      }
    } catch (NumberFormatException e) {
      // not a number
    }
    throw new Failure(400, "limit must be from 1 to " + PAGE_MAX);
  }

  private static int nullPart(String text, List<?> parts) {
    try {
      return Objects.checkIndex(Integer.parseInt(text), parts.size());
    } catch (NumberFormatException | IndexOutOfBoundsException e) {
      throw new Failure(400, "null must be the number of a part");
    }
  }

  private static List<String> keyColumns(Records records) {
    return records.columns().subList(0, records.keyParts());
  }

  // -----------------------------------------------------------------------------------------
  // values

  /** Values in the form that searches and keys take. */
  private static List<@Nullable String> texts(
      Records records, Map<String, @Nullable Object> record, List<String> columns) {
    List<@Nullable String> all = new ArrayList<>();
    for (String column : columns) {
      Object value = record.get(column);
      String text = Records.text(value);
      boolean word = value instanceof byte[] && ByteRecords.KEY.equals(column);
      all.add(text != null && word ? records.word(text) : text);
    }
    return all;
  }

  /** A value for the page: its text, and what kind of value it is; null for null. */
  private static @Nullable Map<String, Object> cell(@Nullable Object value, int chars) {
    if (value == null) {
      return null;
    }
    Map<String, Object> m = new LinkedHashMap<>();
    String text;
    switch (value) {
      case byte[] b -> {
        int shown = Math.min(b.length, chars / 2);
        m.put("kind", "bytes");
        m.put("text", HexFormat.of().formatHex(b, 0, shown));
        m.put("length", b.length);
        m.put("cut", shown < b.length);
        return m;
      }
      case BigDecimal d -> {
        m.put("kind", "number");
        text = d.toPlainString();
      }
      case Number n -> {
        m.put("kind", "number");
        text = n.toString();
      }
      case Map<?, ?> json -> {
        m.put("kind", "json");
        text = Json.compact(json);
      }
      case List<?> json -> {
        m.put("kind", "json");
        text = Json.compact(json);
      }
      default -> {
        m.put("kind", value instanceof Boolean ? "boolean" : "text");
        text = value.toString();
      }
    }
    boolean cut = text.length() > chars;
    m.put("text", cut ? text.substring(0, chars) : text);
    m.put("length", text.length());
    m.put("cut", cut);
    return m;
  }

  // ---------------------------------------------------------------------------------- single
  // records

  private <R extends @Nullable Object> R find(
      String table, List<String> key, BiFunction<Records, Map<String, @Nullable Object>, R> then) {
    return database.with(
        db -> {
          Records records = open(db, table);
          Map<String, @Nullable Object> record = db.read(tx -> records.get(tx, key));
          if (record == null) {
            throw new Failure(404, "there is no such record");
          }
          return then.apply(records, record);
        });
  }

  /** Returns a record. */
  Map<String, @Nullable Object> get(String table, List<String> key) {
    return find(
        table,
        key,
        (records, record) -> {
          Map<String, @Nullable Object> cells = new LinkedHashMap<>();
          record.forEach((column, value) -> cells.put(column, cell(value, RECORD_CHARS)));
          Map<String, @Nullable Object> m = new LinkedHashMap<>();
          m.put("key", texts(records, record, keyColumns(records)));
          m.put("cells", cells);
          return m;
        });
  }

  /** Returns a value of a record in full: its bytes, or its text. */
  byte[] value(Request r) {
    String column = r.required("column");
    return find(
        r.required("table"),
        r.all("key"),
        (records, record) ->
            switch (record.get(column)) {
              case null -> throw new Failure(404, "there is no such value");
              case byte[] b -> b;
              case Object o -> Text.value(o, true).getBytes(StandardCharsets.UTF_8);
            });
  }

  /**
   * Sets a record.
   *
   * @param create whether it must be a new one
   */
  void put(String table, List<String> key, Map<String, @Nullable String> values, boolean create) {
    database.with(
        db -> {
          Records records = writable(db, table);
          db.run(
              tx -> {
                if (create && records.get(tx, key) != null) {
                  throw new Failure(409, "a record with this key already exists");
                }
                records.put(tx, key, values);
              });
          return records;
        });
  }

  /** Deletes a record; returns whether it existed. */
  boolean delete(String table, List<String> key) {
    return database.with(
        db -> {
          Records records = writable(db, table);
          return db.call(tx -> records.delete(tx, key));
        });
  }

  private Records writable(Database db, String table) {
    Records records = open(db, table);
    if (!ConsoleApi.isWritable(records.table.spec())) {
      throw new Failure(
          409, "the table has an index by a computed key: only the application can change it");
    }
    return records;
  }
}
