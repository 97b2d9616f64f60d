package io.fovea.cli;

import io.fovea.Key;
import io.fovea.Row;
import io.fovea.schema.Field;
import java.math.BigDecimal;
import java.time.Instant;
import java.util.HexFormat;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Converts values of fields to their exported form, and back from text.
 *
 * <pre>
 *   INT32, INT64, DECIMAL   a number, in digits        BOOLEAN   true, false
 *   FLOAT64                 a number, as of {@link Double#toString}; or NaN, Infinity, -Infinity
 *   UUID, INSTANT           as of their toString: 2026-11-25T22:00:00.000000001Z
 *   BYTES                   hexadecimal digits         null      null
 * </pre>
 *
 * <p>Conversions are lossless. Static methods; thread-safe.
 */
final class FieldText {
  private FieldText() {}

  /** The value of a part of a key. */
  static Object value(Key key, int i, Field part) {
    return switch (part.type()) {
      case INT32, INT64 -> key.getLong(i);
      case TEXT -> key.getText(i);
      case BYTES -> key.getBytes(i);
      case BOOLEAN -> key.getBoolean(i);
      case FLOAT64 -> number(key.getDouble(i));
      case UUID -> key.getUuid(i);
      case INSTANT -> key.getInstant(i);
      case DECIMAL -> key.getDecimal(i);
    };
  }

  /** The value of a field of a row. */
  static @Nullable Object value(Row row, Field f) {
    if (row.isNull(f)) {
      return null;
    }
    return switch (f.type()) {
      case INT32 -> row.getInt(f);
      case INT64 -> row.getLong(f);
      case TEXT -> row.getText(f);
      case BYTES -> row.getBytes(f);
      case BOOLEAN -> row.getBoolean(f);
      case FLOAT64 -> number(row.getDouble(f));
      case UUID -> row.getUuid(f);
      case INSTANT -> row.getInstant(f);
      case DECIMAL -> row.getDecimal(f);
    };
  }

  /** JSON has no numbers that are not finite. */
  private static Object number(double d) {
    return Double.isFinite(d) ? (Object) d : Double.toString(d);
  }

  /**
   * Appends a part to a key.
   *
   * @throws RuntimeException if the text is not a value of the part
   */
  static void append(Key to, Field part, String text) {
    switch (part.type()) {
      case INT32 -> to.int32(Integer.parseInt(text));
      case INT64 -> to.int64(Long.parseLong(text));
      case TEXT -> to.text(text);
      case BYTES -> to.bytes(HexFormat.of().parseHex(text));
      case BOOLEAN -> to.bool(bool(text));
      case FLOAT64 -> to.float64(Double.parseDouble(text));
      case UUID -> to.uuid(uuid(text));
      case INSTANT -> to.instant(Instant.parse(text));
      case DECIMAL -> to.decimal(new BigDecimal(text));
    }
  }

  /**
   * Sets a field of a row.
   *
   * @throws RuntimeException if the text is not a value of the field
   */
  static void set(Row row, Field f, @Nullable String text) {
    if (text == null) {
      row.setNull(f);
      return;
    }
    switch (f.type()) {
      case INT32 -> row.setInt(f, Integer.parseInt(text));
      case INT64 -> row.setLong(f, Long.parseLong(text));
      case TEXT -> row.setText(f, text);
      case BYTES -> row.setBytes(f, HexFormat.of().parseHex(text));
      case BOOLEAN -> row.setBoolean(f, bool(text));
      case FLOAT64 -> row.setDouble(f, Double.parseDouble(text));
      case UUID -> row.setUuid(f, uuid(text));
      case INSTANT -> row.setInstant(f, Instant.parse(text));
      case DECIMAL -> row.setDecimal(f, new BigDecimal(text));
    }
  }

  private static boolean bool(String text) {
    return switch (text) {
      case "true" -> true;
      case "false" -> false;
      default -> throw new IllegalArgumentException("neither true nor false");
    };
  }

  /** Rejects shorter texts, which {@link UUID#fromString} accepts. */
  private static UUID uuid(String text) {
    UUID u = UUID.fromString(text);
    if (!u.toString().equalsIgnoreCase(text)) {
      throw new IllegalArgumentException("not 36 characters");
    }
    return u;
  }
}
