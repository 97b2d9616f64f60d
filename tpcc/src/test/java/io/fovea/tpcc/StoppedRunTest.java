package io.fovea.tpcc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Database;
import io.fovea.Options;
import java.io.BufferedReader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** A run that is ended by a signal shows what it has measured so far, and closes the database. */
class StoppedRunTest {
  private static final int SIGTERM = 15;

  @TempDir Path folder;

  private static Stream<Arguments> commands() {
    return Stream.of(
        Arguments.of("run --warehouses=1 --warmup=0", "New-Order/s", "tpmC-like"),
        Arguments.of("ycsb run --records=2000 --warmup=0", " operations/s", "tx/s, "),
        Arguments.of("lookups --records=20000 --warmup=0", " lookups/s", "lookups/s, "),
        Arguments.of(
            "lookups --records=20000 --warmup=0 --sizes=0.04,0.08", " lookups/s", "lookups/s, "));
  }

  /**
   * @param words the command
   * @param running what a line of its progress has
   * @param table what its table has
   */
  @ParameterizedTest
  @MethodSource("commands")
  void aStoppedRunShowsItsTable(String words, String running, String table) throws Exception {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"));
    command.addAll(List.of("--enable-native-access=ALL-UNNAMED", "-cp"));
    command.add(System.getProperty("java.class.path"));
    command.add(KilledRunTest.Child.class.getName());
    command.addAll(List.of(words.split(" ")));
    command.add("--path=" + folder.resolve("tpcc.fovea"));
    command.addAll(List.of("--threads=2", "--buffer=32m", "--duration=1h"));
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    StringBuilder said = new StringBuilder();
    try (BufferedReader lines = process.inputReader()) {
      boolean signalled = false;
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        said.append(line).append('\n');
        if (!signalled && line.contains(" running ") && line.contains(running)) {
          signalled = true;
          process.toHandle().destroy(); // SIGTERM; the other destroy() closes the stream
        }
      }
      assertEquals(128 + SIGTERM, process.waitFor(), said::toString);
    } finally {
      process.toHandle().destroyForcibly();
    }
    String after = said.substring(said.indexOf("tpcc: stopping"));
    assertTrue(after.contains(table), said::toString);
    assertTrue(after.contains("stopped by a signal after "), said::toString);
    Options options = Options.defaults().bufferBytes(32 << 20);
    try (Database db = Database.open(folder.resolve("tpcc.fovea"), options)) {
      assertEquals(0, db.stats().recovery().logBytes(), "it was closed");
    }
  }
}
