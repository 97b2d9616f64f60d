package io.fovea.tpcc.settings;

import java.nio.file.Files;
import java.nio.file.Path;

/** Mistakes that the options of several subcommands may have. */
public final class Mistakes {
  private Mistakes() {}

  /**
   * Says which file, of those that are not null, can't be where it is to be; null where all can.
   */
  public static String misplaced(Path... files) {
    for (Path file : files) {
      Path folder = file == null ? null : file.toAbsolutePath().getParent();
      if (folder != null && !Files.isDirectory(folder)) {
        return "there is no folder " + folder;
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
