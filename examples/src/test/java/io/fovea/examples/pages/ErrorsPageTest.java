package io.fovea.examples.pages;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.AbortCause;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Checks that docs/reference/errors.md has each exception, each abort cause and each warning, and
 * names no exception that does not exist.
 *
 * <p>Warnings are found in the sources: in each statement with {@code Level.WARNING} or {@code
 * Level.ERROR}, the first literal of two words or more, and each literal that begins with a
 * capital. The page must have its first five words.
 */
class ErrorsPageTest {
  private static final Path ROOT = PagesTest.root();
  private static final Path ENGINE = ROOT.resolve("engine/src/main/java");

  /** Statements whose words come from elsewhere, and those words. */
  private static final Map<String, List<String>> WORDS_FROM_ELSEWHERE =
      Map.of(
          "Leaks.java",
          List.of("was never closed", "A cursor of table", "A transaction of", "Database …"),
          "Devices.java",
          List.of("with a device and a reason in parentheses"));

  private static final Pattern STATEMENT =
      Pattern.compile("(?s)Level\\s*\\.(?:WARNING|ERROR)\\b(.*?);\\n");
  private static final Pattern LITERAL = Pattern.compile("\"((?:[^\"\\\\]|\\\\.)*)\"");

  private final String page =
      Files.readString(ROOT.resolve("docs/reference/errors.md")).replace("`", "");

  ErrorsPageTest() throws IOException {}

  @Test
  void exceptions() throws IOException {
    Set<String> exist = new TreeSet<>();
    Matcher exported =
        Pattern.compile("(?m)^\\s*exports ([\\w.]+)\\s*;")
            .matcher(Files.readString(ENGINE.resolve("module-info.java")));
    while (exported.find()) {
      try (Stream<Path> files = Files.list(ENGINE.resolve(exported.group(1).replace('.', '/')))) {
        files
            .map(f -> f.getFileName().toString())
            .filter(f -> f.endsWith("Exception.java"))
            .forEach(f -> exist.add(f.replace(".java", "")));
      }
    }
    assertTrue(exist.size() > 15, exist::toString);
    Set<String> named = new TreeSet<>();
    Matcher name = Pattern.compile("\\b[A-Z]\\w+Exception\\b").matcher(page);
    while (name.find()) {
      named.add(name.group());
    }
    named.removeAll(Set.of("IllegalArgumentException", "NullPointerException"));
    assertEquals(exist, named, "exceptions of exported packages, and those of the page");
  }

  @Test
  void causesOfAborts() {
    Set<String> rows =
        page.lines()
            .map(Pattern.compile("\\| ([A-Z_]+) \\| .* \\| (yes|no) \\| .*")::matcher)
            .filter(Matcher::matches)
            .map(m -> m.group(1) + " " + m.group(2))
            .collect(Collectors.toCollection(TreeSet::new));
    Set<String> causes = new TreeSet<>();
    for (AbortCause c : AbortCause.values()) {
      causes.add(c + (c.retryable() ? " yes" : " no"));
    }
    assertEquals(causes, rows);
  }

  @Test
  void warnings() throws IOException {
    List<String> missing = new ArrayList<>();
    int found = 0;
    try (Stream<Path> files = Files.walk(ENGINE)) {
      for (Path file : files.filter(f -> f.toString().endsWith(".java")).sorted().toList()) {
        Matcher statement = STATEMENT.matcher(Files.readString(file));
        while (statement.find()) {
          found++;
          for (String words : words(file, statement.group(1))) {
            if (!page.contains(words)) {
              missing.add(file.getFileName() + ": " + words);
            }
          }
        }
      }
    }
    assertTrue(found > 10, "only " + found + " statements were found");
    assertEquals(List.of(), missing);
  }

  private static List<String> words(Path file, String statement) {
    List<String> elsewhere = WORDS_FROM_ELSEWHERE.get(file.getFileName().toString());
    if (elsewhere != null) {
      return elsewhere;
    }
    List<String> all = new ArrayList<>();
    Matcher literal = LITERAL.matcher(statement);
    while (literal.find()) {
      String text =
          literal.group(1).replaceFirst("^(\\{\\d+})?: ", "").replaceFirst("[.,]\\s*$", "").strip();
      boolean phrase = text.contains(" ");
      if (phrase && (all.isEmpty() || Character.isUpperCase(text.charAt(0)))) {
        all.add(Stream.of(text.split(" ")).limit(5).collect(Collectors.joining(" ")));
      }
    }
    assertTrue(!all.isEmpty(), file + ": a warning without words: " + statement);
    return all;
  }
}
