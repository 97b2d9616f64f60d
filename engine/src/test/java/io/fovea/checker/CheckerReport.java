package io.fovea.checker;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;

/**
 * What was checked: {@code target/checker-report.txt}, and the standard output.
 *
 * <p>Tests of one JVM add their lines; the file is written again with each of them.
 */
final class CheckerReport {
  private static final Path FILE = Path.of("target", "checker-report.txt");
  private static final Map<String, String> LINES = new TreeMap<>();

  private CheckerReport() {}

  /** Says what a test has found. */
  static synchronized void line(String test, String text) {
    LINES.put(test, text);
    System.out.println(test + ": " + text);
    StringBuilder all = new StringBuilder();
    LINES.forEach((k, v) -> all.append(k).append(": ").append(v).append('\n'));
    try {
      Files.createDirectories(FILE.getParent());
      Files.writeString(FILE, all);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
