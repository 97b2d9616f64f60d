package io.fovea.consumers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.consumers.Consumer.Run;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Without native access a database can still be written, closed, reopened and verified. A warning
 * names the costs and the flag that grants access.
 */
@Tag("slow")
class NativeAccessTest {
  private static final String SAID = "verify ok\nsum 49995000\n";

  @TempDir static Path compiled;
  private static Consumer onClassPath;
  private static Consumer onModulePath;

  @TempDir Path work;

  /** Once for all tests: compiling takes longer than running. */
  @BeforeAll
  static void compile() throws IOException {
    onClassPath = Consumer.onClassPath("engine-path", compiled.resolve("classpath"), "shared");
    onModulePath =
        Consumer.onModulePath("engine-path", compiled.resolve("modules"), "shared", "modular");
  }

  @Test
  void deniedOnTheClassPath() throws Exception {
    Consumer bank = onClassPath;
    Run run = bank.run(work, Denial.ofAll(), "bank.Bank", file());
    assertWorksWithAWarning(run, "--enable-native-access=ALL-UNNAMED");
  }

  @Test
  void deniedOnTheModulePath() throws Exception {
    Consumer bank = onModulePath;
    Run run = bank.run(work, Denial.ofAll(), "bank.Bank", file());
    assertWorksWithAWarning(run, "--enable-native-access=io.fovea.bindings,io.fovea.engine");
  }

  /** Access for only one of the two modules does not suffice. */
  @ParameterizedTest
  @ValueSource(strings = {"io.fovea.bindings", "io.fovea.engine"})
  void grantedToOneModule(String module) throws Exception {
    Consumer bank = onModulePath;
    Run run = bank.run(work, Denial.exceptFor(module), "bank.Bank", file());
    assertWorksWithAWarning(run, "--enable-native-access=io.fovea.bindings,io.fovea.engine");
  }

  /** The file is the same, with or without native access. */
  @Test
  void sameFile() throws Exception {
    Consumer bank = onClassPath;
    Run denied = bank.run(work, Denial.ofAll(), "bank.Bank", file());
    assertEquals(0, denied.code(), denied::err);
    Run granted = bank.run(work, Denial.exceptFor("ALL-UNNAMED"), "bank.Check", file());
    assertEquals(new Run(0, SAID, granted.err()), granted);
    Run again = bank.run(work, Denial.ofAll(), "bank.Check", file());
    assertEquals(new Run(0, SAID, again.err()), again);
  }

  /** The lock of one excludes the other. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void lockExcludesOther(boolean holderIsDenied) throws Exception {
    Consumer bank = onClassPath;
    List<String> granted = Denial.exceptFor("ALL-UNNAMED");
    Run run =
        bank.run(
            work,
            holderIsDenied ? Denial.ofAll() : granted,
            "bank.Locked",
            concat(file(), holderIsDenied ? granted : Denial.ofAll()));
    assertEquals(0, run.code(), run::err);
    assertEquals("refused\n", run.out());
  }

  /** Read-only openings of both share the lock, and exclude a writer. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void sharedLockOfReaders(boolean firstIsDenied) throws Exception {
    Consumer bank = onClassPath;
    List<String> granted = Denial.exceptFor("ALL-UNNAMED");
    assertEquals(0, bank.run(work, granted, "bank.Bank", file()).code());
    Run run =
        bank.run(
            work,
            firstIsDenied ? Denial.ofAll() : granted,
            "bank.Readers",
            concat(file(), firstIsDenied ? granted : Denial.ofAll()));
    assertEquals(0, run.code(), run::err);
    assertEquals("sum 49995000\nsum 49995000\nrefused\n", run.out(), run::err);
  }

  @Test
  void namesFlagIfNothingWorks() throws Exception {
    Consumer bank = onClassPath;
    List<String> flags = new ArrayList<>(Denial.ofAll());
    flags.add("-XX:MaxDirectMemorySize=64m");
    flags.add("-Djava.io.tmpdir=" + work.resolve("nowhere"));
    Run run = bank.run(work, flags, "bank.Bank", file());
    assertEquals(1, run.code());
    assertTrue(
        run.err().contains("Native access is denied: allow it with --enable-native-access="),
        run::err);
  }

  private String file() {
    return work.resolve("bank.fovea").toString();
  }

  private static String[] concat(String first, List<String> rest) {
    List<String> all = new ArrayList<>(List.of(first));
    all.addAll(rest);
    return all.toArray(String[]::new);
  }

  private static void assertWorksWithAWarning(Run run, String flag) {
    assertEquals(0, run.code(), run::err);
    assertEquals(SAID, run.out());
    List<String> warnings = run.err().lines().filter(l -> l.startsWith("WARNING: ")).toList();
    assertEquals(1, warnings.size(), run::err);
    String warning = warnings.get(0);
    assertTrue(warning.contains("denied") && warning.contains("io_uring"), warning);
    assertTrue(warning.contains(flag + "."), warning);
    assertTrue(run.err().contains("java.io, buffered"), run::err);
  }
}
