package io.fovea.catalog;

import io.fovea.error.InvalidUseException;
import io.fovea.recovery.Backup;
import io.fovea.recovery.Superblock;
import io.fovea.store.Store;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;

/** Backs up a database: online if it has a log, otherwise with exclusive access. */
public final class BackupRun {
  private BackupRun() {}

  /**
   * Returns the file name of the copy: the original name, or a default for an in-memory database.
   */
  public static String fileName(Store store) {
    String name = store.fileName();
    try {
      Path file = Path.of(name).getFileName();
      return file == null || file.toString().isBlank() ? "database.fovea" : file.toString();
    } catch (InvalidPathException e) {
      return "database.fovea";
    }
  }

  /**
   * Runs a backup.
   *
   * @param backup the target; closed before this method returns
   */
  public static Backup.Result run(Store store, Schema schema, Backup backup) {
    try (backup) {
      if (store.isSnapshot()) {
        throw new InvalidUseException(
            "A snapshot can't be backed up. Back up its database, which may be in use.");
      }
      if (store.journal() != null) {
        return store.backup(backup);
      }
      Backup.Result[] result = new Backup.Result[1];
      schema.whileQuiescent("back up", () -> result[0] = cold(store, schema, backup));
      return result[0];
    }
  }

  /** Copies all pages while nothing changes, so the copy is complete without a log. */
  private static Backup.Result cold(Store store, Schema schema, Backup backup) {
    // If the file is unchanged since its last close, the catalog already contains the counts.
    long counted = store.isMarked() ? schema.saveCounts() : store.countsNumber();
    store.pool().flushAll();
    Superblock clean = store.complete().withCounts(counted);
    return backup.copyOffline(store.device(), store.pool(), clean, !store.isMarked());
  }
}
