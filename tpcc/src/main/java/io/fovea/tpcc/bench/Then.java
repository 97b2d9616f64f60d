package io.fovea.tpcc.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;

/**
 * {@code --then}: further runs on the same open database, so that loading it and starting a JVM are
 * paid for once. Each has the options of the first, but for those that it names.
 */
public final class Then {
  @Option(
      names = "--then",
      paramLabel = "OPTIONS",
      description =
          "after that, on the same database, another run with these options in place of those given"
              + " otherwise, such as 'threads=16 json=second.json'; as often as there are runs")
  private List<String> runs = new ArrayList<>();

  /** Made by the command line. */
  public Then() {}

  /**
   * The commands of the further runs.
   *
   * @param spec of the command that was parsed, which has this as a mixin
   * @param make makes a command without options
   * @return a command for each of them, parsed
   * @throws ParameterException where their options make no sense
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
