package io.fovea.cli;

import io.fovea.error.CorruptionException;
import io.fovea.error.DatabaseLockedException;
import io.fovea.error.FoveaException;
import io.fovea.error.IncompatibleFormatException;
import io.fovea.error.IncompatibleSchemaException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.UncleanShutdownException;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExecutionException;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;
import picocli.CommandLine.TypeConversionException;
import picocli.CommandLine.UnmatchedArgumentException;

/**
 * The command line for database files.
 *
 * <pre>
 *   FILE                        a shell: one command per line; changes records with --write
 *   verify FILE                 checks everything                 changes nothing
 *   stat FILE                   shows the use of space            changes nothing
 *   tables FILE                 lists the tables                  changes nothing
 *   schema FILE [TABLE]         describes tables                  changes nothing
 *   scan FILE TABLE [PART...]   shows records                     changes nothing
 *   get FILE TABLE PART...      shows a record                    changes nothing
 *   count FILE TABLE [PART...]  counts records                    changes nothing
 *   export FILE TABLE           writes records as JSON or CSV     changes nothing
 *   picture FILE -o PICTURE     draws a map of the pages          changes nothing
 *   dump FILE --page N          shows a page                      changes nothing
 *   dump FILE --log FROM..TO    shows records of the log          changes nothing
 *   tail FILE [TABLE...]        shows commits                     changes nothing
 *   backup FILE DIRECTORY       copies it; opens FILE, which recovers it if necessary
 *   create FILE [TABLE ...]     creates a database, or a table in one
 *   put FILE TABLE WORD...      sets a record; opens FILE, as backup does
 *   delete FILE TABLE PART...   deletes a record; opens FILE, as backup does
 *   import FILE TABLE           sets records from JSON or CSV; opens FILE, as backup does
 *   restore FILE BACKUP...      creates FILE from a full backup and incremental ones, verified
 *   compact FILE                shortens it; opens FILE, as backup does
 *   doctor [DIRECTORY]          checks the environment of a database
 *   top PID|FILE                shows the activity of a process
 *   serve FILE                  a console in the browser; changes records with --write
 *   completion                  writes a completion script for bash or zsh
 *
 *   exit code   0  success
 *               1  damage, or unreadable data
 *               2  wrong command line or input, no database, or a file in use
 *               4  no record with this key
 *               5  the output can't be written: a full disk
 * </pre>
 *
 * <p>A command that Ctrl-C ends has the code 130. A command whose reader ends first, as {@code
 * head} does, ends silently with the code 141.
 *
 * <p>With {@code --json} the answer is one JSON value on standard output. Errors are lines on
 * standard error.
 */
@Command(
    name = "fovea",
    description = "Inspects and copies Fovea database files, changes records, and shortens files.",
    subcommands = {
      ShellCommand.class,
      VerifyCommand.class,
      StatCommand.class,
      TablesCommand.class,
      SchemaCommand.class,
      ScanCommand.class,
      GetCommand.class,
      CountCommand.class,
      ExportCommand.class,
      DumpCommand.class,
      TailCommand.class,
      PictureCommand.class,
      BackupCommand.class,
      PutCommand.class,
      DeleteCommand.class,
      ImportCommand.class,
      RestoreCommand.class,
      CompactCommand.class,
      CreateCommand.class,
      DoctorCommand.class,
      TopCommand.class,
      ServeCommand.class,
      CompletionCommand.class
    },
    mixinStandardHelpOptions = true,
    versionProvider = Version.class,
    customSynopsis = {
      "${COMMAND-FULL-NAME} FILE [--write]    a shell for FILE",
      "       ${COMMAND-FULL-NAME} COMMAND [OPTION...] ..."
    },
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {
      "0:success",
      "1:damage, or unreadable data; a finding of doctor",
      "2:wrong command line or input, no database, or a file in use",
      "4:no record with this key",
      "5:the output can't be written: a full disk",
      "141:the reader of the output ended, as 'head' does"
    })
public final class Main implements Callable<Integer> {
  /** A system property: the command that the user typed, for messages. */
  static final String COMMAND = "fovea.command";

  static final int OK = 0;
  static final int PROBLEMS = 1;
  static final int MISTAKE = 2;
  static final int NO_RECORD = 4;

  /** The output can't be written. */
  static final int NO_OUTPUT = 5;

  /** The code that Unix shells use for a program ended by a closed pipe. */
  static final int BROKEN_PIPE = 141;

  /** The code that Unix shells use for a program ended by Ctrl-C. */
  static final int STOPPED = 130;

  final InputStream in;
  final PrintWriter out;
  final PrintWriter err;

  /** The session of the shell that runs the command; null for a command line. */
  final @Nullable Session session;

  @Spec @Nullable CommandSpec spec;

  Main(InputStream in, PrintWriter out, PrintWriter err, @Nullable Session session) {
    this.in = in;
    this.out = out;
    this.err = err;
    this.session = session;
  }

  /**
   * Runs the command, and ends the JVM with its exit code.
   *
   * @param args the command line
   */
  public static void main(String[] args) {
    // Print warnings on one line each, and nothing below, unless the user has configured logging.
    if (System.getProperty("java.util.logging.config.file") == null) {
      System.setProperty(
          "java.util.logging.SimpleFormatter.format",
          System.getProperty("java.util.logging.SimpleFormatter.format", "%4$s: %5$s%6$s%n"));
      System.setProperty(
          "java.util.logging.config.class",
          System.getProperty("java.util.logging.config.class", Quiet.class.getName()));
    }
    PrintWriter err = new PrintWriter(System.err, true, StandardCharsets.UTF_8);
    System.exit(execute(System.in, Output.standard(), err, args));
  }

  /**
   * Runs a command; never throws.
   *
   * @param in read if no file is named
   * @param out receives answers; a writer of {@link Output} ends the command when it can't be
   *     written
   * @param err receives errors
   * @param args the command line
   * @return the exit code
   */
  public static int execute(InputStream in, PrintWriter out, PrintWriter err, String... args) {
    CommandLine line =
        commandLine(new Main(in, out, err, null), System.getProperty(COMMAND, "fovea"));
    int code = configured(line, err).execute(withShell(line, args));
    try {
      out.flush();
    } catch (Output.Failed e) {
      code = failed(e, err, null);
    }
    err.flush();
    return code;
  }

  static CommandLine commandLine(Main main, String name) {
    return new CommandLine(main).setCommandName(name).setOut(main.out).setErr(main.err);
  }

  /** Sets how a command line reports errors. */
  static CommandLine configured(CommandLine line, PrintWriter err) {
    Main main = line.getCommand();
    return line.registerConverter(Path.class, Main::path)
        .setExecutionStrategy(Main::runLast)
        .setParameterExceptionHandler((e, a) -> mistaken(e, err))
        .setExecutionExceptionHandler((e, c, r) -> failed(e, err, main.session));
  }

  private static Path path(String name) {
    if (name.isEmpty()) { // likely an unset variable; it would mean the current folder
      throw new TypeConversionException("it is not a file name: it is empty");
    }
    try {
      return Path.of(name);
    } catch (InvalidPathException e) {
      throw new TypeConversionException("it is not a file name: " + e.getReason());
    }
  }

  /** Handles output errors of help and versions like those of commands. */
  private static int runLast(CommandLine.ParseResult parsed) {
    try {
      return new CommandLine.RunLast().execute(parsed);
    } catch (Output.Failed e) {
      throw new ExecutionException(parsed.commandSpec().commandLine(), e.getMessage(), e);
    }
  }

  private static int mistaken(ParameterException e, PrintWriter err) {
    err.println("fovea: " + e.getMessage());
    UnmatchedArgumentException.printSuggestions(e, err);
    String command = e.getCommandLine().getCommandSpec().qualifiedName().strip();
    err.println("See " + (command.isEmpty() ? "'help'" : "'" + command + " --help'") + ".");
    return MISTAKE;
  }

  /** Inserts the shell command if the arguments begin with a file. */
  private static String[] withShell(CommandLine line, String[] args) {
    for (String arg : args) {
      if (line.getSubcommands().containsKey(arg)) {
        break;
      }
      if (!arg.startsWith("-")) {
        if (!arg.isEmpty() && Files.exists(Path.of(arg))) {
          String[] more = new String[args.length + 1];
          more[0] = "shell";
          System.arraycopy(args, 0, more, 1, args.length);
          return more;
        }
        break;
      }
    }
    return args;
  }

  /** Reports the exception that ended a command; returns the exit code. */
  static int failed(Exception e, PrintWriter err, @Nullable Session session) {
    if (session != null && session.hasStopped(e)) {
      err.println("fovea: stopped");
      return STOPPED;
    }
    if (e instanceof Session.Stopped) { // the JVM is ending
      return STOPPED;
    }
    if (e instanceof Output.Failed f && f.isQuiet()) {
      return f.code;
    }
    err.println("fovea: " + (e.getMessage() == null ? e : e.getMessage()));
    if (e instanceof DatabaseLockedException) {
      err.println("fovea: commands that only read it accept --copy; 'backup --in-use' copies it");
    }
    if (e instanceof CorruptionException && e.getCause() instanceof IllegalStateException all) {
      String.valueOf(all.getMessage()).lines().forEach(p -> err.println("  " + p));
    }
    return switch (e) {
      case Output.Failed f -> f.code;
      case DatabaseLockedException l -> MISTAKE;
      case IncompatibleFormatException i -> MISTAKE;
      case IncompatibleSchemaException i -> MISTAKE;
      case InvalidUseException i -> MISTAKE;
      case UncleanShutdownException u -> PROBLEMS;
      case FoveaException f -> PROBLEMS;
      case IOException io -> PROBLEMS;
      case UncheckedIOException io -> PROBLEMS;
      default -> {
        e.printStackTrace(err);
        yield PROBLEMS;
      }
    };
  }

  @Override
  public Integer call() {
    CommandSpec s = spec;
    if (s == null) {
      throw new IllegalStateException("Not run by picocli.");
    }
    throw new ParameterException(
        s.commandLine(),
        "a command is missing: one of " + String.join(", ", s.subcommands().keySet()));
  }

  /** Logs warnings and above. */
  public static final class Quiet {
    /** Configures java.util.logging, which instantiates this class. */
    public Quiet() throws java.io.IOException {
      String config =
          "handlers=java.util.logging.ConsoleHandler\n"
              + ".level=WARNING\n"
              + "java.util.logging.ConsoleHandler.level=WARNING\n";
      java.util.logging.LogManager.getLogManager()
          .readConfiguration(
              new java.io.ByteArrayInputStream(config.getBytes(StandardCharsets.ISO_8859_1)));
    }
  }
}
