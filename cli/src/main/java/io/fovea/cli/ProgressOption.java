package io.fovea.cli;

import java.io.PrintWriter;
import java.util.function.LongSupplier;
import org.jline.terminal.spi.SystemStream;
import picocli.CommandLine.Option;

/** The option of long-running commands that reports progress. */
final class ProgressOption {
  @Option(
      names = "--progress",
      description = {
        "Reports progress on standard error, once a second. At a terminal this is the default."
      })
  boolean progress;

  /**
   * Returns a reporter, which reports once it is started, if progress is to be reported.
   *
   * @param what the activity, in one word
   * @param unit of the counts; empty for bytes
   * @param done the current count
   * @param total the final count; 0 if unknown
   */
  Progress of(PrintWriter err, String what, String unit, LongSupplier done, long total) {
    boolean terminal = TerminalShell.isTerminal(SystemStream.Error);
    return new Progress(err, what, unit, done, total, progress, terminal);
  }
}
