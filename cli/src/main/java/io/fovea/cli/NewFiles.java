package io.fovea.cli;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The file of a new database and its companions, to delete them if nothing was imported. Not
 * thread-safe.
 */
final class NewFiles {
  private final Path file;
  private final Set<Path> before;

  private NewFiles(Path file, Set<Path> before) {
    this.file = file;
    this.before = before;
  }

  /** Called before the database is created. */
  static NewFiles before(Path file) throws IOException {
    return new NewFiles(file, all(file));
  }

  Path file() {
    return file;
  }

  private static Set<Path> all(Path file) throws IOException {
    String name = String.valueOf(file.getFileName());
    Path folder = file.toAbsolutePath().getParent();
    if (folder == null || !Files.isDirectory(folder)) {
      return Set.of();
    }
    try (Stream<Path> there = Files.list(folder)) {
      return there
          .filter(
              p -> {
                String other = String.valueOf(p.getFileName());
                return other.equals(name) || other.startsWith(name + ".");
              })
          .collect(Collectors.toSet());
    }
  }

  /** Deletes what was not there before. The database must be closed. */
  void delete() throws IOException {
    for (Path p : all(file)) {
      if (!before.contains(p)) {
        Files.deleteIfExists(p);
      }
    }
  }
}
