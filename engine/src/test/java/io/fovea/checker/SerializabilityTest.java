package io.fovea.checker;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Database;
import io.fovea.DatabaseStats;
import io.fovea.checker.Txn.Outcome;
import io.fovea.support.SimDisk;
import io.fovea.support.SoakReport;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Checks random histories of every setup.
 *
 * <p>{@code -Dchecker.minutes=N} runs each setup for N minutes, in rounds with a new database each;
 * otherwise each gets one short round. {@code -Dchecker.seed=N} sets the first seed, {@code
 * -Dchecker.setups=REGEX} selects setups.
 */
@Tag("slow")
@Timeout(value = 15, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Execution(ExecutionMode.CONCURRENT)
class SerializabilityTest {
  static final long SEED = Long.getLong("checker.seed", 1);
  static final long MINUTES = Long.getLong("checker.minutes", 0);

  private static final String SETUPS = System.getProperty("checker.setups", ".*");

  /** Transactions of a round: short, and long. */
  private static final int SHORT = 1_500;

  private static final int LONG = 60_000;

  static Stream<Setup> setups() {
    return Setup.all().stream().filter(setup -> setup.toString().matches(SETUPS));
  }

  @ParameterizedTest
  @MethodSource("setups")
  void isSerializable(Setup setup) {
    EngineLog.silence();
    long end = System.nanoTime() + TimeUnit.MINUTES.toNanos(MINUTES);
    Totals totals = new Totals();
    long seed = SEED;
    do {
      totals.add(round(setup, seed++, MINUTES == 0 ? SHORT : LONG));
    } while (System.nanoTime() - end < 0);
    SoakReport.line("SerializabilityTest." + setup, totals.toString());
  }

  private static Checker.Report round(Setup setup, long seed, int transactions) {
    Workload load = new Workload(setup, seed);
    History history;
    SimDisk disk = new SimDisk(seed);
    try (Database db = setup.open(disk)) {
      history = load.run(db, transactions / setup.threads(), () -> false);
      history.addAll(List.of(Workload.readAll(db, ListClient.PROCESSES - 1, 1)));
      DatabaseStats.Descents d = db.stats().descents();
      assertTrue(
          !setup.misled()
              || d.cachedLocations() > Math.min(1_000, transactions / 3)
                  && d.cachedLocationsRight() < d.cachedLocations(),
          () ->
              setup
                  + ": "
                  + d.cachedLocations()
                  + " key locations tried, right "
                  + d.cachedLocationsRight());
    }
    Checker.Report report = Checker.check(history).requireClean(setup + ", seed " + seed);
    long ok = history.txns().stream().filter(t -> t.outcome == Outcome.OK).count();
    assertTrue(ok > transactions / 10, () -> setup + ": hardly any committed: " + report);
    long frozen = history.txns().stream().filter(Workload::isOfSnapshot).count();
    assertTrue(frozen > 0, () -> setup + ": no transaction in a snapshot");
    assertTrue(ExpiryHistoryTest.ended(history) > 0, () -> setup + ": no list has expired");
    return report;
  }
}
