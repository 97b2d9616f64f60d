package io.fovea.cli;

import static io.fovea.cli.Fixture.SMALL;
import static io.fovea.cli.Fixture.make;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.ByteArrayInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * An output error ends every command: on a full device with a message and an exit code, on a closed
 * pipe silently. The {@link Transcripts} supply all commands, with arguments that produce output.
 */
@Timeout(value = 15, unit = TimeUnit.MINUTES)
class OutputTest {
  @TempDir Path dir;

  /** A system stream, opened again for each command. */
  private interface Device {
    OutputStream open() throws IOException;
  }

  /** Forwards writes, and fails if a write follows an error. */
  private static final class Once extends OutputStream {
    private final OutputStream to;
    private boolean failed;
    private int writesAfter;

    Once(OutputStream to) {
      this.to = to;
    }

    @Override
    public void write(int b) throws IOException {
      write(new byte[] {(byte) b}, 0, 1);
    }

    @Override
    public void write(byte[] bytes, int from, int length) throws IOException {
      writesAfter += failed ? 1 : 0;
      try {
        to.write(bytes, from, length);
        to.flush();
      } catch (IOException e) {
        failed = true;
        throw e;
      }
    }
  }

  /** Runs a command; returns its exit code and standard error. */
  private static List<String> run(Device device, byte[] in, Object... args) throws IOException {
    StringWriter err = new StringWriter();
    String[] words = new String[args.length];
    for (int i = 0; i < args.length; i++) {
      words[i] = args[i].toString();
    }
    Once once = new Once(device.open());
    int code =
        Main.execute(new ByteArrayInputStream(in), Output.to(once), new PrintWriter(err), words);
    assertEquals(0, once.writesAfter, () -> String.join(" ", words) + " goes on after an error");
    List<String> said = new ArrayList<>(List.of("" + code));
    said.addAll(err.toString().lines().toList());
    return said;
  }

  private void runAll(Device device, List<String> expected, Path folder) throws IOException {
    Transcripts.make(folder);
    int failed = 0;
    for (Transcripts.Entry e : Transcripts.entries()) {
      List<String> end = run(device, e.typed(), e.args(folder));
      boolean says = e.out().stream().anyMatch(l -> !l.equals("...") && !l.startsWith("! "));
      if (says) {
        failed++;
        boolean shell = e.command().startsWith("shell");
        List<String> said = shell ? end.subList(0, Math.min(end.size(), expected.size())) : end;
        assertEquals(expected, said, () -> "line " + e.line() + ": " + e.command());
      } else {
        assertEquals("" + e.code(), end.getFirst(), () -> "line " + e.line() + ": " + e.command());
      }
    }
    assertTrue(failed > 20, "commands that say something: " + failed);
    PrintWriter none = new PrintWriter(PrintWriter.nullWriter());
    Main main = new Main(InputStream.nullInputStream(), none, none, null);
    for (String command : Main.commandLine(main, "fovea").getSubcommands().keySet()) {
      assertEquals(expected, run(device, new byte[0], command, "--help"), command);
    }
    assertEquals(expected, run(device, new byte[0], "--help"));
    assertEquals(expected, run(device, new byte[0], "--version"));
    Path file = folder.resolve("db");
    for (String json : List.of("--json", "--hex")) {
      assertEquals(expected, run(device, new byte[0], "scan", file, "stock", json));
      assertEquals(expected, run(device, new byte[0], "dump", file, "--page", "0", json));
    }
    for (String command : List.of("tables", "schema", "stat", "verify", "doctor", "tail")) {
      Object of = command.equals("doctor") ? folder : file;
      assertEquals(expected, run(device, new byte[0], command, of, "--json"), command);
    }
  }

  @Test
  void fullDevice() throws IOException {
    Path full = Path.of("/dev/full");
    assumeTrue(Files.exists(full), "There is no /dev/full.");
    runAll(
        () -> new FileOutputStream(full.toFile()),
        List.of("5", "fovea: standard output: No space left on device"),
        dir);
  }

  @Test
  void closedPipe() throws Exception {
    assumeTrue(Files.isExecutable(Path.of("/bin/sh")), "There is no shell.");
    Process reader =
        new ProcessBuilder("/bin/sh", "-c", "exec 0<&-; echo gone; exec sleep 600").start();
    try {
      assertEquals('g', reader.getInputStream().read());
      OutputStream pipe = reader.getOutputStream();
      runAll(() -> pipe, List.of("141"), dir);
    } finally {
      reader.destroyForcibly().waitFor();
    }
  }

  /** The process itself: its standard output is the throwing writer. */
  @Test
  void process() throws Exception {
    assumeTrue(Files.exists(Path.of("/dev/full")), "There is no /dev/full.");
    Path file = make(dir, SMALL);
    List<String> java =
        List.of(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-XX:TieredStopAtLevel=1",
            "-XX:+UseSerialGC",
            "--enable-native-access=ALL-UNNAMED",
            "-cp",
            System.getProperty("java.class.path"),
            Main.class.getName(),
            "export",
            file.toString(),
            "t");
    Process full = new ProcessBuilder(java).redirectOutput(Path.of("/dev/full").toFile()).start();
    String err = new String(full.getErrorStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(5, full.waitFor(), err);
    assertEquals("fovea: standard output: No space left on device", err.strip());

    Process head = new ProcessBuilder(java).start();
    head.getInputStream().read();
    head.getInputStream().close();
    err = new String(head.getErrorStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(141, head.waitFor(), err);
    assertEquals("", err);
  }
}
