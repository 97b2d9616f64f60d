package io.fovea;

import io.fovea.catalog.BackupRun;
import io.fovea.catalog.Schema;
import io.fovea.recovery.Backup;
import io.fovea.recovery.BackupPoint;
import io.fovea.store.Store;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The result of a backup, of which all was verified: every page of the database, copied or not, by
 * its checksum and page id, and every record of the log.
 *
 * <p>A value; any thread.
 *
 * @param pages pages of the data file, each of them verified
 * @param pagesCopied pages among them that are in the backup: all, or those that were changed since
 *     {@link BackupOptions#since}
 * @param pagesReread pages that were being written when they were read, and were read again
 * @param dataBytes the size of the backup's file of pages
 * @param logBytes the size of the backup's log; 0 where it has none
 * @param logRecords records of that log, each of them verified
 * @param position what a later backup may begin with, as {@link BackupOptions#since}; null for a
 *     database that is changed without a log
 * @param duration how long it took
 * @since 0.1.0
 */
public record BackupReport(
    long pages,
    long pagesCopied,
    long pagesReread,
    long dataBytes,
    long logBytes,
    long logRecords,
    @Nullable BackupPosition position,
    Duration duration) {
  /** Makes a backup, and says what was copied. */
  static BackupReport of(Store store, Schema schema, Backup backup) {
    long began = System.nanoTime();
    return of(BackupRun.run(store, schema, backup), began);
  }

  /** What was copied since a moment of {@link System#nanoTime}. */
  static BackupReport of(Backup.Result r, long began) {
    BackupPoint position = r.position();
    return new BackupReport(
        r.pages(),
        r.pagesCopied(),
        r.pagesTorn(),
        r.dataBytes(),
        r.logBytes(),
        r.logRecords(),
        position == null ? null : new BackupPosition(position),
        Duration.ofNanos(System.nanoTime() - began));
  }
}
