package io.fovea.cli;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import io.fovea.schema.Field;
import io.fovea.schema.FieldDefinition;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.time.DateTimeException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The line of an export that describes the table, for an import that creates it.
 *
 * <pre>
 *   {"fovea":{"table":"stock","kind":"rows","key":[...],"row":[...],"indexes":[...]}}     JSON
 *   # {"fovea":{...}}                                                                     CSV
 * </pre>
 *
 * <p>The description is that of {@code schema --json}. Immutable and thread-safe.
 */
final class SchemaLine {
  private static final String NAME = "fovea";

  /** The start of such a line; the values of a record are never objects. */
  private static final String START = "{\"" + NAME + "\":{";

  private static final String COMMENT = "# ";

  /** The number of characters needed to recognize such a line. */
  static final int START_LENGTH = COMMENT.length() + START.length();

  private final JsonObject schema;

  private SchemaLine(JsonObject schema) {
    this.schema = schema;
  }

  /** The line, without its end. */
  static String of(TableSpec spec, Format format) {
    String line = Json.compact(Map.of(NAME, TableFile.map(spec)));
    return format == Format.CSV ? COMMENT + line : line;
  }

  /** Recognizes a line by its first {@link #START_LENGTH} characters. */
  static boolean is(String start) {
    return start.startsWith(START) || start.startsWith(COMMENT + START);
  }

  /** Parses a line; null if it is malformed. */
  static @Nullable SchemaLine read(String line) {
    try {
      JsonElement all = JsonParser.parseString(line.substring(line.indexOf('{')));
      return new SchemaLine(all.getAsJsonObject().getAsJsonObject(NAME));
    } catch (JsonParseException | IllegalStateException | ClassCastException e) {
      return null;
    }
  }

  /** The type of the objects; null for other tables. */
  @Nullable String objects() {
    JsonElement objects = schema.get("objects");
    return objects == null || objects.isJsonNull() ? null : objects.getAsString();
  }

  /**
   * Returns the table.
   *
   * @param name its name
   * @throws IllegalArgumentException with the reason, if only its application can create it
   */
  TableSpec spec(String name) {
    try {
      return table(name);
    } catch (NullPointerException
        | IllegalStateException
        | ClassCastException
        | UnsupportedOperationException
        | NumberFormatException
        | DateTimeException e) {
      throw new IllegalArgumentException("the first line does not describe the table", e);
    }
  }

  private TableSpec table(String name) {
    JsonArray keyParts = schema.getAsJsonArray("key");
    if (objects() != null) {
      throw new IllegalArgumentException(
          "only its application can create a table of objects: open it there once");
    }
    if (!schema.has("row")) {
      if (schema.has("indexes")) {
        schema.getAsJsonArray("indexes").forEach(i -> requireNotComputed(i.getAsJsonObject()));
      }
      TableSpec bytes =
          TableSpec.bytes(name, keyParts.get(0).getAsJsonObject().get("bytes").getAsInt());
      JsonObject expires = schema.getAsJsonObject("expires");
      return expires == null
          ? bytes
          : bytes.expireAfter(
              expires.get("offset").getAsInt(), Duration.parse(expires.get("after").getAsString()));
    }
    KeySpec.Definition key = KeySpec.define();
    keyParts.forEach(f -> add(key, f.getAsJsonObject()));
    Layout.Definition row = Layout.define();
    schema
        .getAsJsonArray("row")
        .forEach(
            f -> {
              JsonObject field = f.getAsJsonObject();
              add(is(field, "nullable") ? row.nullable() : row, field);
            });
    KeySpec keySpec = key.build();
    Layout layout = row.build();
    TableSpec spec = TableSpec.of(name, keySpec, layout);
    JsonArray indexes = schema.getAsJsonArray("indexes");
    for (JsonElement i : indexes == null ? new JsonArray() : indexes) {
      spec = spec.with(index(i.getAsJsonObject(), keySpec, layout));
    }
    if (schema.has("expires")) {
      JsonObject e = schema.getAsJsonObject("expires");
      spec =
          spec.expireAfter(
              layout.field(e.get("field").getAsString()),
              Duration.parse(e.get("after").getAsString()));
    }
    return spec;
  }

  private static void add(FieldDefinition to, JsonObject f) {
    String type = f.get("type").getAsString();
    boolean decimal = f.has("precision");
    FieldSpec.add(
        to,
        f.get("name").getAsString(),
        is(f, "variable") && !type.startsWith("VAR") ? "VAR" + type : type,
        number(f, decimal ? "precision" : "bytes"),
        decimal ? number(f, "scale") : null);
  }

  private static @Nullable Integer number(JsonObject in, String name) {
    JsonElement n = in.get(name);
    return n == null ? null : Integer.valueOf(n.getAsInt());
  }

  /** Whether a flag is set. */
  private static boolean is(JsonObject of, String name) {
    JsonElement e = of.get(name);
    return e != null && e.getAsBoolean();
  }

  /** Returns the name of an index that the command can maintain. */
  private static String requireNotComputed(JsonObject index) {
    String name = index.get("index").getAsString();
    if (is(index, "computed")) {
      throw new IllegalArgumentException(
          "the index " + name + " is by a computed key: create the table in the application");
    }
    return name;
  }

  private static IndexSpec index(JsonObject index, KeySpec key, Layout row) {
    String name = requireNotComputed(index);
    List<Field> fields = new ArrayList<>();
    for (JsonElement f : index.getAsJsonArray("key")) {
      JsonObject field = f.getAsJsonObject();
      String of = field.get("name").getAsString();
      fields.add(is(field, "ofKey") ? key.part(of) : row.field(of));
    }
    Field[] all = fields.toArray(Field[]::new);
    return is(index, "unique") ? IndexSpec.unique(name, all) : IndexSpec.on(name, all);
  }
}
