package io.fovea.store;

import io.fovea.error.IncompatibleFormatException;
import io.fovea.io.BlockDevice;
import io.fovea.io.Storage;
import io.fovea.recovery.Superblock;
import io.fovea.recovery.SuperblockFile;
import java.lang.System.Logger.Level;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Decides whether an opening creates a database, and removes the created files if the opening
 * fails.
 *
 * <pre>
 *   data file               is
 *   missing                 created; removed with its companions if the opening fails
 *   has a superblock        opened
 *   empty                   created, if there is a sign of an interrupted opening: a lock note of a
 *                           dead process, or a log; otherwise refused, because the file may belong
 *                           to another program
 *   zeros, no longer than a superblock       created: the first write was interrupted
 * </pre>
 *
 * <p>Existing logs and double-write areas are never mistaken for parts of the new database; see
 * {@link Companions}. Close this object after the devices and before the lock.
 */
public final class DatabaseCreation implements AutoCloseable {
  private final Storage storage;
  private final boolean exists;
  private final boolean cutShort;

  /** Whether the companions belong to this opening. */
  private boolean begun;

  /**
   * Creates the state of an opening that has so far opened at most the lock.
   *
   * @param exists whether a data file existed before; if another opening has held the lock since,
   *     whether the data file has content
   * @param cutShort whether there is a sign of an interrupted opening
   */
  DatabaseCreation(Storage storage, boolean exists, boolean cutShort) {
    this.storage = storage;
    this.exists = exists;
    this.cutShort = cutShort;
  }

  static DatabaseCreation of(Storage storage) {
    boolean companion = storage.exists(Storage.LOG) || storage.exists(Storage.DOUBLE_WRITE);
    return new DatabaseCreation(storage, storage.exists(Storage.DATA), companion);
  }

  /** Returns the superblock, or null if a database is to be created. */
  @Nullable Superblock read(SuperblockFile superblocks, BlockDevice device) {
    Superblock found = superblocks.read();
    if (found == null && exists && !cutShort && device.size() == 0) {
      throw new IncompatibleFormatException(
          storage.name()
              + " is an existing empty file, not a Fovea database. To create the database there,"
              + " delete the file; otherwise give another path.");
    }
    if (found == null) {
      Companions.requireNone(storage);
      begun = true;
    }
    return found;
  }

  @Override
  public void close() {
    if (exists) {
      return;
    }
    List<String> made =
        begun
            ? List.of(Storage.LOG, Storage.DOUBLE_WRITE, Storage.DATA)
            : List.of(Storage.DATA); // created by the lock or the device
    for (String suffix : made) {
      try {
        storage.delete(suffix);
      } catch (RuntimeException e) {
        // The next opening handles the file as it would after a crash.
        System.getLogger("io.fovea")
            .log(Level.DEBUG, "cleanup after a failed creation of a database", e);
      }
    }
  }
}
