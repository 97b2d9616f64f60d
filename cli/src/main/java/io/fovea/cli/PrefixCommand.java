package io.fovea.cli;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** What the commands for records in an order have in common: how their keys begin, and which. */
abstract class PrefixCommand extends TableCommand {
  @Parameters(
      index = "2..*",
      arity = "0..*",
      paramLabel = "PART",
      description = "The first parts of the key, or of that of the index: " + PARTS)
  List<String> parts = new ArrayList<>();

  @Option(
      names = "--index",
      paramLabel = "INDEX",
      description = "In the order of an index, whose key the parts belong to.")
  @Nullable String index;
}
