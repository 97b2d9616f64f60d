package io.fovea;

import io.fovea.recovery.Backup;
import io.fovea.recovery.Superblock;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;

/** Makes a backup of a database: with a log beside everything else, without one alone. */
final class BackupRun {
  private BackupRun() {}

  /** What the copy's data file is to be called: as the original, which in memory has no name. */
  static String fileName(Store store) {
    String name = store.fileName();
    try {
      Path file = Path.of(name).getFileName();
      return file == null || file.toString().isBlank() ? "database.fovea" : file.toString();
    } catch (InvalidPathException e) {
      return "database.fovea";
    }
  }

  static BackupReport run(Database database, Schema schema, Backup backup) {
    long began = System.nanoTime();
    Store store = database.store();
    try (backup) {
      Backup.Result[] result = new Backup.Result[1];
      if (store.journal() != null) {
        result[0] = store.backup(backup);
      } else {
        schema.lock.lock();
        try {
          database.requireOpen();
          database.alone(
              "back up", () -> schema.whileNothingIsFreed(() -> result[0] = cold(store, backup)));
        } finally {
          schema.lock.unlock();
        }
      }
      Backup.Result r = result[0];
      return new BackupReport(
          r.pages(),
          r.pagesTorn(),
          r.pages() * store.pool().pageSize(),
          r.logBytes(),
          Duration.ofNanos(System.nanoTime() - began));
    }
  }

  /** Nobody changes anything: what was written is all there is. */
  private static Backup.Result cold(Store store, Backup backup) {
    store.pool().flushAll();
    Superblock clean = store.complete();
    return backup.cold(store.device(), store.pool(), clean);
  }
}
