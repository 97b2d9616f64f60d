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
import org.jspecify.annotations.Nullable;

/**
 * Committed changes of a database that another process may have open, read from its files: for a
 * tool that shows them, or a program that follows from beside. A program that has the database open
 * itself uses {@link Database#changes}, which is woken by commits.
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
 * <p>What comes, in which order, and what a position means is said in {@link Changes}: both tell
 * the same commits, and take each other's positions. The database must be written with {@link
 * LogOptions#changeRetentionBytes}; it may be closed and opened meanwhile.
 *
 * <p><b>Nothing is written, and no lock is taken.</b> Nothing is kept for who reads here beyond
 * {@code changeRetentionBytes}. A commit comes when it is durable; to know that of the last ones,
 * the file of the log is synced where nothing follows them in it. Its process notices the reads,
 * and these syncs.
 *
 * <p>One thread at a time. It is closed by whoever opened it.
 *
 * @since 0.1.0
 */
public final class FileChanges implements AutoCloseable {
  private final FollowedFile file;

  /** What the tables were when they were asked for last. */
  private @Nullable TablesBeside tables;

  private FileChanges(FollowedFile file) {
    this.file = file;
  }

  /** Who says where to begin. */
  private interface Start {
    void of(FollowedFile file);
  }

  private static FileChanges open(Path file, Start start) {
    return begin(FollowedFile.open(Objects.requireNonNull(file, "file")), start);
  }

  /** Follows files that are opened already, from a position on; they are closed with it. */
  static FileChanges from(FollowedFile opened, ChangePosition from) {
    return begin(opened, f -> f.from(from.point()));
  }

  private static FileChanges begin(FollowedFile opened, Start start) {
    boolean done = false;
    try {
      start.of(opened);
      done = true;
      return new FileChanges(opened);
    } finally {
      if (!done) {
        opened.close();
      }
    }
  }

  /**
   * Follows from a position on.
   *
   * @param file the file of the database's pages; its log is beside it
   * @param from where to begin: {@link ChangeBatch#position}, {@link Database#changesPosition}
   * @return the changes behind it, to be closed
   * @throws IncompatibleFormatException if there is no such file, or it is no database
   * @throws InvalidUseException if the log keeps nothing for who follows
   * @throws ChangesLostException if some of them are not there any more, or the position is another
   *     database's
   * @throws CorruptionException if the log is damaged
   * @throws StorageException if it can't be read
   */
  public static FileChanges from(Path file, ChangePosition from) {
    Objects.requireNonNull(from, "from");
    return open(file, f -> f.from(from.point()));
  }

  /**
   * Follows from the first commit on of which the log knows the tables.
   *
   * @param file the file of the database's pages; its log is beside it
   * @return the changes, to be closed
   * @throws IncompatibleFormatException if there is no such file, or it is no database
   * @throws InvalidUseException if the log keeps nothing for who follows
   * @throws CorruptionException if the log is damaged
   * @throws StorageException if it can't be read
   */
  public static FileChanges first(Path file) {
    return open(file, f -> f.from(true));
  }

  /**
   * Follows from now on. Reads through what the log keeps, for the names of tables.
   *
   * @param file the file of the database's pages; its log is beside it
   * @return the changes that are durable later, to be closed
   * @throws IncompatibleFormatException if there is no such file, or it is no database
   * @throws InvalidUseException if the log keeps nothing for who follows
   * @throws CorruptionException if the log is damaged
   * @throws StorageException if it can't be read
   */
  public static FileChanges last(Path file) {
    return open(file, f -> f.from(false));
  }

  /**
   * Takes the next batch, and does not wait.
   *
   * @return the batch; null if no more is durable now
   * @throws InvalidUseException if it was closed
   * @throws ChangesLostException if it is not there any more: who reads was too slow for {@link
   *     LogOptions#changeRetentionBytes}, or the database was opened without it
   * @throws CorruptionException if the log is damaged
   * @throws StorageException if it can't be read. The next call tries again
   * @throws OperationInterruptedException if the thread is interrupted while something that was
   *     written meanwhile is read again
   */
  public @Nullable ChangeBatch poll() {
    LoggedCommit next = file.next();
    return next == null
        ? null
        : new ChangeBatch(
            next.changes().stream().map(Change::new).toList(), new ChangePosition(next.next()));
  }

  /**
   * Where it is: behind the last batch that was taken, and behind what has changed no table.
   *
   * @return the position
   */
  public ChangePosition position() {
    return new ChangePosition(file.position());
  }

  /**
   * What the tables are now, to show what comes: by {@link Change#key(RowTable)}, {@link
   * Change#row(RowTable)} and {@link ObjectDump}. All that was durable before the call is in it.
   *
   * <p>The handles are of a copy of the catalog in memory, and are good until this is called again
   * or closed. Records are not to be read by them. A file that is in use, or was not closed, is
   * recovered in memory for that, which takes as long as an opening with {@link Options#readOnly}.
   * A checkpoint of its process makes that worth nothing; then it begins again, some times.
   *
   * @return the tables by their names, in the order of these
   * @throws InvalidUseException if it was closed
   * @throws io.fovea.error.UncleanShutdownException if the file is changed without a log by now
   * @throws CorruptionException if the catalog is damaged
   * @throws StorageException if it can't be read, or something was written during each of a hundred
   *     looks, because of checkpoints or because the tables change all the time. A later call may
   *     succeed
   * @throws OperationInterruptedException if the thread is interrupted
   */
  public SortedMap<String, RowTable> tables() {
    file.requireOpen();
    TablesBeside before = tables;
    if (before != null) {
      tables = null;
      before.close();
    }
    TablesBeside now = TablesBeside.of(file.path());
    tables = now;
    return now.tables();
  }

  /**
   * A table as an application declares it, to decode what comes: by {@link Change#key(RowTable)}
   * and {@link Change#row(RowTable)}, or those of {@link RowTable#as} and {@link RowTable#bytes}.
   * This uses the tables of the last call of {@link #tables}, and calls it if the table is not
   * among them. Call it yourself once the application has declared a newer version. The handle is
   * good as long as those of {@link #tables} are.
   *
   * @param spec the specification that the application has
   * @return the table
   * @throws InvalidUseException if it was closed
   * @throws IllegalArgumentException if there is no such table
   * @throws io.fovea.error.IncompatibleSchemaException if it has other keys or rows
   */
  public RowTable table(TableSpec spec) {
    return having(spec.name()).table(spec);
  }

  /**
   * A table of objects, to decode what comes: by {@link Change#key(Table)} and {@link
   * Change#value(Table)}; as {@link #table(TableSpec)}.
   *
   * @param <K> the class of the keys
   * @param <V> the class of the values
   * @param spec the specification that the application has
   * @return the table
   * @throws InvalidUseException if it was closed
   * @throws IllegalArgumentException if there is no such table
   * @throws io.fovea.error.IncompatibleSchemaException if its objects are others
   */
  public <K, V> Table<K, V> table(ObjectSpec<K, V> spec) {
    return having(spec.table().name()).table(spec);
  }

  private Database having(String table) {
    file.requireOpen();
    TablesBeside now = tables;
    if (now == null || !now.tables.containsKey(table)) {
      tables();
      now = Objects.requireNonNull(tables);
    }
    if (!now.tables.containsKey(table)) {
      throw new IllegalArgumentException("There is no table " + NameText.of(table) + ".");
    }
    return now.there;
  }

  /** Closes the files. A second call does nothing. */
  @Override
  public void close() {
    try {
      TablesBeside t = tables;
      if (t != null) {
        tables = null;
        t.close();
      }
    } finally {
      file.close();
    }
  }

  /**
   * What tables the files of a database say that there are, while another process may write them.
   *
   * <pre>
   *   superblock S ─► recovery in memory, from pages as they are now ─► catalog ─► superblock: still S?
   *                   and the log from S's redo point on                           else, or damage: again
   * </pre>
   *
   * <p><b>Why it is the catalog of a moment</b>, that of the end of the log that was read. As for a
   * copy (docs/internals/log-and-recovery.md): a page was on the device when S was written, or is
   * newer, and the log from S on has what came since. Here the log is read first, so a page may
   * have changes from behind the end that was read: its LSN says so, and it is damage ({@code
   * Loader}). What is damaged is looked at again, and is believed if nobody has written meanwhile.
   * A catalog that changes without a pause may never be seen whole: then that is said, and not that
   * there is damage.
   *
   * <p>One thread.
   */
  private static final class TablesBeside implements AutoCloseable {
    private static final int TRIES = 100;
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(5);
    private static final int PAUSES = 5;

    /** How often in a row it fails while nobody writes before that is believed. */
    private static final int STILL = 5;

    private static final long BUFFER_BYTES = 8L << 20;

    private final OverlayStorage copy;
    private final Database there;
    private final SortedMap<String, RowTable> tables = new TreeMap<>();

    private TablesBeside(OverlayStorage copy, Database there) {
      this.copy = copy;
      this.there = there;
    }

    SortedMap<String, RowTable> tables() {
      return Collections.unmodifiableSortedMap(tables);
    }

    @Override
    public void close() {
      try {
        there.close();
      } finally {
        copy.close();
      }
    }

    /**
     * Looks which there are.
     *
     * @param file the file of the database's pages
     */
    static TablesBeside of(Path file) {
      FoveaException last = null;
      int still = 0;
      for (int n = 1; n <= TRIES; n++) {
        long before = sequence(file);
        String written = written(file);
        TablesBeside found = null;
        last = null;
        try {
          found = look(file);
          if (sequence(file) == before) {
            TablesBeside whole = found;
            found = null;
            return whole;
          }
        } catch (IncompatibleFormatException
            | UncleanShutdownException
            | OperationInterruptedException e) {
          throw e;
        } catch (FoveaException e) {
          last = e; // perhaps of what was written while it was read
        } finally {
          if (found != null) {
            found.close();
          }
        }
        still = last == null || !written.equals(written(file)) ? 0 : still + 1;
        if (last != null && still >= STILL) {
          throw last; // nobody has written meanwhile: it is so
        }
        OperationInterruptedException.check("look at the tables of a file");
        LockSupport.parkNanos(Math.min(n, PAUSES) * PAUSE_NANOS);
      }
      throw new StorageException(
          "look at the tables",
          file.toString(),
          -1,
          0,
          "something was written during each of "
              + TRIES
              + " looks: there was a checkpoint, or the tables changed. Look again when they change"
              + " less; a copy has them, too",
          last);
    }

    /** Something that is another one when the files were written. */
    private static String written(Path file) {
      try {
        return Files.getLastModifiedTime(file)
            + " "
            + Files.getLastModifiedTime(file.resolveSibling(file.getFileName() + Storage.LOG));
      } catch (IOException e) {
        return "no log"; // or none any more
      }
    }

    private static long sequence(Path file) {
      try (FileDump dump = FileDump.open(file)) {
        return dump.header().sequence();
      }
    }

    private static TablesBeside look(Path file) {
      Options options = Options.defaults().readOnly(true).bufferBytes(BUFFER_BYTES);
      OverlayStorage copy = new OverlayStorage(file);
      TablesBeside found = null;
      boolean done = false;
      try {
        Database there = Database.beside(copy, options);
        found = new TablesBeside(copy, there);
        for (String name : there.tables()) {
          TableSpec spec = there.describe(name);
          if (spec != null) {
            found.tables.put(name, there.table(spec));
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
