package io.fovea.jmh;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Figures for docs/benchmarks/features.md: each value is a line of a file, written as soon as it
 * was seen, so a run that is cut short keeps what it had. {@code docs/benchmarks/Features.java}
 * makes a table of them.
 *
 * <pre>
 *   row TAB what TAB unit TAB aim TAB value
 * </pre>
 *
 * <p>One thread.
 */
final class Figures {
  private final @Nullable Path file;
  private final String row;

  /**
   * Figures of one row of the page.
   *
   * @param file takes them; null where nobody asks
   * @param row as run.sh calls it
   */
  Figures(@Nullable Path file, String row) {
    this.file = file;
    this.row = row;
  }

  /**
   * One value: of one round, where there are several.
   *
   * @param aim what it should be, as in {@code <= 50}; empty where it stands there to compare with
   */
  void add(String what, String unit, String aim, double value) throws IOException {
    if (file != null) {
      String line =
          String.join("\t", row, what, unit, aim, String.format(Locale.ROOT, "%.6g", value));
      Files.writeString(
          file,
          line + "\n",
          StandardCharsets.UTF_8,
          StandardOpenOption.CREATE,
          StandardOpenOption.APPEND);
    }
  }
}
