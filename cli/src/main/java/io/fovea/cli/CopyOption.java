package io.fovea.cli;

import picocli.CommandLine.Option;

final class CopyOption {
  @Option(
      names = "--copy",
      description = {
        "Reads a consistent copy, so that another process may have FILE open, with a log or for"
            + " reading. The copy is made first, in the temporary directory, and removed at the"
            + " end."
      })
  boolean copy;
}
