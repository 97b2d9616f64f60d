package io.fovea.explorer;

import io.fovea.CompactOptions;
import io.fovea.VerifyReport;

/** Maintenance of the database. */
final class Upkeep {
  private Upkeep() {}

  static void compact(Life life, Hand hand) {
    life.db.compact(
        CompactOptions.defaults()
            .movePages(!hand.oneIn(8))
            .punchHoles(life.setup.holes() && hand.random.nextBoolean())
            .bytesPerSecond(hand.oneIn(4) ? 4 << 20 : 0));
  }

  static void checkpoint(Life life, Hand hand) {
    life.db.checkpoint();
  }

  static void verify(Life life, Hand hand) {
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

  static void stats(Life life, Hand hand) {
    Violation.unless(life.db.stats().toString().length() > 0, "stats");
    Violation.unless(life.db.tableSizes().containsKey("bank"), "sizes of tables");
    Violation.unless(life.db.tables().contains("bank"), "names of tables");
    Violation.unless(life.db.describe("bank") != null, "description of a table");
    Violation.unless(life.db.placement().toString().length() > 0, "placement");
  }

  static void interrupt(Life life, Hand hand) {
    Hand other = life.hands.get(hand.random.nextInt(life.hands.size()));
    Thread t = other.thread;
    if (t != null && other != hand) {
      t.interrupt();
    }
    Thread.onSpinWait();
  }
}
