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
 * The command line for files of databases.
 *
 * <pre>
 *   FILE                        a shell: commands, one a line; with --write it changes records
 *   verify FILE                 is everything in order?      nothing is changed
 *   stat FILE                   what takes the space?        nothing is changed
 *   tables FILE                 which tables are there?      nothing is changed
 *   schema FILE [TABLE]         what are the tables?         nothing is changed
 *   scan FILE TABLE [PART...]   which records are there?     nothing is changed
 *   get FILE TABLE PART...      what is in a record?         nothing is changed
 *   count FILE TABLE [PART...]  how many records are there?  nothing is changed
 *   export FILE TABLE           records as JSON or CSV       nothing is changed
 *   picture FILE -o PICTURE     where in the file is what?   nothing is changed
 *   dump FILE --page N          what is in a page?           nothing is changed
 *   dump FILE --log FROM..TO    what is in the log?          nothing is changed
 *   tail FILE [TABLE...]        which commits were there?    nothing is changed
 *   backup FILE DIRECTORY       copies it; opens FILE, which recovers it where it must
 *   create FILE [TABLE ...]     a new database, or a table in one
 *   put FILE TABLE WORD...      sets a record; opens FILE, as backup does
 *   delete FILE TABLE PART...   deletes a record; opens FILE, as backup does
 *   import FILE TABLE           sets records from JSON or CSV; opens FILE, as backup does
 *   restore FILE BACKUP...      makes FILE of a backup and those that add to it, verified
 *   compact FILE                makes it shorter; opens FILE, as backup does
 *   doctor [DIRECTORY]          is all here that a database wants?
 *   top PID|FILE                what does a process do with its databases?
 *   completion                  a script that makes bash or zsh complete all this
 *
 *   exit code   0  nothing is wrong
 *               1  something is: what is damaged, or can't be read
 *               2  a mistake in the command line or in what is imported, a file that is no
 *                  database, or that is in use
 *               4  there is no record with this key
 *               5  the output takes no more: a full disk
 * </pre>
 *
 * <p>A command that Ctrl-C ends in a shell has the code 130. One whose reader ends first, as {@code
 * head} does, ends at once, says nothing and has the code 141.
 *
 * <p>With {@code --json} the answer is one JSON value on standard output. Errors are lines on
 * standard error.
 */
@Command(
    name = "fovea",
    description =
        "Looks at files of Fovea databases, copies them, changes records, and makes files shorter.",
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
      CompletionCommand.class
    },
    mixinStandardHelpOptions = true,
    version = "fovea 0.1.0",
    customSynopsis = {
      "${COMMAND-FULL-NAME} FILE [--write]    a shell for FILE",
      "       ${COMMAND-FULL-NAME} COMMAND [OPTION...] ..."
    },
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {
      "0:nothing is wrong",
      "1:something is wrong with the file, or it can't be read; something is to be changed (doctor)",
      "2:a mistake in the command line or in what is imported, a file that is no database, or that is in use",
      "4:there is no record with this key",
      "5:the output takes no more: a full disk",
      "141:the reader of the output ended first, as 'head' does"
    })
public final class Main implements Callable<Integer> {
  /** A system property: what a user types to come here, for messages. */
  static final String COMMAND = "fovea.command";

  static final int OK = 0;
  static final int PROBLEMS = 1;
  static final int MISTAKE = 2;
  static final int NO_RECORD = 4;

  /** The output takes no more. */
  static final int NO_OUTPUT = 5;

  /** What the shell of a script of Unix says of a program that a closed pipe has ended. */
  static final int BROKEN_PIPE = 141;

  /** What the shell of a script of Unix says of a program that Ctrl-C has ended. */
  static final int STOPPED = 130;

  final InputStream in;
  final PrintWriter out;
  final PrintWriter err;

  /** The shell's that runs the command; null where it is a command line of its own. */
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
    // Warnings on one line each, and nothing below, unless the user has other plans for them.
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
   * @param in what is read where no file is named
   * @param out gets answers; one of {@link Output} ends the command where it takes no more
   * @param err gets errors
   * @param args the command line
   * @return its exit code
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

  /** How a command line says what went wrong. */
  static CommandLine configured(CommandLine line, PrintWriter err) {
    Main main = line.getCommand();
    return line.registerConverter(Path.class, Main::path)
        .setExecutionStrategy(Main::runLast)
        .setParameterExceptionHandler((e, a) -> mistaken(e, err))
        .setExecutionExceptionHandler((e, c, r) -> failed(e, err, main.session));
  }

  private static Path path(String name) {
    try {
      return Path.of(name);
    } catch (InvalidPathException e) {
      throw new TypeConversionException("it is no name of a file: " + e.getReason());
    }
  }

  /** Errors of the output of help and versions are errors of a command. */
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
    err.println((command.isEmpty() ? "'help'" : "'" + command + " --help'") + " tells more.");
    return MISTAKE;
  }

  /** What begins with a file and not with a command is for the shell. */
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

  /** Says what a command ended with; returns the exit code for it. */
  static int failed(Exception e, PrintWriter err, @Nullable Session session) {
    if (session != null && session.hasStopped(e)) {
      err.println("fovea: stopped");
      return STOPPED;
    }
    if (e instanceof Output.Failed f && f.isQuiet()) {
      return f.code;
    }
    err.println("fovea: " + (e.getMessage() == null ? e : e.getMessage()));
    if (e instanceof DatabaseLockedException) {
      err.println(
          "fovea: commands that only look at it can do so with --copy; 'backup --in-use' copies it");
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

  /** Log lines from warnings on. */
  public static final class Quiet {
    /** Configures java.util.logging, which makes one of these. */
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
