package io.fovea;

import io.fovea.error.InvalidUseException;
import io.fovea.index.TableCore;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Keys and values in the order of the keys, be they byte strings or objects: looking for the
 * nearest one, visiting an interval, and reading it page by page. The same as {@link OrderedRows}
 * for rows.
 *
 * <p>To look for the nearest record is a scan that ends at its first record. It reads that record,
 * and that nothing lies between it and the key: who inserts there, and no other, is in its way.
 *
 * <p>Operations throw the exceptions of those of a {@link RowTable}, and what the codecs throw.
 * Entries can't be changed.
 *
 * @param <K> the class of the keys
 * @param <V> the class of the values
 * @since 0.1.0
 */
public abstract sealed class OrderedEntries<K, V> permits ByteTable, Table {
  /**
   * A scan of keys and values under way, of any kind of table: what this and {@link Cursor} need of
   * a cursor. Its methods are those of {@link RowCursor}.
   *
   * @param <K> the class of the keys
   * @param <V> the class of the values
   */
  interface Walk<K, V> extends AutoCloseable {
    boolean next();

    boolean previous();

    boolean first();

    boolean last();

    boolean seek(K key);

    /** Moves to the first record behind a {@link #position}. */
    boolean seekBehind(byte[] position);

    /** The key of the record that it stands on, as it is stored. */
    byte[] position();

    K key();

    V value();

    @Override
    void close();

    /** How keys and values are written as bytes. */
    interface Coding<K, V> {
      byte[] encode(K key);

      K key(byte[] bytes);

      V value(K key, byte[] bytes);
    }

    /** One of byte strings. */
    final class OfBytes<K, V> implements Walk<K, V> {
      private final ByteCursor cursor;
      private final Coding<K, V> coding;

      /** Of the record that it stands on, once it was asked for. */
      private @Nullable K key;

      OfBytes(ByteCursor cursor, Coding<K, V> coding) {
        this.cursor = cursor;
        this.coding = coding;
      }

      @Override
      public boolean next() {
        key = null;
        return cursor.next();
      }

      @Override
      public boolean previous() {
        key = null;
        return cursor.previous();
      }

      @Override
      public boolean first() {
        key = null;
        return cursor.first();
      }

      @Override
      public boolean last() {
        key = null;
        return cursor.last();
      }

      @Override
      public boolean seek(K to) {
        key = null;
        return cursor.seek(coding.encode(to));
      }

      /** Moves to the first record at a position, or behind it. */
      boolean seekTo(byte[] position) {
        key = null;
        return cursor.seek(position);
      }

      @Override
      public boolean seekBehind(byte[] position) {
        key = null;
        return cursor.seekBehind(position);
      }

      @Override
      public byte[] position() {
        return cursor.position();
      }

      @Override
      public K key() {
        K k = key;
        if (k == null) {
          k = coding.key(cursor.key());
          key = k;
        }
        return k;
      }

      @Override
      public V value() {
        return coding.value(key(), cursor.value());
      }

      @Override
      public void close() {
        key = null;
        cursor.close();
      }
    }

    /** One of rows. */
    record OfRows<K, V>(RowCursor cursor, RowTable table, KeyCodec<K> keys, Codec<V> values)
        implements Walk<K, V> {
      @Override
      public boolean next() {
        return cursor.next();
      }

      @Override
      public boolean previous() {
        return cursor.previous();
      }

      @Override
      public boolean first() {
        return cursor.first();
      }

      @Override
      public boolean last() {
        return cursor.last();
      }

      @Override
      public boolean seek(K key) {
        Key k = table.key();
        keys.encode(key, k);
        return cursor.seek(k);
      }

      @Override
      public boolean seekBehind(byte[] position) {
        return cursor.seekBehind(position);
      }

      @Override
      public byte[] position() {
        return cursor.position();
      }

      @Override
      public K key() {
        return keys.decode(cursor.key());
      }

      @Override
      public V value() {
        return values.decode(cursor.row());
      }

      @Override
      public void close() {
        cursor.close();
      }
    }
  }

  OrderedEntries() {}

  /** Opens a scan of an interval. */
  abstract Walk<K, V> walk(Transaction tx, Table.Interval<K> interval, ScanOrder order);

  /** The table that it is a view of. */
  abstract TableCore tableCore();

  // ------------------------------------------------------------------------------------- reading

  /**
   * Reads a value.
   *
   * @param tx the transaction
   * @param key its key
   * @return the value, or null if there is no such key
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
    Table.Interval<K> rest =
        up
            ? new Table.Interval<>(key, inclusive, null, true)
            : new Table.Interval<>(null, true, key, inclusive);
    try (Walk<K, V> w = walk(tx, rest, up ? ScanOrder.ASCENDING : ScanOrder.DESCENDING)) {
      return w.next() ? Map.entry(w.key(), w.value()) : null;
    }
  }

  // ------------------------------------------------------------------------------------ intervals

  private Walk<K, V> walk(Transaction tx, @Nullable K from, @Nullable K to, ScanOrder order) {
    return walk(
        tx, new Table.Interval<>(from, true, to, false), Objects.requireNonNull(order, "order"));
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
    try (Walk<K, V> w = walk(tx, from, to, ScanOrder.ASCENDING)) {
      while (w.next()) {
        visitor.accept(w.key(), w.value());
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
    Walk<K, V> w = walk(tx, from, to, order);
    return OrderedRows.streamOf(w::next, () -> Map.entry(w.key(), w.value()), w::close);
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
    try (Walk<K, V> w = walk(tx, from, to, order)) {
      return Page.read(
          limit,
          after == null ? w.next() : w.seekBehind(Page.Token.key(tableCore(), null, order, after)),
          () -> Map.entry(w.key(), w.value()),
          () -> Page.Token.of(tableCore(), null, order, w.position()),
          w::next);
    }
  }
}
