package io.fovea.cli;

import io.fovea.FileChanges;
import io.fovea.FileDump;
import io.fovea.FileReport;
import io.fovea.Options;
import io.fovea.config.Durability;
import io.fovea.error.FoveaException;
import java.nio.file.Path;

/** With which options files are opened. */
final class Opening {
  private static final long BUFFER_BYTES = 32L << 20;

  /** What is kept at least of a log that is followed. */
  private static final long CHANGES_BYTES = 16L << 20;

  private Opening() {}

  /** What files are looked at with. */
  static Options options() {
    return Options.defaults().bufferBytes(BUFFER_BYTES);
  }

  /** What the superblock of a file says. */
  static FileReport.Header header(Path file) {
    try (FileDump dump = FileDump.open(file)) {
      return dump.header();
    }
  }

  /** What a file that is there is opened with, by one that may change it. */
  static Options options(FileReport.Header header) {
    return options().create(false).device(dev -> dev.pageSize(header.pageSize()));
  }

  /** What a file that is not there is made with. */
  static Options toCreate() {
    return options().durability(Durability.SYNC);
  }

  /**
   * The same for a file whose records are changed: where its log keeps changes for who follows
   * them, it goes on to do so, and about as many as before. Without that they would be let go.
   */
  static Options toChange(Path file) {
    Options options = options(header(file)).durability(Durability.SYNC);
    if (!isFollowed(file)) {
      return options;
    }
    Path log = file.resolveSibling(file.getFileName() + ".log");
    long kept = Math.max(CHANGES_BYTES, log.toFile().length());
    return options.log(l -> l.changeRetentionBytes(kept));
  }

  private static boolean isFollowed(Path file) {
    try {
      FileChanges.first(file).close();
      return true;
    } catch (FoveaException e) {
      return false; // there is nothing to be followed, or it can't be read
    }
  }
}
