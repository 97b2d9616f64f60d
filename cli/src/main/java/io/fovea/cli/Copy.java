package io.fovea.cli;

import io.fovea.BackupOptions;
import io.fovea.FileDump;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/**
 * A temporary copy of a database in use. It is removed when it is closed, or when the JVM ends.
 * Thread-safe.
 */
final class Copy implements AutoCloseable {
  private final Path directory;
  private final Path file;
  private final Thread atTheEnd = new Thread(this::remove);

  private Copy(Path directory, Path file) {
    this.directory = directory;
    this.file = file;
  }

  static Copy of(Path file) {
    try {
      Path directory = Files.createTempDirectory("fovea-copy");
      Copy made = new Copy(directory, directory.resolve(file.getFileName()));
      Runtime.getRuntime().addShutdownHook(made.atTheEnd);
      boolean done = false;
      try {
        FileDump.backup(file, directory, BackupOptions.defaults());
        done = true;
        return made;
      } finally {
        if (!done) {
          made.close();
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The data file, with the name of the original. */
  Path file() {
    return file;
  }

  private void remove() {
    try (Stream<Path> all = Files.list(directory)) {
      for (Path p : all.toList()) {
        Files.deleteIfExists(p);
      }
      Files.deleteIfExists(directory);
    } catch (IOException e) {
      // It is in the temporary directory.
    }
  }

  @Override
  public void close() {
    remove();
    try {
      Runtime.getRuntime().removeShutdownHook(atTheEnd);
    } catch (IllegalStateException e) {
      // the JVM is ending
    }
  }
}
