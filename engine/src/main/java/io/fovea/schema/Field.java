package io.fovea.schema;

import java.math.BigInteger;
import java.util.Objects;

/**
 * A field of a {@link Layout} or a part of a {@link KeySpec}: the name under which a program gets
 * at a value of a row or of a key.
 *
 * <p>Made by the builders of layouts and key specifications, kept by the program, best in a {@code
 * static final}: then its offset is a constant where a row is read. A value; any thread.
 *
 * @param name its name, unique in its layout or key
 * @param type what it holds
 * @param width the bytes that its value may take: those of the type, of a decimal those of its
 *     precision, or the limit that was given for text and bytes
 * @param precision how many digits a decimal has; 0 for other types
 * @param scale how many of these are behind the point; 0 for other types
 * @param nullable whether it may have no value
 * @param variable whether a text or byte string takes no more bytes in the file than it has; never
 *     said of a part of a key, which takes no more anyway
 * @param offset where its value lies in a row in memory, in bytes; that of a nullable field is
 *     behind the byte that says whether there is one. Of a part of a key, where it lies in the
 *     encoded key, or -1 where that depends on the parts before it
 * @param ordinal its place among the fields or parts, from 0
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
  /** The longest text or byte string that fits a field, in bytes. */
  public static final int WIDTH_MAX = 65_535;

  /** The most digits of a decimal. */
  public static final int PRECISION_MAX = 38;

  /**
   * Checks the components. Programs get fields from builders.
   *
   * @throws IllegalArgumentException if the components make no field
   */
  public Field {
    Objects.requireNonNull(name, "name");
    Objects.requireNonNull(type, "type");
    if (name.isEmpty() || name.length() > 255) {
      throw new IllegalArgumentException(
          "A field's name has 1 to 255 characters: \"" + name + "\".");
    }
    if (type == FieldType.DECIMAL) {
      if (precision < 1 || precision > PRECISION_MAX || scale < 0 || scale > precision) {
        throw new IllegalArgumentException(
            "Decimal "
                + name
                + " has 1 to "
                + PRECISION_MAX
                + " digits, and none or some of them behind the point: not "
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
          "Field " + name + " has 1 to " + WIDTH_MAX + " bytes at most, not " + width + ".");
    }
    if (variable && (type.isFixed() || key)) {
      throw new IllegalArgumentException(
          "Field "
              + name
              + " is "
              + (key ? "a part of a key" : type)
              + ", of which no variable length is said: only of texts and byte strings of rows.");
    }
    if (ordinal < 0 || offset < -1) {
      throw new IllegalArgumentException(
          "Field " + name + " can't have ordinal " + ordinal + " and offset " + offset + ".");
    }
  }

  /**
   * The bytes that a decimal takes: those of the largest number with so many digits, and its sign.
   *
   * @param precision how many digits it has, from 1 to 38
   * @return 1 byte for 2 digits, 8 for 18, 16 for 38
   * @throws IllegalArgumentException if a decimal can't have so many digits
   */
  public static int decimalBytes(int precision) {
    if (precision < 1 || precision > PRECISION_MAX) {
      throw new IllegalArgumentException(
          "A decimal has 1 to " + PRECISION_MAX + " digits, not " + precision + ".");
    }
    return BigInteger.TEN.pow(precision).bitLength() / 8 + 1;
  }

  /**
   * Where it begins in a row in memory.
   *
   * @return the offset; of a nullable field, that of the byte before it
   */
  public int start() {
    return nullable ? offset - 1 : offset;
  }

  /**
   * Where its room in a row in memory ends.
   *
   * @return the offset behind it
   */
  public int end() {
    return offset + (type.isFixed() ? width : 2 + width);
  }

  /**
   * The bytes that the field takes in a row in memory; in the file, that is the most it takes there
   * if its length is variable.
   *
   * @return the width; of a text or byte string, 2 more for its length; of a nullable field, 1 more
   *     for whether there is a value
   */
  public int rowBytes() {
    return end() - start();
  }

  /**
   * The most bytes that the field takes in a key.
   *
   * @return the width; of a text or byte string, twice that for escapes and 2 for its end; of a
   *     nullable part, 1 more
   */
  public int keyBytesMax() {
    return (type.isFixed() ? width : 2 * width + 2) + (nullable ? 1 : 0);
  }

  /**
   * The type in words.
   *
   * @return as in {@code TEXT(20)}, {@code VARTEXT(200)}, {@code DECIMAL(10, 2) NULL}
   */
  public String typeText() {
    String of =
        type == FieldType.DECIMAL
            ? "(" + precision + ", " + scale + ")"
            : type.isFixed() ? "" : "(" + width + ")";
    return (variable ? "VAR" : "") + type + of + (nullable ? " NULL" : "");
  }

  /** As in {@code name TEXT(20)}. */
  @Override
  public String toString() {
    return name + ' ' + typeText();
  }
}
