package io.fovea.schema;

import java.util.function.Function;
import java.util.function.Supplier;

/**
 * Collects fields in one expression, for programs that look them up by name.
 *
 * <pre>{@code
 * KeySpec key = KeySpec.builder().text("sku", 40).build();
 * Layout layout = Layout.builder().int32("count").nullable().text("note", 80).build();
 * Field count = layout.field("count");
 * }</pre>
 *
 * <p>For constants use {@link Layout.Definition} and {@link KeySpec.Definition}, which return each
 * field. Not thread-safe.
 *
 * @param <S> the result: a {@link KeySpec} or a {@link Layout}
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
   * Makes the next field nullable.
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
   * @throws IllegalArgumentException if the name is taken
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
   * @throws IllegalArgumentException if the name is taken
   */
  public FieldsBuilder<S> int64(String name) {
    fields.int64(name);
    return this;
  }

  /**
   * Adds a text field.
   *
   * @param name its name
   * @param width the maximum length in UTF-8, 1 to 65,535 bytes
   * @return this
   * @throws IllegalArgumentException if the name is taken or the length is out of range
   */
  public FieldsBuilder<S> text(String name, int width) {
    fields.text(name, width);
    return this;
  }

  /**
   * Adds a text field of variable length: see {@link FieldDefinition#varText}.
   *
   * @param name its name
   * @param maxBytes the maximum length in UTF-8, 1 to 65,535 bytes
   * @return this
   * @throws IllegalArgumentException if the name is taken or the length is out of range
   */
  public FieldsBuilder<S> varText(String name, int maxBytes) {
    fields.varText(name, maxBytes);
    return this;
  }

  /**
   * Adds a byte string of variable length: see {@link FieldDefinition#varBytes}.
   *
   * @param name its name
   * @param maxBytes the maximum length, 1 to 65,535 bytes
   * @return this
   * @throws IllegalArgumentException if the name is taken or the length is out of range
   */
  public FieldsBuilder<S> varBytes(String name, int maxBytes) {
    fields.varBytes(name, maxBytes);
    return this;
  }

  /**
   * Adds a byte string.
   *
   * @param name its name
   * @param width the maximum length, 1 to 65,535 bytes
   * @return this
   * @throws IllegalArgumentException if the name is taken or the length is out of range
   */
  public FieldsBuilder<S> bytes(String name, int width) {
    fields.bytes(name, width);
    return this;
  }

  /**
   * Adds a boolean.
   *
   * @param name its name
   * @return this
   * @throws IllegalArgumentException if the name is taken
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
   * @throws IllegalArgumentException if the name is taken
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
   * @throws IllegalArgumentException if the name is taken
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
   * @throws IllegalArgumentException if the name is taken
   */
  public FieldsBuilder<S> instant(String name) {
    fields.instant(name);
    return this;
  }

  /**
   * Adds a {@link java.math.BigDecimal}.
   *
   * @param name its name
   * @param precision the number of digits, 1 to 38
   * @param scale the number of digits after the point, 0 to {@code precision}
   * @return this
   * @throws IllegalArgumentException if the name is taken or a number is out of range
   */
  public FieldsBuilder<S> decimal(String name, int precision, int scale) {
    fields.decimal(name, precision, scale);
    return this;
  }

  /**
   * Adds a field like another one: see {@link FieldDefinition#add(String, Field)}.
   *
   * @param name its name
   * @param like a field of a row, or a part of a key
   * @return this
   * @throws IllegalArgumentException if the name is taken
   */
  public FieldsBuilder<S> add(String name, Field like) {
    fields.add(name, like);
    return this;
  }

  /**
   * Returns the specification.
   *
   * @return a specification of the fields added so far
   * @throws IllegalArgumentException if no field follows {@link #nullable}, or a key has no part
   */
  public S build() {
    return end.get();
  }
}
