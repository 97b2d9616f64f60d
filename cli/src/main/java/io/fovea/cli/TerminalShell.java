package io.fovea.cli;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.jline.reader.EndOfFileException;
import org.jline.reader.LineReader;
import org.jline.reader.LineReaderBuilder;
import org.jline.reader.UserInterruptException;
import org.jline.terminal.Terminal;
import org.jline.terminal.TerminalBuilder;
import org.jline.terminal.spi.SystemStream;
import org.jline.terminal.spi.TerminalProvider;
import org.jspecify.annotations.Nullable;

/**
 * A shell at a terminal, whose lines JLine reads.
 *
 * <p>While a line is read, JLine handles Ctrl-C and the window size. While a command runs, the
 * terminal has the user's own settings, so Ctrl-C is a signal, which stops the command. The
 * terminal is accessed through the foreign function API or, where that is forbidden, the programs
 * {@code stty} and {@code tty}; no JNI library is unpacked. Not thread-safe.
 */
final class TerminalShell implements AutoCloseable {
  private static final String PROVIDERS = "ffm,exec";

  /** A strong reference: the logging framework keeps only weak ones, and would lose the level. */
  private static final Logger JLINE = Logger.getLogger("org.jline");

  private final Terminal terminal;
  private final Shell shell;
  private final PrintWriter out;

  private TerminalShell(Terminal terminal, Session session, PrintWriter err, boolean json) {
    this.terminal = terminal;
    this.out = terminal.writer();
    this.shell = new Shell(session, out, err, json);
  }

  /** Opens a shell; null if the standard streams are not a terminal. */
  static @Nullable TerminalShell open(Session session, PrintWriter err, boolean json)
      throws IOException {
    JLINE.setLevel(Level.SEVERE); // suppresses messages about missing terminal features
    if (!isTerminal(SystemStream.Input) || !isTerminal(SystemStream.Output)) {
      return null;
    }
    Terminal terminal =
        TerminalBuilder.builder()
            .system(true)
            .providers(PROVIDERS)
            .dumb(true)
            .nativeSignals(true)
            .signalHandler(Terminal.SignalHandler.SIG_DFL)
            .build();
    return new TerminalShell(terminal, session, err, json);
  }

  /** Whether a stream is a terminal. */
  static boolean isTerminal(SystemStream stream) {
    for (String name : PROVIDERS.split(",")) {
      try {
        return TerminalProvider.load(name).isSystemStream(stream);
      } catch (IOException | RuntimeException | LinkageError e) {
        // try the next one
      }
    }
    return false;
  }

  /** Runs until the user ends it. */
  int run() {
    Session session = shell.session();
    terminal.handle(Terminal.Signal.INT, signal -> session.stop());
    LineReader reader = reader(session);
    out.println(
        "Fovea, "
            + session.database().name()
            + (session.writes() ? "" : ", read-only")
            + ". 'help' lists the commands, Ctrl-D ends.");
    while (!shell.ends()) {
      String line;
      try {
        line = reader.readLine(prompt(session));
      } catch (UserInterruptException e) {
        continue;
      } catch (EndOfFileException e) {
        break;
      }
      shell.run(line);
    }
    if (session.inTransaction()) {
      out.println("The transaction was not committed and is rolled back.");
    }
    return Main.OK;
  }

  private static String prompt(Session session) {
    Path name = session.file().getFileName();
    return name + (session.inTransaction() ? "*> " : "> ");
  }

  private LineReader reader(Session session) {
    LineReaderBuilder b =
        LineReaderBuilder.builder()
            .appName("fovea")
            .terminal(terminal)
            .parser(Words.parser())
            .completer(new ShellCompleter(shell))
            .variable(LineReader.SECONDARY_PROMPT_PATTERN, "> ")
            .option(LineReader.Option.DISABLE_EVENT_EXPANSION, true)
            .option(LineReader.Option.HISTORY_IGNORE_SPACE, true)
            .option(LineReader.Option.AUTO_FRESH_LINE, true);
    Path history = history();
    if (history != null) {
      b.variable(LineReader.HISTORY_FILE, history);
    }
    return b.build();
  }

  /** The history file, readable only by its user, because lines have values in them. */
  private static @Nullable Path history() {
    String named = System.getenv("FOVEA_HISTORY");
    if (named != null && named.isEmpty()) {
      return null;
    }
    Path file =
        named != null
            ? Path.of(named)
            : Path.of(System.getProperty("user.home", ""), ".fovea_history");
    try {
      if (!Files.exists(file)) {
        Files.createFile(
            file,
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
      }
      return Files.isWritable(file) ? file.toAbsolutePath() : null;
    } catch (IOException | UnsupportedOperationException e) {
      return null; // the history lasts until the shell ends
    }
  }

  @Override
  public void close() throws IOException {
    terminal.close();
  }
}
