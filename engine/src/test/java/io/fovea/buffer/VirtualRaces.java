package io.fovea.buffer;

import io.fovea.memory.DropList;
import io.fovea.memory.Mem;
import io.fovea.memory.NativeRegion;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicInteger;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.JJ_Result;

/**
 * jcstress, V3 of {@link ResidencyBudget}: a reader without a latch, while the page's memory is
 * released and the page is loaded again. Zeros must not validate. Run by {@code RacesTest}.
 */
final class VirtualRaces {
  private static final long PID = 20;
  private static final int PAGE = 4096;

  private VirtualRaces() {}

  /** Has a frame that no other live state uses. */
  private static class Own {
    private static final int COUNT = 1 << 13;

    /** Far apart in the page, like the words that a search reads. */
    private static final int FIRST = 64;

    private static final int LAST = PAGE - 64;

    /** Pages that are evicted together with another one: one per thread. */
    private static final int SPARE = 64;

    private static final NativeRegion REGION =
        NativeRegion.reserveInPieces((long) (COUNT + 2 * SPARE) * PAGE, "races");
    private static final MemorySegment PAGES = REGION.segment();
    static final MemorySegment HEADERS =
        Arena.global().allocate(FrameHeader.at(COUNT), FrameHeader.at(1));
    private static final AtomicInteger THREADS = new AtomicInteger();
    private static final ThreadLocal<Together> TOGETHER = ThreadLocal.withInitial(Together::new);
    private static int next;

    /** One call for two ranges. */
    private static final class Together {
      final DropList list = new DropList(REGION, 2);
      // Two apart, so that they are neither adjacent to a frame nor to each other.
      final long spare = (COUNT + 1 + 2L * (THREADS.getAndIncrement() % SPARE)) * PAGE;

      void drop(int frame) {
        Mem.putLong(PAGES, spare, 1);
        list.add((long) frame * PAGE, PAGE);
        list.add(spare, PAGE);
        list.drop();
      }
    }

    final int frame = take();

    Own(boolean resident) {
      FrameHeader.setPid(HEADERS, frame, resident ? PID : 0);
      write(resident ? PID : 0);
      if (!resident) {
        REGION.discard((long) frame * PAGE, PAGE);
      }
    }

    private static synchronized int take() {
      next = next + 1 & COUNT - 1;
      return next;
    }

    private void write(long word) {
      long base = (long) frame * PAGE;
      Mem.putLong(PAGES, base + FIRST, word);
      Mem.putLong(PAGES, base + LAST, word);
    }

    /** The page is evicted: first its header, then its memory, then the latch. */
    final void evict() {
      if (!Latch.tryExclusive(HEADERS, frame)) {
        return;
      }
      if (FrameHeader.pid(HEADERS, frame) == PID) {
        FrameHeader.setPid(HEADERS, frame, 0);
        REGION.discard((long) frame * PAGE, PAGE);
      }
      Latch.releaseExclusive(HEADERS, frame);
    }

    /** The same together with another page, by one call. */
    final void evictTogether() {
      if (!Latch.tryExclusive(HEADERS, frame)) {
        return;
      }
      if (FrameHeader.pid(HEADERS, frame) == PID) {
        FrameHeader.setPid(HEADERS, frame, 0);
        TOGETHER.get().drop(frame);
      }
      Latch.releaseExclusive(HEADERS, frame);
    }

    /**
     * The page arrives: first the header, as in {@link ResidencyBudget#claim}, then what the device
     * reads.
     */
    final void load() {
      if (!Latch.tryExclusive(HEADERS, frame)) {
        return;
      }
      if (FrameHeader.pid(HEADERS, frame) == 0) {
        FrameHeader.setPid(HEADERS, frame, PID);
        write(PID);
      }
      Latch.releaseExclusive(HEADERS, frame);
    }

    /** Acts like {@link BufferPool#optimistic} and its caller; -1, -1 asks for a retry. */
    final void read(JJ_Result r) {
      r.r1 = -1;
      r.r2 = -1;
      long version = Latch.optimistic(HEADERS, frame);
      if (version == Latch.LATCHED || !FrameHeader.use(HEADERS, frame, PID)) {
        return;
      }
      long base = (long) frame * PAGE;
      long first = Mem.peekLong(PAGES, base + FIRST);
      long last = Mem.peekLong(PAGES, base + LAST);
      if (Latch.validate(HEADERS, frame, version)) {
        r.r1 = first;
        r.r2 = last;
      }
    }
  }

  @JCStressTest
  @State
  @Outcome(id = "20, 20", expect = Expect.ACCEPTABLE, desc = "the page")
  @Outcome(id = "-1, -1", expect = Expect.ACCEPTABLE, desc = "again")
  @Outcome(expect = Expect.FORBIDDEN, desc = "zeros that validate")
  public static class ReaderAgainstDrop extends Own {
    public ReaderAgainstDrop() {
      super(true);
    }

    @Actor
    public void evictor() {
      evict();
    }

    @Actor
    public void reader(JJ_Result r) {
      read(r);
    }
  }

  @JCStressTest
  @State
  @Outcome(id = "20, 20", expect = Expect.ACCEPTABLE, desc = "the page, before or after")
  @Outcome(id = "-1, -1", expect = Expect.ACCEPTABLE, desc = "again")
  @Outcome(expect = Expect.FORBIDDEN, desc = "zeros that validate, or half of a page")
  public static class ReaderAgainstDropAndLoad extends Own {
    public ReaderAgainstDropAndLoad() {
      super(true);
    }

    @Actor
    public void evictor() {
      evict();
      load();
    }

    @Actor
    public void reader(JJ_Result r) {
      read(r);
    }
  }

  @JCStressTest
  @State
  @Outcome(id = "20, 20", expect = Expect.ACCEPTABLE, desc = "the page, before or after")
  @Outcome(id = "-1, -1", expect = Expect.ACCEPTABLE, desc = "again")
  @Outcome(expect = Expect.FORBIDDEN, desc = "zeros that validate, or half of a page")
  public static class ReaderAgainstDropTogether extends Own {
    public ReaderAgainstDropTogether() {
      super(true);
    }

    @Actor
    public void evictor() {
      evictTogether();
      load();
    }

    @Actor
    public void reader(JJ_Result r) {
      read(r);
    }
  }

  @JCStressTest
  @State
  @Outcome(id = "20, 20", expect = Expect.ACCEPTABLE, desc = "the page that arrived")
  @Outcome(id = "-1, -1", expect = Expect.ACCEPTABLE, desc = "again")
  @Outcome(expect = Expect.FORBIDDEN, desc = "half of a page")
  public static class ReaderAgainstLoad extends Own {
    public ReaderAgainstLoad() {
      super(false);
    }

    @Actor
    public void loader() {
      load();
    }

    @Actor
    public void evictor() {
      evict();
    }

    @Actor
    public void reader(JJ_Result r) {
      read(r);
    }
  }
}
