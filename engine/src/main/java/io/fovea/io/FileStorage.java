package io.fovea.io;

import io.fovea.config.Io;
import io.fovea.error.IncompatibleFormatException;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;

/**
 * The files of a database in a directory: {@code shop.fovea}, {@code shop.fovea.log}, {@code
 * shop.fovea.dwb}.
 *
 * <p>Creations and removals are durable when the call returns: the directory is synced, if the
 * platform can. If the data file is a link, the others are next to its target, so that one database
 * has one log by whichever name it is opened.
 *
 * <p>This class locks nothing; {@link FileLock} does. Safe for use by any thread.
 *
 * @since 0.1.0
 */
public final class FileStorage implements Storage {
  private final Path file;
  private final Path real;
  private final DeviceConfig options;

  /**
   * Creates a storage for the files of a database.
   *
   * @param file the data file
   * @param options how files are opened
   */
  public FileStorage(Path file, DeviceConfig options) {
    this.file = file;
    this.options = options;
    this.real = real(file);
  }

  private static Path real(Path file) {
    try {
      return file.toRealPath();
    } catch (IOException e) {
      return file.toAbsolutePath();
    }
  }

  private Path path(String suffix) {
    return suffix.isEmpty() ? real : real.resolveSibling(real.getFileName() + suffix);
  }

  @Override
  public BlockDevice open(String suffix) {
    Path path = path(suffix);
    boolean exists = Files.exists(path);
    // The log and the double-write area are written by one thread that has no other work: its own
    // system call saves a hand-over, and a ring's sync would take another kernel thread.
    if (!exists && !suffix.equals(DATA)) {
      createAsData(path);
    }
    boolean pages = suffix.equals(DATA) || suffix.equals(TIMESTAMPS);
    BlockDevice device = device(path, exists, pages ? options : options.kind(Io.POSIX));
    boolean done = false;
    try {
      // The lock creates the data file before it is opened here: an empty file is a new one.
      if (!exists || device.size() == 0) {
        syncDirectory(path);
        Path led = real(path); // elsewhere if the name is a link
        if (!led.equals(path)) {
          syncDirectory(led);
        }
      }
      done = true;
      return device;
    } finally {
      if (!done) {
        device.close();
      }
    }
  }

  private static BlockDevice device(Path path, boolean exists, DeviceConfig how) {
    if (exists) {
      return Devices.open(path, how);
    }
    try {
      return Directories.opening(path, () -> Devices.open(path, how));
    } catch (IOException e) {
      throw DeviceFile.openFailed(path, DeviceFile.errno(e));
    }
  }

  @Override
  public boolean exists(String suffix) {
    return Files.exists(path(suffix));
  }

  /** Returns the length of a file in bytes; 0 if it does not exist. */
  public long size(String suffix) {
    Path path = path(suffix);
    try {
      return Files.size(path);
    } catch (NoSuchFileException e) {
      return 0;
    } catch (IOException e) {
      throw DeviceFile.openFailed(path, DeviceFile.errno(e));
    }
  }

  /**
   * Rejects files with several hard links. The same pages could be changed under another name, with
   * another log; and a copy by links would change with the original.
   *
   * @throws IncompatibleFormatException if a file has several names
   */
  public void requireOneName() {
    for (String suffix : List.of(DATA, LOG, DOUBLE_WRITE)) {
      Path path = path(suffix);
      int names = names(path);
      if (names > 1) {
        throw new IncompatibleFormatException(
            path
                + " has "
                + names
                + " names (hard links), and is not opened for writing: each name would have its"
                + " own log, and a copy by links would change with the original. Replace the file"
                + " with a real copy (cp, then mv), or remove the other names. To read it as it"
                + " is, open it read-only.");
      }
    }
  }

  /** Returns the number of names of a file; 1 if the platform does not report it. */
  private static int names(Path path) {
    try {
      return Files.exists(path) && Files.getAttribute(path, "unix:nlink") instanceof Integer n
          ? n
          : 1;
    } catch (IOException | UnsupportedOperationException | IllegalArgumentException e) {
      return 1;
    }
  }

  @Override
  public void delete(String suffix) {
    Path path = path(suffix);
    try {
      if (Directories.delete(path)) {
        syncDirectory(path);
      }
    } catch (IOException e) {
      throw DeviceFile.openFailed(path, DeviceFile.errno(e));
    }
  }

  /**
   * Moves the data file, durably. The other files stay.
   *
   * @param target its new path, in the same file system; must not exist
   * @throws io.fovea.error.StorageException if it cannot be moved, or the target exists
   */
  public void moveTo(Path target) {
    Path path = path(DATA);
    try {
      Directories.move(path, target); // without REPLACE_EXISTING
    } catch (IOException e) {
      throw DeviceFile.openFailed(target, DeviceFile.errno(e));
    }
    syncDirectory(target.toAbsolutePath());
  }

  @Override
  public String name() {
    return file.toString();
  }

  /** Creates a file with the permissions of the data file. */
  private void createAsData(Path path) {
    try {
      Directories.createFile(path, Directories.permissions(real));
    } catch (FileAlreadyExistsException e) {
      // A dangling link: opening it creates its target.
    } catch (IOException e) {
      throw DeviceFile.openFailed(path, DeviceFile.errno(e));
    }
  }

  private void syncDirectory(Path path) {
    Path directory = path.getParent();
    if (directory != null) {
      Directories.sync(directory);
    }
  }
}
