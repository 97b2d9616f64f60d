package io.fovea.junit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import java.util.List;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.testkit.engine.EngineExecutionResults;
import org.junit.platform.testkit.engine.EngineTestKit;
import org.junit.platform.testkit.engine.Event;

/** Test classes run by a JUnit within JUnit. */
final class Run {
  private final EngineExecutionResults results;

  private Run(EngineTestKit.Builder kit) {
    results = kit.execute();
  }

  static Run of(Class<?>... types) {
    EngineTestKit.Builder kit = EngineTestKit.engine("junit-jupiter");
    for (Class<?> type : types) {
      kit.selectors(selectClass(type));
    }
    return new Run(kit);
  }

  static Run inParallel(Class<?> type) {
    return new Run(
        EngineTestKit.engine("junit-jupiter")
            .configurationParameter("junit.jupiter.execution.parallel.enabled", "true")
            .configurationParameter("junit.jupiter.execution.parallel.mode.default", "concurrent")
            .configurationParameter("junit.jupiter.execution.parallel.config.strategy", "fixed")
            .configurationParameter(
                "junit.jupiter.execution.parallel.config.fixed.parallelism", "4")
            .selectors(selectClass(type)));
  }

  /** Requires that all tests and containers succeed. */
  void succeeds(int tests) {
    assertEquals(List.of(), failures().stream().map(Throwable::toString).toList());
    assertEquals(tests, results.testEvents().succeeded().count());
    assertEquals(0, results.containerEvents().failed().count());
  }

  /** Returns what failed tests and containers threw, tests first. */
  List<Throwable> failures() {
    return List.of(results.testEvents(), results.containerEvents()).stream()
        .flatMap(e -> e.failed().stream())
        .map(Event::getPayload)
        .map(p -> (TestExecutionResult) p.orElseThrow())
        .map(r -> r.getThrowable().orElseThrow())
        .toList();
  }

  /** Returns the only failure. */
  Throwable failure() {
    List<Throwable> all = failures();
    assertEquals(1, all.size(), all::toString);
    return all.getFirst();
  }

  /** Returns the display names of failed tests. */
  List<String> failedTests() {
    return results.testEvents().failed().stream()
        .map(e -> e.getTestDescriptor().getDisplayName())
        .toList();
  }

  /** Returns how many containers failed. */
  long failedContainers() {
    return results.containerEvents().failed().count();
  }
}
