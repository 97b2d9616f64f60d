package io.fovea.tpcc.ycsb;

import io.fovea.tpcc.bench.Then;
import io.fovea.tpcc.settings.EngineOptions;
import io.fovea.tpcc.settings.Version;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code tpcc.sh ycsb}. */
@Command(
    name = "ycsb",
    description =
        "Transactional YCSB: workloads a to f, and seven whose transactions have several"
            + " operations.",
    subcommands = {YcsbCommand.Load.class, YcsbCommand.Run.class},
    mixinStandardHelpOptions = true,
    versionProvider = Version.class)
public final class YcsbCommand implements Callable<Integer> {
  @Spec private CommandSpec spec;

  /** Called by picocli. */
  public YcsbCommand() {}

  @Override
  public Integer call() {
    throw new ParameterException(spec.commandLine(), "no subcommand given; choose load or run");
  }

  /** The common part of the subcommands. */
  abstract static class Subcommand implements Callable<Integer> {
    @Spec private CommandSpec spec;
    @Mixin final EngineOptions engine = new EngineOptions();
    @Mixin final YcsbArguments.Store store = new YcsbArguments.Store();

    Settings settings(YcsbArguments.Measure measure, CommandSpec of) {
      String mistake = YcsbArguments.mistake(engine, store, measure);
      if (mistake != null) {
        throw new ParameterException(of.commandLine(), mistake);
      }
      return YcsbArguments.settle(engine, store, measure);
    }

    YcsbDriver driver(Settings settings) {
      return new YcsbDriver(spec.commandLine().getOut(), settings);
    }

    CommandSpec spec() {
      return spec;
    }

    ParameterException mistake(String message) {
      return new ParameterException(spec.commandLine(), message);
    }
  }

  @Command(
      name = "load",
      description = "Creates a database and loads it.",
      mixinStandardHelpOptions = true,
      versionProvider = Version.class)
  static final class Load extends Subcommand {
    @Override
    public Integer call() {
      if (engine.inMemory()) {
        throw mistake("--io memory works only with run: the database is lost at the end");
      }
      return driver(settings(new YcsbArguments.Measure(), spec())).load(store.where);
    }
  }

  @Command(
      name = "run",
      description =
          "Runs the workload, measures and checks. Loads the records first if they are missing.",
      mixinStandardHelpOptions = true,
      versionProvider = Version.class)
  static final class Run extends Subcommand {
    @Mixin private final YcsbArguments.Measure measure = new YcsbArguments.Measure();

    @Mixin private final Then then = new Then();

    @Override
    public Integer call() {
      Settings first = settings(measure, spec());
      List<Settings> runs = new ArrayList<>(List.of(first));
      for (Run run : then.parse(spec(), Run::new)) {
        Settings settings = run.settings(run.measure, spec());
        if (!settings.sameDatabase(first)) {
          throw mistake("--then cannot change options of the open database");
        }
        runs.add(settings);
      }
      if (runs.stream().anyMatch(s -> s.duration().isZero())) {
        throw mistake("--duration must be more than 0");
      }
      return driver(first).run(store.where, runs);
    }
  }
}
