package io.fovea.view;

import java.util.AbstractMap.SimpleEntry;
import java.util.AbstractSet;
import java.util.Iterator;
import java.util.Map.Entry;
import java.util.Spliterator;
import java.util.Spliterators;
import java.util.concurrent.ConcurrentMap;
import java.util.function.Supplier;

/**
 * The entry set of a map without nulls, with mutable values.
 *
 * @param <K> the class of the keys
 * @param <V> the class of the values
 */
public final class MapEntries<K, V> extends AbstractSet<Entry<K, V>> {
  private final ConcurrentMap<K, V> map;
  private final Supplier<Iterator<Entry<K, V>>> iterators;

  /** Creates a view of a map; {@code iterators} creates iterators of its entries. */
  public MapEntries(ConcurrentMap<K, V> map, Supplier<Iterator<Entry<K, V>>> iterators) {
    this.map = map;
    this.iterators = iterators;
  }

  @Override
  public Iterator<Entry<K, V>> iterator() {
    Iterator<Entry<K, V>> entries = iterators.get();
    return new Iterator<>() {
      @Override
      public boolean hasNext() {
        return entries.hasNext();
      }

      @Override
      public Entry<K, V> next() {
        return new WriteThrough<>(map, entries.next());
      }

      @Override
      public void remove() {
        entries.remove();
      }
    };
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
  public boolean contains(Object o) {
    return o instanceof Entry<?, ?> e
        && e.getKey() != null
        && e.getValue() != null
        && e.getValue().equals(map.get(e.getKey()));
  }

  @Override
  public boolean remove(Object o) {
    return o instanceof Entry<?, ?> e
        && e.getKey() != null
        && e.getValue() != null
        && map.remove(e.getKey(), e.getValue());
  }

  @Override
  public void clear() {
    map.clear();
  }

  /** Returns an unsized spliterator: the size would need a scan. */
  @Override
  public Spliterator<Entry<K, V>> spliterator() {
    return Spliterators.spliteratorUnknownSize(iterator(), MapKeys.CHARACTERISTICS);
  }

  /** An entry whose value may be set. */
  private static final class WriteThrough<K, V> extends SimpleEntry<K, V> {
    private static final long serialVersionUID = 1L;

    private final transient ConcurrentMap<K, V> map;

    WriteThrough(ConcurrentMap<K, V> map, Entry<K, V> e) {
      super(e);
      this.map = map;
    }

    @Override
    public V setValue(V value) {
      map.put(getKey(), value);
      return super.setValue(value);
    }
  }
}
