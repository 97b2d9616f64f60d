package io.fovea.jmh;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Figures for docs/benchmarks/features.md: each value is a line of a file, written at once, so an
 * interrupted run keeps its values. {@code docs/benchmarks/Features.java} turns them into a table.
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
   * Creates the figures of one row of the page.
   *
   * @param file the output file; null for none
   * @param row the name of the row in run.sh
   */
  Figures(@Nullable Path file, String row) {
    this.file = file;
    this.row = row;
  }

  /**
   * Adds one value, of one round if there are several.
   *
   * @param aim the target, such as {@code <= 50}; empty for a reference value
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
