package io.fovea.view;

import java.util.AbstractSet;
import java.util.Comparator;
import java.util.Iterator;
import java.util.Map.Entry;
import java.util.NavigableSet;
import java.util.Spliterator;
import java.util.Spliterators;
import java.util.concurrent.ConcurrentNavigableMap;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The key set of a map without nulls.
 *
 * @param <K> the class of the keys
 */
public final class MapKeys<K> extends AbstractSet<K> implements NavigableSet<K> {
  static final int CHARACTERISTICS =
      Spliterator.CONCURRENT | Spliterator.DISTINCT | Spliterator.NONNULL | Spliterator.ORDERED;

  private final ConcurrentNavigableMap<K, ?> map;
  private final Supplier<Iterator<K>> iterators;

  /** Creates a view of a map; {@code iterators} creates iterators of its keys. */
  public MapKeys(ConcurrentNavigableMap<K, ?> map, Supplier<Iterator<K>> iterators) {
    this.map = map;
    this.iterators = iterators;
  }

  private static <K> @Nullable K keyOf(@Nullable Entry<K, ?> entry) {
    return entry == null ? null : entry.getKey();
  }

  @Override
  public Iterator<K> iterator() {
    return iterators.get();
  }

  @Override
  public Iterator<K> descendingIterator() {
    return map.descendingKeySet().iterator();
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
    return map.containsKey(o);
  }

  @Override
  public boolean remove(Object o) {
    return map.remove(o) != null;
  }

  @Override
  public void clear() {
    map.clear();
  }

  @Override
  public Comparator<? super K> comparator() {
    return map.comparator();
  }

  @Override
  public K first() {
    return map.firstKey();
  }

  @Override
  public K last() {
    return map.lastKey();
  }

  @Override
  public @Nullable K lower(K key) {
    return map.lowerKey(key);
  }

  @Override
  public @Nullable K floor(K key) {
    return map.floorKey(key);
  }

  @Override
  public @Nullable K ceiling(K key) {
    return map.ceilingKey(key);
  }

  @Override
  public @Nullable K higher(K key) {
    return map.higherKey(key);
  }

  @Override
  public @Nullable K pollFirst() {
    return keyOf(map.pollFirstEntry());
  }

  @Override
  public @Nullable K pollLast() {
    return keyOf(map.pollLastEntry());
  }

  @Override
  public NavigableSet<K> descendingSet() {
    return map.descendingKeySet();
  }

  @Override
  public NavigableSet<K> subSet(K from, boolean fromInclusive, K to, boolean toInclusive) {
    return map.subMap(from, fromInclusive, to, toInclusive).navigableKeySet();
  }

  @Override
  public NavigableSet<K> headSet(K to, boolean inclusive) {
    return map.headMap(to, inclusive).navigableKeySet();
  }

  @Override
  public NavigableSet<K> tailSet(K from, boolean inclusive) {
    return map.tailMap(from, inclusive).navigableKeySet();
  }

  @Override
  public NavigableSet<K> subSet(K from, K to) {
    return subSet(from, true, to, false);
  }

  @Override
  public NavigableSet<K> headSet(K to) {
    return headSet(to, false);
  }

  @Override
  public NavigableSet<K> tailSet(K from) {
    return tailSet(from, true);
  }

  /** Returns an unsized spliterator: the size would need a scan. */
  @Override
  public Spliterator<K> spliterator() {
    return Spliterators.spliteratorUnknownSize(iterator(), CHARACTERISTICS);
  }
}
