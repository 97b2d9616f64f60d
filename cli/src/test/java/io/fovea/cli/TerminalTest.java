package io.fovea.cli;

import static io.fovea.cli.Fixture.SMALL;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.fovea.Database;
import io.fovea.Table;
import io.fovea.schema.TableSpec;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The shell at a pseudo-terminal, which the program {@code script} creates. */
@Tag("slow")
@Timeout(value = 15, unit = TimeUnit.MINUTES)
class TerminalTest {
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final int LONG_RECORDS = 20_000;
  private static final String LAST = "%08d".formatted(LONG_RECORDS - 1);

  /** The longest match. */
  private static final int MATCH_MAX = 1000;

  /** How long to wait for the effect of a key that may have had none. */
  private static final Duration KEY = Duration.ofSeconds(3);

  @TempDir Path dir;

  private Process process;
  private OutputStream keys;
  private InputStream screen;

  /** All output so far, and how much of it was searched. */
  private final StringBuilder shown = new StringBuilder();

  private int seen;

  @BeforeEach
  void createsTerminal() {
    assumeTrue(
        Files.isExecutable(Path.of("/usr/bin/script")),
        "There is no program 'script' of util-linux, which makes pseudo-terminals.");
  }

  private void start(Path file, Path history) throws IOException {
    String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
    String command =
        "tty; stty cols 100 rows 30; exec "
            + String.join(
                " ",
                List.of(
                    "'" + java + "'",
                    "-XX:TieredStopAtLevel=1",
                    "-XX:+UseSerialGC",
                    "--enable-native-access=ALL-UNNAMED",
                    "-cp",
                    "'" + System.getProperty("java.class.path") + "'",
                    Main.class.getName(),
                    "'" + file + "'"));
    ProcessBuilder b =
        // A shell's background processes ignore Ctrl-C, and pass that on.
        new ProcessBuilder(
                "/usr/bin/env",
                "--default-signal=INT",
                "/usr/bin/script",
                "-qefc",
                command,
                "/dev/null")
            .redirectErrorStream(true);
    b.environment().put("TERM", "xterm");
    b.environment().put("FOVEA_HISTORY", history.toString());
    process = b.start();
    keys = process.getOutputStream();
    screen = process.getInputStream();
  }

  private void type(String text) throws IOException {
    keys.write(text.getBytes(StandardCharsets.UTF_8));
    keys.flush();
  }

  /**
   * Ends a command by Ctrl-C once some of its output is seen. On a busy machine the command may end
   * before the key arrives; then the test tries again.
   */
  private void stop(String rest, String some, String last) throws IOException {
    String command = rest;
    StringBuilder attempts = new StringBuilder();
    for (int times = 0; times < 10; times++) {
      int from = seen;
      type(command);
      await(some);
      final long typed = System.nanoTime();
      final int begun = seen;
      type("\003");
      boolean stopped = await("fovea: stopped|shown.db> ").group().endsWith("stopped");
      attempts
          .append(stopped ? "; stopped, " : "; not stopped, ")
          .append(seen - begun)
          .append(" characters and ")
          .append((System.nanoTime() - typed) / 1_000_000)
          .append(" ms behind the key");
      if (stopped) {
        await("shown.db> ");
        if (shown.indexOf(last, from) < 0) {
          return;
        }
      }
      lineBefore();
      command = "\r";
    }
    fail(
        "Ctrl-C never ended it"
            + attempts
            + ". At the end: "
            + shown.substring(Math.max(0, shown.length() - 2000)));
  }

  /**
   * Fetches the last line by Ctrl-P: an arrow key is three bytes, which a busy machine may split. A
   * late Ctrl-C discards the line; then the test tries again.
   */
  private void lineBefore() throws IOException {
    long end = System.nanoTime() + PATIENCE.toNanos();
    do {
      type("\020");
    } while (find("\"long table\"", KEY.toNanos()) == null && System.nanoTime() < end);
  }

  /** Waits for new output that matches; returns the match. */
  private Matcher await(String pattern) throws IOException {
    Matcher m = find(pattern, PATIENCE.toNanos());
    String tail = shown.substring(Math.max(0, shown.length() - 2000));
    assertTrue(m != null, () -> "There is no " + pattern + ": " + tail);
    return m;
  }

  /**
   * Like await, but with a short timeout, after which it returns null. A command that is not
   * stopped prints tens of millions of characters, so each is searched only once or twice.
   */
  private Matcher find(String pattern, long nanos) throws IOException {
    Pattern wanted = Pattern.compile(pattern);
    byte[] some = new byte[1 << 16];
    long end = System.nanoTime() + nanos;
    int from = seen;
    while (true) {
      Matcher m = wanted.matcher(shown);
      if (m.find(from)) {
        seen = m.end();
        return m;
      }
      from = Math.max(seen, shown.length() - MATCH_MAX);
      if (screen.available() > 0) {
        int n = screen.read(some);
        shown.append(new String(some, 0, n, StandardCharsets.ISO_8859_1));
      } else {
        String tail = shown.substring(Math.max(0, shown.length() - 2000));
        assertTrue(process.isAlive(), () -> "It ended without " + pattern + ": " + tail);
        if (System.nanoTime() >= end) {
          return null;
        }
        LockSupport.parkNanos(1_000_000);
      }
    }
  }

  @AfterEach
  void ends() {
    if (process != null) {
      process.descendants().forEach(ProcessHandle::destroyForcibly);
      process.destroyForcibly();
    }
  }

  @Test
  void completesStopsAndEnds() throws Exception {
    Path file = dir.resolve("shown.db");
    try (Database db = Database.open(file, SMALL)) {
      Fixture.fill(db);
      Table<byte[], byte[]> t = db.table(TableSpec.bytes("long table", 20)).bytes();
      byte[] value = "0123456789".repeat(100).getBytes(StandardCharsets.UTF_8);
      db.run(
          tx -> {
            for (int i = 0; i < LONG_RECORDS; i++) {
              t.put(tx, "%08d".formatted(i).getBytes(StandardCharsets.UTF_8), value);
            }
          });
    }
    Path history = dir.resolve("history");
    start(file, history);
    String tty = await("(/dev/pts/\\d+)").group(1);
    await("read-only");
    await("shown.db> ");

    type("tabl\t");
    await("tables ");
    type("\r");
    await("table +of +records");
    await("shown.db> ");
    type("scan \t");
    await("blobs");
    await("\"?long table");
    type("t --ind\t");
    await("--index ");
    type("\t");
    await("i ");
    type("'text 7'\r");
    await("k0 \\d+  x text 7");
    await("shown.db> ");

    // Ctrl-C ends the scan, not the shell.
    type("export lo\t");
    await("\"long table\"");
    stop("\r", hex("00001000"), hex(LAST));
    type("count t\r");
    await("[^0-9]3000\r\n");
    await("shown.db> ");
    stop("scan \"long table\" --limit 0\r", "00001000", LAST);

    // Ctrl-C at the prompt discards the line.
    type("frobnicate\003");
    await("shown.db> ");

    // The window is resized.
    assertEquals(
        0, new ProcessBuilder("stty", "-F", tty, "cols", "40", "rows", "10").start().waitFor());
    type("count blobs\r");
    await("[^0-9]3\r\n");
    await("shown.db> ");

    // Lines are in the history.
    type("\020\r"); // Ctrl-P: previous line
    await("[^0-9]3\r\n");
    await("shown.db> ");

    type("begin\r");
    await("shown.db\\*> ");
    type("\004");
    await("was not committed and is rolled back");
    keys.close();
    assertEquals(0, process.waitFor());
    String lines = Files.readString(history);
    assertTrue(lines.contains("export \"long table\""), lines);
    assertEquals(
        "rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(history)));
  }

  private static String hex(String text) {
    return HexFormat.of().formatHex(text.getBytes(StandardCharsets.UTF_8));
  }
}
