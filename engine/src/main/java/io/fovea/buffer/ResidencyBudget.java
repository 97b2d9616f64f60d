package io.fovea.buffer;

import io.fovea.config.Translation;
import io.fovea.error.InvalidUseException;
import io.fovea.memory.DropList;
import io.fovea.memory.Mem;
import io.fovea.memory.NativeRegion;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntConsumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Every page has a frame of its own, and no page has memory without a right to it: of {@link
 * VirtualTranslation}.
 *
 * <pre>
 *   claim(p)                                          take, giveBack, after Frames.drop
 *     a right; or some pages evicted; or wait           all latched, clean, no I/O; header pid = 0
 *     tryExclusive(frame p)   no: right back, ~p        one call: the memory of all goes      (1)
 *     header pid != 0         : right back, ~p          their places are free                 (2)
 *     a place: names the frame                          their rights go back                  (3)
 *     bucket: header pid := p                           latches released, versions move       (4)
 *     the device reads; unlatched                       take keeps one right: the others are free
 *
 *   rights  = (bufferBytes - write buffer - 72 for each page that the file ever had)
 *             / (page + its place)
 *   places  | frame | frame | free | frame | ...      one for each right that there can be
 * </pre>
 *
 * <p>The 72 bytes are the header line of a page and its entry in the operating system's page table;
 * once touched they stay, though the file is cut. So rights become fewer as the file grows, and are
 * no more again as it shrinks, as long as the pool is open. They are taken back where a page
 * leaves: its right is not used again while more are held than there are.
 *
 * <p><b>Rules, and what breaks without them.</b>
 *
 * <ul>
 *   <li><b>V1. The memory goes under the exclusive latch</b>: (1) before (4). Forbidden: A drops p
 *       and unlatches; B claims p, reads it in and unlatches; A's madvise zeroes it: a page of
 *       zeros under a valid version.
 *   <li><b>V2. The right goes back after the memory</b>: (3) after (1). Else as many pages as there
 *       are threads that drop are above the budget.
 *   <li><b>V3. A reader without a latch may meet zeros half-way</b>, and needs nothing more. The
 *       exclusive bit is set, by CAS, before the page is dropped, and the version moves after it. A
 *       read that saw a zero of the new mapping went through an entry of the page table that was
 *       written after that CAS: by an interrupt of this core, or by another core, whose store the
 *       walk of the table has seen. So the reader's second look at the version, which is behind an
 *       acquire fence, sees the bit or a later version. Zeros are a torn page like any other: count
 *       0, type 0.
 *   <li><b>V4. A read of a page that left maps the system's page of zeros: no memory, no signal. A
 *       write would take memory without a right.</b> So nobody writes without the exclusive latch
 *       of a page that is there: no pretouch, no poison in frames (zeros are the poison), no repair
 *       of hints, which {@link ChildHints} does not do here, for a reference needs none.
 *   <li><b>V5. No I/O but under the exclusive latch.</b> Reads land in frames only then; writes go
 *       from copies. Pages are never registered with a ring: the system would go on writing into
 *       the page that was there before.
 *   <li><b>V6. A place names a frame before the frame's header names the page, and after it does
 *       not any more</b>; both latched exclusively. So a dirty page has one place from its first
 *       change to its last write, which is what {@link Flusher#minRecLsn} argues with.
 *   <li><b>V7. A thread has at most {@value #TOGETHER} pages latched to leave together</b>, and
 *       fewer in a small pool. Forbidden: a pool half of which is latched, or empty ahead of need.
 * </ul>
 *
 * <p><b>Pages that leave together</b> share a system call, and the interrupt of the other cores
 * whose TLBs may know them, which costs more than all else ({@link DropList}). Two kinds of threads
 * evict so: a miss that finds no right, which keeps one of those that it gets and leaves the others
 * to the next misses, its own and anybody's ({@link FrameAllocator}); and the background writer,
 * where few are free. A group of reads is misses of one thread: it gets as many rights with one
 * call as it has pages at most.
 *
 * <ul>
 *   <li><i>V1 and V2 hold for each page as if it left alone</i>, for each step is made for all
 *       pages before the next step is made for one. The first latch that is released comes after
 *       the memory of the last page, and so does the first right.
 *   <li><i>The budget.</i> Pages with memory are never more than rights that are held: a right is
 *       held from before the page's memory comes to after it has gone. What is left over of a list
 *       is a right that nobody holds, with no memory behind it; who takes it does so by a
 *       compare-and-set below {@link #capacity}. Where the file has grown, and more are held than
 *       there are, all of a list are given up but one, and that one as well if it is still above.
 *   <li><i>Who waits.</i> A thread that wants a page of a list finds it latched, waits as it does
 *       for any frame that changes, then finds no page there, and reads it: it has to in any case.
 *       It waits for the rest of the list as well: some microseconds for each page, less than for
 *       the read.
 *   <li><i>No deadlock.</i> From its first page to its last a thread gets latches of frames by
 *       trying alone. What it waits for are the latches of buckets, of places and of lists of
 *       frames, whose holders wait for nothing; and the kernel, whose locks no thread holds while
 *       it waits for us. So whoever waits for a page that leaves waits for a thread that waits for
 *       nobody, whatever else that one has latched: the pages of its group, or those of a tree.
 *   <li><i>What fails.</i> A call that does less than all is made again for the rest; one that is
 *       refused is followed by a call for each page ({@link DropList}). An error of the JVM between
 *       the steps stops the pool, as for a lone page.
 * </ul>
 *
 * <p><b>Where no page leaves</b> ({@link Translation#DIRECT}) there is a right for each page that
 * the file may have, and nothing is given back but what could not be read.
 *
 * <p>Any thread.
 */
final class ResidencyBudget implements Residency {
  /** See V7: as many as a {@link PageGroup} has. */
  static final int TOGETHER = 32;

  /** Of so many pages in memory one may leave with others: a list has a part of them at most. */
  private static final int TOGETHER_PART = 32;

  private static final VarHandle LATCH;

  static {
    try {
      LATCH = MethodHandles.lookup().findVarHandle(ResidencyBudget.class, "latch", int.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final Frames frames;
  private final MemorySegment headers;

  /** What the buffer has for pages of the file and for pages in memory, in bytes. */
  private final long budget;

  /** What a page in memory takes. */
  private final int pageBytes;

  /** Of each place an int: a frame; or 0 or less, free: -1 - the next free one, 0 at the end. */
  private final MemorySegment table;

  private final int places;

  /** Whether no page leaves: {@link Translation#DIRECT}. */
  private final boolean stays;

  /** The first free place that was used before; -1 for none. Under the latch. */
  private int freeHead = -1;

  /** From here on no place was used yet. Under the latch. */
  private int fresh;

  @SuppressWarnings("unused") // through its VarHandle
  private int latch;

  /** Rights that are taken. Exact: a right is taken before its memory, and given back after it. */
  private final AtomicInteger held = new AtomicInteger();

  /** Set once the parts are wired up. */
  private @Nullable Room room;

  /** Up to where header lines may have been touched: never goes back. */
  private LongSupplier touched = () -> 0;

  /** Tests ask for a call for each page, before anybody has a list. */
  boolean oneByOne;

  /** Tests hold a drop here: called with the number of the step that comes next. */
  volatile IntConsumer between = step -> {};

  ResidencyBudget(Frames frames, MemorySegment table, PoolConfig config) {
    this.frames = frames;
    this.headers = frames.headers;
    this.table = table;
    this.places = frames.plan.places();
    this.stays = frames.translator.stays;
    this.pageBytes = MemoryPlan.rightBytes(config.pageSize(), config.replacement());
    this.budget = config.bufferBytes() - frames.plan.ownFixedBytes();
  }

  /**
   * Reserves the addresses of all pages, and sees whether the system takes memory back.
   *
   * @throws InvalidUseException if it does not, or has not so many addresses
   */
  static NativeRegion reserve(MemoryPlan plan, int pageSize) {
    NativeRegion region;
    try {
      region = NativeRegion.reserveInPieces(plan.bytes(), "buffer pool");
    } catch (OutOfMemoryError e) {
      throw new InvalidUseException(
          "Translation VIRTUAL needs "
              + plan.bytes()
              + " bytes of addresses, which the system refuses: "
              + e.getMessage()
              + " Enlarge \"ulimit -v\", do not set vm.overcommit_memory to 2, or set"
              + " ExperimentOptions.fileBytesMax.",
          e);
    }
    boolean good = false;
    try {
      if (!region.forgets()) {
        throw new InvalidUseException(
            "Translation VIRTUAL needs native access to memory on Linux, which this JVM does not"
                + " have: see --enable-native-access.");
      }
      if (!drops(region, pageSize)) {
        throw new InvalidUseException(
            "Translation VIRTUAL drops pages of "
                + pageSize
                + " bytes one by one, which the system does not do here: the process has locked its"
                + " memory (mlockall), or the system's own pages are larger. Choose another"
                + " translation, or a larger page size for a new file.");
      }
      good = true;
      return region;
    } finally {
      if (!good) {
        region.release();
      }
    }
  }

  /** Writes three pages, drops the one in the middle, and looks at all. */
  private static boolean drops(NativeRegion region, int pageSize) {
    MemorySegment s = region.segment();
    for (int i = 0; i < 3; i++) {
      Mem.putLong(s, (long) i * pageSize, 1);
      Mem.putLong(s, (i + 1L) * pageSize - Long.BYTES, 1);
    }
    region.forget(pageSize, pageSize);
    boolean good = Mem.isZero(s, pageSize, pageSize);
    for (int i = 0; i < 3; i += 2) {
      good &= Mem.getLong(s, (long) i * pageSize) == 1;
      good &= Mem.getLong(s, (i + 1L) * pageSize - Long.BYTES) == 1;
    }
    region.forget(0, 3L * pageSize);
    Mem.zero(s, 0, good ? 0 : 3L * pageSize);
    return good;
  }

  @Override
  public void wire(Room to) {
    room = to;
  }

  @Override
  public void fileHas(LongSupplier pages) {
    touched = pages;
  }

  private Room room() {
    return Objects.requireNonNull(room);
  }

  // -------------------------------------------------------------------------------- a page comes

  @Override
  public int claim(long pid, boolean wait, boolean passing) {
    int right = wait ? room().acquire(-1) : room().tryAcquire(-1);
    if (right < 0) {
      return NONE;
    }
    int frame = VirtualTranslation.frame(frames.translator, pid);
    try {
      if (Latch.tryExclusive(headers, frame)) {
        if (frames.pid(frame) == 0) {
          enter(frame);
          return frame;
        }
        Latch.releaseExclusiveUnchanged(headers, frame);
      }
      held.getAndDecrement();
      return ~frame;
    } catch (Error e) {
      throw frames.stop(e); // a right is lost, or a frame latched by nobody
    }
  }

  /** What is reserved is a right, which has no number. */
  @Override
  public int reserve(long likely) {
    return room().acquire(-1);
  }

  @Override
  public int use(int reserved, long pid) {
    int frame = VirtualTranslation.frame(frames.translator, pid);
    for (int round = 0; ; round = frames.pauseUntilStopped(round)) {
      if (!Latch.tryExclusive(headers, frame)) {
        continue;
      }
      if (frames.pid(frame) == 0) {
        enter(frame);
      } else {
        held.getAndDecrement(); // a reader with an outdated reference has brought it in
      }
      return frame;
    }
  }

  @Override
  public void cancel(int reserved) {
    held.getAndDecrement();
  }

  @Override
  public int takeFree() {
    int now = held.get();
    while (now < capacity()) {
      if (held.compareAndSet(now, now + 1)) {
        return 0;
      }
      now = held.get();
    }
    return -1;
  }

  /** A frame without a page is no memory. */
  @Override
  public boolean takeFree(int frame) {
    return false;
  }

  @Override
  public int take(int emptied) {
    drop(emptied);
    // More are held than there are, since the file has grown: this one is not used again.
    boolean one = held.get() <= capacity();
    if (!one) {
      held.getAndDecrement();
    }
    unlatch(emptied);
    return one ? 0 : -1;
  }

  // ------------------------------------------------------------------------------- a page leaves

  @Override
  public boolean leave(int frame) {
    return !stays;
  }

  @Override
  public boolean evicts() {
    return !stays;
  }

  @Override
  public void giveBack(int frame) {
    try {
      drop(frame);
      held.getAndDecrement();
    } catch (Error e) {
      throw frames.stop(e);
    } finally {
      unlatch(frame);
    }
  }

  /** (1) and (2). */
  private void drop(int frame) {
    assert frames.pid(frame) == 0 : "frame " + frame + " still has a page";
    between.accept(1);
    if (!stays) {
      frames.forgetPage(frame);
      count(1, 1);
    }
    between.accept(2);
    exit(frame);
    between.accept(3);
  }

  private void unlatch(int frame) {
    between.accept(4);
    Latch.releaseExclusive(headers, frame);
  }

  @Override
  public int take(EvictionBatch emptied) {
    try {
      drop(emptied, Objects.requireNonNull(emptied.memory));
      // More are held than there are, since the file has grown: not even one is used again.
      boolean one = held.addAndGet(1 - emptied.size()) <= capacity();
      if (!one) {
        held.getAndDecrement();
      }
      return one ? 0 : -1;
    } catch (Error e) {
      throw frames.stop(e);
    } finally {
      unlatch(emptied);
    }
  }

  @Override
  public void giveBack(EvictionBatch emptied) {
    DropList memory = emptied.memory;
    if (memory == null) {
      Residency.super.giveBack(emptied);
      return;
    }
    try {
      drop(emptied, memory);
      held.getAndAdd(-emptied.size());
    } catch (Error e) {
      throw frames.stop(e);
    } finally {
      unlatch(emptied);
    }
  }

  /** (1) and (2), each of all pages. Neighbours are one range. */
  private void drop(EvictionBatch emptied, DropList memory) {
    int n = emptied.size();
    if (n == 0) {
      return;
    }
    Arrays.sort(emptied.frames, 0, n);
    between.accept(1);
    for (int i = 0; i < n; i++) {
      int frame = emptied.frames[i];
      assert frames.pid(frame) == 0 : "frame " + frame + " still has a page";
      memory.add(frames.base(frame), frames.pageSize);
    }
    count(n, memory.drop());
    between.accept(2);
    for (int i = 0; i < n; i++) {
      exit(emptied.frames[i]);
    }
    between.accept(3);
  }

  /** (4) of all. */
  private void unlatch(EvictionBatch emptied) {
    for (int i = 0; i < emptied.size(); i++) {
      unlatch(emptied.frames[i]);
    }
    emptied.clear();
  }

  private void count(int pages, int calls) {
    frames.counters.pagesForgotten.add(pages);
    frames.counters.forgetCalls.add(calls);
  }

  @Override
  public int together() {
    return stays ? 1 : Math.clamp(places / TOGETHER_PART, 1, TOGETHER);
  }

  @Override
  public EvictionBatch newLeaving() {
    int n = together();
    return stays
        ? new EvictionBatch(n, null)
        : new EvictionBatch(n, new DropList(frames.region, n, !oneByOne));
  }

  // -------------------------------------------------------------------------------------- places

  /** Gives a frame a place; it is latched exclusively, and its header names no page yet: V6. */
  private void enter(int frame) {
    lock();
    try {
      int place = freeHead;
      if (place >= 0) {
        freeHead = -1 - Mem.getIntOpaque(table, 4L * place);
      } else {
        place = fresh++;
      }
      Mem.putLongOpaque(headers, FrameHeader.at(frame) + FrameHeader.ENTRY_0, place);
      Mem.putIntOpaque(table, 4L * place, frame);
    } finally {
      unlock();
    }
  }

  /** Takes it away; it is latched exclusively, and its header names no page any more: V6. */
  private void exit(int frame) {
    lock();
    try {
      int place = place(frame);
      Mem.putIntOpaque(table, 4L * place, -1 - freeHead);
      freeHead = place;
    } finally {
      unlock();
    }
  }

  private void lock() {
    for (int round = 0; !LATCH.compareAndSet(this, 0, 1); ) {
      round = Math.min(Backoff.pause(round), Backoff.PARK_FROM - 1);
    }
  }

  private void unlock() {
    LATCH.setRelease(this, 0);
  }

  @Override
  public int places() {
    return places;
  }

  @Override
  public int resident(int i) {
    int frame = Mem.getIntOpaque(table, 4L * i);
    return frame > 0 ? frame : -1;
  }

  @Override
  public int place(int frame) {
    return (int) Mem.getLongOpaque(headers, FrameHeader.at(frame) + FrameHeader.ENTRY_0);
  }

  // ----------------------------------------------------------------------------------- how many

  @Override
  public int capacity() {
    long rest = budget - MemoryPlan.FILE_PAGE_BYTES * touched.getAsLong();
    return (int) Math.min(places, Math.max(0, rest / pageBytes));
  }

  @Override
  public int free() {
    return capacity() - held.get();
  }

  @Override
  public long filePagesMax() {
    return frames.count;
  }

  @Override
  public long bytes() {
    return frames.plan.ownFixedBytes()
        + MemoryPlan.FILE_PAGE_BYTES * touched.getAsLong()
        + (long) held.get() * pageBytes;
  }
}
