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
 * What the tables are of which commits come.
 *
 * <pre>
 *   --copy, and a shell that does not follow    the database that is open for it, held until the end
 *   else                                        the catalog, as {@link FileChanges#tables} has it
 *                                               from the files, in use or not; nothing is held
 * </pre>
 *
 * <p>Who follows looks at the catalog again when tables have come or have other names, and once in
 * a while where a record is none of its table: that may have a newer version. What can't be read is
 * shown as bytes: of a table that is gone or has another name, or of one whose catalog can't be
 * read. One thread.
 */
final class FollowedTables implements AutoCloseable {
  /** Between two looks at the catalog that no change of tables has asked for. */
  private static final long PAUSE_NANOS = TimeUnit.SECONDS.toNanos(10);

  private final FileCommand command;
  private final FileChanges changes;
  private final @Nullable Opened opened;
  private final boolean hex;

  /** Whether the catalog is looked at again. */
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
   * Looks what the tables are.
   *
   * @param copy whether to make a copy for that
   * @param follows whether the file must be free for others meanwhile
   * @param hex whether objects are bytes
   */
  static FollowedTables of(
      FileCommand command, FileChanges changes, boolean copy, boolean follows, boolean hex) {
    CopyOption how = new CopyOption();
    how.copy = copy;
    boolean held = copy || command.session() != null && !follows;
    return new FollowedTables(
        command, changes, held ? command.toRead(how) : null, hex, follows && !held);
  }

  /** A batch comes, whose records are shown next. */
  void batch(ChangeBatch batch) {
    for (Change c : batch.changes()) {
      stale |= again && (c.kind() == Change.Kind.CREATED || c.kind() == Change.Kind.RENAMED);
    }
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
    for (int look = 0; look < 2; look++) {
      Records records = records(c.table());
      try {
        if (records != null) {
          return way.apply(records, c);
        }
      } catch (RuntimeException e) {
        // It is of a table that was called so before, or of another version.
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
                "fovea: what the tables are can't be read, so records are shown as bytes: "
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
