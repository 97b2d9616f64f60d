package io.fovea;

import io.fovea.changes.LoggedChange;
import io.fovea.error.CorruptionException;
import io.fovea.error.InvalidUseException;
import io.fovea.index.LegacyRowReader;
import io.fovea.index.TableCore;
import io.fovea.memory.Mem;
import io.fovea.schema.NameText;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.HexFormat;
import java.util.Objects;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A committed change of a record or a table.
 *
 * <pre>{@code
 * for (Change c : batch.changes()) {
 *   if (c.table().equals("account")) {
 *     Account now = c.value(accounts);          // null: deleted
 *     cache.put(c.key(accounts), now);
 *   }
 * }
 * }</pre>
 *
 * <p>Methods that return a key, row or value throw {@link InvalidUseException} if the change does
 * not concern a record, or does not belong to the given table. A value on the Java heap; safe for
 * any thread.
 *
 * @since 0.1.0
 */
public final class Change {
  /** The kind of a change. */
  public enum Kind {
    /** A record was inserted or updated. */
    PUT,
    /** A record was deleted. */
    DELETE,
    /** A table was created. Its records follow as separate changes. */
    CREATED,
    /**
     * A table was loaded ({@link RowTable#load}), or created by a migration ({@link
     * Database#migrate(Table, ObjectSpec, Mapper)}): it contains records that are not delivered as
     * changes. To get them, read the table in a snapshot, and continue from the snapshot's
     * position.
     */
    LOADED,
    /** A table was renamed to {@link #newName}. */
    RENAMED,
    /** A table was dropped, with all its records. */
    DROPPED
  }

  private static final Kind[] KINDS = Kind.values();

  private final LoggedChange change;

  Change(LoggedChange change) {
    this.change = change;
  }

  /** {@return the kind of the change} */
  public Kind kind() {
    return KINDS[change.kind().ordinal()];
  }

  /**
   * {@return the table's name at the time of the commit; for {@link Kind#RENAMED}, the previous
   * name}
   */
  public String table() {
    return change.table();
  }

  /** {@return the table's new name; null except for {@link Kind#RENAMED}} */
  public @Nullable String newName() {
    return change.renamed();
  }

  /**
   * {@return the record's key as stored, in a new array; in a table of byte strings, the key
   * itself}
   *
   * @throws InvalidUseException if the change is not of a record
   */
  public byte[] keyBytes() {
    return keyOfRecord().clone();
  }

  /**
   * {@return the record as stored, in a new array; in a table of byte strings, the value itself;
   * null if deleted}
   *
   * @throws InvalidUseException if the change is not of a record
   */
  public byte @Nullable [] valueBytes() {
    keyOfRecord();
    byte[] value = change.value();
    return value == null ? null : value.clone();
  }

  private byte[] keyOfRecord() {
    byte[] key = change.key();
    if (key == null) {
      throw new InvalidUseException("The change concerns a table, not a record: " + this + ".");
    }
    return key;
  }

  /**
   * {@return the key in a table of rows, as a new object}
   *
   * @param table the table of this change
   */
  public Key key(RowTable table) {
    byte[] key = keyOfRecord();
    return decode("key", () -> key(table, key));
  }

  /**
   * Decodes the record as a row, which belongs to no transaction. A row of an older layout is
   * converted.
   *
   * @param table the table of this change
   * @return a new row; null if the record was deleted
   * @throws InvalidUseException also if the handle is of an older version than the table
   */
  public @Nullable Row row(RowTable table) {
    keyOfRecord();
    byte[] value = change.value();
    return value == null ? null : decode("row", () -> row(table, value));
  }

  /**
   * {@return the key in a table of objects, as a new object}
   *
   * @param <K> the class of the keys
   * @param table the table of this change
   */
  public <K> K key(Table<K, ?> table) {
    byte[] key = keyOfRecord();
    return decode("key", () -> table.coding().key(key));
  }

  /**
   * Decodes the record as an object. An object written by an older class is converted.
   *
   * @param <K> the class of the keys
   * @param <V> the class of the values
   * @param table the table of this change
   * @return a new object; null if the record was deleted
   * @throws InvalidUseException also if the handle is of an older version than the table
   */
  public <K, V> @Nullable V value(Table<K, V> table) {
    byte[] key = keyOfRecord();
    byte[] value = change.value();
    if (value == null) {
      return null;
    }
    Coding<K, V> coding = table.coding();
    return decode("object", () -> coding.value(coding.key(key), value));
  }

  /**
   * Decodes for a table that may be the wrong one. The log was verified, so a failure does not
   * indicate damage.
   */
  private <T> T decode(String what, Supplier<T> decoded) {
    try {
      return decoded.get();
    } catch (CorruptionException e) {
      InvalidUseException wrong =
          new InvalidUseException(
              "The change belongs to table "
                  + NameText.of(table())
                  + ", and its bytes are not a "
                  + what
                  + " of the table that was passed.");
      wrong.initCause(e);
      throw wrong;
    }
  }

  /** Decodes a key of a table from the bytes in the tree. */
  static Key key(RowTable table, byte[] stored) {
    Objects.requireNonNull(table, "table");
    Key key = table.key();
    load(key, stored);
    return key;
  }

  static void load(Key key, byte[] stored) {
    try (Arena arena = Arena.ofConfined()) {
      key.load(Mem.copyOf(stored, arena), 0, stored.length);
    }
  }

  /** Decodes a row of a table from the bytes in the tree. */
  static Row row(RowTable table, byte[] stored) {
    Objects.requireNonNull(table, "table");
    if (table.core().isEvolved()) {
      table.core().requireUsable();
    }
    Row row = table.row();
    load(table, row, stored);
    return row;
  }

  static void load(RowTable table, Row row, byte[] stored) {
    TableCore core = table.core();
    row.invalidate();
    if (stored.length == core.storedBytes) {
      Mem.putBytes(row.segment(), row.base(), stored, 0, stored.length);
    } else {
      try (Arena arena = Arena.ofConfined()) {
        MemorySegment old = Mem.copyOf(stored, arena);
        int form = core.old.upgrade(stored.length, old, 0, row.segment(), row.base());
        if (form == LegacyRowReader.UNKNOWN) {
          throw core.wrongSize(-1, stored.length);
        }
      }
    }
    row.filled();
  }

  @Override
  public String toString() {
    byte[] key = change.key();
    byte[] value = change.value();
    return kind()
        + " "
        + change.table()
        + (change.renamed() == null ? "" : " to " + change.renamed())
        + (key == null ? "" : " " + HexFormat.of().formatHex(key))
        + (value == null ? "" : ", " + value.length + " bytes");
  }
}
