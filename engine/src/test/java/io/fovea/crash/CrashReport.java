package io.fovea.crash;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;

/**
 * What was tried: {@code target/crash-report.txt}, and the standard output.
 *
 * <p>Tests of one JVM add their lines; the file is written again with each of them.
 */
final class CrashReport {
  private static final Path FILE = Path.of("target", "crash-report.txt");
  private static final Map<String, String> LINES = new TreeMap<>();

  private CrashReport() {}

  /** Says what a test has tried. */
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
