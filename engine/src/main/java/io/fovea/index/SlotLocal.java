package io.fovea.index;

import org.jspecify.annotations.Nullable;

/**
 * What each slot has of a table or an index: scratch objects that are made once and used again. It
 * is kept by the table or the index, not by the slot, and so goes with it: slots live as long as
 * their database, tables come and go.
 *
 * <p>Each element belongs to whoever has the slot; the claim of a slot orders its users. The array
 * is made when the first slot needs it, once and for all slots.
 *
 * @param <T> what it is
 */
public final class SlotLocal<T> {
  private volatile @Nullable Object[] values = new Object[0];

  /** What a slot has, or null where it has none yet. */
  @SuppressWarnings("unchecked") // only set puts anything in
  public @Nullable T get(StatementContext statementContext) {
    int i = statementContext.number;
    if (i < 0) {
      return (T) statementContext.kept().get(this);
    }
    @Nullable Object[] all = values;
    return i < all.length ? (T) all[i] : null;
  }

  /** Gives a slot its own. */
  public void set(StatementContext statementContext, T value) {
    if (statementContext.number < 0) {
      statementContext.kept().put(this, value);
      return;
    }
    if (statementContext.number >= values.length) {
      synchronized (this) {
        if (statementContext.number >= values.length) {
          values = new Object[statementContext.count];
        }
      }
    }
    values[statementContext.number] = value;
  }
}
