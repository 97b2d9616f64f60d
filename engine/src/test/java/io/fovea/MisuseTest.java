package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Misuse of every kind results in exceptions and never crashes the JVM, checked in a child JVM with
 * and without assertions.
 *
 * <p>The seed is fixed, so that a build fails only because of its changes; {@code
 * -Dmisuse.seed=...} tries another, {@code -Dmisuse.races=10000} runs longer.
 */
@Tag("slow")
@Execution(ExecutionMode.CONCURRENT)
class MisuseTest {
  private static final int RACES = Integer.getInteger("misuse.races", 220);
  private static final long SEED = Long.getLong("misuse.seed", 1);

  @TempDir Path dir;

  @ParameterizedTest
  @ValueSource(strings = {"-ea", "-da"})
  void nothingCrashes(String assertions) throws IOException, InterruptedException {
    Path output = dir.resolve("output");
    Process child =
        new ProcessBuilder(
                List.of(
                    Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                    "-Xmx384m",
                    "--enable-native-access=ALL-UNNAMED",
                    "-XX:ErrorFile=" + dir.resolve("hs_err_%p.log"),
                    "-Djava.util.logging.config.file=" + quiet(),
                    assertions,
                    "-cp",
                    System.getProperty("java.class.path"),
                    Misuse.class.getName(),
                    dir.toString(),
                    Integer.toString(RACES / 2),
                    Long.toString(SEED)))
            .directory(dir.toFile())
            .redirectErrorStream(true)
            .redirectOutput(output.toFile())
            .start();
    boolean ended = child.waitFor(240, TimeUnit.SECONDS);
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
    String about = "seed " + SEED + " " + assertions + "\n" + tail(text);
    assertTrue(ended, () -> "did not end: " + about);
    assertEquals(0, child.exitValue(), () -> about);
    assertTrue(text.contains("GOOD"), () -> about);
    try (Stream<Path> files = Files.list(dir)) {
      assertTrue(
          files.noneMatch(f -> f.getFileName().toString().startsWith("hs_err")), () -> about);
    }
    for (String kind :
        List.of(
            "DatabaseClosedException",
            "DatabaseLockedException",
            "IncompatibleFormatException",
            "InvalidUseException",
            "KeyTooLargeException",
            "NullPointerException",
            "PoolTooSmallException",
            "ValueTooLargeException",
            "fine")) {
      assertTrue(text.contains(kind), () -> kind + " was not seen; " + about);
    }
  }

  private Path quiet() throws IOException {
    return Files.writeString(dir.resolve("logging.properties"), ".level=SEVERE\n");
  }

  private static String tail(String text) {
    return text.length() < 20_000 ? text : text.substring(text.length() - 20_000);
  }
}
