package io.fovea.crash;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.fovea.BufferShare;
import io.fovea.Database;
import io.fovea.Options;
import io.fovea.SimDatabase;
import io.fovea.VerifyReport;
import io.fovea.config.Durability;
import io.fovea.config.Translation;
import io.fovea.memory.Mem;
import io.fovea.support.SimDisk;
import io.fovea.support.SimStorage;
import io.fovea.support.SoakReport;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Cuts the power at every disk operation, including those of recovery.
 *
 * <p>Options: {@code -Dcrash.states=N} (the minimum of distinct crash states), {@code
 * -Dcrash.seed=N}, {@code -Dcrash.files=FOLDER} (opens the files that a failure saved).
 */
@Tag("slow")
@Timeout(value = 30, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Execution(ExecutionMode.CONCURRENT)
class CrashTest {
  private static final long STATES_SHORT = 80;
  static final long STATES = Long.getLong("crash.states", STATES_SHORT);
  static final long SEED = Long.getLong("crash.seed", 1);
  private static final int WORKLOADS_MAX = 10;

  /** Cuts workloads at every operation: more than half of all states. */
  @Test
  void recoversFromEveryOperation() {
    CrashExplorer explorer =
        new CrashExplorer(SEED, Session.small()).crashes(4).nest(25, 6, 2, 1).enough(STATES);
    for (int i = 0; i == 0 || explorer.distinct() < STATES * 6 / 10; i++) {
      explorer.workload(i % 4 == 3 ? 120 : 20);
    }
    SoakReport.line("CrashTest.recoversFromEveryOperation", "seed " + SEED + ": " + explorer);
  }

  /** Cuts recoveries at every operation, and their recoveries, recursively. */
  @Test
  void recoversFromEveryOperationOfARecovery() {
    CrashExplorer explorer =
        new CrashExplorer(SEED + 1, Session.small())
            .crashes(1)
            .nest(12, Integer.MAX_VALUE, 2, 1)
            .enough(Math.max(200, STATES / 4));
    while (explorer.distinct() < STATES / 4) {
      explorer.workload(25);
    }
    SoakReport.line(
        "CrashTest.recoversFromEveryOperationOfARecovery", "seed " + (SEED + 1) + ": " + explorer);
  }

  static Options notWaiting() {
    return Session.small()
        .durability(Durability.ASYNC)
        .log(log -> log.maxFlushDelay(Duration.ofHours(1), 16 << 10));
  }

  /** Asynchronous commits: a prefix of them survives. */
  @Test
  void asynchronousCommits() {
    CrashExplorer explorer =
        new CrashExplorer(SEED + 2, notWaiting()).crashes(2).nest(20, 3, 1, 1).enough(STATES / 2);
    for (int i = 0; i == 0 || explorer.distinct() < STATES / 8; i++) {
      explorer.workload(20);
    }
    SoakReport.line("CrashTest.asynchronousCommits", "seed " + (SEED + 2) + ": " + explorer);
  }

  /** Varies sizes and translations, with a pool that holds everything. */
  @Test
  void otherOptions() {
    Options large =
        Session.small()
            .bufferBytes(8 << 20)
            .device(dev -> dev.pageSize(8192))
            .log(log -> log.bufferBytes(128 << 10).maxBytes(512 << 10));
    CrashExplorer explorer =
        new CrashExplorer(SEED + 3, large).crashes(2).nest(20, 3, 1, 1).enough(STATES / 2);
    for (int i = 0; i == 0 || explorer.distinct() < STATES / 8; i++) {
      explorer.workload(25);
    }
    SoakReport.line("CrashTest.otherOptions", "seed " + (SEED + 3) + ": " + explorer);
  }

  /** The translations tried in the short form: those that get memory for pages in another way. */
  static final Set<Translation> OTHERS =
      EnumSet.of(Translation.VIRTUAL, Translation.SWIZZLED, Translation.DIRECT);

  /** Runs small workloads under each translation, with frequent evictions where it evicts. */
  @ParameterizedTest
  @EnumSource(value = Translation.class, names = "PREDICTIVE", mode = EnumSource.Mode.EXCLUDE)
  void underEachTranslation(Translation kind) {
    assumeTrue(Session.possible(kind) == kind, "native access is denied");
    assumeTrue(OTHERS.contains(kind) || STATES > STATES_SHORT, "only in the long form");
    Options own = Session.under(kind, Session.small().bufferBytes(600_000));
    long seed = SEED + 11 + 100 * kind.ordinal();
    long enough = STATES > STATES_SHORT ? STATES / 4 : STATES / 8;
    CrashExplorer explorer =
        new CrashExplorer(seed, own).crashes(2).nest(20, 3, 1, 1).enough(enough);
    for (int i = 0; i == 0 || explorer.distinct() < enough / 4; i++) {
      explorer.workload(25);
    }
    SoakReport.line("CrashTest.underEachTranslation " + kind, "seed " + seed + ": " + explorer);
  }

  /** A disk that writes pages atomically needs no double writes. */
  @Test
  void withoutDoubleWrites() {
    CrashExplorer explorer =
        new CrashExplorer(SEED + 4, Session.small().log(log -> log.doubleWrite(false)))
            .withoutTearing()
            .crashes(3)
            .nest(20, 3, 1, 1)
            .enough(STATES / 2);
    for (int i = 0; i == 0 || explorer.distinct() < STATES / 10; i++) {
      explorer.workload(40);
    }
    SoakReport.line("CrashTest.withoutDoubleWrites", "seed " + (SEED + 4) + ": " + explorer);
  }

  /** Runs workloads until there are enough states and their subject has occurred. */
  private static void work(CrashExplorer explorer, BooleanSupplier happened) {
    for (int i = 0;
        i == 0 || explorer.distinct() < STATES / 6 || i < WORKLOADS_MAX && !happened.getAsBoolean();
        i++) {
      explorer.workload(24);
    }
  }

  /** Pages move towards the front of the file, and its end is truncated. */
  @Test
  void compactions() {
    long before = Step.Compact.MOVED.get();
    final long cut = Step.Compact.CUT.get();
    final long rootsBefore = Step.Compact.ROOTS.get();
    CrashExplorer explorer =
        new CrashExplorer(SEED + 5, Session.small())
            .compacting()
            .crashes(1)
            .nest(20, 3, 1, 1)
            .enough(STATES / 2);
    work(
        explorer,
        () ->
            Step.Compact.MOVED.get() - before > 10
                && Step.Compact.ROOTS.get() - rootsBefore > 1
                && Step.Compact.CUT.get() > cut);
    long moved = Step.Compact.MOVED.get() - before;
    SoakReport.line(
        "CrashTest.compactions", "seed " + (SEED + 5) + ": " + explorer + ", pages moved " + moved);
    assertTrue(moved > 10, "pages moved: " + moved);
    long roots = Step.Compact.ROOTS.get() - rootsBefore;
    assertTrue(roots > 1, "roots moved: " + roots);
    assertTrue(Step.Compact.CUT.get() > cut, "the file was not truncated");
  }

  /** Runs of free pages between used ones become holes, and are reused. */
  @Test
  void holes() {
    long before = Step.Compact.PUNCHED.get();
    CrashExplorer explorer =
        new CrashExplorer(SEED + 6, Session.small())
            .punching()
            .crashes(1)
            .nest(20, 3, 1, 1)
            .enough(STATES / 2);
    work(explorer, () -> Step.Compact.PUNCHED.get() - before > 10);
    long punched = Step.Compact.PUNCHED.get() - before;
    SoakReport.line(
        "CrashTest.holes", "seed " + (SEED + 6) + ": " + explorer + ", pages punched " + punched);
    assertTrue(punched > 10, "pages punched: " + punched);
  }

  /** Pages of long values move, first pages and others. */
  @Test
  void longValuesMove() {
    long before = Step.Compact.MOVED.get();
    CrashExplorer explorer =
        new CrashExplorer(SEED + 9, Session.small())
            .movingLong()
            .crashes(1)
            .nest(20, 3, 1, 1)
            .enough(STATES / 2);
    work(explorer, () -> Step.Compact.MOVED.get() - before > 10);
    long moved = Step.Compact.MOVED.get() - before;
    SoakReport.line(
        "CrashTest.longValuesMove",
        "seed " + (SEED + 9) + ": " + explorer + ", pages moved " + moved);
    assertTrue(moved > 10, "pages moved: " + moved);
  }

  /** A shared buffer with memory for few of its frames. */
  @Test
  void sharedBuffer() {
    BufferShare share = BufferShare.of(Mem.isRaw() ? 2 << 20 : 8 << 20);
    Options few = Session.small().bufferBytes(4 << 20).bufferShare(share, 1);
    CrashExplorer explorer =
        new CrashExplorer(SEED + 7, few).crashes(2).nest(20, 3, 1, 1).enough(STATES / 2);
    for (int i = 0; i == 0 || explorer.distinct() < STATES / 8; i++) {
      explorer.workload(40);
    }
    SoakReport.line("CrashTest.sharedBuffer", "seed " + (SEED + 7) + ": " + explorer);
    assertEquals(0, share.used(), share::toString);
  }

  /**
   * Rows expire while the power is on and off. No reader sees an expired row, and no sweep removes
   * any other row. The workloads also evolve tables, delete ranges, open snapshots, load tables,
   * change the catalog, and move pages.
   */
  @Test
  void expiringRows() {
    long before = Step.Sweep.SWEPT.get();
    CrashExplorer explorer =
        new CrashExplorer(SEED + 9, Session.timed()).expiring().compacting().nest(20, 3, 1, 1);
    long swept = 0;
    for (int i = 0; i < 20 && (swept == 0 || explorer.distinct() < STATES / 3); i++) {
      // In every run, since rows expire and are swept mainly after a crash.
      explorer.crashes(1).enough(explorer.distinct() + STATES / 2).workload(30);
      swept = Step.Sweep.SWEPT.get() - before;
    }
    SoakReport.line(
        "CrashTest.expiringRows", "seed " + (SEED + 9) + ": " + explorer + ", rows swept " + swept);
    assertTrue(swept > 0, "no row was swept");
  }

  /** Ranges, some of them large, are deleted as a whole where possible. */
  @Test
  void rangeDeletes() {
    Options always = Session.small().experiments(exp -> exp.subtreeDeleteThreshold(0));
    CrashExplorer explorer =
        new CrashExplorer(SEED + 8, always)
            .compacting()
            .crashes(2)
            .nest(20, 3, 2, 1)
            .enough(STATES);
    for (int i = 0; i == 0 || explorer.distinct() < STATES / 4; i++) {
      explorer.workload(24);
    }
    SoakReport.line("CrashTest.rangeDeletes", "seed " + (SEED + 8) + ": " + explorer);
  }

  /** Checks the steps themselves: without a crash, model and engine agree. */
  @Test
  void withoutACrash() {
    for (long seed = SEED; seed < SEED + 8; seed++) {
      Session s =
          new Session(
              new SimDisk(seed),
              Session.small().durability(seed % 2 == 0 ? Durability.NONE : Durability.SYNC),
              false,
              new State());
      s.open();
      s.first();
      s.steps(new Generator(seed), 200);
      s.check();
      s.close();
      s.open();
      s.check();
      s.close();
    }
  }

  @Test
  void expiringRowsWithoutACrash() {
    for (long seed = SEED; seed < SEED + 8; seed++) {
      Session s = new Session(new SimDisk(seed), Session.timed(), false, new State());
      s.open();
      s.first();
      s.steps(new Generator(seed).timed(), 200);
      s.check();
      s.close();
      s.open();
      s.check();
      s.close();
    }
  }

  /** Opens the files that a failure saved. */
  @Test
  void files() throws IOException {
    String folder = System.getProperty("crash.files");
    assumeTrue(folder != null);
    SimDisk disk = SimDisk.load(Path.of(folder), SEED);
    try (Database db = SimDatabase.open(new SimStorage(disk), Session.small())) {
      VerifyReport report = db.verify();
      System.out.println(db.tables() + " " + report);
      assertTrue(report.ok(), report::toString);
    }
  }
}
