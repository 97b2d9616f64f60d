package io.fovea.cli;

import io.fovea.schema.Field;
import io.fovea.schema.FieldDefinition;
import io.fovea.schema.FieldType;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.time.DateTimeException;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Infers a table of rows from all values of a CSV: each column gets the first type that converts
 * every value back to the same text or the same number.
 *
 * <pre>
 *   BOOLEAN                  true, false
 *   INT64                    7, -7; not 007
 *   FLOAT64                  1.50, 2e9; up to 15 digits, which a double holds
 *   UUID, INSTANT            as their toString
 *   VARTEXT(n), TEXT(n)      everything else; n is twice the longest, and at least 255 bytes
 *                            (64 in a key)
 * </pre>
 *
 * <p>A column with a missing value is nullable. Not thread-safe.
 */
final class Inferred {
  private static final int FIELD_BYTES_MIN = 255;
  private static final int KEY_BYTES_MIN = 64;

  /** The number of decimal digits that every double preserves. */
  private static final int DOUBLE_DIGITS = 15;

  private static final Pattern INTEGER = Pattern.compile("0|-?[1-9]\\d{0,18}");
  private static final Pattern NUMBER =
      Pattern.compile("-?(0|[1-9]\\d*)(\\.\\d+)?([eE][+-]?\\d{1,3})?");

  /** The types in the order in which they are tried. */
  private enum Guess {
    BOOLEAN(FieldType.BOOLEAN, v -> v.equals("true") || v.equals("false")),
    INTEGER(FieldType.INT64, Inferred::isLong),
    NUMBER(FieldType.FLOAT64, Inferred::isDouble),
    UUID(FieldType.UUID, Inferred::isUuid),
    INSTANT(FieldType.INSTANT, Inferred::isInstant),
    TEXT(FieldType.TEXT, v -> true);

    final FieldType type;
    final Predicate<String> holds;

    Guess(FieldType type, Predicate<String> holds) {
      this.type = type;
      this.holds = holds;
    }
  }

  private static final class Column {
    Guess guess = Guess.BOOLEAN;
    boolean seen;
    boolean missing;
    long integerDigits;
    int maxBytes;

    void add(@Nullable String value) {
      if (value == null) {
        missing = true;
        return;
      }
      maxBytes = Math.max(maxBytes, value.getBytes(StandardCharsets.UTF_8).length);
      boolean first = !seen;
      seen = true;
      if (guess.holds.test(value)) {
        integerDigits = Math.max(integerDigits, digits(value));
        return;
      }
      Guess before = guess;
      do {
        guess = Guess.values()[guess.ordinal() + 1];
      } while (!guess.holds.test(value));
      // Mixed with other values, a BOOLEAN or UUID column becomes text; integers may become
      // numbers.
      boolean fits =
          first
              || before == Guess.INTEGER && guess == Guess.NUMBER && integerDigits <= DOUBLE_DIGITS;
      guess = fits ? guess : Guess.TEXT;
      integerDigits = Math.max(integerDigits, digits(value));
    }

    private static long digits(String value) {
      return value.chars().filter(Character::isDigit).count();
    }

    void define(FieldDefinition in, String name, boolean key) {
      FieldType type = seen ? guess.type : FieldType.TEXT;
      FieldDefinition to = missing && !key ? in.nullable() : in;
      if (type != FieldType.TEXT) {
        to.add(name, type, type.width());
        return;
      }
      int bytes = Math.min(Field.WIDTH_MAX, 2 * maxBytes);
      if (key) {
        to.text(name, Math.max(KEY_BYTES_MIN, bytes));
      } else {
        to.varText(name, Math.max(FIELD_BYTES_MIN, bytes));
      }
    }
  }

  private Inferred() {}

  private static boolean isLong(String value) {
    if (!INTEGER.matcher(value).matches()) {
      return false;
    }
    try {
      Long.parseLong(value);
      return true;
    } catch (NumberFormatException e) {
      return false; // 19 digits may overflow
    }
  }

  private static boolean isDouble(String value) {
    return NUMBER.matcher(value).matches()
        && new BigDecimal(value).precision() <= DOUBLE_DIGITS
        && Double.isFinite(Double.parseDouble(value));
  }

  private static boolean isUuid(String value) {
    try {
      return value.length() == 36 && java.util.UUID.fromString(value).toString().equals(value);
    } catch (IllegalArgumentException e) {
      return false;
    }
  }

  private static boolean isInstant(String value) {
    try {
      return Instant.parse(value).toString().equals(value);
    } catch (DateTimeException e) {
      return false;
    }
  }

  private static Column column(Map<String, Column> columns, String name) {
    return Objects.requireNonNull(columns.get(name));
  }

  /**
   * Reads all records.
   *
   * @param keys the columns of the key
   * @throws IllegalArgumentException with the reason, if no table can be inferred
   */
  static TableSpec table(String name, List<String> keys, Format.Source source)
      throws IOException, Format.WrongInput {
    Map<String, Column> columns = new LinkedHashMap<>();
    source.columns().forEach(c -> columns.put(c, new Column()));
    for (String key : keys) {
      if (!columns.containsKey(key)) {
        throw new IllegalArgumentException(
            "there is no column '" + key + "': there are " + String.join(", ", columns.keySet()));
      }
    }
    for (Map<String, @Nullable String> record = source.next();
        record != null;
        record = source.next()) {
      for (String key : keys) {
        if (record.get(key) == null) {
          throw new IllegalArgumentException(
              "line " + source.line() + ": the key has no '" + key + "'");
        }
      }
      record.forEach((column, value) -> column(columns, column).add(value));
    }
    KeySpec.Definition key = KeySpec.define();
    keys.forEach(k -> column(columns, k).define(key, k, true));
    Layout.Definition row = Layout.define();
    columns.forEach(
        (column, c) -> {
          if (!keys.contains(column)) {
            c.define(row, column, false);
          }
        });
    return TableSpec.of(name, key.build(), row.build());
  }
}
