package io.fovea;

import io.fovea.error.InvalidUseException;
import io.fovea.error.TransactionAbortedException;

/**
 * A scan of Java objects under way, of a table or in the order of an index: it stands before the
 * first record, then on one after the other.
 *
 * <p>Moves as a {@link RowCursor} does, and throws what that throws, and what codecs and
 * constructors of the records throw. Belongs to its transaction and to its thread. Close it when it
 * is no longer needed; the transaction's end closes it at last.
 *
 * @param <K> the class of the table's keys
 * @param <V> the class of the values
 * @since 0.1.0
 */
public abstract sealed class ObjectCursor<K, V> implements AutoCloseable
    permits Cursor, IndexCursor {
  private final OrderedEntries.Walk<K, V> walk;

  ObjectCursor(OrderedEntries.Walk<K, V> walk) {
    this.walk = walk;
  }

  /**
   * Moves to the next record.
   *
   * @return false if there is none
   * @throws TransactionAbortedException when the transaction can't go on
   * @throws InvalidUseException if the cursor or its transaction has ended, or belongs to another
   *     thread
   */
  public boolean next() {
    return walk.next();
  }

  /**
   * Moves to the record before: as {@link RowCursor#previous}.
   *
   * @return false if there is none
   * @throws TransactionAbortedException as {@link #next}
   * @throws InvalidUseException as {@link #next}
   */
  public boolean previous() {
    return walk.previous();
  }

  /**
   * Moves to the first record of the range.
   *
   * @return false if there is none
   * @throws TransactionAbortedException as {@link #next}
   * @throws InvalidUseException as {@link #next}
   */
  public boolean first() {
    return walk.first();
  }

  /**
   * Moves to the last record of the range.
   *
   * @return false if there is none
   * @throws TransactionAbortedException as {@link #next}
   * @throws InvalidUseException as {@link #next}
   */
  public boolean last() {
    return walk.last();
  }

  /**
   * The key of the record that it stands on.
   *
   * @return an object, which may be the same one until the next move
   * @throws InvalidUseException if it stands on no record, or as {@link #next}
   */
  public K key() {
    return walk.key();
  }

  /**
   * The object of the record that it stands on.
   *
   * @return a new object
   * @throws InvalidUseException if it stands on no record, if the transaction has deleted it, or as
   *     {@link #next}
   */
  public V value() {
    return walk.value();
  }

  /**
   * Ends the scan. A second call does nothing, as does one after the transaction's end.
   *
   * @throws InvalidUseException if it belongs to another thread
   */
  @Override
  public void close() {
    walk.close();
  }
}
