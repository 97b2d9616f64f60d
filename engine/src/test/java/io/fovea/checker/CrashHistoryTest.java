package io.fovea.checker;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Database;
import io.fovea.SimDatabase;
import io.fovea.checker.Anomaly.Kind;
import io.fovea.config.Durability;
import io.fovea.config.Translation;
import io.fovea.support.SimCrash;
import io.fovea.support.SimDisk;
import io.fovea.support.SoakReport;
import java.time.Duration;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * One history over several crashes: the power fails while many threads run, and the recovered
 * database continues.
 *
 * <p>With SYNC, acknowledged commits and what they read must survive. With ASYNC the last ones may
 * be lost. So each part is checked before its crash, and afterwards only what is then seen counts.
 */
@Tag("slow")
@Timeout(value = 15, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class CrashHistoryTest {
  private static final int CRASHES = 3;
  private static final long SEEDS_MAX = 50;

  @ParameterizedTest
  @EnumSource(names = {"SYNC", "ASYNC"})
  void isSerializableOverCrashes(Durability durability) {
    EngineLog.silence();
    long end = System.nanoTime() + TimeUnit.MINUTES.toNanos(SerializabilityTest.MINUTES);
    Totals totals = new Totals();
    long seed = SerializabilityTest.SEED;
    // The long form runs under each translation at least once, however slow the machine is.
    long all = SerializabilityTest.MINUTES == 0 ? 0 : seed + KINDS.length;
    do {
      totals.add(
          history(durability, seed++, durability == Durability.SYNC).requireClean(durability));
    } while (seed < all || System.nanoTime() - end < 0);
    SoakReport.line("CrashHistoryTest." + durability, CRASHES + " crashes in each of " + totals);
  }

  /** Checks the checker: commits that ASYNC loses must show when SYNC's guarantee is required. */
  @Test
  void lostCommitsAreDetected() {
    EngineLog.silence();
    for (long seed = 1; seed <= SEEDS_MAX; seed++) {
      Checker.Report report = history(Durability.ASYNC, seed, true);
      if (report.has(Kind.LOST_COMMIT) || report.has(Kind.LOST_UPDATE)) {
        SoakReport.line(
            "CrashHistoryTest.lostCommitsAreDetected",
            "seed " + seed + ": " + report.anomalies().getFirst());
        return;
      }
    }
    throw new AssertionError("not detected with " + SEEDS_MAX + " seeds");
  }

  /** Successive seeds cycle through these. */
  private static final Translation[] KINDS = Translation.values();

  private static Translation kind(Durability durability, long seed) {
    return KINDS[(int) Math.floorMod(seed + durability.ordinal(), (long) KINDS.length)];
  }

  private static Checker.Report history(Durability durability, long seed, boolean promised) {
    Translation kind = kind(durability, seed);
    int buffer = kind == Translation.DIRECT ? 32 << 20 : 600_000;
    Setup setup =
        Setup.usual("crashes, " + durability + ", " + kind + ", seed " + seed)
            .options(
                o ->
                    o.durability(durability)
                        .bufferBytes(buffer)
                        .experiments(exp -> exp.translation(kind))
                        .log(log -> log.maxFlushDelay(Duration.ofHours(1), 32 << 10)))
            .load(8, 30, 200);
    SplittableRandom random = new SplittableRandom(seed);
    Workload load = new Workload(setup, seed);
    History all = new History();
    SimDisk disk = new SimDisk(seed);
    for (int crash = 0; crash < CRASHES; crash++) {
      Database db = setup.open(disk);
      ListClient.create(db);
      all.addAll(List.of(Workload.readAllAfterCrash(db, ListClient.PROCESSES - 1, crash)));
      load.crash();
      disk.powerOffAt(disk.operations() + 100 + random.nextInt(1_500));
      History round;
      try {
        round = load.run(db, 400, () -> false);
      } finally {
        SimDatabase.abandon(db);
        load.recovered();
      }
      disk = disk.crash(crash % 2 == 0 ? SimCrash.RANDOM : SimCrash.LOSE_ALL);
      if (!promised) {
        History before = new History(all.txns());
        before.addAll(round.txns());
        Checker.check(before).requireClean(setup + ", before crash " + crash);
        round = round.unpromised();
      }
      all.addAll(round.txns());
    }
    try (Database db = setup.open(disk)) {
      ListClient.create(db);
      all.addAll(List.of(Workload.readAllAfterCrash(db, ListClient.PROCESSES - 1, CRASHES)));
      all.addAll(load.run(db, 100, () -> false).txns());
      assertTrue(db.verify().ok());
    }
    return Checker.check(all);
  }
}
