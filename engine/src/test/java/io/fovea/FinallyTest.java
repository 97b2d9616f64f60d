package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * A {@code finally} block that releases a lock must not call anything before the release: any call
 * can fail with a stack overflow, and a lock that stays held blocks all later threads.
 *
 * <p>Checks the formatted source lines. {@code ErrorsUnderLatchTest} finds such errors by throwing
 * at calls.
 */
class FinallyTest {
  private static final Pattern GIVES_BACK = Pattern.compile("\\bunlock\\w*\\(");

  /** A condition on fields, without calls. */
  private static final Pattern CONDITION = Pattern.compile("if \\([!\\w\\s&|.=<>]*\\) \\{");

  @Test
  void locksAreReleasedFirst() throws IOException {
    List<String> wrong = new ArrayList<>();
    int blocks = 0;
    try (Stream<Path> files = Files.walk(Path.of("src/main/java"))) {
      for (Path file : files.filter(f -> f.toString().endsWith(".java")).toList()) {
        List<String> lines = Files.readAllLines(file);
        for (int i = 0; i < lines.size(); i++) {
          if (lines.get(i).endsWith("} finally {")) {
            blocks++;
            check(file, lines, i, wrong);
          }
        }
      }
    }
    assertTrue(blocks > 200, blocks + " blocks");
    assertEquals(List.of(), wrong);
  }

  private static void check(Path file, List<String> lines, int from, List<String> wrong) {
    int indent = indent(lines.get(from));
    String called = "";
    for (int i = from + 1; indent(lines.get(i)) > indent; i++) {
      String line = lines.get(i).strip();
      if (indent(lines.get(i)) == indent + 2 && GIVES_BACK.matcher(line).find()) {
        if (!called.isEmpty()) {
          wrong.add(file + ":" + (i + 1) + ": behind " + called);
        }
        return;
      }
      if (line.contains("(") && !line.startsWith("//") && !CONDITION.matcher(line).matches()) {
        called = line;
      }
    }
  }

  private static int indent(String line) {
    return line.isBlank() ? Integer.MAX_VALUE : line.length() - line.stripLeading().length();
  }
}
