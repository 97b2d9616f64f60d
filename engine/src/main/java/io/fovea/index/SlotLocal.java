package io.fovea.index;

import org.jspecify.annotations.Nullable;

/**
 * Scratch objects of a table or an index, one per context, created once and reused. The table or
 * index owns them, not the context, because contexts live as long as their database, but tables do
 * not.
 *
 * <p>An element belongs to the owner of the context; the claim of the context orders its users. The
 * array is allocated for all contexts at the first use.
 *
 * @param <T> the type of the scratch object
 */
public final class SlotLocal<T> {
  private volatile @Nullable Object[] values = new Object[0];

  /** Returns the element of a context, or null if it has none yet. */
  @SuppressWarnings("unchecked") // only set stores elements
  public @Nullable T get(StatementContext context) {
    int i = context.number;
    if (i < 0) {
      return (T) context.kept().get(this);
    }
    @Nullable Object[] all = values;
    return i < all.length ? (T) all[i] : null;
  }

  /** Sets the element of a context. */
  public void set(StatementContext context, T value) {
    if (context.number < 0) {
      context.kept().put(this, value);
      return;
    }
    if (context.number >= values.length) {
      synchronized (this) {
        if (context.number >= values.length) {
          values = new Object[context.count];
        }
      }
    }
    values[context.number] = value;
  }
}
