package io.fovea.explorer;

import io.fovea.CompactOptions;
import io.fovea.VerifyReport;

/** Maintenance of the database. */
final class Maintenance {
  private Maintenance() {}

  static void compact(Life life, Worker worker) {
    life.db.compact(
        CompactOptions.defaults()
            .movePages(!worker.oneIn(8))
            .punchHoles(life.setup.holes() && worker.random.nextBoolean())
            .bytesPerSecond(worker.oneIn(4) ? 4 << 20 : 0));
  }

  static void checkpoint(Life life, Worker worker) {
    life.db.checkpoint();
  }

  static void verify(Life life, Worker worker) {
    require(life, life.db.verify(), "verify");
  }

  /** Requires a clean report; failing devices excuse only their own errors. */
  static void require(Life life, VerifyReport report, String what) {
    boolean excused =
        life.state == Life.State.KILLED
            || life.faults
                && report.problems().stream()
                    .allMatch(p -> p.contains(" failed: ") || p.contains("durab"));
    Violation.unless(report.ok() || excused, what + ": " + report.problems());
  }

  static void stats(Life life, Worker worker) {
    Violation.unless(life.db.stats().toString().length() > 0, "stats");
    Violation.unless(life.db.tableSizes().containsKey("bank"), "sizes of tables");
    Violation.unless(life.db.tables().contains("bank"), "names of tables");
    Violation.unless(life.db.describe("bank") != null, "description of a table");
    Violation.unless(life.db.placement().toString().length() > 0, "placement");
  }

  static void interrupt(Life life, Worker worker) {
    Worker other = life.workers.get(worker.random.nextInt(life.workers.size()));
    Thread t = other.thread;
    if (t != null && other != worker) {
      t.interrupt();
    }
    Thread.onSpinWait();
  }
}
