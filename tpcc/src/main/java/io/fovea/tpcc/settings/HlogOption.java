package io.fovea.tpcc.settings;

import java.nio.file.Path;
import picocli.CommandLine.Option;

/** Where histograms go; null where they are not wanted. */
public final class HlogOption {
  @Option(
      names = "--hlog",
      paramLabel = "FILE",
      description = "write latencies in HdrHistogram's log format to FILE")
  public Path file;
}
