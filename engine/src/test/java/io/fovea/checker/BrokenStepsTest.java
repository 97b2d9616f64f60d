package io.fovea.checker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.fovea.Database;
import io.fovea.SimDatabase;
import io.fovea.checker.Anomaly.Kind;
import io.fovea.checker.Script.Actor;
import io.fovea.config.TimestampStore;
import io.fovea.support.SimDisk;
import io.fovea.support.SoakReport;
import io.fovea.txn.FaultInjection;
import io.fovea.txn.FaultInjection.Stage;
import io.fovea.txn.FaultInjection.Step;
import io.fovea.txn.TimestampRaiser;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Checks the checker: if one step of the protocol is omitted, it must find the anomaly that the
 * step prevents, and none in the same interleaving of the complete engine.
 *
 * <p>The interleavings are forced: other transactions' steps run in the middle of a commit, on its
 * thread. Only {@link #isFoundAtRandom} is random: it runs random load until that also produces the
 * anomaly.
 */
@Timeout(value = 20, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class BrokenStepsTest {
  /** Keys of a table without an index, so that there are no other items. */
  private static final long A = Keys.grave(0);

  private static final long INSERTED = Keys.grave(3);
  private static final long BETWEEN = Keys.grave(6);
  private static final long ABOVE = Keys.grave(9);
  private static final long OTHER = Keys.grave(20);

  private static final FaultInjection CARELESS = FaultInjection.without(Step.FOREIGN_LOCKS);

  private static Checker.Report play(FaultInjection faults, Consumer<Script> script) {
    return play(Setup.usual("script").faults(faults), script);
  }

  private static Checker.Report play(Setup setup, Consumer<Script> script) {
    try (Script s = new Script(setup)) {
      script.accept(s);
      assertTrue(
          s.interrupted(), "the commit did not reach the stage at which it was to be interrupted");
      History h = s.history();
      Checker.Report report = Checker.check(h);
      assertEquals(
          SerialOracle.isSerializable(h),
          report.clean(),
          () -> report.anomalies() + " in " + h.txns());
      return report;
    }
  }

  private static void finds(String test, Step without, Consumer<Script> script, Kind kind) {
    finds(test, Setup.usual("script"), without, script, kind);
  }

  private static void finds(
      String test, Setup setup, Step without, Consumer<Script> script, Kind kind) {
    play(setup, script).requireClean(test + ", complete engine");
    Checker.Report report = play(setup.faults(FaultInjection.without(without)), script);
    assertTrue(report.has(kind), () -> "expected " + kind + ", found " + report.anomalies());
    SoakReport.line("BrokenStepsTest." + test, report.anomalies().getFirst().toString());
  }

  // ------------------------------------------------------------------------------- no validation

  @Test
  void noValidation() {
    finds("noValidation", Step.VALIDATION, BrokenStepsTest::readSkew, Kind.G_SINGLE);
  }

  private static void readSkew(Script s) {
    s.seed(A, OTHER);
    Actor reader = s.begin();
    reader.read(A);
    s.seed(A, OTHER);
    reader.read(OTHER);
    reader.commit();
  }

  // ------------------------------------------------------------------------------- no next key

  @Test
  void noNextKeyItems() {
    finds("noNextKeyItems", Step.NEXT_KEY, BrokenStepsTest::phantom, Kind.G_SINGLE);
  }

  private static void phantom(Script s) {
    s.seed(A, ABOVE, OTHER);
    Actor scanner = s.begin();
    scanner.scan(A, BETWEEN);
    s.seed(INSERTED, OTHER);
    scanner.read(OTHER);
    scanner.commit();
  }

  // ---------------------------------------------------------------------- no second check

  @Test
  void noSecondCheckOfTheSuccessor() {
    finds(
        "noSecondCheckOfTheSuccessor",
        Step.SUCCESSOR_RECHECK,
        BrokenStepsTest::splitGap,
        Kind.G_SINGLE);
  }

  /** The gap below {@code ABOVE} is split after it was found and before it is locked. */
  private static void splitGap(Script s) {
    s.seed(A, ABOVE, OTHER);
    Actor inserter = s.begin();
    inserter.append(INSERTED, OTHER);
    Actor[] scanner = new Actor[1];
    s.during(
        Stage.SUCCESSOR_FOUND,
        0,
        inserter,
        locked -> {
          s.seed(BETWEEN);
          scanner[0] = s.begin();
          assertTrue(scanner[0].scan(INSERTED, BETWEEN - 1).isEmpty());
        });
    inserter.commit();
    scanner[0].read(OTHER);
    scanner[0].commit();
  }

  /**
   * The key above the gap is the first of its leaf, so an insert into the gap changes the previous
   * leaf. The test finds this gap by trying several.
   */
  @Test
  void leafOfTheSuccessorInsteadOfTheGap() {
    List<Anomaly> found = new ArrayList<>();
    for (int gap = 0; gap < GAPS && found.isEmpty(); gap++) {
      long low = Keys.grave(100 + 30L * gap);
      Consumer<Script> script = s -> gapBetweenLeaves(s, low);
      play(FaultInjection.NONE, script).requireClean("complete engine, the gap above " + low);
      found.addAll(play(FaultInjection.without(Step.GAP_LEAF), script).anomalies());
    }
    assertTrue(found.stream().anyMatch(a -> a.kind() == Kind.G_SINGLE), () -> "found " + found);
    SoakReport.line(
        "BrokenStepsTest.leafOfTheSuccessorInsteadOfTheGap", found.getFirst().toString());
  }

  /** About twenty keys would fill a leaf. */
  private static final int GAPS = 28;

  private static void gapBetweenLeaves(Script s, long low) {
    Actor fills = s.begin();
    for (int i = 0; i <= GAPS; i++) {
      // In random order, so that leaves are not full: a split would change the next leaf as well.
      fills.append(Keys.grave(100 + 30L * (i * 10 % (GAPS + 1))));
    }
    fills.append(OTHER);
    fills.commit();
    Actor inserter = s.begin();
    inserter.append(low + 10, OTHER);
    Actor[] scanner = new Actor[1];
    s.during(
        Stage.SUCCESSOR_FOUND,
        0,
        inserter,
        locked -> {
          s.seed(low + 20);
          scanner[0] = s.begin();
          assertTrue(scanner[0].scan(low + 10, low + 19).isEmpty());
        });
    inserter.commit();
    scanner[0].read(OTHER);
    scanner[0].commit();
  }

  // ------------------------------------------------------------------- keys that are not read

  @Test
  void anyKeyAboveAGapInsteadOfOneInIt() {
    finds(
        "anyKeyAboveAGapInsteadOfOneInIt",
        Step.GAP_END,
        BrokenStepsTest::gapAboveTheNext,
        Kind.G_SINGLE);
  }

  /**
   * The second key that is inserted lies above the first one's gap, where another transaction
   * scans.
   */
  private static void gapAboveTheNext(Script s) {
    s.seed(A, BETWEEN, OTHER);
    Actor scanner = s.begin();
    scanner.scan(ABOVE, ABOVE + 2);
    Actor writer = s.begin();
    writer.beginLists(INSERTED, ABOVE + 1);
    writer.append(A);
    writer.commit();
    scanner.read(A);
    scanner.commit();
  }

  @Test
  void blindWritesThatLockAnotherItem() {
    finds(
        "blindWritesThatLockAnotherItem",
        Step.BLIND_WRITE_ITEM,
        BrokenStepsTest::absentKeyIsInserted,
        Kind.G_SINGLE);
  }

  /** A key is inserted that was read as absent, by a transaction that did not read it. */
  private static void absentKeyIsInserted(Script s) {
    s.seed(A, OTHER);
    Actor reader = s.begin();
    reader.read(INSERTED);
    Actor writer = s.begin();
    writer.beginLists(INSERTED);
    writer.append(A);
    writer.commit();
    reader.read(A);
    reader.commit();
  }

  // ---------------------------------------------------------------------- ignored locks

  @Test
  void readsThatIgnoreLocks() {
    finds(
        "readsThatIgnoreLocks", Step.FOREIGN_LOCKS, BrokenStepsTest::halfOfACommit, Kind.G_SINGLE);
  }

  /** One of two changes is in the pages. */
  private static void halfOfACommit(Script s) {
    halfOfACommit(s, false, reader -> reader.read(A, OTHER));
  }

  private static void halfOfACommit(Script s, boolean readOnly, Consumer<Actor> look) {
    s.seed(A, OTHER);
    Actor writer = s.begin();
    // A list between them puts them in different leaves; one leaf changes under a single latch.
    writer.append(A, Keys.list(0, 0), OTHER);
    s.during(
        Stage.INSTALLING,
        1,
        writer,
        locked -> {
          Actor reader = s.begin(readOnly);
          look.accept(reader);
          reader.commit();
        });
    writer.commit();
  }

  // ----------------------------------------------------- commits before a snapshot's timestamp

  @Test
  void commitsThatIgnoreSnapshots() {
    finds(
        "commitsThatIgnoreSnapshots",
        Step.QUIESCENT_POINT,
        BrokenStepsTest::commitInThePast,
        Kind.G2_ITEM);
  }

  /** A transaction whose read was overwritten, and that may still commit before that write. */
  private static Actor inThePast(Script s) {
    s.seed(A, OTHER);
    for (int i = 0; i < 5; i++) {
      s.seed(ABOVE); // with a late timestamp
    }
    Actor raises = s.begin(true);
    raises.read(A, ABOVE);
    raises.commit();
    Actor past = s.begin();
    past.read(A);
    s.seed(A);
    return past;
  }

  /**
   * A transaction's read was overwritten, and it may still commit before that write. A snapshot
   * opened in between has the overwriting version, and not what the transaction writes.
   */
  private static void commitInThePast(Script s) {
    Actor past = inThePast(s);
    Actor frozen = s.snapshot();
    past.append(OTHER);
    past.commit();
    frozen.read(A, OTHER);
    frozen.commit();
  }

  // -------------------------------------------------------- the item above a descending batch

  /** The gap must be in another leaf; otherwise the scan's copy covers a part of it. */
  @Test
  void descendingScansThatReadTheItemAboveOnce() {
    Setup exact =
        Setup.usual("all timestamps are exact")
            .options(o -> o.experiments(exp -> exp.timestamps(TimestampStore.MEMORY)));
    List<Anomaly> found = new ArrayList<>();
    for (int slot = Keys.SLOTS - 2; slot > 0; slot--) {
      long goes = Keys.list(0, slot);
      if (!Keys.isImmortal(goes)) {
        Consumer<Script> script = s -> keyDeletedBetweenBatches(s, goes);
        play(exact, script).requireClean("complete engine, " + goes + " is deleted");
        found.addAll(
            play(exact.faults(FaultInjection.without(Step.UPPER_ITEM_RECHECK)), script)
                .anomalies());
      }
    }
    assertTrue(found.stream().anyMatch(a -> a.kind() == Kind.G_SINGLE), () -> "found " + found);
    SoakReport.line(
        "BrokenStepsTest.descendingScansThatReadTheItemAboveOnce", found.getFirst().toString());
  }

  /**
   * A key between the last key of a batch and the next one is deleted. All timestamps are valid for
   * longer than the scan's commit needs, so validation checks nothing again.
   */
  private static void keyDeletedBetweenBatches(Script s, long goes) {
    long low = Keys.list(0, 0);
    long high = Keys.list(0, Keys.SLOTS - 1);
    Actor fills = s.begin();
    for (long key = low; key <= high; key++) {
      fills.append(key);
    }
    fills.append(OTHER);
    fills.commit();
    for (int i = 0; i < 20; i++) {
      s.seed(ABOVE); // with a late timestamp
    }
    Actor raises = s.begin(true);
    raises.read(ABOVE, OTHER, Keys.grave(goes));
    raises.scan(low, high);
    raises.commit();
    Actor scanner = s.begin();
    scanner.read(OTHER, Keys.grave(goes));
    Actor deleter = s.begin();
    scanner.scanDown(
        low,
        high,
        (int) (high - goes),
        () -> {
          deleter.delete(goes);
          deleter.append(OTHER);
          deleter.commit();
        });
    scanner.commit();
  }

  // ------------------------------------------------------------- words read before copies

  @Test
  void scansThatTrustWordsNewerThanTheirCopies() {
    finds(
        "scansThatTrustWordsNewerThanTheirCopies",
        Step.WORDS_BEFORE_COPIES,
        BrokenStepsTest::keyInsertedAfterTheCopy,
        Kind.G_SINGLE);
  }

  /**
   * A key is inserted after the leaf was copied and before its items are read. The words are newer
   * than the copy and show no change; only the leaf's version reveals it. (A descending scan has
   * read the item above before.)
   */
  private static void keyInsertedAfterTheCopy(Script s) {
    s.seed(A, ABOVE, OTHER);
    Actor scanner = s.begin();
    s.during(Stage.KEYS_COPIED, 0, scanner, locked -> s.seed(INSERTED, OTHER));
    scanner.scan(A, BETWEEN);
    scanner.read(OTHER);
    scanner.commit();
  }

  // ------------------------------------------------------------------ lookups by a unique index

  @Test
  void lookupsThatTrustAnEntry() {
    finds(
        "lookupsThatTrustAnEntry",
        Step.RECORD_KEY,
        BrokenStepsTest::ownMoveIsMissed,
        Kind.IMPOSSIBLE_READ);
  }

  /** The index entry is unchanged, but the transaction itself has moved the record. */
  private static void ownMoveIsMissed(Script s) {
    long key = Keys.list(0, 0);
    s.seed(key);
    int was = Keys.group(Elements.of(ListClient.PROCESSES, 0)); // group of the seed's first element
    Actor mover = s.begin();
    for (int n = 0; n < Keys.GROUPS && Keys.group(mover.append(key)) == was; n++) {}
    mover.lookup(key, was);
    mover.commit();
  }

  @Test
  void lookupsThatDoNotReadAMissingEntry() {
    finds(
        "lookupsThatDoNotReadAMissingEntry",
        Step.MISSING_ENTRY_READ,
        BrokenStepsTest::entryIsInserted,
        Kind.G_SINGLE);
  }

  /**
   * A record is inserted where a lookup found none, and the reader reads what was written along
   * with it.
   */
  private static void entryIsInserted(Script s) {
    long key = Keys.list(0, 0);
    s.seed(key, OTHER);
    Actor mover = s.begin();
    Actor looker = s.begin();
    int to = Keys.group(mover.append(key));
    looker.lookup(key, to);
    mover.append(OTHER);
    mover.commit();
    looker.read(OTHER);
    looker.commit();
  }

  // -------------------------------------------------------------------------- scans by leaves

  private static void findsByLeaves(String test, Step without, Consumer<Script> script, Kind kind) {
    Setup setup = Setup.usual("script").faults(FaultInjection.NONE.byLeaves());
    play(setup, script).requireClean(test + ", complete engine");
    Checker.Report report = play(setup.faults(FaultInjection.without(without).byLeaves()), script);
    assertTrue(report.has(kind), () -> "expected " + kind + ", found " + report.anomalies());
    SoakReport.line("BrokenStepsTest." + test, report.anomalies().getFirst().toString());
  }

  @Test
  void leavesThatAreNotValidated() {
    findsByLeaves(
        "leavesThatAreNotValidated",
        Step.LEAF_VERSIONS,
        BrokenStepsTest::leafIsChanged,
        Kind.G_SINGLE);
  }

  /** A key is inserted into a scanned leaf, along with what the scanner reads later. */
  private static void leafIsChanged(Script s) {
    s.seed(A, ABOVE, OTHER);
    Actor scanner = s.begin(true);
    scanner.scan(A, BETWEEN);
    s.seed(INSERTED, OTHER);
    scanner.read(OTHER);
    scanner.commit();
  }

  @Test
  void scansByLeavesThatDoNotWaitForCommits() {
    findsByLeaves(
        "scansByLeavesThatDoNotWaitForCommits",
        Step.COMMITS_IN_GATE,
        BrokenStepsTest::leafWithHalfOfACommit,
        Kind.G_SINGLE);
  }

  /** One of two changes is in the leaf; the other one follows only after the scan. */
  private static void leafWithHalfOfACommit(Script s) {
    halfOfACommit(s, true, reader -> reader.scan(A, OTHER));
  }

  @Test
  void singleReadsThatAreNotRegistered() {
    findsByLeaves(
        "singleReadsThatAreNotRegistered",
        Step.SINGLE_READ_ENTRY,
        BrokenStepsTest::secondRead,
        Kind.G_SINGLE);
  }

  /** The first and the second read are changed together in between. */
  private static void secondRead(Script s) {
    s.seed(A, OTHER);
    Actor reader = s.begin(true);
    reader.read(A);
    s.seed(A, OTHER);
    reader.read(OTHER);
    reader.commit();
  }

  @Test
  void commitsThatIgnoreScanTimestamps() {
    findsByLeaves(
        "commitsThatIgnoreScanTimestamps",
        Step.SCAN_TIMESTAMP,
        BrokenStepsTest::commitBeforeAScan,
        Kind.G2);
  }

  /**
   * A transaction's read was overwritten, and it may still commit before that write. A scan has
   * seen the overwriting version, and not what the transaction writes.
   */
  private static void commitBeforeAScan(Script s) {
    Actor past = inThePast(s);
    Actor scanner = s.begin(true);
    scanner.scan(A, OTHER);
    scanner.commit();
    past.append(OTHER);
    past.commit();
  }

  // -------------------------------------------------- timestamps evicted while they are in use

  /**
   * The dissertation's first counterexample (5.1), extended: T2 has also read what T1 writes. T2
   * has locked k1 and chosen its timestamp when k1's rts is raised. T1, which has read k1, relies
   * on that rts and commits after T2.
   */
  @Test
  void readTimestampEvictedUnderALock() {
    Checker.Report whole =
        play(FaultInjection.NONE, s -> firstExample(s, false)).requireClean("nothing evicted");
    assertFalse(whole.has(Kind.G2_ITEM));
    Checker.Report report = play(FaultInjection.NONE, s -> firstExample(s, true));
    assertTrue(report.has(Kind.G2_ITEM), () -> "found " + report.anomalies());
    SoakReport.line(
        "BrokenStepsTest.readTimestampEvictedUnderALock", report.anomalies().getFirst().toString());
  }

  private static void firstExample(Script s, boolean forget) {
    long k1 = A;
    long k2 = OTHER;
    s.seed(k1, k2);
    Actor t1 = s.begin();
    t1.read(k1);
    Actor t2 = s.begin();
    t2.read(k2);
    t2.append(k1);
    s.during(
        Stage.VALIDATED,
        0,
        t2,
        locked -> {
          Runnable restore =
              forget ? TimestampRaiser.raiseReads(s.engine(), locked, 100) : () -> {};
          t1.append(k2);
          t1.commit();
          restore.run();
        });
    t2.commit();
    assertTrue(t2.committed());
    assertEquals(forget, t1.committed());
  }

  /**
   * The second counterexample: T1 has locked k1, and wts and rts are raised to its timestamp. T2
   * reads the old value with them and misses T1's write. Our readers wait for the lock, so the test
   * also needs a reader that does not, which alone would do no harm here.
   */
  @Test
  void writeTimestampEvictedUnderALock() {
    play(FaultInjection.NONE, s -> secondExample(s, false)).requireClean("nothing evicted");
    play(FaultInjection.NONE, s -> secondExample(s, true)).requireClean("evicted, lock checked");
    play(CARELESS, s -> secondExample(s, false)).requireClean("lock not checked, nothing evicted");
    Checker.Report report = play(CARELESS, s -> secondExample(s, true));
    assertTrue(report.has(Kind.LOST_UPDATE), () -> "found " + report.anomalies());
    SoakReport.line(
        "BrokenStepsTest.writeTimestampEvictedUnderALock",
        report.anomalies().getFirst().toString());
  }

  private static void secondExample(Script s, boolean forget) {
    s.seed(A);
    Actor t1 = s.begin();
    t1.append(A);
    Actor t2 = s.begin();
    s.during(
        Stage.VALIDATED,
        0,
        t1,
        locked -> {
          Runnable restore = forget ? TimestampRaiser.raiseToCommit(s.engine(), locked) : () -> {};
          t2.append(A);
          restore.run();
        });
    t1.commit();
    t2.commit();
    assertTrue(t1.committed());
  }

  // ----------------------------------------------------------------------------------- at random

  private static final Set<Stage> SLOW =
      EnumSet.of(Stage.KEYS_COPIED, Stage.SUCCESSOR_FOUND, Stage.INSTALLING);

  private static final int ROUNDS_MAX = 10_000;

  /** Steps whose omission random load detects within some rounds; the others need the long form. */
  private static final Set<Step> SOON =
      EnumSet.of(
          Step.VALIDATION, Step.FOREIGN_LOCKS, Step.MISSING_ENTRY_READ, Step.WORDS_BEFORE_COPIES);

  /**
   * Excludes the two steps of the log, which {@code CrashExplorerTest} and {@code
   * InFlightGroupsTest} test; the steps of scans by leaves and of single reads, which were not
   * tried at random; and steps whose omission random load detects rarely or never:
   * BLIND_WRITE_ITEM, SUCCESSOR_RECHECK, GAP_LEAF and UPPER_ITEM_RECHECK.
   */
  @ParameterizedTest
  @EnumSource(
      mode = EnumSource.Mode.EXCLUDE,
      names = {
        "SUCCESSOR_RECHECK",
        "GAP_LEAF",
        "BLIND_WRITE_ITEM",
        "UPPER_ITEM_RECHECK",
        "SCAN_TIMESTAMP",
        "COMMITS_IN_GATE",
        "LEAF_VERSIONS",
        "SINGLE_READ_ENTRY",
        "LOG_BEFORE_PAGE",
        "GROUPS_IN_ORDER"
      })
  void isFoundAtRandom(Step broken) {
    assumeTrue(SOON.contains(broken) || SerializabilityTest.MINUTES > 0, "only in the long form");
    EngineLog.silence();
    FaultInjection faults =
        FaultInjection.without(broken)
            .with(
                (stage, tx) -> {
                  if (SLOW.contains(stage)) {
                    // A yield alone opens no window if other processes use the cores.
                    if (ThreadLocalRandom.current().nextInt(4) == 0) {
                      LockSupport.parkNanos(200_000);
                    } else {
                      Thread.yield();
                    }
                  }
                });
    Setup setup = Setup.usual("broken").faults(faults).load(8, 40, 20);
    for (int round = 1; round <= ROUNDS_MAX; round++) {
      Workload load = new Workload(setup, SerializabilityTest.SEED + round);
      History history;
      Database db = setup.open(new SimDisk(round));
      try {
        history = load.run(db, 250, () -> false);
      } finally {
        SimDatabase.abandon(db); // its contents may be invalid, and it may have stopped
      }
      Checker.Report report = Checker.check(history);
      if (!report.clean()) {
        SoakReport.line(
            "BrokenStepsTest.isFoundAtRandom." + broken,
            "in round " + round + ": " + report.anomalies().getFirst());
        return;
      }
    }
    throw new AssertionError(broken + " was not detected in " + ROUNDS_MAX + " rounds");
  }
}
