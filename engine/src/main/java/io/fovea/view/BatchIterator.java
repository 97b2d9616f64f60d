package io.fovea.view;

import java.util.Iterator;
import java.util.List;
import java.util.Map.Entry;
import java.util.NoSuchElementException;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Goes through entries in order, a batch at a time. A batch begins behind the last key of the one
 * before, so nothing that changes meanwhile is met twice.
 *
 * @param <K> the class of the keys
 * @param <V> the class of the values
 * @param <T> what it gives out of each entry
 */
public final class BatchIterator<K, V, T> implements Iterator<T> {
  private final int size;
  private final Function<@Nullable K, List<Entry<K, V>>> source;
  private final Function<? super Entry<K, V>, ? extends T> part;
  private final Consumer<? super Entry<K, V>> remover;
  private List<Entry<K, V>> batch;
  private int next;

  /** The last one that was given out and may be removed. */
  private @Nullable Entry<K, V> given;

  /**
   * Reads the first batch.
   *
   * @param size how many entries a batch has that is not the last one
   * @param source gives the batch behind a key, and the first one for null
   * @param part what is given out of an entry
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
    given = e;
    return part.apply(e);
  }

  @Override
  public void remove() {
    Entry<K, V> e = given;
    if (e == null) {
      throw new IllegalStateException("Nothing was given out that could be removed.");
    }
    given = null;
    remover.accept(e);
  }
}
