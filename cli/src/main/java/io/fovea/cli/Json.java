package io.fovea.cli;

import java.lang.reflect.RecordComponent;
import java.util.HexFormat;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Writes values as JSON: maps, records, iterables, numbers, booleans, byte arrays (as hexadecimal
 * digits) and null; of everything else what it says of itself, as a string.
 *
 * <p>Whole numbers are written as they are, so that a reader who takes them for doubles loses the
 * last digits of those beyond 2^53. Any thread.
 */
final class Json {
  private final StringBuilder out = new StringBuilder();

  private Json() {}

  /** A value as JSON, two spaces a level. */
  static String of(@Nullable Object value) {
    Json json = new Json();
    json.value(value, 0);
    return json.out.toString();
  }

  private void value(@Nullable Object v, int depth) {
    switch (v) {
      case null -> out.append("null");
      case Boolean b -> out.append(b);
      case Double d -> out.append(Double.isFinite(d) ? d.toString() : "null");
      case Number n -> out.append(n);
      case byte[] b -> string(HexFormat.of().formatHex(b));
      case Map<?, ?> m -> map(m, depth);
      case Record r -> map(components(r), depth);
      case Iterable<?> i -> list(i, depth);
      default -> string(v.toString());
    }
  }

  /** The components of a record, in their order. */
  static Map<String, @Nullable Object> components(Record r) {
    Map<String, @Nullable Object> map = new java.util.LinkedHashMap<>();
    for (RecordComponent c : r.getClass().getRecordComponents()) {
      try {
        map.put(c.getName(), c.getAccessor().invoke(r));
      } catch (ReflectiveOperationException e) {
        throw new IllegalStateException("Can't read " + r.getClass() + "." + c.getName() + ".", e);
      }
    }
    return map;
  }

  private void map(Map<?, ?> m, int depth) {
    out.append('{');
    String separator = "";
    for (Map.Entry<?, ?> e : m.entrySet()) {
      out.append(separator);
      line(depth + 1);
      string(String.valueOf(e.getKey()));
      out.append(": ");
      value(e.getValue(), depth + 1);
      separator = ",";
    }
    if (!m.isEmpty()) {
      line(depth);
    }
    out.append('}');
  }

  private void list(Iterable<?> list, int depth) {
    out.append('[');
    String separator = "";
    for (Object o : list) {
      out.append(separator);
      line(depth + 1);
      value(o, depth + 1);
      separator = ",";
    }
    if (!separator.isEmpty()) {
      line(depth);
    }
    out.append(']');
  }

  private void line(int depth) {
    out.append('\n').repeat("  ", depth);
  }

  private void string(String s) {
    out.append('"');
    for (int i = 0; i < s.length(); i++) {
      char c = s.charAt(i);
      switch (c) {
        case '"' -> out.append("\\\"");
        case '\\' -> out.append("\\\\");
        case '\n' -> out.append("\\n");
        case '\r' -> out.append("\\r");
        case '\t' -> out.append("\\t");
        default -> {
          if (c < 0x20 || Character.isSurrogate(c) || c == 0x2028 || c == 0x2029) {
            out.append(String.format("\\u%04x", (int) c));
          } else {
            out.append(c);
          }
        }
      }
    }
    out.append('"');
  }
}
