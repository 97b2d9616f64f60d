package io.fovea.tpcc;

import io.fovea.Options;
import io.fovea.config.Durability;
import io.fovea.error.DatabaseLockedException;
import io.fovea.error.FoveaException;
import io.fovea.error.IncompatibleFormatException;
import io.fovea.error.IncompatibleSchemaException;
import io.fovea.error.PoolTooSmallException;
import io.fovea.error.UncleanShutdownException;
import io.fovea.tpcc.bench.DriverException;
import io.fovea.tpcc.bench.Exit;
import io.fovea.tpcc.lookups.LookupsCommand;
import io.fovea.tpcc.settings.SizeConverter;
import io.fovea.tpcc.settings.Version;
import io.fovea.tpcc.settings.WorkOptions;
import io.fovea.tpcc.sweep.FigureCommand;
import io.fovea.tpcc.sweep.SweepCommand;
import io.fovea.tpcc.ycsb.YcsbCommand;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;
import picocli.CommandLine.UnmatchedArgumentException;

/** The command line; see {@code tpcc.sh --help} and {@link Exit}. */
@Command(
    name = "tpcc",
    description = "A TPC-C-like driver and a transactional YCSB for Fovea.",
    subcommands = {
      Main.Load.class,
      Main.Run.class,
      Main.Check.class,
      LookupsCommand.class,
      YcsbCommand.class,
      SweepCommand.class,
      FigureCommand.class,
      ReportCommand.class,
      Main.RecoverBenchCommand.class,
      TrainCommand.class
    },
    mixinStandardHelpOptions = true,
    versionProvider = Version.class,
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {
      "0:the run and its check succeeded",
      "1:invalid options",
      "2:a consistency condition is violated",
      "3:the engine or the device failed",
      "4:the database is missing, in use, or not the one asked for",
      "130:stopped by a signal"
    })
public final class Main implements Callable<Integer> {
  /** System property with the command that the user typed, for messages. */
  static final String COMMAND = "tpcc.command";

  private final Scale scale;
  private final PrintWriter out;

  @Spec private CommandSpec spec;

  private Main(Scale scale, PrintWriter out) {
    this.scale = scale;
    this.out = out;
  }

  Scale scale() {
    return scale;
  }

  /** Runs the program. */
  public static void main(String[] args) {
    // Log one line per event, unless the user has configured logging.
    if (System.getProperty("java.util.logging.config.file") == null) {
      System.setProperty(
          "java.util.logging.SimpleFormatter.format",
          System.getProperty("java.util.logging.SimpleFormatter.format", "%4$s: %5$s%6$s%n"));
    }
    PrintWriter out = new PrintWriter(System.out, true, StandardCharsets.UTF_8);
    PrintWriter err = new PrintWriter(System.err, true, StandardCharsets.UTF_8);
    int code = execute(Scale.FULL, out, err, args);
    if (code != Exit.INTERRUPTED) {
      System.exit(code);
    }
    // The JVM is shutting down and waits only for this thread.
  }

  /** Runs a command and returns its exit code; never throws. */
  static int execute(Scale scale, PrintWriter out, PrintWriter err, String... args) {
    int code =
        commandLine(scale, out)
            .setOut(out)
            .setErr(err)
            .setParameterExceptionHandler(
                (e, a) -> {
                  err.println("tpcc: " + e.getMessage());
                  UnmatchedArgumentException.printSuggestions(e, err);
                  err.println(
                      "'"
                          + e.getCommandLine().getCommandSpec().qualifiedName()
                          + " --help' shows all options.");
                  return Exit.USAGE;
                })
            .setExecutionExceptionHandler((e, c, r) -> failed(e, err))
            .execute(args);
    out.flush();
    err.flush();
    return code;
  }

  private static CommandLine commandLine(Scale scale, PrintWriter out) {
    CommandLine line = new CommandLine(new Main(scale, out));
    line.setCommandName(System.getProperty(COMMAND, "java -jar tpcc.jar"));
    // Options after the name of the inner subcommand do not belong to sweep.
    line.getSubcommands().get("sweep").setStopAtPositional(true);
    return line;
  }

  private static int failed(Exception e, PrintWriter err) {
    err.println("tpcc: " + (e.getMessage() == null ? e : e.getMessage()));
    switch (e) {
      case DriverException d -> {
        if (d.getCause() != null) {
          d.getCause().printStackTrace(err);
        }
        return d.exitCode;
      }
      case DatabaseLockedException l -> {
        return Exit.UNUSABLE;
      }
      case IncompatibleFormatException i -> {
        return Exit.UNUSABLE;
      }
      case IncompatibleSchemaException i -> {
        return Exit.UNUSABLE;
      }
      case UncleanShutdownException u -> {
        return Exit.UNUSABLE;
      }
      case PoolTooSmallException p -> {
        return Exit.UNUSABLE;
      }
      case FoveaException f -> {
        return Exit.ERROR;
      }
      default -> {
        e.printStackTrace(err);
        return Exit.ERROR;
      }
    }
  }

  @Override
  public Integer call() {
    throw new ParameterException(
        spec.commandLine(),
        "no subcommand given; choose load, run, check, lookups, ycsb, sweep, figure or report");
  }

  /** The common part of the subcommands. */
  abstract static class Subcommand implements Callable<Integer> {
    @ParentCommand private Main main;
    @Spec private CommandSpec spec;
    @Mixin final Arguments.Store store = new Arguments.Store();

    Driver driver(WorkOptions work, Arguments.Measure measure) {
      String mistake = Arguments.mistake(store, work, measure);
      if (mistake != null) {
        throw mistake(mistake);
      }
      return new Driver(main.scale, main.out, store, work, measure);
    }

    CommandSpec spec() {
      return spec;
    }

    ParameterException mistake(String message) {
      return new ParameterException(spec.commandLine(), message);
    }

    void requireFile() {
      if (store.inMemory()) {
        throw mistake("--io memory works only with run: the database is lost at the end");
      }
    }
  }

  @Command(
      name = "load",
      description = "Creates a database and loads it.",
      mixinStandardHelpOptions = true,
      versionProvider = Version.class)
  static final class Load extends Subcommand {
    @Mixin private final WorkOptions work = new WorkOptions();

    @Override
    public Integer call() {
      requireFile();
      return driver(work, Arguments.Measure.nothing()).load();
    }
  }

  @Command(
      name = "run",
      description = "Runs the mix, measures and checks. Loads the database first if it is empty.",
      mixinStandardHelpOptions = true,
      versionProvider = Version.class)
  static final class Run extends Subcommand {
    @Mixin private final WorkOptions work = new WorkOptions();
    @Mixin private final Arguments.Measure measure = new Arguments.Measure();

    @Override
    public Integer call() {
      if (measure.run.duration.isZero()) {
        throw mistake("--duration must be more than 0");
      }
      return driver(work, measure).run();
    }
  }

  @Command(
      name = "check",
      description = "Checks the twelve consistency conditions of clause 3.3.2.",
      mixinStandardHelpOptions = true,
      versionProvider = Version.class)
  static final class Check extends Subcommand {
    @Option(
        names = "--acknowledged",
        paramLabel = "FILE",
        hidden = true,
        description = "also look up each transaction of the list FILE")
    private Path acknowledged;

    @Override
    public Integer call() {
      requireFile();
      if (acknowledged != null && !Files.isReadable(acknowledged)) {
        throw mistake("--acknowledged: no such file: " + acknowledged);
      }
      return driver(new WorkOptions(), Arguments.Measure.nothing()).check(acknowledged);
    }
  }

  @Command(
      name = "recover-bench",
      description = "Measures how fast an open replays the log after a crash.",
      hidden = true,
      mixinStandardHelpOptions = true,
      versionProvider = Version.class)
  static final class RecoverBenchCommand extends Subcommand {
    private static final Path DEFAULT_PATH = Path.of("tpcc-recover.fovea");

    @Mixin private final WorkOptions work = new WorkOptions();

    @Option(
        names = "--replay",
        paramLabel = "SIZE",
        converter = SizeConverter.class,
        description = "amount of log to replay (default: 1g)")
    private long replay = 1L << 30;

    @Option(names = "--fill", hidden = true, description = "only fill the log, and halt")
    private boolean fill;

    @Option(names = "--open", hidden = true, description = "only open an existing database")
    private boolean open;

    @Override
    public Integer call() {
      requireFile();
      boolean mine = store.path == null;
      store.path = mine ? DEFAULT_PATH : store.path;
      if (store.log == null) {
        store.log = 4 * Math.max(replay, Options.defaults().log().maxBytes());
      }
      if (store.durability == null) {
        store.durability = Durability.ASYNC;
      }
      if (store.durability == Durability.NONE) {
        throw mistake("--durability: recovery needs a log");
      }
      if (store.buffer == null) {
        store.buffer =
            WarehouseMemory.bufferFor(store.warehouses == null ? 1 : store.warehouses, replay);
      }
      Driver driver = driver(work, Arguments.Measure.nothing());
      if (fill) {
        driver.fillAndHalt(replay);
      }
      if (!open) {
        if (Files.exists(store.path)) {
          throw new DriverException(
              Exit.UNUSABLE, store.path + " already exists; delete it or choose another --path");
        }
        List<String> args = new ArrayList<>(spec().commandLine().getParseResult().originalArgs());
        args.add("--fill");
        RecoverBench.elsewhere(args);
      }
      int code = driver.recover();
      if (mine && code == Exit.OK) {
        driver.delete();
      }
      return code;
    }
  }
}
