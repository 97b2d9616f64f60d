package io.fovea;

import io.fovea.schema.Field;
import io.fovea.schema.Layout;
import java.util.Objects;

/**
 * The fields that a read needs; other fields need not be copied.
 *
 * <p>Fields are stored in the order of their declaration, and a read copies the row up to the last
 * field requested. Declare wide and rarely read fields last.
 *
 * <p>Immutable and thread-safe.
 *
 * @since 0.1.0
 */
public final class Projection {
  private final Layout layout;
  private final int bytes;

  private Projection(Layout layout, int bytes) {
    this.layout = layout;
    this.bytes = bytes;
  }

  /**
   * {@return a projection onto the given fields of a layout}
   *
   * @param layout the layout
   * @param fields its fields to be read, at least one
   * @throws IllegalArgumentException if no field is given, or a field belongs to another layout
   */
  public static Projection of(Layout layout, Field... fields) {
    Objects.requireNonNull(layout, "layout");
    int end = 0;
    for (Field f : fields) {
      if (!layout.contains(f)) {
        throw new IllegalArgumentException("Field " + f.name() + " is not one of " + layout + ".");
      }
      end = Math.max(end, f.end());
    }
    if (end == 0) {
      throw new IllegalArgumentException("A projection must have at least one field.");
    }
    return new Projection(layout, end);
  }

  Layout layout() {
    return layout;
  }

  /** Returns how many bytes to read from the start of a row. */
  int bytes() {
    return bytes;
  }
}
