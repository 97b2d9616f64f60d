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
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Interrupts each public entry point before it begins, at each I/O operation and wait, and at all
 * of them at once. The call completes, or throws OperationInterruptedException if so documented.
 * The interrupt flag is kept, no resource remains, nothing is reported as damaged, and the repeated
 * call succeeds.
 *
 * <p>Also runs without native access: see the execution {@code denied} in the module's POM. {@code
 * -Dcrash.interrupts=0} tries each call site; n tries n per call, chosen by {@code -Dcrash.seed}.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class InterruptsTest {
  private static final int PLACES = Integer.getInteger("crash.interrupts", 1);
  private static final long SEED = Long.getLong("crash.seed", System.nanoTime());

  private final AtomicInteger tried = new AtomicInteger();
  private final AtomicInteger ended = new AtomicInteger();
  private final AtomicInteger all = new AtomicInteger();
  private final AtomicInteger problems = new AtomicInteger();
  private Path folder;
  private Path prepared;
  private Class<?> calls;
  private Method run;

  /** Uses a folder in memory if possible: the test syncs often, and tests threads, not disks. */
  @BeforeAll
  void prepare(@TempDir Path disk) throws Exception {
    Path memory = Path.of("/dev/shm");
    folder = Files.isWritable(memory) ? Files.createTempDirectory(memory, "fovea") : disk;
    prepared = Files.createDirectory(folder.resolve("prepared"));
    calls =
        new InterruptWeaver(getClass().getClassLoader())
            .loadClass("io.fovea.crash.InterruptedCalls");
    run = calls.getMethod("run", String.class, Path.class, Path.class, int.class, boolean.class);
    calls.getMethod("prepare", Path.class).invoke(null, prepared);
  }

  @AfterAll
  void report() throws IOException {
    InterruptedCalls.clear(folder);
    Files.deleteIfExists(folder);
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
            + problems
            + " problems");
  }

  List<?> names() throws ReflectiveOperationException {
    return (List<?>) calls.getMethod("names").invoke(null);
  }

  @ParameterizedTest
  @MethodSource("names")
  @Execution(ExecutionMode.CONCURRENT)
  void eachCallSiteOf(String name) throws Exception {
    Object[] quiet = one(name, Integer.MAX_VALUE, false);
    assertEquals("", quiet[1]);
    int places = (Integer) quiet[0];
    all.addAndGet(places);
    SplittableRandom random = new SplittableRandom(SEED + name.hashCode());
    TreeSet<Integer> chosen = new TreeSet<>();
    chosen.add(-1);
    for (int i = 0; i < (PLACES == 0 ? places : Math.min(PLACES, places)); i++) {
      chosen.add(PLACES == 0 ? i : random.nextInt(places));
    }
    List<String> found = new ArrayList<>();
    for (int place : chosen) {
      for (boolean each : place <= 0 ? new boolean[] {false, true} : new boolean[] {false}) {
        Object[] result = one(name, place, each);
        tried.incrementAndGet();
        ended.addAndGet(result[2].equals("ended") ? 1 : 0);
        if (!result[1].equals("")) {
          problems.incrementAndGet();
          found.add(
              "at call site "
                  + place
                  + (each ? " and all later ones" : "")
                  + " of "
                  + places
                  + ", "
                  + result[3]
                  + ": "
                  + result[1]);
        }
      }
    }
    assertEquals("", String.join("\n", found), "-Dcrash.seed=" + SEED);
  }

  private Object[] one(String name, int place, boolean each) throws Exception {
    Path dir = Files.createTempDirectory(folder, "x");
    Object[] result = (Object[]) run.invoke(null, name, prepared, dir, place, each);
    InterruptedCalls.clear(dir);
    return result;
  }
}
