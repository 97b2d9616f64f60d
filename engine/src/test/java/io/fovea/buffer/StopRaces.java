package io.fovea.buffer;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;
import org.openjdk.jcstress.infra.results.II_Result;

/** jcstress: two threads that stop a pool at once. Run by {@code RacesTest}. */
public final class StopRaces {
  private static final Throwable FIRST = new Error("1");
  private static final Throwable SECOND = new Error("2");

  private StopRaces() {}

  private static int number(Throwable cause) {
    return cause == FIRST ? 1 : cause == SECOND ? 2 : 0;
  }

  /** What each thread finds after it has stopped the pool, and the final state. */
  @JCStressTest
  @State
  @Outcome(id = "1, 1, 1", expect = Expect.ACCEPTABLE, desc = "the first cause is kept")
  @Outcome(id = "2, 2, 2", expect = Expect.ACCEPTABLE, desc = "the second one came first")
  @Outcome(expect = Expect.FORBIDDEN, desc = "a cause was replaced, or is missing")
  public static class TwoStops {
    private final PoolStop stop = new PoolStop();

    @Actor
    public void first(III_Result r) {
      stop.stop(FIRST);
      r.r1 = number(stop.stopped());
    }

    @Actor
    public void second(III_Result r) {
      stop.stop(SECOND);
      r.r2 = number(stop.stopped());
    }

    @Arbiter
    public void after(III_Result r) {
      r.r3 = number(stop.stopped());
    }
  }

  /** The action gets the first cause, whichever thread runs it. */
  @JCStressTest
  @State
  @Outcome(id = "1, 1", expect = Expect.ACCEPTABLE, desc = "the action gets the first cause")
  @Outcome(id = "2, 2", expect = Expect.ACCEPTABLE, desc = "the second one came first")
  @Outcome(expect = Expect.FORBIDDEN, desc = "the action gets a cause other than the first")
  public static class TwoActions {
    private final PoolStop stop = new PoolStop();
    private int low = 3;
    private int high;

    public TwoActions() {
      stop.onStop(
          cause -> {
            synchronized (this) {
              low = Math.min(low, number(cause));
              high = Math.max(high, number(cause));
            }
          });
    }

    @Actor
    public void first() {
      stop.stop(FIRST);
    }

    @Actor
    public void second() {
      stop.stop(SECOND);
    }

    @Arbiter
    public void after(II_Result r) {
      r.r1 = low;
      r.r2 = high;
    }
  }
}
