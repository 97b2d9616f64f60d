package io.fovea.tpcc.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;

/**
 * {@code --then}: further runs on the same open database, which save loading and starting a JVM.
 * Each has the options of the first run, except those that it overrides.
 */
public final class Then {
  @Option(
      names = "--then",
      paramLabel = "OPTIONS",
      description =
          "afterwards, do another run on the same database, with these options instead of those given;"
              + " such as 'threads=16 json=second.json'; repeatable")
  private List<String> runs = new ArrayList<>();

  /** Called by picocli. */
  public Then() {}

  /**
   * Returns the commands of the further runs.
   *
   * @param spec the spec of the parsed command, which has this as a mixin
   * @param make creates a command without options
   * @return a parsed command for each run
   * @throws ParameterException if their options are invalid
   */
  public <T> List<T> parse(CommandSpec spec, Supplier<T> make) {
    List<String> args = spec.commandLine().getParseResult().originalArgs();
    List<String> own = args.subList(args.indexOf(spec.name()) + 1, args.size());
    List<T> commands = new ArrayList<>();
    for (String run : runs) {
      List<String> with = new ArrayList<>(own);
      for (String option : run.strip().split("\\s+")) {
        with.add("--" + option);
      }
      T command = make.get();
      try {
        new CommandLine(command)
            .setOverwrittenOptionsAllowed(true)
            .parseArgs(with.toArray(new String[0]));
      } catch (ParameterException e) {
        throw new ParameterException(spec.commandLine(), "--then: " + e.getMessage(), e);
      }
      commands.add(command);
    }
    return commands;
  }
}
