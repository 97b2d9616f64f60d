package io.fovea.tpcc.lookups;

import io.fovea.tpcc.settings.EngineOptions;
import io.fovea.tpcc.settings.Version;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code tpcc.sh lookups}. */
@Command(
    name = "lookups",
    description =
        "Looks up single records at random in a working set of fixed, growing or drifting range."
            + " Loads the records first if they are missing.",
    mixinStandardHelpOptions = true,
    versionProvider = Version.class)
public final class LookupsCommand implements Callable<Integer> {
  @Spec private CommandSpec spec;
  @Mixin private final EngineOptions engine = new EngineOptions();
  @Mixin private final LookupArguments lookups = new LookupArguments();

  /** Called by picocli. */
  public LookupsCommand() {}

  @Override
  public Integer call() {
    String mistake = lookups.mistake(engine);
    if (mistake != null) {
      throw new ParameterException(spec.commandLine(), mistake);
    }
    return new LookupDriver(spec.commandLine().getOut(), lookups.settle(engine), lookups.store)
        .run();
  }
}
