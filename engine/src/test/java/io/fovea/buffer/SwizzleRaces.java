package io.fovea.buffer;

import io.fovea.memory.Mem;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.J_Result;
import org.openjdk.jcstress.infra.results.ZJ_Result;

/**
 * jcstress: a trusted reference to a page that is evicted concurrently, and whose frame gets
 * another page. Run by {@code RacesTest}.
 */
final class SwizzleRaces {
  private static final long PARENT = 10;
  private static final long CHILD = 20;
  private static final long OTHER = 30;

  private SwizzleRaces() {}

  /** Has a parent and a child in two frames that no other live state uses. */
  private static class Family {
    private static final int COUNT = 1 << 14;
    static final int SHIFT = 8;
    private static final int CONTENT = 200;
    static final MemorySegment HEADERS =
        Arena.global().allocate(FrameHeader.at(COUNT), FrameHeader.at(1));
    static final MemorySegment PAGES = Arena.global().allocate((long) COUNT << SHIFT, 64);
    static final Swizzling SWIZZLING =
        new Swizzling(PAGES, HEADERS, new Counters(), COUNT, SHIFT, true);
    private static int next;

    final int parent = take();
    final int child = parent + 1;
    final long word = ((long) parent << SHIFT) + PageRef.FIRST;
    final long version;

    Family(boolean swizzled) {
      node(parent, PageHeader.INNER, 1, PARENT);
      node(child, PageHeader.LEAF, 0, CHILD);
      FrameHeader.setParent(HEADERS, parent, 0);
      FrameHeader.setParent(HEADERS, child, swizzled ? parent + 1 : 0);
      Mem.putLong(PAGES, word, PageRef.of(CHILD, swizzled ? child + 1 : 0));
      version = Latch.optimistic(HEADERS, parent);
    }

    private static synchronized int take() {
      next = next + 2 & COUNT - 1;
      return next;
    }

    private static void node(int frame, int type, int level, long pid) {
      long base = (long) frame << SHIFT;
      PageHeader.init(PAGES, base, type, pid, 1);
      PageHeader.setLevel(PAGES, base, level);
      Mem.putShort(PAGES, base + PageRef.COUNT, (short) 0);
      Mem.putLong(PAGES, base + CONTENT, pid);
      FrameHeader.setPid(HEADERS, frame, pid);
    }

    /** The child is evicted, if allowed, and another page gets its frame. */
    final void evict() {
      if (!Latch.tryExclusive(HEADERS, child)) {
        return;
      }
      if (SWIZZLING.leave(child)) {
        FrameHeader.setPid(HEADERS, child, OTHER);
        Mem.putLong(PAGES, ((long) child << SHIFT) + CONTENT, OTHER);
      }
      Latch.releaseExclusive(HEADERS, child);
    }

    /** Acts like a descent: returns the page id in the child; -1 asks for a retry. */
    final long read() {
      long seen = Latch.optimistic(HEADERS, parent);
      if (seen == Latch.LATCHED) {
        return -1;
      }
      int frame = PageRef.frame(Mem.peekLong(PAGES, word));
      if (frame < 0) {
        return -1;
      }
      long below = Latch.optimistic(HEADERS, frame);
      if (below == Latch.LATCHED || !Latch.validate(HEADERS, parent, seen)) {
        return -1;
      }
      long content = Mem.peekLong(PAGES, ((long) frame << SHIFT) + CONTENT);
      return Latch.validate(HEADERS, frame, below) ? content : -1;
    }
  }

  @JCStressTest
  @State
  @Outcome(id = "20", expect = Expect.ACCEPTABLE, desc = "the child")
  @Outcome(id = "-1", expect = Expect.ACCEPTABLE, desc = "again")
  @Outcome(expect = Expect.FORBIDDEN, desc = "another page")
  public static class ReaderAgainstEviction extends Family {
    public ReaderAgainstEviction() {
      super(true);
    }

    @Actor
    public void evictor() {
      evict();
    }

    @Actor
    public void reader(J_Result r) {
      r.r1 = read();
    }
  }

  @JCStressTest
  @State
  @Outcome(id = "true, 20", expect = Expect.ACCEPTABLE, desc = "referenced and resident")
  @Outcome(id = "false, 20", expect = Expect.ACCEPTABLE, desc = "neither")
  @Outcome(id = "false, 30", expect = Expect.ACCEPTABLE, desc = "evicted and not referenced")
  @Outcome(expect = Expect.FORBIDDEN, desc = "a reference names a frame with another page")
  public static class SwizzlingAgainstEviction extends Family {
    public SwizzlingAgainstEviction() {
      super(false);
    }

    @Actor
    public void descent() {
      SWIZZLING.swizzle(parent, version, word, CHILD, child);
    }

    @Actor
    public void evictor() {
      evict();
    }

    @Arbiter
    public void after(ZJ_Result r) {
      r.r1 = PageRef.frame(Mem.getLong(PAGES, word)) == child;
      r.r2 = FrameHeader.pid(HEADERS, child);
    }
  }

  @JCStressTest
  @State
  @Outcome(id = "20", expect = Expect.ACCEPTABLE, desc = "the child")
  @Outcome(id = "-1", expect = Expect.ACCEPTABLE, desc = "again")
  @Outcome(expect = Expect.FORBIDDEN, desc = "another page")
  public static class ReaderSwizzlingAndEviction extends Family {
    public ReaderSwizzlingAndEviction() {
      super(false);
    }

    @Actor
    public void descent() {
      SWIZZLING.swizzle(parent, version, word, CHILD, child);
    }

    @Actor
    public void evictor() {
      evict();
    }

    @Actor
    public void reader(J_Result r) {
      r.r1 = read();
    }
  }
}
