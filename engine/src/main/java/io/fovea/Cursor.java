package io.fovea;

import io.fovea.error.InvalidUseException;
import io.fovea.error.TransactionAbortedException;
import java.util.Objects;

/**
 * A scan of the Java objects of a table, in the order of their keys.
 *
 * @param <K> the class of the keys
 * @param <V> the class of the values
 * @since 0.1.0
 */
public final class Cursor<K, V> extends ObjectCursor<K, V> {
  private final OrderedEntries.Walk<K, V> walk;

  Cursor(OrderedEntries.Walk<K, V> walk) {
    super(walk);
    this.walk = walk;
  }

  /**
   * Moves to the first record at a key or behind it: as {@link RowCursor#seek}.
   *
   * @param key where to, before or behind where it stands
   * @return false if there is none
   * @throws TransactionAbortedException as {@link #next}
   * @throws InvalidUseException as {@link #next}
   */
  public boolean seek(K key) {
    return walk.seek(Objects.requireNonNull(key, "key"));
  }
}
