package io.fovea;

import io.fovea.schema.Field;
import io.fovea.schema.Layout;
import java.util.Objects;

/**
 * The fields that a read needs, so that the others need not be copied.
 *
 * <p>Fields lie in the order of their declaration, and what is copied is the row's beginning up to
 * the last field that is asked for. So it pays to declare wide and seldom read fields last.
 *
 * <p>A value; any thread.
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
   * The given fields of a layout.
   *
   * @param layout the layout
   * @param fields its fields to be read, at least one
   * @return the projection
   * @throws IllegalArgumentException if a field is not one of the layout's, or there is none
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
      throw new IllegalArgumentException("A projection has at least one field.");
    }
    return new Projection(layout, end);
  }

  Layout layout() {
    return layout;
  }

  /** How many bytes of a row it needs, from the row's start. */
  int bytes() {
    return bytes;
  }
}
