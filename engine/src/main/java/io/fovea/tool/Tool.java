package io.fovea.tool;

import io.fovea.BackupOptions;
import io.fovea.BackupPosition;
import io.fovea.BackupReport;
import io.fovea.FileReport;
import io.fovea.error.CorruptionException;
import io.fovea.error.DatabaseLockedException;
import io.fovea.error.FoveaException;
import io.fovea.error.IncompatibleFormatException;
import io.fovea.error.IncompatibleSchemaException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.UncleanShutdownException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;
import picocli.CommandLine.UnmatchedArgumentException;

/**
 * The command line for files of databases.
 *
 * <pre>
 *   verify FILE                 is everything in order?      nothing is changed
 *   stat FILE                   what takes the space?        nothing is changed
 *   dump FILE --page N          what is in a page?           nothing is changed
 *   dump FILE --log FROM..TO    what is in the log?          nothing is changed
 *   backup FILE DIRECTORY       copies it; opens FILE, which recovers it where it must
 *   restore FILE BACKUP...      makes FILE of a backup and those that add to it, verified
 *
 *   exit code   0  nothing is wrong
 *               1  something is: what is damaged, or can't be read
 *               2  a mistake in the command line, a file that is no database, or that is in use
 * </pre>
 *
 * <p>With {@code --json} the answer is one JSON value on standard output. Errors are lines on
 * standard error.
 */
@Command(
    name = "io.fovea.tool.Tool",
    description = "Looks at files of Fovea databases, and copies them.",
    subcommands = {
      Tool.Verify.class,
      Tool.Stat.class,
      Tool.Dump.class,
      Tool.Backup.class,
      Tool.Restore.class
    },
    mixinStandardHelpOptions = true,
    version = "fovea 0.1.0",
    synopsisSubcommandLabel = "COMMAND",
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {
      "0:nothing is wrong",
      "1:something is wrong with the file, or it can't be read",
      "2:a mistake in the command line, a file that is no database, or that is in use"
    })
public final class Tool implements Callable<Integer> {
  /** A system property: what a user types to come here, for messages. */
  static final String COMMAND = "fovea.command";

  static final int OK = 0;
  static final int PROBLEMS = 1;
  static final int MISTAKE = 2;

  private final PrintWriter out;
  private final PrintWriter err;

  @Spec @Nullable CommandSpec spec;

  private Tool(PrintWriter out, PrintWriter err) {
    this.out = out;
    this.err = err;
  }

  /**
   * Runs the tool, and ends the JVM with its exit code.
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
    PrintWriter out = new PrintWriter(System.out, true, StandardCharsets.UTF_8);
    PrintWriter err = new PrintWriter(System.err, true, StandardCharsets.UTF_8);
    System.exit(execute(out, err, args));
  }

  /**
   * Runs a command; never throws.
   *
   * @param out gets answers
   * @param err gets errors
   * @param args the command line
   * @return its exit code
   */
  public static int execute(PrintWriter out, PrintWriter err, String... args) {
    int code =
        new CommandLine(new Tool(out, err))
            .setCommandName(System.getProperty(COMMAND, Tool.class.getName()))
            .setOut(out)
            .setErr(err)
            .setParameterExceptionHandler(
                (e, a) -> {
                  err.println("fovea: " + e.getMessage());
                  UnmatchedArgumentException.printSuggestions(e, err);
                  err.println(
                      "'"
                          + e.getCommandLine().getCommandSpec().qualifiedName()
                          + " --help' tells"
                          + " more.");
                  return MISTAKE;
                })
            .setExecutionExceptionHandler((e, c, r) -> failed(e, err))
            .execute(args);
    out.flush();
    err.flush();
    return code;
  }

  private static int failed(Exception e, PrintWriter err) {
    err.println("fovea: " + (e.getMessage() == null ? e : e.getMessage()));
    if (e instanceof CorruptionException && e.getCause() instanceof IllegalStateException all) {
      String.valueOf(all.getMessage()).lines().forEach(p -> err.println("  " + p));
    }
    return switch (e) {
      case DatabaseLockedException l -> MISTAKE;
      case IncompatibleFormatException i -> MISTAKE;
      case IncompatibleSchemaException i -> MISTAKE;
      case InvalidUseException i -> MISTAKE;
      case UncleanShutdownException u -> PROBLEMS;
      case FoveaException f -> PROBLEMS;
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
        s.commandLine(), "a command is missing: verify, stat, dump, backup or restore");
  }

  /** What the commands have in common. */
  @Command(mixinStandardHelpOptions = true)
  abstract static class Base implements Callable<Integer> {
    @ParentCommand @Nullable Tool tool;
    @Spec @Nullable CommandSpec spec;

    @Parameters(index = "0", paramLabel = "FILE", description = "The file of the database.")
    @Nullable Path file;

    @Option(names = "--json", description = "Answers with one JSON value.")
    boolean json;

    PrintWriter out() {
      return Objects.requireNonNull(tool).out;
    }

    PrintWriter err() {
      return Objects.requireNonNull(tool).err;
    }

    Path file() {
      return Objects.requireNonNull(file);
    }

    ParameterException mistake(String text) {
      return new ParameterException(Objects.requireNonNull(spec).commandLine(), text);
    }
  }

  // ------------------------------------------------------------------------------------- verify

  /** Is everything in order? */
  @Command(
      name = "verify",
      description = {
        "Checks a whole database that nobody has open: every page, every tree, every record of the"
            + " log that recovery would read. A file that was not closed is recovered in memory,"
            + " and what comes out is checked. Nothing on disk changes.",
        "Indexes by extractors are checked for their structure only."
      })
  static final class Verify extends Base {
    @Override
    public Integer call() {
      FileReport report = FileReport.verify(file(), FileVerifier.options());
      if (json) {
        out().println(Json.of(Report.verified(report)));
      } else {
        out().println(Report.summary(file(), report));
        report.problems().forEach(p -> out().println("  " + p));
        out().println(report.ok() ? "Nothing is wrong." : "The database is damaged.");
      }
      return report.ok() ? OK : PROBLEMS;
    }
  }

  // --------------------------------------------------------------------------------------- stat

  /** What takes the space? */
  @Command(
      name = "stat",
      description = {
        "Says what takes the space of a database that nobody has open: by table, index and kind of"
            + " page, and what its superblock says. Of a file that was not closed it shows what"
            + " recovery makes of it. Nothing on disk changes."
      })
  static final class Stat extends Base {
    @Override
    public Integer call() {
      FileReport report = FileReport.inspect(file(), FileVerifier.options());
      if (json) {
        out().println(Json.of(Report.all(report)));
      } else {
        Report.print(out(), file(), report);
      }
      report.problems().forEach(p -> err().println("fovea: " + p));
      return report.ok() ? OK : PROBLEMS;
    }
  }

  // --------------------------------------------------------------------------------------- dump

  /** What is in a page, or in the log? */
  @Command(
      name = "dump",
      description = {
        "Shows a page, or records of the log, in words, as they are on disk. Nothing on disk"
            + " changes."
      })
  static final class Dump extends Base {
    /** One of the two. */
    static final class What {
      @Option(names = "--page", paramLabel = "N", required = true, description = "This page.")
      @Nullable Long page;

      @Option(
          names = "--log",
          paramLabel = "FROM..TO",
          required = true,
          description = {
            "The records that begin in this range of LSNs. FROM may be left out: where recovery"
                + " begins. So may TO: to the end."
          })
      @Nullable String log;
    }

    @ArgGroup(multiplicity = "1")
    @Nullable What what;

    @Option(names = "--hex", description = "All bytes as well.")
    boolean hex;

    @Override
    public Integer call() {
      What w = Objects.requireNonNull(what);
      try (OpenFile raw = OpenFile.open(file())) {
        if (w.page != null) {
          return raw.dumpPage(w.page, out(), json, hex);
        }
        String range = String.valueOf(w.log);
        int dots = range.indexOf("..");
        if (dots < 0) {
          throw mistake("--log takes a range of LSNs, as in --log 4096..8192 or --log ..");
        }
        long from = lsn(range.substring(0, dots), -1);
        long to = lsn(range.substring(dots + 2), Long.MAX_VALUE);
        return raw.dumpLog(from, to, out(), err(), json, hex);
      }
    }

    private long lsn(String text, long absent) {
      try {
        return text.isEmpty() ? absent : Long.decode(text);
      } catch (NumberFormatException e) {
        throw mistake("\"" + text + "\" is no LSN: a number of bytes, as dump shows them");
      }
    }
  }

  // ------------------------------------------------------------------------------------- backup

  /** Copies a database. */
  @Command(
      name = "backup",
      description = {
        "Copies a database that nobody has open into a directory. FILE is opened for that, which"
            + " recovers it if it was not closed. No existing file is overwritten. (A database that"
            + " is in use is copied by the application that has it open: Database.backup.)",
        "With --since it copies the pages that were changed since an earlier backup."
      })
  static final class Backup extends Base {
    @Parameters(
        index = "1",
        paramLabel = "DIRECTORY",
        description = "Where the copy goes; made where it does not exist.")
    @Nullable Path directory;

    @Option(
        names = "--rate",
        paramLabel = "MIB",
        description = "At most so many MiB a second; 0, the default, for no limit.")
    long rate;

    @Option(
        names = "--since",
        paramLabel = "BACKUP",
        description = {
          "Only what was changed since an earlier backup: its directory, its archive, or its position"
              + " as text."
        })
    @Nullable String since;

    private BackupOptions options() {
      BackupOptions all = BackupOptions.defaults().bytesPerSecond(rate << 20);
      String s = since;
      if (s == null) {
        return all;
      }
      try {
        return all.since(BackupPosition.parse(s));
      } catch (IllegalArgumentException e) {
        return all.since(BackupPosition.of(Path.of(s)));
      }
    }

    @Override
    public Integer call() {
      if (rate < 0 || rate > Long.MAX_VALUE >>> 20) {
        throw mistake("--rate takes a number of MiB a second, and 0 for no limit");
      }
      BackupReport report = OpenFile.backup(file(), Objects.requireNonNull(directory), options());
      if (json) {
        out().println(Json.of(report));
      } else {
        out()
            .println(
                String.format(
                    Locale.ROOT,
                    "%s: %d pages of %d, %d bytes of data, %d bytes of log, in %s",
                    directory,
                    report.pagesCopied(),
                    report.pages(),
                    report.dataBytes(),
                    report.logBytes(),
                    report.duration()));
        if (report.position() != null) {
          out().println("position " + report.position());
        }
      }
      return OK;
    }
  }

  // ------------------------------------------------------------------------------------- restore

  /** Makes a database of a backup. */
  @Command(
      name = "restore",
      description = {
        "Makes a database of a full backup and of those that add to it, in their order: copies"
            + " them, verifies and recovers the copy, and gives it its name at last. No existing file"
            + " is overwritten. Of a backup that is damaged nothing is restored."
      })
  static final class Restore extends Base {
    @Parameters(
        index = "1..*",
        arity = "1..*",
        paramLabel = "BACKUP",
        description = {
          "The directory of a backup, the file of pages in it, or a tar archive that Database.backup"
              + " wrote: a full one first, then those that were made since it or since each other."
        })
    List<Path> backups = List.of();

    @Override
    public Integer call() {
      io.fovea.Restore restore = io.fovea.Restore.from(backups.get(0));
      for (Path incremental : backups.subList(1, backups.size())) {
        restore = restore.then(incremental);
      }
      FileReport report = restore.to(file(), FileVerifier.options());
      if (json) {
        out().println(Json.of(Report.verified(report)));
      } else {
        out().println(Report.summary(file(), report));
        out()
            .println(
                backups.size() == 1
                    ? "Nothing is wrong: the backup was restored."
                    : "Nothing is wrong: the " + backups.size() + " backups were restored.");
      }
      return OK;
    }
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
