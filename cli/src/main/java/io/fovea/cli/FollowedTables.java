package io.fovea.cli;

import io.fovea.Change;
import io.fovea.ChangeBatch;
import io.fovea.FileChanges;
import io.fovea.RowTable;
import io.fovea.error.FoveaException;
import io.fovea.error.OperationInterruptedException;
import io.fovea.schema.TableSpec;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.SortedMap;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;

/**
 * The schema for decoding commits.
 *
 * <pre>
 *   --copy, and a shell without --follow    an open database, held until the end
 *   otherwise                               the catalog, read from the files by
 *                                           {@link FileChanges#tables}; nothing is held
 * </pre>
 *
 * <p>With --follow the catalog is read again after tables were created or renamed, and at intervals
 * while a record does not match its table, which may have a newer version. Records of tables that
 * no longer exist or were renamed, or whose catalog can't be read, are shown as bytes. Not
 * thread-safe.
 */
final class FollowedTables implements AutoCloseable {
  /** The minimum time between two reads of the catalog that no change of tables has caused. */
  private static final long PAUSE_NANOS = TimeUnit.SECONDS.toNanos(10);

  private final FileCommand command;
  private final FileChanges changes;
  private final @Nullable Opened opened;
  private final boolean hex;

  /** Whether the catalog may be read again. */
  private final boolean again;

  private final Map<String, @Nullable Records> known = new HashMap<>();
  private SortedMap<String, RowTable> tables = Collections.emptySortedMap();
  private boolean stale = true;
  private boolean warned;
  private long looked;

  private FollowedTables(
      FileCommand command,
      FileChanges changes,
      @Nullable Opened opened,
      boolean hex,
      boolean again) {
    this.command = command;
    this.changes = changes;
    this.opened = opened;
    this.hex = hex;
    this.again = again;
  }

  /**
   * Reads the schema.
   *
   * @param copy whether to copy the database for that
   * @param follows whether the file must remain free for others
   * @param hex whether objects are shown as bytes
   */
  static FollowedTables of(
      FileCommand command, FileChanges changes, boolean copy, boolean follows, boolean hex) {
    CopyOption how = new CopyOption();
    how.copy = copy;
    boolean held = copy || command.session() != null && !follows;
    return new FollowedTables(
        command, changes, held ? command.toRead(how) : null, hex, follows && !held);
  }

  /** Called before the records of a batch are decoded. */
  void batch(ChangeBatch batch) {
    for (Change c : batch.changes()) {
      stale |= again && (c.kind() == Change.Kind.CREATED || c.kind() == Change.Kind.RENAMED);
    }
  }

  /** The decoded key of a changed record. */
  Map<String, @Nullable Object> key(Change c) {
    return words(c, Records::key, ByteRecords.KEY, c.keyBytes());
  }

  /** The decoded new value. */
  Map<String, @Nullable Object> value(Change c) {
    return words(c, Records::value, ByteRecords.VALUE, c.valueBytes());
  }

  /** Decodes according to the table; as bytes if that fails. */
  private Map<String, @Nullable Object> words(
      Change c,
      BiFunction<Records, Change, Map<String, @Nullable Object>> way,
      String name,
      byte @Nullable [] bytes) {
    for (int look = 0; look < 2; look++) {
      Records records = records(c.table());
      try {
        if (records != null) {
          return way.apply(records, c);
        }
      } catch (RuntimeException e) {
        // It belongs to a table that had this name before, or to another version.
        if (!again || System.nanoTime() - looked < PAUSE_NANOS) {
          break;
        }
        stale = true;
      }
    }
    return ByteRecords.named(name, bytes);
  }

  private @Nullable Records records(String table) {
    if (stale) {
      look();
    }
    if (!known.containsKey(table)) {
      known.put(table, find(table));
    }
    return known.get(table);
  }

  private void look() {
    stale = false;
    looked = System.nanoTime();
    if (opened != null) {
      return;
    }
    known.clear();
    tables = Collections.emptySortedMap();
    try {
      tables = changes.tables();
    } catch (OperationInterruptedException e) {
      throw e;
    } catch (FoveaException e) {
      if (!warned) {
        warned = true;
        command
            .err()
            .println(
                "fovea: the schema can't be read, so records are shown as bytes: "
                    + e.getMessage());
      }
    }
  }

  private @Nullable Records find(String name) {
    Opened o = opened;
    if (o == null) {
      RowTable table = tables.get(name);
      return table == null ? null : Records.of(command, table, hex);
    }
    TableSpec spec = o.database().describe(name);
    return spec == null ? null : Records.of(command, o.database().table(spec), hex);
  }

  @Override
  public void close() {
    if (opened != null) {
      opened.close();
    }
  }
}
