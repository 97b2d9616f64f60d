package io.fovea.index;

import io.fovea.memory.AsymmetricFence;
import io.fovea.memory.Blocks;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.ZZ_Result;

/** jcstress: operations against close. Run by {@code RacesTest}. */
final class SlotRaces {
  private SlotRaces() {}

  private static class OneSlot {
    final StatementContext statementContext = new StatementContext(0, 1, Blocks.COLLECTED);

    OneSlot() {
      statementContext.claim();
    }
  }

  @JCStressTest
  @State
  @Outcome(id = "true, true", expect = Expect.ACCEPTABLE, desc = "the close waits for it")
  @Outcome(id = "false, false", expect = Expect.ACCEPTABLE, desc = "refused")
  @Outcome(
      id = "false, true",
      expect = Expect.ACCEPTABLE,
      desc = "refused, and the close was seen before")
  @Outcome(expect = Expect.FORBIDDEN, desc = "an operation that the close does not wait for")
  public static class OperationAgainstClose extends OneSlot {
    @Actor
    public void operation(ZZ_Result r) {
      r.r1 = statementContext.enter();
    }

    @Actor
    public void close(ZZ_Result r) {
      statementContext.refuse();
      AsymmetricFence.heavy();
      r.r2 = statementContext.busy();
    }
  }
}
