package io.fovea.tpcc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Database;
import io.fovea.Options;
import java.io.BufferedReader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A run that is ended by a signal shows what it has measured so far, and closes the database. */
class StoppedRunTest {
  private static final int SIGTERM = 15;

  @TempDir Path folder;

  @Test
  void aStoppedRunShowsItsTable() throws Exception {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"));
    command.addAll(List.of("--enable-native-access=ALL-UNNAMED", "-cp"));
    command.add(System.getProperty("java.class.path"));
    command.add(KilledRunTest.Child.class.getName());
    command.addAll(List.of("run", "--path=" + folder.resolve("tpcc.fovea"), "--warehouses=1"));
    command.addAll(List.of("--threads=2", "--buffer=32m", "--warmup=0", "--duration=1h"));
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    StringBuilder said = new StringBuilder();
    try (BufferedReader lines = process.inputReader()) {
      boolean signalled = false;
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        said.append(line).append('\n');
        if (!signalled && line.contains(" running ") && line.contains("New-Order/s")) {
          signalled = true;
          process.toHandle().destroy(); // SIGTERM; the other destroy() closes the stream
        }
      }
      assertEquals(128 + SIGTERM, process.waitFor(), said::toString);
    } finally {
      process.toHandle().destroyForcibly();
    }
    String after = said.substring(said.indexOf("tpcc: stopping"));
    assertTrue(after.contains("New-Order") && after.contains("tpmC-like"), said::toString);
    assertTrue(after.contains("stopped by a signal after "), said::toString);
    Options options = Options.defaults().bufferBytes(32 << 20);
    try (Database db = Database.open(folder.resolve("tpcc.fovea"), options)) {
      assertEquals(0, db.stats().recovery().logBytes(), "it was closed");
    }
  }
}
