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
      description = "The same as PART: the first parts of the keys.")
  List<String> prefix = new ArrayList<>();

  @Option(
      names = "--from",
      arity = "1..*",
      paramLabel = "PART",
      description = {
        "Starts at these first parts of a key. They follow PART, if given: 'stock 1 --from 5'"
            + " starts at 1 5. Write this option after TABLE, and --from=-5 for a part that"
            + " begins with a minus."
      })
  List<String> from = new ArrayList<>();

  @Option(
      names = "--after",
      arity = "1..*",
      paramLabel = "PART",
      description = "Like --from, but starts after all keys that begin with these.")
  List<String> after = new ArrayList<>();

  @Option(
      names = "--to",
      arity = "1..*",
      paramLabel = "PART",
      description = "Ends before keys that begin with these first parts.")
  List<String> to = new ArrayList<>();

  /** Returns the bounds, with the parameters that all keys begin with. */
  Bounds of(JsonCommand command, List<@Nullable String> parts) {
    if (!from.isEmpty() && !after.isEmpty()) {
      throw command.mistake("--from and --after exclude each other: give one");
    }
    if (!prefix.isEmpty() && !parts.isEmpty()) {
      throw command.mistake("--prefix means the same as PART: give one");
    }
    return new Bounds(prefix.isEmpty() ? parts : new ArrayList<>(prefix), from, after, to);
  }
}
