package io.fovea.crash;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.support.SoakReport;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * Forged files, and wrong pages with valid checksums, in a separate JVM: typed errors, no crash, no
 * endless loop, bounded memory; and for pages, no wrong answer that verify does not explain.
 *
 * <p>{@code -Dcrash.forged=N} files, {@code -Dcrash.pages=N} databases with damaged pages; {@code
 * -Dcrash.forged.from=N} is the first round, for a replay.
 */
@Tag("slow")
@Timeout(value = 15, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Execution(ExecutionMode.CONCURRENT)
class HostileTest {
  private static final int FILES = Integer.getInteger("crash.forged", 40);
  private static final int PAGES = Integer.getInteger("crash.pages", 30);
  private static final int FROM = Integer.getInteger("crash.forged.from", 0);

  /** Generous: the child itself detects a round that does not end. */
  private static final long SECONDS = 600 + 2L * Math.max(FILES, PAGES);

  /** The heap, the JVM itself, and the pools of successive databases. */
  private static final long KIB_MAX = 700 << 10;

  @TempDir Path dir;

  @Test
  void forgedFilesAreRefused() throws IOException, InterruptedException {
    run("files", FILES, "forgedFilesAreRefused");
  }

  @Test
  void damagedPagesAreDetected() throws IOException, InterruptedException {
    run("pages", PAGES, "damagedPagesAreDetected");
  }

  private void run(String kind, int rounds, String test) throws IOException, InterruptedException {
    Path output = dir.resolve("output");
    Process child =
        new ProcessBuilder(
                List.of(
                    Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                    "-da",
                    "-Xmx160m",
                    "-XX:+UseSerialGC",
                    "--enable-native-access=ALL-UNNAMED",
                    "-XX:ErrorFile=" + dir.resolve("hs_err_%p.log"),
                    "-cp",
                    System.getProperty("java.class.path"),
                    Hostile.class.getName(),
                    kind,
                    Long.toString(CrashTest.SEED),
                    Integer.toString(FROM),
                    Integer.toString(FROM + rounds)))
            .directory(dir.toFile())
            .redirectErrorStream(true)
            .redirectOutput(output.toFile())
            .start();
    boolean ended = child.waitFor(SECONDS, TimeUnit.SECONDS);
    if (!ended) {
      new ProcessBuilder(
              Path.of(System.getProperty("java.home"), "bin", "jcmd").toString(),
              Long.toString(child.pid()),
              "Thread.print")
          .redirectErrorStream(true)
          .redirectOutput(ProcessBuilder.Redirect.appendTo(output.toFile()))
          .start()
          .waitFor(20, TimeUnit.SECONDS);
      child.destroyForcibly().waitFor();
    }
    String text = Files.readString(output);
    String about =
        "Replay: -Dtest=HostileTest#"
            + test
            + " -Dcrash.seed="
            + CrashTest.SEED
            + " -Dcrash.forged.from=<the number before BAD, or the last>\n"
            + interesting(text);
    assertTrue(ended, () -> "did not end: " + about);
    assertEquals(0, child.exitValue(), () -> about);
    assertTrue(text.contains("\nEND "), () -> about);
    assertFalse(text.contains("\nBAD"), () -> about);
    try (Stream<Path> files = Files.list(dir)) {
      assertTrue(
          files.noneMatch(f -> f.getFileName().toString().startsWith("hs_err")), () -> about);
    }
    String end = text.substring(text.lastIndexOf("\nEND ") + 5).strip();
    long kib =
        text.lines()
            .filter(l -> l.startsWith("memory "))
            .mapToLong(l -> Long.parseLong(l.substring(7)))
            .max()
            .orElse(0);
    assertTrue(kib < KIB_MAX, () -> "it used " + kib + " KiB");
    SoakReport.line(
        "HostileTest." + test,
        "seed " + CrashTest.SEED + ": " + rounds + " rounds: " + end + ", " + kib + " KiB");
  }

  /** Returns the failure with the line before it, or else the end of the text. */
  private static String interesting(String text) {
    int bad = text.indexOf("\nBAD");
    bad = bad < 0 ? text.indexOf("\nHANG") : bad;
    if (bad >= 0) {
      int from = Math.max(0, text.lastIndexOf('\n', bad - 1));
      return text.substring(from, Math.min(text.length(), from + 6000));
    }
    return text.substring(Math.max(0, text.length() - 8_000));
  }
}
