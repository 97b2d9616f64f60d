package io.fovea.schema;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The fields of a table's rows, in the order in which they lie in memory and in the file.
 *
 * <p>A row has a fixed size: integers take 4 or 8 bytes, text and bytes a length of 2 bytes and
 * their full width, a nullable field 1 byte more. Fields that are changed together are best
 * declared together, wide ones that are seldom read last: then an update writes one run of bytes,
 * and a {@link io.fovea.Projection} copies less.
 *
 * <p>A value; any thread.
 *
 * @since 0.1.0
 */
public final class Layout {
  private final List<Field> fields;

  private final int size;

  private final boolean nullable;

  private Layout(List<Field> fields, int size) {
    this.fields = List.copyOf(fields);
    this.nullable = fields.stream().anyMatch(Field::nullable);
    this.size = size;
  }

  /**
   * Starts a layout.
   *
   * @return a new builder
   */
  public static Builder builder() {
    return new Builder();
  }

  /**
   * The fields in order.
   *
   * @return an immutable list
   */
  public List<Field> fields() {
    return fields;
  }

  /**
   * A field by its name.
   *
   * @param name the name
   * @return the field
   * @throws IllegalArgumentException if there is none of that name
   */
  public Field field(String name) {
    Objects.requireNonNull(name, "name");
    for (Field f : fields) {
      if (f.name().equals(name)) {
        return f;
      }
    }
    throw new IllegalArgumentException("There is no field \"" + name + "\" in " + this + ".");
  }

  /**
   * The size of a row.
   *
   * @return bytes
   */
  public int size() {
    return size;
  }

  /**
   * Whether some field may have no value.
   *
   * @return true if there is a nullable field
   */
  public boolean hasNullable() {
    return nullable;
  }

  /**
   * Whether a field is one of this layout.
   *
   * @param field any field
   * @return true if the layout has an equal field in that place
   */
  public boolean contains(Field field) {
    return !field.key()
        && field.ordinal() < fields.size()
        && fields.get(field.ordinal()).equals(field);
  }

  @Override
  public boolean equals(Object o) {
    return o instanceof Layout l && fields.equals(l.fields);
  }

  @Override
  public int hashCode() {
    return fields.hashCode();
  }

  @Override
  public String toString() {
    return "Layout" + describe(fields);
  }

  static String describe(List<Field> fields) {
    return fields.stream().map(Field::toString).collect(Collectors.joining(", ", "(", ")"));
  }

  /**
   * Collects fields. One thread at a time.
   *
   * @since 0.1.0
   */
  public static final class Builder {
    private final List<Field> fields = new ArrayList<>();
    private final Set<String> names = new HashSet<>();
    private int size;

    private boolean nullable;

    private Builder() {}

    /**
     * Lets the field that is added next have no value: it takes 1 byte more in rows, and is null in
     * a fresh row. As in {@code LAYOUT.nullable().text("email", 40)}.
     *
     * @return this
     */
    public Builder nullable() {
      nullable = true;
      return this;
    }

    /**
     * Adds a 32-bit integer.
     *
     * @param name its name
     * @return the field
     * @throws IllegalArgumentException if there is a field of that name
     */
    public Field int32(String name) {
      return add(name, FieldType.INT32, 4);
    }

    /**
     * Adds a 64-bit integer.
     *
     * @param name its name
     * @return the field
     * @throws IllegalArgumentException if there is a field of that name
     */
    public Field int64(String name) {
      return add(name, FieldType.INT64, 8);
    }

    /**
     * Adds a text.
     *
     * @param name its name
     * @param width the most bytes that it may take in UTF-8, 1 to 65,535
     * @return the field
     * @throws IllegalArgumentException if there is a field of that name, or for such a width
     */
    public Field text(String name, int width) {
      return add(name, FieldType.TEXT, width);
    }

    /**
     * Adds a byte string.
     *
     * @param name its name
     * @param width the most bytes that it may have, 1 to 65,535
     * @return the field
     * @throws IllegalArgumentException if there is a field of that name, or for such a width
     */
    public Field bytes(String name, int width) {
      return add(name, FieldType.BYTES, width);
    }

    /**
     * Adds false or true.
     *
     * @param name its name
     * @return the field
     * @throws IllegalArgumentException if there is a field of that name
     */
    public Field bool(String name) {
      return add(name, FieldType.BOOLEAN, 1);
    }

    /**
     * Adds a {@code double}.
     *
     * @param name its name
     * @return the field
     * @throws IllegalArgumentException if there is a field of that name
     */
    public Field float64(String name) {
      return add(name, FieldType.FLOAT64, 8);
    }

    /**
     * Adds a {@link java.util.UUID}.
     *
     * @param name its name
     * @return the field
     * @throws IllegalArgumentException if there is a field of that name
     */
    public Field uuid(String name) {
      return add(name, FieldType.UUID, 16);
    }

    /**
     * Adds an {@link java.time.Instant}.
     *
     * @param name its name
     * @return the field
     * @throws IllegalArgumentException if there is a field of that name
     */
    public Field instant(String name) {
      return add(name, FieldType.INSTANT, 12);
    }

    /**
     * Adds a {@link java.math.BigDecimal}.
     *
     * @param name its name
     * @param precision how many digits it has, 1 to 38
     * @param scale how many of these are behind the point, 0 to {@code precision}
     * @return the field
     * @throws IllegalArgumentException if there is a field of that name, or for such numbers
     */
    public Field decimal(String name, int precision, int scale) {
      int width = Field.decimalBytes(Math.clamp(precision, 1, Field.PRECISION_MAX));
      return add(name, FieldType.DECIMAL, width, precision, scale, takeNullable());
    }

    /**
     * Adds a field of any type but a decimal.
     *
     * @param name its name
     * @param type its type
     * @param width {@link FieldType#width}; of a text or byte string the most bytes that it may
     *     have, 1 to 65,535
     * @return the field
     * @throws IllegalArgumentException if there is a field of that name, or for such a width
     */
    public Field add(String name, FieldType type, int width) {
      return add(name, type, width, 0, 0, takeNullable());
    }

    /**
     * Adds a field that is as another one: of the same type and size, and nullable if that is.
     *
     * @param name its name
     * @param like a field of a row, or a part of a key
     * @return the field
     * @throws IllegalArgumentException if there is a field of that name
     */
    public Field add(String name, Field like) {
      boolean may = takeNullable() || like.nullable();
      return add(name, like.type(), like.width(), like.precision(), like.scale(), may);
    }

    private boolean takeNullable() {
      boolean is = nullable;
      nullable = false;
      return is;
    }

    private Field add(
        String name, FieldType type, int width, int precision, int scale, boolean mayBeNull) {
      int offset = mayBeNull ? size + 1 : size;
      Field f =
          new Field(name, type, width, precision, scale, mayBeNull, offset, fields.size(), false);
      if (!names.add(name)) {
        throw new IllegalArgumentException("There is a field \"" + name + "\" already.");
      }
      size = Math.addExact(size, f.rowBytes());
      fields.add(f);
      return f;
    }

    /**
     * Makes the layout.
     *
     * @return a layout of the fields added so far
     * @throws IllegalArgumentException if no field follows {@link #nullable}
     */
    public Layout build() {
      if (nullable) {
        throw new IllegalArgumentException(
            "No field was added behind nullable(), which is said of the next one.");
      }
      return new Layout(fields, size);
    }
  }
}
