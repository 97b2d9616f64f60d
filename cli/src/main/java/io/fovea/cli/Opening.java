package io.fovea.cli;

import io.fovea.FileDump;
import io.fovea.FileReport;
import io.fovea.Options;
import java.nio.file.Path;

/** With which options files are opened. */
final class Opening {
  private static final long BUFFER_BYTES = 32L << 20;

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
}
