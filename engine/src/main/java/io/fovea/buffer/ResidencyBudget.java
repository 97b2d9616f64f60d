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
 * Residency for {@link VirtualTranslation}: the frame of a page is its page id, and no page has
 * memory without a grant for it.
 *
 * <pre>
 *   claim(p)                                          take, unclaim, after Frames.drop
 *     a grant; or some pages evicted; or wait           all latched, clean, no I/O; header pid = 0
 *     tryExclusive(frame p)   no: grant returned, ~p    one call: the memory of all goes      (1)
 *     header pid != 0         : grant returned, ~p      their list entries are free           (2)
 *     a list entry: names the frame                     their grants are returned             (3)
 *     bucket: header pid := p                           latches released, versions advance    (4)
 *     the device reads; unlatched                       take keeps one grant: the others are free
 *
 *   grants    = (bufferBytes - write buffer - 72 for each page that the file ever had)
 *               / (page + its list entry)
 *   residents | frame | frame | free | frame | ...    one entry for each possible grant
 * </pre>
 *
 * <p>The 72 bytes are the header line of a page and its entry in the operating system's page table;
 * once touched they stay, even if the file is cut. So the number of grants falls as the file grows,
 * and does not rise again while the pool is open. A grant is withdrawn when a page leaves: it is
 * not reused while more grants are held than exist.
 *
 * <p><b>Rules, with the interleaving that each excludes.</b>
 *
 * <ul>
 *   <li><b>V1. Memory is released under the exclusive latch</b>: (1) before (4). Excluded: A drops
 *       p and unlatches; B claims p, reads it in and unlatches; A's madvise then zeroes it, which
 *       leaves a page of zeros under a valid version.
 *   <li><b>V2. The grant returns after the memory</b>: (3) after (1). Otherwise each thread that
 *       drops a page exceeds the budget by one.
 *   <li><b>V3. A reader without a latch may see zeros partway through</b>, which needs no extra
 *       check. The exclusive bit is set, by CAS, before the page is dropped, and the version
 *       advances after it. A read that saw a zero of the new mapping used a page-table entry
 *       written after that CAS: by an interrupt of this core, or by another core whose store the
 *       table walk has seen. So the reader's second read of the version, after an acquire fence,
 *       sees the bit or a later version. Zeros are handled like any torn page: count 0, type 0.
 *   <li><b>V4. Reading a page that left maps the system's page of zeros: no memory, no signal.
 *       Writing to it would take memory without a grant.</b> So writing requires the exclusive
 *       latch of a resident page: no pretouch, no poison in frames (zeros are the poison), no hint
 *       repair (references need no hints here, see {@link ChildHints}).
 *   <li><b>V5. I/O into a frame requires the exclusive latch.</b> Writes come from copies. Pages
 *       are never registered with a ring: the kernel would write into the released page.
 *   <li><b>V6. The list of residents gains a frame before its header names the page, and loses it
 *       afterwards</b>; both under the exclusive latch. So a dirty page keeps one entry from its
 *       first change to its last write, on which {@link Flusher#minRecLsn} relies.
 *   <li><b>V7. A thread latches at most {@value #TOGETHER} pages to evict them together</b>, fewer
 *       in a small pool. Excluded: half of a pool is latched, or empty ahead of need.
 * </ul>
 *
 * <p><b>Pages evicted together</b> share a system call and the TLB shootdown of the other cores,
 * the largest part of the cost ({@link DropList}). Misses without a grant and the background writer
 * do this.
 *
 * <ul>
 *   <li><i>V1 and V2 hold as for a single page</i>, because each step is done for all pages before
 *       the next step is done for one.
 *   <li><i>The budget.</i> A grant is held from before the page gets memory until after it is
 *       released. The other grants of a batch are held by no thread and have no memory; they are
 *       taken by a compare-and-set below {@link #capacity}. If the file has grown, and more grants
 *       are held than exist, all grants of a batch but one are returned, and that one too if there
 *       are still too many.
 *   <li><i>No deadlock.</i> From its first page to its last a thread only tries frame latches. It
 *       waits for the latches of buckets, residents and lists of frames, whose holders wait for
 *       nothing; and for the kernel, whose locks no thread holds while it waits for the pool. So a
 *       wait for a page that is leaving is a wait for a thread that waits for no page, whatever
 *       else that thread has latched: the pages of its group, or those of a tree.
 *   <li><i>Failures.</i> A call that does part of the work is repeated for the rest; one that is
 *       refused is followed by a call per page. An error of the JVM between the steps stops the
 *       pool.
 * </ul>
 *
 * <p><b>Under {@link Translation#DIRECT}</b> no page leaves: there is a grant for each page that
 * the file may have, and only those of pages that could not be read are returned.
 *
 * <p>Thread-safe.
 */
final class ResidencyBudget implements Residency {
  /** See V7: the capacity of a {@link PageGroup}. */
  static final int TOGETHER = 32;

  /** A batch has at most this fraction of the pages in memory. */
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

  private final long budget;

  private final int pageBytes;

  /**
   * An int per list entry: a frame; or, if free, 0 or less: -1 - the next free one, 0 at the end.
   */
  private final MemorySegment table;

  private final int maxResidents;

  private final boolean stays;

  /** The first free entry that was used before; -1 for none. Under the latch. */
  private int freeHead = -1;

  /** The first entry that was never used. Under the latch. */
  private int fresh;

  @SuppressWarnings("unused") // through its VarHandle
  private int latch;

  /** Grants held. Exact: a grant is taken before its memory, and returned after it. */
  private final AtomicInteger held = new AtomicInteger();

  private @Nullable Reclaimer reclaimer;

  /** The number of header lines that may have been touched; never decreases. */
  private LongSupplier touched = () -> 0;

  /** Set by tests before batches exist: one system call per page. */
  boolean oneByOne;

  /** Lets tests pause a drop: called with the number of the next step. */
  volatile IntConsumer between = step -> {};

  ResidencyBudget(Frames frames, MemorySegment table, PoolConfig config) {
    this.frames = frames;
    this.headers = frames.headers;
    this.table = table;
    this.maxResidents = frames.plan.maxResidents();
    this.stays = frames.translator.stays;
    this.pageBytes = MemoryPlan.grantBytes(config.pageSize(), config.replacement());
    this.budget = config.bufferBytes() - frames.plan.ownFixedBytes();
  }

  /**
   * Reserves the addresses of all pages, and checks that the system takes released memory back.
   *
   * @throws InvalidUseException if the system does not, or has too few addresses
   */
  static NativeRegion reserve(MemoryPlan plan, int pageSize) {
    NativeRegion region;
    try {
      region = NativeRegion.reserveInPieces(plan.bytes(), "buffer pool");
    } catch (OutOfMemoryError e) {
      throw new InvalidUseException(
          "Translation VIRTUAL needs "
              + plan.bytes()
              + " bytes of address space, which the system refuses: "
              + e.getMessage()
              + " Enlarge \"ulimit -v\", do not set vm.overcommit_memory to 2, or set"
              + " ExperimentOptions.fileBytesMax.",
          e);
    }
    boolean good = false;
    try {
      if (!region.canDiscard()) {
        throw new InvalidUseException(
            "Translation VIRTUAL needs native access to memory on Linux, which this JVM does not"
                + " have: see --enable-native-access.");
      }
      if (!drops(region, pageSize)) {
        throw new InvalidUseException(
            "Translation VIRTUAL drops pages of "
                + pageSize
                + " bytes one by one, which this system does not do: the process has locked its"
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

  /** Writes three pages, drops the middle one, and checks all three. */
  private static boolean drops(NativeRegion region, int pageSize) {
    MemorySegment s = region.segment();
    for (int i = 0; i < 3; i++) {
      Mem.putLong(s, (long) i * pageSize, 1);
      Mem.putLong(s, (i + 1L) * pageSize - Long.BYTES, 1);
    }
    region.discard(pageSize, pageSize);
    boolean good = Mem.isZero(s, pageSize, pageSize);
    for (int i = 0; i < 3; i += 2) {
      good &= Mem.getLong(s, (long) i * pageSize) == 1;
      good &= Mem.getLong(s, (i + 1L) * pageSize - Long.BYTES) == 1;
    }
    region.discard(0, 3L * pageSize);
    Mem.zero(s, 0, good ? 0 : 3L * pageSize);
    return good;
  }

  @Override
  public void wire(Reclaimer to) {
    reclaimer = to;
  }

  @Override
  public void setFilePages(LongSupplier pages) {
    touched = pages;
  }

  private Reclaimer reclaimer() {
    return Objects.requireNonNull(reclaimer);
  }

  // ------------------------------------------------------------------------ a page arrives

  @Override
  public int claim(long pid, boolean wait, boolean passing) {
    int grant = wait ? reclaimer().acquire(-1) : reclaimer().tryAcquire(-1);
    if (grant < 0) {
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
      throw frames.poolStop.stop(e); // a grant is lost, or a frame stays latched
    }
  }

  /** A reservation is a grant, and grants have no numbers. */
  @Override
  public int reserve(long likely) {
    return reclaimer().acquire(-1);
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
        held.getAndDecrement(); // a reader with an outdated reference has read the page in
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

  /** A frame without a page has no memory. */
  @Override
  public boolean takeFree(int frame) {
    return false;
  }

  @Override
  public int take(int emptied) {
    drop(emptied);
    // More grants are held than exist, because the file has grown: this one is not reused.
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
  public void unclaim(int frame) {
    try {
      drop(frame);
      held.getAndDecrement();
    } catch (Error e) {
      throw frames.poolStop.stop(e);
    } finally {
      unlatch(frame);
    }
  }

  /** Steps (1) and (2). */
  private void drop(int frame) {
    assert frames.pid(frame) == 0 : "frame " + frame + " still has a page";
    between.accept(1);
    if (!stays) {
      frames.discardPage(frame);
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
      // More grants are held than exist, because the file has grown: not even one is reused.
      boolean one = held.addAndGet(1 - emptied.size()) <= capacity();
      if (!one) {
        held.getAndDecrement();
      }
      return one ? 0 : -1;
    } catch (Error e) {
      throw frames.poolStop.stop(e);
    } finally {
      unlatch(emptied);
    }
  }

  @Override
  public void unclaim(EvictionBatch emptied) {
    DropList memory = emptied.memory;
    if (memory == null) {
      Residency.super.unclaim(emptied);
      return;
    }
    try {
      drop(emptied, memory);
      held.getAndAdd(-emptied.size());
    } catch (Error e) {
      throw frames.poolStop.stop(e);
    } finally {
      unlatch(emptied);
    }
  }

  /** Steps (1) and (2), each for all pages. Adjacent pages are one range. */
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

  private void unlatch(EvictionBatch emptied) {
    for (int i = 0; i < emptied.size(); i++) {
      unlatch(emptied.frames[i]);
    }
    emptied.clear();
  }

  private void count(int pages, int calls) {
    frames.counters.pagesDiscarded.add(pages);
    frames.counters.discardCalls.add(calls);
  }

  @Override
  public int evictionBatchSize() {
    return stays ? 1 : Math.clamp(maxResidents / TOGETHER_PART, 1, TOGETHER);
  }

  @Override
  public EvictionBatch newBatch() {
    int n = evictionBatchSize();
    return stays
        ? new EvictionBatch(n, null)
        : new EvictionBatch(n, new DropList(frames.region, n, !oneByOne));
  }

  // -------------------------------------------------------------------- the list of residents

  /** Lists a frame, which is latched exclusively and whose header names no page yet: V6. */
  private void enter(int frame) {
    lock();
    try {
      int index = freeHead;
      if (index >= 0) {
        freeHead = -1 - Mem.getIntOpaque(table, 4L * index);
      } else {
        index = fresh++;
      }
      Mem.putLongOpaque(headers, FrameHeader.at(frame) + FrameHeader.ENTRY_0, index);
      Mem.putIntOpaque(table, 4L * index, frame);
    } finally {
      unlock();
    }
  }

  /** Removes a frame, which is latched exclusively and whose header no longer names a page: V6. */
  private void exit(int frame) {
    lock();
    try {
      int index = indexOf(frame);
      Mem.putIntOpaque(table, 4L * index, -1 - freeHead);
      freeHead = index;
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
  public int maxResidents() {
    return maxResidents;
  }

  @Override
  public int resident(int i) {
    int frame = Mem.getIntOpaque(table, 4L * i);
    return frame > 0 ? frame : -1;
  }

  @Override
  public int indexOf(int frame) {
    return (int) Mem.getLongOpaque(headers, FrameHeader.at(frame) + FrameHeader.ENTRY_0);
  }

  // ----------------------------------------------------------------------------------- numbers

  @Override
  public int capacity() {
    long rest = budget - MemoryPlan.FILE_PAGE_BYTES * touched.getAsLong();
    return (int) Math.min(maxResidents, Math.max(0, rest / pageBytes));
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
