package io.fovea.schema;

import java.util.List;
import java.util.Objects;

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
  private final int maxBytes;
  private final boolean nullable;

  private KeySpec(List<Field> parts, boolean raw) {
    this.parts = List.copyOf(parts);
    this.raw = raw;
    this.nullable = parts.stream().anyMatch(Field::nullable);
    int n = 0;
    for (Field f : parts) {
      n = Math.addExact(n, raw ? f.width() : f.keyBytesMax());
    }
    this.maxBytes = n;
  }

  /**
   * A key of unnamed parts.
   *
   * @param types of a fixed width, at least one
   * @return the specification; the parts are called {@code k0}, {@code k1} and so on
   * @throws IllegalArgumentException for types that need a width; see {@link #builder()}
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
   * Starts a specification, part by part: each is given as a {@link Field}, for a constant.
   *
   * @return a new definition
   */
  public static Definition define() {
    return new Definition();
  }

  /**
   * Starts a specification in one expression; parts are asked for by name, with {@link #part}.
   *
   * @return a new builder
   */
  public static FieldsBuilder<KeySpec> builder() {
    return FieldsBuilder.of(define(), Definition::build);
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
        List.of(new Field("key", FieldType.BYTES, width, 0, 0, false, false, 0, 0, true)), true);
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
  public int maxBytes() {
    return maxBytes;
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
  public static final class Definition extends FieldDefinition {
    private int offset;

    private Definition() {
      super("part");
    }

    /**
     * Lets the part that is added next have no value: null is below all values. Only keys of
     * indexes have such parts, and not that of a table.
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
      // All texts and byte strings of a key take what they have, so it is said of none.
      return new Field(name, type, width, precision, scale, mayBeNull, false, offset, i, true);
    }

    @Override
    void added(Field f) {
      boolean fixed = offset >= 0 && f.type().isFixed() && !f.nullable();
      offset = fixed ? offset + f.width() : -1;
    }

    /**
     * Makes the specification.
     *
     * @return a specification of the parts added so far
     * @throws IllegalArgumentException if there are none, or none follows {@link #nullable}
     */
    public KeySpec build() {
      List<Field> parts = fields();
      if (parts.isEmpty()) {
        throw new IllegalArgumentException("A key has at least one part.");
      }
      return new KeySpec(parts, false);
    }
  }
}
