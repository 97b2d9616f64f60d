package io.fovea.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Database;
import io.fovea.schema.TableSpec;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Imports that a signal ends, and those whose cleaning up fails too. */
@Timeout(value = 10, unit = TimeUnit.MINUTES)
class InterruptedImportTest {
  @TempDir Path dir;
  @TempDir Path temporary;
  @TempDir Path source;

  private static List<String> names(Path folder) throws IOException {
    try (Stream<Path> all = Files.list(folder)) {
      return all.map(p -> p.getFileName().toString()).sorted().toList();
    }
  }

  /** The lines on standard error after an import was ended while it waits for more input. */
  private List<String> ended(Path file, String... options) throws Exception {
    List<String> command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "--enable-native-access=ALL-UNNAMED",
                "-Djava.io.tmpdir=" + temporary,
                "-cp",
                System.getProperty("java.class.path"),
                Main.class.getName(),
                "import",
                "--progress",
                file.toString(),
                "t"));
    command.addAll(List.of(options));
    Process p = new ProcessBuilder(command).redirectOutput(ProcessBuilder.Redirect.DISCARD).start();
    List<String> lines = new ArrayList<>();
    try (OutputStream in = p.getOutputStream();
        BufferedReader err =
            new BufferedReader(new InputStreamReader(p.getErrorStream(), StandardCharsets.UTF_8))) {
      StringBuilder rows = new StringBuilder(schema());
      for (int i = 0; i < 20_000; i++) {
        rows.append(String.format("{\"key\":\"%08x\",\"value\":\"00\"}\n", i));
      }
      in.write(rows.toString().getBytes(StandardCharsets.UTF_8));
      in.flush();
      String line = err.readLine();
      while (line != null && !line.contains("imported: ")) {
        lines.add(line);
        line = err.readLine();
      }
      assertTrue(line != null, lines::toString);
      assertTrue(Files.exists(file), "the progress is reported after the file was opened");
      p.toHandle()
          .destroy(); // SIGTERM ends a JVM as Ctrl-C does, which a test may have been told to
      // ignore
      err.lines().forEach(lines::add);
      p.waitFor();
    } finally {
      p.destroyForcibly();
    }
    assertEquals(List.of(), names(temporary), "temporary files");
    return lines;
  }

  /** The first line of an export, which describes the table. */
  private String schema() {
    Path from = source.resolve("from");
    try (Database db = Database.open(from, Fixture.SMALL)) {
      db.table(TableSpec.bytes("t", 10));
    }
    return Fixture.run(0, "export", from, "t").out();
  }

  @Test
  @Tag("slow")
  void newFile() throws Exception {
    Files.writeString(dir.resolve("db.txt"), "mine");
    List<String> lines = ended(dir.resolve("db"));
    assertTrue(lines.contains("fovea: stopped; nothing was imported"), lines::toString);
    assertEquals(List.of("db.txt"), names(dir));
  }

  @Test
  @Tag("slow")
  void newTable() throws Exception {
    Path file = dir.resolve("db");
    try (Database db = Database.open(file, Fixture.SMALL)) {
      db.table(TableSpec.bytes("other", 10));
    }
    List<String> lines = ended(file, "--write");
    assertTrue(lines.contains("fovea: stopped; nothing was imported"), lines::toString);
    assertEquals(
        List.of("table other of bytes"),
        Fixture.lines("schema", file).stream().filter(l -> l.startsWith("table")).toList());
    Fixture.run(0, "verify", file);
  }

  /** Records of earlier batches stay, and their number is said. */
  @Test
  @Tag("slow")
  void batches() throws Exception {
    Path file = dir.resolve("db");
    List<String> lines = ended(file, "--batch", "10");
    String said = lines.stream().filter(l -> l.endsWith("imported before")).findFirst().orElse("");
    assertTrue(
        said.matches("fovea: stopped; [0-9]+ records were imported before"), lines::toString);
    String count = said.replaceAll("[^0-9]", "");
    assertEquals(List.of(count), Fixture.lines("count", file, "t"));
  }

  @Test
  void aTableThatCannotBeDroppedHidesNoCause() {
    Database closed = Database.open(dir.resolve("db"), Fixture.SMALL);
    closed.close();
    StringWriter err = new StringWriter();
    IOException cause = new IOException("the input broke");
    ImportCommand.drop(closed, "new t", cause, new PrintWriter(err));
    assertEquals(1, cause.getSuppressed().length);
    assertTrue(err.toString().startsWith("fovea: the new table \"new t\" remains"), err::toString);
  }
}
