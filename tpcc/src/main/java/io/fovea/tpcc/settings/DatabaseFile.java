package io.fovea.tpcc.settings;

import io.fovea.tpcc.bench.DriverException;
import io.fovea.tpcc.bench.Exit;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The files of a database. */
public final class DatabaseFile {
  private DatabaseFile() {}

  /** Deletes a database, the file by which it is known last. */
  public static void delete(Path path) {
    try {
      Files.deleteIfExists(path.resolveSibling(path.getFileName() + ".log"));
      Files.deleteIfExists(path.resolveSibling(path.getFileName() + ".dwb"));
      Files.deleteIfExists(path);
    } catch (IOException e) {
      throw new DriverException(Exit.ERROR, "cannot delete " + path + ": " + e, e);
    }
  }
}
