package io.fovea.txn;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.JJ_Result;
import org.openjdk.jcstress.infra.results.JZ_Result;
import org.openjdk.jcstress.infra.results.ZZ_Result;

/** jcstress: commits against quiescent points and scans by leaves. Run by {@code RacesTest}. */
final class GateRaces {
  private static final long NOBODY_WAITS = 60_000_000_000L;
  private static final long TREE = ScanTimestamps.bit(3);

  private GateRaces() {}

  @JCStressTest
  @State
  @Outcome(id = "0, 0", expect = Expect.ACCEPTABLE, desc = "the commit follows the quiescent point")
  @Outcome(
      id = "1, 1",
      expect = Expect.ACCEPTABLE,
      desc = "the commit precedes the quiescent point")
  @Outcome(expect = Expect.FORBIDDEN, desc = "a commit was inside at the quiescent point")
  public static class CommitAgainstMoment {
    private final CommitGate gate = new CommitGate(1);
    private long first;
    private long second;

    @Actor
    public void commit() {
      CommitGate.CommitSlot commitSlot = gate.slotOf(0);
      gate.enter(commitSlot);
      first = 1;
      second = 1;
      gate.leaveGate(commitSlot);
    }

    @Actor
    public void moment(JJ_Result r) {
      gate.atQuiescentPoint(
          () -> {
            r.r2 = second;
            r.r1 = first;
          },
          NOBODY_WAITS,
          () -> {});
    }
  }

  /**
   * A commit that reads an older scan timestamp is seen inside the gate, even by the first reader.
   */
  @JCStressTest
  @State
  @Outcome(id = "-1, false", expect = Expect.ACCEPTABLE, desc = "seen inside: not watched yet")
  @Outcome(id = "0, false", expect = Expect.ACCEPTABLE, desc = "seen inside: not raised yet")
  @Outcome(id = "7, false", expect = Expect.ACCEPTABLE, desc = "both see each other")
  @Outcome(
      id = "7, true",
      expect = Expect.ACCEPTABLE,
      desc = "the commit is above the scan timestamp")
  @Outcome(expect = Expect.FORBIDDEN, desc = "both miss each other")
  public static class CommitAgainstScan {
    private final CommitGate gate = new CommitGate(1);
    private final ScanTimestamps marks = new ScanTimestamps();

    @Actor
    public void commit(JZ_Result r) {
      CommitGate.CommitSlot commitSlot = gate.slotOf(0);
      gate.changes(commitSlot, TREE);
      gate.enter(commitSlot);
      r.r1 = marks.isWatched() ? marks.highest(TREE) : -1;
    }

    @Actor
    public void scan(JZ_Result r) {
      marks.raise(TREE, 7);
      r.r2 = gate.awaitOthers(TREE, 0);
    }
  }

  /** A scan that finds its scan timestamp already raised by another stores nothing. */
  @JCStressTest
  @State
  @Outcome(
      id = "true, true",
      expect = Expect.ACCEPTABLE,
      desc = "the commit is above the scan timestamp")
  @Outcome(id = "false, false", expect = Expect.ACCEPTABLE, desc = "seen inside")
  @Outcome(id = "true, false", expect = Expect.ACCEPTABLE, desc = "both see each other")
  @Outcome(expect = Expect.FORBIDDEN, desc = "both miss each other")
  public static class CommitAgainstTwoScans {
    private final CommitGate gate = new CommitGate(1);
    private final ScanTimestamps marks = new ScanTimestamps();

    @Actor
    public void other() {
      marks.raise(TREE, 7);
    }

    @Actor
    public void commit(ZZ_Result r) {
      CommitGate.CommitSlot commitSlot = gate.slotOf(0);
      gate.changes(commitSlot, TREE);
      gate.enter(commitSlot);
      r.r1 = marks.isWatched() && marks.highest(TREE) >= 7;
    }

    @Actor
    public void scan(ZZ_Result r) {
      marks.raise(TREE, 7);
      r.r2 = gate.awaitOthers(TREE, 0);
    }
  }
}
