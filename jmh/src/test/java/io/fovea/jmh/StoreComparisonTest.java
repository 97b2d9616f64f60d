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
class BesideOthersTest {
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
                BesideOthers.class.getName(),
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
    byte[] key = new byte[BesideRecords.KEY_BYTES];
    byte[] value = new byte[BesideRecords.VALUE_BYTES];
    BesideRecords.key(7, key);
    BesideRecords.value(7, value);
    assertEquals(0, BesideRecords.check(key, value));
    BesideRecords.update(key, value);
    assertEquals(1, BesideRecords.check(key, value));
    for (byte[] wrong : new byte[][] {null, new byte[99], new byte[BesideRecords.VALUE_BYTES]}) {
      assertThrows(BesideRecords.WrongValueException.class, () -> BesideRecords.check(key, wrong));
    }
    BesideRecords.key(8, key);
    assertThrows(BesideRecords.WrongValueException.class, () -> BesideRecords.check(key, value));
    BesideRecords.key(7, key);
    value[15]++;
    assertThrows(BesideRecords.WrongValueException.class, () -> BesideRecords.check(key, value));
  }
}
