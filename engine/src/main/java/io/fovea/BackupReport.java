package io.fovea;

import io.fovea.catalog.BackupRun;
import io.fovea.catalog.Schema;
import io.fovea.recovery.Backup;
import io.fovea.store.Store;
import java.time.Duration;

/**
 * The result of a backup.
 *
 * <p>A value; any thread.
 *
 * @param pages pages of the data file
 * @param pagesReread pages among them that were being written when they were read, and were read
 *     again
 * @param dataBytes the size of the copy's data file
 * @param logBytes the size of the copy's log; 0 where it has none
 * @param duration how long it took
 * @since 0.1.0
 */
public record BackupReport(
    long pages, long pagesReread, long dataBytes, long logBytes, Duration duration) {
  /** Makes a backup, and says what was copied. */
  static BackupReport of(Store store, Schema schema, Backup backup) {
    long began = System.nanoTime();
    Backup.Result r = BackupRun.run(store, schema, backup);
    return new BackupReport(
        r.pages(),
        r.pagesTorn(),
        r.pages() * store.pool().pageSize(),
        r.logBytes(),
        Duration.ofNanos(System.nanoTime() - began));
  }
}
