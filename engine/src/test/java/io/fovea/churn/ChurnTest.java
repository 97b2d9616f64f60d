package io.fovea.churn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.fovea.support.SoakReport;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * Runs a process that repeats all kinds of work (tables, indexes, cursors, long values, backups,
 * virtual threads, checkpoints, snapshots, drops, failed transactions, several databases). At the
 * end, heap, native memory, descriptors, mappings and files must be at the level they had after the
 * first part, and the contents must be right.
 *
 * <p>{@code -Dchurn.seconds=N} in total, {@code -Dchurn.seed=N}, {@code
 * -Dchurn.activities=KIND,KIND} for some kinds only, {@code -Dchurn.dump=FILE} for a heap dump at
 * the end.
 */
@Tag("slow")
@Order(1)
@Execution(ExecutionMode.CONCURRENT)
class ChurnTest {
  private static final long SECONDS = Long.getLong("churn.seconds", 45);
  private static final long FIRST_SECONDS = Math.min(60, SECONDS / 4);
  private static final long SEED = Long.getLong("churn.seed", 1);
  private static final int HEAP_MIB = 256;

  /**
   * The allowed growth of a quantity after the first part, and its maximum. Both are independent of
   * the duration, so that a long run reveals even a leak of one operation in a thousand.
   *
   * @param growth the maximum growth; in KiB for sizes
   * @param max the maximum value
   * @param why the reason for variation
   */
  private record Allowance(long growth, long max, String why) {}

  private static final long ANY = Long.MAX_VALUE;
  private static final Map<String, Allowance> ALLOWANCES = new LinkedHashMap<>();

  static {
    allow("heap", 2 << 10, 32 << 10, "caches of the JDK; code loaded once");
    allow("direct", 4 << 10, 24 << 10, "scratch of contexts, up to what each may keep");
    allow("malloc", 8 << 10, ANY, "JVM metadata and compiled code");
    allow("resident", 24 << 10, ANY, "caches of malloc and the compiler");
    allow("pageTables", 2 << 10, ANY, "memory layout");
    allow("rings", 16, 18, "one per thread that reads many pages at a time, up to 16");
    allow("descriptors", 1, ANY, "the class path, opened on first use");
    // Varies by fifty within an hour; a leak per database would make thousands.
    allow("mappings", 128, ANY, "memory layout, and buffers of the rings");
    allow("threads", 4, ANY, "carriers of virtual threads; the JVM's own");
    allow("statsBuffer", 0, ANY, "fixed");
    allow("statsTimestamps", 8 << 10, 12 << 10, "committed on first use, up to the budget");
    allow("statsLog", 1 << 10, ANY, "buffers");
    allow("statsTransactions", 10 << 10, 56 << 10, "caches of contexts, and blocks");
    allow("statsTrees", 1 << 10, 8 << 10, "caches of threads' descents");
    allow("activeTransactions", 0, 0, "none is active");
    allow("pagesInUse", 256, ANY, "fill of pages");
    allow("dataFile", 16 << 10, ANY, "peak use");
    allow("logFile", ANY, 16 << 10, "how far the checkpoints were behind, up to the limit");
    allow("files", 0, 4, "the database, its log, its double-write area, its lock");
  }

  private static void allow(String name, long growth, long max, String why) {
    ALLOWANCES.put(name, new Allowance(growth, max, why));
  }

  @TempDir Path dir;

  @Test
  @Timeout(value = 15, unit = TimeUnit.MINUTES)
  void holdsNothingBack() throws Exception {
    assumeTrue(ResourceUsage.available(), "there is no /proc");
    Path errors = dir.resolve("stderr");
    Map<String, String> said = new TreeMap<>();
    List<String> grown = new ArrayList<>();
    List<String> descriptors = new ArrayList<>();
    Process child = start(errors);
    try (BufferedReader in = child.inputReader()) {
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        int at = line.indexOf(' ');
        String what = at < 0 ? line : line.substring(0, at);
        if (what.equals("grown")) {
          grown.add(line.substring(at + 1));
        } else if (what.endsWith("Descriptor")) {
          descriptors.add(line);
        } else {
          said.put(what, line.substring(at + 1));
        }
      }
    } finally {
      child.destroyForcibly();
    }
    int status = child.waitFor();
    String about = "seed " + SEED + ", " + SECONDS + " s: status " + status + ", " + said;
    assertEquals(0, status, () -> about + "\n" + read(errors));
    Map<String, Long> early = ResourceUsage.parse(there(said.get("early"), about));
    Map<String, Long> late = ResourceUsage.parse(there(said.get("late"), about));
    Map<String, Long> first = ResourceUsage.parse(there(said.get("first"), about));
    Map<String, Long> all = ResourceUsage.parse(there(said.get("all"), about));
    assertNotNull(said.get("verified"), about);
    long activities = 0;
    for (Map.Entry<String, Long> e : all.entrySet()) {
      long more = e.getValue() - first.getOrDefault(e.getKey(), 0L);
      assertTrue(
          more > 0, () -> e.getKey() + " was never executed after the first measurement: " + about);
      activities += more;
    }
    report(early, late, all, activities);
    List<String> wrong = wrong(early, late);
    assertTrue(
        wrong.isEmpty(),
        () ->
            String.join("\n", wrong)
                + "\n"
                + about
                + "\nheap growth: "
                + grown
                + "\n"
                + String.join("\n", descriptors));
  }

  private static List<String> wrong(Map<String, Long> early, Map<String, Long> late) {
    List<String> wrong = new ArrayList<>();
    ALLOWANCES.forEach(
        (name, allowed) -> {
          long before = early.getOrDefault(name, 0L);
          long after = late.getOrDefault(name, 0L);
          if (after - before > allowed.growth || after > allowed.max) {
            wrong.add(
                name
                    + ": "
                    + before
                    + " after the first part, "
                    + after
                    + " at the end; allowed growth "
                    + allowed.growth
                    + " ("
                    + allowed.why
                    + ")"
                    + (allowed.max == ANY ? "" : ", and " + allowed.max + " at all"));
          }
        });
    return wrong;
  }

  /** Reports what was done, and what has grown by how much in total and per operation. */
  private static void report(
      Map<String, Long> early, Map<String, Long> late, Map<String, Long> all, long activities) {
    StringBuilder left = new StringBuilder();
    for (String name : ALLOWANCES.keySet()) {
      long more = late.getOrDefault(name, 0L) - early.getOrDefault(name, 0L);
      if (more != 0) {
        left.append(left.isEmpty() ? "" : ", ")
            .append(name)
            .append(more > 0 ? " +" : " ")
            .append(more);
      }
    }
    long heap =
        (late.getOrDefault("heap", 0L) - early.getOrDefault("heap", 0L)) * 1024 / activities;
    SoakReport.line(
        "ChurnTest.holdsNothingBack",
        "seed "
            + SEED
            + ": "
            + SECONDS / 60
            + " min "
            + SECONDS % 60
            + " s, done "
            + all
            + "; growth by "
            + activities
            + " operations after the first part (sizes in KiB): "
            + (left.isEmpty() ? "nothing" : left)
            + "; heap "
            + heap
            + " bytes per operation; at the end "
            + late);
  }

  private Process start(Path errors) throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(
        List.of(
            "-ea",
            "-Xmx" + HEAP_MIB + "m",
            "-Xms" + HEAP_MIB + "m",
            "-XX:+AlwaysPreTouch", // makes the heap's share of resident memory constant
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-XX:ReservedCodeCacheSize=48m",
            "-Djdk.virtualThreadScheduler.parallelism=4",
            "-Djdk.virtualThreadScheduler.maxPoolSize=4",
            "--enable-native-access=ALL-UNNAMED",
            "-XX:ErrorFile=" + dir.resolve("hs_err_%p.log")));
    String dump = System.getProperty("churn.dump");
    if (dump != null) {
      command.add("-Dchurn.dump=" + dump);
    }
    command.addAll(
        List.of(
            "-cp",
            System.getProperty("java.class.path"),
            Churn.class.getName(),
            dir.resolve("churn").toString(),
            Long.toString(SECONDS),
            Long.toString(FIRST_SECONDS),
            Long.toString(SEED)));
    String some = System.getProperty("churn.activities");
    if (some != null) {
      command.add(some);
    }
    ProcessBuilder b = new ProcessBuilder(command).redirectError(errors.toFile());
    // One malloc arena, since one per former thread would look like a leak.
    b.environment().put("MALLOC_ARENA_MAX", "1");
    return b.start();
  }

  private static String there(@Nullable String t, String about) {
    assertNotNull(t, about);
    return t;
  }

  private static String read(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      return e.toString();
    }
  }
}
