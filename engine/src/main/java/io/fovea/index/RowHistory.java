package io.fovea.index;

import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.Layout;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The versions of a table's rows, which describe the rows of older layouts in its tree.
 *
 * <p><b>The length of a row identifies its layout.</b> All rows of one layout have the same length,
 * and the tree stores the length of each value. So rows need no tag if no two layouts of a table
 * have the same row length: a layout that would repeat an older length is padded with zero bytes.
 *
 * <p><b>A row of variable length stores its layout</b> in its last byte: {@link PackedRows}. So do
 * all rows of later layouts, even without such a field, and none of these rows has the length of an
 * earlier layout's rows.
 *
 * <p><b>Fields have numbers</b> that are never reused: a field of an old row is the field of a new
 * row with the same number, whatever its name. A field that was dropped and added again has another
 * number.
 *
 * <p>A version that only changes names shares the layout of the previous one. Immutable.
 *
 * @param version the version of the table
 * @param nextId the number of the next new field
 * @param fields the origin of each field of the layout
 * @param length the length of a row of the layout in memory, and in the tree unless rows have a
 *     variable length; then the maximum there
 * @param old older layouts, the oldest first
 */
public record RowHistory(
    int version, int nextId, List<Origin> fields, int length, List<Shape> old) {
  /**
   * The origin of a field.
   *
   * @param id its number
   * @param value its value in rows that lack it, as {@link io.fovea.schema.Step#value} returns it;
   *     empty for 0 or nothing. For a nullable field: empty for null, otherwise the byte 1 comes
   *     first
   */
  public record Origin(int id, byte[] value) {}

  /**
   * An older layout.
   *
   * @param version the last version with this layout
   * @param length the length of a row, as {@link RowHistory#length}
   * @param fields in order
   */
  public record Shape(int version, int length, List<Part> fields) {}

  /**
   * A field of an older layout.
   *
   * @param id its number
   * @param type its type
   * @param width the length of its values, as {@link Field#width}
   * @param precision the precision of a decimal
   * @param scale the scale of a decimal
   * @param nullable whether a null byte precedes the value
   * @param variable whether text or a byte string occupies only its current length
   */
  public record Part(
      int id,
      FieldType type,
      int width,
      int precision,
      int scale,
      boolean nullable,
      boolean variable) {
    public static Part of(int id, Field f) {
      return new Part(
          id, f.type(), f.width(), f.precision(), f.scale(), f.nullable(), f.variable());
    }

    /** Returns this part, without the maximum length if the stored length does not depend on it. */
    private Part stored() {
      return variable ? new Part(id, type, 0, precision, scale, nullable, true) : this;
    }

    /** Returns the length of the field in a row; the maximum if the length is variable. */
    public int rowBytes() {
      return (type.isFixed() ? width : 2 + width) + (nullable ? 1 : 0);
    }
  }

  public static RowHistory started(int version, Layout layout) {
    List<Origin> fields = new ArrayList<>();
    for (Field f : layout.fields()) {
      fields.add(new Origin(f.ordinal(), new byte[0]));
    }
    int bytes = length(layout, List.of());
    return new RowHistory(version, fields.size(), List.copyOf(fields), bytes, List.of());
  }

  /** Returns the history after a change of the layout, whose fields have the given origins. */
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

  /** Returns the number of layouts before the first one with a field of variable length. */
  private static int fixed(List<Shape> shapes) {
    int n = 0;
    while (n < shapes.size() && shapes.get(n).fields.stream().noneMatch(Part::variable)) {
      n++;
    }
    return n;
  }

  /** Returns the number of older layouts that are identified by the length of their rows. */
  public int fixed() {
    return fixed(old);
  }

  /** Returns whether rows of the newest layout have a variable length. */
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

  public boolean isFirst() {
    return version == 1;
  }

  /** Returns the maximum length of a row in the tree. */
  public int lengthMax() {
    return old.stream().mapToInt(Shape::length).reduce(length, Math::max);
  }
}
