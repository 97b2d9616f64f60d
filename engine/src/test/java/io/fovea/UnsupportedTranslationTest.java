package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Where the kernel does not support VIRTUAL, an opening names the reason. */
class UnsupportedTranslationTest {
  private static final long MIB = 1 << 20;

  @TempDir Path dir;

  @BeforeEach
  void linux() {
    assumeTrue(Files.isReadable(Path.of("/proc/self/status")), "addresses are limited by a shell");
  }

  private String run(String limit, long buffer, List<String> flags, String... more)
      throws Exception {
    List<String> command = new ArrayList<>(List.of("/bin/sh", "-c"));
    command.add((limit.isEmpty() ? "" : "ulimit -v " + limit + "; ") + "exec \"$0\" \"$@\"");
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"));
    command.addAll(flags);
    command.addAll(
        List.of("-cp", System.getProperty("java.class.path"), TranslationProbe.class.getName()));
    command.addAll(List.of(dir.resolve("x.fovea").toString(), "VIRTUAL", Long.toString(buffer)));
    command.addAll(List.of(more));
    Path errors = dir.resolve("stderr");
    Process child = new ProcessBuilder(command).redirectError(errors.toFile()).start();
    String said = new String(child.getInputStream().readAllBytes());
    assertEquals(0, child.waitFor(), () -> said + errors(errors));
    return said;
  }

  private static String errors(Path file) {
    try {
      return Files.readString(file);
    } catch (java.io.IOException e) {
      return e.toString();
    }
  }

  private static final List<String> NATIVE = List.of("--enable-native-access=ALL-UNNAMED");

  @Test
  void supportedSystemsOpen() throws Exception {
    String said = run("", 8 * MIB, NATIVE);
    assertTrue(said.startsWith("opened "), said);
  }

  /** Locked memory cannot be dropped: a dropped page would still have its contents. */
  @Test
  void lockedMemory() throws Exception {
    String said = run("", 8 * MIB, NATIVE, "lock");
    assumeFalse(said.startsWith("may not lock"), "this user may not lock memory");
    assertTrue(said.startsWith("refused: Translation VIRTUAL drops pages of 4096 bytes"), said);
    assertTrue(said.contains("(mlockall)") && said.contains("another translation"), said);
  }

  /** A buffer of 1 GiB reserves 57 GiB of addresses. */
  @Test
  void tooFewAddresses() throws Exception {
    String said = run("12000000", 1024 * MIB, NATIVE);
    assertTrue(said.startsWith("refused: Translation VIRTUAL needs "), said);
    // One message for both, since the kernel does not report the reason.
    assertTrue(said.contains("Enlarge \"ulimit -v\""), said);
    assertTrue(said.contains("do not set vm.overcommit_memory to 2"), said);
    assertTrue(said.contains("ExperimentOptions.fileBytesMax"), said);
  }

  @Test
  void noNativeAccess() throws Exception {
    assumeTrue(Runtime.version().feature() >= 24, "older JVMs can't deny it");
    String said = run("", 8 * MIB, List.of("--illegal-native-access=deny"));
    assertTrue(said.startsWith("refused: ") && said.contains("--enable-native-access"), said);
  }
}
