package io.fovea.jmh;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("slow")
class StoreComparisonTest {
  @TempDir Path folder;

  /** All workloads on all engines, with few records and short slices. */
  @Test
  void runs() throws Exception {
    Path out = folder.resolve("out.md");
    Path plot = folder.resolve("beside.svg");
    ProcessBuilder builder =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                System.getProperty("java.class.path"),
                StoreComparison.class.getName(),
                "--records=5000",
                "--slice=0.05",
                "--rounds=1",
                "--warm-up=0",
                "--memory=64",
                "--heap=256",
                "--dir=" + folder,
                "--plot=" + plot)
            .redirectErrorStream(true)
            .redirectOutput(out.toFile());
    // Inherited by the child JVMs, each of which runs for a second.
    builder.environment().put("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1");
    Process process = builder.start();
    try {
      assertTrue(process.waitFor(5, TimeUnit.MINUTES));
    } finally {
      process.destroyForcibly();
    }
    String printed = Files.readString(out);
    assertEquals(0, process.exitValue(), printed);
    assertEquals(
        6, printed.lines().filter(l -> l.matches("\\|.* threads?( \\|.*±.*)+")).count(), printed);
    assertTrue(printed.contains("| Fovea | serializable"), printed);
    assertTrue(Files.readString(plot).contains("</svg>"));
  }

  @Test
  void wrongValuesAreDetected() {
    byte[] key = new byte[ComparisonRecords.KEY_BYTES];
    byte[] value = new byte[ComparisonRecords.VALUE_BYTES];
    ComparisonRecords.key(7, key);
    ComparisonRecords.value(7, value);
    assertEquals(0, ComparisonRecords.check(key, value));
    ComparisonRecords.update(key, value);
    assertEquals(1, ComparisonRecords.check(key, value));
    for (byte[] wrong :
        new byte[][] {null, new byte[99], new byte[ComparisonRecords.VALUE_BYTES]}) {
      assertThrows(
          ComparisonRecords.WrongValueException.class, () -> ComparisonRecords.check(key, wrong));
    }
    ComparisonRecords.key(8, key);
    assertThrows(
        ComparisonRecords.WrongValueException.class, () -> ComparisonRecords.check(key, value));
    ComparisonRecords.key(7, key);
    value[15]++;
    assertThrows(
        ComparisonRecords.WrongValueException.class, () -> ComparisonRecords.check(key, value));
  }
}
