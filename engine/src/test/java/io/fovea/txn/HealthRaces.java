package io.fovea.txn;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.ZZZ_Result;
import org.openjdk.jcstress.infra.results.ZZ_Result;

/** jcstress: two threads fail at once. Run by {@code RacesTest}. */
public final class HealthRaces {
  private static final Throwable HALF_A_COMMIT = new RuntimeException("part of a commit");
  private static final Throwable HALF_A_PAGE = new Error("half a page");

  private HealthRaces() {}

  @JCStressTest
  @State
  @Outcome(id = "true, true", expect = Expect.ACCEPTABLE, desc = "halted, with a cause")
  @Outcome(expect = Expect.FORBIDDEN, desc = "a halt is lost, or has no cause")
  public static class HaltDuringPoison {
    private final EngineHealth health = new EngineHealth(null, false);

    @Actor
    void poison() {
      health.poison(HALF_A_COMMIT, true);
    }

    @Actor
    void halt() {
      health.halt(HALF_A_PAGE);
    }

    @Arbiter
    void after(ZZ_Result r) {
      r.r1 = health.isHalted();
      r.r2 = health.poison() != null;
    }
  }

  @JCStressTest
  @State
  @Outcome(id = "true, true, false", expect = Expect.ACCEPTABLE, desc = "read-only, with a cause")
  @Outcome(expect = Expect.FORBIDDEN, desc = "the state moved back, or there is no cause")
  public static class TwoPoisons {
    private final EngineHealth health = new EngineHealth(null, false);

    @Actor
    void first() {
      health.poison(HALF_A_COMMIT, true);
    }

    @Actor
    void second() {
      health.poison(HALF_A_PAGE, true);
    }

    @Arbiter
    void after(ZZZ_Result r) {
      r.r1 = health.pagesAreConsistent();
      r.r2 = health.poison() != null;
      r.r3 = health.isHalted();
    }
  }

  @JCStressTest
  @State
  @Outcome(id = "false, false", expect = Expect.ACCEPTABLE, desc = "seen before the halt")
  @Outcome(id = "false, true", expect = Expect.ACCEPTABLE, desc = "the halt came in between")
  @Outcome(id = "true, true", expect = Expect.ACCEPTABLE, desc = "seen after the halt")
  @Outcome(expect = Expect.FORBIDDEN, desc = "a halt without a cause")
  public static class CauseBehindState {
    private final EngineHealth health = new EngineHealth(null, false);

    @Actor
    void halt() {
      health.halt(HALF_A_PAGE);
    }

    @Actor
    void look(ZZ_Result r) {
      r.r1 = health.isHalted();
      r.r2 = health.poison() != null;
    }
  }
}
