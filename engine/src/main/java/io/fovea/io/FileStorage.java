package io.fovea.io;

import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * The files of a database in a directory: {@code shop.fovea}, {@code shop.fovea.log}, {@code
 * shop.fovea.dwb}.
 *
 * <p>A file that was made or removed is so for good when the call returns: the directory is synced,
 * where the platform can do that. Where the data file is a link, the others lie beside the file
 * that it leads to, so that one database has one log by whichever name it is opened.
 *
 * <p>It locks nothing; {@link FileLock} does. Any thread.
 *
 * @since 0.1.0
 */
public final class FileStorage implements Storage {
  private static final System.Logger LOG = System.getLogger("io.fovea.io");

  private final Path file;
  private final Path real;
  private final DeviceConfig options;

  /**
   * The files of a database.
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
    boolean there = Files.exists(path);
    // The log and the double-write area are written by one thread that has nothing to do meanwhile:
    // its own system call costs no hand-over, and a ring's sync is one more thread of the kernel.
    boolean pages = suffix.equals(DATA) || suffix.equals(TIMESTAMPS);
    BlockDevice device = Devices.open(path, pages ? options : options.kind(IoKind.POSIX));
    boolean done = false;
    try {
      // The lock makes the data file before it is opened here: an empty one is a new one.
      if (!there || device.size() == 0) {
        syncDirectory(path);
      }
      done = true;
      return device;
    } finally {
      if (!done) {
        device.close();
      }
    }
  }

  @Override
  public boolean exists(String suffix) {
    return Files.exists(path(suffix));
  }

  @Override
  public void delete(String suffix) {
    Path path = path(suffix);
    try {
      if (Files.deleteIfExists(path)) {
        syncDirectory(path);
      }
    } catch (IOException e) {
      throw DeviceFile.openFailed(path, ChannelFile.errno(e));
    }
  }

  /**
   * Moves the data file, durably. What lies beside it stays where it is.
   *
   * @param target its new path, in the same file system, where no file is
   * @throws io.fovea.error.StorageException where it can't be moved, or there is one
   */
  public void moveTo(Path target) {
    Path path = path(DATA);
    try {
      Files.move(path, target); // without REPLACE_EXISTING
    } catch (IOException e) {
      throw DeviceFile.openFailed(target, ChannelFile.errno(e));
    }
    syncDirectory(target.toAbsolutePath());
  }

  @Override
  public String name() {
    return file.toString();
  }

  /** Some platforms can't open a directory; what they promise instead is theirs to say. */
  private static void syncDirectory(Path path) {
    Path directory = path.getParent();
    if (directory == null) {
      return;
    }
    FileChannel channel;
    try {
      channel = FileChannel.open(directory, StandardOpenOption.READ);
    } catch (IOException e) {
      LOG.log(Level.DEBUG, "The directory " + directory + " can't be synced here", e);
      return;
    }
    try (channel) {
      channel.force(true);
    } catch (IOException e) {
      throw DeviceFile.openFailed(directory, ChannelFile.errno(e));
    }
  }
}
