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
 * Whether an opening makes a database, and what becomes of the files if it does not succeed.
 *
 * <pre>
 *   data file               is
 *   not there               made; where the opening fails, removed again, with what it has made
 *                           beside it
 *   there, a superblock     opened
 *   there, and empty        made, if an opening that was cut short has left it: there is the note
 *                           of a holder that has died, or a log; refused otherwise, for it may be
 *                           anybody's
 *   there, zeros, no longer than a superblock       made: the first write was cut short
 * </pre>
 *
 * <p>A log or a double-write area that is there already is never taken for a part of what is made:
 * see {@link Companions}.
 *
 * <p>Closing it removes what was made. To be closed after the devices, and before the lock.
 */
public final class DatabaseCreation implements AutoCloseable {
  private final Storage storage;
  private final boolean there;
  private final boolean cutShort;

  /** Whether what lies beside the data file is this opening's. */
  private boolean begun;

  /**
   * An opening that has not opened anything yet, but perhaps the lock.
   *
   * @param storage the files
   * @param there whether there was a data file before, and if it was locked meanwhile, whether it
   *     has anything in it
   * @param cutShort whether there is a sign of an opening that was cut short
   */
  DatabaseCreation(Storage storage, boolean there, boolean cutShort) {
    this.storage = storage;
    this.there = there;
    this.cutShort = cutShort;
  }

  static DatabaseCreation of(Storage storage) {
    boolean beside = storage.exists(Storage.LOG) || storage.exists(Storage.DOUBLE_WRITE);
    return new DatabaseCreation(storage, storage.exists(Storage.DATA), beside);
  }

  /** What the file says; null where a database is to be made. */
  @Nullable Superblock read(SuperblockFile superblocks, BlockDevice device) {
    Superblock found = superblocks.read();
    if (found == null && there && !cutShort && device.size() == 0) {
      throw new IncompatibleFormatException(
          storage.name()
              + " is an empty file, and no Fovea database: it was there before. If nobody needs"
              + " the file, delete it, and the database is made; else give another path.");
    }
    if (found == null) {
      Companions.requireNone(storage);
      begun = true;
    }
    return found;
  }

  @Override
  public void close() {
    if (there) {
      return;
    }
    List<String> made =
        begun
            ? List.of(Storage.LOG, Storage.DOUBLE_WRITE, Storage.DATA)
            : List.of(Storage.DATA); // of the lock, or of the device
    for (String suffix : made) {
      try {
        storage.delete(suffix);
      } catch (RuntimeException e) {
        // The next opening finds what a crash leaves.
        System.getLogger("io.fovea").log(Level.DEBUG, "while giving up opening", e);
      }
    }
  }
}
