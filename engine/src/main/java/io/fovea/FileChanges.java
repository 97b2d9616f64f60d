package io.fovea;

import io.fovea.changes.LoggedCommit;
import io.fovea.error.ChangesLostException;
import io.fovea.error.CorruptionException;
import io.fovea.error.FoveaException;
import io.fovea.error.IncompatibleFormatException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.OperationInterruptedException;
import io.fovea.error.StorageException;
import io.fovea.error.UncleanShutdownException;
import io.fovea.inspection.FollowedFile;
import io.fovea.io.OverlayStorage;
import io.fovea.io.Storage;
import io.fovea.schema.NameText;
import io.fovea.schema.TableSpec;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.Objects;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Committed changes read from the files of a database that another process may have open: for tools
 * that show them, and for subscribers in other processes. In the process that has the database
 * open, use {@link Database#changes}, whose readers are woken by commits.
 *
 * <pre>{@code
 * try (FileChanges changes = FileChanges.last(file)) {
 *   while (true) {
 *     ChangeBatch batch = changes.poll();      // null: none now
 *     ...
 *   }
 * }
 * }</pre>
 *
 * <p>{@link Changes} describes the contents, their order and the meaning of positions. Both classes
 * deliver the same commits and accept each other's positions. The database must be written with
 * {@link LogOptions#changeRetentionBytes}; it may be closed and reopened meanwhile.
 *
 * <p><b>It writes nothing and takes no lock.</b> The database retains no changes for it beyond
 * {@code changeRetentionBytes}. A commit is delivered once it is durable: to ensure that for the
 * last commits in the log file, this class syncs the file. The writing process is affected only by
 * these reads and syncs.
 *
 * <p>Used by one thread at a time. All methods may throw {@link CorruptionException} if the files
 * are damaged, {@link StorageException} if they can't be read, and {@link InvalidUseException}
 * after {@link #close}.
 *
 * @since 0.1.0
 */
public final class FileChanges implements AutoCloseable {
  private final FollowedFile file;

  /** The tables read by the last call of {@link #tables()}. */
  private @Nullable ForeignTables tables;

  private FileChanges(FollowedFile file) {
    this.file = file;
  }

  private static FileChanges open(Path file, Consumer<FollowedFile> start) {
    return begin(FollowedFile.open(Objects.requireNonNull(file, "file")), start);
  }

  /** Follows files that are already open; closing this closes them. */
  static FileChanges from(FollowedFile opened, ChangePosition from) {
    return begin(opened, f -> f.from(from.point()));
  }

  /** Positions the reader, and closes it after a failure. */
  private static FileChanges begin(FollowedFile opened, Consumer<FollowedFile> start) {
    boolean done = false;
    try {
      start.accept(opened);
      done = true;
      return new FileChanges(opened);
    } finally {
      if (!done) {
        opened.close();
      }
    }
  }

  /**
   * Follows the changes after a position.
   *
   * @param file the data file; its log is next to it
   * @param from where to begin: {@link ChangeBatch#position}, {@link Database#changesPosition}
   * @return the changes, to be closed by the caller
   * @throws IncompatibleFormatException if there is no such file, or it is not a database
   * @throws InvalidUseException if the log retains no changes
   * @throws ChangesLostException if some of them are no longer kept, or the position belongs to
   *     another database
   */
  public static FileChanges from(Path file, ChangePosition from) {
    Objects.requireNonNull(from, "from");
    return open(file, f -> f.from(from.point()));
  }

  /**
   * Follows the changes from the first commit whose tables the log identifies. Throws the
   * exceptions of {@link #from(Path, ChangePosition)}, except {@link ChangesLostException}.
   *
   * @param file the data file; its log is next to it
   * @return the changes, to be closed by the caller
   */
  public static FileChanges first(Path file) {
    return open(file, f -> f.from(true));
  }

  /**
   * Follows the changes that become durable after this call. Reads the whole retained log for table
   * names. Throws the exceptions of {@link #first}.
   *
   * @param file the data file; its log is next to it
   * @return the changes, to be closed by the caller
   */
  public static FileChanges last(Path file) {
    return open(file, f -> f.from(false));
  }

  /**
   * Takes the next batch, without waiting. After a {@link StorageException} the next call tries
   * again.
   *
   * @return the batch; null if no further commit is durable yet
   * @throws ChangesLostException if the batch is no longer kept: the reader was too slow for {@link
   *     LogOptions#changeRetentionBytes}, or the database was opened without it
   * @throws OperationInterruptedException if the thread is interrupted during a repeated read of
   *     data that was being written
   */
  public @Nullable ChangeBatch poll() {
    LoggedCommit next = file.next();
    return next == null
        ? null
        : new ChangeBatch(
            next.changes().stream().map(Change::new).toList(), new ChangePosition(next.next()));
  }

  /**
   * {@return the position after the last batch taken and any later commits that changed no table}
   */
  public ChangePosition position() {
    return new ChangePosition(file.position());
  }

  /**
   * Returns the current tables, to decode changes with {@link Change#key(RowTable)}, {@link
   * Change#row(RowTable)} and {@link ObjectDump}. They include everything durable before the call.
   *
   * <p>The handles belong to an in-memory copy of the catalog, and are valid until the next call or
   * until {@link #close}. Do not read records through them. A file that is in use or was not closed
   * is recovered in memory first, which takes as long as an opening with {@link Options#readOnly}.
   * If the writing process makes a checkpoint meanwhile, this method starts again, up to a hundred
   * times.
   *
   * @return the tables, ordered by name
   * @throws io.fovea.error.UncleanShutdownException if the file is being changed without a log
   * @throws StorageException also if each attempt met a checkpoint or a change of tables. A later
   *     call may succeed
   * @throws OperationInterruptedException if the thread is interrupted
   */
  public SortedMap<String, RowTable> tables() {
    file.requireOpen();
    ForeignTables before = tables;
    if (before != null) {
      tables = null;
      before.close();
    }
    ForeignTables now = ForeignTables.of(file.path());
    tables = now;
    return now.tables();
  }

  /**
   * Returns a table as the application declares it, to decode changes with {@link
   * Change#key(RowTable)} and {@link Change#row(RowTable)}, or through {@link RowTable#as} and
   * {@link RowTable#bytes}. Uses the result of the last call of {@link #tables}, and calls that
   * method if the table is missing from it. Call it yourself once the application has declared a
   * newer version. The handle is valid as long as those from {@link #tables}.
   *
   * @param spec the application's specification
   * @return the table
   * @throws IllegalArgumentException if there is no such table
   * @throws io.fovea.error.IncompatibleSchemaException if its keys or rows differ from the
   *     specification
   */
  public RowTable table(TableSpec spec) {
    return databaseWith(spec.name()).table(spec);
  }

  /**
   * Returns a table of objects, to decode changes with {@link Change#key(Table)} and {@link
   * Change#value(Table)}; otherwise as {@link #table(TableSpec)}.
   *
   * @param <K> the class of the keys
   * @param <V> the class of the values
   * @param spec the application's specification
   * @return the table
   * @throws IllegalArgumentException if there is no such table
   * @throws io.fovea.error.IncompatibleSchemaException if its objects differ from the specification
   */
  public <K, V> Table<K, V> table(ObjectSpec<K, V> spec) {
    return databaseWith(spec.table().name()).table(spec);
  }

  private Database databaseWith(String table) {
    file.requireOpen();
    ForeignTables now = tables;
    if (now == null || !now.tables.containsKey(table)) {
      tables();
      now = Objects.requireNonNull(tables);
    }
    if (!now.tables.containsKey(table)) {
      throw new IllegalArgumentException(
          "There is no table " + NameText.of(table) + " in " + file.path() + ".");
    }
    return now.database;
  }

  /** Closes the files. A second call does nothing. */
  @Override
  public void close() {
    try {
      ForeignTables t = tables;
      if (t != null) {
        tables = null;
        t.close();
      }
    } finally {
      file.close();
    }
  }

  /**
   * The tables in the files of a database that another process may be writing.
   *
   * <pre>
   *   superblock S ─► recovery in memory, from pages as they are ─► catalog ─► superblock still S?
   *                   now and the log from S's redo point on                   else retry
   * </pre>
   *
   * <p><b>Why the catalog is consistent</b> at the end of the log that was read. As with a copy
   * (docs/internals/log-and-recovery.md), a page was on the device when S was written or is newer,
   * and the log from the redo point of S contains all later changes. Here the log is read first, so
   * a page may contain changes from beyond the end of what was read. Its LSN reveals this, and the
   * page is reported as damaged ({@code Loader}). Damage is therefore checked again, and reported
   * only if the files were not written meanwhile. A catalog that changes continuously may never be
   * read consistently; that is reported as such, not as damage. Used by one thread.
   */
  private static final class ForeignTables implements AutoCloseable {
    private static final int TRIES = 100;
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(5);
    private static final int PAUSES = 5;

    /**
     * The number of consecutive failures, without a write in between, after which damage is
     * reported.
     */
    private static final int STILL = 5;

    private static final long BUFFER_BYTES = 8L << 20;

    private final OverlayStorage copy;
    private final Database database;
    private final SortedMap<String, RowTable> tables = new TreeMap<>();

    private ForeignTables(OverlayStorage copy, Database database) {
      this.copy = copy;
      this.database = database;
    }

    SortedMap<String, RowTable> tables() {
      return Collections.unmodifiableSortedMap(tables);
    }

    @Override
    public void close() {
      try {
        database.close();
      } finally {
        copy.close();
      }
    }

    static ForeignTables of(Path file) {
      FoveaException last = null;
      int still = 0;
      for (int n = 1; n <= TRIES; n++) {
        long before = sequence(file);
        String written = fingerprint(file);
        ForeignTables found = null;
        last = null;
        try {
          found = read(file);
          if (sequence(file) == before) {
            ForeignTables whole = found;
            found = null;
            return whole;
          }
        } catch (IncompatibleFormatException
            | UncleanShutdownException
            | OperationInterruptedException e) {
          throw e;
        } catch (FoveaException e) {
          last = e; // possibly caused by a concurrent write
        } finally {
          if (found != null) {
            found.close();
          }
        }
        still = last == null || !written.equals(fingerprint(file)) ? 0 : still + 1;
        if (last != null && still >= STILL) {
          throw last; // no write in between: the error is real
        }
        OperationInterruptedException.check("read the tables of a file");
        LockSupport.parkNanos(Math.min(n, PAUSES) * PAUSE_NANOS);
      }
      throw new StorageException(
          "read of the tables",
          file.toString(),
          -1,
          0,
          "each of "
              + TRIES
              + " attempts was interrupted by a checkpoint or a change of the "
              + "tables. Retry when they change less, or read them from a "
              + "backup",
          last);
    }

    /** Returns a string that changes whenever either file is written. */
    private static String fingerprint(Path file) {
      try {
        return Files.getLastModifiedTime(file)
            + " "
            + Files.getLastModifiedTime(file.resolveSibling(file.getFileName() + Storage.LOG));
      } catch (IOException e) {
        return "no log"; // or the log was removed
      }
    }

    private static long sequence(Path file) {
      try (FileDump dump = FileDump.open(file)) {
        return dump.header().sequence();
      }
    }

    private static ForeignTables read(Path file) {
      Options options = Options.defaults().readOnly(true).bufferBytes(BUFFER_BYTES);
      OverlayStorage copy = new OverlayStorage(file);
      ForeignTables found = null;
      boolean done = false;
      try {
        Database database = Database.openForeign(copy, options);
        found = new ForeignTables(copy, database);
        for (String name : database.tables()) {
          TableSpec spec = database.describe(name);
          if (spec != null) {
            found.tables.put(name, database.table(spec));
          }
        }
        done = true;
        return found;
      } finally {
        if (!done && found != null) {
          found.close();
        } else if (!done) {
          copy.close();
        }
      }
    }
  }
}
