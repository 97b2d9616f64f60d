package io.fovea.store;

import io.fovea.buffer.DoubleWrite;
import io.fovea.error.IncompatibleFormatException;
import io.fovea.io.BlockDevice;
import io.fovea.io.Storage;
import io.fovea.recovery.Superblock;
import io.fovea.recovery.SuperblockFile;
import io.fovea.wal.LogIdentity;
import org.jspecify.annotations.Nullable;

/**
 * Refuses a log or double-write area that does not belong to the data file next to it, before
 * reading, overwriting or deleting it.
 *
 * <pre>
 *   data file       log                                           double-write area
 *   to be created   no valid record, or closed                    no copies
 *   closed          the same, or from the session that closed     no copies of another database
 *   not closed      continues the session that the file names     the same
 * </pre>
 *
 * <p>{@link LogIdentity} describes the rules for sessions.
 *
 * <p>Temporary files have no identity: a file left by a crash is deleted or overwritten, unless it
 * is a database. So a copy of {@code shop.fovea} that a user named {@code shop.fovea.snap}
 * survives.
 */
public final class Companions {
  private Companions() {}

  /**
   * Checks that no temporary file is a database, before a database is created or opened for
   * writing.
   */
  static void requireNoDatabase(Storage storage) {
    requireNoDatabase(storage, Storage.TIMESTAMPS);
    requireNoDatabase(storage, Storage.SNAPSHOTS);
    for (int i = 0; i < Storage.LOADS; i++) {
      requireNoDatabase(storage, Storage.LOAD + i);
    }
  }

  private static void requireNoDatabase(Storage storage, String suffix) {
    if (!storage.exists(suffix)) {
      return;
    }
    try (BlockDevice file = storage.open(suffix)) {
      if (SuperblockFile.isDatabase(file)) {
        throw new IncompatibleFormatException(
            storage.name()
                + suffix
                + " is a database, and "
                + storage.name()
                + " needs this name for a temporary file. Nothing was changed. Move "
                + storage.name()
                + suffix
                + " to another name; then try again.");
      }
    }
  }

  /**
   * Opens a temporary file to be overwritten.
   *
   * @throws IncompatibleFormatException if it is a database
   */
  public static BlockDevice openTemporary(Storage storage, String suffix) {
    requireNoDatabase(storage, suffix);
    return storage.open(suffix);
  }

  /** Checks that no log or double-write area is in use, before a database is created. */
  static void requireNone(Storage storage) {
    String file = storage.name();
    String found = null;
    String which = Storage.LOG;
    if (storage.exists(Storage.LOG)) {
      try (BlockDevice log = storage.open(Storage.LOG)) {
        found = LogIdentity.of(log).whyNotOnCreation();
      }
    }
    if (found == null && storage.exists(Storage.DOUBLE_WRITE)) {
      which = Storage.DOUBLE_WRITE;
      found = foreignCopies(storage, null);
    }
    if (found != null) {
      throw new IncompatibleFormatException(
          "There is no database in "
              + file
              + ", but "
              + file
              + which
              + " "
              + found
              + ". Nothing was created or deleted. If the data file is elsewhere, move it back; if "
              + file
              + which
              + " is not needed, move it away; then open again.");
    }
  }

  /**
   * Checks that the log and double-write area belong to an existing database, before it is opened.
   */
  static void requireOwn(Storage storage, Superblock superblock, boolean writable) {
    if (storage.exists(Storage.LOG)) {
      boolean foreign;
      try (BlockDevice log = storage.open(Storage.LOG)) {
        LogIdentity identity = LogIdentity.of(log);
        if (superblock.isClean()) {
          requireClosed(storage, identity, superblock);
        } else if (superblock.state() == Superblock.LOGGED) {
          requireSession(storage, identity, superblock);
        }
        foreign = superblock.isClean() && identity.isForeign(superblock.id());
      }
      if (foreign && writable) {
        storage.delete(Storage.LOG); // the log contains no valid record
      }
    }
    if (storage.exists(Storage.DOUBLE_WRITE)) {
      String found = foreignCopies(storage, superblock);
      if (found != null) {
        String area = storage.name() + Storage.DOUBLE_WRITE;
        throw new IncompatibleFormatException(
            "The double-write area "
                + area
                + " "
                + found
                + ". "
                + storage.name()
                + " is database "
                + superblock.id()
                + ". Move the area to the database that it belongs to, or away; then open again.");
      }
    }
  }

  /**
   * Durably marks the log of a closed file as closed, before the file is changed without a log. The
   * file gets a new session, and if a crash restores the old log, that log must not appear to
   * contain newer commits.
   */
  static void closeLog(Storage storage, Superblock superblock) {
    if (storage.exists(Storage.LOG)) {
      try (BlockDevice log = storage.open(Storage.LOG)) {
        LogIdentity.markClosed(log, superblock.id(), 0);
        log.sync();
      }
    }
  }

  private static void requireClosed(Storage storage, LogIdentity log, Superblock superblock) {
    String found =
        log.whyNotAfterClose(superblock.id(), superblock.session(), superblock::descendsFrom);
    if (found != null) {
      throw refused(
          storage,
          found,
          superblock,
          "was closed in",
          "Its pages lack these commits. Put the data file next to the log that belongs to it; or,"
              + " to open the data file as it was closed, move the log away");
    }
  }

  private static void requireSession(Storage storage, LogIdentity log, Superblock superblock) {
    String found = log.whyNotInUse(superblock.id(), superblock.session(), superblock.redoLsn());
    if (found != null) {
      throw refused(
          storage,
          found,
          superblock,
          "was not closed, and needs the log of",
          "That log is next to the name by which the file was last opened. Put it here, or restore"
              + " a backup");
    }
  }

  private static IncompatibleFormatException refused(
      Storage storage, String found, Superblock superblock, String expected, String remedy) {
    return new IncompatibleFormatException(
        "The log "
            + storage.name()
            + Storage.LOG
            + " "
            + found
            + ". "
            + storage.name()
            + " "
            + expected
            + " session "
            + LogIdentity.describe(superblock.session())
            + " of database "
            + superblock.id()
            + ". "
            + remedy
            + ".");
  }

  private static @Nullable String foreignCopies(Storage storage, @Nullable Superblock superblock) {
    try (BlockDevice copies = storage.open(Storage.DOUBLE_WRITE)) {
      return DoubleWrite.foreign(copies, superblock == null ? null : superblock.id());
    }
  }
}
