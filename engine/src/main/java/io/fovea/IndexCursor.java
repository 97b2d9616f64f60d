package io.fovea;

import io.fovea.error.InvalidUseException;
import io.fovea.error.TransactionAbortedException;
import java.util.Objects;
import java.util.function.Function;

/**
 * A scan of the Java objects of a table, in the order of an index.
 *
 * @param <I> the class of the index's keys
 * @param <K> the class of the table's keys
 * @param <V> the class of the values
 * @since 0.1.0
 */
public final class IndexCursor<I, K, V> extends ObjectCursor<K, V> {
  private final OrderedEntries.Walk.OfBytes<K, V> walk;
  private final Function<I, byte[]> encode;
  private final ScanOrder order;

  IndexCursor(
      ByteCursor cursor,
      OrderedEntries.Walk.Coding<K, V> coding,
      Function<I, byte[]> encode,
      ScanOrder order) {
    this(new OrderedEntries.Walk.OfBytes<>(cursor, coding), encode, order);
  }

  private IndexCursor(
      OrderedEntries.Walk.OfBytes<K, V> walk, Function<I, byte[]> encode, ScanOrder order) {
    super(walk);
    this.walk = walk;
    this.encode = encode;
    this.order = order;
  }

  /**
   * Moves to the first object at a key of the index or, in the scan's order, behind it: as {@link
   * RowCursor#seek}. All entries that begin with the key lie at it.
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
    return order == ScanOrder.ASCENDING ? walk.seekTo(bytes) : walk.seekBehind(Index.behind(bytes));
  }
}
