package io.fovea.cli;

import io.fovea.FileChanges;
import io.fovea.FileDump;
import io.fovea.FileReport;
import io.fovea.Options;
import io.fovea.config.Durability;
import io.fovea.error.FoveaException;
import java.nio.file.Path;

/** The options for opening files. */
final class Opening {
  private static final long BUFFER_BYTES = 32L << 20;

  /** The minimum change retention of a log with subscribers. */
  private static final long CHANGES_BYTES = 16L << 20;

  private Opening() {}

  /** For reading. */
  static Options options() {
    return Options.defaults().bufferBytes(BUFFER_BYTES);
  }

  /** Reads the superblock of a file. */
  static FileReport.Header header(Path file) {
    try (FileDump dump = FileDump.open(file)) {
      return dump.header();
    }
  }

  /** For an existing file that may be changed. */
  static Options options(FileReport.Header header) {
    return options().create(false).device(dev -> dev.pageSize(header.pageSize()));
  }

  /** For a new file. */
  static Options toCreate() {
    return options().durability(Durability.SYNC);
  }

  /**
   * For changing records of an existing file. If its log retains changes for subscribers, it keeps
   * doing so, and retains about as much as before; otherwise they would be dropped.
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

  /** Whether the log of a file retains changes for subscribers. */
  static boolean isFollowed(Path file) {
    try {
      FileChanges.first(file).close();
      return true;
    } catch (FoveaException e) {
      return false; // there is nothing to subscribe to, or the file cannot be read
    }
  }
}
