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

/** Checks the crash explorer itself: an engine with one defect must be caught. */
@Tag("slow")
@Timeout(value = 15, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Execution(ExecutionMode.CONCURRENT)
class CrashExplorerTest {
  /** A search ends at the first violation; when that occurs depends on thread scheduling. */
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
            () -> what + " was not detected: " + explorer);
    SoakReport.line(
        "CrashExplorerTest." + what,
        "detected after " + (explorer.distinct() + 1) + " states: " + firstLine(v));
  }

  private static String firstLine(Throwable t) {
    String s = String.valueOf(t.getMessage()).strip();
    return s.lines().findFirst().orElse(s);
  }

  /**
   * Pages are written before their log records are on disk. Commits that wait for the log leave
   * hardly any time for that, so commits do not wait here.
   */
  @Test
  void detectsPagesWrittenBeforeTheLog() {
    caught("detectsPagesWrittenBeforeTheLog", CrashTest.notWaiting(), CrashExplorer::pageBeforeLog);
  }

  @Test
  void detectsUnsyncedLog() {
    caught("detectsUnsyncedLog", Session.small(), e -> e.prepare(d -> d.ignoreSyncs("db.log")));
  }

  @Test
  void detectsUnsyncedPages() {
    caught("detectsUnsyncedPages", Session.small(), e -> e.prepare(d -> d.ignoreSyncs("db")));
  }

  @Test
  void detectsUnsyncedCopies() {
    caught("detectsUnsyncedCopies", Session.small(), e -> e.prepare(d -> d.ignoreSyncs("db.dwb")));
  }

  @Test
  void detectsMissingDoubleWrites() {
    caught(
        "detectsMissingDoubleWrites", Session.small().log(log -> log.doubleWrite(false)), e -> e);
  }
}
