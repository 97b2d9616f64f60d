package io.fovea;

import io.fovea.error.InvalidUseException;
import io.fovea.error.TransactionAbortedException;
import java.util.Objects;
import java.util.function.Function;

/**
 * A scan of Java objects in the order of an index: it stands before the first object, then on one
 * after the other.
 *
 * <p>Moves as a {@link Cursor} does, and throws what that throws, and what constructors of the
 * records throw. Belongs to its transaction and to its thread. Close it when it is no longer
 * needed; the transaction's end closes it at last.
 *
 * @param <I> the class of the index's keys
 * @param <K> the class of the table's keys
 * @param <V> the class of the values
 * @since 0.1.0
 */
public final class TypedIndexCursor<I, K, V> implements AutoCloseable {
  private final OrderedEntries.Walk.OfBytes<K, V> walk;
  private final Function<I, byte[]> encode;
  private final Order order;

  TypedIndexCursor(
      ByteCursor cursor,
      OrderedEntries.Walk.Coding<K, V> coding,
      Function<I, byte[]> encode,
      Order order) {
    this.walk = new OrderedEntries.Walk.OfBytes<>(cursor, coding);
    this.encode = encode;
    this.order = order;
  }

  /**
   * Moves to the next object.
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
   * Moves to the object before: as {@link Cursor#previous}.
   *
   * @return false if there is none
   * @throws TransactionAbortedException as {@link #next}
   * @throws InvalidUseException as {@link #next}
   */
  public boolean previous() {
    return walk.previous();
  }

  /**
   * Moves to the first object of the range.
   *
   * @return false if there is none
   * @throws TransactionAbortedException as {@link #next}
   * @throws InvalidUseException as {@link #next}
   */
  public boolean first() {
    return walk.first();
  }

  /**
   * Moves to the last object of the range.
   *
   * @return false if there is none
   * @throws TransactionAbortedException as {@link #next}
   * @throws InvalidUseException as {@link #next}
   */
  public boolean last() {
    return walk.last();
  }

  /**
   * Moves to the first object at a key of the index or, in the scan's order, behind it: as {@link
   * Cursor#seek}. All entries that begin with the key lie at it.
   *
   * @param key where to, before or behind where it stands
   * @return false if there is none
   * @throws TransactionAbortedException as {@link #next}
   * @throws InvalidUseException as {@link #next}
   * @throws io.fovea.error.KeyTooLargeException if no key of that length can be in the index
   */
  public boolean seek(I key) {
    byte[] bytes = encode.apply(Objects.requireNonNull(key, "key"));
    // Both forget what the walk knows of the object that it stood on.
    return order == Order.ASCENDING
        ? walk.seekTo(bytes)
        : walk.seekBehind(TypedIndex.behind(bytes));
  }

  /**
   * The key of the object that it stands on.
   *
   * @return an object, which may be the same one until the next move
   * @throws InvalidUseException if it stands on no object, or as {@link #next}
   */
  public K key() {
    return walk.key();
  }

  /**
   * The object that it stands on.
   *
   * @return a new object
   * @throws InvalidUseException if it stands on no object, if the transaction has deleted it, or as
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
