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
      "Opens a database that nobody has open, and runs commands for it, line by line: those of this"
          + " list, without FILE; and begin, commit, rollback, help, exit. 'fovea FILE' does the same."
          + " Nothing on disk changes, unless --write is given.",
      "At a terminal it completes commands, tables, indexes and fields (Tab), remembers lines (in"
          + " ~/.fovea_history, or the file that FOVEA_HISTORY names; none if that is empty), and"
          + " Ctrl-C ends a command that runs. Ctrl-D ends the shell.",
      "If standard input is no terminal, it runs the lines that it reads there, up to the first one"
          + " that fails; its exit code is that of this line. A line that begins with # is a"
          + " comment."
    })
final class ShellCommand extends FileCommand {
  @Mixin final CopyOption copy = new CopyOption();

  @Option(names = "--write", description = "Opens FILE to change records as well.")
  boolean write;

  @Override
  public Integer call() {
    if (write && copy.copy) {
      throw mistake("what is changed in a copy is lost: give --write or --copy");
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
          err().println("fovea: line " + number + " failed; what comes after it was not run");
        }
        return code;
      }
    }
    if (session.inTransaction()) {
      err().println("fovea: the transaction was not committed, and is rolled back");
      return Main.MISTAKE;
    }
    return Main.OK;
  }
}
