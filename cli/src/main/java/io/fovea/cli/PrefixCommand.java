package io.fovea.cli;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** A command on a key range of a table. */
abstract class PrefixCommand extends TableCommand {
  @Parameters(
      index = "2..*",
      arity = "0..*",
      paramLabel = "PART",
      description = "The first parts of the key, or of the index key: " + PARTS)
  List<String> parts = new ArrayList<>();

  @Option(
      names = "--index",
      paramLabel = "INDEX",
      description = "Uses the order of an index, to whose key the parts belong.")
  @Nullable String index;

  @Option(
      names = "--null-part",
      paramLabel = "N",
      description = {
        "The N-th part of the index key, from 1 on, is null; PART are the other parts. May be"
            + " repeated."
      })
  List<Integer> nulls = new ArrayList<>();

  @Mixin final BoundsOption between = new BoundsOption();

  @Mixin final HexOption hex = new HexOption();

  final Bounds bounds() {
    return between.of(this, parts());
  }

  /** The parts, including null ones. */
  private List<@Nullable String> parts() {
    List<@Nullable String> all = new ArrayList<>(parts);
    for (int at : nulls.stream().sorted().toList()) {
      if (index == null || at < 1 || at > all.size() + 1) {
        throw mistake("--null-part takes the number of a part of the key of an --index");
      }
      all.add(at - 1, null);
    }
    return all;
  }
}
