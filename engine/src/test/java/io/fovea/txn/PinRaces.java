package io.fovea.txn;

import io.fovea.txn.TimestampConfig.Release;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.JJJ_Result;
import org.openjdk.jcstress.infra.results.ZZ_Result;
import org.openjdk.jcstress.infra.results.Z_Result;

/** jcstress: pins against releases, and the epochs that decide. Run by {@code RacesTest}. */
final class PinRaces {
  private PinRaces() {}

  /** One bucket of a shared store per state, filled with unused entries. */
  private static final class Columns {
    private static final int BITS = 15;
    private static final int SLOTS = 4;
    private static final int FIRST = 0;
    private static final int SECOND = 1;
    private static final int MAKER = 2;
    private static final long INVERSE = inverse(TimestampTable.SPREAD);

    final Timestamps timestamps;
    private long made;

    Columns(Release kind) {
      long bytes = 128L << BITS;
      timestamps = new Timestamps(3, bytes, bytes, 2, 1 << 16, kind);
    }

    /** Newton's iteration in the ring of 64-bit numbers; a is odd. */
    private static long inverse(long a) {
      long x = a;
      for (int i = 0; i < 6; i++) {
        x *= 2 - a * x;
      }
      return x;
    }

    /** The n-th item of a column, different for each state. Items of one state share a slot. */
    private static long item(long state, int n) {
      long column = state & (1 << BITS) - 1;
      return (column << 64 - BITS | (state >>> BITS << 8 | n + 1)) * INVERSE;
    }

    /** A separate state, whose first item, published at 1000, will be released first. */
    synchronized long make() {
      long state = made++;
      Timestamps t = timestamps;
      t.epochs.advance(t.epochs.now());
      t.enter(MAKER);
      int slot = t.pin(MAKER, item(state, 0));
      t.tryLock(slot);
      t.publish(slot, TidWord.rts(t.word(slot)) + 1000);
      t.exit(MAKER);
      t.epochs.advance(t.epochs.now());
      t.enter(MAKER);
      for (int n = 1; n < SLOTS; n++) {
        t.pin(MAKER, item(state, n));
      }
      t.exit(MAKER);
      t.epochs.advance(t.epochs.now());
      return state;
    }
  }

  private static class OneColumn {
    /** Together with the item, as many as there are slots, so that no pin waits. */
    private static final int ROUNDS = 3;

    final Columns columns;
    final Timestamps timestamps;
    final long state;
    final long item;

    /** Publications of the item, by the user, then by the arbiter. */
    private long published;

    OneColumn(Columns columns) {
      this.columns = columns;
      this.timestamps = columns.timestamps;
      this.state = columns.make();
      this.item = Columns.item(state, 0);
    }

    /** Uses the item several times: its slot must stay its own, and its bound must hold. */
    final void use(int ctx, JJJ_Result r) {
      boolean own = true;
      boolean bound = true;
      for (int round = 0; round < ROUNDS; round++) {
        timestamps.enter(ctx);
        int slot = timestamps.pin(ctx, item);
        boolean before = timestamps.item(slot) == item;
        boolean kept = TidWord.wts(timestamps.word(slot)) >= 1000 + published;
        boolean locked = timestamps.tryLock(slot);
        boolean after = timestamps.item(slot) == item;
        // A descheduled thread may be expelled, in which case its results do not count.
        if (timestamps.holds(ctx)) {
          own &= before && locked && after;
          bound &= kept;
          published++;
          timestamps.publish(slot, TidWord.rts(timestamps.word(slot)) + 1);
        } else if (locked) {
          timestamps.unlock(slot);
        }
        timestamps.exit(ctx);
      }
      r.r1 = own ? 1 : 0;
      r.r2 = bound ? 1 : 0;
    }

    /** Pins other items for the same slot. */
    final void crowd(int ctx) {
      for (int round = 0; round < ROUNDS; round++) {
        timestamps.epochs.advance(timestamps.epochs.now());
        timestamps.enter(ctx);
        timestamps.pin(ctx, Columns.item(state, 8 + round));
        timestamps.exit(ctx);
      }
    }

    /** Pins the item repeatedly. */
    final void visit(int ctx) {
      for (int round = 0; round < ROUNDS; round++) {
        timestamps.enter(ctx);
        timestamps.pin(ctx, item);
        timestamps.exit(ctx);
      }
    }

    final void look(JJJ_Result r) {
      synchronized (columns) {
        timestamps.enter(Columns.MAKER);
        int slot = timestamps.pin(Columns.MAKER, item);
        r.r3 = TidWord.wts(timestamps.word(slot)) >= 1000 + published ? 1 : 0;
        timestamps.exit(Columns.MAKER);
      }
    }
  }

  @JCStressTest
  @State
  @Outcome(id = "1, 1, 1", expect = Expect.ACCEPTABLE, desc = "the slot stays, the bound holds")
  @Outcome(expect = Expect.FORBIDDEN, desc = "released under its user, or timestamps lost")
  public static class PinAgainstReleaseByEpoch extends OneColumn {
    private static final Columns COLUMNS = new Columns(Release.EPOCH);

    public PinAgainstReleaseByEpoch() {
      super(COLUMNS);
    }

    @Actor
    public void user(JJJ_Result r) {
      use(Columns.FIRST, r);
    }

    @Actor
    public void crowd() {
      crowd(Columns.SECOND);
    }

    @Arbiter
    public void arbiter(JJJ_Result r) {
      look(r);
    }
  }

  @JCStressTest
  @State
  @Outcome(id = "1, 1, 1", expect = Expect.ACCEPTABLE, desc = "the slot stays, the bound holds")
  @Outcome(expect = Expect.FORBIDDEN, desc = "released under its user, or timestamps lost")
  public static class PinAgainstReleaseByReference extends OneColumn {
    private static final Columns COLUMNS = new Columns(Release.REFERENCE_COUNT);

    public PinAgainstReleaseByReference() {
      super(COLUMNS);
    }

    @Actor
    public void user(JJJ_Result r) {
      use(Columns.FIRST, r);
    }

    @Actor
    public void crowd() {
      crowd(Columns.SECOND);
    }

    @Arbiter
    public void arbiter(JJJ_Result r) {
      look(r);
    }
  }

  /** The last user releases the entry, and may be wrong about being the last. */
  @JCStressTest
  @State
  @Outcome(id = "1, 1, 1", expect = Expect.ACCEPTABLE, desc = "the slot stays, the bound holds")
  @Outcome(expect = Expect.FORBIDDEN, desc = "released under its user, or timestamps lost")
  public static class PinAgainstReleaseByTheLast extends OneColumn {
    private static final Columns COLUMNS = new Columns(Release.IMMEDIATE);

    public PinAgainstReleaseByTheLast() {
      super(COLUMNS);
    }

    @Actor
    public void user(JJJ_Result r) {
      use(Columns.FIRST, r);
    }

    @Actor
    public void visitor() {
      visit(Columns.SECOND);
    }

    @Arbiter
    public void arbiter(JJJ_Result r) {
      look(r);
    }
  }

  /** Two concurrent pins create one entry. */
  @JCStressTest
  @State
  @Outcome(id = "1, 1, 1", expect = Expect.ACCEPTABLE, desc = "one entry")
  @Outcome(expect = Expect.FORBIDDEN, desc = "an item with two entries")
  public static class PinAgainstPin {
    private static final Columns COLUMNS = new Columns(Release.EPOCH);
    private final Timestamps timestamps = COLUMNS.timestamps;
    private final long item = Columns.item(COLUMNS.make(), 7);
    private int first;
    private int second;

    private int pin(int ctx) {
      timestamps.enter(ctx);
      int slot = timestamps.pin(ctx, item);
      while (!timestamps.tryLock(slot)) {
        Thread.onSpinWait();
      }
      timestamps.publish(slot, TidWord.rts(timestamps.word(slot)) + 1);
      timestamps.exit(ctx);
      return slot;
    }

    @Actor
    public void first(JJJ_Result r) {
      first = pin(Columns.FIRST);
      r.r1 = 1;
    }

    @Actor
    public void second(JJJ_Result r) {
      second = pin(Columns.SECOND);
      r.r2 = 1;
    }

    @Arbiter
    public void look(JJJ_Result r) {
      r.r3 = first == second && TidWord.wts(timestamps.word(first)) >= 2 ? 1 : 0;
    }
  }

  /** No epoch with which a running transaction pins is ever below the oldest. */
  @JCStressTest
  @State
  @Outcome(id = "true", expect = Expect.ACCEPTABLE, desc = "not older than the oldest")
  @Outcome(expect = Expect.FORBIDDEN, desc = "what it pins may be released")
  public static class EnterAgainstAdvance {
    private final Epochs epochs = new Epochs(1);
    private long entered;

    @Actor
    public void enter() {
      entered = epochs.enter(0);
    }

    @Actor
    public void advance() {
      epochs.advance(epochs.now());
      epochs.advance(epochs.now());
    }

    @Arbiter
    public void look(Z_Result r) {
      epochs.scan();
      r.r1 = entered >= epochs.oldest();
    }
  }

  /** A context that gave up its epoch is not also expelled, and vice versa. */
  @JCStressTest
  @State
  @Outcome(id = "true, false", expect = Expect.ACCEPTABLE, desc = "left")
  @Outcome(id = "false, true", expect = Expect.ACCEPTABLE, desc = "expelled")
  @Outcome(expect = Expect.FORBIDDEN, desc = "both, or none")
  public static class LeaveAgainstExpel {
    private final Epochs epochs = new Epochs(1);

    public LeaveAgainstExpel() {
      epochs.enter(0);
      epochs.advance(epochs.now());
    }

    @Actor
    public void leave(ZZ_Result r) {
      r.r1 = epochs.leave(0);
    }

    @Actor
    public void expel(ZZ_Result r) {
      r.r2 = epochs.evictOldest(1);
    }
  }
}
