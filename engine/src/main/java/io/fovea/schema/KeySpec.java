package io.fovea.schema;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;

/**
 * The parts of a key, in the order in which they are compared.
 *
 * <p>Keys are compared as byte strings that are made so that their order is the order of the
 * values: numbers and instants by their value, false before true, texts by their code points (which
 * is the order of their UTF-8 bytes, and not quite that of {@link String#compareTo}), byte strings
 * and UUIDs unsigned. A text or byte string that is a prefix of another comes first. {@link
 * FieldType} says more of each.
 *
 * <p>A value; any thread.
 *
 * @since 0.1.0
 */
public final class KeySpec {
  private final List<Field> parts;
  private final boolean raw;
  private final int bytesMax;
  private final boolean nullable;

  private KeySpec(List<Field> parts, boolean raw) {
    this.parts = List.copyOf(parts);
    this.raw = raw;
    this.nullable = parts.stream().anyMatch(Field::nullable);
    int n = 0;
    for (Field f : parts) {
      n = Math.addExact(n, raw ? f.width() : f.keyBytesMax());
    }
    this.bytesMax = n;
  }

  /**
   * A key of unnamed parts.
   *
   * @param types of a fixed width, at least one
   * @return the specification; the parts are called {@code k0}, {@code k1} and so on
   * @throws IllegalArgumentException for types that need a width; see {@link #builder()}
   */
  public static KeySpec of(FieldType... types) {
    Builder b = builder();
    for (FieldType t : types) {
      if (t.width() == 0) {
        throw new IllegalArgumentException(
            t
                + (t == FieldType.DECIMAL ? " needs a precision" : " needs a width")
                + ": use KeySpec.builder().");
      }
      b.add("k" + b.parts.size(), t, t.width());
    }
    return b.build();
  }

  /**
   * Starts a specification.
   *
   * @return a new builder
   */
  public static Builder builder() {
    return new Builder();
  }

  /**
   * A key of one byte string that is taken as it is: without an end mark and without escapes.
   *
   * @param width the most bytes that it may have, 1 to 65,535
   * @return the specification
   * @throws IllegalArgumentException for such a width
   */
  public static KeySpec ofBytes(int width) {
    return new KeySpec(
        List.of(new Field("key", FieldType.BYTES, width, 0, 0, false, 0, 0, true)), true);
  }

  /**
   * The parts in order.
   *
   * @return an immutable list
   */
  public List<Field> parts() {
    return parts;
  }

  /**
   * A part by its name.
   *
   * @param name the name
   * @return the part
   * @throws IllegalArgumentException if there is none of that name
   */
  public Field part(String name) {
    Objects.requireNonNull(name, "name");
    for (Field f : parts) {
      if (f.name().equals(name)) {
        return f;
      }
    }
    throw new IllegalArgumentException("There is no part \"" + name + "\" in " + this + ".");
  }

  /**
   * Whether the single part's bytes are the key, without an end mark and without escapes.
   *
   * @return true for {@link #ofBytes}
   */
  public boolean isRaw() {
    return raw;
  }

  /**
   * The most bytes that a key takes.
   *
   * @return bytes, as they are kept in trees
   */
  public int bytesMax() {
    return bytesMax;
  }

  /**
   * Whether some part may have no value.
   *
   * @return true if there is a nullable part
   */
  public boolean hasNullable() {
    return nullable;
  }

  /**
   * Whether a field is one of the key's parts.
   *
   * @param field any field
   * @return true if the key has an equal part in that place
   */
  public boolean contains(Field field) {
    return field.key()
        && field.ordinal() < parts.size()
        && parts.get(field.ordinal()).equals(field);
  }

  @Override
  public boolean equals(Object o) {
    return o instanceof KeySpec k && raw == k.raw && parts.equals(k.parts);
  }

  @Override
  public int hashCode() {
    return parts.hashCode();
  }

  @Override
  public String toString() {
    return "KeySpec" + Layout.describe(parts);
  }

  /**
   * Collects parts. One thread at a time.
   *
   * @since 0.1.0
   */
  public static final class Builder {
    private final List<Field> parts = new ArrayList<>();
    private final Set<String> names = new HashSet<>();
    private int offset;

    private boolean nullable;

    private Builder() {}

    /**
     * Lets the part that is added next have no value: null is below all values. Only keys of
     * indexes have such parts, and not that of a table.
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
     * @return the part
     * @throws IllegalArgumentException if there is a part of that name
     */
    public Field int32(String name) {
      return add(name, FieldType.INT32, 4);
    }

    /**
     * Adds a 64-bit integer.
     *
     * @param name its name
     * @return the part
     * @throws IllegalArgumentException if there is a part of that name
     */
    public Field int64(String name) {
      return add(name, FieldType.INT64, 8);
    }

    /**
     * Adds a text.
     *
     * @param name its name
     * @param width the most bytes that it may take in UTF-8, 1 to 65,535
     * @return the part
     * @throws IllegalArgumentException if there is a part of that name, or for such a width
     */
    public Field text(String name, int width) {
      return add(name, FieldType.TEXT, width);
    }

    /**
     * Adds a byte string.
     *
     * @param name its name
     * @param width the most bytes that it may have, 1 to 65,535
     * @return the part
     * @throws IllegalArgumentException if there is a part of that name, or for such a width
     */
    public Field bytes(String name, int width) {
      return add(name, FieldType.BYTES, width);
    }

    /**
     * Adds false or true.
     *
     * @param name its name
     * @return the part
     * @throws IllegalArgumentException if there is a part of that name
     */
    public Field bool(String name) {
      return add(name, FieldType.BOOLEAN, 1);
    }

    /**
     * Adds a {@code double}.
     *
     * @param name its name
     * @return the part
     * @throws IllegalArgumentException if there is a part of that name
     */
    public Field float64(String name) {
      return add(name, FieldType.FLOAT64, 8);
    }

    /**
     * Adds a {@link java.util.UUID}.
     *
     * @param name its name
     * @return the part
     * @throws IllegalArgumentException if there is a part of that name
     */
    public Field uuid(String name) {
      return add(name, FieldType.UUID, 16);
    }

    /**
     * Adds an {@link java.time.Instant}.
     *
     * @param name its name
     * @return the part
     * @throws IllegalArgumentException if there is a part of that name
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
     * @return the part
     * @throws IllegalArgumentException if there is a part of that name, or for such numbers
     */
    public Field decimal(String name, int precision, int scale) {
      int width = Field.decimalBytes(Math.clamp(precision, 1, Field.PRECISION_MAX));
      return add(name, FieldType.DECIMAL, width, precision, scale, takeNullable());
    }

    /**
     * Adds a part of any type but a decimal.
     *
     * @param name its name
     * @param type its type
     * @param width {@link FieldType#width}; of a text or byte string the most bytes that it may
     *     have, 1 to 65,535
     * @return the part
     * @throws IllegalArgumentException if there is a part of that name, or for such a width
     */
    public Field add(String name, FieldType type, int width) {
      return add(name, type, width, 0, 0, takeNullable());
    }

    /**
     * Adds a part that is as another one: of the same type and size, and nullable if that is.
     *
     * @param name its name
     * @param like a field of a row, or a part of a key
     * @return the part
     * @throws IllegalArgumentException if there is a part of that name
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
      Field f =
          new Field(name, type, width, precision, scale, mayBeNull, offset, parts.size(), true);
      if (!names.add(name)) {
        throw new IllegalArgumentException("There is a part \"" + name + "\" already.");
      }
      offset = offset >= 0 && type.isFixed() && !mayBeNull ? offset + width : -1;
      parts.add(f);
      return f;
    }

    /**
     * Makes the specification.
     *
     * @return a specification of the parts added so far
     * @throws IllegalArgumentException if there are none, or none follows {@link #nullable}
     */
    public KeySpec build() {
      if (nullable) {
        throw new IllegalArgumentException(
            "No part was added behind nullable(), which is said of the next one.");
      }
      if (parts.isEmpty()) {
        throw new IllegalArgumentException("A key has at least one part.");
      }
      return new KeySpec(parts, false);
    }
  }
}
