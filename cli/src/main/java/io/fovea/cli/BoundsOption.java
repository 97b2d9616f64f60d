package io.fovea.cli;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Options for the bounds of a key range. */
final class BoundsOption {
  @Option(
      names = "--prefix",
      arity = "1..*",
      paramLabel = "PART",
      description = "The same as PART without it: what the keys begin with.")
  List<String> prefix = new ArrayList<>();

  @Option(
      names = "--from",
      arity = "1..*",
      paramLabel = "PART",
      description = {
        "From these first parts of a key on. They stand behind PART, if there is some: 'stock 1 --from 5'"
            + " begins at 1 5. Write this option behind TABLE, and --from=-5 for what begins with a"
            + " minus."
      })
  List<String> from = new ArrayList<>();

  @Option(
      names = "--after",
      arity = "1..*",
      paramLabel = "PART",
      description = "As --from, behind all that begins with these.")
  List<String> after = new ArrayList<>();

  @Option(
      names = "--to",
      arity = "1..*",
      paramLabel = "PART",
      description = "Up to these first parts of a key, without what begins with them.")
  List<String> to = new ArrayList<>();

  /** Returns the bounds, with the parameters that all keys begin with. */
  Bounds of(JsonCommand command, List<@Nullable String> parts) {
    if (!from.isEmpty() && !after.isEmpty()) {
      throw command.mistake("--from and --after are two places to begin at: give one");
    }
    if (!prefix.isEmpty() && !parts.isEmpty()) {
      throw command.mistake("--prefix is what keys begin with, as PART is: give one");
    }
    return new Bounds(prefix.isEmpty() ? parts : new ArrayList<>(prefix), from, after, to);
  }
}
