package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.fovea.config.Translation;
import io.fovea.support.Sample;
import java.io.BufferedReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A process uses at most its database's budget and {@link #BEYOND_BYTES}, however large the file:
 * see docs/guide/operations.md, "Memory".
 */
@Tag("slow")
@Timeout(value = 30, unit = TimeUnit.MINUTES)
class BudgetTest {
  private static final long MIB = 1 << 20;
  private static final long BUFFER_BYTES = 64 * MIB;
  private static final int TIMES = Sample.rounds(3, 5);

  /**
   * The allowance beyond {@link DatabaseStats.Memory#maxBytes} and the baseline: thread stacks,
   * rings, malloc caches, compiled code.
   */
  private static final long BEYOND_BYTES = 16 * MIB;

  private static final long LEFT_BYTES = 16 * MIB;

  /**
   * What opening a database may touch of an unused buffer: frame header lines and the pages it
   * reads.
   */
  private static final long TOUCHED_BYTES = Budget.LARGE_BYTES / 16;

  @TempDir Path dir;

  @ParameterizedTest
  @EnumSource(
      value = Translation.class,
      names = {"PREDICTIVE", "VIRTUAL"})
  void theProcessStaysWithinItsBudget(Translation translation) throws Exception {
    assumeTrue(Files.isReadable(Path.of("/proc/self/status")), "no /proc with the resident size");
    Map<String, String> said = run(translation);
    long baseline = Long.parseLong(said.get("baseline"));
    assertTrue(
        Long.parseLong(said.get("file")) >= TIMES * BUFFER_BYTES, "the file is too small: " + said);
    for (String phase : List.of("load", "get", "update", "scan")) {
      String[] numbers = said.get(phase).split(" budget ", 2);
      long grown = Long.parseLong(numbers[0]) - baseline;
      long budget = Long.parseLong(numbers[1]);
      assertTrue(grown > BUFFER_BYTES / 2, phase + ": the buffer was not used: " + said);
      assertTrue(
          grown <= budget + BEYOND_BYTES,
          () -> phase + ": " + grown + " bytes more than before, and the budget " + said);
    }
    long left = Long.parseLong(said.get("close")) - baseline;
    assertTrue(left <= LEFT_BYTES, () -> "after the close: " + said);
    long touched = Long.parseLong(said.get("reopened"));
    assertTrue(Long.parseLong(said.get("buffer")) >= Budget.LARGE_BYTES / 2, () -> "" + said);
    assertTrue(touched <= TOUCHED_BYTES, () -> "opening touches the buffer: " + said);
  }

  /** Returns the output of the process: the first word of each line to the rest. */
  private Map<String, String> run(Translation translation) throws Exception {
    Path errors = dir.resolve("stderr");
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(
        List.of(
            // A fixed heap and one compiler, so that only the engine grows.
            "-Xms64m",
            "-Xmx64m",
            "-XX:+AlwaysPreTouch",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "--enable-native-access=ALL-UNNAMED",
            "-cp",
            System.getProperty("java.class.path"),
            Budget.class.getName(),
            dir.toString(),
            Long.toString(BUFFER_BYTES),
            Integer.toString(TIMES),
            translation.name()));
    Process child = new ProcessBuilder(command).redirectError(errors.toFile()).start();
    Map<String, String> said = new TreeMap<>();
    try (BufferedReader in = child.inputReader()) {
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        int blank = line.indexOf(' ');
        said.put(line.substring(0, blank), line.substring(blank + 1));
      }
    } finally {
      child.destroy();
    }
    assertEquals(0, child.waitFor(), () -> said + "\n" + read(errors));
    return said;
  }

  private static String read(Path file) {
    try {
      return Files.readString(file);
    } catch (java.io.IOException e) {
      return e.toString();
    }
  }
}
