package io.fovea.cli;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import picocli.CommandLine.IVersionProvider;

/** The version of the project, which the build writes into a resource. */
final class Version implements IVersionProvider {
  @Override
  public String[] getVersion() throws IOException {
    try (InputStream in =
        Objects.requireNonNull(Version.class.getResourceAsStream("version.txt"))) {
      return new String[] {
        "fovea " + new String(in.readAllBytes(), StandardCharsets.UTF_8).strip()
      };
    }
  }
}
