package io.fovea;

import io.fovea.object.ObjectCodec;
import io.fovea.schema.Expiry;
import io.fovea.schema.Field;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.ObjectShapes;
import io.fovea.schema.Shape;
import io.fovea.schema.TableSpec;
import java.lang.invoke.MethodHandles;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
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
   * The same with objects that expire: one whose time lies {@code after} back, or further, is
   * hidden from who reads, at once, and removed in the background. An insert over it behaves as if
   * it were not there.
   *
   * <p>The table needs an index that begins with the component, by which what has expired is found.
   * If the specification has none, this adds one, {@code "expires"}, which can be used like any
   * other.
   *
   * <p>A table that is there already gets the option when it is opened with it, or another
   * component or duration. No object is written for that; it waits until no transaction is active.
   * {@link Database#dropExpiry} takes the option away, and nothing else does.
   *
   * @param component an {@link java.time.Instant}, or a {@code long}: milliseconds since
   *     1970-01-01T00:00Z, as {@link System#currentTimeMillis} counts them; it may be null or
   *     {@link java.util.Optional}. An object in which it is null, or no later than
   *     1970-01-01T00:00Z, never expires. A component of a record is named behind it, as in {@code
   *     "session.end"}
   * @param after how long after that moment an object expires, in whole milliseconds; zero where
   *     the component says the end itself
   * @return another specification
   * @throws IllegalArgumentException if there is no such component, it is something else or the
   *     {@link io.fovea.schema.Id}, if the duration is negative, or if there is another index
   *     {@code "expires"}
   */
  public ObjectSpec<K, V> expireAfter(String component, Duration after) {
    return new ObjectSpec<>(codec, table.expireAfter(component, after));
  }

  /**
   * The same, of a table whose reads by key begin where a key was seen last: {@link
   * TableSpec#cacheLocations}. Indexes as they are.
   *
   * @return another specification
   */
  public ObjectSpec<K, V> cacheLocations() {
    return new ObjectSpec<>(codec, table.cacheLocations());
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
    if (table.expiry() instanceof Expiry.OfObjects by) {
      other = other.expireAfter(by.component(), by.after());
    }
    return new ObjectSpec<>(codec, table.cachesLocations() ? other.cacheLocations() : other);
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
    return new ObjectTable<>(opened.byteTable(), codec);
  }

  @Override
  public String toString() {
    return table.toString();
  }
}
