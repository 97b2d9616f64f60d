package io.fovea.checker;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Database;
import io.fovea.SimDatabase;
import io.fovea.support.SimDisk;
import io.fovea.support.SoakReport;
import io.fovea.txn.FaultInjection;
import io.fovea.txn.Settings;
import io.fovea.txn.TimestampRaiser;
import io.fovea.txn.TxEngine;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Raising the timestamps of an unlocked item is harmless even while it is in use: it has the effect
 * of a transaction that rewrites the current value. Raising those of a locked item is not.
 */
@Timeout(value = 15, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RaisedTimestampsTest {
  private static final int ROUNDS_MAX = 400;
  private static final int RAISED_MIN = 1_000;

  private static Setup setup(String name) {
    return Setup.usual(name).settings(c -> Settings.sketch(c, 2, 2048));
  }

  @Test
  void unlockedItemsMayBeRaised() {
    EngineLog.silence();
    long end = System.nanoTime() + TimeUnit.MINUTES.toNanos(SerializabilityTest.MINUTES);
    Totals totals = new Totals();
    AtomicLong raised = new AtomicLong();
    long seed = SerializabilityTest.SEED;
    // How many can be raised while others run depends on the scheduler.
    for (int round = 0;
        round == 0
            || System.nanoTime() - end < 0
            || (raised.get() <= RAISED_MIN && round < ROUNDS_MAX);
        round++) {
      totals.add(raising(seed++, raised));
    }
    assertTrue(raised.get() > RAISED_MIN, () -> "only " + raised + " were raised");
    SoakReport.line("RaisedTimestampsTest.unlockedItemsMayBeRaised", raised + " raised; " + totals);
  }

  private static Checker.Report raising(long seed, AtomicLong raised) {
    Setup setup = setup("timestamps of unlocked items raised");
    Workload load = new Workload(setup, seed);
    History history;
    try (Database db = setup.open(new SimDisk(seed))) {
      AtomicBoolean stop = new AtomicBoolean();
      Thread raiser =
          Thread.ofPlatform()
              .start(
                  () -> {
                    SplittableRandom random = new SplittableRandom(seed);
                    while (!stop.get()) {
                      raised.addAndGet(
                          TimestampRaiser.raiseUnlocked(SimDatabase.engine(db), random));
                      Thread.yield();
                    }
                  });
      try {
        history = load.run(db, 500, () -> false);
      } finally {
        stop.set(true);
        join(raiser);
      }
    }
    return Checker.check(history).requireClean(setup + ", seed " + seed);
  }

  private static void join(Thread t) {
    try {
      t.join();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  /** The lock holder raises the rts of a locked item while others commit. */
  @Tag("slow")
  @Test
  void lockedItemsMustNotBeRaised() {
    EngineLog.silence();
    AtomicReference<TxEngine> engine = new AtomicReference<>();
    FaultInjection raising =
        FaultInjection.NONE.with(
            (stage, locked) -> {
              if (stage == FaultInjection.Stage.VALIDATED) {
                Runnable restore = TimestampRaiser.raiseReads(engine.get(), locked, 100);
                for (int i = 0; i < 10; i++) {
                  Thread.yield();
                }
                restore.run();
              }
            });
    Setup setup = setup("timestamps of locked items raised").faults(raising).load(8, 40, 20);
    for (int round = 1; round <= ROUNDS_MAX; round++) {
      Workload load = new Workload(setup, SerializabilityTest.SEED + round);
      History history;
      try (Database db = setup.open(new SimDisk(round))) {
        engine.set(SimDatabase.engine(db));
        history = load.run(db, 250, () -> false);
      }
      Checker.Report report = Checker.check(history);
      if (!report.clean()) {
        SoakReport.line(
            "RaisedTimestampsTest.lockedItemsMustNotBeRaised",
            "in round " + round + ": " + report.anomalies().getFirst());
        return;
      }
    }
    throw new AssertionError("not detected in " + ROUNDS_MAX + " rounds");
  }
}
