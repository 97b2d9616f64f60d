package io.fovea.crash;

import static org.junit.jupiter.api.Assertions.assertThrows;

import io.fovea.Options;
import io.fovea.crash.CrashExplorer.Violation;
import io.fovea.support.SoakReport;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * The tests can fail: an engine that is broken in one place is caught by the explorer that finds
 * nothing wrong with the whole one.
 */
@Tag("slow")
@Timeout(value = 15, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Execution(ExecutionMode.CONCURRENT)
class BrokenTest {
  /** After the first that shows it a search ends; when that comes is the threads' luck. */
  private static final long STATES = Math.max(20_000, CrashTest.STATES);

  private static void caught(String what, Options options, UnaryOperator<CrashExplorer> with) {
    CrashExplorer explorer =
        with.apply(new CrashExplorer(CrashTest.SEED, options).crashes(4).expectViolation());
    Violation v =
        assertThrows(
            Violation.class,
            () -> {
              while (explorer.distinct() < STATES) {
                explorer.workload(60);
              }
            },
            () -> what + " was not noticed: " + explorer);
    SoakReport.line(
        "BrokenTest." + what,
        "noticed after " + (explorer.distinct() + 1) + " states: " + firstLine(v));
  }

  private static String firstLine(Throwable t) {
    String s = String.valueOf(t.getMessage()).strip();
    return s.lines().findFirst().orElse(s);
  }

  /**
   * Pages are written although the log that says why is not on the disk yet. Commits that wait
   * leave hardly any time for that, so these don't.
   */
  @Test
  void pagesBeforeTheLog() {
    caught("pagesBeforeTheLog", CrashTest.notWaiting(), CrashExplorer::pageBeforeLog);
  }

  @Test
  void aLogThatIsNotSynced() {
    caught("aLogThatIsNotSynced", Session.small(), e -> e.prepare(d -> d.ignoreSyncs("db.log")));
  }

  @Test
  void pagesThatAreNotSynced() {
    caught("pagesThatAreNotSynced", Session.small(), e -> e.prepare(d -> d.ignoreSyncs("db")));
  }

  @Test
  void copiesThatAreNotSynced() {
    caught("copiesThatAreNotSynced", Session.small(), e -> e.prepare(d -> d.ignoreSyncs("db.dwb")));
  }

  @Test
  void pagesThatAreNotWrittenTwice() {
    caught(
        "pagesThatAreNotWrittenTwice", Session.small().log(log -> log.doubleWrite(false)), e -> e);
  }
}
