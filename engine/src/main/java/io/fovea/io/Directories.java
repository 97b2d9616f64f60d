package io.fovea.io;

import io.fovea.bindings.Availability;
import io.fovea.bindings.FileCalls;
import io.fovea.bindings.Libc;
import io.fovea.memory.Mem;
import io.fovea.memory.Threads;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.EnumSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Creates files and directories that are there after a loss of power, and that only those may read
 * who may read the database.
 *
 * <p>A file is there for good when its directory was synced after it was created or renamed. So is
 * a directory, of which each component that was created has to be synced into the one above it.
 *
 * @since 0.1.0
 */
public final class Directories {
  private static final System.Logger LOG = System.getLogger("io.fovea.io");

  /** Makes the entries of a directory durable. */
  @FunctionalInterface
  public interface Sync {
    /** Syncs a directory. */
    void sync(Path directory) throws IOException;
  }

  private Directories() {}

  /**
   * Syncs a directory: files that were created, renamed or removed in it stay so after a loss of
   * power. Some platforms can't open a directory and make promises of their own instead.
   *
   * <p>Without native access only a FileChannel can do that. An interrupt of its thread closes the
   * channel and hides whether the sync has failed, so a thread that is never interrupted does it.
   *
   * @param directory the directory
   * @throws io.fovea.error.StorageException where the sync fails
   */
  public static void sync(Path directory) {
    if (!Mem.isRaw() || !(Libc.probe() instanceof Availability.Available)) {
      Threads.undisturbed("fovea-sync", () -> byChannel(directory));
      return;
    }
    int fd = FileCalls.open(directory.toString(), FileCalls.O_RDONLY | FileCalls.O_CLOEXEC, 0);
    if (fd < 0) {
      LOG.log(Level.DEBUG, () -> "The directory " + directory + " can't be synced here");
      return;
    }
    int result = FileCalls.fsync(fd);
    FileCalls.close(fd);
    if (result < 0) {
      throw DeviceFile.openFailed(directory, -result);
    }
  }

  private static @Nullable Void byChannel(Path directory) {
    FileChannel channel;
    try {
      channel = FileChannel.open(directory, StandardOpenOption.READ);
    } catch (IOException e) {
      LOG.log(Level.DEBUG, "The directory " + directory + " can't be synced here", e);
      return null;
    }
    try (channel) {
      channel.force(true);
    } catch (IOException e) {
      throw DeviceFile.openFailed(directory, DeviceFile.errno(e));
    }
    return null;
  }

  /**
   * Creates a directory and those above it that do not exist, durably.
   *
   * @param directory an absolute path
   */
  public static void create(Path directory, Sync sync) throws IOException {
    Deque<Path> missing = new ArrayDeque<>();
    for (Path at = directory; at != null && !Files.exists(at); at = at.getParent()) {
      missing.push(at);
    }
    Files.createDirectories(directory);
    for (Path made : missing) {
      Path parent = made.getParent();
      if (parent != null) {
        sync.sync(parent);
      }
    }
  }

  /** The same of a name, which may be that of no file. */
  public static @Nullable Set<PosixFilePermission> permissions(String name) {
    try {
      return permissions(Path.of(name));
    } catch (InvalidPathException e) {
      return null;
    }
  }

  /** Who may do what with a file; null where there is none, or the platform does not say. */
  public static @Nullable Set<PosixFilePermission> permissions(Path file) {
    try {
      return Files.getFileStore(file).supportsFileAttributeView(PosixFileAttributeView.class)
          ? Files.getPosixFilePermissions(file)
          : null;
    } catch (IOException | UnsupportedOperationException e) {
      return null;
    }
  }

  /** Permissions as the bits of a mode; others where they are not known. */
  public static int mode(@Nullable Set<PosixFilePermission> permissions, int others) {
    if (permissions == null) {
      return others;
    }
    int mode = 0;
    for (PosixFilePermission p : permissions) {
      mode |= 0400 >> p.ordinal(); // in the order of the bits
    }
    return mode;
  }

  /** Gives a file permissions, by the bits of a mode, where the platform knows them. */
  public static void permit(Path file, int mode) throws IOException {
    Set<PosixFilePermission> now = permissions(file);
    if (now == null || mode(now, 0) == (mode & 0777)) {
      return;
    }
    Set<PosixFilePermission> permissions = EnumSet.noneOf(PosixFilePermission.class);
    for (PosixFilePermission p : PosixFilePermission.values()) {
      if ((mode & 0400 >> p.ordinal()) != 0) {
        permissions.add(p);
      }
    }
    Files.setPosixFilePermissions(file, permissions);
  }

  /**
   * Creates an empty file.
   *
   * @param permissions what it gets, whatever the umask says; null for what is usual
   * @throws java.nio.file.FileAlreadyExistsException where there is one
   */
  public static void createFile(Path file, @Nullable Set<PosixFilePermission> permissions)
      throws IOException {
    if (permissions == null) {
      Files.createFile(file);
      return;
    }
    // With them from the start, less the umask: nobody opens the file in between.
    Files.createFile(file, PosixFilePermissions.asFileAttribute(permissions));
    if (!permissions.equals(Files.getPosixFilePermissions(file, LinkOption.NOFOLLOW_LINKS))) {
      Files.setPosixFilePermissions(file, permissions);
    }
  }
}
