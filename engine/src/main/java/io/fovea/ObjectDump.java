package io.fovea;

import io.fovea.error.InvalidUseException;
import io.fovea.index.IndexCore;
import io.fovea.index.ObjectHistory;
import io.fovea.index.ObjectPlan;
import io.fovea.index.TableCore;
import io.fovea.object.ObjectText;
import io.fovea.schema.NameText;
import io.fovea.schema.Shape;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;

/**
 * Converts stored objects to names and values without requiring their class, using the shapes in
 * the file. It is for tools that inspect files.
 *
 * <pre>{@code
 * Table table = db.table(db.describe("accounts"));
 * ObjectDump dump = ObjectDump.of(table);
 * byte[] key = dump.key(List.of("17"));
 * byte[] value = db.read(tx -> table.bytes().get(tx, key));
 * Map<String, Object> account = dump.object(value);   // {owner=Ada, balance=12.50, tags=[new]}
 * }</pre>
 *
 * <p>An object has the names and types of the version that wrote it: see {@link Shape}. Values are
 * {@code Boolean}, {@code Byte} to {@code Long}, {@code BigInteger}, {@code Float}, {@code Double},
 * {@code BigDecimal}, {@code Character}, {@code String} (also for enum constants), {@code byte[]},
 * {@code UUID}, {@code Instant}, {@code Duration}, {@code LocalDate}, {@code LocalTime}, {@code
 * LocalDateTime}, lists, maps by name, and null. A map whose keys are neither scalars nor constants
 * becomes a list of maps with {@code key} and {@code value}.
 *
 * <p>Key parts are given as text: the result of {@code toString}, the name of an enum constant, or
 * the hexadecimal digits of bytes.
 *
 * <p>Safe for use by any thread.
 *
 * @since 0.1.0
 */
public final class ObjectDump {
  private final RowTable table;

  private ObjectDump(RowTable table) {
    this.table = table;
  }

  /**
   * {@return a converter for a table}
   *
   * @param table a table of objects, opened with {@link Database#describe} or otherwise
   * @throws InvalidUseException if the table contains rows, or byte strings that are not objects
   */
  public static ObjectDump of(RowTable table) {
    ObjectDump dump = new ObjectDump(Objects.requireNonNull(table, "table"));
    dump.history();
    return dump;
  }

  private ObjectHistory history() {
    ObjectHistory history = table.core().objects();
    if (history == null) {
      throw new InvalidUseException(
          "Table " + NameText.of(table.spec().name()) + " contains no objects of a Java class.");
    }
    return history;
  }

  /**
   * {@return the names of a key's parts, in order: dotted paths in records, {@code key} for a key
   * without parts}
   */
  public List<String> keyNames() {
    return List.copyOf(ObjectText.parts(history().key()).keySet());
  }

  /**
   * {@return a key's parts by {@link #keyNames}}
   *
   * @param key its bytes
   * @throws IllegalArgumentException if the bytes are not a key of the table
   */
  public Map<String, @Nullable Object> key(byte[] key) {
    return ObjectText.key(history().key(), Objects.requireNonNull(key, "key"));
  }

  /**
   * {@return the bytes of a key, or the common prefix of all keys with the given first parts}
   *
   * @param texts the parts
   * @throws IllegalArgumentException if there are too many parts, or one has the wrong form
   */
  public byte[] key(List<String> texts) {
    return ObjectText.key(history().key(), Objects.requireNonNull(texts, "texts"));
  }

  /**
   * {@return an object's components by their names in its version}
   *
   * @param value its bytes
   * @throws IllegalArgumentException if the bytes are not an object of the table
   */
  public Map<String, @Nullable Object> object(byte[] value) {
    return ObjectText.object(history().versions(), Objects.requireNonNull(value, "value"));
  }

  /**
   * Returns the bytes of an object of the newest version. The class's constructor is not called: a
   * value that it rejects is detected only when the application reads the object.
   *
   * @param components its components by name, as {@link #object(byte[])} returns them; a scalar may
   *     be given as text. A missing component is null.
   * @return the bytes
   * @throws IllegalArgumentException if a name is not a component, or a value does not fit
   */
  public byte[] object(Map<String, ?> components) {
    ObjectHistory history = history();
    return ObjectText.object(
        history.versions(), history.current(), Objects.requireNonNull(components, "components"));
  }

  /**
   * Opens a scan, in index order, of the objects whose index keys begin with the given parts.
   *
   * @param tx the transaction
   * @param index the index's name
   * @param texts the first parts as text, or an empty list for all objects; null stands for a null
   *     component
   * @param order the direction
   * @return a cursor before the first object, with its key and its bytes; close it
   * @throws IllegalArgumentException if the table was opened without an index of that name, or if
   *     there are too many parts, or one has the wrong form
   */
  public Cursor<byte[], byte[]> scanIndex(
      Transaction tx, String index, List<@Nullable String> texts, ScanOrder order) {
    Objects.requireNonNull(texts, "texts");
    Objects.requireNonNull(order, "order");
    RowIndex of = table.index(index);
    ObjectPlan plan = of.core().objects;
    Table.Interval<byte[]> interval = Table.Interval.of(null, null);
    if (plan != null && !texts.isEmpty()) {
      byte[] from = ObjectText.entry(plan.entries(), texts);
      interval = Table.Interval.of(from, new IndexKeys.Encoded(from, false).after());
    }
    return Index.open(tx, of, interval, order, Coding.IDENTITY);
  }

  /**
   * Reads, page by page and in index order, the objects whose index keys begin with the given
   * parts: see {@link Page} for the guarantees of its tokens.
   *
   * @param <T> the type of the items
   * @param tx the transaction; each page may be read in a different one
   * @param index the index's name
   * @param texts the first parts, as in {@link #scanIndex}; they limit the objects that can be
   *     read, whatever the token contains
   * @param order the direction
   * @param after {@link Page#next} of the previous page; null for the first page
   * @param limit the maximum number of objects in the page
   * @param mapper converts an object's key and bytes
   * @return the page
   * @throws IllegalArgumentException if the limit is not positive, or as {@link #scanIndex}
   * @throws InvalidUseException if the token is damaged, or comes from another index or the other
   *     order
   * @since 0.2.0
   */
  public <T> Page<T> pageIndex(
      Transaction tx,
      String index,
      List<@Nullable String> texts,
      ScanOrder order,
      @Nullable String after,
      int limit,
      BiFunction<? super byte[], ? super byte[], ? extends T> mapper) {
    Objects.requireNonNull(mapper, "mapper");
    Page.Token.checkLimit(limit);
    TableCore core = table.core();
    IndexCore by = table.index(index).core();
    try (Cursor<byte[], byte[]> c = scanIndex(tx, index, texts, order)) {
      return Page.read(
          limit,
          after == null ? c.next() : c.seekAfter(Page.Token.key(core, by, order, after)),
          () -> mapper.apply(c.key(), c.value()),
          () -> Page.Token.of(core, by, order, c.position()),
          c::next);
    }
  }

  @Override
  public String toString() {
    return "ObjectDump[" + NameText.of(table.spec().name()) + "]";
  }
}
