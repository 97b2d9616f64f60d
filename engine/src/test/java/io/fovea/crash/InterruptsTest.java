package io.fovea.crash;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.fovea.support.SoakReport;
import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.TreeSet;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Interrupts each public entry point before it begins, at each I/O operation and wait, and at all
 * of them at once. The call completes, or throws OperationInterruptedException if so documented.
 * The interrupt flag is kept, no resource remains, nothing is reported as damaged, and the repeated
 * call succeeds.
 *
 * <p>Also runs without native access: see the execution {@code denied} in the module's POM. {@code
 * -Dcrash.interrupts=0} tries each call site; n tries n per call, chosen by {@code -Dcrash.seed}.
 */
class InterruptsTest {
  private static final int PLACES = Integer.getInteger("crash.interrupts", 1);
  private static final long SEED = Long.getLong("crash.seed", System.nanoTime());

  private Path folder;
  private Path prepared;

  /** Uses a folder in memory if possible: the test syncs often, and tests threads, not disks. */
  @BeforeEach
  void folders(@TempDir Path disk) throws IOException {
    Path memory = Path.of("/dev/shm");
    folder = Files.isWritable(memory) ? Files.createTempDirectory(memory, "fovea") : disk;
    prepared = Files.createDirectory(folder.resolve("prepared"));
  }

  @AfterEach
  void remove() throws IOException {
    InterruptedCalls.clear(folder);
    Files.deleteIfExists(folder);
  }

  @Test
  void eachCallAtEachCallSite() throws Exception {
    Class<?> calls =
        new InterruptWeaver(getClass().getClassLoader())
            .loadClass("io.fovea.crash.InterruptedCalls");
    Method run =
        calls.getMethod("run", String.class, Path.class, Path.class, int.class, boolean.class);
    SplittableRandom random = new SplittableRandom(SEED);
    calls.getMethod("prepare", Path.class).invoke(null, prepared);
    List<String> problems = new ArrayList<>();
    int tried = 0;
    int ended = 0;
    int all = 0;
    for (Object n : (List<?>) calls.getMethod("names").invoke(null)) {
      String name = (String) n;
      Object[] quiet = one(run, name, Integer.MAX_VALUE, false);
      assertEquals("", quiet[1], name);
      int places = (Integer) quiet[0];
      all += places;
      TreeSet<Integer> chosen = new TreeSet<>();
      chosen.add(-1);
      for (int i = 0; i < (PLACES == 0 ? places : Math.min(PLACES, places)); i++) {
        chosen.add(PLACES == 0 ? i : random.nextInt(places));
      }
      for (int place : chosen) {
        for (boolean each : place <= 0 ? new boolean[] {false, true} : new boolean[] {false}) {
          Object[] result = one(run, name, place, each);
          tried++;
          ended += result[2].equals("ended") ? 1 : 0;
          if (!result[1].equals("")) {
            problems.add(
                name
                    + " at call site "
                    + place
                    + (each ? " and all later ones" : "")
                    + " of "
                    + places
                    + ", "
                    + InterruptProbe.where()
                    + ": "
                    + result[1]);
          }
        }
      }
    }
    SoakReport.line(
        "InterruptsTest" + (io.fovea.memory.Mem.isRaw() ? "" : ", without native access"),
        "seed "
            + SEED
            + ", "
            + tried
            + " interrupts of "
            + all
            + " places, "
            + ended
            + " calls ended by them, "
            + problems.size()
            + " problems");
    assertEquals("", String.join("\n", problems), "-Dcrash.seed=" + SEED);
  }

  private Object[] one(Method run, String name, int place, boolean each) throws Exception {
    Path dir = Files.createTempDirectory(folder, "x");
    Object[] result = (Object[]) run.invoke(null, name, prepared, dir, place, each);
    InterruptedCalls.clear(dir);
    return result;
  }
}
