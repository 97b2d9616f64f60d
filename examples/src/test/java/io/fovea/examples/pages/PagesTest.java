package io.fovea.examples.pages;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Checks that each block of Java on a page is code of these tests, which the build compiles and
 * runs.
 *
 * <p>A block that begins with {@code package} is a whole file of these tests. Any other block is
 * between {@code // begin PAGE} and {@code // end}; the order of blocks is irrelevant. If code that
 * the page does not show interrupts a block, the rest follows after a second {@code begin} of the
 * same page; the region ends when braces are balanced. Indentation and empty lines are ignored. The
 * test fails if a block was changed, is in no test, or was removed from the page.
 *
 * <p>Coordinates and versions in blocks of XML and Kotlin must be those of the poms.
 */
class PagesTest {
  /** What the pages recommend and the build does without. */
  private static final Set<String> NOT_IN_THE_BUILD =
      Set.of("org.graalvm.buildtools:native-maven-plugin:1.1.12");

  private static final Path ROOT = root();
  private static final Path TESTS = ROOT.resolve("examples/src/test/java");
  private static final Pattern BLOCK = Pattern.compile("(?ms)^```(\\w+)\\n(.*?)^```$");

  /** Pages whose code is in a module, and the location of the module's tests. */
  private static final Map<String, String> MODULES =
      Map.of(
          "docs/guide/kafka-streams.md", "integrations/streams/src/test/java",
          "docs/guide/replication.md", "integrations/ratis/src/test/java",
          "docs/guide/spring-boot.md", "integrations/spring-boot/src/test/java");

  static List<String> pages() throws IOException {
    List<String> pages = new ArrayList<>(List.of("README.md", "docs/reference/options.md"));
    try (Stream<Path> guide = Files.list(ROOT.resolve("docs/guide"))) {
      guide.map(p -> "docs/guide/" + p.getFileName()).sorted().forEach(pages::add);
    }
    return pages;
  }

  @ParameterizedTest
  @MethodSource("pages")
  void codeIsThatOfATest(String page) throws IOException {
    if (MODULES.containsKey(page)) {
      codeIsThatOfAModule(page);
      return;
    }
    List<String> wholeFiles = new ArrayList<>();
    List<String> regions = new ArrayList<>();
    for (Path file : sources(TESTS)) {
      List<String> lines = Files.readAllLines(file);
      wholeFiles.add(normal(lines));
      List<String> marked = regions(file, lines, "// begin " + page);
      assertTrue(marked.isEmpty() || file.toString().endsWith("Test.java"), file + " is no test");
      regions.addAll(marked);
    }
    List<String> parts = new ArrayList<>();
    for (String block : blocks(page, "java")) {
      if (block.startsWith("package ")) {
        assertTrue(wholeFiles.contains(block), "No file of " + TESTS + " is this:\n" + block);
      } else {
        parts.add(block);
      }
    }
    assertEquals(
        regions.stream().sorted().collect(Collectors.joining("\n\n")),
        parts.stream().sorted().collect(Collectors.joining("\n\n")),
        "What is marked in " + TESTS + ", and the blocks of " + page);
  }

  private static void codeIsThatOfAModule(String page) throws IOException {
    String sources = "";
    for (Path file : sources(ROOT.resolve(MODULES.get(page)))) {
      sources += normal(Files.readAllLines(file)) + "\n";
    }
    List<String> blocks = blocks(page, "java");
    assertFalse(blocks.isEmpty(), page);
    for (String block : blocks) {
      String code = block.replaceAll("\n\n+", "\n");
      assertTrue(sources.contains(code), "No test of " + MODULES.get(page) + " has this:\n" + code);
    }
  }

  @ParameterizedTest
  @MethodSource("pages")
  void coordinatesAreThoseOfThePoms(String page) throws IOException {
    String parent = Files.readString(ROOT.resolve("pom.xml"));
    String version = first(parent, "<version>([^<]+)</version>");
    int found = 0;
    for (String xml : blocks(page, "xml")) {
      for (MatchResult d : all(xml, "(?s)<(dependency|plugin)>(.*?)</\\1>")) {
        String group = first(d.group(2), "<groupId>([^<]+)</groupId>");
        String artifact = first(d.group(2), "<artifactId>([^<]+)</artifactId>");
        // Without a version it is the one of fovea-bom, which the block must import.
        boolean versioned = d.group(2).contains("<version>");
        assertTrue(
            versioned || group.equals("io.fovea") && xml.contains("<artifactId>fovea-bom<"),
            group + ":" + artifact + " has no version");
        check(
            parent,
            group,
            artifact,
            versioned ? first(d.group(2), "<version>([^<]+)</version>") : version,
            version);
        found++;
      }
    }
    for (String kotlin : blocks(page, "kotlin")) {
      for (MatchResult d : all(kotlin, "\"([\\w.]+):([\\w-]+):([\\w.-]+)\"")) {
        check(parent, d.group(1), d.group(2), d.group(3), version);
        found++;
      }
      for (MatchResult d : all(kotlin, "\"io\\.fovea:([\\w-]+)\"")) {
        assertTrue(kotlin.contains("platform(\"io.fovea:fovea-bom:" + version + "\")"), d.group(1));
        check(parent, "io.fovea", d.group(1), version, version);
        found++;
      }
    }
    if (page.equals("README.md") || page.endsWith("getting-started.md")) {
      assertTrue(found > 0, "coordinates in " + page);
    }
  }

  /** A misspelled language would hide a block from the other tests. */
  @Test
  void eachBlockSaysItsLanguage() throws IOException {
    List<String> known = List.of("java", "sh", "xml", "json", "kotlin", "properties", "text");
    for (String page : pages()) {
      List<String> fences =
          Files.readAllLines(ROOT.resolve(page)).stream()
              .filter(l -> l.strip().startsWith("```"))
              .toList();
      for (int i = 0; i < fences.size(); i += 2) {
        assertTrue(known.contains(fences.get(i).substring(3)), page + ": " + fences.get(i));
        assertEquals("```", fences.get(i + 1), page);
      }
    }
  }

  private static void check(
      String parent, String group, String artifact, String version, String ours)
      throws IOException {
    String what = group + ":" + artifact + ":" + version;
    if (group.equals("io.fovea")) {
      assertEquals(ours, version, what);
      Path pom =
          ROOT.resolve(
              Map.of(
                      "fovea-bom", "integrations/bom/pom.xml",
                      "fovea-engine", "engine/pom.xml",
                      "fovea-junit", "integrations/junit/pom.xml",
                      "fovea-micrometer", "integrations/micrometer/pom.xml",
                      "fovea-spring-boot-starter", "integrations/spring-boot/pom.xml")
                  .get(artifact));
      assertTrue(Files.readString(pom).contains("<artifactId>" + artifact + "</artifactId>"), what);
    } else if (!NOT_IN_THE_BUILD.contains(what)) {
      assertTrue(
          parent
              .replaceAll("\\s", "")
              .contains("<artifactId>" + artifact + "</artifactId><version>" + version + "<"),
          what + " is not what the build takes");
    }
  }

  private static List<String> regions(Path file, List<String> lines, String begin) {
    List<String> regions = new ArrayList<>();
    List<String> region = new ArrayList<>();
    boolean inside = false;
    for (String line : lines) {
      if (line.strip().startsWith("// begin ")) {
        assertFalse(inside, file + ": a begin after a begin");
        inside = line.strip().equals(begin);
      } else if (line.strip().equals("// end")) {
        inside = false;
        String code = normal(region);
        if (!code.isEmpty() && count(code, '{') == count(code, '}')) {
          regions.add(code);
          region.clear();
        }
      } else if (inside) {
        region.add(line);
      }
    }
    assertTrue(region.isEmpty(), file + ": braces are not balanced in " + region);
    return regions;
  }

  private static long count(String code, char c) {
    return code.chars().filter(x -> x == c).count();
  }

  private static List<String> blocks(String page, String language) throws IOException {
    return all(Files.readString(ROOT.resolve(page)), BLOCK.pattern()).stream()
        .filter(m -> m.group(1).equals(language))
        .map(m -> language.equals("java") ? normal(m.group(2).lines().toList()) : m.group(2))
        .toList();
  }

  private static String normal(List<String> lines) {
    return lines.stream()
        .map(String::strip)
        .filter(l -> !l.isEmpty())
        .collect(Collectors.joining("\n"));
  }

  private static List<MatchResult> all(String text, String pattern) {
    return Pattern.compile(pattern).matcher(text).results().toList();
  }

  private static String first(String text, String pattern) {
    Matcher m = Pattern.compile(pattern).matcher(text);
    assertTrue(m.find(), () -> "no " + pattern + " in " + text);
    return m.group(1);
  }

  private static List<Path> sources(Path folder) throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      return files.filter(f -> f.toString().endsWith(".java")).sorted().toList();
    }
  }

  static Path root() {
    return Stream.iterate(Path.of("").toAbsolutePath(), p -> p != null, Path::getParent)
        .filter(p -> Files.exists(p.resolve("docs/ARCHITECTURE.md")))
        .findFirst()
        .orElseThrow();
  }
}
