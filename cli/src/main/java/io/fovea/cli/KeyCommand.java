package io.fovea.cli;

import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Parameters;

/** A command on one record, identified by its whole key. */
abstract class KeyCommand extends TableCommand {
  @Parameters(
      index = "2..*",
      arity = "1..*",
      paramLabel = "PART",
      description = "All parts of the key: " + PARTS)
  List<String> parts = new ArrayList<>();
}
