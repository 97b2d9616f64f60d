package io.fovea;

import io.fovea.error.InvalidUseException;
import io.fovea.index.ObjectHistory;
import io.fovea.index.ObjectPlan;
import io.fovea.object.ObjectText;
import io.fovea.schema.NameText;
import io.fovea.schema.Shape;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Objects of a table for who does not have their class, such as a tool that looks at a file: their
 * bytes as names and values, by the shapes that the file has of them.
 *
 * <pre>{@code
 * Table table = db.table(db.describe("accounts"));
 * ObjectDump dump = ObjectDump.of(table);
 * byte[] key = dump.key(List.of("17"));
 * byte[] value = db.read(tx -> table.bytes().get(tx, key));
 * Map<String, Object> account = dump.object(value);   // {owner=Ada, balance=12.50, tags=[new]}
 * }</pre>
 *
 * <p>An object has the names and types of the version with which it was written; {@link Shape} says
 * what there are. Values are {@code Boolean}, {@code Byte} to {@code Long}, {@code BigInteger},
 * {@code Float}, {@code Double}, {@code BigDecimal}, {@code Character}, {@code String} (for
 * constants of enums, too), {@code byte[]}, {@code UUID}, {@code Instant}, {@code Duration}, {@code
 * LocalDate}, {@code LocalTime}, {@code LocalDateTime}, lists, maps by names, and null. A map whose
 * keys are neither scalars nor constants is a list of maps with {@code key} and {@code value}.
 *
 * <p>Text says parts of keys: what {@code toString} gives of them, constants by their names, bytes
 * as hexadecimal digits.
 *
 * <p>Any thread.
 *
 * @since 0.1.0
 */
public final class ObjectDump {
  private final RowTable table;

  private ObjectDump(RowTable table) {
    this.table = table;
  }

  /**
   * Of a table.
   *
   * @param table a table of objects, as {@link Database#describe} has it or otherwise
   * @return what reads its objects
   * @throws InvalidUseException if it has rows, or bytes that are no objects
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
          "Table " + NameText.of(table.spec().name()) + " has no objects that a class describes.");
    }
    return history;
  }

  /**
   * The names of the parts of a key.
   *
   * @return in their order, of a part in a record with dots between; {@code key} if it has no parts
   */
  public List<String> keyNames() {
    return List.copyOf(ObjectText.parts(history().key()).keySet());
  }

  /**
   * A key in words.
   *
   * @param key its bytes
   * @return its parts, by {@link #keyNames}
   * @throws IllegalArgumentException if the bytes are no key of the table
   */
  public Map<String, @Nullable Object> key(byte[] key) {
    return ObjectText.key(history().key(), Objects.requireNonNull(key, "key"));
  }

  /**
   * The bytes of a key, or those that all keys with some first parts begin with.
   *
   * @param texts the parts
   * @return the bytes
   * @throws IllegalArgumentException if there are too many, or one is no value of its part
   */
  public byte[] key(List<String> texts) {
    return ObjectText.key(history().key(), Objects.requireNonNull(texts, "texts"));
  }

  /**
   * An object in words.
   *
   * @param value its bytes
   * @return its components, by their names in its version
   * @throws IllegalArgumentException if the bytes are no object of the table
   */
  public Map<String, @Nullable Object> object(byte[] value) {
    return ObjectText.object(history().versions(), Objects.requireNonNull(value, "value"));
  }

  /**
   * The bytes of an object of the newest version. The class and its constructor are not asked: what
   * they would refuse is found when the application reads the object.
   *
   * @param components its components by their names, as {@link #object(byte[])} has them; in place
   *     of a scalar, its text. One that is not there is null.
   * @return the bytes
   * @throws IllegalArgumentException if a name is none of the components, or a value does not fit
   */
  public byte[] object(Map<String, ?> components) {
    return ObjectText.object(
        history().versions(), Objects.requireNonNull(components, "components"));
  }

  /**
   * Opens a scan of the objects that an index has with some first parts, in its order.
   *
   * @param tx the transaction
   * @param index the index's name
   * @param texts its first parts, none for all objects; null where the component is null
   * @param order in which direction
   * @return a cursor before the first object, with its key and its bytes; to be closed
   * @throws IllegalArgumentException if the table was opened without an index of that name, if
   *     there are too many parts, or one is no value of its part
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
      interval = Table.Interval.of(from, new IndexKeys.Encoded(from, false).behind());
    }
    return Index.open(tx, of, interval, order, Coding.IDENTITY);
  }

  @Override
  public String toString() {
    return "ObjectDump[" + NameText.of(table.spec().name()) + "]";
  }
}
