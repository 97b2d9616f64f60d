package io.fovea;

import io.fovea.error.CorruptionException;
import io.fovea.error.DatabaseLockedException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.OperationInterruptedException;
import io.fovea.error.StorageException;
import io.fovea.inspection.BackupChain;
import io.fovea.inspection.Restoring;
import java.io.InputStream;
import java.nio.file.Path;
import java.util.Objects;

/**
 * Makes a database of a backup, or of a full one and those that add to it, in one call:
 *
 * <pre>{@code
 * Restore.from(sunday).to(file, Options.defaults());
 * Restore.from(sunday).then(monday).then(tuesday).to(file, Options.defaults());
 * }</pre>
 *
 * <p>The backups are copied and held against their manifests. What comes out is verified as {@link
 * FileReport#verify(Path, Options)} does, recovered and closed, and given its name at last: what
 * has it is whole, and needs no log. It is a database of its own, with a new {@link Database#id
 * identity}. The backups are not changed. Of a restore that fails nothing is left; of one that was
 * cut off by a crash, a folder {@code FILE.restoring} that may be deleted.
 *
 * <p>A value: {@link #then} gives a new one. One thread.
 *
 * @since 0.1.0
 */
public final class Restore {
  private final BackupChain backups;

  private Restore(BackupChain backups) {
    this.backups = backups;
  }

  /**
   * From the files of a full backup.
   *
   * @param backup the directory of {@link Database#backup(Path)}; where it has several databases,
   *     the data file of one of them; or a file with what {@link
   *     Database#backup(java.io.OutputStream)} wrote. The files of a database that was closed, or
   *     whose process was killed, will do as well
   * @return the restore, to be done with {@link #to}
   */
  public static Restore from(Path backup) {
    Objects.requireNonNull(backup, "backup");
    return new Restore(BackupChain.EMPTY.with(backup));
  }

  /**
   * From a stream.
   *
   * @param archive what {@link Database#backup(java.io.OutputStream)} wrote; it is read up to the
   *     end of the archive, once, and not closed
   * @return the restore, to be done with {@link #to}
   */
  public static Restore from(InputStream archive) {
    Objects.requireNonNull(archive, "archive");
    return new Restore(BackupChain.EMPTY.with(archive));
  }

  /**
   * Puts an incremental backup onto the backups so far; see {@link BackupOptions#since}.
   *
   * @param incremental its directory, the file of pages in it, or a file with its archive
   * @return another restore, to be done with {@link #to}
   */
  public Restore then(Path incremental) {
    Objects.requireNonNull(incremental, "incremental");
    return new Restore(backups.with(incremental));
  }

  /**
   * Puts an incremental backup from a stream onto the backups so far.
   *
   * @param archive what {@link Database#backup(java.io.OutputStream, BackupOptions)} wrote; it is
   *     read up to the end of the archive, once, and not closed
   * @return another restore, to be done with {@link #to}
   */
  public Restore then(InputStream archive) {
    Objects.requireNonNull(archive, "archive");
    return new Restore(backups.with(archive));
  }

  /**
   * Restores.
   *
   * @param file what the database is to be called; its folder exists, and has room for the copy and
   *     the largest incremental backup
   * @param options how much memory to use, and which device; the page size is that of the backup
   * @return what was found in the backups; {@link FileReport#ok} is true
   * @throws InvalidUseException if there is no backup, if the backups are not one full one and
   *     then, in their order, those that add to it, or if there is a file of that name, or of one
   *     that would belong to it
   * @throws DatabaseLockedException if the files are those of a database that is open
   * @throws CorruptionException if a backup is damaged; all that was found is in the message of its
   *     cause
   * @throws OperationInterruptedException if the thread is interrupted while a copy is verified;
   *     nothing is left of the restore, and the flag stays set
   * @throws StorageException if something can't be read or written, or an archive was cut short
   * @throws io.fovea.error.IncompatibleFormatException if the files are no database's, or a newer
   *     version's
   */
  public FileReport to(Path file, Options options) {
    Objects.requireNonNull(file, "file");
    Objects.requireNonNull(options, "options");
    FileReport report = FileReport.of(Restoring.run(backups, file, options.toStore()));
    if (!report.ok()) {
      CorruptionException e =
          new CorruptionException("problems of the backup", -1, -1, 0, report.problems().size());
      e.initCause(
          new IllegalStateException(
              "The problems of the backup:\n" + String.join("\n", report.problems()) + "."));
      throw e;
    }
    return report;
  }
}
