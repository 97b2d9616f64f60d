package io.fovea.streams.broker;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** Writes a line for each repeated test to {@code target/soak-report.txt}. */
final class Report {
  private static final Path FILE = Path.of("target", "soak-report.txt");

  private Report() {}

  static synchronized void line(String test, String tried) {
    try {
      Files.createDirectories(FILE.getParent());
      Files.writeString(
          FILE, test + ": " + tried + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
