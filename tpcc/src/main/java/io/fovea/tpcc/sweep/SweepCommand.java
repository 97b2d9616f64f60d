package io.fovea.tpcc.sweep;

import io.fovea.tpcc.bench.DriverException;
import io.fovea.tpcc.bench.Exit;
import io.fovea.tpcc.bench.Jvm;
import io.fovea.tpcc.bench.Progress;
import io.fovea.tpcc.settings.Version;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code tpcc.sh sweep}. */
@Command(
    name = "sweep",
    description =
        "Runs another subcommand with all combinations of option values, in several rounds,"
            + " each in a separate JVM. Writes the medians as a table in Markdown and as JSON,"
            + " with a figure if an option is numeric.",
    mixinStandardHelpOptions = true,
    versionProvider = Version.class)
public final class SweepCommand implements Callable<Integer> {
  private static final int MAX_ROUNDS = 1_000;

  @Spec private CommandSpec spec;

  @Option(
      names = "--vary",
      paramLabel = "OPTION=VALUES",
      description = "an option of the subcommand and its values, such as threads=2,16,64")
  private List<String> vary = new ArrayList<>();

  @Option(
      names = "--then",
      paramLabel = "OPTION=VALUES",
      description =
          "options to vary within one JVM and open database, to load only once; needs a"
              + " subcommand with --then")
  private List<String> then = new ArrayList<>();

  @Option(
      names = "--rounds",
      paramLabel = "N",
      description = "runs of each combination (default: ${DEFAULT-VALUE})")
  private int rounds = 3;

  @Option(
      names = "--out",
      paramLabel = "FOLDER",
      description = "output folder (default: sweep in the current folder)")
  private Path out = Path.of("sweep");

  @Option(
      names = "--title",
      paramLabel = "TEXT",
      description = "title of table and figure (default: the subcommand)")
  private String title;

  @Parameters(
      arity = "1..*",
      paramLabel = "SUBCOMMAND",
      description = "a subcommand with --json, and its fixed options: ycsb run --workload a")
  private List<String> command;

  /** Called by picocli. */
  public SweepCommand() {}

  @Override
  public Integer call() throws IOException {
    Matrix matrix = parse("--vary", vary);
    Matrix within = parse("--then", then);
    if (matrix.names().stream().anyMatch(within.names()::contains)) {
      throw new ParameterException(spec.commandLine(), "--then repeats an option of --vary");
    }
    if (!then.isEmpty() && out.toString().matches(".*\\s.*")) {
      throw new ParameterException(
          spec.commandLine(), "--out must not contain spaces if --then is used");
    }
    if (rounds < 1 || rounds > MAX_ROUNDS) {
      throw new ParameterException(spec.commandLine(), "--rounds: 1 to " + MAX_ROUNDS);
    }
    if (Files.exists(out) && !Files.isDirectory(out)) {
      throw new ParameterException(spec.commandLine(), "--out: " + out + " is not a folder");
    }
    Progress progress = new Progress(spec.commandLine().getOut());
    Sweep sweep = new Sweep(matrix, within, rounds, command, out, progress);
    int worst = sweep.run(this::elsewhere);
    sweep.write(title != null ? title : String.join(" ", command));
    return worst;
  }

  private Matrix parse(String option, List<String> given) {
    try {
      return Matrix.parse(given);
    } catch (IllegalArgumentException e) {
      throw new ParameterException(spec.commandLine(), option + ": " + e.getMessage());
    }
  }

  /** Runs a command of this program in a JVM with the same options. */
  private int elsewhere(List<String> args, Path output) throws IOException {
    Process process =
        Jvm.like(spec.root().userObject().getClass(), args)
            .redirectErrorStream(true)
            .redirectOutput(output.toFile())
            .start();
    try {
      return process.waitFor();
    } catch (InterruptedException e) {
      process.destroy();
      Thread.currentThread().interrupt();
      throw new DriverException(Exit.INTERRUPTED, "interrupted");
    }
  }
}
