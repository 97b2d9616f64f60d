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
 * The line of an export that says what the table is, for an import that makes it.
 *
 * <pre>
 *   {"fovea":{"table":"stock","kind":"rows","key":[...],"row":[...],"indexes":[...]}}     JSON
 *   # {"fovea":{...}}                                                                     CSV
 * </pre>
 *
 * <p>What is in it is what {@code schema --json} shows. A value; any thread.
 */
final class SchemaLine {
  private static final String NAME = "fovea";

  /** What such a line begins with; the values of a record are no objects. */
  private static final String START = "{\"" + NAME + "\":{";

  private static final String COMMENT = "# ";

  /** As much of a line as tells whether it is one. */
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

  /** Whether a line is one, by its first {@link #START_LENGTH} characters. */
  static boolean is(String start) {
    return start.startsWith(START) || start.startsWith(COMMENT + START);
  }

  /** Reads one; null if it can't be read. */
  static @Nullable SchemaLine read(String line) {
    try {
      JsonElement all = JsonParser.parseString(line.substring(line.indexOf('{')));
      return new SchemaLine(all.getAsJsonObject().getAsJsonObject(NAME));
    } catch (JsonParseException | IllegalStateException | ClassCastException e) {
      return null;
    }
  }

  /** What the objects are made of; null where there are none. */
  @Nullable String objects() {
    JsonElement objects = schema.get("objects");
    return objects == null || objects.isJsonNull() ? null : objects.getAsString();
  }

  /**
   * The table.
   *
   * @param name what it is to be called
   * @throws IllegalArgumentException with a reason in words, if it can't be made without its
   *     application
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
      throw new IllegalArgumentException("the first line does not say what the table is", e);
    }
  }

  private TableSpec table(String name) {
    JsonArray keyParts = schema.getAsJsonArray("key");
    if (objects() != null) {
      throw new IllegalArgumentException(
          "a table of objects is made by its application: open it there once");
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

  /** Whether something is said to be so. */
  private static boolean is(JsonObject of, String name) {
    JsonElement e = of.get(name);
    return e != null && e.getAsBoolean();
  }

  /** The name of an index that the command can keep. */
  private static String requireNotComputed(JsonObject index) {
    String name = index.get("index").getAsString();
    if (is(index, "computed")) {
      throw new IllegalArgumentException(
          "the index " + name + " is by a key that the application computes: make the table there");
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
