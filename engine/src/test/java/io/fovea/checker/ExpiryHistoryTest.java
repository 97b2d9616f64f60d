package io.fovea.checker;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Database;
import io.fovea.SimDatabase;
import io.fovea.checker.Anomaly.Kind;
import io.fovea.checker.Txn.Outcome;
import io.fovea.support.SetClock;
import io.fovea.support.SimDisk;
import io.fovea.support.SoakReport;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The checker on expiring lists: hand-written histories, and two engines with a wrong clock. {@link
 * SerializabilityTest} and {@link CrashHistoryTest} test the correct engine.
 */
@Timeout(value = 5, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ExpiryHistoryTest {
  private static final long LIST = Keys.ending(0, 0);
  private static final long OTHER = Keys.grave(0);
  private static final int ROUNDS_MAX = 100;

  static long ended(History history) {
    long n = 0;
    for (Txn t : history.txns()) {
      Map<Long, Integer> lives = new HashMap<>();
      for (Op op : t.ops) {
        if (op instanceof Op.Read r && r.state().present()) {
          lives.put(r.key(), r.state().list().length);
        }
      }
      for (Op op : t.ops) {
        if (t.outcome == Outcome.OK
            && op instanceof Op.Timed r
            && !r.state().present()
            && lives.containsKey(Keys.grave(r.key()))) {
          n++;
        }
      }
    }
    return n;
  }

  // ------------------------------------------------------------------------------ hand-written

  private final List<Txn> txns = new ArrayList<>();

  private long txn(Op... ops) {
    Txn t = new Txn(txns.size() + 1, txns.size());
    t.ops.addAll(List.of(ops));
    t.outcome = Outcome.OK;
    txns.add(t);
    return t.id;
  }

  private Checker.Report check() {
    History h = new History();
    h.addAll(txns);
    return Checker.check(h);
  }

  private static State list(int life, long... txns) {
    long[] elements = new long[txns.length];
    for (int i = 0; i < txns.length; i++) {
      elements[i] = Elements.of(txns[i], 0);
    }
    return State.of(life, elements);
  }

  private static Op see(State state, long low, long high) {
    return new Op.Timed(LIST, state, low, high);
  }

  private static Op grave(int deep) {
    long[] begun = new long[deep];
    for (int i = 0; i < deep; i++) {
      begun[i] = Elements.of(i == 0 ? 1 : 3, 1);
    }
    return new Op.Read(Keys.grave(LIST), deep == 0 ? State.ABSENT : State.of(1, begun));
  }

  /** T1 begins the list, which expires at 10. */
  private void begun() {
    begun(10);
  }

  private void begun(long until) {
    txn(
        see(State.ABSENT, 0, 0),
        grave(0),
        new Op.Ends(LIST, Elements.of(1, 0), until),
        new Op.Append(LIST, list(1, 1)),
        new Op.Append(Keys.grave(LIST), State.of(1, Elements.of(1, 1))));
  }

  /** T2 postpones the expiry to 20, and writes elsewhere. */
  private void renewed() {
    appended(20);
  }

  private void appended(long until) {
    txn(
        see(list(1, 1), 5, 5),
        new Op.Ends(LIST, Elements.of(2, 0), until),
        new Op.Append(LIST, list(1, 1, 2)),
        new Op.Append(OTHER, State.of(1, Elements.of(2, 1))));
  }

  @Test
  void expiredListsAreAbsent() {
    begun();
    renewed();
    txn(see(list(1, 1), 9, 9));
    txn(see(State.ABSENT, 10, 12), new Op.Read(OTHER, State.ABSENT)); // before the renewal
    txn(see(list(1, 1, 2), 19, 30), new Op.Read(OTHER, State.of(1, Elements.of(2, 1))));
    txn(see(State.ABSENT, 20, 20), grave(1), new Op.Read(OTHER, State.of(1, Elements.of(2, 1))));
    check().requireClean("correct history");
  }

  @Test
  void expiredListIsSeen() {
    begun();
    txn(see(list(1, 1), 10, 11));
    assertTrue(check().has(Kind.IMPOSSIBLE_READ));
  }

  @Test
  void liveListIsNotSeen() {
    begun();
    txn(see(State.ABSENT, 8, 9), grave(1));
    assertTrue(check().has(Kind.IMPOSSIBLE_READ));
  }

  /** It saw what was written together with the renewal, but not the renewal itself. */
  @Test
  void lostRenewal() {
    begun();
    renewed();
    txn(see(State.ABSENT, 12, 13), new Op.Read(OTHER, State.of(1, Elements.of(2, 1))));
    assertTrue(check().has(Kind.G_SINGLE), check()::toString);
  }

  /** A transaction begins another life without having seen that this one was renewed. */
  @Test
  void newLifeOverARenewedOne() {
    begun();
    renewed();
    begunAgain();
    assertTrue(check().has(Kind.LOST_UPDATE), check()::toString);
  }

  /** T3 does not find the list, and begins another life. */
  private void begunAgain() {
    txn(
        see(State.ABSENT, 12, 13),
        grave(1),
        new Op.Ends(LIST, Elements.of(3, 0), 30),
        new Op.Append(LIST, list(2, 3)),
        new Op.Append(Keys.grave(LIST), State.of(1, Elements.of(1, 1), Elements.of(3, 1))));
  }

  /**
   * The list was to expire later; whether T2, which set an earlier expiry, committed is unknown.
   */
  @Test
  void unknownOutcomeMayExplainAnExpiry() {
    begun(20);
    appended(10);
    txns.getLast().outcome = Outcome.INFO;
    begunAgain();
    check().requireClean("T2 may have committed");
    txns.get(1).outcome = Outcome.FAIL;
    assertTrue(check().has(Kind.IMPOSSIBLE_READ), check()::toString);
  }

  // ------------------------------------------------------------------------------- wrong engines

  private record WrongClock(SetClock truth, boolean sweeps, long by)
      implements ListExpiry.SkewedClock {
    @Override
    public long millis() {
      boolean sweep = Thread.currentThread().getName().startsWith("fovea-sweep");
      return truth.millis() + (sweep == sweeps ? by : 0);
    }

    @Override
    public Instant instant() {
      return Instant.ofEpochMilli(millis());
    }
  }

  private static void found(String test, boolean sweeps, long by, Duration interval) {
    EngineLog.silence();
    for (int round = 1; round <= ROUNDS_MAX; round++) {
      WrongClock liar = new WrongClock(new SetClock(1_000_000), sweeps, by);
      Setup setup =
          Setup.usual(test)
              .options(o -> o.expiry(e -> e.clock(liar).sweepInterval(interval)))
              .load(4, 40, 20);
      Workload load = new Workload(setup, SerializabilityTest.SEED + round);
      Database db = setup.open(new SimDisk(round));
      History history;
      try {
        history = load.run(db, 250, () -> false);
      } finally {
        SimDatabase.abandon(db);
      }
      Checker.Report report = Checker.check(history);
      if (!report.clean()) {
        assertTrue(report.has(Kind.IMPOSSIBLE_READ), report::toString);
        SoakReport.line(
            "ExpiryHistoryTest." + test,
            "in round " + round + ": " + report.anomalies().getFirst());
        return;
      }
    }
    throw new AssertionError("not detected in " + ROUNDS_MAX + " rounds");
  }

  /** Readers' clock is slow: they see expired rows that are not swept yet. */
  @Test
  void readersThatSeeExpiredRows() {
    found("readersThatSeeExpiredRows", false, -500_000, Duration.ofMillis(2));
  }

  /** The sweep's clock is fast: it removes rows that are not yet expired, or were renewed. */
  @Test
  void aSweepThatRemovesLiveRows() {
    found("aSweepThatRemovesLiveRows", true, 6, Duration.ofNanos(200_000));
  }
}
