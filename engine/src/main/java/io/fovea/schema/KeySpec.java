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
 * values: integers by their value, texts by their code points (which is the order of their UTF-8
 * bytes, and not quite that of {@link String#compareTo}), byte strings unsigned. A text or byte
 * string that is a prefix of another comes first.
 *
 * <p>A value; any thread.
 *
 * @since 0.1.0
 */
public final class KeySpec {
  private final List<Field> parts;
  private final boolean raw;
  private final int bytesMax;

  private KeySpec(List<Field> parts, boolean raw) {
    this.parts = List.copyOf(parts);
    this.raw = raw;
    int n = 0;
    for (Field f : parts) {
      n = Math.addExact(n, raw ? f.width() : f.keyBytesMax());
    }
    this.bytesMax = n;
  }

  /**
   * A key of unnamed integers.
   *
   * @param types {@link FieldType#INT32} or {@link FieldType#INT64}, at least one
   * @return the specification; the parts are called {@code k0}, {@code k1} and so on
   * @throws IllegalArgumentException for types that need a width; see {@link #builder()}
   */
  public static KeySpec of(FieldType... types) {
    Builder b = builder();
    for (FieldType t : types) {
      if (!t.isFixed()) {
        throw new IllegalArgumentException(t + " needs a width: use KeySpec.builder().");
      }
      b.add("k" + b.parts.size(), t, t == FieldType.INT32 ? 4 : 8);
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
    return new KeySpec(List.of(new Field("key", FieldType.BYTES, width, 0, 0, true)), true);
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

    private Builder() {}

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
     * Adds a part of any type.
     *
     * @param name its name
     * @param type its type
     * @param width 4 or 8 for integers; else the most bytes that it may have, 1 to 65,535
     * @return the part
     * @throws IllegalArgumentException if there is a part of that name, or for such a width
     */
    public Field add(String name, FieldType type, int width) {
      Field f = new Field(name, type, width, offset, parts.size(), true);
      if (!names.add(name)) {
        throw new IllegalArgumentException("There is a part \"" + name + "\" already.");
      }
      offset = offset >= 0 && type.isFixed() ? offset + width : -1;
      parts.add(f);
      return f;
    }

    /**
     * Makes the specification.
     *
     * @return a specification of the parts added so far
     * @throws IllegalArgumentException if there are none
     */
    public KeySpec build() {
      if (parts.isEmpty()) {
        throw new IllegalArgumentException("A key has at least one part.");
      }
      return new KeySpec(parts, false);
    }
  }
}
