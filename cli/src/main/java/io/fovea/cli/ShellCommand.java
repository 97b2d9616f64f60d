package io.fovea.cli;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

@Command(
    name = "shell",
    header = "Runs commands for a database, line by line.",
    description = {
      "Opens a database that no process has open, and runs commands on it, line by line: those"
          + " of this list, without FILE, and begin, commit, rollback, help, exit. 'fovea FILE'"
          + " does the same. Nothing on disk changes, unless --write is given.",
      "At a terminal, Tab completes commands, tables, indexes and fields; lines are stored in"
          + " ~/.fovea_history, or the file named by FOVEA_HISTORY (none if empty). Ctrl-C ends"
          + " the running command, Ctrl-D the shell.",
      "If standard input is not a terminal, it runs the lines of standard input up to the first"
          + " one that fails, whose exit code it returns. A line that begins with # is a comment."
    })
final class ShellCommand extends FileCommand {
  @Mixin final CopyOption copy = new CopyOption();

  @Option(names = "--write", description = "Allows commands to change FILE.")
  boolean write;

  @Override
  public Integer call() {
    if (write && copy.copy) {
      throw mistake("changes in a copy are lost: give --write or --copy");
    }
    return looking(copy, this::on);
  }

  private Integer on(Path path) {
    try (Session session = new Session(path, file(), write)) {
      session.database();
      TerminalShell terminal = in() == System.in ? TerminalShell.open(session, err(), json) : null;
      if (terminal != null) {
        try (terminal) {
          return terminal.run();
        }
      }
      return lines(session);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Runs the lines of standard input. */
  private int lines(Session session) throws IOException {
    Shell shell = new Shell(session, out(), err(), json);
    BufferedReader in = new BufferedReader(new InputStreamReader(in(), StandardCharsets.UTF_8));
    long number = 0;
    @Nullable String line;
    while (!shell.ends() && (line = in.readLine()) != null) {
      number++;
      int code = shell.run(line);
      if (code != Main.OK) {
        if (code != Main.BROKEN_PIPE) {
          err().println("fovea: line " + number + " failed; the lines after it were not run");
        }
        return code;
      }
    }
    if (session.inTransaction()) {
      err().println("fovea: the transaction was not committed and is rolled back");
      return Main.MISTAKE;
    }
    return Main.OK;
  }
}
