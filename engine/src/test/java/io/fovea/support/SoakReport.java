package io.fovea.support;

import io.fovea.memory.Mem;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * Collects what slow tests have tried, one line per test with its seed and counts, in {@code
 * target/soak-report.txt} ({@code soak-report-denied.txt} without native access) and on standard
 * output.
 *
 * <p>The file is rewritten with each line, sorted by test, with the uptime of the JVM.
 */
public final class SoakReport {
  private static final Path FILE =
      Path.of("target", Mem.isRaw() ? "soak-report.txt" : "soak-report-denied.txt");
  private static final Map<String, String> LINES = new TreeMap<>();

  private SoakReport() {}

  /**
   * Reports what a test has tried.
   *
   * @param test its class and method, and whatever else distinguishes its lines
   * @param text what it tried and found, with numbers
   */
  public static synchronized void line(String test, String text) {
    LINES.put(test, text);
    System.out.println(test + ": " + text);
    double minutes = ManagementFactory.getRuntimeMXBean().getUptime() / 60_000.0;
    StringBuilder all = new StringBuilder();
    all.append(
        String.format(Locale.ROOT, "%d lines after %.1f minutes%n%n", LINES.size(), minutes));
    LINES.forEach((k, v) -> all.append(k).append(": ").append(v).append('\n'));
    try {
      Files.createDirectories(FILE.getParent());
      Files.writeString(FILE, all);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
