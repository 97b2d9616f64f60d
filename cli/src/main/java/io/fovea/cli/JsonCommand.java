package io.fovea.cli;

import java.io.InputStream;
import java.io.PrintWriter;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** A command whose answer is text, or one JSON value. */
@Command(mixinStandardHelpOptions = true)
abstract class JsonCommand implements Callable<Integer> {
  @ParentCommand @Nullable Main main;
  @Spec @Nullable CommandSpec spec;

  @Option(names = "--json", description = "Prints one JSON value.")
  boolean json;

  final InputStream in() {
    return Objects.requireNonNull(main).in;
  }

  final PrintWriter out() {
    return Objects.requireNonNull(main).out;
  }

  final PrintWriter err() {
    return Objects.requireNonNull(main).err;
  }

  /** The shell's session; null for a command line. */
  final @Nullable Session session() {
    return Objects.requireNonNull(main).session;
  }

  final ParameterException mistake(String text) {
    return new ParameterException(Objects.requireNonNull(spec).commandLine(), text);
  }
}
