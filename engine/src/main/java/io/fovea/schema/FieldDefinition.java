package io.fovea.schema;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Collects fields: the fields of a row ({@link Layout.Definition}), or the parts of a key ({@link
 * KeySpec.Definition}). Not thread-safe.
 *
 * @since 0.1.0
 */
public abstract sealed class FieldDefinition permits Layout.Definition, KeySpec.Definition {
  /** "field" or "part", for messages. */
  private final String what;

  private final List<Field> fields = new ArrayList<>();
  private final Set<String> names = new HashSet<>();
  private boolean nullable;

  FieldDefinition(String what) {
    this.what = what;
  }

  /** Creates a field; its name is checked later. */
  abstract Field make(
      String name,
      FieldType type,
      int width,
      int precision,
      int scale,
      boolean mayBeNull,
      boolean variable,
      int i);

  /**
   * Makes the next field nullable.
   *
   * @return this
   */
  public FieldDefinition nullable() {
    nullable = true;
    return this;
  }

  /**
   * Adds a 32-bit integer.
   *
   * @param name its name
   * @return the field
   * @throws IllegalArgumentException if the name is taken
   */
  public Field int32(String name) {
    return add(name, FieldType.INT32, FieldType.INT32.width());
  }

  /**
   * Adds a 64-bit integer.
   *
   * @param name its name
   * @return the field
   * @throws IllegalArgumentException if the name is taken
   */
  public Field int64(String name) {
    return add(name, FieldType.INT64, FieldType.INT64.width());
  }

  /**
   * Adds a text field.
   *
   * @param name its name
   * @param width the maximum length in UTF-8, 1 to 65,535 bytes
   * @return the field
   * @throws IllegalArgumentException if the name is taken or the length is out of range
   */
  public Field text(String name, int width) {
    return add(name, FieldType.TEXT, width);
  }

  /**
   * Adds a text field of variable length: in the file, a value takes its actual length plus 2 bytes
   * for that length. In memory, a row has room for the longest value. In a key, where text always
   * takes its actual length, this is the same as {@link #text}.
   *
   * @param name its name
   * @param maxBytes the maximum length in UTF-8, 1 to 65,535 bytes
   * @return the field
   * @throws IllegalArgumentException if the name is taken or the length is out of range
   */
  public Field varText(String name, int maxBytes) {
    return add(name, FieldType.TEXT, maxBytes, 0, 0, takeNullable(), true);
  }

  /**
   * Adds a byte string of variable length, like {@link #varText}.
   *
   * @param name its name
   * @param maxBytes the maximum length, 1 to 65,535 bytes
   * @return the field
   * @throws IllegalArgumentException if the name is taken or the length is out of range
   */
  public Field varBytes(String name, int maxBytes) {
    return add(name, FieldType.BYTES, maxBytes, 0, 0, takeNullable(), true);
  }

  /**
   * Adds a byte string.
   *
   * @param name its name
   * @param width the maximum length, 1 to 65,535 bytes
   * @return the field
   * @throws IllegalArgumentException if the name is taken or the length is out of range
   */
  public Field bytes(String name, int width) {
    return add(name, FieldType.BYTES, width);
  }

  /**
   * Adds a boolean.
   *
   * @param name its name
   * @return the field
   * @throws IllegalArgumentException if the name is taken
   */
  public Field bool(String name) {
    return add(name, FieldType.BOOLEAN, FieldType.BOOLEAN.width());
  }

  /**
   * Adds a {@code double}.
   *
   * @param name its name
   * @return the field
   * @throws IllegalArgumentException if the name is taken
   */
  public Field float64(String name) {
    return add(name, FieldType.FLOAT64, FieldType.FLOAT64.width());
  }

  /**
   * Adds a {@link java.util.UUID}.
   *
   * @param name its name
   * @return the field
   * @throws IllegalArgumentException if the name is taken
   */
  public Field uuid(String name) {
    return add(name, FieldType.UUID, FieldType.UUID.width());
  }

  /**
   * Adds an {@link java.time.Instant}.
   *
   * @param name its name
   * @return the field
   * @throws IllegalArgumentException if the name is taken
   */
  public Field instant(String name) {
    return add(name, FieldType.INSTANT, FieldType.INSTANT.width());
  }

  /**
   * Adds a {@link java.math.BigDecimal}.
   *
   * @param name its name
   * @param precision the number of digits, 1 to 38
   * @param scale the number of digits after the point, 0 to {@code precision}
   * @return the field
   * @throws IllegalArgumentException if the name is taken or a number is out of range
   */
  public Field decimal(String name, int precision, int scale) {
    int width = Field.decimalBytes(Math.clamp(precision, 1, Field.PRECISION_MAX));
    return add(name, FieldType.DECIMAL, width, precision, scale, takeNullable(), false);
  }

  /**
   * Adds a field of any type except a decimal.
   *
   * @param name its name
   * @param type its type
   * @param width {@link FieldType#width}; for a text or byte string the maximum length, 1 to 65,535
   *     bytes
   * @return the field
   * @throws IllegalArgumentException if the name is taken or the length is out of range
   */
  public Field add(String name, FieldType type, int width) {
    return add(name, type, width, 0, 0, takeNullable(), false);
  }

  /**
   * Adds a field like another one: of the same type and size, nullable if the other field is, and,
   * in a row, of variable length if the other field is.
   *
   * @param name its name
   * @param like a field of a row, or a part of a key
   * @return the field
   * @throws IllegalArgumentException if the name is taken
   */
  public Field add(String name, Field like) {
    boolean may = takeNullable() || like.nullable();
    return add(
        name, like.type(), like.width(), like.precision(), like.scale(), may, like.variable());
  }

  private boolean takeNullable() {
    boolean is = nullable;
    nullable = false;
    return is;
  }

  private Field add(
      String name,
      FieldType type,
      int width,
      int precision,
      int scale,
      boolean mayBeNull,
      boolean variable) {
    Field f = make(name, type, width, precision, scale, mayBeNull, variable, fields.size());
    if (!names.add(name)) {
      throw new IllegalArgumentException("There is already a " + what + " \"" + name + "\".");
    }
    added(f);
    fields.add(f);
    return f;
  }

  abstract void added(Field f);

  /**
   * Returns all fields.
   *
   * @throws IllegalArgumentException if no field follows {@link #nullable}
   */
  List<Field> fields() {
    if (nullable) {
      throw new IllegalArgumentException(
          "No " + what + " was added after nullable(), which applies to the next one.");
    }
    return fields;
  }
}
