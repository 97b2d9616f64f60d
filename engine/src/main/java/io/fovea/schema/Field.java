package io.fovea.schema;

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
 * @param width the bytes that its value may take: 4, 8, or the limit that was given for text and
 *     bytes
 * @param offset where it lies in a row, in bytes; of a part of a key, where it lies in the encoded
 *     key, or -1 where that depends on the parts before it
 * @param ordinal its place among the fields or parts, from 0
 * @param key whether it is a part of a key rather than a field of a row
 * @since 0.1.0
 */
public record Field(String name, FieldType type, int width, int offset, int ordinal, boolean key) {
  /** The longest text or byte string that fits a field, in bytes. */
  public static final int WIDTH_MAX = 65_535;

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
    if (width < 1 || width > WIDTH_MAX) {
      throw new IllegalArgumentException(
          "Field " + name + " has 1 to " + WIDTH_MAX + " bytes at most, not " + width + ".");
    }
    if (ordinal < 0 || offset < -1) {
      throw new IllegalArgumentException(
          "Field " + name + " can't have ordinal " + ordinal + " and offset " + offset + ".");
    }
  }

  /**
   * The bytes that the field takes in a row.
   *
   * @return the width; of a text or byte string, 2 more for its length
   */
  public int rowBytes() {
    return type.isFixed() ? width : 2 + width;
  }

  /**
   * The most bytes that the field takes in a key.
   *
   * @return the width; of a text or byte string, twice that for escapes and 2 for its end
   */
  public int keyBytesMax() {
    return type.isFixed() ? width : 2 * width + 2;
  }

  /** As in {@code name TEXT(20)}. */
  @Override
  public String toString() {
    return name + ' ' + type + (type.isFixed() ? "" : "(" + width + ")");
  }
}
