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
 * What a commit has made of a record, or of a table.
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
 * <p>A value, of the Java heap; any thread.
 *
 * @since 0.1.0
 */
public final class Change {
  /** What a change is. */
  public enum Kind {
    /** A record has a value: it is new, or was changed. */
    PUT,
    /** A record is gone. */
    DELETE,
    /** A table was created. Its records come as changes of their own. */
    CREATED,
    /**
     * A table was loaded ({@link RowTable#load}): it has records that do not come as changes.
     * Whoever needs them reads the table, in a snapshot, and goes on from its position.
     */
    LOADED,
    /** A table has another name, {@link #newName}. */
    RENAMED,
    /** A table was dropped, with all of its records. */
    DROPPED
  }

  private static final Kind[] KINDS = Kind.values();

  private final LoggedChange change;

  Change(LoggedChange change) {
    this.change = change;
  }

  /**
   * What has changed.
   *
   * @return the kind
   */
  public Kind kind() {
    return KINDS[change.kind().ordinal()];
  }

  /**
   * Which table.
   *
   * @return its name as of the commit; for {@link Kind#RENAMED} the one before
   */
  public String table() {
    return change.table();
  }

  /**
   * The name that the table has from here on.
   *
   * @return null but for {@link Kind#RENAMED}
   */
  public @Nullable String newName() {
    return change.renamed();
  }

  /**
   * The record's key as the table keeps it: of a table of byte strings the key itself.
   *
   * @return a new array
   * @throws InvalidUseException if the change is none of a record
   */
  public byte[] keyBytes() {
    return keyOfRecord().clone();
  }

  /**
   * The record as the table keeps it: of a table of byte strings the value itself.
   *
   * @return a new array; null if the record was deleted
   * @throws InvalidUseException if the change is none of a record
   */
  public byte @Nullable [] valueBytes() {
    keyOfRecord();
    byte[] value = change.value();
    return value == null ? null : value.clone();
  }

  private byte[] keyOfRecord() {
    byte[] key = change.key();
    if (key == null) {
      throw new InvalidUseException("The change is of a table, and of no record: " + this + ".");
    }
    return key;
  }

  // ------------------------------------------------------------------------- rows and objects

  /**
   * The record's key in a table of rows.
   *
   * @param table whose change it is
   * @return a new key
   * @throws InvalidUseException if the change is none of a record
   */
  public Key key(RowTable table) {
    byte[] key = keyOfRecord();
    return fitting("key", () -> key(table, key));
  }

  /**
   * The record as a row. It is a fresh one, and knows no transaction; a row of an older layout
   * comes as one of the table's.
   *
   * @param table whose change it is
   * @return a new row; null if the record was deleted
   * @throws InvalidUseException if the change is none of a record, or of another table whose rows
   *     are different, or if the handle is of an older version than the table
   */
  public @Nullable Row row(RowTable table) {
    keyOfRecord();
    byte[] value = change.value();
    return value == null ? null : fitting("row", () -> row(table, value));
  }

  /**
   * The record's key in a table of objects.
   *
   * @param <K> the class of the keys
   * @param table whose change it is
   * @return a new object
   * @throws InvalidUseException if the change is none of a record
   */
  public <K> K key(Table<K, ?> table) {
    byte[] key = keyOfRecord();
    return fitting("key", () -> table.coding().key(key));
  }

  /**
   * The record as an object. One that was written by an older class comes as one of the table's.
   *
   * @param <K> the class of the keys
   * @param <V> the class of the values
   * @param table whose change it is
   * @return a new object; null if the record was deleted
   * @throws InvalidUseException if the change is none of a record, or the handle is of an older
   *     version than the table
   */
  public <K, V> @Nullable V value(Table<K, V> table) {
    byte[] key = keyOfRecord();
    byte[] value = change.value();
    if (value == null) {
      return null;
    }
    Coding<K, V> coding = table.coding();
    return fitting("object", () -> coding.value(coding.key(key), value));
  }

  /**
   * Decodes something for a table that may be another one: what comes from the log was checked
   * before, so what does not fit is not damaged.
   */
  private <T> T fitting(String what, Supplier<T> decoded) {
    try {
      return decoded.get();
    } catch (CorruptionException e) {
      InvalidUseException wrong =
          new InvalidUseException(
              "The table is not the one that has changed, which is "
                  + NameText.of(table())
                  + ": what the log has is no "
                  + what
                  + " of it.");
      wrong.initCause(e);
      throw wrong;
    }
  }

  /** A key of a table, from the bytes in the tree. */
  static Key key(RowTable table, byte[] stored) {
    Objects.requireNonNull(table, "table");
    try (Arena arena = Arena.ofConfined()) {
      Key key = table.key();
      key.load(inMemory(arena, stored), 0, stored.length);
      return key;
    }
  }

  /** A row of a table, from the bytes in the tree. */
  static Row row(RowTable table, byte[] stored) {
    Objects.requireNonNull(table, "table");
    TableCore core = table.core();
    if (core.isEvolved()) {
      core.requireThere();
    }
    Row row = table.row();
    if (stored.length == core.storedBytes) {
      Mem.putBytes(row.segment(), row.base(), stored, 0, stored.length);
    } else {
      try (Arena arena = Arena.ofConfined()) {
        MemorySegment old = inMemory(arena, stored);
        int form = core.old.renew(stored.length, old, 0, row.segment(), row.base());
        if (form == LegacyRowReader.UNKNOWN) {
          throw core.wrongSize(-1, stored.length);
        }
      }
    }
    row.filled();
    return row;
  }

  private static MemorySegment inMemory(Arena arena, byte[] bytes) {
    MemorySegment s = arena.allocate(Math.max(8, bytes.length), 8);
    Mem.putBytes(s, 0, bytes, 0, bytes.length);
    return s;
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
