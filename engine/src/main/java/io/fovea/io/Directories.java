package io.fovea.io;

import io.fovea.bindings.Availability;
import io.fovea.bindings.FileCalls;
import io.fovea.bindings.Libc;
import io.fovea.memory.Mem;
import io.fovea.memory.Threads;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.System.Logger.Level;
import java.nio.channels.FileChannel;
import java.nio.file.CopyOption;
import java.nio.file.FileAlreadyExistsException;
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
 * Creates files and directories that survive a power loss and that only users with access to the
 * database can read.
 *
 * <p>A file survives once its directory was synced after it was created or renamed. So does a
 * directory; each created component of its path must be synced into the one above it.
 *
 * @since 0.1.0
 */
public final class Directories {
  private static final System.Logger LOG = System.getLogger("io.fovea.io");

  /** Operations on directory entries. */
  public enum Entry {
    /** A directory is created. */
    DIRECTORY,
    /** A file is opened or copied, and created if it does not exist. */
    FILE,
    /** A file is renamed, replacing any file with the new name. */
    MOVE,
    /** A file or an empty directory is deleted, if it exists. */
    DELETE,
    /** The entries of a directory become durable. */
    SYNC
  }

  /**
   * An operation on entries.
   *
   * @param <T> its result
   */
  @FunctionalInterface
  public interface Operation<T> {
    /** Performs the operation. */
    T run() throws IOException;
  }

  /** Performs the operations for a test, and models the state after a power loss. */
  public interface Observer {
    /**
     * Performs an operation, on the thread that requested it.
     *
     * @param path the file or directory
     * @param target the new name of a moved file; otherwise the same path
     */
    <T> T run(Entry what, Path path, Path target, Operation<T> operation) throws IOException;
  }

  private static volatile @Nullable Observer observer;

  private Directories() {}

  /**
   * For tests: routes all entry operations of the process through an observer.
   *
   * @param by the observer; null for none
   */
  public static void observe(@Nullable Observer by) {
    observer = by;
  }

  private static <T> T run(Entry what, Path path, Path target, Operation<T> operation)
      throws IOException {
    Observer by = observer;
    return by == null ? operation.run() : by.run(what, path, target, operation);
  }

  /**
   * Syncs a directory: files that were created, renamed or removed in it stay so after a power
   * loss. Some platforms cannot open a directory and give other guarantees instead.
   *
   * <p>Without native access only a FileChannel can do that. An interrupt of its thread closes the
   * channel and hides whether the sync failed, so it runs on a thread that is never interrupted.
   *
   * @param directory the directory
   * @throws io.fovea.error.StorageException if the sync fails
   */
  public static void sync(Path directory) {
    try {
      run(Entry.SYNC, directory, directory, () -> syncNow(directory));
    } catch (IOException e) {
      throw DeviceFile.openFailed(directory, DeviceFile.errno(e));
    }
  }

  private static Path syncNow(Path directory) {
    if (!Mem.isRaw() || !(Libc.probe() instanceof Availability.Available)) {
      Threads.callUninterrupted("fovea-sync", () -> byChannel(directory));
      return directory;
    }
    int fd = FileCalls.open(directory.toString(), FileCalls.O_RDONLY | FileCalls.O_CLOEXEC, 0);
    if (fd < 0) {
      LOG.log(Level.DEBUG, () -> "The directory " + directory + " can't be synced here");
      return directory;
    }
    int result = FileCalls.fsync(fd);
    FileCalls.close(fd);
    if (result < 0) {
      throw DeviceFile.openFailed(directory, -result);
    }
    return directory;
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
   * Creates a directory and its missing parents, durably. Each is synced before the next one is
   * created. So of the existing ones only the deepest may be unsynced, left by a process that was
   * killed in this method: it is synced too.
   *
   * <p>Calls run one at a time: a second call that needs the same directories finds them synced.
   *
   * @param directory an absolute path
   * @throws io.fovea.error.StorageException if a sync fails; directories that were created are
   *     removed
   */
  public static synchronized void create(Path directory) throws IOException {
    Deque<Path> missing = new ArrayDeque<>();
    Path deepest = directory;
    while (deepest != null && !Files.exists(deepest)) {
      missing.push(deepest);
      deepest = deepest.getParent();
    }
    Deque<Path> made = new ArrayDeque<>();
    boolean done = false;
    try {
      if (deepest != null && deepest.getParent() != null) {
        sync(deepest.getParent());
      }
      for (Path next : missing) {
        try {
          createDirectory(next);
          made.push(next);
        } catch (FileAlreadyExistsException e) {
          if (!Files.isDirectory(next)) {
            throw e;
          }
        }
        Path parent = next.getParent();
        if (parent != null) {
          sync(parent);
        }
      }
      done = true;
    } finally {
      if (!done) {
        for (Path directoryMade : made) {
          removeIfEmpty(directoryMade);
        }
      }
    }
  }

  private static void removeIfEmpty(Path directory) {
    try {
      delete(directory);
    } catch (IOException e) {
      LOG.log(Level.DEBUG, "The directory " + directory + " could not be deleted", e);
    }
  }

  /** Creates one directory; it is durable once the one above it is synced. */
  public static void createDirectory(Path directory) throws IOException {
    run(Entry.DIRECTORY, directory, directory, () -> Files.createDirectory(directory));
  }

  /**
   * Opens or copies a file, creating it if it does not exist. It is durable once its directory is
   * synced.
   *
   * @param opening the operation
   * @return what {@code opening} returns
   */
  static <T> T opening(Path file, Operation<T> opening) throws IOException {
    return run(Entry.FILE, file, file, opening);
  }

  /** Copies a file with its permissions; the target must not exist. */
  public static void copy(Path from, Path to) throws IOException {
    opening(to, () -> Files.copy(from, to));
    permit(to, mode(permissions(from), 0600));
  }

  /** Opens a file for writing from its beginning; creates it if it does not exist. */
  public static OutputStream write(Path file) throws IOException {
    return opening(file, () -> Files.newOutputStream(file));
  }

  /** Renames a file; the change is durable once the directory of the new name is synced. */
  public static void move(Path from, Path to, CopyOption... how) throws IOException {
    run(Entry.MOVE, from, to, () -> Files.move(from, to, how));
  }

  /**
   * Deletes a file or an empty directory; the deletion is durable once the directory above it is
   * synced.
   *
   * @return whether it existed
   */
  public static boolean delete(Path path) throws IOException {
    return run(Entry.DELETE, path, path, () -> Files.deleteIfExists(path));
  }

  /** Returns the permissions of a file by name; null if the name is not valid. */
  public static @Nullable Set<PosixFilePermission> permissions(String name) {
    try {
      return permissions(Path.of(name));
    } catch (InvalidPathException e) {
      return null;
    }
  }

  /**
   * Returns the permissions of a file; null if it does not exist or the platform does not report
   * them.
   */
  public static @Nullable Set<PosixFilePermission> permissions(Path file) {
    try {
      return Files.getFileStore(file).supportsFileAttributeView(PosixFileAttributeView.class)
          ? Files.getPosixFilePermissions(file)
          : null;
    } catch (IOException | UnsupportedOperationException e) {
      return null;
    }
  }

  /** Returns permissions as the bits of a mode; a default if they are not known. */
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

  /** Sets the permissions of a file by the bits of a mode, if the platform supports that. */
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
   * @param permissions its permissions, independent of the umask; null for the default
   * @throws java.nio.file.FileAlreadyExistsException if it exists
   */
  public static void createFile(Path file, @Nullable Set<PosixFilePermission> permissions)
      throws IOException {
    if (permissions == null) {
      opening(file, () -> Files.createFile(file));
      return;
    }
    // With the permissions from the start, less the umask: others cannot open the file in between.
    opening(file, () -> Files.createFile(file, PosixFilePermissions.asFileAttribute(permissions)));
    if (!permissions.equals(Files.getPosixFilePermissions(file, LinkOption.NOFOLLOW_LINKS))) {
      Files.setPosixFilePermissions(file, permissions);
    }
  }
}
