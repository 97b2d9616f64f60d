package io.fovea.schema;

import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;

/**
 * The fields of a table's rows, in the order in which they lie in memory and in the file.
 *
 * <p>Rows have a fixed size in memory: 4 or 8 bytes for an integer, 2 bytes of length and the full
 * width for text and bytes, 1 more byte for a nullable field. In the file they have the same size,
 * unless there are text or byte strings of {@linkplain FieldDefinition#varText variable length},
 * which take only their actual length there.
 *
 * <p>Declare fields that change together next to each other, and wide, rarely read fields last:
 * then an update writes one run of bytes, and a {@link io.fovea.Projection} copies less. Declare
 * fields of variable length last: a change of a field before the first of them writes only that
 * field, and any other change writes the whole row.
 *
 * <p>Immutable and thread-safe.
 *
 * @since 0.1.0
 */
public final class Layout {
  private final List<Field> fields;

  private final int size;

  private final boolean nullable;

  private final boolean variable;

  private Layout(List<Field> fields, int size) {
    this.fields = List.copyOf(fields);
    boolean anyNullable = false;
    boolean anyVariable = false;
    for (Field field : fields) {
      anyNullable |= field.nullable();
      anyVariable |= field.variable();
    }
    this.nullable = anyNullable;
    this.variable = anyVariable;
    this.size = size;
  }

  /** {@return a new definition, whose methods return each {@link Field}, for a constant} */
  public static Definition define() {
    return new Definition();
  }

  /** {@return a new builder for a single expression; look up fields by name with {@link #field}} */
  public static FieldsBuilder<Layout> builder() {
    return FieldsBuilder.of(define(), Definition::build);
  }

  /** {@return the fields in order, an immutable list} */
  public List<Field> fields() {
    return fields;
  }

  /**
   * Returns a field by its name.
   *
   * @param name the name
   * @return the field
   * @throws IllegalArgumentException if no field has that name
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
   * {@return the size of a row in memory, in bytes; fields of variable length may take less in the
   * file}
   */
  public int size() {
    return size;
  }

  /** {@return whether a field is nullable} */
  public boolean hasNullable() {
    return nullable;
  }

  /** {@return whether a field has variable length, so that rows in the file differ in length} */
  public boolean hasVariable() {
    return variable;
  }

  /**
   * Returns whether a field is part of this layout.
   *
   * @param field any field
   * @return true if the layout has an equal field in that position
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
   * Collects fields. Not thread-safe.
   *
   * @since 0.1.0
   */
  public static final class Definition extends FieldDefinition {
    private int size;

    private Definition() {
      super("field");
    }

    /**
     * Makes the next field nullable: it takes 1 more byte in rows, and is null in a new row.
     * Example: {@code LAYOUT.nullable().text("email", 40)}.
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
      int offset = mayBeNull ? size + 1 : size;
      return new Field(name, type, width, precision, scale, mayBeNull, variable, offset, i, false);
    }

    @Override
    void added(Field f) {
      size = Math.addExact(size, f.rowBytes());
    }

    /**
     * Returns the layout.
     *
     * @return a layout of the fields added so far
     * @throws IllegalArgumentException if no field follows {@link #nullable}
     */
    public Layout build() {
      return new Layout(fields(), size);
    }
  }
}
