package io.fovea.cli;

import io.fovea.Change;
import io.fovea.Database;
import io.fovea.Options;
import io.fovea.error.DatabaseLockedException;
import io.fovea.schema.TableSpec;
import java.util.HashMap;
import java.util.Map;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;

/**
 * What the tables are of which commits come: as the database has them where this is made.
 *
 * <pre>
 *   file that nobody has open     the database itself, to read    held until the end
 *     which is to be followed     tables in memory as it has      not held: an application may open it
 *   a copy (--copy)               the copy                        of a file in use, too
 *   file in use                   nothing: bytes
 * </pre>
 *
 * <p>What can't be read so is shown as bytes: of a table that is gone or has another name, of one
 * that was not there yet, or of a version that is not known. One thread.
 */
final class FollowedTables implements AutoCloseable {
  /** Of the database that has tables as there are in the file, and no records. */
  private static final long MEMORY_BYTES = 16 << 20;

  private final FileCommand command;
  private final @Nullable Opened opened;
  private final boolean hex;
  private final Map<String, @Nullable Records> known = new HashMap<>();

  private FollowedTables(FileCommand command, @Nullable Opened opened, boolean hex) {
    this.command = command;
    this.opened = opened;
    this.hex = hex;
  }

  /**
   * Looks what the tables are.
   *
   * @param copy whether to make a copy for that
   * @param follows whether the file must be free for others meanwhile
   * @param hex whether objects are bytes
   */
  static FollowedTables of(FileCommand command, boolean copy, boolean follows, boolean hex) {
    CopyOption how = new CopyOption();
    how.copy = copy;
    Opened opened;
    try {
      opened = command.toRead(how);
    } catch (DatabaseLockedException e) {
      command
          .err()
          .println(
              "fovea: "
                  + command.file()
                  + " is in use, so records are shown as bytes; with --copy, a copy says what they"
                  + " are");
      return new FollowedTables(command, null, true);
    }
    if (!follows || copy) {
      return new FollowedTables(command, opened, hex);
    }
    try (Opened file = opened) {
      return new FollowedTables(command, inMemory(file.database()), true);
    }
  }

  /** The same tables, without records; objects as bytes. */
  private static Opened inMemory(Database db) {
    Database twin = Database.inMemory(Options.defaults().bufferBytes(MEMORY_BYTES));
    for (String name : db.tables()) {
      TableSpec spec = db.describe(name);
      if (spec != null) {
        twin.table(withoutIndexes(spec));
      }
    }
    return Opened.of(twin, () -> {});
  }

  /** A table of the same keys and rows, or of bytes. */
  static TableSpec withoutIndexes(TableSpec spec) {
    return spec.isBytes()
        ? TableSpec.bytes(spec.name(), spec.key().bytesMax())
        : TableSpec.of(spec.name(), spec.key(), spec.layout());
  }

  /** The key of a changed record in words. */
  Map<String, @Nullable Object> key(Change c) {
    return words(c, Records::key, ByteRecords.KEY, c.keyBytes());
  }

  /** What was put there in words. */
  Map<String, @Nullable Object> value(Change c) {
    return words(c, Records::value, ByteRecords.VALUE, c.valueBytes());
  }

  /** As the table's records are shown; as bytes where they can't be. */
  private Map<String, @Nullable Object> words(
      Change c,
      BiFunction<Records, Change, Map<String, @Nullable Object>> way,
      String name,
      byte @Nullable [] bytes) {
    Records records = records(c.table());
    if (records != null) {
      try {
        return way.apply(records, c);
      } catch (RuntimeException e) {
        // It is of a table that was called so before, or of an older version.
      }
    }
    return ByteRecords.named(name, bytes);
  }

  private @Nullable Records records(String table) {
    if (!known.containsKey(table)) {
      known.put(table, find(table));
    }
    return known.get(table);
  }

  private @Nullable Records find(String table) {
    Opened o = opened;
    TableSpec spec = o == null ? null : o.database().describe(table);
    return o == null || spec == null ? null : Records.of(command, o.database().table(spec), hex);
  }

  @Override
  public void close() {
    if (opened != null) {
      opened.close();
    }
  }
}
