package io.fovea.replication;

import io.fovea.error.InvalidUseException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import org.jspecify.annotations.Nullable;

/**
 * The location of a replica's database: one of two directories, named by a pointer file.
 *
 * <pre>
 *   DIRECTORY/current     "one" or "two"; replaced as a whole
 *   DIRECTORY/one, two    the current database, and a copy that is being restored
 * </pre>
 *
 * <p>A crash at any time leaves a pointer to a complete database. The copy is verified, and closed
 * cleanly or open with its log, before the pointer is replaced; the old database is deleted after
 * that is durable. The directory that the pointer does not name is deleted at the next opening.
 */
final class ReplicaFiles {
  private static final String ONE = "one";
  private static final String TWO = "two";
  private static final String DATA = "data.fovea";

  /** Makes the entries of a directory durable. */
  interface Sync {
    void sync(Path directory) throws IOException;
  }

  private final Path directory;
  private final Sync sync;
  private String current;

  ReplicaFiles(Path directory) throws IOException {
    this(directory, ReplicaFiles::sync);
  }

  ReplicaFiles(Path directory, Sync sync) throws IOException {
    this.directory = directory;
    this.sync = sync;
    create(directory);
    Path pointer = directory.resolve("current");
    if (Files.exists(pointer)) {
      current = Files.readString(pointer).trim();
      if (!current.equals(ONE) && !current.equals(TWO)) {
        throw new InvalidUseException(
            "The file "
                + pointer
                + " must name the directory of the database, \"one\" or \"two\", but has \""
                + current
                + "\". If it is damaged, write the name of the directory with the database into"
                + " it.");
      }
    } else {
      current = ONE;
      point(ONE);
    }
    Files.createDirectories(directory.resolve(current));
    sync.sync(directory); // at each opening: the last process may have been killed before its sync
    delete(directory.resolve(other()));
  }

  /** The file of the current database. */
  Path database() {
    return directory.resolve(current).resolve(DATA);
  }

  /** The file for a copy; its directory is empty. */
  Path staged() throws IOException {
    Path beside = directory.resolve(other());
    delete(beside);
    Files.createDirectories(beside);
    return beside.resolve(DATA);
  }

  /** The directory of a copy. */
  Path beside() {
    return directory.resolve(other());
  }

  /** Makes the staged database the current one, durably; returns the directory of the old one. */
  Path use() throws IOException {
    Path old = directory.resolve(current);
    sync.sync(directory.resolve(other()));
    point(other());
    current = other();
    return old;
  }

  private String other() {
    return current.equals(ONE) ? TWO : ONE;
  }

  private void point(String to) throws IOException {
    Path fresh = directory.resolve("current.new");
    try (FileChannel f =
        FileChannel.open(
            fresh,
            StandardOpenOption.CREATE,
            StandardOpenOption.TRUNCATE_EXISTING,
            StandardOpenOption.WRITE)) {
      f.write(ByteBuffer.wrap((to + "\n").getBytes(StandardCharsets.UTF_8)));
      f.force(true);
    }
    Files.move(
        fresh,
        directory.resolve("current"),
        StandardCopyOption.ATOMIC_MOVE,
        StandardCopyOption.REPLACE_EXISTING);
    sync.sync(directory);
  }

  /** Creates a directory and its missing parents, durably. */
  private void create(Path made) throws IOException {
    Path above = made.toAbsolutePath().getParent();
    if (Files.exists(made) || above == null) {
      return;
    }
    create(above);
    Files.createDirectories(made);
    sync.sync(above);
  }

  private static void sync(Path directory) throws IOException {
    try (FileChannel d = FileChannel.open(directory, StandardOpenOption.READ)) {
      d.force(true);
    }
  }

  static void delete(Path tree) {
    if (!Files.exists(tree)) {
      return;
    }
    try {
      Files.walkFileTree(
          tree,
          new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes a) throws IOException {
              Files.deleteIfExists(file);
              return FileVisitResult.CONTINUE;
            }

            /** It was deleted concurrently. */
            @Override
            public FileVisitResult visitFileFailed(Path file, IOException e) throws IOException {
              if (e instanceof NoSuchFileException) {
                return FileVisitResult.CONTINUE;
              }
              throw e;
            }

            @Override
            public FileVisitResult postVisitDirectory(Path d, @Nullable IOException e)
                throws IOException {
              if (e != null) {
                throw e;
              }
              Files.deleteIfExists(d);
              return FileVisitResult.CONTINUE;
            }
          });
    } catch (IOException e) {
      throw new UncheckedIOException("The directory " + tree + " can't be deleted.", e);
    }
  }
}
