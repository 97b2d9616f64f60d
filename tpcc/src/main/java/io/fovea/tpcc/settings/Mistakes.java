package io.fovea.tpcc.settings;

import java.nio.file.Files;
import java.nio.file.Path;

/** Checks shared by several subcommands. */
public final class Mistakes {
  private Mistakes() {}

  /**
   * Returns a message for the first file, null ones aside, whose folder does not exist, or null.
   */
  public static String misplaced(Path... files) {
    for (Path file : files) {
      Path folder = file == null ? null : file.toAbsolutePath().getParent();
      if (folder != null && !Files.isDirectory(folder)) {
        return "no such folder: " + folder;
      }
      if (file != null && Files.isDirectory(file)) {
        return file + " is a folder";
      }
    }
    return null;
  }

  public static boolean outside(int n, int max) {
    return n < 1 || n > max;
  }
}
