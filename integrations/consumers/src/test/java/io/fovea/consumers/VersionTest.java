package io.fovea.consumers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.module.ModuleDescriptor;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** POMs, pages and the changelog name the same version. {@code release.sh} sets it. */
class VersionTest {
  private static final Path ROOT = Path.of("..", "..");
  private static final Pattern HEADING = Pattern.compile("(?m)^## (.*)$");

  private static String pom;
  private static String version;

  @BeforeAll
  static void readVersion() throws IOException {
    pom = Files.readString(ROOT.resolve("pom.xml"));
    version = first("<artifactId>fovea-parent</artifactId>\\s*<version>([^<]+)<", pom);
  }

  @Test
  void modulesHaveTheVersionOfTheirParent() throws IOException {
    List<Path> poms = new ArrayList<>(List.of(ROOT.resolve("jmh/rivals/pom.xml")));
    all("<module>([^<]+)</module>", pom)
        .forEach(module -> poms.add(ROOT.resolve(module).resolve("pom.xml")));
    for (Path file : poms) {
      String parent =
          first("(?s)<parent>.*?<version>([^<]+)</version>.*?</parent>", Files.readString(file));
      assertEquals(version, parent, file::toString);
    }
  }

  @Test
  void pagesNameTheVersion() throws IOException {
    Map<Path, Set<String>> named = new TreeMap<>();
    List<Path> pages = new ArrayList<>(List.of(ROOT.resolve("README.md")));
    try (Stream<Path> files = Files.walk(ROOT.resolve("docs/guide"))) {
      files.filter(f -> f.toString().endsWith(".md")).forEach(pages::add);
    }
    for (Path page : pages) {
      String text = Files.readString(page);
      List<String> versions = new ArrayList<>();
      versions.addAll(
          all("<artifactId>fovea-[a-z-]+</artifactId>\\s*<version>([^<]+)</version>", text));
      versions.addAll(all("\"io\\.fovea:fovea-[a-z-]+:([^\"]+)\"", text));
      if (!versions.isEmpty()) {
        named.put(ROOT.relativize(page), Set.copyOf(versions));
      }
    }
    assertTrue(named.size() >= 4, named::toString);
    named.forEach((page, versions) -> assertEquals(Set.of(version), versions, page::toString));
  }

  @Test
  void changelogBeginsWithTheVersion() throws IOException {
    String latest = first(HEADING.pattern(), Files.readString(ROOT.resolve("CHANGELOG.md")));
    if (version.endsWith("-SNAPSHOT")) {
      assertEquals("Unreleased", latest);
    } else {
      String date = first("<project.build.outputTimestamp>([^T<]+)T", pom);
      assertEquals(version + " - " + date, latest);
    }
  }

  @Test
  void apiBelongsToThisVersionOrAnEarlierOne() throws IOException {
    ModuleDescriptor.Version current =
        ModuleDescriptor.Version.parse(version.replace("-SNAPSHOT", ""));
    int tags = 0;
    for (String module : all("<module>([^<]+)</module>", pom)) {
      Path sources = ROOT.resolve(module).resolve("src/main/java");
      if (!Files.isDirectory(sources)) {
        continue;
      }
      try (Stream<Path> files = Files.walk(sources)) {
        for (Path file : files.filter(f -> f.toString().endsWith(".java")).toList()) {
          for (String since : all("@since ([0-9.]+)", Files.readString(file))) {
            tags++;
            assertFalse(
                ModuleDescriptor.Version.parse(since).compareTo(current) > 0, file + ": " + since);
          }
        }
      }
    }
    assertTrue(tags > 0);
  }

  private static List<String> all(String regex, String text) {
    return Pattern.compile(regex).matcher(text).results().map(VersionTest::group).toList();
  }

  private static String first(String regex, String text) {
    return Pattern.compile(regex)
        .matcher(text)
        .results()
        .map(VersionTest::group)
        .findFirst()
        .orElseThrow(() -> new AssertionError("nothing matches " + regex));
  }

  private static String group(MatchResult match) {
    return match.group(1);
  }
}
