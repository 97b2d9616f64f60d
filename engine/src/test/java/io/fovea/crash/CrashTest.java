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
 * The power fails at every operation of the disk, in recovery as well (RELIABILITY.md, 1 and 2).
 *
 * <p>{@code -Dcrash.states=N} distinct crash states at least, {@code -Dcrash.seed=N} where to
 * begin, {@code -Dcrash.files=FOLDER} opens what a failure has left.
 */
@Tag("slow")
@Timeout(value = 30, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Execution(ExecutionMode.CONCURRENT)
class CrashTest {
  private static final long STATES_SHORT = 80;
  static final long STATES = Long.getLong("crash.states", STATES_SHORT);
  static final long SEED = Long.getLong("crash.seed", 1);
  private static final int WORKLOADS_MAX = 10;

  /**
   * More than half of the states are those of one workload after the other, cut at every operation.
   */
  @Test
  void everyOperation() {
    CrashExplorer explorer =
        new CrashExplorer(SEED, Session.small()).crashes(4).nest(25, 6, 2, 1).enough(STATES);
    for (int i = 0; i == 0 || explorer.distinct() < STATES * 6 / 10; i++) {
      explorer.workload(i % 4 == 3 ? 120 : 20);
    }
    SoakReport.line("CrashTest.everyOperation", "seed " + SEED + ": " + explorer);
  }

  /** Recoveries are cut at every operation, and those recoveries, and those. */
  @Test
  void everyOperationOfARecovery() {
    CrashExplorer explorer =
        new CrashExplorer(SEED + 1, Session.small())
            .crashes(1)
            .nest(12, Integer.MAX_VALUE, 2, 1)
            .enough(Math.max(200, STATES / 4));
    while (explorer.distinct() < STATES / 4) {
      explorer.workload(25);
    }
    SoakReport.line("CrashTest.everyOperationOfARecovery", "seed " + (SEED + 1) + ": " + explorer);
  }

  /** With commits that do not wait for the log. */
  static Options notWaiting() {
    return Session.small()
        .durability(Durability.ASYNC)
        .log(log -> log.maxFlushDelay(Duration.ofHours(1), 16 << 10));
  }

  /** Commits that do not wait: a prefix of them survives. */
  @Test
  void commitsThatDoNotWait() {
    CrashExplorer explorer =
        new CrashExplorer(SEED + 2, notWaiting()).crashes(2).nest(20, 3, 1, 1).enough(STATES / 2);
    for (int i = 0; i == 0 || explorer.distinct() < STATES / 8; i++) {
      explorer.workload(20);
    }
    SoakReport.line("CrashTest.commitsThatDoNotWait", "seed " + (SEED + 2) + ": " + explorer);
  }

  /** Other sizes, other translations, a pool that holds everything. */
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

  /** Those that are met in the short form: where the memory of pages comes from elsewhere. */
  static final Set<Translation> OTHERS =
      EnumSet.of(Translation.VIRTUAL, Translation.SWIZZLED, Translation.DIRECT);

  /** The workload itself under each kind, small, so that pages leave all the time, if they may. */
  @ParameterizedTest
  @EnumSource(value = Translation.class, names = "PREDICTIVE", mode = EnumSource.Mode.EXCLUDE)
  void underEachTranslation(Translation kind) {
    assumeTrue(Session.possible(kind) == kind, "native access is denied");
    assumeTrue(OTHERS.contains(kind) || STATES > STATES_SHORT, "the long form does it");
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

  /** A disk that writes pages as a whole needs no copies of them. */
  @Test
  void withoutCopies() {
    CrashExplorer explorer =
        new CrashExplorer(SEED + 4, Session.small().log(log -> log.doubleWrite(false)))
            .withoutTearing()
            .crashes(3)
            .nest(20, 3, 1, 1)
            .enough(STATES / 2);
    for (int i = 0; i == 0 || explorer.distinct() < STATES / 10; i++) {
      explorer.workload(40);
    }
    SoakReport.line("CrashTest.withoutCopies", "seed " + (SEED + 4) + ": " + explorer);
  }

  /**
   * Workloads, until there are states enough and what they are about has happened: with some seeds
   * it is seldom.
   */
  private static void work(CrashExplorer explorer, BooleanSupplier happened) {
    for (int i = 0;
        i == 0 || explorer.distinct() < STATES / 6 || i < WORKLOADS_MAX && !happened.getAsBoolean();
        i++) {
      explorer.workload(24);
    }
  }

  /** Pages move towards the front of the file, and its end is cut off, again and again. */
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
    assertTrue(Step.Compact.CUT.get() > cut, "no page was cut off the end");
  }

  /** Runs of free pages between those that stay become holes, and are used again. */
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

  /** Pages of long values move, the first ones and others. */
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

  /** A buffer that is shared, and has memory for few of its frames. */
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
   * Rows expire while the power is on and while it is off: nobody sees one that has, and no sweep
   * takes another one. In the same workloads tables evolve, ranges are deleted, snapshots are
   * opened, tables are loaded, the catalog changes, and pages move.
   */
  @Test
  void expiringRows() {
    long before = Step.Sweep.SWEPT.get();
    CrashExplorer explorer =
        new CrashExplorer(SEED + 9, Session.timed()).expiring().compacting().nest(20, 3, 1, 1);
    long swept = 0;
    for (int i = 0; i < 20 && (swept == 0 || explorer.distinct() < STATES / 3); i++) {
      // Each time, for rows expire and are swept behind a crash above all.
      explorer.crashes(1).enough(explorer.distinct() + STATES / 2).workload(30);
      swept = Step.Sweep.SWEPT.get() - before;
    }
    SoakReport.line(
        "CrashTest.expiringRows", "seed " + (SEED + 9) + ": " + explorer + ", rows swept " + swept);
    assertTrue(swept > 0, "no row was swept");
  }

  /** All ranges that may go as a whole do, large ones among them. */
  @Test
  void cuts() {
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
    SoakReport.line("CrashTest.cuts", "seed " + (SEED + 8) + ": " + explorer);
  }

  /** The steps are right: without any crash, model and engine agree. */
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

  /** The same where rows expire. */
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

  /** Opens the files of a failure. */
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
