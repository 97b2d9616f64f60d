package io.fovea.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Database;
import io.fovea.Row;
import io.fovea.RowTable;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Commands that process many records in a JVM with a heap of 32 MiB: their memory must not grow
 * with the number. {@code -Dcli.rows=N}; ten million take some minutes.
 */
@Tag("slow")
@Timeout(value = 20, unit = TimeUnit.MINUTES)
class SmallHeapTest {
  private static final int ROWS = Integer.getInteger("cli.rows", 120_000);

  @TempDir Path dir;

  @Test
  void manyRows() throws Exception {
    Path file = dir.resolve("db");
    try (Database db = Database.open(file, Fixture.SMALL)) {
      RowTable t = db.table(Fixture.TABLE);
      Row row = t.row();
      t.load(
          load -> {
            for (int i = 0; i < ROWS; i++) {
              load.add(t.key().set(i), row.setText(Fixture.X, "text number " + i));
            }
          });
    }
    assertEquals(ROWS, lines("scan", file, "t", "--limit", "0"));
    assertEquals(ROWS, lines("scan", file, "t", "--limit", "0", "--index", "i", "--reverse"));
    assertEquals(ROWS * 4L + 2, lines("scan", file, "t", "--limit", "0", "--json"));
    assertEquals(ROWS + 1, lines("export", file, "t"));
    Path out = dir.resolve("out.csv");
    assertEquals(1, lines("export", file, "t", "--format", "CSV", "--output", out));
    Path to = dir.resolve("to");
    try (Database db = Database.open(to, Fixture.SMALL)) {
      db.table(Fixture.TABLE);
    }
    assertEquals(1, lines("import", "--write", to, "t", "--format", "CSV", "--input", out));
    assertEquals(1, lines("count", to, "t", "--from", "0"));
  }

  /** Runs a command; returns the number of lines of its output. */
  private long lines(Object... args) throws Exception {
    List<String> command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx32m",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                Main.class.getName()));
    for (Object arg : args) {
      command.add(arg.toString());
    }
    Path err = dir.resolve("err");
    Process p = new ProcessBuilder(command).redirectError(err.toFile()).start();
    try {
      long n = 0;
      try (BufferedReader in = p.inputReader()) {
        while (in.readLine() != null) {
          n++;
        }
      }
      assertTrue(p.waitFor(10, TimeUnit.MINUTES));
      assertEquals(0, p.exitValue(), () -> args[0] + ": " + read(err));
      return n;
    } finally {
      p.destroyForcibly();
    }
  }

  private static String read(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      return e.toString();
    }
  }
}
