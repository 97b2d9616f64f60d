package io.fovea.recovery;

import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A point in a database's history, from which an incremental backup can start.
 *
 * <pre>
 *   id '/' lsn '/' unlogged        as text, the numbers in decimal digits
 * </pre>
 *
 * <p>It is the redo point R of a backup: its pages contain every change whose record begins before
 * R. So a page whose LSN (the end of its newest record) is at most R is complete in the backup.
 *
 * @param id the database
 * @param lsn R; for a backup without a log, the end of the log of its clean file
 * @param unlogged how often unlogged changes of pages had begun; see {@link Superblock#unlogged}
 */
public record BackupPoint(UUID id, long lsn, long unlogged) {
  /** Parses a point; returns null if the text is not one. */
  public static @Nullable BackupPoint parse(String text) {
    String[] parts = text.split("/", -1);
    if (parts.length != 3) {
      return null;
    }
    try {
      UUID id = UUID.fromString(parts[0]);
      BackupPoint point = new BackupPoint(id, Long.parseLong(parts[1]), Long.parseLong(parts[2]));
      // Reject numbers in another notation.
      return point.lsn > 0
              && (point.lsn & 7) == 0
              && point.unlogged >= 0
              && point.text().equals(text)
          ? point
          : null;
    } catch (IllegalArgumentException e) {
      return null;
    }
  }

  public String text() {
    return id + "/" + lsn + "/" + unlogged;
  }

  /**
   * Returns why no incremental backup since this point is possible, worded to follow "Make a full
   * backup: "; null if it is possible.
   *
   * @param now the current point of the database
   */
  @Nullable String whyNot(BackupPoint now) {
    if (!id.equals(now.id)) {
      return "the position is of database " + id + ", and this is " + now.id;
    }
    if (unlogged > now.unlogged || lsn > now.lsn) {
      return "the position "
          + text()
          + " is beyond that of the database, which is "
          + now.text()
          + "; it belongs to a copy that was written separately, or an older "
          + "file was restored";
    }
    if (unlogged < now.unlogged) {
      return "the database was changed without a log since that position "
          + "(Durability.NONE), and its pages do not record when";
    }
    return null;
  }
}
