package io.fovea;

import io.fovea.error.CorruptionException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.StorageException;
import io.fovea.inspection.BackupChain;
import io.fovea.recovery.BackupPoint;
import java.nio.file.Path;
import java.util.Objects;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The position up to which a backup contains the changes of a database. Passed to {@link
 * BackupOptions#since}, it limits the next backup to later changes.
 *
 * <p>A backup returns its position ({@link BackupReport#position}). Keep it as text ({@link
 * #toString}, {@link #parse}), or read it from the backup ({@link #of}). A value; safe for any
 * thread.
 *
 * @since 0.1.0
 */
public final class BackupPosition {
  private final BackupPoint point;

  BackupPosition(BackupPoint point) {
    this.point = point;
  }

  /**
   * Parses the result of {@link #toString}.
   *
   * @param text the position as text
   * @return the position
   * @throws IllegalArgumentException if the text is not a position
   */
  public static BackupPosition parse(String text) {
    Objects.requireNonNull(text, "text");
    BackupPoint point = BackupPoint.parse(text);
    if (point == null) {
      throw new IllegalArgumentException(
          "\""
              + text
              + "\" is not a backup position: the database's id, an LSN and a number, separated by"
              + " slashes.");
    }
    return new BackupPosition(point);
  }

  /**
   * Reads the position of a backup from its manifest.
   *
   * @param backup the directory of the backup, its data file or file of pages, or an archive from
   *     {@link Database#backup(java.io.OutputStream)}
   * @return the position
   * @throws InvalidUseException if there is no backup, it has no manifest, or it has no position
   *     because its database was changed without a log
   * @throws CorruptionException if the manifest is damaged
   * @throws StorageException if it can't be read
   */
  public static BackupPosition of(Path backup) {
    Objects.requireNonNull(backup, "backup");
    return new BackupPosition(BackupChain.position(backup));
  }

  BackupPoint point() {
    return point;
  }

  /** {@return the {@linkplain Database#id id} of the database} */
  public UUID database() {
    return point.id();
  }

  /** {@return the LSN; a later position of the same database has a higher LSN} */
  public long lsn() {
    return point.lsn();
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof BackupPosition p && p.point.equals(point);
  }

  @Override
  public int hashCode() {
    return point.hashCode();
  }

  /** {@return the position as text, for {@link #parse}: a single line without spaces} */
  @Override
  public String toString() {
    return point.text();
  }
}
