package io.fovea.recovery;

import io.fovea.error.InvalidUseException;
import io.fovea.io.Directories;
import io.fovea.io.Storage;
import java.io.FileOutputStream;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A backup in a directory.
 *
 * <pre>
 *   name.part, name.log.part, name.manifest.part   while it is made
 *   name.manifest, name.log, name                  at the end, in this order: a file with its final
 *                                                  name is whole
 * </pre>
 *
 * <p>An existing file is never touched: the name, and the names of the files that would belong to
 * it, must be unused. Uses streams, not channels, since a channel closes itself when its thread is
 * interrupted.
 */
final class DirectoryTarget implements BackupTarget {
  private static final System.Logger LOG = System.getLogger("io.fovea");
  private static final String PART = ".part";

  /** The files of a backup, and of a database that is opened where the backup is. */
  private static final List<String> FILES =
      List.of(
          Storage.DATA,
          Storage.LOG,
          Storage.DOUBLE_WRITE,
          BackupManifest.PAGES,
          BackupManifest.SUFFIX);

  private final Path directory;
  private final String name;
  private final @Nullable Set<PosixFilePermission> permissions;

  /** The files created, under their current names. */
  private final List<Path> made = new ArrayList<>();

  private final List<Path> parts = new ArrayList<>();
  private @Nullable FileOutputStream out;
  private final boolean madeDirectory;
  private boolean finished;

  /**
   * Creates a target.
   *
   * @param directory the directory; created if it does not exist
   * @param name the name of the data file
   * @param like the name of a file whose permissions the backup gets, if it exists
   * @throws InvalidUseException if a file of that name, or of one that belongs to it, exists
   */
  DirectoryTarget(Path directory, String name, String like) throws IOException {
    this.permissions = Directories.permissions(like);
    // java.io resolves a relative name in the process's directory, not in user.dir.
    this.directory = directory.toAbsolutePath();
    this.name = name;
    if (Files.exists(directory) && !Files.isDirectory(directory)) {
      throw new InvalidUseException(directory + " is not a directory; a backup needs one.");
    }
    this.madeDirectory = !Files.exists(directory);
    Directories.create(this.directory);
    for (String suffix : FILES) {
      requireFree(directory.resolve(name + suffix));
      requireFree(directory.resolve(name + suffix + PART));
    }
  }

  private static void requireFree(Path path) {
    if (Files.exists(path)) {
      throw new InvalidUseException(
          "There is a file "
              + path
              + ", and a backup never overwrites files. Choose an empty directory.");
    }
  }

  @Override
  public void begin(String suffix, long bytes) throws IOException {
    Path part = directory.resolve(name + suffix + PART);
    Directories.createFile(part, permissions);
    made.add(part);
    parts.add(part);
    out = new FileOutputStream(part.toFile());
  }

  @Override
  public void write(byte[] from, int off, int len) throws IOException {
    FileOutputStream to = out;
    if (to == null) {
      throw new IllegalStateException("No file was begun.");
    }
    to.write(from, off, len);
  }

  @Override
  public void end() throws IOException {
    FileOutputStream to = out;
    if (to != null) {
      to.getFD().sync();
      to.close();
      out = null;
    }
  }

  /**
   * Renames the files, the pages last and after the other names are durable: without pages the
   * others are useless, and pages alone would be taken for the whole backup.
   */
  @Override
  public void finish() throws IOException {
    for (Path part : parts.reversed()) {
      if (part.equals(parts.getFirst())) {
        Directories.sync(
            directory); // a file system may keep the last name and lose those before it
      }
      String file = String.valueOf(part.getFileName());
      Path path = directory.resolve(file.substring(0, file.length() - PART.length()));
      Directories.move(part, path); // without REPLACE_EXISTING: throws if the file exists by now
      made.remove(part);
      made.add(path);
    }
    Directories.sync(directory);
    finished = true;
  }

  @Override
  public void close() {
    if (finished) {
      return;
    }
    try {
      if (out != null) {
        out.close();
      }
    } catch (IOException e) {
      LOG.log(Level.DEBUG, "Closing a file of an abandoned backup failed", e);
    }
    for (Path path : made) {
      try {
        Directories.delete(path);
      } catch (IOException e) {
        LOG.log(Level.WARNING, "A file of a failed backup could not be removed; delete it", e);
      }
    }
    if (madeDirectory) {
      try {
        Directories.delete(directory);
      } catch (IOException e) {
        LOG.log(Level.DEBUG, "The directory of a failed backup was not removed: " + directory, e);
      }
    }
  }
}
