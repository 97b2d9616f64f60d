package io.fovea.tpcc.settings;

import io.fovea.Database;
import io.fovea.Options;
import io.fovea.error.InvalidUseException;
import io.fovea.tpcc.bench.DriverException;
import io.fovea.tpcc.bench.Exit;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Opens and deletes the files of a database. */
public final class DatabaseFile {
  private DatabaseFile() {}

  /**
   * Opens or creates a database.
   *
   * @param path the file; null for a database in memory
   * @throws DriverException if the options do not fit the database
   */
  public static Database open(Path path, Options options) {
    try {
      return path == null ? Database.inMemory(options) : Database.open(path, options);
    } catch (InvalidUseException e) {
      throw new DriverException(Exit.USAGE, words(e.getMessage()));
    }
  }

  /** Replaces the engine's names of options in a message by those of the driver. */
  private static String words(String message) {
    return message
        .replace("Options.bufferBytes", "--buffer")
        .replace("Translation.PREDICTIVE", "--translation predictive");
  }

  /**
   * Deletes a database that was opened for writing and closed; the data file goes last. Opening it
   * verified that the log and the double-write area belong to it.
   */
  public static void delete(Path path) {
    try {
      Path file =
          Files.exists(path)
              ? path.toRealPath()
              : path; // the companion files are next to the real path
      Files.deleteIfExists(file.resolveSibling(file.getFileName() + ".log"));
      Files.deleteIfExists(file.resolveSibling(file.getFileName() + ".dwb"));
      Files.deleteIfExists(file);
    } catch (IOException e) {
      throw new DriverException(Exit.ERROR, "cannot delete " + path + ": " + e, e);
    }
  }

  /**
   * Deletes only the data file of a database that cannot be opened. Its companions may belong to
   * another database: the engine deletes or rejects them when the file is created again.
   */
  public static void deleteUnusable(Path path) {
    try {
      Files.deleteIfExists(Files.exists(path) ? path.toRealPath() : path);
    } catch (IOException e) {
      throw new DriverException(Exit.ERROR, "cannot delete " + path + ": " + e, e);
    }
  }
}
