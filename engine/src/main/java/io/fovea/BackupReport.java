package io.fovea;

import io.fovea.catalog.BackupRun;
import io.fovea.catalog.Schema;
import io.fovea.recovery.Backup;
import io.fovea.recovery.BackupPoint;
import io.fovea.store.Store;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The result of a backup. Every page of the database, copied or not, was verified by its checksum
 * and page id, and so was every log record. A value; safe for any thread.
 *
 * @param pages pages of the data file
 * @param pagesCopied pages in the backup: all, or those changed since {@link BackupOptions#since}
 * @param pagesReread pages read again because they were being written
 * @param dataBytes the size of the backup's file of pages
 * @param logBytes the size of the backup's log; 0 if there is none
 * @param logRecords records in that log
 * @param position the position for {@link BackupOptions#since} of a later backup; null for a
 *     database that is changed without a log
 * @param duration how long the backup took
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
  /** Makes a backup. */
  static BackupReport of(Store store, Schema schema, Backup backup) {
    long began = System.nanoTime();
    return of(BackupRun.run(store, schema, backup), began);
  }

  /** Reports a backup that began at a value of {@link System#nanoTime}. */
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
