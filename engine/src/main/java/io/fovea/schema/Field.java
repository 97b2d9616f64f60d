package io.fovea.schema;

import java.math.BigInteger;
import java.util.Objects;

/**
 * A field of a {@link Layout} or a part of a {@link KeySpec}. Programs use it to access a value of
 * a row or key.
 *
 * <p>Builders of layouts and keys create fields. Keep them in {@code static final} fields: the
 * offset is then a constant where a row is read. Immutable and thread-safe.
 *
 * @param name unique in its layout or key
 * @param type the type of its values
 * @param width the bytes of a value: fixed by the type or by a decimal's precision, or the maximum
 *     length of a text or byte string
 * @param precision the number of digits of a decimal; 0 for other types
 * @param scale how many of these digits are after the point; 0 for other types
 * @param nullable whether it may be null
 * @param variable whether a text or byte string takes only its actual length in the file; always
 *     false for parts of keys, which always take only their actual length
 * @param offset the offset of its value in a row in memory, in bytes; a nullable field has its null
 *     byte before it. For a part of a key, the offset in the encoded key, or -1 if it depends on
 *     the parts before it
 * @param ordinal its position among the fields or parts, from 0
 * @param key whether it is a part of a key rather than a field of a row
 * @since 0.1.0
 */
public record Field(
    String name,
    FieldType type,
    int width,
    int precision,
    int scale,
    boolean nullable,
    boolean variable,
    int offset,
    int ordinal,
    boolean key) {
  /** The longest text or byte string, in bytes. */
  public static final int WIDTH_MAX = 65_535;

  /** The maximum number of digits of a decimal. */
  public static final int PRECISION_MAX = 38;

  /**
   * Checks the components. Programs get fields from builders.
   *
   * @throws IllegalArgumentException if the components are inconsistent
   */
  public Field {
    Objects.requireNonNull(name, "name");
    Objects.requireNonNull(type, "type");
    if (name.isEmpty() || name.length() > 255) {
      throw new IllegalArgumentException(
          "A field's name must have 1 to 255 characters: \"" + name + "\".");
    }
    if (type == FieldType.DECIMAL) {
      if (precision < 1 || precision > PRECISION_MAX || scale < 0 || scale > precision) {
        throw new IllegalArgumentException(
            "Decimal "
                + name
                + " must have 1 to "
                + PRECISION_MAX
                + " digits and a scale from 0 to that number, not "
                + precision
                + " and "
                + scale
                + ".");
      }
    } else if (precision != 0 || scale != 0) {
      throw new IllegalArgumentException(
          "Field " + name + " is " + type + ", which has no precision and no scale.");
    }
    int exact = type == FieldType.DECIMAL ? decimalBytes(precision) : type.width();
    if (exact != 0 && width != exact) {
      throw new IllegalArgumentException(
          "Field " + name + " is " + type + " and has " + exact + " bytes, not " + width + ".");
    }
    if (width < 1 || width > WIDTH_MAX) {
      throw new IllegalArgumentException(
          "Field " + name + " must have 1 to " + WIDTH_MAX + " bytes, not " + width + ".");
    }
    if (variable && (type.isFixed() || key)) {
      throw new IllegalArgumentException(
          "Field "
              + name
              + " is "
              + (key ? "a part of a key" : type)
              + ", whose length can't be variable: only texts and byte strings "
              + "of rows can have variable lengths.");
    }
    if (ordinal < 0 || offset < -1) {
      throw new IllegalArgumentException(
          "Field " + name + " can't have ordinal " + ordinal + " and offset " + offset + ".");
    }
  }

  /**
   * Returns the size of a decimal in bytes: enough for the largest number of its precision, with a
   * sign.
   *
   * @param precision the number of digits, 1 to 38
   * @return 1 byte for 2 digits, 8 for 18, 16 for 38
   * @throws IllegalArgumentException if the precision is out of range
   */
  public static int decimalBytes(int precision) {
    if (precision < 1 || precision > PRECISION_MAX) {
      throw new IllegalArgumentException(
          "A decimal must have 1 to " + PRECISION_MAX + " digits, not " + precision + ".");
    }
    return BigInteger.TEN.pow(precision).bitLength() / 8 + 1;
  }

  /** {@return the offset in a row in memory, including the null byte of a nullable field} */
  public int start() {
    return nullable ? offset - 1 : offset;
  }

  /** {@return the offset after the field in a row in memory} */
  public int end() {
    return offset + (type.isFixed() ? width : 2 + width);
  }

  /**
   * {@return the bytes in a row in memory: the width, 2 more for a text or byte string, 1 more if
   * nullable; the maximum in the file if the length is variable}
   */
  public int rowBytes() {
    return end() - start();
  }

  /**
   * {@return the most bytes in a key: the width, or twice that and 2 for a text or byte string; 1
   * more if nullable}
   */
  public int keyBytesMax() {
    return (type.isFixed() ? width : 2 * width + 2) + (nullable ? 1 : 0);
  }

  /**
   * {@return the type as in {@code TEXT(20)}, {@code VARTEXT(200)}, {@code DECIMAL(10, 2) NULL}}
   */
  public String typeText() {
    String of =
        type == FieldType.DECIMAL
            ? "(" + precision + ", " + scale + ")"
            : type.isFixed() ? "" : "(" + width + ")";
    return (variable ? "VAR" : "") + type + of + (nullable ? " NULL" : "");
  }

  /** Returns text like {@code name TEXT(20)}. */
  @Override
  public String toString() {
    return name + ' ' + typeText();
  }
}
