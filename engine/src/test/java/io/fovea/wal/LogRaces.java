package io.fovea.wal;

import io.fovea.memory.Mem;
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

/** jcstress: the words of the ring. Run by {@code RacesTest}. */
final class LogRaces {
  private static final int SIZE = 64;
  private static final int WORDS = 512;
  private static final long START = 4096;

  private LogRaces() {}

  /** A ring without grants, and its position. */
  private static class OneRing {
    final Ring ring =
        new Ring(
            null,
            MemorySegment.ofArray(new long[SIZE / 8]),
            MemorySegment.ofArray(new long[WORDS / 8]),
            START);
    final long base = ring.tail();

    /** Writes a record of 16 bytes; returns its distance from the base, or -1 without space. */
    final long append(long body) {
      if (!ring.take(16)) {
        return -1;
      }
      long at = ring.reserve(16, 16);
      Mem.putLong(ring.segment(), ring.offset(at) + 8, body);
      ring.complete(at, 16);
      return at - base;
    }
  }

  @JCStressTest
  @State
  @Outcome(id = "0, 16", expect = Expect.ACCEPTABLE, desc = "one after the other")
  @Outcome(id = "16, 0", expect = Expect.ACCEPTABLE, desc = "one after the other")
  @Outcome(expect = Expect.FORBIDDEN, desc = "two records at one position")
  public static class ReserveAgainstReserve extends OneRing {
    @Actor
    public void first(JJ_Result r) {
      r.r1 = append(1);
    }

    @Actor
    public void second(JJ_Result r) {
      r.r2 = append(2);
    }
  }

  /** A reader that sees the word sees the body. */
  @JCStressTest
  @State
  @Outcome(id = "0, 0", expect = Expect.ACCEPTABLE, desc = "not complete")
  @Outcome(id = "16, 7", expect = Expect.ACCEPTABLE, desc = "all of it")
  @Outcome(expect = Expect.FORBIDDEN, desc = "a word without its body")
  public static class CompleteAgainstWriter extends OneRing {
    @Actor
    public void appender() {
      append(7);
    }

    @Actor
    public void writer(JJ_Result r) {
      r.r1 = ring.word(base);
      r.r2 = r.r1 == 0 ? 0 : Mem.getLong(ring.segment(), ring.offset(base) + 8);
    }
  }

  /** The ring is full; the writer zeroes and releases, and an appender reuses the bytes. */
  @JCStressTest
  @State
  @Outcome(id = "-1, 0", expect = Expect.ACCEPTABLE, desc = "no space yet")
  @Outcome(id = "64, 9", expect = Expect.ACCEPTABLE, desc = "the next lap")
  @Outcome(expect = Expect.FORBIDDEN, desc = "a record zeroed by the writer")
  public static class ReleaseAgainstNextLap extends OneRing {
    private long appended;

    public ReleaseAgainstNextLap() {
      for (int i = 0; i < SIZE / 16; i++) {
        append(3);
      }
    }

    @Actor
    public void writer() {
      ring.release(base, base + 16);
    }

    @Actor
    public void appender() {
      appended = append(9);
    }

    @Arbiter
    public void look(JJ_Result r) {
      r.r1 = appended;
      MemorySegment seg = ring.segment();
      r.r2 = Mem.getLong(seg, ring.offset(base) + 8);
    }
  }

  /**
   * One range is free, another becomes free. Both appenders take space, and the one that saw only
   * the old limit may reserve the new range; it must also see the zeros there.
   */
  @JCStressTest
  @State
  @Outcome(id = "0", expect = Expect.ACCEPTABLE, desc = "nothing lost")
  @Outcome(expect = Expect.FORBIDDEN, desc = "a record zeroed by the writer")
  public static class ReleaseAgainstTwoAppenders extends OneRing {
    private boolean first;
    private boolean second;

    public ReleaseAgainstTwoAppenders() {
      for (int i = 0; i < SIZE / 16 - 1; i++) {
        append(3);
      }
    }

    @Actor
    public void one() {
      ring.release(base, base + 16);
      first = append(9) >= 0;
    }

    @Actor
    public void other() {
      second = append(9) >= 0;
    }

    @Arbiter
    public void look(J_Result r) {
      int records = (first ? 1 : 0) + (second ? 1 : 0);
      for (long at = base + 48; at < base + 48 + 16 * records; at += 16) {
        boolean whole =
            ring.word(at) == 16 && Mem.getLong(ring.segment(), ring.offset(at) + 8) == 9;
        r.r1 += whole ? 0 : 1;
      }
    }
  }

  /** The accounted space is exact, whichever thread returns it. */
  @JCStressTest
  @State
  @Outcome(id = "0", expect = Expect.ACCEPTABLE, desc = "exact")
  @Outcome(expect = Expect.FORBIDDEN, desc = "space leaked")
  public static class TakeAgainstGiveBack extends OneRing {
    private void use() {
      if (ring.take(24)) {
        ring.reserve(16, 24);
        ring.returnSpace(8);
      }
    }

    @Actor
    public void first() {
      use();
    }

    @Actor
    public void second() {
      use();
    }

    @Arbiter
    public void look(J_Result r) {
      r.r1 = ring.unused();
    }
  }

  /**
   * The redo point: the checkpoint reads the tail, then the slots; the session writes its slot,
   * then reserves. Uses the session's own code.
   */
  @JCStressTest
  @State
  @Outcome(id = "true, true", expect = Expect.ACCEPTABLE, desc = "the redo point holds the record")
  @Outcome(expect = Expect.FORBIDDEN, desc = "the redo point is above the record")
  public static class SlotAgainstCheckpoint extends OneRing {
    private volatile long slot = Long.MAX_VALUE;
    private long start;
    private long redo;

    @Actor
    public void session() {
      slot = ring.tail();
      start = append(1) + base;
    }

    @Actor
    public void checkpoint() {
      append(2);
      long tail = ring.tail();
      redo = Math.min(tail, slot);
    }

    @Arbiter
    public void look(ZZ_Result r) {
      r.r1 = redo <= start;
      r.r2 = redo >= base;
    }
  }

  /** A durable wait: register, then read; against publish, then check for waiters. */
  @JCStressTest
  @State
  @Outcome(id = "false, true", expect = Expect.ACCEPTABLE, desc = "the writer sees the waiter")
  @Outcome(id = "true, false", expect = Expect.ACCEPTABLE, desc = "the waiter sees the position")
  @Outcome(id = "true, true", expect = Expect.ACCEPTABLE, desc = "both")
  @Outcome(expect = Expect.FORBIDDEN, desc = "a waiter that is never woken")
  public static class WaitAgainstPublish {
    private final DurabilityWaiters waits = new DurabilityWaiters(0);

    @Actor
    public void waiter(ZZ_Result r) {
      r.r1 = waits.register(8);
    }

    @Actor
    public void writer(ZZ_Result r) {
      r.r2 = waits.publish(8) > 0;
    }
  }
}
