package io.fovea.schema;

import java.util.List;
import java.util.Objects;

/**
 * The parts of a key, in order of comparison.
 *
 * <p>Keys are compared as byte strings, whose order is the order of the values: numbers and
 * instants by value, false before true, text by code points (the order of UTF-8 bytes, which
 * differs slightly from {@link String#compareTo}), byte strings and UUIDs unsigned. A text or byte
 * string precedes those of which it is a prefix. {@link FieldType} has the details.
 *
 * <p>Immutable and thread-safe.
 *
 * @since 0.1.0
 */
public final class KeySpec {
  private final List<Field> parts;
  private final boolean raw;
  private final int maxBytes;
  private final boolean nullable;

  private KeySpec(List<Field> parts, boolean raw) {
    this.parts = List.copyOf(parts);
    this.raw = raw;
    boolean anyNullable = false;
    int n = 0;
    for (Field f : parts) {
      anyNullable |= f.nullable();
      n = Math.addExact(n, raw ? f.width() : f.keyBytesMax());
    }
    this.nullable = anyNullable;
    this.maxBytes = n;
  }

  /**
   * Returns a key of unnamed parts.
   *
   * @param types types of a fixed width, at least one
   * @return the specification; the parts are called {@code k0}, {@code k1} and so on
   * @throws IllegalArgumentException if a type needs a width; see {@link #builder()}
   */
  public static KeySpec of(FieldType... types) {
    Definition b = define();
    for (FieldType t : types) {
      if (t.width() == 0) {
        throw new IllegalArgumentException(
            t
                + (t == FieldType.DECIMAL ? " needs a precision" : " needs a width")
                + ": use KeySpec.builder().");
      }
      b.add("k" + b.fields().size(), t, t.width());
    }
    return b.build();
  }

  /**
   * {@return a new definition, whose methods return each part as a {@link Field}, for a constant}
   */
  public static Definition define() {
    return new Definition();
  }

  /** {@return a new builder for a single expression; look up parts by name with {@link #part}} */
  public static FieldsBuilder<KeySpec> builder() {
    return FieldsBuilder.of(define(), Definition::build);
  }

  /**
   * Returns a key of one raw byte string, without an end mark or escapes.
   *
   * @param width the longest key, 1 to 65,535 bytes
   * @return the specification
   * @throws IllegalArgumentException if the width is out of range
   */
  public static KeySpec ofBytes(int width) {
    return new KeySpec(
        List.of(new Field("key", FieldType.BYTES, width, 0, 0, false, false, 0, 0, true)), true);
  }

  /** {@return the parts in order, an immutable list} */
  public List<Field> parts() {
    return parts;
  }

  /**
   * Returns a part by its name.
   *
   * @param name the name
   * @return the part
   * @throws IllegalArgumentException if no part has that name
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

  /** {@return whether the key is one raw byte string, as from {@link #ofBytes}} */
  public boolean isRaw() {
    return raw;
  }

  /** {@return the longest key, in bytes as stored in trees} */
  public int maxBytes() {
    return maxBytes;
  }

  /** {@return whether a part is nullable} */
  public boolean hasNullable() {
    return nullable;
  }

  /**
   * Returns whether a field is part of this key.
   *
   * @param field any field
   * @return true if the key has an equal part in that position
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
   * Collects parts. Not thread-safe.
   *
   * @since 0.1.0
   */
  public static final class Definition extends FieldDefinition {
    private int offset;

    private Definition() {
      super("part");
    }

    /**
     * Makes the next part nullable; null is below all values. Only keys of indexes may have such
     * parts.
     *
     * @return this
     */
    @Override
    public Definition nullable() {
      super.nullable();
      return this;
    }

    @Override
    Field make(
        String name,
        FieldType type,
        int width,
        int precision,
        int scale,
        boolean mayBeNull,
        boolean variable,
        int i) {
      // All text and byte strings of a key take their actual length, so no part is marked.
      return new Field(name, type, width, precision, scale, mayBeNull, false, offset, i, true);
    }

    @Override
    void added(Field f) {
      boolean fixed = offset >= 0 && f.type().isFixed() && !f.nullable();
      offset = fixed ? offset + f.width() : -1;
    }

    /**
     * Returns the specification.
     *
     * @return a specification of the parts added so far
     * @throws IllegalArgumentException if there are no parts, or no part follows {@link #nullable}
     */
    public KeySpec build() {
      List<Field> parts = fields();
      if (parts.isEmpty()) {
        throw new IllegalArgumentException("A key must have at least one part.");
      }
      return new KeySpec(parts, false);
    }
  }
}
