package io.fovea;

import io.fovea.changes.LoggedCommit;
import io.fovea.error.ChangesLostException;
import io.fovea.error.CorruptionException;
import io.fovea.error.IncompatibleFormatException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.OperationInterruptedException;
import io.fovea.error.StorageException;
import io.fovea.inspection.FollowedFile;
import java.nio.file.Path;
import java.util.Objects;
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
 * LogOptions#changesBytes}; it may be closed and opened meanwhile.
 *
 * <p><b>Nothing is written, and no lock is taken.</b> Nothing is kept for who reads here beyond
 * {@code changesBytes}. A commit comes when it is durable; to know that of the last ones, the file
 * of the log is synced where nothing follows them in it. Its process notices the reads, and these
 * syncs.
 *
 * <p>One thread at a time. It is closed by whoever opened it.
 *
 * @since 0.1.0
 */
public final class FileChanges implements AutoCloseable {
  private final FollowedFile file;

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
   * @throws ChangesLostException if it is not there any more: who reads was too slow for {@link
   *     LogOptions#changesBytes}, or the database was opened without it
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

  /** Closes the files. A second call does nothing. */
  @Override
  public void close() {
    file.close();
  }
}
