package io.fovea.encoding;

import io.fovea.memory.Mem;
import io.fovea.schema.Field;
import io.fovea.schema.KeySpec;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;

/** Formats encoded keys for messages and debuggers: {@code (17, "text", ...)}. */
public final class KeyText {
  private KeyText() {}

  /**
   * Returns an encoded key as text.
   *
   * @param spec the parts of the key
   * @param key the memory with the key
   * @param len its length; if the key is a prefix, its complete parts are shown
   */
  public static String of(KeySpec spec, MemorySegment key, long off, int len) {
    List<Field> parts = spec.parts();
    StringBuilder b = new StringBuilder("(");
    if (spec.isRaw()) {
      return (len > 0 ? b.append(Arrays.toString(Mem.bytes(key, off, len))) : b.append("..."))
          .append(')')
          .toString();
    }
    int at = (int) off;
    int limit = (int) off + len;
    int n = 0;
    while (n < parts.size() && at < limit) {
      Field part = parts.get(n);
      int end = Tuple.skip(key, at, limit, Tuple.form(part));
      if (end < 0) {
        break;
      }
      b.append(n > 0 ? ", " : "");
      if (!part.nullable()) {
        append(b, part, key, at, end);
      } else if (Tuple.getBoolean(key, at)) {
        append(b, part, key, at + 1, end);
      } else {
        b.append("null");
      }
      at = end;
      n++;
    }
    return b.append(n < parts.size() ? ", ...)" : ")").toString();
  }

  private static void append(StringBuilder b, Field part, MemorySegment key, int at, int end) {
    switch (part.type()) {
      case INT32 -> b.append(Tuple.getInt32(key, at));
      case INT64 -> b.append(Tuple.getInt64(key, at));
      case TEXT ->
          b.append('"')
              .append(new String(Tuple.getBytes(key, at, end), StandardCharsets.UTF_8))
              .append('"');
      case BYTES -> b.append(Arrays.toString(Tuple.getBytes(key, at, end)));
      case BOOLEAN -> b.append(Tuple.getBoolean(key, at));
      case FLOAT64 -> b.append(Tuple.getFloat64(key, at));
      case UUID -> b.append(Tuple.getUuid(key, at));
      case INSTANT -> b.append(Tuple.getInstant(key, at));
      case DECIMAL ->
          b.append(Tuple.getDecimal(key, at, part.width(), part.scale()).toPlainString());
    }
  }
}
