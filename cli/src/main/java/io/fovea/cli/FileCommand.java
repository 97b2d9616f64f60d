package io.fovea.cli;

import java.nio.file.Path;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Parameters;

/** What the commands for a file have in common. */
abstract class FileCommand extends JsonCommand {
  @Parameters(index = "0", paramLabel = "FILE", description = "The file of the database.")
  @Nullable Path file;

  final Path file() {
    return Objects.requireNonNull(file);
  }
}
