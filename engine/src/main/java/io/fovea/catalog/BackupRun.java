package io.fovea.catalog;

import io.fovea.error.InvalidUseException;
import io.fovea.recovery.Backup;
import io.fovea.recovery.Superblock;
import io.fovea.store.Store;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;

/** Makes a backup of a database: with a log beside everything else, without one alone. */
public final class BackupRun {
  private BackupRun() {}

  /** What the copy's data file is to be called: as the original, which in memory has no name. */
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
   * Makes it.
   *
   * @param backup where to; closed at the end
   */
  public static Backup.Result run(Store store, Schema schema, Backup backup) {
    try (backup) {
      if (store.isSnapshot()) {
        throw new InvalidUseException(
            "A snapshot can't be backed up: back up its database, which goes on meanwhile.");
      }
      if (store.journal() != null) {
        return store.backup(backup);
      }
      Backup.Result[] result = new Backup.Result[1];
      schema.whileAllIsStill("back up", () -> result[0] = cold(store, schema, backup));
      return result[0];
    }
  }

  /** Nobody changes anything: what was written is all there is. */
  private static Backup.Result cold(Store store, Schema schema, Backup backup) {
    // Of a file that was not changed since it was closed the catalog has them.
    long counted = store.isMarked() ? schema.saveCounts() : store.countsNumber();
    store.pool().flushAll();
    Superblock clean = store.complete().counted(counted);
    return backup.cold(store.device(), store.pool(), clean, !store.isMarked());
  }
}
