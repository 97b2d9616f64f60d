package io.fovea.buffer;

import io.fovea.error.CorruptionException;
import io.fovea.error.StorageFullException;
import io.fovea.io.BlockDevice;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Objects;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Gives pages out and takes them back.
 *
 * <pre>
 *   0 1 2   3                          highWater          pages of the file
 *   |S|S|C| used, or in the free list  | never given out  |
 *
 *   free list:  freeHead ──► page FREE ──► page FREE ──► 0        a stack through the pages
 *                            32: next      32: next
 * </pre>
 *
 * <p>Head, length and high-water mark are in the superblock; the links are in the pages, so the
 * list may be as long as it likes. A free page is an image of type FREE like any other: it is
 * dirty, is written before its frame is dropped, and is loaded like any page.
 *
 * <p><b>Latches.</b> The spin latch here guards three numbers and nothing that waits is done under
 * it. Taking a page off the list needs its link: latch the page exclusively first, then see under
 * the spin latch that it is still the head. Since the page is latched nobody else can take it off,
 * use it, and free it again in between.
 *
 * <p><b>The file</b> grows ahead of the high-water mark, by an eighth of its size; no page id is
 * given out before the file has room for it. When there is no space the attempt is repeated with
 * less; when there is none for a single page nothing has changed.
 */
final class PageAllocator {
  /** Where a free page has the next one. */
  static final int NEXT_FREE = PageHeader.BYTES;

  private static final long GROW_MIN = 1L << 20;
  private static final long GROW_MAX = 64L << 20;

  private static final VarHandle LATCH;

  static {
    try {
      LATCH = MethodHandles.lookup().findVarHandle(PageAllocator.class, "latch", int.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final Frames frames;
  private final MemorySegment pages;
  private final Replacement replacement;
  private final Loader loader;
  private final BlockDevice device;
  private final ReentrantLock growing = new ReentrantLock();

  /** Set once the parts are wired up. */
  private @Nullable Resolver resolver;

  @SuppressWarnings("unused") // through its VarHandle
  private int latch;

  private volatile long highWater;
  private volatile long freeHead;
  private volatile long freePages;

  /** How many pages the file has room for. */
  private volatile long filePages;

  PageAllocator(
      Frames frames,
      Replacement replacement,
      Loader loader,
      BlockDevice device,
      AllocatorState state) {
    this.frames = frames;
    this.pages = frames.pages;
    this.replacement = replacement;
    this.loader = loader;
    this.device = device;
    this.highWater = state.highWater();
    this.freeHead = state.freeHead();
    this.freePages = state.freePages();
    this.filePages = device.size() >>> frames.pageShift;
    check(state);
  }

  private void check(AllocatorState state) {
    if (state.highWater() < AllocatorState.FIRST_PID) {
      throw new CorruptionException(
          "high-water mark", -1, -1, AllocatorState.FIRST_PID, state.highWater());
    }
    boolean fresh = state.highWater() == AllocatorState.FIRST_PID;
    if (!fresh && state.highWater() > filePages) {
      throw new CorruptionException(
          "the file ends before its last page", -1, device.size(), state.highWater(), filePages);
    }
    if (state.freeHead() < 0
        || state.freeHead() >= state.highWater()
        || (state.freeHead() == 0) != (state.freePages() == 0)) {
      throw new CorruptionException(
          "head of the free list", -1, -1, state.freePages(), state.freeHead());
    }
  }

  void wire(Resolver resolver) {
    this.resolver = resolver;
  }

  long highWater() {
    return highWater;
  }

  AllocatorState state() {
    lock();
    AllocatorState state = new AllocatorState(highWater, freeHead, freePages);
    unlock();
    return state;
  }

  /** See {@link BufferPool#allocate}. */
  int allocate(int treeId, int type) {
    while (true) {
      long head = freeHead;
      int frame = head != 0 ? reuse(head) : extend();
      if (frame >= 0) {
        long pid = frames.pid(frame);
        init(frame, type, pid, treeId, head != 0);
        return frame;
      }
    }
  }

  /** See {@link BufferPool#allocateAt}. */
  int allocateAt(long pid, int treeId, int type) {
    ensureFile(Math.max(pid + 1, highWater));
    int frame = loader.create(pid, replacement.acquire(frames.translator.preferred(pid)));
    init(frame, type, pid, treeId, false);
    return frame;
  }

  /** Takes the head of the free list; -1 where another thread was faster. */
  private int reuse(long head) {
    int frame = Objects.requireNonNull(resolver).fixExclusive(head);
    long base = frames.base(frame);
    lock();
    boolean mine = freeHead == head;
    int type = PageHeader.type(pages, base);
    long next = Mem.getLong(pages, base + NEXT_FREE);
    boolean sound = type == PageHeader.FREE && next >= 0 && next < highWater;
    if (mine && sound) {
      freeHead = next;
      freePages = freePages - 1;
    }
    unlock();
    if (mine && sound) {
      return frame;
    }
    Latch.releaseExclusiveUnchanged(frames.headers, frame);
    if (mine) {
      throw new CorruptionException(
          "a page of the free list", head, head << frames.pageShift, PageHeader.FREE, type);
    }
    return -1;
  }

  /**
   * Takes a page that was never used; -1 where the list has pages again. The frame is claimed
   * first: where none is to be had, no page id is lost.
   */
  private int extend() {
    long pid = highWater;
    ensureFile(pid + 1);
    int frame = replacement.acquire(frames.translator.preferred(pid));
    lock();
    boolean room = freeHead == 0 && highWater < filePages;
    pid = highWater;
    if (room) {
      highWater = pid + 1;
    }
    unlock();
    if (!room) {
      frames.giveBack(frame);
      return -1;
    }
    // Another thread may have had the page whose home was claimed.
    int home = frames.translator.preferred(pid);
    if (home >= 0 && home != frame && replacement.claimHome(home)) {
      frames.giveBack(frame);
      frame = home;
    }
    return loader.create(pid, frame);
  }

  /** Writes a new page's header into its exclusively latched frame, over zeros. */
  private void init(int frame, int type, long pid, int treeId, boolean keepLsn) {
    long base = frames.base(frame);
    long lsn = keepLsn ? PageHeader.pageLsn(pages, base) : 0;
    frames.zero(frame);
    PageHeader.init(pages, base, type, pid, treeId);
    PageHeader.raisePageLsn(pages, base, lsn);
    FrameHeader.setUsed(frames.headers, frame, true);
    frames.markDirty(frame, 0);
  }

  /** See {@link BufferPool#free}. */
  void free(int frame) {
    long base = frames.base(frame);
    long pid = frames.pid(frame);
    if (PageHeader.type(pages, base) == PageHeader.FREE) {
      Latch.releaseExclusiveUnchanged(frames.headers, frame);
      throw new CorruptionException(
          "a page that is freed twice",
          pid,
          pid << frames.pageShift,
          PageHeader.LEAF,
          PageHeader.FREE);
    }
    PageHeader.init(pages, base, PageHeader.FREE, pid, 0);
    frames.poisonBody(frame);
    frames.markDirty(frame, 0);
    lock();
    Mem.putLong(pages, base + NEXT_FREE, freeHead);
    freeHead = pid;
    freePages = freePages + 1;
    unlock();
    Latch.releaseExclusive(frames.headers, frame);
  }

  /** See {@link BufferPool#freePages}. */
  void walkFree(LongConsumer visitor) {
    AllocatorState state = state();
    long pid = state.freeHead();
    for (long i = 0; i < state.freePages(); i++) {
      int frame = Objects.requireNonNull(resolver).fixShared(pid);
      int type = PageHeader.type(pages, frames.base(frame));
      long next = Mem.getLong(pages, frames.base(frame) + NEXT_FREE);
      Latch.releaseShared(frames.headers, frame);
      if (type != PageHeader.FREE) {
        throw new CorruptionException(
            "a page of the free list", pid, pid << frames.pageShift, PageHeader.FREE, type);
      }
      visitor.accept(pid);
      pid = next;
    }
    if (pid != 0) {
      throw new CorruptionException("end of the free list", pid, -1, 0, pid);
    }
  }

  /** Makes the file long enough for so many pages. */
  private void ensureFile(long wanted) {
    if (wanted <= filePages) {
      return;
    }
    growing.lock();
    try {
      if (wanted > filePages) {
        grow(wanted);
      }
    } finally {
      growing.unlock();
    }
  }

  private void grow(long wanted) {
    long least = (wanted << frames.pageShift) - (filePages << frames.pageShift);
    long chunk = Math.max(GROW_MIN, Math.min(GROW_MAX, (filePages << frames.pageShift) >>> 3));
    while (true) {
      long pagesMore = Math.max(least, chunk) >>> frames.pageShift;
      try {
        device.resize((filePages + pagesMore) << frames.pageShift);
        filePages += pagesMore;
        return;
      } catch (StorageFullException e) {
        if (chunk <= least) {
          throw e;
        }
        chunk >>>= 1;
      }
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
}
