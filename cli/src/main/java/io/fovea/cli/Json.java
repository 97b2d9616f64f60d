package io.fovea.cli;

import com.google.gson.stream.JsonWriter;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.lang.reflect.RecordComponent;
import java.math.BigDecimal;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Writes values as JSON: maps, records, iterables, numbers, booleans, byte arrays (in hexadecimal)
 * and null; anything else as the string of its {@code toString}.
 *
 * <p>Integers are written in full, so readers that use doubles lose the last digits of those beyond
 * 2^53. Thread-safe.
 */
final class Json {
  private Json() {}

  /** Returns a value as JSON, indented by two spaces per level. */
  static String of(@Nullable Object value) {
    StringWriter out = new StringWriter();
    JsonWriter json = new JsonWriter(out);
    json.setIndent("  ");
    try {
      write(json, value);
    } catch (IOException e) {
      throw new UncheckedIOException(e); // a StringWriter does not throw
    }
    return out.toString();
  }

  /** Returns a value as JSON on one line. */
  static String compact(Object value) {
    StringWriter out = new StringWriter();
    try {
      write(new JsonWriter(out), value);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return out.toString();
  }

  static void write(JsonWriter json, @Nullable Object value) throws IOException {
    switch (value) {
      case null -> json.nullValue();
      case Boolean b -> json.value(b);
      case Double d when !Double.isFinite(d) -> json.value(d.toString());
      case Float f when !Float.isFinite(f) -> json.value(f.toString());
      case BigDecimal d -> json.jsonValue(d.toPlainString());
      case Number n -> json.value(n);
      case byte[] b -> json.value(HexFormat.of().formatHex(b));
      case Record r -> write(json, components(r));
      case Map<?, ?> m -> {
        json.beginObject();
        for (Map.Entry<?, ?> e : m.entrySet()) {
          json.name(String.valueOf(e.getKey()));
          write(json, e.getValue());
        }
        json.endObject();
      }
      case Iterable<?> all -> {
        json.beginArray();
        for (Object each : all) {
          write(json, each);
        }
        json.endArray();
      }
      default -> json.value(value.toString());
    }
  }

  /** The components of a record, in order. */
  static Map<String, @Nullable Object> components(Record r) {
    Map<String, @Nullable Object> map = new LinkedHashMap<>();
    for (RecordComponent c : r.getClass().getRecordComponents()) {
      try {
        map.put(c.getName(), c.getAccessor().invoke(r));
      } catch (ReflectiveOperationException e) {
        throw new IllegalStateException("Can't read " + r.getClass() + "." + c.getName() + ".", e);
      }
    }
    return map;
  }

  /** The components of a record, of records in it and of maps in it, with dots in their names. */
  static Map<String, @Nullable Object> flat(Record r) {
    Map<String, @Nullable Object> all = new LinkedHashMap<>();
    flatten("", components(r), all);
    return all;
  }

  private static void flatten(String prefix, Map<?, ?> of, Map<String, @Nullable Object> all) {
    of.forEach(
        (name, value) -> {
          switch (value) {
            case Record r -> flatten(prefix + name + '.', components(r), all);
            case Map<?, ?> m -> flatten(prefix + name + '.', m, all);
            case null, default -> all.put(prefix + name, value);
          }
        });
  }
}
