package io.fovea.cli;

import picocli.CommandLine.Option;

final class FormatOption {
  @Option(
      names = "--format",
      paramLabel = "FORMAT",
      description = "One of ${COMPLETION-CANDIDATES}. The default is ${DEFAULT-VALUE}.")
  Format format = Format.JSON;
}
