package io.fovea.tpcc.settings;

import java.nio.file.Path;
import picocli.CommandLine.Option;

/** The option for a file of histograms; null if not given. */
public final class HlogOption {
  @Option(
      names = "--hlog",
      paramLabel = "FILE",
      description = "write interval histograms in HdrHistogram's log format to FILE")
  public Path file;
}
