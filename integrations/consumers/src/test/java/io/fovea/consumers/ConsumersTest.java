package io.fovea.consumers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.fovea.consumers.Consumer.Run;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The documented dependency and flag: an application compiles without warnings, and runs without
 * JVM warnings although native access is denied by default.
 */
class ConsumersTest {
  private static final String SAID = "verify ok\nsum 49995000\n";

  @TempDir Path work;

  @Test
  void engineBringsOnlyItsBindingsAndAnnotations() throws Exception {
    assertEquals(
        List.of("fovea-bindings", "fovea-engine", "jspecify"),
        Consumer.onClassPath("engine-path", work, "shared").jars());
  }

  @Test
  void anApplicationOnTheModulePath() throws Exception {
    Consumer bank = Consumer.onModulePath("engine-path", work, "shared", "modular");
    Run run =
        bank.run(
            work,
            Denial.exceptFor("io.fovea.bindings,io.fovea.engine"),
            "bank.Bank",
            work.resolve("bank.fovea").toString());
    assertWorks(SAID, run);
  }

  @Test
  void anApplicationOnTheClassPath() throws Exception {
    Consumer bank = Consumer.onClassPath("engine-path", work, "shared");
    Run run =
        bank.run(
            work,
            Denial.exceptFor("ALL-UNNAMED"),
            "bank.Bank",
            work.resolve("bank.fovea").toString());
    assertWorks(SAID, run);
  }

  @Test
  void metersOnTheModulePath() throws Exception {
    Consumer bank = Consumer.onModulePath("meters-path", work, "shared", "meters");
    Run run =
        bank.run(
            work,
            Denial.exceptFor("io.fovea.bindings,io.fovea.engine"),
            "bank.Meters",
            work.resolve("bank.fovea").toString());
    assertWorks("commits 100\n", run);
  }

  /** Checks the output, and that neither the JVM nor the engine has warned. */
  private static void assertWorks(String out, Run run) {
    assertEquals(0, run.code(), run::err);
    assertEquals(out, run.out());
    assertFalse(run.err().contains("WARNING"), run::err);
  }
}
