package io.fovea.buffer;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import io.fovea.memory.Mem;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicInteger;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;
import org.openjdk.jcstress.infra.results.II_Result;

/**
 * Tests the memory order of {@link Latch}:
 *
 * <pre>{@code
 * java -cp <test class path> org.openjdk.jcstress.Main -t LatchStress
 * }</pre>
 */
public class LatchStress {
  private LatchStress() {}

  /** Cache lines for states: jcstress creates many thousands at a time, and drops them. */
  private static final class Lines {
    private static final int COUNT = 1 << 20;
    private static final int STRIDE = 4 * FrameHeader.BYTES;
    private static final MemorySegment ALL = Arena.global().allocate((long) COUNT * STRIDE, 64);
    private static final AtomicInteger NEXT = new AtomicInteger();

    private Lines() {}

    /** Two frame headers, followed by 128 bytes that stand in for their pages. */
    static MemorySegment take() {
      int line = NEXT.getAndIncrement() & COUNT - 1;
      MemorySegment lines = ALL.asSlice((long) line * STRIDE, STRIDE);
      lines.fill((byte) 0);
      return lines;
    }
  }

  private static final int A = 128;
  private static final int B = 192;

  /** A reader without a latch sees all of a change or nothing. */
  @JCStressTest
  @Outcome(id = "0, 0", expect = ACCEPTABLE, desc = "before")
  @Outcome(id = "1, 1", expect = ACCEPTABLE, desc = "after")
  @Outcome(id = "-1, -1", expect = ACCEPTABLE, desc = "restart")
  @Outcome(expect = FORBIDDEN, desc = "half a change was validated")
  @State
  public static class Optimistic {
    private final MemorySegment seg = Lines.take();

    /** Changes both words. */
    @Actor
    public void writer() {
      if (Latch.tryExclusive(seg, 0)) {
        Mem.putLong(seg, A, 1);
        Mem.putLong(seg, B, 1);
        Latch.releaseExclusive(seg, 0);
      }
    }

    /** Reads both in the opposite order. */
    @Actor
    public void reader(II_Result r) {
      long version = Latch.optimistic(seg, 0);
      int b = (int) Mem.getLong(seg, B);
      int a = (int) Mem.getLong(seg, A);
      boolean ok = version != Latch.LATCHED && Latch.validate(seg, 0, version);
      r.r1 = ok ? a : -1;
      r.r2 = ok ? b : -1;
    }
  }

  /** A holder of the shared latch sees all of a change or nothing. */
  @JCStressTest
  @Outcome(id = "0, 0", expect = ACCEPTABLE, desc = "before, or the writer found a reader")
  @Outcome(id = "1, 1", expect = ACCEPTABLE, desc = "after")
  @Outcome(id = "-1, -1", expect = ACCEPTABLE, desc = "latched")
  @Outcome(expect = FORBIDDEN, desc = "the latches do not exclude each other")
  @State
  public static class Shared {
    private final MemorySegment seg = Lines.take();

    /** Changes both words. */
    @Actor
    public void writer() {
      if (Latch.tryExclusive(seg, 0)) {
        Mem.putLong(seg, A, 1);
        Mem.putLong(seg, B, 1);
        Latch.releaseExclusive(seg, 0);
      }
    }

    /** Reads both. */
    @Actor
    public void reader(II_Result r) {
      r.r1 = -1;
      r.r2 = -1;
      if (Latch.tryShared(seg, 0)) {
        r.r2 = (int) Mem.getLong(seg, B);
        r.r1 = (int) Mem.getLong(seg, A);
        Latch.releaseShared(seg, 0);
      }
    }
  }

  /** Of two upgrades from one version at most one succeeds, and what it has read is still valid. */
  @JCStressTest
  @Outcome(id = "1, 0, 1", expect = ACCEPTABLE, desc = "the first")
  @Outcome(id = "0, 1, 1", expect = ACCEPTABLE, desc = "the second")
  @Outcome(id = "1, 1, 2", expect = ACCEPTABLE, desc = "one after the other")
  @Outcome(expect = FORBIDDEN, desc = "an update was lost")
  @State
  public static class Upgrade {
    private final MemorySegment seg = Lines.take();

    private int add() {
      long version = Latch.optimistic(seg, 0);
      if (version == Latch.LATCHED) {
        return 0;
      }
      long value = Mem.getLong(seg, A);
      if (!Latch.tryUpgrade(seg, 0, version)) {
        return 0;
      }
      Mem.putLong(seg, A, value + 1);
      Latch.releaseExclusive(seg, 0);
      return 1;
    }

    /** Adds one. */
    @Actor
    public void first(III_Result r) {
      r.r1 = add();
    }

    /** Adds one. */
    @Actor
    public void second(III_Result r) {
      r.r2 = add();
    }

    /** Reads the result. */
    @Arbiter
    public void sum(III_Result r) {
      r.r3 = (int) Mem.getLong(seg, A);
    }
  }

  /** A page moves from frame 0 to frame 1: a reader of frame 0 sees it there, or restarts. */
  @JCStressTest
  @Outcome(id = "7, 1", expect = ACCEPTABLE, desc = "before")
  @Outcome(id = "-1, -1", expect = ACCEPTABLE, desc = "restart")
  @Outcome(expect = FORBIDDEN, desc = "another page was validated")
  @State
  public static class Move {
    private final MemorySegment seg = Lines.take();

    /** Page 7 is in frame 0. */
    public Move() {
      FrameHeader.setPid(seg, 0, 7);
      Mem.putLong(seg, A, 1);
    }

    /** Moves it. */
    @Actor
    public void mover() {
      if (Latch.tryExclusive(seg, 0)) {
        if (Latch.tryExclusive(seg, 1)) {
          Mem.putLong(seg, B, Mem.getLong(seg, A));
          Mem.putLong(seg, A, 0xDB);
          FrameHeader.setPid(seg, 1, 7);
          FrameHeader.setPid(seg, 0, 0);
          Latch.releaseMoved(seg, 0, 1);
        } else {
          Latch.releaseExclusiveUnchanged(seg, 0);
        }
      }
    }

    /** Reads it. */
    @Actor
    public void reader(II_Result r) {
      long version = Latch.optimistic(seg, 0);
      boolean here = FrameHeader.use(seg, 0, 7);
      int word = (int) Mem.getLong(seg, A);
      boolean ok = here && version != Latch.LATCHED && Latch.validate(seg, 0, version);
      r.r1 = ok ? 7 : -1;
      r.r2 = ok ? word : -1;
    }
  }
}
