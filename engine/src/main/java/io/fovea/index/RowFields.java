package io.fovea.index;

import io.fovea.schema.Field;
import io.fovea.schema.Layout;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The fields of a layout in the form that rows use: created once per table, shared, never written.
 *
 * <p>A row searches {@link #plain} first. So a field that is not nullable is found without a null
 * check, and a nullable one takes the other path, which has the check.
 */
public final class RowFields {
  final Field[] all;

  /** The fields of the layout, with null in place of each nullable field. */
  final @Nullable Field[] plain;

  final int[] starts;

  final Field[] variable;

  public RowFields(Layout layout) {
    List<Field> fields = layout.fields();
    this.all = fields.toArray(new Field[0]);
    this.plain = fields.toArray(new Field[0]);
    List<Field> varying = new ArrayList<>();
    for (Field field : all) {
      if (field.variable()) {
        varying.add(field);
      }
    }
    this.variable = varying.toArray(new Field[0]);
    this.starts = new int[all.length];
    for (int i = 0; i < all.length; i++) {
      starts[i] = all[i].start();
      plain[i] = all[i].nullable() ? null : all[i];
    }
  }

  public Field[] all() {
    return all;
  }

  public @Nullable Field[] plain() {
    return plain;
  }
}
