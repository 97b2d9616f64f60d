package io.fovea.junit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** How the folder of a database is deleted. */
class OpenDatabaseTest {
  @Test
  void deletesAFolder(@TempDir Path dir) throws IOException {
    Path folder = Files.createDirectories(dir.resolve("a/b/c")).getParent();
    Files.writeString(folder.resolve("file"), "x");
    assertNull(OpenDatabase.delete(folder));
    assertFalse(Files.exists(folder));
    assertNull(OpenDatabase.delete(folder));
  }

  /** Nothing in the image of the JDK can be deleted. */
  @Test
  void reportsAllFailures() throws IOException {
    Path folder = Path.of(URI.create("jrt:/java.base/java/lang/annotation"));
    Exception first = OpenDatabase.delete(folder);
    assertNotNull(first);
    try (Stream<Path> all = Files.walk(folder)) {
      assertEquals(all.count() - 1, first.getSuppressed().length);
    }
  }
}
