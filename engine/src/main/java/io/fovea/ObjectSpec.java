package io.fovea;

import io.fovea.error.InvalidUseException;
import io.fovea.index.ObjectHistory;
import io.fovea.index.Scratch;
import io.fovea.index.SlotLocal;
import io.fovea.object.EntryKey;
import io.fovea.object.ObjectCodec;
import io.fovea.object.ObjectReader;
import io.fovea.object.ObjectWriter;
import io.fovea.schema.Field;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.ObjectShapes;
import io.fovea.schema.Shape;
import io.fovea.schema.TableSpec;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A table whose values are Java records, stored without a codec of the program's own.
 *
 * <pre>{@code
 * record Account(@Id long id, String owner, BigDecimal balance) {}
 *
 * static final ObjectSpec<Long, Account> ACCOUNTS =
 *     ObjectSpec.of("accounts", Long.class, Account.class);
 *
 * Table<Long, Account> accounts = db.table(ACCOUNTS);
 * db.run(tx -> accounts.put(tx, new Account(17, "Ada", BigDecimal.TEN)));
 * }</pre>
 *
 * <p>Components can be of primitive types and their classes, {@link String}, {@code byte[]}, {@link
 * java.math.BigInteger}, {@link java.math.BigDecimal}, {@link java.util.UUID}, {@link
 * java.time.Instant}, {@link java.time.Duration}, {@link java.time.LocalDate}, {@link
 * java.time.LocalTime}, {@link java.time.LocalDateTime}, enums, records, and {@link
 * java.util.Optional}, {@link java.util.List}, {@link java.util.Set} and {@link java.util.Map} of
 * these. Any reference may be null. Collections come back as ones that can't be changed, in the
 * order that they had. Keys can be all of that but big numbers, optionals and collections, and
 * records of it, and are sorted by their parts: numbers and times by their value, texts by code
 * points, constants in the order of their declaration, UUIDs by their bytes.
 *
 * <p><b>The class may change.</b> The file remembers the shapes that objects had. Opening the table
 * with a class that has changed makes a new version, in one small change of the catalog; objects
 * stay as they are and are read as new ones. Components may be added ({@link
 * io.fovea.schema.Initial} says what they are in older objects), renamed ({@link
 * io.fovea.schema.Formerly}), given up ({@link io.fovea.schema.Dropped}), put into another order,
 * and widened: {@code int} to {@code long}, {@code float} to {@code double}, a value to an Optional
 * of it, an enum by more constants. Anything else is an {@link
 * io.fovea.error.IncompatibleSchemaException}, which names the component. Annotations stay as long
 * as there may be older objects.
 *
 * <p>{@link #index} and {@link #unique} add secondary indexes by components, which {@link
 * Table#index} reads.
 *
 * <p>The classes are looked at once, here, and methods that read and write them are made then. In a
 * module, the package of the record has to be open to {@code io.fovea.engine}, or {@link
 * #of(String, Class, Class, MethodHandles.Lookup)} gets a lookup.
 *
 * <p>A value; any thread. Best kept in a {@code static final}.
 *
 * @param <K> the class of the keys
 * @param <V> the class of the values
 * @since 0.1.0
 */
public final class ObjectSpec<K, V> {
  private static final int KEY_BYTES_MAX = 256;

  private final ObjectCodec codec;
  private final TableSpec table;

  private ObjectSpec(ObjectCodec codec, TableSpec table) {
    this.codec = codec;
    this.table = table;
  }

  /**
   * A table of records.
   *
   * @param <K> the class of the keys
   * @param <V> the class of the values
   * @param name its name, 1 to 255 characters of any kind
   * @param keys the class of the keys; where a component of the values is annotated with {@link
   *     io.fovea.schema.Id}, the class of that, or the one that belongs to its primitive type
   * @param values a record class
   * @return the specification; keys have 256 bytes at most, see {@link #keyBytesMax}
   * @throws IllegalArgumentException if one of the classes can't be stored, in words that name the
   *     component, or for another name
   */
  public static <K, V> ObjectSpec<K, V> of(String name, Class<K> keys, Class<V> values) {
    return made(name, keys, values, null);
  }

  /**
   * A table of records of classes that are not open to this module.
   *
   * @param <K> the class of the keys
   * @param <V> the class of the values
   * @param name its name, 1 to 255 characters of any kind
   * @param keys the class of the keys
   * @param values a record class
   * @param lookup one that can access the record classes, as {@link MethodHandles#lookup} in a
   *     class of their package
   * @return the specification
   * @throws IllegalArgumentException as {@link #of(String, Class, Class)}
   */
  public static <K, V> ObjectSpec<K, V> of(
      String name, Class<K> keys, Class<V> values, MethodHandles.Lookup lookup) {
    return made(name, keys, values, Objects.requireNonNull(lookup, "lookup"));
  }

  private static <K, V> ObjectSpec<K, V> made(
      String name, Class<K> keys, Class<V> values, MethodHandles.@Nullable Lookup lookup) {
    ObjectCodec codec = ObjectCodec.of(keys, values, lookup);
    ObjectShapes shapes = new ObjectShapes(codec.keyShape(), codec.shape());
    return new ObjectSpec<>(codec, TableSpec.objects(name, KEY_BYTES_MAX, shapes));
  }

  /**
   * The same with a secondary index by components of the objects. Several objects may have the same
   * values; they follow one another in the order of their keys.
   *
   * <p>Components can be what keys can be: all but big numbers, optionals and collections of these.
   * They may be null or {@link java.util.Optional}: null comes before all values. A component of a
   * record is named behind it, as in {@code "address.city"}, and is null where the record is; a
   * record stands for all of its components in order. Text and byte strings may be as long as an
   * entry can be, which is about an eighth of a page, keys included.
   *
   * <p>Opening a table that has objects with a new index builds it, beside transactions that go on,
   * as {@link Database#table(TableSpec)} says. An index stays when the class changes: a component
   * that is renamed, widened, made optional or moved has the same entries, those of objects of
   * older shapes included. A class that would read other values than its index has is refused, in
   * words that name the component: the order of an enum's constants has changed, what {@link
   * io.fovea.schema.Initial} says of an indexed component has, or a number has become one of
   * another kind. {@link Database#dropIndex} drops the index then, and opening the table builds it
   * anew.
   *
   * @param name its name, unique in its table; 1 to 255 characters of any kind
   * @param components their paths, in the order of comparison, at least one
   * @return another specification
   * @throws IllegalArgumentException if there is an index of that name, there is no such component,
   *     it has no order, is the {@link io.fovea.schema.Id}, or appears twice
   */
  public ObjectSpec<K, V> index(String name, String... components) {
    return with(name, false, components);
  }

  /**
   * The same with a secondary index by components whose values together belong to one object at
   * most. Values with null belong to any number of objects, for null equals nothing, not even null.
   *
   * @param name as {@link #index}
   * @param components as {@link #index}
   * @return another specification
   * @throws IllegalArgumentException as {@link #index}
   */
  public ObjectSpec<K, V> unique(String name, String... components) {
    return with(name, true, components);
  }

  private ObjectSpec<K, V> with(String name, boolean unique, String... components) {
    List<String> paths = new ArrayList<>();
    for (String component : components) {
      paths.addAll(codec.components(component));
    }
    return new ObjectSpec<>(codec, table.with(IndexSpec.components(name, unique, paths)));
  }

  /**
   * The same, of a table whose reads by key begin where a key was seen last: {@link
   * TableSpec#remembered}. Indexes as they are.
   *
   * @return another specification
   */
  public ObjectSpec<K, V> remembered() {
    return new ObjectSpec<>(codec, table.remembered());
  }

  /**
   * The same with keys of another size. It is a part of what a table is: a table that is there has
   * to be opened with the size that it was made with.
   *
   * @param bytes the most bytes that a key may have as it is stored, 1 to {@link Field#WIDTH_MAX},
   *     and no more than an eighth of a page: its parts, and 2 more for each text or byte string
   * @return another specification
   * @throws IllegalArgumentException for such a size
   */
  public ObjectSpec<K, V> keyBytesMax(int bytes) {
    TableSpec other =
        TableSpec.objects(table.name(), bytes, Objects.requireNonNull(table.objects()));
    for (IndexSpec index : table.indexes()) {
      other = other.with(index);
    }
    return new ObjectSpec<>(codec, table.isRemembered() ? other.remembered() : other);
  }

  /**
   * The table as it is without its classes.
   *
   * @return its specification, with {@link TableSpec#objects() shapes}
   */
  public TableSpec table() {
    return table;
  }

  /**
   * What is stored of the values.
   *
   * @return their shape
   */
  public Shape shape() {
    return codec.shape();
  }

  /** A handle of a table that was opened. */
  Table<K, V> on(RowTable opened) {
    return new Table<>(new Records<>(opened.bytes(), codec));
  }

  @Override
  public String toString() {
    return table.toString();
  }

  /** Records of a class that Fovea stores itself. */
  private static final class Records<K, V> implements Table.Backing<K, V> {
    private final ByteTable bytes;
    private final ObjectCodec codec;

    /** What is written; 0 where only older objects can be read. */
    private final int version;

    /** By version; made when the first object of it is met. */
    private final ObjectCodec.@Nullable Reading[] older =
        new ObjectCodec.Reading[ObjectHistory.VERSION_MAX + 1];

    private final SlotLocal<Buffers> buffers = new SlotLocal<>();

    Records(ByteTable bytes, ObjectCodec codec) {
      this.bytes = bytes;
      this.codec = codec;
      this.version = history().version(codec.shape());
    }

    private ObjectHistory history() {
      return Objects.requireNonNull(bytes.table().core().objects());
    }

    /** Memory for keys and objects, used again by the next transaction of the slot. */
    private static final class Buffers extends Scratch {
      final ObjectWriter key = new ObjectWriter();
      final ObjectWriter object = new ObjectWriter();
      final ObjectReader in = new ObjectReader();

      MemorySegment keySegment() {
        return MemorySegment.ofArray(key.array()).asSlice(0, key.length());
      }

      MemorySegment objectSegment() {
        return MemorySegment.ofArray(object.array()).asSlice(0, object.length());
      }
    }

    private Buffers take(Transaction tx) {
      return Scratch.take(buffers, tx.slotOfMine(), Buffers::new);
    }

    @Override
    public RowTable table() {
      return bytes.table();
    }

    @SuppressWarnings("unchecked") // the codec makes keys of that class and no others
    private K key(Object key) {
      return (K) key;
    }

    @SuppressWarnings("unchecked") // likewise
    private V value(Object value) {
      return (V) value;
    }

    private byte[] encoded(K key) {
      ObjectWriter out = new ObjectWriter();
      codec.writeKey(out, key);
      return out.toArray();
    }

    private byte @Nullable [] bound(@Nullable K end) {
      return end == null ? null : encoded(end);
    }

    @Override
    public int compare(K a, K b) {
      return Arrays.compareUnsigned(encoded(a), encoded(b));
    }

    @Override
    public @Nullable V get(Transaction tx, K key) {
      Buffers s = take(tx);
      try {
        s.key.clear();
        codec.writeKey(s.key, key);
        byte[] buffer = s.in.buffer();
        long n = bytes.get(tx, s.keySegment(), MemorySegment.ofArray(buffer));
        if (n > buffer.length) {
          n = bytes.get(tx, s.keySegment(), MemorySegment.ofArray(s.in.buffer((int) n)));
        }
        if (n < 0) {
          return null;
        }
        s.in.load((int) n);
        return decode(s.in, key);
      } finally {
        s.giveBack();
      }
    }

    @Override
    public void lockForUpdate(Transaction tx, K key) {
      Buffers s = take(tx);
      try {
        s.key.clear();
        codec.writeKey(s.key, key);
        bytes.lockForUpdate(tx, s.keySegment());
      } finally {
        s.giveBack();
      }
    }

    private V decode(ObjectReader in, Object key) {
      in.key(key);
      int stored = Byte.toUnsignedInt(in.getByte());
      Object object = stored == version ? codec.read(in) : reading(stored).read(in);
      if (!in.isAtEnd()) {
        throw bytes.table().core().damaged("end of an object of version " + stored, -1, 0, 1);
      }
      return value(object);
    }

    private ObjectCodec.Reading reading(int stored) {
      ObjectCodec.Reading known = older[stored];
      if (known != null) {
        return known;
      }
      ObjectHistory history = history();
      if (stored == 0 || stored > history.version()) {
        throw bytes.table().core().damaged("version of an object", -1, history.version(), stored);
      }
      if (version > 0 && stored > version) {
        throw new InvalidUseException(
            "The object is of version "
                + stored
                + " of table "
                + bytes.table().core().shown()
                + ", and this is a handle of version "
                + version
                + ": use the one that Database.table has returned for the new class.");
      }
      ObjectCodec.Reading made = codec.reading(history.shape(stored));
      older[stored] = made;
      return made;
    }

    /**
     * Writes key and object.
     *
     * @param key null: the one that the object knows
     */
    private void encode(Buffers s, @Nullable K key, V value) {
      if (version == 0) {
        throw new InvalidUseException(
            "Table "
                + bytes.table().core().shown()
                + " was opened for reading only, by a class that is newer than its objects.");
      }
      s.key.clear();
      if (key == null) {
        codec.writeKeyOf(s.key, value);
      } else {
        codec.writeKey(s.key, key);
        requireItsOwn(s, key, value);
      }
      s.object.clear();
      s.object.putByte((byte) version);
      codec.write(s.object, value);
    }

    @Override
    public boolean exists(Transaction tx, K key) {
      return bytes.exists(tx, encoded(key));
    }

    @Override
    public List<@Nullable V> getAll(Transaction tx, Collection<? extends K> keys) {
      List<byte[]> stored = new ArrayList<>(keys.size());
      for (K key : keys) {
        stored.add(encoded(Objects.requireNonNull(key, "key")));
      }
      List<@Nullable V> found = new ArrayList<>(stored.size());
      ObjectReader in = new ObjectReader();
      Iterator<? extends K> key = keys.iterator();
      for (byte[] value : bytes.getAll(tx, stored)) {
        K of = key.next();
        found.add(value == null ? null : decode(in.of(value), of));
      }
      return found;
    }

    private void requireItsOwn(Buffers s, K key, V value) {
      if (codec.hasId()) {
        s.object.clear();
        codec.writeKeyOf(s.object, value);
        if (!s.key.equalTo(s.object)) {
          throw new InvalidUseException(
              "The object knows another key than the one that it is to be put under: " + key + ".");
        }
      }
    }

    private void write(Transaction tx, @Nullable K key, V value, boolean insert) {
      Buffers s = take(tx);
      try {
        encode(s, key, value);
        if (insert) {
          bytes.insert(tx, s.keySegment(), s.objectSegment());
        } else {
          bytes.put(tx, s.keySegment(), s.objectSegment());
        }
      } finally {
        s.giveBack();
      }
    }

    @Override
    public void insert(Transaction tx, K key, V value) {
      write(tx, key, value, true);
    }

    @Override
    public void insert(Transaction tx, V value) {
      write(tx, null, value, true);
    }

    @Override
    public void put(Transaction tx, K key, V value) {
      write(tx, key, value, false);
    }

    @Override
    public void put(Transaction tx, V value) {
      write(tx, null, value, false);
    }

    @Override
    public boolean delete(Transaction tx, K key) {
      Buffers s = take(tx);
      try {
        s.key.clear();
        codec.writeKey(s.key, key);
        return bytes.delete(tx, s.keySegment());
      } finally {
        s.giveBack();
      }
    }

    @Override
    public long deleteRange(Transaction tx, Table.Interval<K> i, long most) {
      return bytes.deleteRange(
          tx, bound(i.lo()), i.loInclusive(), bound(i.hi()), i.hiInclusive(), false, most);
    }

    @Override
    public LoadReport load(
        LoadOptions options, Iterator<? extends Map.Entry<? extends K, ? extends V>> source) {
      Buffers s = new Buffers();
      return bytes.load(
          options,
          into -> {
            while (source.hasNext()) {
              Map.Entry<? extends K, ? extends V> e = source.next();
              encode(s, e.getKey(), e.getValue());
              into.add(s.key.toArray(), s.object.toArray());
            }
          });
    }

    @Override
    public OrderedEntries.Walk<K, V> walk(
        Transaction tx, Table.Interval<K> interval, ScanOrder order) {
      return bytes.walk(tx, interval, order, coding());
    }

    @Override
    public <I> Index<I, K, V> index(String name, Class<I> keys) {
      RowIndex index = bytes.table().index(name);
      EntryKey by = codec.entryKey(keys);
      String difference = by.difference(Objects.requireNonNull(index.core().objects).entries());
      if (difference != null) {
        throw new IllegalArgumentException(
            "Keys of " + keys.getName() + " are none of " + index + ": " + difference + ".");
      }
      return new Index<>(index, by, this::coding);
    }

    /** Reads keys and objects; for one thread. */
    @Override
    public OrderedEntries.Walk.Coding<K, V> coding() {
      ObjectReader in = new ObjectReader();
      return new OrderedEntries.Walk.Coding<>() {
        @Override
        public byte[] encode(K key) {
          return encoded(key);
        }

        @Override
        public K key(byte[] stored) {
          return Records.this.key(codec.readKey(in.of(stored)));
        }

        @Override
        public V value(K key, byte[] stored) {
          return decode(in.of(stored), key);
        }
      };
    }
  }
}
