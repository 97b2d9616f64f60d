package io.fovea.crash;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.support.SoakReport;
import java.io.BufferedReader;
import java.io.IOException;
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
 * One process writes into a database, another follows its files into a copy, and either is killed
 * repeatedly. The copy resumes where it was. It equals the database, both as a kill leaves the
 * files and after they are opened.
 *
 * <pre>
 *   writer     ──commits, tables made, renamed, dropped, checkpoints──┐kill   ──┐kill
 *   follower   ────batch and position as one transaction──┐kill   ──────────────────┐kill
 * </pre>
 *
 * <p>Log segments are recycled. A follower that falls behind reports it and starts over with a
 * snapshot. A gap shows as a deletion of a missing record or as a difference, a repetition as a
 * position that does not increase. Options: {@code -Dcrash.kills=N}, {@code -Dcrash.seed=N}.
 */
@Tag("slow")
@Timeout(value = 10, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Execution(ExecutionMode.CONCURRENT)
class FileChangesKillTest {
  private static final int KILLS = Integer.getInteger("crash.kills", 4);

  @TempDir Path dir;

  private Path file;
  private Path copy;
  private long batches;
  private int lost;

  @BeforeAll
  static void quietHere() {
    Session.quiet();
  }

  /** The log retains everything that the subscriber has not read yet. */
  @Test
  void resumesAfterKills() throws Exception {
    kills("resumesAfterKills", 256 << 20);
    assertEquals(0, lost, "followers that fell behind");
  }

  /** The log retains little: a follower that falls behind gets an error, never wrong changes. */
  @Test
  void recycledLog() throws Exception {
    kills("recycledLog", 512 << 10);
  }

  private void kills(String name, long changeRetentionBytes) throws Exception {
    file = dir.resolve("db");
    copy = dir.resolve("copy");
    ChangeFeedProcess.makeBoth(file, copy, changeRetentionBytes);
    Random random = new Random(CrashTest.SEED);
    Process writer = null;
    Process follower = null;
    try {
      for (int kill = 0; kill < KILLS; kill++) {
        long seed = CrashTest.SEED * 1000 + kill;
        if (writer == null) {
          writer = start("write", seed, changeRetentionBytes);
        }
        if (follower == null) {
          follower = start("follow", seed, changeRetentionBytes);
        }
        boolean goesOn = follow(follower, 20 + random.nextInt(300));
        int whom = random.nextInt(3);
        if (whom != 0 || !goesOn) {
          kill(writer, "writer", 137);
          writer = null;
        }
        if (whom != 1 || !goesOn) {
          kill(follower, "follower", goesOn ? 137 : ChangeFeedProcess.LOST);
          follower = null;
        }
        if (!goesOn) {
          lost++;
          ChangeFeedProcess.startOver(file, copy, changeRetentionBytes);
        } else if (writer == null && follower == null && random.nextBoolean()) {
          ChangeFeedProcess.compareFromFiles(file, copy, changeRetentionBytes);
        }
      }
      if (writer != null) {
        kill(writer, "writer", 137);
      }
      if (follower != null) {
        follower.destroyForcibly().waitFor();
      }
      writer = null;
      follower = null;
      long records = ChangeFeedProcess.compareFromFiles(file, copy, changeRetentionBytes);
      SoakReport.line(
          "FileChangesKillTest." + name,
          "seed "
              + CrashTest.SEED
              + ": "
              + KILLS
              + " kills, "
              + batches
              + " batches, started over "
              + lost
              + ", "
              + records
              + " records");
    } catch (Throwable e) {
      throw new AssertionError("-Dcrash.seed=" + CrashTest.SEED + ": " + e, e);
    } finally {
      for (Process p : new Process[] {writer, follower}) {
        if (p != null) {
          p.destroyForcibly();
        }
      }
    }
  }

  /** Waits for some batches; returns whether there may be more. */
  private boolean follow(Process follower, int wanted) throws IOException {
    BufferedReader in = follower.inputReader();
    for (int n = 0; n < wanted; n++) {
      String line = in.readLine();
      if (line == null) {
        return false;
      }
      batches++;
    }
    return true;
  }

  private void kill(Process p, String who, int expected) throws Exception {
    if (expected == 137) {
      p.toHandle().destroyForcibly(); // keeps its output, unlike Process.destroyForcibly
    }
    p.inputReader().lines().forEach(line -> batches++);
    assertTrue(p.waitFor(2, TimeUnit.MINUTES));
    int code = p.exitValue();
    // A follower that fell behind may report it before the kill.
    boolean well = code == expected || who.equals("follower") && code == ChangeFeedProcess.LOST;
    assertTrue(well, () -> who + " ended with " + code + ": " + errors(who));
  }

  private String errors(String who) {
    try {
      return Files.readString(dir.resolve(who));
    } catch (IOException e) {
      return e.toString();
    }
  }

  private Process start(String what, long seed, long changeRetentionBytes) throws IOException {
    Path quiet = Files.writeString(dir.resolve("logging.properties"), ".level=SEVERE\n");
    return new ProcessBuilder(
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
                Long.toString(seed),
                what,
                Long.toString(changeRetentionBytes)))
        .directory(dir.toFile())
        .redirectError(dir.resolve(what.equals("write") ? "writer" : "follower").toFile())
        .start();
  }
}
