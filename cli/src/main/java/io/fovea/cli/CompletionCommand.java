package io.fovea.cli;

import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.AutoComplete;
import picocli.CommandLine.Command;
import picocli.CommandLine.ParentCommand;

@Command(
    name = "completion",
    header = "Prints a completion script for bash or zsh.",
    mixinStandardHelpOptions = true,
    description = {
      "Prints a script with which bash or zsh completes commands and options of 'fovea':",
      "  source <(fovea completion)"
    })
final class CompletionCommand implements Callable<Integer> {
  @ParentCommand @Nullable Main main;

  @Override
  public Integer call() {
    Main m = Objects.requireNonNull(main);
    m.out.print(AutoComplete.bash("fovea", Main.commandLine(m, "fovea")));
    return Main.OK;
  }
}
