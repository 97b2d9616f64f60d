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
import java.util.Arrays;
import java.util.List;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Infers a table of rows from all values of a CSV: each column gets the first type that converts
 * every value back to the same text or the same number.
 *
 * <pre>
 *   BOOLEAN                  true, false
 *   INT64                    7, -7; not 007
 *   FLOAT64                  1.50, 2e9; up to 15 digits, which a double holds. Not in a key, where
 *                            1.5 and 1.50 would be one
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

  /** The digits of which not every number is a long. */
  private static final int LONG_DIGITS = 19;

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
    /** Its explicit type, after its name. */
    @Nullable String type;

    boolean ofKey;
    Guess guess = Guess.BOOLEAN;
    boolean seen;
    boolean missing;
    int integerDigits;
    int maxBytes;

    void add(@Nullable String value) {
      if (value == null) {
        missing = true;
        return;
      }
      maxBytes = Math.max(maxBytes, utf8Length(value));
      boolean first = !seen;
      seen = true;
      if (!guess.holds.test(value)) {
        Guess before = guess;
        do {
          guess = Guess.values()[guess.ordinal() + 1];
        } while (!guess.holds.test(value) || ofKey && guess == Guess.NUMBER);
        // Mixed with other values, a BOOLEAN or UUID column becomes text; integers may become
        // numbers.
        boolean fits =
            first
                || before == Guess.INTEGER
                    && guess == Guess.NUMBER
                    && integerDigits <= DOUBLE_DIGITS;
        guess = fits ? guess : Guess.TEXT;
      }
      if (guess == Guess.INTEGER) {
        integerDigits =
            Math.max(integerDigits, value.startsWith("-") ? value.length() - 1 : value.length());
      }
    }

    private static int utf8Length(String value) {
      for (int i = 0; i < value.length(); i++) {
        if (value.charAt(i) >= 0x80) {
          return value.getBytes(StandardCharsets.UTF_8).length;
        }
      }
      return value.length();
    }

    void define(FieldDefinition in, String name) {
      String explicit = type;
      if (explicit != null) {
        FieldSpec.add(in, explicit);
        return;
      }
      FieldType inferred = seen ? guess.type : FieldType.TEXT;
      FieldDefinition to = missing && !ofKey ? in.nullable() : in;
      if (inferred != FieldType.TEXT) {
        to.add(name, inferred, inferred.width());
        return;
      }
      int bytes = Math.min(Field.WIDTH_MAX, 2 * maxBytes);
      if (ofKey) {
        to.text(name, Math.max(KEY_BYTES_MIN, bytes));
      } else {
        to.varText(name, Math.max(FIELD_BYTES_MIN, bytes));
      }
    }
  }

  private Inferred() {}

  /** Digits without leading zeros, possibly after a minus, in the range of a long. */
  private static boolean isLong(String value) {
    int from = value.startsWith("-") ? 1 : 0;
    int digits = digits(value, from);
    if (digits == 0 || digits > LONG_DIGITS || from + digits < value.length()) {
      return false;
    }
    if (value.charAt(from) == '0') {
      return value.equals("0");
    }
    if (digits < LONG_DIGITS) {
      return true;
    }
    try {
      Long.parseLong(value);
      return true;
    } catch (NumberFormatException e) {
      return false;
    }
  }

  /** The number of digits from a position on. */
  private static int digits(String value, int from) {
    int to = from;
    while (to < value.length() && value.charAt(to) >= '0' && value.charAt(to) <= '9') {
      to++;
    }
    return to - from;
  }

  /** A number without leading zeros that is the same after a conversion to a double. */
  private static boolean isDouble(String value) {
    int from = value.startsWith("-") ? 1 : 0;
    int whole = digits(value, from);
    if (whole == 0 || whole > 1 && value.charAt(from) == '0') {
      return false;
    }
    int at = from + whole;
    int fraction = 0;
    if (at < value.length() && value.charAt(at) == '.') {
      fraction = digits(value, at + 1);
      if (fraction == 0) {
        return false;
      }
      at += 1 + fraction;
    }
    if (at == value.length()) {
      return whole + fraction <= DOUBLE_DIGITS
          || new BigDecimal(value).precision() <= DOUBLE_DIGITS && isSame(value);
    }
    if (value.charAt(at) != 'e' && value.charAt(at) != 'E') {
      return false;
    }
    at++;
    if (at < value.length() && (value.charAt(at) == '+' || value.charAt(at) == '-')) {
      at++;
    }
    int exponent = digits(value, at);
    return exponent >= 1
        && exponent <= 3
        && at + exponent == value.length()
        && new BigDecimal(value).precision() <= DOUBLE_DIGITS
        && isSame(value);
  }

  /** Very large and very small numbers are not the same as a double. */
  private static boolean isSame(String value) {
    double d = Double.parseDouble(value);
    return Double.isFinite(d)
        && new BigDecimal(value).compareTo(new BigDecimal(Double.toString(d))) == 0;
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

  /**
   * Reads all records; none if all columns have an explicit type.
   *
   * @param keys the columns of the key
   * @param types the columns with an explicit type, as {@link FieldSpec} parses them
   * @throws IllegalArgumentException with the reason, if no table can be inferred
   */
  static TableSpec table(String name, List<String> keys, List<String> types, Format.Source source)
      throws IOException, Format.WrongInput {
    List<String> names = source.columns();
    Column[] columns = new Column[names.size()];
    for (int i = 0; i < columns.length; i++) {
      columns[i] = new Column();
    }
    for (String type : types) {
      Column of = columns[column(names, FieldSpec.name(type))];
      if (of.type != null) {
        throw new IllegalArgumentException("'" + FieldSpec.name(type) + "' has two types");
      }
      of.type = type;
    }
    for (String key : keys) {
      columns[column(names, key)].ofKey = true;
    }
    read(columns, source);
    KeySpec.Definition key = KeySpec.define();
    keys.forEach(k -> columns[names.indexOf(k)].define(key, k));
    Layout.Definition row = Layout.define();
    for (int i = 0; i < columns.length; i++) {
      if (!columns[i].ofKey) {
        columns[i].define(row, names.get(i));
      }
    }
    return TableSpec.of(name, key.build(), row.build());
  }

  private static void read(Column[] columns, Format.Source source)
      throws IOException, Format.WrongInput {
    if (Arrays.stream(columns).allMatch(c -> c.type != null)) {
      return;
    }
    for (@Nullable String[] record = source.next(); record != null; record = source.next()) {
      for (int i = 0; i < columns.length; i++) {
        Column c = columns[i];
        if (c.ofKey && record[i] == null) {
          throw new IllegalArgumentException(
              "line " + source.line() + ": the key has no '" + source.columns().get(i) + "'");
        }
        if (c.type == null) {
          c.add(record[i]);
        }
      }
    }
  }

  private static int column(List<String> names, String name) {
    int i = names.indexOf(name);
    if (i < 0) {
      throw new IllegalArgumentException(
          "there is no column '" + name + "': there are " + String.join(", ", names));
    }
    return i;
  }
}
