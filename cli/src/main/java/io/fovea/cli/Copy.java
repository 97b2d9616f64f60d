package io.fovea.cli;

import io.fovea.BackupOptions;
import io.fovea.FileDump;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.System.Logger.Level;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * A temporary copy of a database in use. It is removed when it is closed, or when the JVM ends: an
 * exit during the copying ends that first, because it would create further files. Thread-safe.
 */
final class Copy implements AutoCloseable {
  private final Path directory;
  private final Path file;
  private final Thread atTheEnd = new Thread(this::remove);

  private Copy(Path directory, Path file) {
    this.directory = directory;
    this.file = file;
  }

  /**
   * Copies a database.
   *
   * @throws io.fovea.error.OperationInterruptedException if the thread is interrupted; nothing is
   *     left
   */
  static Copy of(Path file) {
    try (UntilExit exit = new UntilExit()) {
      Path directory = Files.createTempDirectory("fovea-copy");
      Copy made = new Copy(directory, directory.resolve(file.getFileName()));
      boolean done = false;
      try {
        FileDump.backup(file, directory, BackupOptions.defaults());
        exit.cleanUp();
        if (exit.isStopping()) {
          throw new Session.Stopped();
        }
        Runtime.getRuntime().addShutdownHook(made.atTheEnd);
        done = true;
        return made;
      } finally {
        exit.cleanUp();
        if (!done) {
          made.remove();
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
    try {
      Folders.delete(directory);
    } catch (IOException e) {
      // It is in the temporary directory.
      System.getLogger("io.fovea.cli")
          .log(Level.DEBUG, () -> "The temporary copy " + directory + " could not be deleted", e);
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
