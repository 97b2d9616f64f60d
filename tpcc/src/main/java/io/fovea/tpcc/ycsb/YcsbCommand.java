package io.fovea.tpcc.ycsb;

import io.fovea.tpcc.Arguments;
import io.fovea.tpcc.Main;
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
        "Transactional YCSB: the workloads a to f, and seven whose transactions have several"
            + " operations.",
    subcommands = {YcsbCommand.Load.class, YcsbCommand.Run.class},
    mixinStandardHelpOptions = true,
    versionProvider = Main.Version.class)
public final class YcsbCommand implements Callable<Integer> {
  @Spec private CommandSpec spec;

  /** Made by the command line. */
  public YcsbCommand() {}

  @Override
  public Integer call() {
    throw new ParameterException(spec.commandLine(), "a subcommand is missing: load or run");
  }

  /** What the subcommands share. */
  abstract static class Subcommand implements Callable<Integer> {
    @Spec private CommandSpec spec;
    @Mixin final Arguments.Engine engine = new Arguments.Engine();
    @Mixin final YcsbArguments.Store store = new YcsbArguments.Store();

    YcsbDriver driver(YcsbArguments.Measure measure) {
      String mistake = YcsbArguments.mistake(engine, store, measure);
      if (mistake != null) {
        throw mistake(mistake);
      }
      return new YcsbDriver(
          spec.commandLine().getOut(),
          YcsbArguments.settle(engine, store, measure),
          store.path != null,
          store.fresh);
    }

    ParameterException mistake(String message) {
      return new ParameterException(spec.commandLine(), message);
    }
  }

  @Command(
      name = "load",
      description = "Makes a database and loads it.",
      mixinStandardHelpOptions = true,
      versionProvider = Main.Version.class)
  static final class Load extends Subcommand {
    @Override
    public Integer call() {
      if (engine.io == Arguments.IoKind.MEMORY) {
        throw mistake("--io memory is for run: nothing of it stays");
      }
      return driver(new YcsbArguments.Measure()).load();
    }
  }

  @Command(
      name = "run",
      description = "Runs and measures, then checks. Loads first where the records are not there.",
      mixinStandardHelpOptions = true,
      versionProvider = Main.Version.class)
  static final class Run extends Subcommand {
    @Mixin private final YcsbArguments.Measure measure = new YcsbArguments.Measure();

    @Override
    public Integer call() {
      if (measure.duration.isZero()) {
        throw mistake("--duration: more than 0");
      }
      return driver(measure).run();
    }
  }
}
