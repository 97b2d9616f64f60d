package io.fovea;

import io.fovea.error.DuplicateKeyException;
import io.fovea.error.InvalidUseException;
import io.fovea.index.Scratch;
import io.fovea.index.SlotLocal;
import io.fovea.index.TableCore;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.BiPredicate;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A table of Java objects, which codecs turn into records and back.
 *
 * <p>The pleasant form: every operation makes objects. Codecs may be called for transactions that
 * are aborted later. An exception of a codec is thrown on by the operation, which changes nothing.
 *
 * <p>A handle, good in every thread for as long as the database is open. Operations throw the
 * exceptions of those of a {@link RowTable}.
 *
 * @param <K> the class of the keys
 * @param <V> the class of the values
 * @since 0.1.0
 */
public final class Table<K, V> extends OrderedEntries<K, V> {
  // The file has more than 600 lines because each method of the API has its contract here, and
  // what stands behind a table, rows or bytes, can't be named by others.

  /** The kinds of tables behind it. */
  interface Backing<K, V> {
    RowTable table();

    /** Compares two keys as the table does. */
    int compare(K a, K b);

    @Nullable V get(Transaction tx, K key);

    /** Before {@link #get}: as {@link RowTable#getForUpdate}. */
    void lockForUpdate(Transaction tx, K key);

    boolean exists(Transaction tx, K key);

    List<@Nullable V> getAll(Transaction tx, Collection<? extends K> keys);

    void insert(Transaction tx, K key, V value);

    void put(Transaction tx, K key, V value);

    /** Under the key that the object knows. */
    default void insert(Transaction tx, V value) {
      throw noKeys();
    }

    /** Likewise. */
    default void put(Transaction tx, V value) {
      throw noKeys();
    }

    private static IllegalStateException noKeys() {
      return new IllegalStateException(
          "Objects of this table don't know their keys: give the key beside the object.");
    }

    boolean delete(Transaction tx, K key);

    long deleteRange(Transaction tx, Interval<K> interval, long most);

    LoadReport load(
        LoadOptions options, Iterator<? extends Map.Entry<? extends K, ? extends V>> source);

    /** Reads keys and values from bytes; for one thread. */
    Walk.Coding<K, V> coding();

    /** Opens a scan. */
    Walk<K, V> walk(Transaction tx, Interval<K> interval, ScanOrder order);

    /** An index by components. */
    default <I> Index<I, K, V> index(String name, Class<I> keys) {
      throw new InvalidUseException(
          "Table "
              + table().core().shown()
              + " holds no objects of an ObjectSpec, which have indexes by components. A table of"
              + " rows has its indexes by RowTable.index, one of byte strings by ByteTable.index.");
    }
  }

  /** An interval of keys; null for no bound. */
  record Interval<K>(@Nullable K lo, boolean loInclusive, @Nullable K hi, boolean hiInclusive) {}

  private final Backing<K, V> backing;

  Table(RowTable table, KeyCodec<K> keys, Codec<V> values) {
    this.backing = new Rows<>(table, keys, values);
  }

  Table(ByteTable table, ByteCodec<K> keys, ByteCodec<V> values) {
    this.backing = new Bytes<>(table, keys, values);
  }

  /** A table of objects, which {@link ObjectSpec} stores. */
  Table(Backing<K, V> backing) {
    this.backing = backing;
  }

  /** Reads keys and values from bytes; for one thread. */
  Walk.Coding<K, V> coding() {
    return backing.coding();
  }

  /**
   * Reads a record.
   *
   * @param tx the transaction
   * @param key its key
   * @return a new object, or null if there is no such key
   */
  @Override
  public @Nullable V get(Transaction tx, K key) {
    return backing.get(tx, Objects.requireNonNull(key, "key"));
  }

  /**
   * Reads a record that will be changed: others that do so wait for this transaction, as {@link
   * RowTable#getForUpdate} says.
   *
   * @param tx the transaction
   * @param key its key
   * @return a new object, or null if there is no such key
   */
  public @Nullable V getForUpdate(Transaction tx, K key) {
    backing.lockForUpdate(tx, Objects.requireNonNull(key, "key"));
    return get(tx, key);
  }

  /**
   * Whether there is a record of a key.
   *
   * @param tx the transaction
   * @param key the key
   * @return true if there is
   */
  public boolean exists(Transaction tx, K key) {
    return backing.exists(tx, Objects.requireNonNull(key, "key"));
  }

  /**
   * Reads several records at once, which overlaps their cache misses and their I/O.
   *
   * @param tx the transaction
   * @param keys their keys, in any order; a key may be there twice
   * @return new objects in the order of the keys, null where there is no such key
   */
  public List<@Nullable V> getAll(Transaction tx, Collection<? extends K> keys) {
    return backing.getAll(tx, keys);
  }

  /**
   * How many records the table has: as {@link RowTable#count}.
   *
   * @return the number, of a moment between commits
   */
  public long count() {
    return backing.table().count();
  }

  /**
   * How many bytes its records have: as {@link RowTable#dataBytes}.
   *
   * @return the number, of a moment between commits
   */
  public long dataBytes() {
    return backing.table().dataBytes();
  }

  /**
   * Adds a record.
   *
   * @param tx the transaction
   * @param key its key
   * @param value its value
   * @throws DuplicateKeyException if the key is there already, or another record has the same
   *     values in a unique index; nothing is changed then
   */
  public void insert(Transaction tx, K key, V value) {
    backing.insert(tx, Objects.requireNonNull(key, "key"), Objects.requireNonNull(value, "value"));
  }

  /**
   * Sets a record, whether it is there or not.
   *
   * @param tx the transaction
   * @param key its key
   * @param value its value
   * @throws DuplicateKeyException if another record has the same values in a unique index; nothing
   *     is changed then
   */
  public void put(Transaction tx, K key, V value) {
    backing.put(tx, Objects.requireNonNull(key, "key"), Objects.requireNonNull(value, "value"));
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
    backing.insert(tx, Objects.requireNonNull(value, "value"));
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
    backing.put(tx, Objects.requireNonNull(value, "value"));
  }

  /**
   * Changes a record, if it is there.
   *
   * @param tx the transaction
   * @param key its key
   * @param change makes the new object of the one that is there; null removes the record
   * @return the new object, or null if there is none now
   * @throws DuplicateKeyException as {@link #put(Transaction, Object, Object)}
   */
  public @Nullable V update(
      Transaction tx, K key, Function<? super V, ? extends @Nullable V> change) {
    Objects.requireNonNull(change, "change");
    V before = getForUpdate(tx, key);
    V after = before == null ? null : change.apply(before);
    if (after != null) {
      put(tx, key, after);
    } else if (before != null) {
      delete(tx, key);
    }
    return after;
  }

  /**
   * Removes a record.
   *
   * @param tx the transaction
   * @param key its key
   * @return whether there was one
   */
  public boolean delete(Transaction tx, K key) {
    return backing.delete(tx, Objects.requireNonNull(key, "key"));
  }

  /**
   * Removes all records of an interval in one pass: as {@link RowTable#deleteRange(Transaction,
   * Range)}.
   *
   * @param tx the transaction
   * @param from the smallest key, null for no bound
   * @param to the key below which the interval ends, itself excluded; null for no bound
   * @return how many records there were
   */
  public long deleteRange(Transaction tx, @Nullable K from, @Nullable K to) {
    return deleteRange(tx, new Interval<>(from, true, to, false), Long.MAX_VALUE);
  }

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
    return backing.load(options, Objects.requireNonNull(source, "source"));
  }

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
    scan(tx, new Interval<>(from, true, to, false), order, visitor);
  }

  /**
   * Opens a scan.
   *
   * @param tx the transaction
   * @param from the smallest key, null for no bound
   * @param to the key below which the scan ends, itself excluded; null for no bound
   * @param order in which direction
   * @return a cursor before the first record; to be closed, and closed with the transaction at last
   */
  public Cursor<K, V> scan(Transaction tx, @Nullable K from, @Nullable K to, ScanOrder order) {
    Objects.requireNonNull(order, "order");
    return new Cursor<>(walk(tx, new Interval<>(from, true, to, false), order));
  }

  /**
   * A secondary index by components of the objects, which {@link ObjectSpec#index} has declared.
   *
   * @param <I> the class of its keys
   * @param name its name
   * @param keys the class of its keys: of one component, its class; of several, a record class
   *     whose components are those in order, by any names. Records in it are as if their components
   *     stood in their place, and numbers may be narrower. A class of the first components alone is
   *     one of prefixes
   * @return the index; any thread
   * @throws IllegalArgumentException if the table was opened without an index of that name, or the
   *     class is no key of it, in words that name the part
   * @throws InvalidUseException if this is a table of another kind than {@link ObjectSpec} makes,
   *     or the table or the index was dropped
   */
  public <I> Index<I, K, V> index(String name, Class<I> keys) {
    return backing.index(
        Objects.requireNonNull(name, "name"), Objects.requireNonNull(keys, "keys"));
  }

  /**
   * A view of the table as a map, of which each call is a transaction of its own.
   *
   * @return the view
   */
  public TableMap<K, V> asMap() {
    return new TableMap<>(this);
  }

  void scan(
      Transaction tx,
      Interval<K> interval,
      ScanOrder order,
      BiPredicate<? super K, ? super V> visitor) {
    try (Walk<K, V> w = walk(tx, interval, order)) {
      while (w.next()) {
        if (!visitor.test(w.key(), w.value())) {
          return;
        }
      }
    }
  }

  @Override
  Walk<K, V> walk(Transaction tx, Interval<K> interval, ScanOrder order) {
    return backing.walk(tx, interval, order);
  }

  @Override
  TableCore tableCore() {
    return backing.table().core();
  }

  long deleteRange(Transaction tx, Interval<K> interval, long most) {
    return backing.deleteRange(tx, interval, most);
  }

  int compare(K a, K b) {
    return backing.compare(a, b);
  }

  Database database() {
    return backing.table().database();
  }

  private static final class Rows<K, V> implements Backing<K, V> {
    private final RowTable table;
    private final KeyCodec<K> keys;
    private final Codec<V> values;
    private final SlotLocal<Buffers> buffers = new SlotLocal<>();
    private final Supplier<Buffers> made;

    Rows(RowTable table, KeyCodec<K> keys, Codec<V> values) {
      this.table = table;
      this.keys = keys;
      this.values = values;
      this.made = () -> new Buffers(table);
    }

    /** A key and a row, used again by the next operation of the slot. */
    private static final class Buffers extends Scratch {
      static final int BATCH = 64;

      final Key key;
      final Row row;

      /** Made when it is needed. */
      private @Nullable Batch batch;

      Buffers(RowTable table) {
        key = table.key();
        row = table.row();
      }

      Batch batch(RowTable table) {
        Batch b = batch;
        if (b == null) {
          b = table.batch(BATCH);
          batch = b;
        }
        return b.clear();
      }
    }

    @Override
    public RowTable table() {
      return table;
    }

    private Buffers take(Transaction tx) {
      return Scratch.take(buffers, tx.slotOfMine(), made);
    }

    private Key encoded(Buffers b, K key) {
      b.key.clear();
      keys.encode(key, b.key);
      return b.key;
    }

    private Row encodedValue(Buffers b, V value) {
      b.row.clear();
      values.encode(value, b.row);
      return b.row;
    }

    /** One that lasts longer than an operation. */
    private Key encoded(K key) {
      Key k = table.key();
      keys.encode(key, k);
      return k;
    }

    @Override
    public @Nullable V get(Transaction tx, K key) {
      Buffers b = take(tx);
      try {
        return table.get(tx, encoded(b, key), b.row) ? values.decode(b.row) : null;
      } finally {
        b.giveBack();
      }
    }

    @Override
    public void lockForUpdate(Transaction tx, K key) {
      Buffers b = take(tx);
      try {
        table.lockForUpdate(tx, encoded(b, key));
      } finally {
        b.giveBack();
      }
    }

    @Override
    public boolean exists(Transaction tx, K key) {
      Buffers b = take(tx);
      try {
        return table.exists(tx, encoded(b, key));
      } finally {
        b.giveBack();
      }
    }

    @Override
    public List<@Nullable V> getAll(Transaction tx, Collection<? extends K> wanted) {
      List<@Nullable V> found = new ArrayList<>(wanted.size());
      Iterator<? extends K> rest = wanted.iterator();
      Buffers b = take(tx);
      try {
        do {
          Batch batch = b.batch(table);
          while (rest.hasNext() && batch.size() < batch.capacity()) {
            keys.encode(Objects.requireNonNull(rest.next(), "key"), batch.add());
          }
          table.getAll(tx, batch);
          for (int i = 0; i < batch.size(); i++) {
            found.add(batch.found(i) ? values.decode(batch.row(i)) : null);
          }
        } while (rest.hasNext());
      } finally {
        b.giveBack();
      }
      return found;
    }

    @Override
    public void insert(Transaction tx, K key, V value) {
      Buffers b = take(tx);
      try {
        table.insert(tx, encoded(b, key), encodedValue(b, value));
      } finally {
        b.giveBack();
      }
    }

    @Override
    public void put(Transaction tx, K key, V value) {
      Buffers b = take(tx);
      try {
        table.put(tx, encoded(b, key), encodedValue(b, value));
      } finally {
        b.giveBack();
      }
    }

    @Override
    public boolean delete(Transaction tx, K key) {
      Buffers b = take(tx);
      try {
        return table.delete(tx, encoded(b, key));
      } finally {
        b.giveBack();
      }
    }

    @Override
    public long deleteRange(Transaction tx, Interval<K> interval, long most) {
      return table.deleteRange(tx, range(interval), most);
    }

    @Override
    public LoadReport load(
        LoadOptions options, Iterator<? extends Map.Entry<? extends K, ? extends V>> source) {
      Key k = table.key();
      Row r = table.row();
      return table.load(
          options,
          into -> {
            while (source.hasNext()) {
              Map.Entry<? extends K, ? extends V> e = source.next();
              k.clear();
              keys.encode(e.getKey(), k);
              r.clear();
              values.encode(e.getValue(), r);
              into.add(k, r);
            }
          });
    }

    /** An empty key is a prefix of all. */
    private Range range(Interval<K> i) {
      K lo = i.lo();
      K hi = i.hi();
      return Range.of(
          lo == null ? table.key() : encoded(lo),
          lo == null || i.loInclusive(),
          hi == null ? table.key() : encoded(hi),
          hi == null || i.hiInclusive());
    }

    @Override
    public int compare(K a, K b) {
      return encoded(a).compareTo(encoded(b));
    }

    @Override
    public Walk<K, V> walk(Transaction tx, Interval<K> interval, ScanOrder order) {
      return new Walk.OfRows<>(table.scan(tx, range(interval), order), table, keys, values);
    }

    @Override
    public Walk.Coding<K, V> coding() {
      return new Walk.Coding<>() {
        @Override
        public byte[] encode(K key) {
          Key k = encoded(key);
          byte[] bytes = new byte[k.length()];
          Mem.getBytes(k.segment(), k.base(), bytes, 0, bytes.length);
          return bytes;
        }

        @Override
        public K key(byte[] stored) {
          return keys.decode(Change.key(table, stored));
        }

        @Override
        public V value(K key, byte[] stored) {
          return values.decode(Change.row(table, stored));
        }
      };
    }
  }

  private record Bytes<K, V>(ByteTable bytes, ByteCodec<K> keys, ByteCodec<V> values)
      implements Backing<K, V>, Walk.Coding<K, V> {
    @Override
    public RowTable table() {
      return bytes.table();
    }

    @Override
    public int compare(K a, K b) {
      return Arrays.compareUnsigned(keys.encode(a), keys.encode(b));
    }

    @Override
    public @Nullable V get(Transaction tx, K key) {
      byte[] value = bytes.get(tx, keys.encode(key));
      return value == null ? null : values.decode(value);
    }

    @Override
    public void lockForUpdate(Transaction tx, K key) {
      bytes.lockForUpdate(tx, MemorySegment.ofArray(keys.encode(key)));
    }

    @Override
    public boolean exists(Transaction tx, K key) {
      return bytes.exists(tx, keys.encode(key));
    }

    @Override
    public List<@Nullable V> getAll(Transaction tx, Collection<? extends K> wanted) {
      List<byte[]> encoded = new ArrayList<>(wanted.size());
      for (K key : wanted) {
        encoded.add(keys.encode(Objects.requireNonNull(key, "key")));
      }
      List<@Nullable V> found = new ArrayList<>(encoded.size());
      for (byte[] value : bytes.getAll(tx, encoded)) {
        found.add(value == null ? null : values.decode(value));
      }
      return found;
    }

    @Override
    public void insert(Transaction tx, K key, V value) {
      bytes.insert(tx, keys.encode(key), values.encode(value));
    }

    @Override
    public void put(Transaction tx, K key, V value) {
      bytes.put(tx, keys.encode(key), values.encode(value));
    }

    @Override
    public boolean delete(Transaction tx, K key) {
      return bytes.delete(tx, keys.encode(key));
    }

    @Override
    public long deleteRange(Transaction tx, Interval<K> i, long most) {
      return bytes.deleteRange(
          tx, encoded(i.lo()), i.loInclusive(), encoded(i.hi()), i.hiInclusive(), false, most);
    }

    private byte @Nullable [] encoded(@Nullable K end) {
      return end == null ? null : keys.encode(end);
    }

    @Override
    public LoadReport load(
        LoadOptions options, Iterator<? extends Map.Entry<? extends K, ? extends V>> source) {
      return bytes.load(
          options,
          into -> {
            while (source.hasNext()) {
              Map.Entry<? extends K, ? extends V> e = source.next();
              into.add(keys.encode(e.getKey()), values.encode(e.getValue()));
            }
          });
    }

    @Override
    public Walk<K, V> walk(Transaction tx, Interval<K> interval, ScanOrder order) {
      return bytes.walk(tx, interval, order, this);
    }

    @Override
    public Walk.Coding<K, V> coding() {
      return this;
    }

    @Override
    public byte[] encode(K key) {
      return keys.encode(key);
    }

    @Override
    public K key(byte[] stored) {
      return keys.decode(stored);
    }

    @Override
    public V value(K key, byte[] stored) {
      return values.decode(stored);
    }
  }
}
