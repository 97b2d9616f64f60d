package io.fovea.crash;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.support.SoakReport;
import java.io.BufferedReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * Repeatedly kills a process that writes into a database and follows it into a copy. The copy
 * resumes where it was, and in the end equals the database.
 *
 * <p>Options: {@code -Dcrash.kills=N}, {@code -Dcrash.seed=N}.
 */
@Tag("slow")
@Timeout(value = 10, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Execution(ExecutionMode.CONCURRENT)
class ChangesKillTest {
  private static final int KILLS = Integer.getInteger("crash.kills", 2);

  @TempDir Path dir;

  @BeforeAll
  static void quietHere() {
    Session.quiet();
  }

  @Test
  void copyResumesAfterKills() throws Exception {
    Path file = dir.resolve("db");
    Path copy = dir.resolve("copy");
    Random random = new Random(CrashTest.SEED);
    long batches = 0;
    for (int kill = 0; kill < KILLS; kill++) {
      batches += followed(file, copy, CrashTest.SEED * 100 + kill, 20 + random.nextInt(200));
      if (kill % 2 == 1) {
        assertTrue(ChangeFeedProcess.compare(file, copy) > 0);
      }
    }
    long records = ChangeFeedProcess.compare(file, copy);
    SoakReport.line(
        "ChangesKillTest.copyResumesAfterKills",
        KILLS + " kills of a process, " + batches + " batches, " + records + " records");
  }

  private long followed(Path file, Path copy, long seed, int batches) throws Exception {
    Path errors = dir.resolve("stderr");
    Path quiet = Files.writeString(dir.resolve("logging.properties"), ".level=SEVERE\n");
    Process child =
        new ProcessBuilder(
                List.of(
                    Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                    "-ea",
                    "-Xmx256m",
                    "-XX:+UseSerialGC",
                    "-XX:TieredStopAtLevel=1",
                    "--enable-native-access=ALL-UNNAMED",
                    "-Djava.util.logging.config.file=" + quiet,
                    "-cp",
                    System.getProperty("java.class.path"),
                    ChangeFeedProcess.class.getName(),
                    file.toString(),
                    copy.toString(),
                    Long.toString(seed)))
            .directory(dir.toFile())
            .redirectError(errors.toFile())
            .start();
    long n = 0;
    try (BufferedReader in = child.inputReader()) {
      while (in.readLine() != null) {
        if (++n == batches) {
          child.toHandle().destroyForcibly();
        }
      }
    }
    assertTrue(child.waitFor(2, TimeUnit.MINUTES));
    assertEquals(137, child.exitValue(), Files.readString(errors));
    return n;
  }
}
