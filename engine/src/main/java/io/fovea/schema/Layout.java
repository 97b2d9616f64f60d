package io.fovea.schema;

import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;

/**
 * The fields of a table's rows, in the order in which they lie in memory and in the file.
 *
 * <p>A row has a fixed size in memory: integers take 4 or 8 bytes, text and bytes a length of 2
 * bytes and their full width, a nullable field 1 byte more. So it has in the file, unless there are
 * texts or byte strings of {@linkplain FieldDefinition#varText variable length}, which take no more
 * there than they have.
 *
 * <p>Fields that are changed together are best declared together, wide ones that are seldom read
 * last: then an update writes one run of bytes, and a {@link io.fovea.Projection} copies less.
 * Those of variable length are best declared last: a change of a field before the first of them
 * writes that field alone, a change of another one the whole row.
 *
 * <p>A value; any thread.
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
    this.nullable = fields.stream().anyMatch(Field::nullable);
    this.variable = fields.stream().anyMatch(Field::variable);
    this.size = size;
  }

  /**
   * Starts a layout, field by field: each is given as a {@link Field}, for a constant.
   *
   * @return a new definition
   */
  public static Definition define() {
    return new Definition();
  }

  /**
   * Starts a layout in one expression; fields are asked for by name, with {@link #field}.
   *
   * @return a new builder
   */
  public static FieldsBuilder<Layout> builder() {
    return FieldsBuilder.of(define(), Definition::build);
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
   * The size of a row in memory. In the file it has as much, or with fields of variable length
   * less.
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
   * Whether rows have different lengths in the file.
   *
   * @return true if there is a field of variable length
   */
  public boolean hasVariable() {
    return variable;
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
  public static final class Definition extends FieldDefinition {
    private int size;

    private Definition() {
      super("field");
    }

    /**
     * Lets the field that is added next have no value: it takes 1 byte more in rows, and is null in
     * a fresh row. As in {@code LAYOUT.nullable().text("email", 40)}.
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
     * Makes the layout.
     *
     * @return a layout of the fields added so far
     * @throws IllegalArgumentException if no field follows {@link #nullable}
     */
    public Layout build() {
      return new Layout(fields(), size);
    }
  }
}
