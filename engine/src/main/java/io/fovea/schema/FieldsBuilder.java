package io.fovea.schema;

import java.util.function.Function;
import java.util.function.Supplier;

/**
 * Collects fields in one expression, for programs that ask for them by name.
 *
 * <pre>{@code
 * KeySpec key = KeySpec.builder().text("sku", 40).build();
 * Layout layout = Layout.builder().int32("count").nullable().text("note", 80).build();
 * Field count = layout.field("count");
 * }</pre>
 *
 * <p>A {@link Layout.Definition} and a {@link KeySpec.Definition} do the same and give each field
 * at once, which is what constants are made from. One thread at a time.
 *
 * @param <S> what is made: a {@link KeySpec} or a {@link Layout}
 * @since 0.1.0
 */
public final class FieldsBuilder<S> {
  private final FieldDefinition fields;
  private final Supplier<S> end;

  private FieldsBuilder(FieldDefinition fields, Supplier<S> end) {
    this.fields = fields;
    this.end = end;
  }

  static <S, B extends FieldDefinition> FieldsBuilder<S> of(B fields, Function<B, S> end) {
    return new FieldsBuilder<>(fields, () -> end.apply(fields));
  }

  /**
   * Lets the field that is added next have no value, as the builder's method says.
   *
   * @return this
   */
  public FieldsBuilder<S> nullable() {
    fields.nullable();
    return this;
  }

  /**
   * Adds a 32-bit integer.
   *
   * @param name its name
   * @return this
   * @throws IllegalArgumentException if there is a field of that name
   */
  public FieldsBuilder<S> int32(String name) {
    fields.int32(name);
    return this;
  }

  /**
   * Adds a 64-bit integer.
   *
   * @param name its name
   * @return this
   * @throws IllegalArgumentException if there is a field of that name
   */
  public FieldsBuilder<S> int64(String name) {
    fields.int64(name);
    return this;
  }

  /**
   * Adds a text.
   *
   * @param name its name
   * @param width the most bytes that it may take in UTF-8, 1 to 65,535
   * @return this
   * @throws IllegalArgumentException if there is a field of that name, or for such a width
   */
  public FieldsBuilder<S> text(String name, int width) {
    fields.text(name, width);
    return this;
  }

  /**
   * Adds a text of variable length, as {@link FieldDefinition#varText} does.
   *
   * @param name its name
   * @param maxBytes the most bytes that it may take in UTF-8, 1 to 65,535
   * @return this
   * @throws IllegalArgumentException if there is a field of that name, or for such a number
   */
  public FieldsBuilder<S> varText(String name, int maxBytes) {
    fields.varText(name, maxBytes);
    return this;
  }

  /**
   * Adds a byte string of variable length, as {@link FieldDefinition#varBytes} does.
   *
   * @param name its name
   * @param maxBytes the most bytes that it may have, 1 to 65,535
   * @return this
   * @throws IllegalArgumentException if there is a field of that name, or for such a number
   */
  public FieldsBuilder<S> varBytes(String name, int maxBytes) {
    fields.varBytes(name, maxBytes);
    return this;
  }

  /**
   * Adds a byte string.
   *
   * @param name its name
   * @param width the most bytes that it may have, 1 to 65,535
   * @return this
   * @throws IllegalArgumentException if there is a field of that name, or for such a width
   */
  public FieldsBuilder<S> bytes(String name, int width) {
    fields.bytes(name, width);
    return this;
  }

  /**
   * Adds false or true.
   *
   * @param name its name
   * @return this
   * @throws IllegalArgumentException if there is a field of that name
   */
  public FieldsBuilder<S> bool(String name) {
    fields.bool(name);
    return this;
  }

  /**
   * Adds a {@code double}.
   *
   * @param name its name
   * @return this
   * @throws IllegalArgumentException if there is a field of that name
   */
  public FieldsBuilder<S> float64(String name) {
    fields.float64(name);
    return this;
  }

  /**
   * Adds a {@link java.util.UUID}.
   *
   * @param name its name
   * @return this
   * @throws IllegalArgumentException if there is a field of that name
   */
  public FieldsBuilder<S> uuid(String name) {
    fields.uuid(name);
    return this;
  }

  /**
   * Adds an {@link java.time.Instant}.
   *
   * @param name its name
   * @return this
   * @throws IllegalArgumentException if there is a field of that name
   */
  public FieldsBuilder<S> instant(String name) {
    fields.instant(name);
    return this;
  }

  /**
   * Adds a {@link java.math.BigDecimal}.
   *
   * @param name its name
   * @param precision how many digits it has, 1 to 38
   * @param scale how many of these are behind the point, 0 to {@code precision}
   * @return this
   * @throws IllegalArgumentException if there is a field of that name, or for such numbers
   */
  public FieldsBuilder<S> decimal(String name, int precision, int scale) {
    fields.decimal(name, precision, scale);
    return this;
  }

  /**
   * Adds a field that is as another one, as {@link FieldDefinition#add(String, Field)} does.
   *
   * @param name its name
   * @param like a field of a row, or a part of a key
   * @return this
   * @throws IllegalArgumentException if there is a field of that name
   */
  public FieldsBuilder<S> add(String name, Field like) {
    fields.add(name, like);
    return this;
  }

  /**
   * Makes what was begun.
   *
   * @return a specification of the fields added so far
   * @throws IllegalArgumentException if no field follows {@link #nullable}, or a key has no part
   */
  public S build() {
    return end.get();
  }
}
