package io.fovea;

import io.fovea.catalog.LoadFeed;
import io.fovea.error.DuplicateKeyException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.KeyTooLargeException;
import io.fovea.error.RecordNotFoundException;
import io.fovea.error.ValueTooLargeException;
import java.lang.foreign.MemorySegment;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.function.BiPredicate;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A table of keys and values, ordered by key: byte strings ({@link RowTable#bytes}), Java records
 * that Fovea stores ({@link Database#table(ObjectSpec)}), or objects that application codecs
 * convert to byte strings or rows and back ({@link RowTable#as}).
 *
 * <p>Keys are ordered by their stored bytes, unsigned; a prefix sorts before its extensions. A key
 * has at least one byte and at most the table's maximum; a value may be empty or larger than a
 * page. Arguments are copied before a method returns.
 *
 * <p>Lower bounds are inclusive, upper bounds exclusive; null means no bound. Operations throw the
 * exceptions of {@link RowTable}, among them:
 *
 * <ul>
 *   <li>{@link KeyTooLargeException} if a key, bound or prefix is longer than the table allows, or
 *       the entry of a written record is too long for an index.
 *   <li>{@link ValueTooLargeException} if a written value is longer than any table allows.
 *   <li>{@link DuplicateKeyException} if an inserted key is already present, or a unique index
 *       already contains the entry of a written record for another record; nothing is changed in
 *       that case.
 *   <li>{@link InvalidUseException} if a method with memory segments is called for a table of rows.
 * </ul>
 *
 * <p>Codecs may be called by transactions that are aborted later. An exception of a codec
 * propagates from the operation, which changes nothing. A statement that changes a record of a
 * table with secondary indexes reads the old record, and throws an index extractor's exceptions.
 *
 * <p>A nearest-key lookup is a one-record scan. It conflicts only with inserts between the key and
 * that record, and with changes of that record.
 *
 * <p>A table is a handle, valid in every thread while the database is open.
 *
 * @param <K> the class of the keys
 * @param <V> the class of the values
 * @since 0.1.0
 */
public abstract sealed class Table<K, V> permits ByteTable, EncodedTable, CodedRows {

  record Interval<K>(@Nullable K lo, boolean loInclusive, @Nullable K hi, boolean hiInclusive) {
    static <K> Interval<K> of(@Nullable K from, @Nullable K to) {
      return new Interval<>(from, true, to, false);
    }
  }

  Table() {}

  /** {@return the table that this is a view of} */
  public abstract RowTable table();

  abstract int compare(K a, K b);

  abstract Coding<K, V> coding();

  abstract Cursor<K, V> open(Transaction tx, Interval<K> interval, ScanOrder order);

  // ------------------------------------------------------------------------------------- reading

  /**
   * {@return the value of a record, a new object, or null if the key is absent}
   *
   * @param tx the transaction
   * @param key its key
   */
  public abstract @Nullable V get(Transaction tx, K key);

  /**
   * {@return the value of a record, or empty if the key is absent}
   *
   * @param tx the transaction
   * @param key its key
   */
  public Optional<V> find(Transaction tx, K key) {
    return Optional.ofNullable(get(tx, key));
  }

  /**
   * Reads a record that this transaction will change, and makes others that do so wait for it: see
   * {@link RowTable#getForUpdate}.
   *
   * @param tx the transaction
   * @param key its key
   * @return the value, a new object; null if the key is absent
   */
  public @Nullable V getForUpdate(Transaction tx, K key) {
    lockForUpdate(tx, Objects.requireNonNull(key, "key"));
    return get(tx, key);
  }

  /** Called before {@link #get} for {@link #getForUpdate}. */
  abstract void lockForUpdate(Transaction tx, K key);

  /**
   * {@return whether a key is present}
   *
   * @param tx the transaction
   * @param key the key
   */
  public abstract boolean exists(Transaction tx, K key);

  /**
   * Reads several records at once, which overlaps their cache misses and their I/O.
   *
   * @param tx the transaction
   * @param keys their keys, in any order; a key may occur twice
   * @return the values in the order of the keys, null for absent keys
   */
  public abstract List<@Nullable V> getAll(Transaction tx, Collection<? extends K> keys);

  /**
   * Reads a value in its stored form.
   *
   * @param tx the transaction
   * @param key its key in stored form
   * @param out receives as much of the value as fits
   * @return the length of the whole value in bytes, or -1 if the key is absent
   */
  public long get(Transaction tx, MemorySegment key, MemorySegment out) {
    throw rows();
  }

  private InvalidUseException rows() {
    return new InvalidUseException(
        "Table " + table().core().displayName() + " contains rows: use RowTable for them.");
  }

  /** {@return the number of committed records: see {@link RowTable#count}} */
  public long count() {
    return table().count();
  }

  /** {@return the bytes of all committed records: see {@link RowTable#dataBytes}} */
  public long dataBytes() {
    return table().dataBytes();
  }

  /**
   * {@return an {@linkplain RowTable#estimate estimate} of a range's record count and size}
   *
   * @param tx the transaction
   * @param from the lower bound, or null
   * @param to the upper bound, or null
   */
  public abstract Estimate estimate(Transaction tx, @Nullable K from, @Nullable K to);

  /**
   * {@return an {@linkplain RowTable#estimate estimate} for a prefix, as in {@link #scanPrefix}}
   *
   * @param tx the transaction
   * @param prefix the prefix
   */
  public abstract Estimate estimatePrefix(Transaction tx, K prefix);

  // -------------------------------------------------------------------------------------- writing

  /**
   * Adds a record.
   *
   * @param tx the transaction
   * @param key its key
   * @param value its value
   */
  public abstract void insert(Transaction tx, K key, V value);

  /**
   * Adds a record given in its stored form. Heap and native segments are treated equally.
   *
   * @param tx the transaction
   * @param key its key
   * @param value its value
   * @throws InvalidUseException if the table contains objects, and the value's version is unknown,
   *     or one that {@link Database#finishEvolution(ObjectSpec, java.util.function.Consumer)} has
   *     rewritten or is rewriting
   */
  public void insert(Transaction tx, MemorySegment key, MemorySegment value) {
    throw rows();
  }

  /**
   * Adds or replaces a record.
   *
   * @param tx the transaction
   * @param key its key
   * @param value its value
   */
  public abstract void put(Transaction tx, K key, V value);

  /**
   * Adds or replaces a record given in its stored form.
   *
   * @param tx the transaction
   * @param key its key
   * @param value its value
   * @throws InvalidUseException if the table contains objects, and the value's version is unknown,
   *     or one that {@link Database#finishEvolution(ObjectSpec, java.util.function.Consumer)} has
   *     rewritten or is rewriting
   */
  public void put(Transaction tx, MemorySegment key, MemorySegment value) {
    throw rows();
  }

  /**
   * Adds an object that contains its key.
   *
   * @param tx the transaction
   * @param value the object
   * @throws IllegalStateException if no component of its class has {@link io.fovea.schema.Id}
   */
  public void insert(Transaction tx, V value) {
    throw noKeys();
  }

  /**
   * Adds or replaces an object that contains its key.
   *
   * @param tx the transaction
   * @param value the object
   * @throws IllegalStateException if no component of its class has {@link io.fovea.schema.Id}
   */
  public void put(Transaction tx, V value) {
    throw noKeys();
  }

  private static IllegalStateException noKeys() {
    return new IllegalStateException(
        "Objects of this table don't contain their keys: pass the key with the object.");
  }

  /**
   * Replaces the value of a record.
   *
   * @param tx the transaction
   * @param key its key
   * @param value its new value
   * @throws RecordNotFoundException if the key is absent
   */
  public void update(Transaction tx, K key, V value) {
    if (!updateIfPresent(tx, key, value)) {
      throw notFound(key);
    }
  }

  /**
   * Replaces the value of a record, if it is present.
   *
   * @param tx the transaction
   * @param key its key
   * @param value its new value
   * @return false if the key is absent; nothing is changed then
   */
  public boolean updateIfPresent(Transaction tx, K key, V value) {
    Objects.requireNonNull(value, "value");
    lockForUpdate(tx, Objects.requireNonNull(key, "key"));
    if (!exists(tx, key)) {
      return false;
    }
    put(tx, key, value);
    return true;
  }

  /**
   * Changes a record after reading it with {@link #getForUpdate}.
   *
   * @param tx the transaction
   * @param key its key
   * @param change returns the new value for the current one; null removes the record
   * @return the new value, or null if the record was removed
   * @throws RecordNotFoundException if the key is absent
   */
  public @Nullable V update(
      Transaction tx, K key, Function<? super V, ? extends @Nullable V> change) {
    Objects.requireNonNull(change, "change");
    V before = getForUpdate(tx, key);
    if (before == null) {
      throw notFound(key);
    }
    return changed(tx, key, change.apply(before));
  }

  /**
   * Changes a record after reading it with {@link #getForUpdate}, if it is present.
   *
   * @param tx the transaction
   * @param key its key
   * @param change returns the new value for the current one; null removes the record
   * @return the new value, or null if the key is absent or the record was removed
   */
  public @Nullable V updateIfPresent(
      Transaction tx, K key, Function<? super V, ? extends @Nullable V> change) {
    Objects.requireNonNull(change, "change");
    V before = getForUpdate(tx, key);
    return before == null ? null : changed(tx, key, change.apply(before));
  }

  private @Nullable V changed(Transaction tx, K key, @Nullable V after) {
    if (after != null) {
      put(tx, key, after);
    } else {
      delete(tx, key);
    }
    return after;
  }

  private RecordNotFoundException notFound(K key) {
    return new RecordNotFoundException(table().spec().name(), coding().encode(key));
  }

  /**
   * Removes a record.
   *
   * @param tx the transaction
   * @param key its key
   * @return whether it was present
   */
  public abstract boolean delete(Transaction tx, K key);

  /**
   * Removes a record.
   *
   * @param tx the transaction
   * @param key its key in stored form
   * @return whether it was present
   */
  public boolean delete(Transaction tx, MemorySegment key) {
    throw rows();
  }

  /**
   * Removes the records of a range at once: see {@link RowTable#deleteRange(Transaction, Range)}.
   *
   * @param tx the transaction
   * @param from the lower bound, or null
   * @param to the upper bound, or null
   * @return the number of records removed
   */
  public long deleteRange(Transaction tx, @Nullable K from, @Nullable K to) {
    return deleteRange(tx, Interval.of(from, to), Long.MAX_VALUE);
  }

  /**
   * Removes the first records of a range, up to a limit: see {@link
   * RowTable#deleteRange(Transaction, Range, long)}.
   *
   * @param tx the transaction
   * @param from the lower bound, or null
   * @param to the upper bound, or null
   * @param max the maximum number of records to remove
   * @return the number of records removed
   * @throws IllegalArgumentException if {@code max} is negative
   */
  public long deleteRange(Transaction tx, @Nullable K from, @Nullable K to, long max) {
    return deleteRange(tx, Interval.of(from, to), max);
  }

  abstract long deleteRange(Transaction tx, Interval<K> interval, long max);

  /**
   * Removes all records whose keys begin with a prefix, as in {@link #scanPrefix}.
   *
   * @param tx the transaction
   * @param prefix the prefix
   * @return the number of records removed
   */
  public abstract long deletePrefix(Transaction tx, K prefix);

  // -------------------------------------------------------------------------------------- loading

  /**
   * Loads records with the default options: see {@link RowTable#load(LoadOptions, LoadSource)}.
   *
   * @param <X> the exception that the source throws
   * @param source adds the records, in any order
   * @return a report of the load
   * @throws X if the source throws it; then nothing was loaded
   */
  public <X extends Exception> LoadReport load(LoadSource<? super TableLoad<K, V>, X> source)
      throws X {
    return load(LoadOptions.defaults(), source);
  }

  /**
   * Loads many records, all or none: see {@link RowTable#load(LoadOptions, LoadSource)}.
   *
   * @param <X> the exception that the source throws
   * @param options the options
   * @param source adds the records
   * @return a report of the load
   * @throws X if the source throws it; then nothing was loaded
   */
  public <X extends Exception> LoadReport load(
      LoadOptions options, LoadSource<? super TableLoad<K, V>, X> source) throws X {
    Objects.requireNonNull(source, "source");
    RowTable table = table();
    return LoadReport.of(
        table
            .database()
            .schema()
            .load(table.core(), options.settings(), sink -> feed(sink, source)));
  }

  /** Runs a source whose records are encoded for the sink. */
  abstract <X extends Exception> void feed(
      LoadFeed.Sink sink, LoadSource<? super TableLoad<K, V>, X> source) throws X;

  /**
   * Loads many records, all or none: see {@link RowTable#load(LoadOptions, LoadSource)}.
   *
   * @param options the options
   * @param source returns keys and values; iterated once, in this thread
   * @return a report of the load
   */
  public LoadReport load(
      LoadOptions options, Iterator<? extends Map.Entry<? extends K, ? extends V>> source) {
    Objects.requireNonNull(source, "source");
    return this.<RuntimeException>load(
        options,
        into -> {
          while (source.hasNext()) {
            Map.Entry<? extends K, ? extends V> e = source.next();
            into.add(e.getKey(), e.getValue());
          }
        });
  }

  // -------------------------------------------------------------------------------------- indexes

  /**
   * Returns a secondary index.
   *
   * <p>For objects, the index is declared by {@link ObjectSpec#index}. Its key class is that of the
   * indexed component, or, for several components, a record class with the same components in order
   * and any names. A component that is a record may be replaced by its own components, and numbers
   * may be narrower. A class of only the first components serves for prefixes.
   *
   * <p>For byte strings, the index is declared by {@link io.fovea.schema.IndexSpec#bytes}; its keys
   * are of class {@link Key}, created by {@link Index#key}.
   *
   * @param <I> the class of its keys
   * @param name its name
   * @param keys the class of its keys
   * @return the index, usable in any thread
   * @throws IllegalArgumentException if the table was opened without an index of that name, or the
   *     class does not fit; the message names the part
   * @throws InvalidUseException if this is a view with codecs, or the table or index was dropped
   */
  public <I> Index<I, K, V> index(String name, Class<I> keys) {
    throw new InvalidUseException(
        "Table "
            + table().core().displayName()
            + " is viewed through codecs, which have no indexes: use RowTable.index for rows, or"
            + " RowTable.bytes().index for byte strings.");
  }

  // ------------------------------------------------------------------------------------- scanning

  /**
   * {@return a cursor before a range's first record, closed with the transaction at the latest}
   *
   * @param tx the transaction
   * @param from the lower bound, or null
   * @param to the upper bound, or null
   * @param order the direction
   */
  public Cursor<K, V> scan(Transaction tx, @Nullable K from, @Nullable K to, ScanOrder order) {
    return open(tx, Interval.of(from, to), Objects.requireNonNull(order, "order"));
  }

  /**
   * Opens a scan of all keys that begin with a prefix. For byte strings, the prefix consists of the
   * first bytes of a key. For objects and rows, it consists of the first parts, the last of which
   * may itself be a prefix if it is text or bytes: {@code new Address("Paris", "")} is a prefix of
   * all addresses in Paris.
   *
   * @param tx the transaction
   * @param prefix the prefix
   * @param order the direction
   * @return a cursor before the first record, closed with the transaction at the latest
   */
  public abstract Cursor<K, V> scanPrefix(Transaction tx, K prefix, ScanOrder order);

  /**
   * Visits the records of a range in order, until the visitor stops it.
   *
   * @param tx the transaction
   * @param from the lower bound, or null
   * @param to the upper bound, or null
   * @param order the direction
   * @param visitor receives the key and the value; returns false to stop
   */
  public void scan(
      Transaction tx,
      @Nullable K from,
      @Nullable K to,
      ScanOrder order,
      BiPredicate<? super K, ? super V> visitor) {
    Objects.requireNonNull(order, "order");
    Objects.requireNonNull(visitor, "visitor");
    scan(tx, Interval.of(from, to), order, visitor);
  }

  // -------------------------------------------------------------------------------------- nearest

  /**
   * {@return the first record, or null if there is none}
   *
   * @param tx the transaction
   */
  public Map.@Nullable Entry<K, V> first(Transaction tx) {
    return nearest(tx, null, true, true);
  }

  /**
   * {@return the last record, or null if there is none}
   *
   * @param tx the transaction
   */
  public Map.@Nullable Entry<K, V> last(Transaction tx) {
    return nearest(tx, null, true, false);
  }

  /**
   * {@return the record with the greatest key less than or equal to a key, or null}
   *
   * @param tx the transaction
   * @param key the key
   */
  public Map.@Nullable Entry<K, V> floor(Transaction tx, K key) {
    return nearest(tx, Objects.requireNonNull(key, "key"), true, false);
  }

  /**
   * {@return the record with the least key greater than or equal to a key, or null}
   *
   * @param tx the transaction
   * @param key the key
   */
  public Map.@Nullable Entry<K, V> ceiling(Transaction tx, K key) {
    return nearest(tx, Objects.requireNonNull(key, "key"), true, true);
  }

  /**
   * {@return the record with the greatest key less than a key, or null}
   *
   * @param tx the transaction
   * @param key the key
   */
  public Map.@Nullable Entry<K, V> lower(Transaction tx, K key) {
    return nearest(tx, Objects.requireNonNull(key, "key"), false, false);
  }

  /**
   * {@return the record with the least key greater than a key, or null}
   *
   * @param tx the transaction
   * @param key the key
   */
  public Map.@Nullable Entry<K, V> higher(Transaction tx, K key) {
    return nearest(tx, Objects.requireNonNull(key, "key"), false, true);
  }

  private Map.@Nullable Entry<K, V> nearest(
      Transaction tx, @Nullable K key, boolean inclusive, boolean up) {
    Interval<K> rest =
        up
            ? new Interval<>(key, inclusive, null, true)
            : new Interval<>(null, true, key, inclusive);
    try (Cursor<K, V> c = open(tx, rest, up ? ScanOrder.ASCENDING : ScanOrder.DESCENDING)) {
      return c.next() ? Map.entry(c.key(), c.value()) : null;
    }
  }

  /**
   * Visits all records in ascending order.
   *
   * @param tx the transaction
   * @param visitor receives the key and the value; may change or delete that record
   */
  public void forEach(Transaction tx, BiConsumer<? super K, ? super V> visitor) {
    forEach(tx, null, null, visitor);
  }

  /**
   * Visits the records of a range in ascending order.
   *
   * @param tx the transaction
   * @param from the lower bound, or null
   * @param to the upper bound, or null
   * @param visitor receives the key and the value; may change or delete that record
   */
  public void forEach(
      Transaction tx, @Nullable K from, @Nullable K to, BiConsumer<? super K, ? super V> visitor) {
    Objects.requireNonNull(visitor, "visitor");
    try (Cursor<K, V> c = scan(tx, from, to, ScanOrder.ASCENDING)) {
      while (c.next()) {
        visitor.accept(c.key(), c.value());
      }
    }
  }

  /**
   * {@return a new stream of all records in ascending order}
   *
   * @param tx the transaction
   */
  public Stream<Map.Entry<K, V>> stream(Transaction tx) {
    return stream(tx, null, null, ScanOrder.ASCENDING);
  }

  /**
   * {@return a new stream of the records at or above a key, in ascending order}
   *
   * @param tx the transaction
   * @param from the lower bound
   */
  public Stream<Map.Entry<K, V>> stream(Transaction tx, K from) {
    return stream(tx, Objects.requireNonNull(from, "from"), null, ScanOrder.ASCENDING);
  }

  /**
   * Streams the records of a range, read on demand. A step after the end of the transaction, or in
   * another thread, throws {@link InvalidUseException}; the stream must not be made parallel.
   * Closing it, or reading it to its end, ends the scan.
   *
   * @param tx the transaction
   * @param from the lower bound, or null
   * @param to the upper bound, or null
   * @param order the direction
   * @return a new stream of keys and values
   */
  public Stream<Map.Entry<K, V>> stream(
      Transaction tx, @Nullable K from, @Nullable K to, ScanOrder order) {
    Cursor<K, V> c = scan(tx, from, to, order);
    return RowRangeOperations.streamOf(c::next, () -> Map.entry(c.key(), c.value()), c::close);
  }

  /**
   * Reads the next page of a range: see {@link Page} for the guarantees of its tokens.
   *
   * @param tx the transaction; each page may be read in a different one
   * @param from the lower bound, or null; the bounds are enforced whatever the token contains
   * @param to the upper bound, or null
   * @param order the direction
   * @param after {@link Page#next} of the previous page; null for the first page
   * @param limit the maximum number of records in the page
   * @return the page
   * @throws IllegalArgumentException if the limit is not positive
   * @throws InvalidUseException if the token is damaged, or belongs to another table or order
   */
  public Page<Map.Entry<K, V>> page(
      Transaction tx,
      @Nullable K from,
      @Nullable K to,
      ScanOrder order,
      @Nullable String after,
      int limit) {
    Page.Token.checkLimit(limit);
    try (Cursor<K, V> c = scan(tx, from, to, order)) {
      return Page.read(c, table().core(), null, order, after, limit);
    }
  }

  void scan(
      Transaction tx,
      Interval<K> interval,
      ScanOrder order,
      BiPredicate<? super K, ? super V> visitor) {
    try (Cursor<K, V> c = open(tx, interval, order)) {
      while (c.next()) {
        if (!visitor.test(c.key(), c.value())) {
          return;
        }
      }
    }
  }

  /** {@return a view of the table as a map, on which each call is a transaction} */
  public TableMap<K, V> asMap() {
    return new TableMap<>(this);
  }

  Database database() {
    return table().database();
  }

  @Override
  public String toString() {
    return table().toString();
  }
}
