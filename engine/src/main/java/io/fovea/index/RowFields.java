package io.fovea.index;

import io.fovea.schema.Field;
import io.fovea.schema.Layout;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The fields of a layout as rows use them: made once a table, shared by its rows, never written.
 *
 * <p>A row looks for a field among the {@link #plain} ones first. So a field that is not nullable
 * is found without a question for null; a nullable one is not found there, and goes another way,
 * which asks.
 */
public final class RowFields {
  /** All of them, in their order. */
  final Field[] all;

  /** The same with null in the place of each nullable one. */
  final @Nullable Field[] plain;

  /** Where each begins in a row. */
  final int[] starts;

  /** Those of variable length. */
  final Field[] variable;

  /** Those of a layout. */
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

  /** All of them, in their order; never written. */
  public Field[] all() {
    return all;
  }

  /** The same with null in the place of each nullable one; never written. */
  public @Nullable Field[] plain() {
    return plain;
  }
}
