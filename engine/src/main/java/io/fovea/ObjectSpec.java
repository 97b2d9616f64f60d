package io.fovea;

import io.fovea.object.ObjectCodec;
import io.fovea.schema.Converted;
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
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The specification of a table whose values are Java records, stored without an application codec.
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
 * <p><b>Types.</b> Components can be primitives and their wrapper classes, {@link String}, {@code
 * byte[]}, {@link java.math.BigInteger}, {@link java.math.BigDecimal}, {@link java.util.UUID},
 * {@link java.net.URI}, {@link java.time.Instant}, {@link java.time.Duration}, {@link
 * java.time.LocalDate}, {@link java.time.LocalTime}, {@link java.time.LocalDateTime}, {@link
 * java.time.OffsetDateTime}, {@link java.time.ZonedDateTime}, enums, records, sealed interfaces
 * whose permitted classes are records, types with a {@linkplain TypeCodecs codec}, and {@link
 * java.util.Optional}, {@link java.util.List}, {@link java.util.Set} and {@link java.util.Map} of
 * these. Any reference may be null. Collections read from the file are unmodifiable and keep their
 * order. Keys can have any of these types except big numbers, URIs, zoned times, sealed interfaces,
 * optionals and collections, or be records of the permitted types. Keys are sorted by their parts:
 * numbers and times by value, {@code OffsetDateTime} by instant and then by offset, text by code
 * points, enum constants by declaration order, UUIDs by their bytes, types with a codec as they are
 * stored.
 *
 * <p>A sealed interface is stored with the simple name of the record. Permitted records may be
 * reordered, added, and renamed with {@link io.fovea.schema.Formerly}. A zoned time is stored as an
 * instant and the id of its zone, so its local time follows the rules of the zone when it is read.
 *
 * <p><b>Evolution.</b> The file keeps the shapes of its objects. Opening the table with a changed
 * class adds a version to the catalog; objects stay as they are and are converted when read.
 * Components may be added ({@link io.fovea.schema.Initial} sets their value in older objects),
 * renamed ({@link io.fovea.schema.Formerly}), removed ({@link io.fovea.schema.Dropped}), reordered,
 * and widened: {@code int} to {@code long}, {@code float} to {@code double}, a value to an {@code
 * Optional} of that value, an enum by new constants. Any other change of a type needs a converter:
 * {@link Converted} or {@link #convert}. Without one, opening the table throws {@link
 * io.fovea.error.IncompatibleSchemaException}, which names the component. Keep annotations and
 * converters as long as older objects may exist; {@link Database#finishEvolution(ObjectSpec,
 * java.util.function.Consumer)} rewrites these.
 *
 * <p><b>Rolling back.</b> A class that the table was opened with can open it again after a newer
 * one, until {@link Database#finishEvolution(String)}. It sees renamed components under their old
 * names. Dropped ones have their {@link io.fovea.schema.Initial}, or null, zero or empty. {@code
 * put} and {@code update} keep the components that the newer class has added to the record of the
 * table; those in nested records and collections, and those of inserted and loaded objects, get
 * their {@code Initial}. A {@code put} reads the object first. Indexes of the newer class are
 * maintained, and need not be named. An object with an enum constant or permitted record of the
 * newer class can't be read: {@link io.fovea.error.IncompatibleSchemaException}. If the newer class
 * has widened or converted a component, the older one is refused, unless it has a converter from
 * the newer type.
 *
 * <p>{@link #index} and {@link #unique} add secondary indexes, which {@link Table#index} reads.
 *
 * <p>The classes are inspected once, here. In a module, open the record's package to {@code
 * io.fovea.engine}, or {@linkplain #of(String, Class, Class, MethodHandles.Lookup) pass a lookup}.
 *
 * <p>Immutable and thread-safe. Best kept in a {@code static final} field.
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
   * {@return the specification of a table with keys of {@linkplain #keyBytesMax at most 256 bytes}}
   *
   * @param <K> the class of the keys
   * @param <V> the class of the values
   * @param name its name, 1 to 255 characters of any kind
   * @param keys the class of the keys: the boxed class of the {@link io.fovea.schema.Id} component,
   *     if there is one
   * @param values a record class
   * @throws IllegalArgumentException if a class can't be stored, naming the component
   */
  public static <K, V> ObjectSpec<K, V> of(String name, Class<K> keys, Class<V> values) {
    return create(name, keys, values, null, TypeCodecs.NONE);
  }

  /**
   * {@return the specification of a table whose records contain types with codecs}
   *
   * @param <K> the class of the keys
   * @param <V> the class of the values
   * @param name its name, 1 to 255 characters of any kind
   * @param keys the class of the keys
   * @param values a record class
   * @param codecs the codecs, for components and keys
   * @throws IllegalArgumentException as {@link #of(String, Class, Class)}
   * @since 0.2.0
   */
  public static <K, V> ObjectSpec<K, V> of(
      String name, Class<K> keys, Class<V> values, TypeCodecs codecs) {
    return create(name, keys, values, null, codecs);
  }

  /**
   * {@return the specification of a table whose records contain types with codecs, and whose
   * classes are not open to this module}
   *
   * @param <K> the class of the keys
   * @param <V> the class of the values
   * @param name its name, 1 to 255 characters of any kind
   * @param keys the class of the keys
   * @param values a record class
   * @param codecs the codecs, for components and keys
   * @param lookup has access to the record classes: {@link MethodHandles#lookup} in their package
   * @throws IllegalArgumentException as {@link #of(String, Class, Class)}
   * @since 0.2.0
   */
  public static <K, V> ObjectSpec<K, V> of(
      String name, Class<K> keys, Class<V> values, TypeCodecs codecs, MethodHandles.Lookup lookup) {
    return create(name, keys, values, Objects.requireNonNull(lookup, "lookup"), codecs);
  }

  /**
   * {@return the specification of a table of records whose classes are not open to this module}
   *
   * @param <K> the class of the keys
   * @param <V> the class of the values
   * @param name its name, 1 to 255 characters of any kind
   * @param keys the class of the keys
   * @param values a record class
   * @param lookup has access to the record classes: {@link MethodHandles#lookup} in their package
   * @throws IllegalArgumentException as {@link #of(String, Class, Class)}
   */
  public static <K, V> ObjectSpec<K, V> of(
      String name, Class<K> keys, Class<V> values, MethodHandles.Lookup lookup) {
    return create(name, keys, values, Objects.requireNonNull(lookup, "lookup"), TypeCodecs.NONE);
  }

  private static <K, V> ObjectSpec<K, V> create(
      String name,
      Class<K> keys,
      Class<V> values,
      MethodHandles.@Nullable Lookup lookup,
      TypeCodecs codecs) {
    ObjectCodec codec = ObjectCodec.of(keys, values, lookup, codecs.byType());
    ObjectShapes shapes = new ObjectShapes(codec.keyShape(), codec.shape());
    return new ObjectSpec<>(codec, TableSpec.objects(name, KEY_BYTES_MAX, shapes));
  }

  /**
   * Adds a secondary index on components. Objects with equal values are ordered by their keys.
   *
   * <p>Indexed components have the types that keys can have, or optionals of them. They may be null
   * or empty, which sorts before all values. A path names a component of a record, as in {@code
   * "address.city"}, and is null if the record is; a record stands for all of its components in
   * order. Text and byte strings are limited only by the length of an entry: about an eighth of a
   * page, including the key.
   *
   * <p>If the table contains objects, opening it with a new index builds the index while
   * transactions continue, as {@link Database#table(TableSpec)} describes. A component that is
   * renamed, widened, made optional or moved keeps its entries, including those of objects with
   * older shapes. A class whose values would differ from those in the index is refused with an
   * exception that names the component. This happens if the order of an enum's constants has
   * changed, the {@link io.fovea.schema.Initial} of an indexed component has changed, or a number
   * has changed to another kind. In that case, drop the index with {@link Database#dropIndex};
   * opening the table rebuilds it. An index can't contain a {@linkplain #convert converted}
   * component while there may be objects with its earlier type.
   *
   * @param name its name, unique in its table; 1 to 255 characters of any kind
   * @param components their paths, in the order of comparison, at least one
   * @return a new specification
   * @throws IllegalArgumentException if the specification already has an index of that name, or a
   *     component does not exist, has no order, is the {@link io.fovea.schema.Id}, or appears twice
   */
  public ObjectSpec<K, V> index(String name, String... components) {
    return with(name, false, components);
  }

  /**
   * Adds a unique secondary index: no two objects have the same values. Values that include null
   * may belong to any number of objects, since null does not equal null.
   *
   * @param name as {@link #index}
   * @param components as {@link #index}
   * @return a new specification
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
   * Makes objects expire: an object is hidden from readers {@code after} its time has passed, and
   * deleted later in the background. An insert over it behaves as if it did not exist.
   *
   * <p>Expired objects are found through an index that begins with the component. If the
   * specification has no such index, this method adds {@code "expires"}, which can be used like any
   * other index.
   *
   * <p>Opening an existing table with another expiry changes the table's expiry, without rewriting
   * objects. The change waits until no transaction is active. Only {@link Database#dropExpiry}
   * removes the expiry.
   *
   * @param component an {@link java.time.Instant}, or a {@code long} in milliseconds since
   *     1970-01-01T00:00Z, as in {@link System#currentTimeMillis}; may be nullable or {@link
   *     java.util.Optional}. Null and values up to 1970-01-01T00:00Z never expire. A component of a
   *     nested record is named with dots, as in {@code "session.end"}
   * @param after the time from the component's value to the expiry, in whole milliseconds; may be
   *     zero
   * @return a new specification
   * @throws IllegalArgumentException if there is no such component, if it has another type or is
   *     the {@link io.fovea.schema.Id}, if the duration is negative, or if another index is called
   *     {@code "expires"}
   */
  public ObjectSpec<K, V> expireAfter(String component, Duration after) {
    return new ObjectSpec<>(codec, table.expireAfter(component, after));
  }

  /**
   * Converts a component that has changed its type, as the annotation {@link Converted} does.
   *
   * <pre>{@code
   * static final ObjectSpec<Long, Person> PEOPLE =
   *     ObjectSpec.of("people", Long.class, Person.class)
   *         .convert("born", int.class, year -> LocalDate.ofYearDay(year, 1));
   * }</pre>
   *
   * @param <S> the earlier type
   * @param component its name; a component of a nested record is named with dots, as in {@code
   *     "address.zip"}
   * @param from the earlier type, not generic
   * @param by converts a value, never null, to the component's class; called as {@link Converted}
   *     describes
   * @return a new specification
   * @throws IllegalArgumentException if there is no such component, it is the {@link
   *     io.fovea.schema.Id}, the earlier type can't be stored or is stored like the current one,
   *     there is a converter from it already, or an {@link io.fovea.schema.Initial} is missing
   * @since 0.2.0
   */
  public <S> ObjectSpec<K, V> convert(String component, Class<S> from, Function<? super S, ?> by) {
    Objects.requireNonNull(component, "component");
    Objects.requireNonNull(from, "from");
    Objects.requireNonNull(by, "by");
    @SuppressWarnings("unchecked") // called with values of the earlier type only
    Function<Object, @Nullable Object> function = (Function<Object, @Nullable Object>) by;
    return with(codec.converting(component, from, function), table.key().maxBytes());
  }

  /**
   * {@return this specification with a {@linkplain TableSpec#cacheLocations key location cache}}
   */
  public ObjectSpec<K, V> cacheLocations() {
    return new ObjectSpec<>(codec, table.cacheLocations());
  }

  /**
   * Sets the maximum size of keys. A table must be opened with the size that it was created with.
   *
   * @param bytes the maximum bytes of a stored key, 1 to {@link Field#WIDTH_MAX}, and no more than
   *     an eighth of a page; a key takes the bytes of its parts, and 2 more for each text or byte
   *     string
   * @return a new specification
   * @throws IllegalArgumentException if it is out of range
   */
  public ObjectSpec<K, V> keyBytesMax(int bytes) {
    return with(codec, bytes);
  }

  private ObjectSpec<K, V> with(ObjectCodec of, int keyBytes) {
    TableSpec other =
        TableSpec.objects(table.name(), keyBytes, new ObjectShapes(of.keyShape(), of.shape()));
    for (IndexSpec index : table.indexes()) {
      other = other.with(index);
    }
    if (table.expiry() instanceof Expiry.OfObjects by) {
      other = other.expireAfter(by.component(), by.after());
    }
    return new ObjectSpec<>(of, table.cachesLocations() ? other.cacheLocations() : other);
  }

  /**
   * {@return the table's specification, with {@link TableSpec#objects() shapes} instead of classes}
   */
  public TableSpec table() {
    return table;
  }

  /** {@return the shape of the stored values} */
  public Shape shape() {
    return codec.shape();
  }

  ObjectTable<K, V> on(RowTable opened) {
    return new ObjectTable<>(opened.byteTable(), codec);
  }

  @Override
  public String toString() {
    return table.toString();
  }
}
