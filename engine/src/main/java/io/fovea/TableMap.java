package io.fovea;

import io.fovea.error.DatabaseClosedException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.view.BatchIterator;
import io.fovea.view.MapEntries;
import io.fovea.view.MapKeys;
import io.fovea.view.MapValues;
import java.util.AbstractMap;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentNavigableMap;
import java.util.function.BiFunction;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A view of a table as a JDK map. Each call runs in its own transaction.
 *
 * <pre>{@code
 * ConcurrentNavigableMap<String, Account> accounts = table.asMap();
 * accounts.merge("alice", deposit, Account::plus);
 * }</pre>
 *
 * <ul>
 *   <li>A call is atomic, and as durable as a commit with {@link TransactionRunner#run}. This
 *       includes {@link #compute}, {@link #merge}, {@link #putAll} and similar methods. Functions
 *       passed to them may be called again after conflicts, and must not use the database.
 *   <li>Such a function may modify its argument and return it; the result is written. A value
 *       returned by {@link #get} or an iterator is a copy; modifying it changes no record.
 *   <li>To make several calls atomic, use the {@link Table} in a transaction.
 *   <li>Iterators and streams read batches of records, each in its own transaction. They are weakly
 *       consistent, like those of a {@link java.util.concurrent.ConcurrentSkipListMap}: they return
 *       each record at most once, in order, and every record that is present throughout. {@link
 *       #size} and {@link #clear} also run in batches. A map of a {@linkplain Database#snapshot
 *       snapshot}'s table sees a single state.
 *   <li>Keys are ordered by their encoding, as in the table; {@link #comparator} and the navigation
 *       methods use this order. Keys are equal if their encodings are. Values are compared with
 *       {@code equals}.
 *   <li>Keys and values can't be null.
 *   <li>{@code setValue} of an iterator's entry writes to the table. Entries returned by {@link
 *       #firstEntry} and similar methods are immutable.
 * </ul>
 *
 * <p>Any thread, while the database is open. Every call may throw the exceptions of {@link
 * TransactionRunner#run}: {@link TransactionAbortedException} if a transaction exceeds the time or
 * size limit, {@link InvalidUseException} inside a body or when writing to a read-only table, and
 * {@link DatabaseClosedException}. It may also throw exceptions of the codecs, and {@link
 * ClassCastException} for objects of other classes.
 *
 * @param <K> the class of the keys
 * @param <V> the class of the values
 * @since 0.1.0
 */
public final class TableMap<K, V> extends AbstractMap<K, V>
    implements ConcurrentNavigableMap<K, V> {
  private static final int BATCH = 256;

  private static final long CLEAR_BATCH = 10_000;

  private final Table<K, V> table;
  private final Database database;
  private final Table.Interval<K> interval;
  private final boolean descending;

  TableMap(Table<K, V> table) {
    this(table, new Table.Interval<>(null, true, null, true), false);
  }

  private TableMap(Table<K, V> table, Table.Interval<K> interval, boolean descending) {
    this.table = table;
    this.database = table.database();
    this.interval = interval;
    this.descending = descending;
  }

  // ---------------------------------------------------------------------------------- one record

  @Override
  public @Nullable V get(Object key) {
    K k = key(key);
    return contains(k) ? database.read(tx -> table.get(tx, k)) : null;
  }

  @Override
  public boolean containsKey(Object key) {
    return get(key) != null;
  }

  @Override
  public @Nullable V put(K key, V value) {
    requireInside(key);
    Objects.requireNonNull(value, "value");
    return database.call(
        tx -> {
          V old = table.get(tx, key);
          table.put(tx, key, value);
          return old;
        });
  }

  /**
   * Puts all records of another map in one transaction.
   *
   * @param all the records
   * @throws TransactionAbortedException if they exceed the limit on a transaction's writes
   */
  @Override
  public void putAll(Map<? extends K, ? extends V> all) {
    // The other map may be a view of this database, which can't be read inside the transaction.
    List<Entry<K, V>> entries = new ArrayList<>();
    all.forEach(
        (k, v) -> {
          requireInside(k);
          entries.add(Map.entry(k, v));
        });
    if (entries.isEmpty()) {
      return;
    }
    database.run(
        tx -> {
          for (Entry<K, V> e : entries) {
            table.put(tx, e.getKey(), e.getValue());
          }
        });
  }

  @Override
  public @Nullable V remove(Object key) {
    K k = key(key);
    if (!contains(k)) {
      return null;
    }
    return database.call(tx -> removeIn(tx, k));
  }

  private @Nullable V removeIn(Transaction tx, K key) {
    V old = table.get(tx, key);
    if (old != null) {
      table.delete(tx, key);
    }
    return old;
  }

  @Override
  public boolean remove(Object key, Object value) {
    K k = key(key);
    if (!contains(k)) {
      return false;
    }
    return database.call(
        tx -> {
          V old = table.get(tx, k);
          return old != null && old.equals(value) && table.delete(tx, k);
        });
  }

  @Override
  public @Nullable V putIfAbsent(K key, V value) {
    requireInside(key);
    Objects.requireNonNull(value, "value");
    return database.call(
        tx -> {
          V old = table.get(tx, key);
          if (old == null) {
            table.put(tx, key, value);
          }
          return old;
        });
  }

  @Override
  public @Nullable V replace(K key, V value) {
    requireInside(key);
    Objects.requireNonNull(value, "value");
    return database.call(
        tx -> {
          V old = table.get(tx, key);
          if (old != null) {
            table.put(tx, key, value);
          }
          return old;
        });
  }

  @Override
  public boolean replace(K key, V expected, V value) {
    requireInside(key);
    Objects.requireNonNull(expected, "expected");
    Objects.requireNonNull(value, "value");
    return database.call(
        tx -> {
          boolean same = expected.equals(table.get(tx, key));
          if (same) {
            table.put(tx, key, value);
          }
          return same;
        });
  }

  @Override
  public @Nullable V computeIfAbsent(K key, Function<? super K, ? extends @Nullable V> function) {
    Objects.requireNonNull(function, "function");
    requireInside(key);
    return database.call(
        tx -> {
          V old = table.get(tx, key);
          if (old != null) {
            return old; // the function was not called, so nothing has changed
          }
          V made = function.apply(key);
          if (made != null) {
            table.put(tx, key, made);
          }
          return made;
        });
  }

  @Override
  public @Nullable V computeIfPresent(
      K key, BiFunction<? super K, ? super V, ? extends @Nullable V> function) {
    Objects.requireNonNull(function, "function");
    return recompute(key, (k, old) -> old == null ? null : function.apply(k, old));
  }

  @Override
  public @Nullable V compute(
      K key, BiFunction<? super K, ? super @Nullable V, ? extends @Nullable V> function) {
    Objects.requireNonNull(function, "function");
    return recompute(key, function);
  }

  @Override
  public @Nullable V merge(
      K key, V value, BiFunction<? super V, ? super V, ? extends @Nullable V> function) {
    Objects.requireNonNull(value, "value");
    Objects.requireNonNull(function, "function");
    return recompute(key, (k, old) -> old == null ? value : function.apply(old, value));
  }

  // The JDK's default would retry forever if the function modifies its argument.
  @Override
  public void replaceAll(BiFunction<? super K, ? super V, ? extends V> function) {
    Objects.requireNonNull(function, "function");
    for (Iterator<K> i = keys(); i.hasNext(); ) {
      computeIfPresent(
          i.next(), (k, old) -> Objects.requireNonNull(function.apply(k, old), "value"));
    }
  }

  /**
   * Reads, calls the function, and writes its result, even if it is the same object: the function
   * may have modified it in place, and the codec's object is a copy.
   */
  private @Nullable V recompute(
      K key, BiFunction<? super K, ? super @Nullable V, ? extends @Nullable V> function) {
    requireInside(key);
    return database.call(
        tx -> {
          V old = table.get(tx, key);
          V now = function.apply(key, old);
          if (now == null) {
            if (old != null) {
              table.delete(tx, key);
            }
          } else {
            table.put(tx, key, now);
          }
          return now;
        });
  }

  /** {@return the number of records, up to {@link Integer#MAX_VALUE}, counted by reading them} */
  @Override
  public int size() {
    long n = 0;
    for (Iterator<?> i = keys(); i.hasNext() && n < Integer.MAX_VALUE; i.next()) {
      n++;
    }
    return (int) n;
  }

  @Override
  public boolean isEmpty() {
    return firstEntry() == null;
  }

  /** Removes all records, ten thousand per transaction. */
  @Override
  public void clear() {
    while (database.call(tx -> table.deleteRange(tx, interval, CLEAR_BATCH)) == CLEAR_BATCH) {
      // there may be more
    }
  }

  @Override
  public NavigableSet<K> keySet() {
    return new MapKeys<>(this, this::keys);
  }

  @Override
  public NavigableSet<K> navigableKeySet() {
    return keySet();
  }

  @Override
  public NavigableSet<K> descendingKeySet() {
    return descendingMap().keySet();
  }

  @Override
  public Collection<V> values() {
    return new MapValues<>(this, () -> iterator(Entry::getValue));
  }

  @Override
  public Set<Entry<K, V>> entrySet() {
    return new MapEntries<>(this, () -> iterator(Function.identity()));
  }

  @Override
  public Comparator<? super K> comparator() {
    Comparator<K> ascending = table::compare;
    return descending ? ascending.reversed() : ascending;
  }

  @Override
  public K firstKey() {
    return keyOrThrow(firstEntry());
  }

  @Override
  public K lastKey() {
    return keyOrThrow(lastEntry());
  }

  @Override
  public @Nullable Entry<K, V> firstEntry() {
    return nearest(null, true, true);
  }

  @Override
  public @Nullable Entry<K, V> lastEntry() {
    return nearest(null, true, false);
  }

  @Override
  public @Nullable Entry<K, V> pollFirstEntry() {
    return poll(true);
  }

  @Override
  public @Nullable Entry<K, V> pollLastEntry() {
    return poll(false);
  }

  private @Nullable Entry<K, V> poll(boolean forward) {
    return database.call(
        tx -> {
          List<Entry<K, V>> found = batch(tx, null, true, forward, 1);
          if (found.isEmpty()) {
            return null;
          }
          table.delete(tx, found.getFirst().getKey());
          return found.getFirst();
        });
  }

  @Override
  public @Nullable Entry<K, V> lowerEntry(K key) {
    return nearest(key(key), false, false);
  }

  @Override
  public @Nullable K lowerKey(K key) {
    return keyOf(lowerEntry(key));
  }

  @Override
  public @Nullable Entry<K, V> floorEntry(K key) {
    return nearest(key(key), true, false);
  }

  @Override
  public @Nullable K floorKey(K key) {
    return keyOf(floorEntry(key));
  }

  @Override
  public @Nullable Entry<K, V> ceilingEntry(K key) {
    return nearest(key(key), true, true);
  }

  @Override
  public @Nullable K ceilingKey(K key) {
    return keyOf(ceilingEntry(key));
  }

  @Override
  public @Nullable Entry<K, V> higherEntry(K key) {
    return nearest(key(key), false, true);
  }

  @Override
  public @Nullable K higherKey(K key) {
    return keyOf(higherEntry(key));
  }

  @Override
  public TableMap<K, V> descendingMap() {
    return new TableMap<>(table, interval, !descending);
  }

  @Override
  public TableMap<K, V> subMap(K from, boolean fromInclusive, K to, boolean toInclusive) {
    Objects.requireNonNull(from, "from");
    Objects.requireNonNull(to, "to");
    return part(from, fromInclusive, to, toInclusive);
  }

  @Override
  public TableMap<K, V> subMap(K from, K to) {
    return subMap(from, true, to, false);
  }

  @Override
  public TableMap<K, V> headMap(K to, boolean inclusive) {
    return part(null, false, Objects.requireNonNull(to, "to"), inclusive);
  }

  @Override
  public TableMap<K, V> headMap(K to) {
    return headMap(to, false);
  }

  @Override
  public TableMap<K, V> tailMap(K from, boolean inclusive) {
    return part(Objects.requireNonNull(from, "from"), inclusive, null, false);
  }

  @Override
  public TableMap<K, V> tailMap(K from) {
    return tailMap(from, true);
  }

  /** Returns a smaller view; a null leaves that bound unchanged. */
  private TableMap<K, V> part(
      @Nullable K from, boolean fromInclusive, @Nullable K to, boolean toInclusive) {
    K lo = descending ? to : from;
    boolean loInclusive = descending ? toInclusive : fromInclusive;
    K hi = descending ? from : to;
    boolean hiInclusive = descending ? fromInclusive : toInclusive;
    K oldLo = interval.lo();
    K oldHi = interval.hi();
    if (lo == null) {
      lo = oldLo;
      loInclusive = interval.loInclusive();
    } else if (oldLo != null) {
      requireNoLess(table.compare(lo, oldLo), loInclusive, interval.loInclusive());
    }
    if (hi == null) {
      hi = oldHi;
      hiInclusive = interval.hiInclusive();
    } else if (oldHi != null) {
      requireNoLess(table.compare(oldHi, hi), hiInclusive, interval.hiInclusive());
    }
    if (lo != null && hi != null && table.compare(lo, hi) > 0) {
      throw new IllegalArgumentException("The upper bound of the view is below its lower bound.");
    }
    return new TableMap<>(
        table, new Table.Interval<>(lo, loInclusive, hi, hiInclusive), descending);
  }

  /**
   * Requires that a new bound lies within the old one. The two may be equal even if the view
   * excludes the old one.
   */
  private static void requireNoLess(int compared, boolean inclusive, boolean oldInclusive) {
    if (compared < 0 || compared == 0 && inclusive && !oldInclusive) {
      throw new IllegalArgumentException("The bound lies outside this view.");
    }
  }

  @SuppressWarnings("unchecked") // the codec checks the class
  private K key(Object key) {
    return (K) Objects.requireNonNull(key, "key");
  }

  private static <K> @Nullable K keyOf(@Nullable Entry<K, ?> entry) {
    return entry == null ? null : entry.getKey();
  }

  private static <K> K keyOrThrow(@Nullable Entry<K, ?> entry) {
    if (entry == null) {
      throw new NoSuchElementException("The table or view has no records.");
    }
    return entry.getKey();
  }

  private boolean contains(K key) {
    K lo = interval.lo();
    K hi = interval.hi();
    if (lo != null) {
      int c = table.compare(key, lo);
      if (c < 0 || c == 0 && !interval.loInclusive()) {
        return false;
      }
    }
    if (hi != null) {
      int c = table.compare(key, hi);
      return c < 0 || c == 0 && interval.hiInclusive();
    }
    return true;
  }

  private void requireInside(K key) {
    if (!contains(Objects.requireNonNull(key, "key"))) {
      throw new IllegalArgumentException("The key lies outside this view.");
    }
  }

  /** Returns the record nearest to a key, in this view's order or the reverse. */
  private @Nullable Entry<K, V> nearest(@Nullable K from, boolean inclusive, boolean forward) {
    List<Entry<K, V>> found = database.read(tx -> batch(tx, from, inclusive, forward, 1));
    return found.isEmpty() ? null : found.getFirst();
  }

  /** Returns an immutable list of records that starts at a key or at the beginning. */
  private List<Entry<K, V>> batch(
      Transaction tx, @Nullable K from, boolean inclusive, boolean forward, int max) {
    boolean up = forward != descending;
    Table.Interval<K> rest = from == null ? interval : remaining(from, inclusive, up);
    K lo = rest.lo();
    K hi = rest.hi();
    List<Entry<K, V>> found = new ArrayList<>();
    if (lo != null && hi != null) {
      int c = table.compare(lo, hi);
      if (c > 0 || c == 0 && !(rest.loInclusive() && rest.hiInclusive())) {
        return found;
      }
    }
    table.scan(
        tx,
        rest,
        up ? ScanOrder.ASCENDING : ScanOrder.DESCENDING,
        (k, v) -> {
          found.add(Map.entry(k, v));
          return found.size() < max;
        });
    return found;
  }

  /** Returns the part of the interval above or below a key, with or without the key. */
  private Table.Interval<K> remaining(K from, boolean inclusive, boolean up) {
    K end = up ? interval.lo() : interval.hi();
    boolean endInclusive = up ? interval.loInclusive() : interval.hiInclusive();
    if (end != null) {
      int c = up ? table.compare(from, end) : table.compare(end, from);
      if (c < 0 || c == 0 && !endInclusive) {
        return interval; // the interval begins beyond the key
      }
    }
    return up
        ? new Table.Interval<>(from, inclusive, interval.hi(), interval.hiInclusive())
        : new Table.Interval<>(interval.lo(), interval.loInclusive(), from, inclusive);
  }

  private <T> Iterator<T> iterator(Function<Entry<K, V>, T> part) {
    return new BatchIterator<>(
        BATCH,
        after -> database.read(tx -> batch(tx, after, after == null, true, BATCH)),
        part,
        e -> remove(e.getKey()));
  }

  private Iterator<K> keys() {
    return iterator(Entry::getKey);
  }
}
