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
 * Up to where a backup has a database: with {@link BackupOptions#since} the next backup has what
 * was changed later, and nothing else.
 *
 * <p>A position is made by a backup ({@link BackupReport#position}), and is kept as text ({@link
 * #toString}, {@link #parse}), or with the backup itself ({@link #of}).
 *
 * <p>A value; any thread.
 *
 * @since 0.1.0
 */
public final class BackupPosition {
  private final BackupPoint point;

  BackupPosition(BackupPoint point) {
    this.point = point;
  }

  /**
   * Reads what {@link #toString} wrote.
   *
   * @param text the position as text
   * @return the position
   * @throws IllegalArgumentException if the text is no position
   */
  public static BackupPosition parse(String text) {
    Objects.requireNonNull(text, "text");
    BackupPoint point = BackupPoint.parse(text);
    if (point == null) {
      throw new IllegalArgumentException(
          "\""
              + text
              + "\" is no position of a backup. One is: the database's id, an LSN and a number, with"
              + " slashes between them.");
    }
    return new BackupPosition(point);
  }

  /**
   * Reads the position of a backup from its manifest.
   *
   * @param backup the directory of the backup, the data file or the file of pages in it, or a file
   *     with the archive that {@link Database#backup(java.io.OutputStream)} wrote
   * @return the position
   * @throws InvalidUseException if there is no backup, or it has no position, as it is of a
   *     database that was changed without a log, or has no manifest
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

  /**
   * Whose position it is.
   *
   * @return {@link Database#id}
   */
  public UUID database() {
    return point.id();
  }

  /**
   * Where in the log it is.
   *
   * @return an LSN: of two positions of a database the later one has the higher
   */
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

  /**
   * The position as text, for {@link #parse}.
   *
   * @return a line without spaces
   */
  @Override
  public String toString() {
    return point.text();
  }
}
