package io.fovea.cli;

import java.io.PrintWriter;
import java.util.function.LongSupplier;
import org.jline.terminal.spi.SystemStream;
import picocli.CommandLine.Option;

/** Of the commands that take long: whether they say how far they are. */
final class ProgressOption {
  @Option(
      names = "--progress",
      description = {
        "Says on standard error how far it is, once a second. At a terminal it does so anyway."
      })
  boolean progress;

  /**
   * What says it, once it is started, if it is to be said.
   *
   * @param err where to
   * @param what is done, in a word
   * @param unit of what is counted; empty for bytes
   * @param done how much is done
   * @param total how much there is; 0 where that is not known
   */
  Progress of(PrintWriter err, String what, String unit, LongSupplier done, long total) {
    boolean terminal = TerminalShell.isTerminal(SystemStream.Error);
    return new Progress(err, what, unit, done, total, progress, terminal);
  }
}
