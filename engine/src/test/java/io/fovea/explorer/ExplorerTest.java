package io.fovea.explorer;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.fovea.support.SoakReport;
import java.io.BufferedReader;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * Runs all operations at once: in one process that closes, crashes and reopens its databases, and
 * in processes that are killed. Both run in another JVM, so that a hang or crash of it is reported.
 *
 * <p>Options: {@code -Dexplorer.seconds=N}, {@code -Dexplorer.seed=N}, {@code -Dexplorer.kills=N},
 * {@code -Dexplorer.protocol=NAME}, {@code -Dexplorer.features=A,B} or {@code =-A,-B} for all but
 * these.
 */
@Tag("slow")
@Order(1)
@Execution(ExecutionMode.CONCURRENT)
class ExplorerTest {
  private static final long SECONDS = Long.getLong("explorer.seconds", 90);
  private static final int KILLS = Integer.getInteger("explorer.kills", 2);
  private static final long SEED = Long.getLong("explorer.seed", 1);

  /** A run of at least this many seconds must overlap each pair of features. */
  private static final long LONG = 1_800;

  @Test
  @Timeout(value = 15, unit = TimeUnit.MINUTES)
  void everythingAtOnce() throws Exception {
    run(
        "ExplorerTest.everythingAtOnce",
        "--seconds=" + SECONDS,
        SECONDS >= LONG ? "--delays" : "",
        SECONDS >= LONG ? "--pairs" : "",
        "--shrink");
  }

  @Test
  @Timeout(value = 15, unit = TimeUnit.MINUTES)
  void killedProcesses() throws Exception {
    run("ExplorerTest.killedProcesses", "--kills=" + KILLS, "", "");
  }

  private static void run(String test, String... args) throws IOException, InterruptedException {
    List<String> command = Shrinker.command();
    command.addAll(List.of(args));
    command.removeIf(String::isEmpty);
    command.add("--seed=" + SEED);
    for (String name : List.of("protocol", "features", "place")) {
      String value = System.getProperty("explorer." + name);
      if (value != null) {
        command.add("--" + name + "=" + value);
      }
    }
    Process p = new ProcessBuilder(command).redirectErrorStream(true).start();
    List<String> said = new ArrayList<>();
    try (BufferedReader in = p.inputReader()) {
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        said.add(line);
      }
    } finally {
      p.toHandle().destroyForcibly();
    }
    int status = p.waitFor();
    String all = String.join("\n", said);
    assertEquals(0, status, () -> "java " + String.join(" ", command) + "\n" + all);
    SoakReport.line(test, all);
  }
}
