package io.fovea.cli;

import static io.fovea.cli.Fixture.lines;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

class VersionTest {
  @Test
  void versionIsThatOfTheProject() throws IOException {
    Matcher version =
        Pattern.compile("<version>([^<]+)</version>").matcher(Files.readString(Path.of("pom.xml")));
    assertTrue(version.find());
    assertEquals(List.of("fovea " + version.group(1)), lines("--version"));
  }
}
