package io.fovea.buffer;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.JJ_Result;
import org.openjdk.jcstress.infra.results.J_Result;
import org.openjdk.jcstress.infra.results.ZZ_Result;

/** jcstress: the latch of a frame, and reads under it. Run by {@code RacesTest}. */
final class LatchRaces {
  private LatchRaces() {}

  /** Has two frames of a shared table that no other live state uses. */
  private static class TwoFrames {
    private static final int COUNT = 1 << 16;
    static final MemorySegment HEADERS =
        Arena.global().allocate(FrameHeader.at(COUNT), FrameHeader.at(1));
    private static int next;

    final int frame = take();
    final int other = frame + 1;

    /** The page: two longs that are always equal while no thread changes them. */
    long a;

    long b;

    private static synchronized int take() {
      next = next + 2 & COUNT - 1;
      return next;
    }

    /** Changes the page; returns whether the latch was taken. */
    final boolean write() {
      if (!Latch.tryExclusive(HEADERS, frame)) {
        return false;
      }
      a++;
      b++;
      Latch.releaseExclusive(HEADERS, frame);
      return true;
    }

    /** Reads both words optimistically; -1, -1 asks for a retry. */
    final void read(JJ_Result r) {
      long version = Latch.optimistic(HEADERS, frame);
      long first = a;
      long second = b;
      if (version != Latch.LATCHED && Latch.validate(HEADERS, frame, version)) {
        r.r1 = first;
        r.r2 = second;
      } else {
        r.r1 = -1;
        r.r2 = -1;
      }
    }
  }

  @JCStressTest
  @State
  @Outcome(id = "true, false", expect = Expect.ACCEPTABLE, desc = "the first holds the latch")
  @Outcome(id = "false, true", expect = Expect.ACCEPTABLE, desc = "the second holds the latch")
  @Outcome(expect = Expect.FORBIDDEN, desc = "at most one exclusive holder")
  public static class ExclusiveAgainstExclusive extends TwoFrames {
    @Actor
    public void first(ZZ_Result r) {
      r.r1 = Latch.tryExclusive(HEADERS, frame);
    }

    @Actor
    public void second(ZZ_Result r) {
      r.r2 = Latch.tryExclusive(HEADERS, frame);
    }

    @Arbiter
    public void release() {
      Latch.releaseExclusive(HEADERS, frame);
    }
  }

  @JCStressTest
  @State
  @Outcome(id = "true, false", expect = Expect.ACCEPTABLE, desc = "exclusive")
  @Outcome(id = "false, true", expect = Expect.ACCEPTABLE, desc = "shared")
  @Outcome(expect = Expect.FORBIDDEN, desc = "exactly one succeeds")
  public static class ExclusiveAgainstShared extends TwoFrames {
    private boolean shared;

    @Actor
    public void exclusive(ZZ_Result r) {
      r.r1 = Latch.tryExclusive(HEADERS, frame);
    }

    @Actor
    public void shared(ZZ_Result r) {
      shared = Latch.tryShared(HEADERS, frame);
      r.r2 = shared;
    }

    @Arbiter
    public void release() {
      if (shared) {
        Latch.releaseShared(HEADERS, frame);
      } else {
        Latch.releaseExclusive(HEADERS, frame);
      }
    }
  }

  @JCStressTest
  @State
  @Outcome(id = "0, 0", expect = Expect.ACCEPTABLE, desc = "before")
  @Outcome(id = "1, 1", expect = Expect.ACCEPTABLE, desc = "after")
  @Outcome(id = "-1, -1", expect = Expect.ACCEPTABLE, desc = "again")
  @Outcome(expect = Expect.FORBIDDEN, desc = "half of a change was validated")
  public static class OptimisticAgainstExclusive extends TwoFrames {
    @Actor
    public void writer() {
      write();
    }

    @Actor
    public void reader(JJ_Result r) {
      read(r);
    }
  }

  @JCStressTest
  @State
  @Outcome(id = "0, 0", expect = Expect.ACCEPTABLE, desc = "before")
  @Outcome(id = "1, 1", expect = Expect.ACCEPTABLE, desc = "after")
  @Outcome(id = "-1, -1", expect = Expect.ACCEPTABLE, desc = "latched")
  @Outcome(expect = Expect.FORBIDDEN, desc = "half of a change was seen")
  public static class SharedAgainstExclusive extends TwoFrames {
    @Actor
    public void writer() {
      write();
    }

    @Actor
    public void reader(JJ_Result r) {
      r.r1 = -1;
      r.r2 = -1;
      if (Latch.tryShared(HEADERS, frame)) {
        r.r1 = a;
        r.r2 = b;
        Latch.releaseShared(HEADERS, frame);
      }
    }
  }

  /** Downgraded from exclusive to shared by a holder that has changed the page. */
  @JCStressTest
  @State
  @Outcome(id = "0, 0", expect = Expect.ACCEPTABLE, desc = "before")
  @Outcome(id = "1, 1", expect = Expect.ACCEPTABLE, desc = "after")
  @Outcome(id = "-1, -1", expect = Expect.ACCEPTABLE, desc = "again")
  @Outcome(expect = Expect.FORBIDDEN, desc = "half of a change was validated")
  public static class OptimisticAgainstDowngrade extends TwoFrames {
    @Actor
    public void writer() {
      Latch.tryExclusive(HEADERS, frame);
      a = 1;
      b = 1;
      Latch.downgrade(HEADERS, frame);
      Latch.releaseShared(HEADERS, frame);
    }

    @Actor
    public void reader(JJ_Result r) {
      read(r);
    }
  }

  /** Read, then upgrade the version that was read: no increment is lost. */
  @JCStressTest
  @State
  @Outcome(id = "0", expect = Expect.ACCEPTABLE, desc = "one increment per upgrade")
  @Outcome(expect = Expect.FORBIDDEN, desc = "a lost update")
  public static class UpgradeAgainstUpgrade extends TwoFrames {
    private int first;
    private int second;

    private int increment() {
      long version = Latch.optimistic(HEADERS, frame);
      long seen = a;
      if (version == Latch.LATCHED || !Latch.tryUpgrade(HEADERS, frame, version)) {
        return 0;
      }
      a = seen + 1;
      Latch.releaseExclusive(HEADERS, frame);
      return 1;
    }

    @Actor
    public void first() {
      first = increment() + increment();
    }

    @Actor
    public void second() {
      second = increment() + increment();
    }

    @Arbiter
    public void look(J_Result r) {
      r.r1 = a - first - second;
    }
  }

  /** A holder that changed nothing keeps the version; a later one does not. */
  @JCStressTest
  @State
  @Outcome(id = "0, 0", expect = Expect.ACCEPTABLE, desc = "before")
  @Outcome(id = "1, 1", expect = Expect.ACCEPTABLE, desc = "after")
  @Outcome(id = "-1, -1", expect = Expect.ACCEPTABLE, desc = "again")
  @Outcome(expect = Expect.FORBIDDEN, desc = "half of a change was validated")
  public static class OptimisticAgainstUnchanged extends TwoFrames {
    @Actor
    public void writer() {
      Latch.tryExclusive(HEADERS, frame);
      Latch.releaseExclusiveUnchanged(HEADERS, frame);
      write();
    }

    @Actor
    public void reader(JJ_Result r) {
      read(r);
    }
  }

  /** A frame gets another page, whose holder then changes nothing. */
  @JCStressTest
  @State
  @Outcome(id = "0, 0", expect = Expect.ACCEPTABLE, desc = "before")
  @Outcome(id = "1, 1", expect = Expect.ACCEPTABLE, desc = "after")
  @Outcome(id = "-1, -1", expect = Expect.ACCEPTABLE, desc = "again")
  @Outcome(expect = Expect.FORBIDDEN, desc = "half of a page was validated")
  public static class OptimisticAgainstAnotherPage extends TwoFrames {
    @Actor
    public void writer() {
      Latch.tryExclusive(HEADERS, frame);
      Latch.advance(HEADERS, frame);
      a = 1;
      b = 1;
      Latch.releaseExclusiveUnchanged(HEADERS, frame);
    }

    @Actor
    public void reader(JJ_Result r) {
      read(r);
    }
  }

  /** A version from before a change is never valid after it. */
  @JCStressTest
  @State
  @Outcome(id = "0", expect = Expect.ACCEPTABLE, desc = "before")
  @Outcome(id = "-1", expect = Expect.ACCEPTABLE, desc = "again")
  @Outcome(expect = Expect.FORBIDDEN, desc = "an old version became valid again")
  public static class RememberedAgainstExclusive extends TwoFrames {
    private final long version = Latch.optimistic(HEADERS, frame);

    @Actor
    public void writer() {
      write();
    }

    @Actor
    public void reader(J_Result r) {
      long seen = a;
      r.r1 = Latch.validate(HEADERS, frame, version) ? seen : -1;
    }
  }

  /** The same for pages that move from one frame to the other. */
  @JCStressTest
  @State
  @Outcome(id = "0", expect = Expect.ACCEPTABLE, desc = "before")
  @Outcome(id = "-1", expect = Expect.ACCEPTABLE, desc = "again")
  @Outcome(expect = Expect.FORBIDDEN, desc = "an old version became valid again")
  public static class RememberedAgainstMove extends TwoFrames {
    private final long version = Latch.optimistic(HEADERS, frame);

    @Actor
    public void mover() {
      for (int content = 1; content <= 2; content++) {
        Latch.tryExclusive(HEADERS, frame);
        Latch.tryExclusive(HEADERS, other);
        a = content;
        Latch.releaseMoved(HEADERS, frame, other);
      }
    }

    @Actor
    public void reader(J_Result r) {
      long seen = a;
      r.r1 = Latch.validate(HEADERS, frame, version) ? seen : -1;
    }
  }
}
