package io.fovea.txn;

import io.fovea.txn.TimestampConfig.Release;
import java.lang.invoke.VarHandle;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.JJ_Result;
import org.openjdk.jcstress.infra.results.ZZ_Result;

/** jcstress: concurrent lock, extend and publish of one word. Run by {@code RacesTest}. */
final class TidWordRaces {
  private TidWordRaces() {}

  /** A pool of pinned slots, because a store per state would need too much memory. */
  private static final class Slots {
    static final int COUNT = 1 << 16;
    static final Timestamps TIMESTAMPS =
        new Timestamps(1, 8L << 20, 16L << 20, 1, 16, Release.EPOCH);
    static final int[] SLOT = new int[COUNT];
    private static int next;

    static {
      TIMESTAMPS.enter(0);
      for (int i = 0; i < COUNT; i++) {
        SLOT[i] = TIMESTAMPS.pin(0, i + 1);
      }
    }

    static synchronized int take() {
      return SLOT[next++ & COUNT - 1];
    }
  }

  /** Has a slot that no other live state uses, and its initial timestamps. */
  private static class OneItem {
    final Timestamps timestamps = Slots.TIMESTAMPS;
    final int slot = Slots.take();
    final long seen = timestamps.word(slot);
    final long base = TidWord.rts(seen);

    /** Locks and publishes at the earliest timestamp; returns its distance from the base. */
    final long write() {
      if (!timestamps.tryLock(slot)) {
        return -1;
      }
      long commitTs = TidWord.rts(timestamps.word(slot)) + 1;
      timestamps.publish(slot, commitTs);
      return commitTs - base;
    }
  }

  @JCStressTest
  @State
  @Outcome(id = "true, false", expect = Expect.ACCEPTABLE, desc = "the first holds the lock")
  @Outcome(id = "false, true", expect = Expect.ACCEPTABLE, desc = "the second holds the lock")
  @Outcome(expect = Expect.FORBIDDEN, desc = "a lock has at most one holder")
  public static class LockAgainstLock extends OneItem {
    @Actor
    public void first(ZZ_Result r) {
      r.r1 = timestamps.tryLock(slot);
    }

    @Actor
    public void second(ZZ_Result r) {
      r.r2 = timestamps.tryLock(slot);
    }

    @Arbiter
    public void unlock(ZZ_Result r) {
      timestamps.unlock(slot);
    }
  }

  /** A read valid at base + 5 and a write at base + 5 or before exclude each other. */
  @JCStressTest
  @State
  @Outcome(id = "6, 5", expect = Expect.ACCEPTABLE, desc = "extended, then written after it")
  @Outcome(id = "1, -1", expect = Expect.ACCEPTABLE, desc = "locked or written: no extension")
  @Outcome(expect = Expect.FORBIDDEN, desc = "a write got a timestamp within a validated read")
  public static class WriteAgainstExtend extends OneItem {
    @Actor
    public void writer(JJ_Result r) {
      r.r1 = write();
    }

    @Actor
    public void reader(JJ_Result r) {
      r.r2 = timestamps.extend(slot, seen, base + 5, false) ? 5 : -1;
    }
  }

  /** With a distance that overflows, so that wts is raised, too. */
  @JCStressTest
  @State
  @Outcome(id = "40001, 40000", expect = Expect.ACCEPTABLE, desc = "extended, then written")
  @Outcome(id = "1, -1", expect = Expect.ACCEPTABLE, desc = "locked or written: no extension")
  @Outcome(expect = Expect.FORBIDDEN, desc = "a write got a timestamp within a validated read")
  public static class WriteAgainstOverflow extends OneItem {
    @Actor
    public void writer(JJ_Result r) {
      r.r1 = write();
    }

    @Actor
    public void reader(JJ_Result r) {
      r.r2 = timestamps.extend(slot, seen, base + 40_000, false) ? 40_000 : -1;
    }
  }

  /** Two extensions, in any order: the later timestamp remains. */
  @JCStressTest
  @State
  @Outcome(id = "9, 3", expect = Expect.ACCEPTABLE, desc = "both valid, the larger rts stays")
  @Outcome(expect = Expect.FORBIDDEN, desc = "an extension was lost")
  public static class ExtendAgainstExtend extends OneItem {
    private boolean near;
    private boolean far;

    @Actor
    public void nearer() {
      near = timestamps.extend(slot, seen, base + 3, false);
    }

    @Actor
    public void farther() {
      far = timestamps.extend(slot, seen, base + 9, false);
    }

    @Arbiter
    public void look(JJ_Result r) {
      r.r1 = TidWord.rts(timestamps.word(slot)) - base;
      r.r2 = (near ? 1 : 0) + (far ? 2 : 0);
      timestamps.tryLock(slot); // keeps the distance small for the next state
      timestamps.publish(slot, base + 20);
    }
  }

  /** The reader's protocol: word, value, word again. */
  @JCStressTest
  @State
  @Outcome(id = "0, 0", expect = Expect.ACCEPTABLE, desc = "the old version")
  @Outcome(id = "1, 1", expect = Expect.ACCEPTABLE, desc = "the new version")
  @Outcome(id = "-1, -1", expect = Expect.ACCEPTABLE, desc = "locked or changed: retry")
  @Outcome(expect = Expect.FORBIDDEN, desc = "value and timestamp of different versions")
  public static class PublishAgainstRead extends OneItem {
    private long value;

    @Actor
    public void writer() {
      timestamps.tryLock(slot);
      value = 1;
      timestamps.publish(slot, base + 1);
    }

    @Actor
    public void reader(JJ_Result r) {
      long before = timestamps.word(slot);
      long v = value;
      VarHandle.acquireFence(); // the reads of a leaf end with one
      if (!TidWord.isLocked(before) && timestamps.word(slot) == before) {
        r.r1 = before == seen ? 0 : TidWord.wts(before) - base;
        r.r2 = v;
      } else {
        r.r1 = -1;
        r.r2 = -1;
      }
    }
  }

  /** Write skew: two transactions that each read the old version of what the other writes. */
  @JCStressTest
  @State
  @Outcome(id = "true, false", expect = Expect.ACCEPTABLE, desc = "the first commits")
  @Outcome(id = "false, true", expect = Expect.ACCEPTABLE, desc = "the second commits")
  @Outcome(id = "false, false", expect = Expect.ACCEPTABLE, desc = "both encountered a lock")
  @Outcome(expect = Expect.FORBIDDEN, desc = "write skew")
  public static class Skew {
    final Timestamps timestamps = Slots.TIMESTAMPS;
    final int x = Slots.take();
    final int y = Slots.take();
    final long seenX = timestamps.word(x);
    final long seenY = timestamps.word(y);

    private boolean commit(int mine, int other, long seenOther, long seenMine) {
      if (!timestamps.tryLock(mine)) {
        return false;
      }
      // Each has read both, so neither can precede the other.
      long commitTs = Math.max(TidWord.wts(seenOther), TidWord.rts(timestamps.word(mine)) + 1);
      commitTs = Math.max(commitTs, TidWord.rts(seenOther) + 1);
      if (timestamps.extend(other, seenOther, commitTs, false)
          && timestamps.extend(mine, seenMine, commitTs, true)) {
        timestamps.publish(mine, commitTs);
        return true;
      }
      timestamps.unlock(mine);
      return false;
    }

    @Actor
    public void first(ZZ_Result r) {
      r.r1 = commit(x, y, seenY, seenX);
    }

    @Actor
    public void second(ZZ_Result r) {
      r.r2 = commit(y, x, seenX, seenY);
    }
  }
}
