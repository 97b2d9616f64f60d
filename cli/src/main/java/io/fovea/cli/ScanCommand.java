package io.fovea.cli;

import io.fovea.ByteCursor;
import io.fovea.Cursor;
import io.fovea.Database;
import io.fovea.Index;
import io.fovea.Key;
import io.fovea.Order;
import io.fovea.Range;
import io.fovea.Row;
import io.fovea.Table;
import io.fovea.schema.Field;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.NameText;
import io.fovea.schema.TableSpec;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Which records does a table have? */
@Command(
    name = "scan",
    description = {
      "Shows records of a table of a database that nobody has open, in the order of their keys or of"
          + " an index. With parts of a key: those that begin with them. Objects are shown as the"
          + " bytes that they are. Nothing on disk changes."
    })
final class ScanCommand extends FileCommand {
  private static final int SHOWN = 100;

  @Parameters(index = "1", paramLabel = "TABLE", description = "Which table.")
  String table = "";

  @Parameters(
      index = "2..*",
      arity = "0..*",
      paramLabel = "PART",
      description = {
        "The first parts of the key, or of that of the index: numbers, texts, bytes as hexadecimal"
            + " digits. Of a table of bytes or objects, what keys begin with: 0x and hexadecimal"
            + " digits, or text."
      })
  List<String> parts = new ArrayList<>();

  @Option(names = "--index", paramLabel = "INDEX", description = "In the order of an index.")
  @Nullable String index;

  @Option(names = "--descending", description = "Backwards.")
  boolean descending;

  @Option(
      names = "--limit",
      paramLabel = "N",
      description = "So many records at most; 0 for all of them. The default is ${DEFAULT-VALUE}.")
  long limit = SHOWN;

  private boolean first = true;
  private long shown;

  @Override
  public Integer call() {
    if (limit < 0) {
      throw mistake("--limit takes a number of records, and 0 for all");
    }
    // A snapshot, of which one may read as many records as there are.
    try (Database file = TableFile.open(file());
        Database db = file.snapshot()) {
      TableSpec spec = db.describe(table);
      if (spec == null) {
        throw mistake("there is no table " + NameText.of(table) + ": " + TableFile.others(db));
      }
      Table t = db.table(spec);
      if (json) {
        out().print("[");
      }
      if (spec.isBytes()) {
        bytes(db, t);
      } else {
        rows(db, t);
      }
      if (json) {
        out().println(first ? "]" : "\n]");
      }
    }
    return Main.OK;
  }

  private Order order() {
    return descending ? Order.DESCENDING : Order.ASCENDING;
  }

  private boolean isFull() {
    return limit > 0 && shown == limit;
  }

  // -------------------------------------------------------------------------------------- rows

  private void rows(Database db, Table t) {
    Index by = index == null ? null : index(t, index);
    Key prefix = by == null ? t.key() : by.key();
    List<Field> fields = by == null ? t.spec().key().parts() : prefixFields(by.spec());
    if (parts.size() > fields.size()) {
      throw mistake("the key has " + fields.size() + " parts at most, not " + parts.size());
    }
    for (int i = 0; i < parts.size(); i++) {
      add(prefix, fields.get(i), parts.get(i));
    }
    Range range = parts.isEmpty() ? Range.all() : Range.prefix(prefix);
    db.read(
        tx -> {
          try (Cursor c = by == null ? t.scan(tx, range, order()) : by.scan(tx, range, order())) {
            while (!isFull() && c.next()) {
              show(record(t.spec(), c.key(), c.row()));
            }
          }
          return null;
        });
  }

  private Index index(Table t, String name) {
    for (IndexSpec i : t.spec().indexes()) {
      if (i.name().equals(name)) {
        return t.index(name);
      }
    }
    List<String> names = t.spec().indexes().stream().map(i -> NameText.of(i.name())).toList();
    throw mistake(
        "there is no index "
            + NameText.of(name)
            + (names.isEmpty()
                ? ": the table has none"
                : ": there is " + String.join(", ", names)));
  }

  private static List<Field> prefixFields(IndexSpec spec) {
    return spec.extractedKey() == null ? spec.fields() : spec.extractedKey().parts();
  }

  private void add(Key key, Field part, String text) {
    try {
      switch (part.type()) {
        case INT32 -> key.int32(Integer.parseInt(text));
        case INT64 -> key.int64(Long.parseLong(text));
        case TEXT -> key.text(text);
        case BYTES -> key.bytes(HexFormat.of().parseHex(text));
      }
    } catch (IllegalArgumentException e) {
      throw mistake("'" + text + "' is no value of " + part);
    }
  }

  private static Map<String, @Nullable Object> record(TableSpec spec, Key key, Row row) {
    Map<String, @Nullable Object> m = new LinkedHashMap<>();
    List<Field> keys = spec.key().parts();
    for (int i = 0; i < keys.size(); i++) {
      Field f = keys.get(i);
      Object value =
          switch (f.type()) {
            case INT32, INT64 -> key.getLong(i);
            case TEXT -> key.getText(i);
            case BYTES -> key.getBytes(i);
          };
      m.put(f.name(), value);
    }
    for (Field f : spec.layout().fields()) {
      Object value =
          switch (f.type()) {
            case INT32, INT64 -> row.getLong(f);
            case TEXT -> row.getText(f);
            case BYTES -> row.getBytes(f);
          };
      // A part of the key may have the same name.
      m.put(m.containsKey(f.name()) ? "row." + f.name() : f.name(), value);
    }
    return m;
  }

  // ------------------------------------------------------------------------------------- bytes

  private void bytes(Database db, Table t) {
    if (index != null || parts.size() > 1) {
      throw mistake(
          "a table of " + TableFile.kind(t.spec()) + " has keys of one part, and no index");
    }
    byte[] prefix = parts.isEmpty() ? new byte[0] : prefix(parts.getFirst());
    db.read(
        tx -> {
          try (ByteCursor c =
              prefix.length == 0
                  ? t.bytes().scan(tx, null, null, order())
                  : t.bytes().scanPrefix(tx, prefix, order())) {
            while (!isFull() && c.next()) {
              Map<String, @Nullable Object> m = new LinkedHashMap<>();
              m.put("key", c.key());
              m.put("value", c.value());
              show(m);
            }
          }
          return null;
        });
  }

  private byte[] prefix(String text) {
    if (!text.startsWith("0x")) {
      return text.getBytes(StandardCharsets.UTF_8);
    }
    try {
      return HexFormat.of().parseHex(text.substring(2));
    } catch (IllegalArgumentException e) {
      throw mistake("'" + text + "' has no pairs of hexadecimal digits behind 0x");
    }
  }

  private void show(Map<String, @Nullable Object> record) {
    shown++;
    if (json) {
      out().print(first ? "\n" : ",\n");
      out().print(Json.of(record).indent(2).stripTrailing());
      first = false;
    } else {
      out().println(Text.line(record, false));
    }
  }
}
