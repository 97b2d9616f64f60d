package io.fovea;

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
 * A table of keys and values in the order of the keys: byte strings as they are ({@link
 * RowTable#bytes}), Java records that Fovea stores ({@link Database#table(ObjectSpec)}), or objects
 * that codecs of the program turn into byte strings or rows and back ({@link RowTable#as}).
 *
 * <p>Keys are ordered by the bytes that are stored, unsigned, a prefix before what it is a prefix
 * of. They have at least one byte, and at most as many as the table was made for; values are from
 * empty to larger than a page. Arguments are copied before a method returns.
 *
 * <p>Codecs may be called for transactions that are aborted later. An exception of a codec is
 * thrown on by the operation, which changes nothing. A statement that changes a record of a table
 * with secondary indexes reads the old one, and throws what the extractor of an index throws.
 *
 * <p>To look for the nearest record is a scan that ends at its first record. It reads that record,
 * and that nothing lies between it and the key: who inserts there, and no other, is in its way.
 *
 * <p>A handle, good in every thread for as long as the database is open. Operations throw the
 * exceptions of those of a {@link RowTable}.
 *
 * @param <K> the class of the keys
 * @param <V> the class of the values
 * @since 0.1.0
 */
public abstract sealed class Table<K, V> permits ByteTable, CodedTable, ObjectTable, CodedRows {

  /** An interval of keys; null for no bound. */
  record Interval<K>(@Nullable K lo, boolean loInclusive, @Nullable K hi, boolean hiInclusive) {
    static <K> Interval<K> of(@Nullable K from, @Nullable K to) {
      return new Interval<>(from, true, to, false);
    }
  }

  Table() {}

  /**
   * The table that this is a view of.
   *
   * @return the table
   */
  public abstract RowTable table();

  /** Compares two keys as the table does. */
  abstract int compare(K a, K b);

  /** Reads keys and values from bytes; for one thread. */
  abstract Coding<K, V> coding();

  /** Opens a scan. */
  abstract Cursor<K, V> open(Transaction tx, Interval<K> interval, ScanOrder order);

  // ------------------------------------------------------------------------------------- reading

  /**
   * Reads a record.
   *
   * @param tx the transaction
   * @param key its key
   * @return the value, a new object; null if there is no such key
   * @throws KeyTooLargeException if no key of that length can be in the table
   */
  public abstract @Nullable V get(Transaction tx, K key);

  /**
   * Reads a value: {@link #get} for callers that prefer an {@link Optional} to null.
   *
   * @param tx the transaction
   * @param key its key
   * @return the value, or empty if there is no such key
   */
  public Optional<V> find(Transaction tx, K key) {
    return Optional.ofNullable(get(tx, key));
  }

  /**
   * Reads a record that will be changed: others that do so wait for this transaction, as {@link
   * RowTable#getForUpdate} says.
   *
   * @param tx the transaction
   * @param key its key
   * @return the value, a new object; null if there is no such key
   * @throws KeyTooLargeException if no key of that length can be in the table
   */
  public @Nullable V getForUpdate(Transaction tx, K key) {
    lockForUpdate(tx, Objects.requireNonNull(key, "key"));
    return get(tx, key);
  }

  /** Before {@link #get}: as {@link #getForUpdate}. */
  abstract void lockForUpdate(Transaction tx, K key);

  /**
   * Whether there is a record of a key.
   *
   * @param tx the transaction
   * @param key the key
   * @return true if there is
   * @throws KeyTooLargeException if no key of that length can be in the table
   */
  public abstract boolean exists(Transaction tx, K key);

  /**
   * Reads several records at once, which overlaps their cache misses and their I/O.
   *
   * @param tx the transaction
   * @param keys their keys, in any order; a key may be there twice
   * @return the values in the order of the keys, null where there is no such key
   * @throws KeyTooLargeException if no key of the length of one of them can be in the table
   */
  public abstract List<@Nullable V> getAll(Transaction tx, Collection<? extends K> keys);

  /**
   * Reads a value, as it is stored, into memory of the caller's.
   *
   * @param tx the transaction
   * @param key its key, as it is stored
   * @param out where as much of the value goes as fits
   * @return the length of the whole value in bytes, or -1 if there is no such key
   * @throws KeyTooLargeException if no key of that length can be in the table
   * @throws InvalidUseException if this is a view of a table of rows
   */
  public long get(Transaction tx, MemorySegment key, MemorySegment out) {
    throw rows();
  }

  private InvalidUseException rows() {
    return new InvalidUseException(
        "Table " + table().core().shown() + " holds rows: RowTable reads and writes their memory.");
  }

  /**
   * How many records the table has: as {@link RowTable#count}.
   *
   * @return the number, of a moment between commits
   */
  public long count() {
    return table().count();
  }

  /**
   * How many bytes its records have: as {@link RowTable#dataBytes}.
   *
   * @return the number, of a moment between commits
   */
  public long dataBytes() {
    return table().dataBytes();
  }

  /**
   * Estimates how many records an interval has, and how large they are: as {@link
   * RowTable#estimate}.
   *
   * @param tx the transaction
   * @param from the smallest key of the interval, null for no bound
   * @param to the key below which the interval ends, itself excluded; null for no bound
   * @return the estimate
   * @throws KeyTooLargeException if a bound is longer than a key of the table can be
   */
  public abstract Estimate estimate(Transaction tx, @Nullable K from, @Nullable K to);

  /**
   * Estimates how many records have keys that begin with a prefix, as {@link #scanPrefix}, and how
   * large they are.
   *
   * @param tx the transaction
   * @param prefix what they begin with
   * @return the estimate
   * @throws KeyTooLargeException if the prefix is longer than a key of the table can be
   */
  public abstract Estimate estimatePrefix(Transaction tx, K prefix);

  // -------------------------------------------------------------------------------------- writing

  /**
   * Adds a record.
   *
   * @param tx the transaction
   * @param key its key
   * @param value its value
   * @throws DuplicateKeyException if the key is there already, or a unique index has another record
   *     with the same entry; nothing is changed then
   * @throws KeyTooLargeException if the key is longer than the table allows, or its entry too long
   *     for an index
   * @throws ValueTooLargeException if the value is longer than any can be
   */
  public abstract void insert(Transaction tx, K key, V value);

  /**
   * Adds a record, given as it is stored. Heap and native segments are equal.
   *
   * @param tx the transaction
   * @param key its key
   * @param value its value
   * @throws DuplicateKeyException as {@link #insert(Transaction, Object, Object)}
   * @throws KeyTooLargeException as {@link #insert(Transaction, Object, Object)}
   * @throws ValueTooLargeException as {@link #insert(Transaction, Object, Object)}
   * @throws InvalidUseException if this is a view of a table of rows
   */
  public void insert(Transaction tx, MemorySegment key, MemorySegment value) {
    throw rows();
  }

  /**
   * Sets a record, whether it is there or not.
   *
   * @param tx the transaction
   * @param key its key
   * @param value its value
   * @throws DuplicateKeyException if a unique index has another record with the same entry; nothing
   *     is changed then
   * @throws KeyTooLargeException if the key is longer than the table allows, or its entry too long
   *     for an index
   * @throws ValueTooLargeException if the value is longer than any can be
   */
  public abstract void put(Transaction tx, K key, V value);

  /**
   * Sets a record, given as it is stored, whether it is there or not.
   *
   * @param tx the transaction
   * @param key its key
   * @param value its value
   * @throws DuplicateKeyException as {@link #put(Transaction, Object, Object)}
   * @throws KeyTooLargeException as {@link #put(Transaction, Object, Object)}
   * @throws ValueTooLargeException as {@link #put(Transaction, Object, Object)}
   * @throws InvalidUseException if this is a view of a table of rows
   */
  public void put(Transaction tx, MemorySegment key, MemorySegment value) {
    throw rows();
  }

  /**
   * Adds an object that knows its key.
   *
   * @param tx the transaction
   * @param value the object
   * @throws DuplicateKeyException as {@link #insert(Transaction, Object, Object)}
   * @throws IllegalStateException if no component of its class has {@link io.fovea.schema.Id}
   */
  public void insert(Transaction tx, V value) {
    throw noKeys();
  }

  /**
   * Sets an object that knows its key, whether there was one or not.
   *
   * @param tx the transaction
   * @param value the object
   * @throws DuplicateKeyException as {@link #put(Transaction, Object, Object)}
   * @throws IllegalStateException if no component of its class has {@link io.fovea.schema.Id}
   */
  public void put(Transaction tx, V value) {
    throw noKeys();
  }

  private static IllegalStateException noKeys() {
    return new IllegalStateException(
        "Objects of this table don't know their keys: give the key beside the object.");
  }

  /**
   * Replaces the value of a record.
   *
   * @param tx the transaction
   * @param key its key
   * @param value its new value
   * @throws RecordNotFoundException if there is no such key
   * @throws DuplicateKeyException as {@link #put(Transaction, Object, Object)}
   * @throws KeyTooLargeException if the key is longer than the table allows
   * @throws ValueTooLargeException if the value is longer than any can be
   */
  public void update(Transaction tx, K key, V value) {
    if (!updateIfPresent(tx, key, value)) {
      throw notFound(key);
    }
  }

  /**
   * Replaces the value of a record, if there is one.
   *
   * @param tx the transaction
   * @param key its key
   * @param value its new value
   * @return false if there is no such key; then nothing is changed
   * @throws DuplicateKeyException as {@link #put(Transaction, Object, Object)}
   * @throws KeyTooLargeException if the key is longer than the table allows
   * @throws ValueTooLargeException if the value is longer than any can be
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
   * Changes a record, which is read as by {@link #getForUpdate}.
   *
   * @param tx the transaction
   * @param key its key
   * @param change makes the new value of the one that is there; null removes the record
   * @return the new value, or null if there is none now
   * @throws RecordNotFoundException if there is no such key
   * @throws DuplicateKeyException as {@link #put(Transaction, Object, Object)}
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
   * Changes a record, which is read as by {@link #getForUpdate}, if there is one.
   *
   * @param tx the transaction
   * @param key its key
   * @param change makes the new value of the one that is there; null removes the record
   * @return the new value, or null if there is none now
   * @throws DuplicateKeyException as {@link #put(Transaction, Object, Object)}
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
   * @return whether there was one
   * @throws KeyTooLargeException if no key of that length can be in the table
   */
  public abstract boolean delete(Transaction tx, K key);

  /**
   * Removes a record.
   *
   * @param tx the transaction
   * @param key its key, as it is stored
   * @return whether there was one
   * @throws KeyTooLargeException if no key of that length can be in the table
   * @throws InvalidUseException if this is a view of a table of rows
   */
  public boolean delete(Transaction tx, MemorySegment key) {
    throw rows();
  }

  /**
   * Removes all records of an interval in one pass: as {@link RowTable#deleteRange(Transaction,
   * Range)}.
   *
   * @param tx the transaction
   * @param from the smallest key of the interval, null for no bound
   * @param to the key below which the interval ends, itself excluded; null for no bound
   * @return how many records there were
   * @throws KeyTooLargeException if a bound is longer than a key of the table can be
   */
  public long deleteRange(Transaction tx, @Nullable K from, @Nullable K to) {
    return deleteRange(tx, Interval.of(from, to), Long.MAX_VALUE);
  }

  /**
   * Removes records of an interval, up to some number of them, the first ones: as {@link
   * RowTable#deleteRange(Transaction, Range, long)}.
   *
   * @param tx the transaction
   * @param from the smallest key of the interval, null for no bound
   * @param to the key below which the interval ends, itself excluded; null for no bound
   * @param most how many records it removes at most
   * @return how many it has removed
   * @throws IllegalArgumentException if {@code most} is negative
   * @throws KeyTooLargeException if a bound is longer than a key of the table can be
   */
  public long deleteRange(Transaction tx, @Nullable K from, @Nullable K to, long most) {
    return deleteRange(tx, Interval.of(from, to), most);
  }

  abstract long deleteRange(Transaction tx, Interval<K> interval, long most);

  /**
   * Removes all records whose keys begin with a prefix, as {@link #scanPrefix}.
   *
   * @param tx the transaction
   * @param prefix what they begin with
   * @return how many records there were
   * @throws KeyTooLargeException if the prefix is longer than a key of the table can be
   */
  public abstract long deletePrefix(Transaction tx, K prefix);

  // -------------------------------------------------------------------------------------- loading

  /**
   * Loads records by {@link LoadOptions#defaults}: as {@link RowTable#load(LoadOptions,
   * LoadSource)}.
   *
   * @param <X> what the source throws
   * @param source adds the records, in any order
   * @return what was done
   * @throws X if the source does
   */
  public <X extends Exception> LoadReport load(LoadSource<? super TableLoad<K, V>, X> source)
      throws X {
    return load(LoadOptions.defaults(), source);
  }

  /**
   * Loads many records at once, all of them or none: as {@link RowTable#load(LoadOptions,
   * LoadSource)}.
   *
   * @param <X> what the source throws
   * @param options how
   * @param source adds the records
   * @return what was done
   * @throws X if the source does; then nothing was loaded
   */
  public abstract <X extends Exception> LoadReport load(
      LoadOptions options, LoadSource<? super TableLoad<K, V>, X> source) throws X;

  /**
   * Loads many records at once, all of them or none: as {@link RowTable#load(LoadOptions,
   * LoadSource)}.
   *
   * @param options how
   * @param source gives keys and values, once, in this thread
   * @return what was done
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
   * A secondary index.
   *
   * <p>Of objects, one that {@link ObjectSpec#index} has declared. The class of its keys is that of
   * its component; of several components a record class whose components are those in order, by any
   * names. Records in it are as if their components stood in their place, and numbers may be
   * narrower. A class of the first components alone is one of prefixes.
   *
   * <p>Of byte strings, one that {@link io.fovea.schema.IndexSpec#bytes} has declared; its keys are
   * of class {@link Key}, made by {@link Index#key}.
   *
   * @param <I> the class of its keys
   * @param name its name
   * @param keys the class of its keys
   * @return the index; any thread
   * @throws IllegalArgumentException if the table was opened without an index of that name, or the
   *     class is no key of it, in words that name the part
   * @throws InvalidUseException if this is a view with codecs, or the table or the index was
   *     dropped
   */
  public <I> Index<I, K, V> index(String name, Class<I> keys) {
    throw new InvalidUseException(
        "Table "
            + table().core().shown()
            + " is seen through codecs here, and has no indexes of its own: ask RowTable.index for"
            + " those of rows, and RowTable.bytes().index for those of byte strings.");
  }

  // ------------------------------------------------------------------------------------- scanning

  /**
   * Opens a scan of an interval.
   *
   * @param tx the transaction
   * @param from the smallest key of the interval, null for no bound
   * @param to the key below which the interval ends, itself excluded; null for no bound
   * @param order in which direction
   * @return a cursor before the first record; to be closed, and closed with the transaction at last
   * @throws KeyTooLargeException if a bound is longer than a key of the table can be
   */
  public Cursor<K, V> scan(Transaction tx, @Nullable K from, @Nullable K to, ScanOrder order) {
    return open(tx, Interval.of(from, to), Objects.requireNonNull(order, "order"));
  }

  /**
   * Opens a scan of all keys that begin with a prefix: byte strings with its bytes, objects and
   * rows with its parts, of which the last one may go on where it is text or bytes. So {@code new
   * Address("Paris", "")} is a prefix of all addresses in Paris.
   *
   * @param tx the transaction
   * @param prefix what they begin with
   * @param order in which direction
   * @return a cursor before the first record; to be closed, and closed with the transaction at last
   * @throws KeyTooLargeException if the prefix is longer than a key of the table can be
   */
  public abstract Cursor<K, V> scanPrefix(Transaction tx, K prefix, ScanOrder order);

  /**
   * Visits records in order until there are no more or the visitor has enough.
   *
   * @param tx the transaction
   * @param from the smallest key, null for no bound
   * @param to the key below which the visit ends, itself excluded; null for no bound
   * @param order in which direction
   * @param visitor gets key and value; false ends the visit
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
   * Reads the first record.
   *
   * @param tx the transaction
   * @return its key and value, or null if there is none
   */
  public Map.@Nullable Entry<K, V> first(Transaction tx) {
    return nearest(tx, null, true, true);
  }

  /**
   * Reads the last record.
   *
   * @param tx the transaction
   * @return its key and value, or null if there is none
   */
  public Map.@Nullable Entry<K, V> last(Transaction tx) {
    return nearest(tx, null, true, false);
  }

  /**
   * Reads the record with the largest key that is not above a key.
   *
   * @param tx the transaction
   * @param key the key
   * @return its key and value, or null if there is none
   */
  public Map.@Nullable Entry<K, V> floor(Transaction tx, K key) {
    return nearest(tx, Objects.requireNonNull(key, "key"), true, false);
  }

  /**
   * Reads the record with the smallest key that is not below a key.
   *
   * @param tx the transaction
   * @param key the key
   * @return its key and value, or null if there is none
   */
  public Map.@Nullable Entry<K, V> ceiling(Transaction tx, K key) {
    return nearest(tx, Objects.requireNonNull(key, "key"), true, true);
  }

  /**
   * Reads the record with the largest key below a key.
   *
   * @param tx the transaction
   * @param key the key
   * @return its key and value, or null if there is none
   */
  public Map.@Nullable Entry<K, V> lower(Transaction tx, K key) {
    return nearest(tx, Objects.requireNonNull(key, "key"), false, false);
  }

  /**
   * Reads the record with the smallest key above a key.
   *
   * @param tx the transaction
   * @param key the key
   * @return its key and value, or null if there is none
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
   * @param visitor gets key and value; it may change and delete that record
   */
  public void forEach(Transaction tx, BiConsumer<? super K, ? super V> visitor) {
    forEach(tx, null, null, visitor);
  }

  /**
   * Visits the records of an interval in ascending order.
   *
   * @param tx the transaction
   * @param from the smallest key, null for no bound
   * @param to the key below which the visit ends, itself excluded; null for no bound
   * @param visitor gets key and value; it may change and delete that record
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
   * Returns all records as a stream, in ascending order: as {@link #stream(Transaction, Object,
   * Object, ScanOrder)}.
   *
   * @param tx the transaction
   * @return a new stream of keys and values
   */
  public Stream<Map.Entry<K, V>> stream(Transaction tx) {
    return stream(tx, null, null, ScanOrder.ASCENDING);
  }

  /**
   * Returns the records from a key on as a stream, in ascending order: as {@link
   * #stream(Transaction, Object, Object, ScanOrder)}.
   *
   * @param tx the transaction
   * @param from the smallest key
   * @return a new stream of keys and values
   */
  public Stream<Map.Entry<K, V>> stream(Transaction tx, K from) {
    return stream(tx, Objects.requireNonNull(from, "from"), null, ScanOrder.ASCENDING);
  }

  /**
   * The records of an interval as a stream, which reads them as it is asked for them. It lives no
   * longer than the transaction: a step after the transaction's end throws {@link
   * InvalidUseException}, as does one in another thread, so it must not be made parallel. Closing
   * it ends the scan, as does reading it to its end.
   *
   * @param tx the transaction
   * @param from the smallest key, null for no bound
   * @param to the key below which the stream ends, itself excluded; null for no bound
   * @param order in which direction
   * @return a new stream of keys and values
   */
  public Stream<Map.Entry<K, V>> stream(
      Transaction tx, @Nullable K from, @Nullable K to, ScanOrder order) {
    Cursor<K, V> c = scan(tx, from, to, order);
    return OrderedRows.streamOf(c::next, () -> Map.entry(c.key(), c.value()), c::close);
  }

  /**
   * Reads an interval page by page: the records of the interval that lie behind those of the page
   * before, in the order that is asked for. {@link Page} says what its tokens promise.
   *
   * @param tx the transaction; each page may be read in one of its own
   * @param from the smallest key, null for no bound; {@code from} and {@code to} decide what can be
   *     read, whatever the token says
   * @param to the key below which the interval ends, itself excluded; null for no bound
   * @param order in which direction
   * @param after {@link Page#next} of the page before; null for the first page
   * @param limit how many records the page has at most
   * @return the page
   * @throws IllegalArgumentException if the limit is not positive
   * @throws InvalidUseException if the token is damaged, or was made by another table or in the
   *     other order
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
      return Page.read(
          limit,
          after == null
              ? c.next()
              : c.seekBehind(Page.Token.key(table().core(), null, order, after)),
          () -> Map.entry(c.key(), c.value()),
          () -> Page.Token.of(table().core(), null, order, c.position()),
          c::next);
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

  /**
   * A view of the table as a map, of which each call is a transaction of its own.
   *
   * @return the view
   */
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
