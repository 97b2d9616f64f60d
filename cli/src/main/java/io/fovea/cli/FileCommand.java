package io.fovea.cli;

import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** What the commands for a file have in common. */
@Command(mixinStandardHelpOptions = true)
abstract class FileCommand implements Callable<Integer> {
  @ParentCommand @Nullable Main main;
  @Spec @Nullable CommandSpec spec;

  @Parameters(index = "0", paramLabel = "FILE", description = "The file of the database.")
  @Nullable Path file;

  @Option(names = "--json", description = "Answers with one JSON value.")
  boolean json;

  PrintWriter out() {
    return Objects.requireNonNull(main).out;
  }

  PrintWriter err() {
    return Objects.requireNonNull(main).err;
  }

  Path file() {
    return Objects.requireNonNull(file);
  }

  ParameterException mistake(String text) {
    return new ParameterException(Objects.requireNonNull(spec).commandLine(), text);
  }
}
