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
 * Pages and log records of a database's files in words, as they are on disk: for a person who looks
 * at what is there. Nothing on disk changes, and no lock is taken, so that the files of a database
 * that is in use can be looked at; such a page may be torn, and then says that it is.
 *
 * <p>What is shown is a map of names to numbers, texts, booleans, byte arrays, null, and lists and
 * maps of these. Its names are those of docs/reference/file-format.md. They are for people: a later
 * version may show more, or say the same otherwise.
 *
 * <p>One thread at a time. It is closed by whoever opened it.
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
   * @param file the file of its pages; its log is beside it
   * @return the dump, to be closed
   * @throws IncompatibleFormatException if there is no such file, or it is no database
   * @throws StorageException if it can't be read
   */
  public static FileDump open(Path file) {
    return new FileDump(OpenFile.open(Objects.requireNonNull(file, "file")));
  }

  /**
   * What the superblock says: {@link FileReport#header()}, in some microseconds and without
   * recovery.
   *
   * @return the superblock as it is on disk
   */
  public FileReport.Header header() {
    return FileReport.header(file.superblock(), file.superblock().allocator().highWater());
  }

  /**
   * How many pages the file has.
   *
   * @return its size in pages
   */
  public long pages() {
    return file.pages();
  }

  /**
   * A page in words. Of one that is not whole, {@code whole} is false or there is {@code damaged}.
   *
   * @param number which page, from 0 on
   * @return what its header says, and what is in it
   * @throws InvalidUseException if there is no such page
   * @throws StorageException if it can't be read
   */
  public Map<String, @Nullable Object> page(long number) {
    return file.page(number);
  }

  /**
   * The bytes of a page.
   *
   * @param number which page, from 0 on
   * @return all of them
   * @throws InvalidUseException if there is no such page
   * @throws StorageException if it can't be read
   */
  public byte[] bytes(long number) {
    return file.bytes(number);
  }

  /**
   * Visits records of the log, in their order. One that makes no sense has {@code damaged}.
   *
   * @param from the first begins at this LSN or behind it; negative for where recovery begins
   * @param to all begin before this LSN
   * @param bodies whether each has its bytes as well, as {@code body}
   * @param visitor is called with each
   * @throws InvalidUseException if there is no log
   * @throws CorruptionException behind the last record that is whole, if the log is damaged there
   * @throws StorageException if it can't be read
   */
  public void log(
      long from, long to, boolean bodies, Consumer<? super Map<String, @Nullable Object>> visitor) {
    file.log(from, to, bodies, Objects.requireNonNull(visitor, "visitor"));
  }

  /**
   * Copies a database that another process may have open, as {@link Database#backup(Path,
   * BackupOptions)} does in that process: the copy has what was durable before this was called, and
   * may have what was committed meanwhile. No lock is taken and nothing is written beside the copy,
   * so its process notices nothing but the reads.
   *
   * <p>That process must have a log ({@link Durability#SYNC} or {@code ASYNC}), or only read. A
   * checkpoint of it makes what was copied so far worth nothing; then this begins again, some
   * times. A large file with frequent checkpoints ({@link LogOptions#checkpointInterval()}) is
   * copied by its own process. A copy takes as much space as the database.
   *
   * <p>An interrupt ends it, with {@link io.fovea.error.OperationInterruptedException}.
   *
   * @param file the file of its pages; its log is beside it
   * @param directory where the copy goes; made where it does not exist
   * @param how how fast, and whether only what was changed since an earlier backup
   * @return what was copied
   * @throws IncompatibleFormatException if there is no such file, or it is no database
   * @throws InvalidUseException if a file of the copy exists already, if the database is changed
   *     without a log, or if there is no backup since the position that was asked for
   * @throws CorruptionException if a page or the log is damaged
   * @throws StorageException if it can't be read or written, or there were too many checkpoints
   */
  public static BackupReport backup(Path file, Path directory, BackupOptions how) {
    Objects.requireNonNull(directory, "directory");
    Objects.requireNonNull(how, "how");
    FileDump.open(file).close(); // which says what is no database
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
