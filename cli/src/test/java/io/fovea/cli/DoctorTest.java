package io.fovea.cli;

import static io.fovea.cli.Fixture.ran;
import static io.fovea.cli.Fixture.run;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The doctor's findings depend on the machine, their format does not. */
class DoctorTest {
  private static final List<String> ALWAYS =
      List.of("java", "native access", "file system", "free space", "device", "durable commit");

  @TempDir Path dir;

  @Test
  void checksEverything() throws IOException {
    var ran = ran("doctor", dir);
    for (String what : ALWAYS) {
      assertTrue(ran.out().lines().anyMatch(line -> line.startsWith(what + "  ")), ran::toString);
    }
    assertEquals(ran.out().contains("-> ") ? 1 : 0, ran.code(), ran::toString);
    assertEquals("", ran.err());
    try (Stream<Path> left = Files.list(dir)) {
      assertEquals(List.of(), left.toList());
    }
  }

  @Test
  void inJson() {
    var ran = ran("doctor", dir, "--json");
    assertTrue(ran.out().startsWith("{\n  \"ok\": " + (ran.code() == 0)), ran::toString);
    for (String what : ALWAYS) {
      assertTrue(ran.out().contains("\"what\": \"" + what + "\""), ran::toString);
    }
  }

  @Test
  void directoryMustExist() {
    Path not = dir.resolve("not");
    assertTrue(run(2, "doctor", not).err().contains("no directory"));
    assertFalse(Files.exists(not));
  }
}
