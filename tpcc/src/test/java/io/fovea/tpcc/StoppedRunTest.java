package io.fovea.tpcc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Database;
import io.fovea.Options;
import io.fovea.tpcc.bench.Exit;
import java.io.BufferedReader;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * A command stopped by a signal shows its results so far, or what is missing, and closes the
 * database.
 */
@Tag("slow")
@Execution(ExecutionMode.CONCURRENT)
class StoppedRunTest {
  private static final int SIGTERM = 15;
  private static final int PATIENCE_SECONDS = 180;
  private static final String YCSB = "ycsb run --buffer=4m --records=8000 --threads=2 --warmup=0";
  private static final String LOOKUPS =
      "lookups --buffer=4m --records=60000 --threads=2 --warmup=0";

  @TempDir Path folder;

  private Path file() {
    return folder.resolve("stopped.fovea");
  }

  /**
   * Runs a command in a child JVM, and stops it at the first line that contains the sign.
   *
   * @return the output after the signal
   */
  private String stopped(String args, String sign) throws Exception {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"));
    command.addAll(List.of("--enable-native-access=ALL-UNNAMED", "-cp"));
    command.add(System.getProperty("java.class.path"));
    command.add(KilledRunTest.Child.class.getName());
    command.addAll(Arrays.asList(args.split(" ")));
    command.addAll(List.of("--path=" + file()));
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    StringBuilder said = new StringBuilder();
    try (BufferedReader lines = process.inputReader()) {
      boolean signalled = false;
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        said.append(line).append('\n');
        if (!signalled && line.contains(sign)) {
          signalled = true;
          process.toHandle().destroy(); // SIGTERM; Process.destroy() would close the stream
        }
      }
      assertTrue(process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS), said::toString);
      assertEquals(128 + SIGTERM, process.exitValue(), said::toString);
    } finally {
      process.toHandle().destroyForcibly();
    }
    Options options = Options.defaults().bufferBytes(32 << 20);
    try (Database db = Database.open(file(), options)) {
      assertEquals(0, db.stats().recovery().logBytes(), "the database was closed");
    }
    return said.substring(said.indexOf("tpcc: stopping"));
  }

  /** The figures are words in the table that occur in no other line. */
  @ParameterizedTest
  @CsvSource({
    "run --buffer=32m --warehouses=1 --threads=2 --warmup=0, New-Order/s, tpmC-like",
    YCSB + ", operations/s, goodput",
    YCSB + " --clients=8, operations/s, goodput",
    LOOKUPS + ", lookups/s, of processor time per lookup",
    LOOKUPS + " --sizes=0.5, lookups/s, of processor time per lookup",
    LOOKUPS + " --sizes=0.5;1.5, lookups/s, of pool"
  })
  void stoppedRunShowsItsTable(String args, String running, String figures) throws Exception {
    String said = stopped(args.replace(';', ',') + " --duration=1h", " " + running);
    assertTrue(said.contains(figures), said);
    assertTrue(said.contains("stopped by a signal after "), said);
    assertTrue(said.indexOf(figures) < said.indexOf("stopped by a signal after "), said);
  }

  /** Long enough for a line at each size, even on a busy machine. */
  @Test
  void measuredSizesAreShown() throws Exception {
    String sizes = " --sizes=0.5,1.5,1.6,1.7,1.8 --duration=4s";
    String said = stopped(LOOKUPS + sizes, "working set 1.");
    assertTrue(said.lines().anyMatch(line -> line.startsWith("   0.500 ")), said);
    assertTrue(said.contains(" of 20.0 s; the table covers this time; sizes not measured: "), said);
  }

  @ParameterizedTest
  @CsvSource({
    "run --buffer=32m --warehouses=1, running mix, tpmC-like",
    "ycsb run --buffer=4m --records=8000, running workload, goodput",
    "lookups --buffer=4m --records=60000, looking up, of processor time per lookup",
    "lookups --buffer=4m --records=60000 --sizes=0.5;1.5, looking up, of pool"
  })
  void warmUpMeasuresNothing(String args, String sign, String figures) throws Exception {
    String said = stopped(args.replace(';', ',') + " --warmup=1h --duration=1h", sign);
    assertTrue(said.contains("stopped by a signal: nothing was measured"), said);
    assertFalse(said.contains(figures), said);
  }

  /** The mix runs in steps until the log is long enough; a stop ends all of them. */
  @Test
  void stoppedFillingEnds() throws Exception {
    String args = "recover-bench --fill --buffer=32m --replay=4g";
    String said = stopped(args, " filling ");
    assertTrue(said.contains("stopped by a signal: the log is shorter"), said);
  }

  /** So many rows take hours; the signal arrives before the first. */
  @ParameterizedTest
  @CsvSource({
    "load --buffer=32m --warehouses=10000, check",
    "ycsb load --buffer=4m --records=1000000000, ''",
    "lookups --buffer=4m --records=1000000000, ''"
  })
  void stoppedLoadIsReportedAsIncomplete(String args, String check) throws Exception {
    String said = stopped(args, "loading ");
    assertTrue(said.contains("stopped by a signal: the load is not complete"), said);
    assertFalse(said.contains("loaded "), said);
    if (!check.isEmpty()) {
      StringWriter out = new StringWriter();
      PrintWriter to = new PrintWriter(out);
      int code = Main.execute(Scale.FULL, to, to, check, "--path=" + file(), "--buffer=32m");
      assertEquals(Exit.UNUSABLE, code, out::toString);
      assertTrue(out.toString().contains("incomplete load"), out::toString);
    }
  }
}
