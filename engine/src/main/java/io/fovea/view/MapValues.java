package io.fovea.view;

import java.util.AbstractCollection;
import java.util.Iterator;
import java.util.Map;
import java.util.Spliterator;
import java.util.Spliterators;
import java.util.function.Supplier;

/**
 * The values of a map, in key order.
 *
 * @param <V> the class of the values
 */
public final class MapValues<V> extends AbstractCollection<V> {
  private final Map<?, V> map;
  private final Supplier<Iterator<V>> iterators;

  /** Creates a view of a map; {@code iterators} creates iterators of its values. */
  public MapValues(Map<?, V> map, Supplier<Iterator<V>> iterators) {
    this.map = map;
    this.iterators = iterators;
  }

  @Override
  public Iterator<V> iterator() {
    return iterators.get();
  }

  @Override
  public int size() {
    return map.size();
  }

  @Override
  public boolean isEmpty() {
    return map.isEmpty();
  }

  @Override
  public void clear() {
    map.clear();
  }

  /** Returns an unsized spliterator: the size would need a scan. */
  @Override
  public Spliterator<V> spliterator() {
    return Spliterators.spliteratorUnknownSize(
        iterator(), Spliterator.CONCURRENT | Spliterator.NONNULL | Spliterator.ORDERED);
  }
}
