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
 * Restores a database from a full backup and optional incremental backups, in one call:
 *
 * <pre>{@code
 * Restore.from(sunday).to(file, Options.defaults());
 * Restore.from(sunday).then(monday).then(tuesday).to(file, Options.defaults());
 * }</pre>
 *
 * <p>The backups are copied and checked against their manifests; they are not changed. The result
 * is verified as in {@link FileReport#verify(Path, Options)}, recovered and closed, and receives
 * its file name last: a file of that name is complete and needs no log. It is a separate database
 * with a new {@link Database#id identity}. A failed restore leaves nothing behind; after a crash a
 * folder {@code FILE.restoring} may remain, which can be deleted.
 *
 * <p>Immutable: {@link #then} returns a new instance. Used by one thread.
 *
 * @since 0.1.0
 */
public final class Restore {
  private final BackupChain backups;

  private Restore(BackupChain backups) {
    this.backups = backups;
  }

  /**
   * {@return a restore of a full backup, to be run by {@link #to}}
   *
   * @param backup the directory written by {@link Database#backup(Path)}, or the data file of one
   *     database if the directory contains several; or a file with the output of {@link
   *     Database#backup(java.io.OutputStream)}. The files of a closed database or a killed process
   *     also work
   */
  public static Restore from(Path backup) {
    Objects.requireNonNull(backup, "backup");
    return new Restore(BackupChain.EMPTY.with(backup));
  }

  /**
   * {@return a restore of a full backup from a stream, to be run by {@link #to}}
   *
   * @param archive the output of {@link Database#backup(java.io.OutputStream)}; read once, up to
   *     the end of the archive, and not closed
   */
  public static Restore from(InputStream archive) {
    Objects.requireNonNull(archive, "archive");
    return new Restore(BackupChain.EMPTY.with(archive));
  }

  /**
   * {@return this restore with another {@linkplain BackupOptions#since incremental backup}}
   *
   * @param incremental its directory, the page file in it, or a file with its archive
   */
  public Restore then(Path incremental) {
    Objects.requireNonNull(incremental, "incremental");
    return new Restore(backups.with(incremental));
  }

  /**
   * {@return this restore with another incremental backup from a stream}
   *
   * @param archive the output of {@link Database#backup(java.io.OutputStream, BackupOptions)}; read
   *     once, up to the end of the archive, and not closed
   */
  public Restore then(InputStream archive) {
    Objects.requireNonNull(archive, "archive");
    return new Restore(backups.with(archive));
  }

  /**
   * Runs the restore.
   *
   * @param file the file of the new database; its folder needs space for it and for the largest
   *     increment
   * @param options memory and I/O options; the page size is that of the backup
   * @return the findings about the backups; {@link FileReport#ok} is true
   * @throws InvalidUseException if the backups are not a full backup followed by its incremental
   *     backups in order, or if the file, or another file that would belong to it, exists
   * @throws DatabaseLockedException if the files belong to an open database
   * @throws CorruptionException if a backup is damaged; the message of its cause lists all findings
   * @throws OperationInterruptedException if the thread is interrupted while a copy is verified;
   *     nothing of the restore remains, and the interrupt flag stays set
   * @throws StorageException if an I/O operation fails, or an archive is truncated
   * @throws io.fovea.error.IncompatibleFormatException if the format is unknown or newer
   */
  public FileReport to(Path file, Options options) {
    Objects.requireNonNull(file, "file");
    Objects.requireNonNull(options, "options");
    FileReport report = FileReport.of(Restoring.run(backups, file, options.toStoreConfig()));
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
