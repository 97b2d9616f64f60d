package io.fovea.cli;

import io.fovea.schema.Field;
import io.fovea.schema.FieldDefinition;
import io.fovea.schema.FieldType;
import java.util.Arrays;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Parses fields in the notation that {@code schema} prints.
 *
 * <pre>
 *   item INT32                 a name and a type, separated by a space or colon
 *   name TEXT(20)              a text of at most 20 bytes; VARTEXT takes only the space it needs
 *   price DECIMAL(10, 2) NULL  ten digits, two of them after the point; nullable
 * </pre>
 *
 * <p>Static methods; thread-safe.
 */
final class FieldSpec {
  private static final String VARIABLE = "VAR";

  private static final Pattern TEXT =
      Pattern.compile(
          "(?<name>.+?)[\\s:]\\s*(?<type>\\w+)"
              + "(\\s*\\(\\s*(?<size>\\d{1,9})\\s*(,\\s*(?<scale>\\d{1,9})\\s*)?\\))?"
              + "(?<null>\\s+NULL)?",
          Pattern.CASE_INSENSITIVE);

  private FieldSpec() {}

  /**
   * Adds a field.
   *
   * @throws IllegalArgumentException with the reason, if the text is not a field
   */
  static Field add(FieldDefinition to, String text) {
    Matcher m = matched(text);
    FieldDefinition of = m.group("null") == null ? to : to.nullable();
    return add(of, m.group("name"), m.group("type"), number(m, "size"), number(m, "scale"));
  }

  /**
   * Returns the name in the text of a field.
   *
   * @throws IllegalArgumentException with the reason, if the text is not a field
   */
  static String name(String text) {
    return matched(text).group("name");
  }

  private static Matcher matched(String text) {
    Matcher m = TEXT.matcher(text.strip());
    if (!m.matches()) {
      throw new IllegalArgumentException(
          "'" + text + "' is not a field: expected NAME TYPE, as in 'price DECIMAL(10, 2) NULL'");
    }
    return m;
  }

  private static @Nullable Integer number(Matcher m, String group) {
    String digits = m.group(group);
    return digits == null ? null : Integer.valueOf(digits);
  }

  /**
   * Adds a field.
   *
   * @param size the bytes of a text or byte string, or the digits of a decimal; the other types
   *     have one size, which may be given in bytes
   * @throws IllegalArgumentException with the reason, if there is no such field
   */
  static Field add(
      FieldDefinition to,
      String name,
      String type,
      @Nullable Integer size,
      @Nullable Integer scale) {
    String upper = type.toUpperCase(Locale.ROOT);
    boolean variable = upper.equals("VARTEXT") || upper.equals("VARBYTES");
    FieldType of = type(name, variable ? upper.substring(VARIABLE.length()) : upper);
    if (of == FieldType.DECIMAL) {
      if (size == null) {
        throw new IllegalArgumentException(name + " is DECIMAL(DIGITS, SCALE)");
      }
      return to.decimal(name, size, scale == null ? 0 : scale);
    }
    if (of.isFixed()) {
      if (scale != null || size != null && size != of.width()) {
        throw new IllegalArgumentException(name + " is " + of + ", which takes no size");
      }
      return to.add(name, of, of.width());
    }
    if (size == null || scale != null) {
      throw new IllegalArgumentException(name + " is " + upper + "(BYTES)");
    }
    return !variable
        ? to.add(name, of, size)
        : of == FieldType.TEXT ? to.varText(name, size) : to.varBytes(name, size);
  }

  private static FieldType type(String name, String type) {
    for (FieldType t : FieldType.values()) {
      if (t.name().equals(type)) {
        return t;
      }
    }
    throw new IllegalArgumentException(
        "'"
            + type
            + "', the type of "
            + name
            + ", is not one of "
            + String.join(", ", Arrays.stream(FieldType.values()).map(Enum::name).toList())
            + ", VARTEXT, VARBYTES");
  }
}
