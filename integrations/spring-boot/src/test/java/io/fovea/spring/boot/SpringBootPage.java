package io.fovea.spring.boot;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The guide's page, and the configuration of the sample, from which its blocks are taken. */
final class SpringBootPage {
  private SpringBootPage() {}

  static String block(String language) throws IOException {
    Path root =
        Stream.iterate(Path.of("").toAbsolutePath(), p -> p != null, Path::getParent)
            .filter(p -> Files.exists(p.resolve("docs/ARCHITECTURE.md")))
            .findFirst()
            .orElseThrow();
    String page = Files.readString(root.resolve("docs/guide/spring-boot.md"));
    Matcher m = Pattern.compile("(?ms)^```" + language + "\\n(.*?)^```$").matcher(page);
    if (!m.find()) {
      throw new AssertionError("no block of " + language);
    }
    return m.group(1);
  }

  static String sample() throws IOException {
    try (InputStream in = SpringBootPage.class.getResourceAsStream("/application.properties")) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    }
  }
}
