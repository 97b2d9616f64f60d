package io.fovea.view;

import java.util.Iterator;
import java.util.List;
import java.util.Map.Entry;
import java.util.NoSuchElementException;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Iterates over entries in batches. Each batch begins after the last key of the previous one, so no
 * key is returned twice.
 *
 * @param <K> the class of the keys
 * @param <V> the class of the values
 * @param <T> the type of the elements
 */
public final class BatchIterator<K, V, T> implements Iterator<T> {
  private final int size;
  private final Function<@Nullable K, List<Entry<K, V>>> source;
  private final Function<? super Entry<K, V>, ? extends T> part;
  private final Consumer<? super Entry<K, V>> remover;
  private List<Entry<K, V>> batch;
  private int next;

  /** The entry of the last element returned, if it may be removed. */
  private @Nullable Entry<K, V> returned;

  /**
   * Reads the first batch.
   *
   * @param size the number of entries in each batch but the last
   * @param source returns the batch after a key, or the first one for null
   * @param part converts an entry to an element
   * @param remover removes an entry
   */
  public BatchIterator(
      int size,
      Function<@Nullable K, List<Entry<K, V>>> source,
      Function<? super Entry<K, V>, ? extends T> part,
      Consumer<? super Entry<K, V>> remover) {
    this.size = size;
    this.source = source;
    this.part = part;
    this.remover = remover;
    this.batch = source.apply(null);
  }

  @Override
  public boolean hasNext() {
    if (next == size) {
      batch = source.apply(batch.getLast().getKey());
      next = 0;
    }
    return next < batch.size();
  }

  @Override
  public T next() {
    if (!hasNext()) {
      throw new NoSuchElementException("There are no more records.");
    }
    Entry<K, V> e = batch.get(next++);
    returned = e;
    return part.apply(e);
  }

  @Override
  public void remove() {
    Entry<K, V> e = returned;
    if (e == null) {
      throw new IllegalStateException("There is no element to remove: call next() first.");
    }
    returned = null;
    remover.accept(e);
  }
}
