package io.fovea.crash;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Database;
import io.fovea.VerifyReport;
import io.fovea.config.Io;
import io.fovea.crash.Victim.Part;
import io.fovea.faults.FaultAgent;
import io.fovea.io.Storage;
import io.fovea.support.Sample;
import io.fovea.support.SoakReport;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * Kills a process, at random and at every failpoint. When its file is opened again, everything that
 * was acknowledged must be present.
 *
 * <p>Options: {@code -Dcrash.kills=N} random kills, {@code -Dcrash.seed=N}.
 */
@Tag("slow")
@Timeout(value = 15, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Execution(ExecutionMode.CONCURRENT)
class KillTest {
  private static final int KILLS = Integer.getInteger("crash.kills", 2);
  private static final int MINUTES = 5;

  private static final Io[] IOS = Io.values();

  @TempDir Path dir;

  @BeforeAll
  static void quietHere() {
    Session.quiet();
  }

  /** What a victim reported before it died. */
  private record Said(int acked, int begun, int status, String error) {}

  /** Runs a victim; kills it after it has acknowledged this many steps. */
  private Said victim(Path file, List<Part> parts, int killAfter, String... properties)
      throws IOException, InterruptedException {
    Path errors = dir.resolve("stderr");
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(
        List.of(
            "-ea",
            "-Xmx256m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "--enable-native-access=ALL-UNNAMED",
            "-XX:ErrorFile=" + dir.resolve("hs_err_%p.log"),
            "-Djava.util.logging.config.file=" + quiet()));
    command.addAll(List.of(properties));
    command.addAll(
        List.of(
            "-cp",
            System.getProperty("java.class.path"),
            Victim.class.getName(),
            file.toString(),
            String.join(",", parts.stream().map(Part::toString).toList())));
    Process child =
        new ProcessBuilder(command).directory(dir.toFile()).redirectError(errors.toFile()).start();
    int acked = 0;
    int begun = 0;
    try (BufferedReader in = child.inputReader()) {
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        if (line.startsWith("b ")) {
          begun = Integer.parseInt(line.substring(2));
        } else if (line.startsWith("a ")) {
          acked = Integer.parseInt(line.substring(2));
          if (acked == killAfter) {
            // not through the Process, which would close unread output
            child.toHandle().destroyForcibly();
          }
        }
      }
    }
    if (!child.waitFor(MINUTES, TimeUnit.MINUTES)) {
      child.destroyForcibly();
      throw new AssertionError("the child did not end: " + command);
    }
    return new Said(acked, begun, child.exitValue(), Files.readString(errors));
  }

  private Path quiet() throws IOException {
    return Files.writeString(dir.resolve("logging.properties"), ".level=SEVERE\n");
  }

  /** Opens the file of a victim; returns how many steps of the last part it holds. */
  private int found(Path file, List<Part> parts, Said said) throws IOException {
    try (Stream<Path> files = Files.list(dir)) {
      assertTrue(files.noneMatch(f -> f.getFileName().toString().startsWith("hs_err")));
    }
    State state = Victim.model(parts.subList(0, parts.size() - 1));
    Generator g = parts.getLast().generator();
    List<State> states = new ArrayList<>();
    for (int i = 0; i <= said.begun; i++) {
      if (i >= said.acked) {
        states.add(state);
      }
      if (i < said.begun) {
        state = state.copy();
        g.next(state).apply(state);
      }
    }
    try (Database db = Database.open(file, Victim.options())) {
      return said.acked + Session.match(db, states);
    }
  }

  private static void verify(Path file) {
    VerifyReport report = io.fovea.FileVerifier.verify(file);
    assertTrue(report.ok(), report::toString);
  }

  @Test
  void atRandom() throws Exception {
    Path file = dir.resolve("random");
    Random r = new Random(CrashTest.SEED);
    List<Part> parts = new ArrayList<>();
    int steps = 0;
    int killed = 0;
    for (int i = 0; i < KILLS; i++) {
      parts.add(new Part(r.nextInt(1 << 20), 1_000_000));
      int after = 1 + r.nextInt(150);
      Said said = victim(file, parts, after, "-Dvictim.io=" + IOS[i % IOS.length]);
      String about = "seed " + CrashTest.SEED + ", kill " + i + " " + parts + ": " + said;
      assertEquals(137, said.status, about);
      killed++;
      try {
        // sometimes the next victim recovers this one's file
        int found = i % 3 == 2 && said.acked == said.begun ? said.acked : found(file, parts, said);
        parts.set(parts.size() - 1, new Part(parts.getLast().seed(), found));
        steps += found;
      } catch (Throwable e) {
        throw new AssertionError(about, e);
      }
    }
    found(file, parts, new Said(parts.getLast().steps(), parts.getLast().steps(), 137, ""));
    verify(file);
    SoakReport.line(
        "KillTest.atRandom",
        "seed " + CrashTest.SEED + ": " + killed + " kills of a process, " + steps + " steps");
  }

  /** Reaches each failpoint of a sample, and survives it. */
  @Test
  void atEveryPoint() throws Exception {
    Set<String> points = FaultAgent.failpoints();
    assertFalse(points.isEmpty(), "there are no failpoints");
    // A separate victim, killed at random, leaves a file that needs recovery.
    Random r = new Random(CrashTest.SEED);
    Path killed = dir.resolve("killed");
    List<Part> before = new ArrayList<>(List.of(new Part(r.nextInt(1 << 20), 1_000_000)));
    Said first = victim(killed, before, 60 + r.nextInt(60));
    assertEquals(137, first.status, first::error);
    Path copy = dir.resolve("copy");
    copy(killed, copy);
    before.set(0, new Part(before.getFirst().seed(), found(copy, before, first)));
    List<String> reached = new ArrayList<>();
    Sample sample = Sample.oneOf(2);
    int number = 0;
    for (String point : points) {
      if (!sample.has(number++)) {
        continue;
      }
      Path file = dir.resolve("point-" + reached.size());
      copy(killed, file);
      List<Part> parts = new ArrayList<>(before);
      parts.add(new Part(r.nextInt(1 << 20), 400));
      Said dead = victim(file, parts, -1, FaultAgent.option(dir.resolve("agent.jar"), point));
      String about =
          "point "
              + point
              + ", -Dsample.seed="
              + Sample.seed()
              + ", seed "
              + CrashTest.SEED
              + " "
              + parts
              + ": "
              + dead;
      assertEquals(137, dead.status, () -> "failpoint not reached: " + about);
      try {
        found(file, parts, dead);
        verify(file);
      } catch (Throwable e) {
        throw new AssertionError(about, e);
      }
      reached.add(point);
    }
    SoakReport.line("KillTest.atEveryPoint", reached.size() + " points: " + reached);
  }

  private static void copy(Path from, Path to) throws IOException {
    for (String suffix : List.of(Storage.DATA, Storage.LOG, Storage.DOUBLE_WRITE)) {
      Files.copy(
          from.resolveSibling(from.getFileName() + suffix),
          to.resolveSibling(to.getFileName() + suffix));
    }
  }
}
