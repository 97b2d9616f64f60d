package io.fovea.index;

import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.Layout;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The versions of a table's rows: what there is in its tree besides rows of the newest layout.
 *
 * <p><b>A row's length says which layout it has.</b> All rows of one layout are equally long, and
 * the tree knows the length of each value. So nothing has to be stored with a row, if no two
 * layouts of a table have rows of the same length: a layout whose rows would be as long as those of
 * an older one gets as many zero bytes behind its fields as it takes. Who reads a row compares its
 * length with that of the newest layout, which was so before there were versions.
 *
 * <p><b>A row of variable length says it itself</b>, in its last byte: {@link PackedRows}. So do
 * all rows of a table since its first layout that has such a field, and none of them is as long as
 * the rows of a layout before.
 *
 * <p><b>Fields have numbers</b> that are never given again: an old row's field is a new row's field
 * if it has its number, whatever its name. A field that was dropped and added again has another.
 *
 * <p>A version that changes names alone has the layout of the one before. Immutable; any thread.
 *
 * @param version of the table
 * @param nextId the number that the next new field gets
 * @param fields one for each of the layout
 * @param length the bytes of a row of the layout in memory, and in the tree unless rows have a
 *     variable length; then the most that they have there
 * @param old older layouts, the oldest first
 */
public record RowHistory(
    int version, int nextId, List<Origin> fields, int length, List<Shape> old) {
  /**
   * Where a field is from.
   *
   * @param id its number
   * @param value what it is in rows that don't have it: as {@link io.fovea.schema.Step#value} says;
   *     empty for 0 or nothing. Of a nullable field: empty for null, else a byte 1 before that
   */
  public record Origin(int id, byte[] value) {}

  /**
   * An older layout.
   *
   * @param version the last one that had it
   * @param length the bytes of a row, as {@link RowHistory#length}
   * @param fields in their order
   */
  public record Shape(int version, int length, List<Part> fields) {}

  /**
   * A field of an older layout.
   *
   * @param id its number
   * @param type its type
   * @param width the bytes of its values, as {@link Field#width}
   * @param precision of a decimal
   * @param scale of a decimal
   * @param nullable whether a byte before the value says that there is one
   * @param variable whether a text or byte string takes what it has
   */
  public record Part(
      int id,
      FieldType type,
      int width,
      int precision,
      int scale,
      boolean nullable,
      boolean variable) {
    /** A field as it is now. */
    public static Part of(int id, Field f) {
      return new Part(
          id, f.type(), f.width(), f.precision(), f.scale(), f.nullable(), f.variable());
    }

    /** The same where what it takes in a row does not depend on the most that it may have. */
    private Part stored() {
      return variable ? new Part(id, type, 0, precision, scale, nullable, true) : this;
    }

    /** The bytes that it takes in a row; of variable length, the most. */
    public int rowBytes() {
      return (type.isFixed() ? width : 2 + width) + (nullable ? 1 : 0);
    }
  }

  /** Of a table that was never another one. */
  public static RowHistory first(Layout layout) {
    return started(1, layout);
  }

  /** Of a table that begins with a version. */
  public static RowHistory started(int version, Layout layout) {
    List<Origin> fields = new ArrayList<>();
    for (Field f : layout.fields()) {
      fields.add(new Origin(f.ordinal(), new byte[0]));
    }
    int bytes = length(layout, List.of());
    return new RowHistory(version, fields.size(), List.copyOf(fields), bytes, List.of());
  }

  /**
   * Of the table with another layout.
   *
   * @param from the layout that it has
   * @param to the layout that it gets
   * @param toFields where the fields of that are from
   */
  public RowHistory next(
      int toVersion, int toNextId, Layout from, Layout to, List<Origin> toFields) {
    Shape last = new Shape(version, length, parts(from, fields));
    List<Shape> more = new ArrayList<>(old);
    if (!stored(last.fields).equals(stored(parts(to, toFields)))) {
      more.add(last);
    }
    int bytes = length(to, more);
    return new RowHistory(toVersion, toNextId, List.copyOf(toFields), bytes, List.copyOf(more));
  }

  private static List<Part> stored(List<Part> parts) {
    return parts.stream().map(Part::stored).toList();
  }

  private static int length(Layout layout, List<Shape> before) {
    int fixed = fixed(before);
    int bytes = layout.size();
    if (fixed < before.size() || layout.hasVariable()) {
      return bytes + PackedRows.bytesMore(fixed);
    }
    while (shape(before, bytes) != null) {
      bytes++;
    }
    return bytes;
  }

  /** How many layouts there were before the first one with a field of variable length. */
  private static int fixed(List<Shape> shapes) {
    int n = 0;
    while (n < shapes.size() && shapes.get(n).fields.stream().noneMatch(Part::variable)) {
      n++;
    }
    return n;
  }

  /** How many of the older layouts are known by the length of their rows; the others say theirs. */
  public int fixed() {
    return fixed(old);
  }

  /** Whether rows of a layout, which is the newest one, have a variable length. */
  public boolean isPacked(Layout layout) {
    return layout.hasVariable() || fixed() < old.size();
  }

  private static List<Part> parts(Layout layout, List<Origin> origins) {
    List<Part> parts = new ArrayList<>();
    for (Field f : layout.fields()) {
      parts.add(Part.of(origins.get(f.ordinal()).id, f));
    }
    return List.copyOf(parts);
  }

  private static @Nullable Shape shape(List<Shape> shapes, int length) {
    for (Shape s : shapes) {
      if (s.length == length) {
        return s;
      }
    }
    return null;
  }

  /** Whether there is nothing to be said about it. */
  public boolean isFirst() {
    return version == 1;
  }

  /** The longest row that may be in the tree. */
  public int lengthMax() {
    return old.stream().mapToInt(Shape::length).reduce(length, Math::max);
  }
}
