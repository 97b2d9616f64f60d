package io.fovea;

import io.fovea.config.Durability;
import io.fovea.error.CorruptionException;
import io.fovea.error.IncompatibleFormatException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.StorageException;
import io.fovea.inspection.OpenFile;
import io.fovea.recovery.Backup;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Describes pages and log records of a database's files as they are on disk, for troubleshooting.
 * It changes nothing on disk and takes no lock, so the database may be in use; a page that is torn
 * as a result is shown as such.
 *
 * <p>A description is a map of names to numbers, strings, booleans, byte arrays, null, and lists
 * and maps of these. The names are those of docs/reference/file-format.md. The output is meant for
 * people: a later version may show more, or change it.
 *
 * <p>Used by one thread at a time. All methods may throw {@link StorageException} if the files
 * can't be read.
 *
 * @since 0.1.0
 */
public final class FileDump implements AutoCloseable {
  private final OpenFile file;

  private FileDump(OpenFile file) {
    this.file = file;
  }

  /**
   * Opens the files of a database.
   *
   * @param file the data file; its log is next to it
   * @return the dump, to be closed by the caller
   * @throws IncompatibleFormatException if there is no such file, or it is not a database
   */
  public static FileDump open(Path file) {
    return new FileDump(OpenFile.open(Objects.requireNonNull(file, "file")));
  }

  /**
   * {@return the superblock as it is on disk, like {@link FileReport#header()} but without
   * recovery}
   */
  public FileReport.Header header() {
    return FileReport.header(file.superblock(), file.superblock().allocator().highWater());
  }

  /** {@return the size of the file, in pages} */
  public long pages() {
    return file.pages();
  }

  /**
   * Describes a page. For a damaged page, {@code whole} is false or {@code damaged} is present.
   *
   * @param number the page id, from 0
   * @return its header and contents
   * @throws InvalidUseException if there is no such page
   */
  public Map<String, @Nullable Object> page(long number) {
    return file.page(number);
  }

  /**
   * {@return all bytes of a page, in a new array}
   *
   * @param number the page id, from 0
   * @throws InvalidUseException if there is no such page
   */
  public byte[] bytes(long number) {
    return file.bytes(number);
  }

  /**
   * Visits records of the log, in order. A record that can't be decoded contains {@code damaged}.
   *
   * @param from the LSN at or after which the first record begins; negative for the redo point
   * @param to the LSN before which all records begin
   * @param bodies whether to include the bytes of each record, as {@code body}
   * @param visitor called with each record
   * @throws InvalidUseException if there is no log
   * @throws CorruptionException after the last intact record, if the log is damaged there
   */
  public void log(
      long from, long to, boolean bodies, Consumer<? super Map<String, @Nullable Object>> visitor) {
    file.log(from, to, bodies, Objects.requireNonNull(visitor, "visitor"));
  }

  /**
   * Backs up a database that another process may have open, as {@link Database#backup(Path,
   * BackupOptions)} does in that process. The backup contains everything durable before the call,
   * and may contain later commits. This method takes no lock and writes nothing but the backup, so
   * only its reads affect the other process.
   *
   * <p>The other process must use a log ({@link Durability#SYNC} or {@code ASYNC}), or only read.
   * Each of its checkpoints invalidates what was copied, and the backup starts over, a limited
   * number of times. If a large file has frequent checkpoints ({@link
   * LogOptions#checkpointInterval()}), make the backup in the process that has it open. A backup
   * takes as much space as the database.
   *
   * @param file the data file; its log is next to it
   * @param directory the directory of the backup; created if it does not exist
   * @param how the speed, and the position of the backup to build on
   * @return the report
   * @throws IncompatibleFormatException if there is no such file, or it is not a database
   * @throws InvalidUseException if a file of the backup already exists, if the database is changed
   *     without a log, or if the changes since the given position are unknown
   * @throws CorruptionException if a page or the log is damaged
   * @throws StorageException on a read or write error, or after too many checkpoints
   * @throws io.fovea.error.OperationInterruptedException if the thread is interrupted
   */
  public static BackupReport backup(Path file, Path directory, BackupOptions how) {
    Objects.requireNonNull(directory, "directory");
    Objects.requireNonNull(how, "how");
    FileDump.open(file).close(); // throws if the file is not a database
    long began = System.nanoTime();
    Backup.Result result =
        OpenFile.copy(
            file,
            () ->
                Backup.to(
                    directory,
                    file.getFileName().toString(),
                    how.bytesPerSecond(),
                    how.point(),
                    file.toString()));
    return BackupReport.of(result, began);
  }

  /** Closes the files. A second call does nothing. */
  @Override
  public void close() {
    file.close();
  }
}
