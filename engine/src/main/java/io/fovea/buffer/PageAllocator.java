package io.fovea.buffer;

import io.fovea.error.CorruptionException;
import io.fovea.error.StorageFullException;
import io.fovea.io.BlockDevice;
import io.fovea.memory.Mem;
import io.fovea.wal.Log;
import io.fovea.wal.LogSession;
import io.fovea.wal.RecordType;
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
 * <p><b>The log.</b> A record is reserved under the spin latch, before the numbers change:
 * reserving never waits, and where it throws (the caller has granted too little) nothing has
 * changed. So the order of the records is the order of the changes, and a snapshot under the latch
 * has all that begin before the log's tail and none that begins later. The body is filled in right
 * after the latch, by nothing but stores, before anything that may wait: who needs the log to
 * become durable waits for it. Pages with fixed ids ({@link #allocateAt}) have no record: they are
 * not in these numbers, and what makes them a tree has an image.
 *
 * <p><b>Page LSNs</b> never go back for a page id, or replay would take an old image for a new one:
 * a page that is used again keeps the LSN of the free page, and one above the high-water mark was
 * never written.
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

  /**
   * A file that is too short is damaged: where recovery finds one, it says so by {@link #recover}.
   */
  private void check(AllocatorState state) {
    checkState(state);
    boolean fresh = state.highWater() == AllocatorState.FIRST_PID;
    if (!fresh && state.highWater() > filePages) {
      throw new CorruptionException(
          "the file ends before its last page", -1, device.size(), state.highWater(), filePages);
    }
  }

  /** Whether the numbers can be true. */
  static void checkState(AllocatorState state) {
    if (state.highWater() < AllocatorState.FIRST_PID || state.highWater() > PageRef.PID_MASK) {
      throw new CorruptionException(
          "high-water mark", -1, -1, AllocatorState.FIRST_PID, state.highWater());
    }
    boolean head = state.freeHead() == 0 || state.freeHead() >= AllocatorState.FIRST_PID;
    if (!head
        || state.freeHead() >= state.highWater()
        || (state.freeHead() == 0) != (state.freePages() == 0)
        || state.freePages() < 0
        || state.freePages() > state.highWater() - AllocatorState.FIRST_PID) {
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

  /** See {@link BufferPool#snapshot}. */
  AllocatorSnapshot snapshot(Log log) {
    lock();
    try {
      long head = freeHead;
      long length = freePages;
      long end = highWater;
      // Under the latch, as reservations are: what began before this has changed the numbers.
      return new AllocatorSnapshot(new AllocatorState(end, head, length), log.tail());
    } finally {
      unlock();
    }
  }

  // ------------------------------------------------------------------------------------ giving

  /** See {@link BufferPool#allocate}. */
  int allocate(int treeId, int type, LogSession log) {
    while (true) {
      long head = freeHead;
      int frame = head != 0 ? reuse(head, treeId, type, log) : extend(treeId, type, log);
      if (frame >= 0) {
        return frame;
      }
    }
  }

  /** See {@link BufferPool#allocateAt}. */
  int allocateAt(long pid, int treeId, int type) {
    ensureFile(Math.max(pid + 1, highWater));
    int frame = loader.create(pid, replacement.acquire(frames.translator.preferred(pid)));
    init(frame, type, pid, treeId, 0, 0);
    return frame;
  }

  /** Takes the head of the free list; -1 where another thread was faster. */
  private int reuse(long head, int treeId, int type, LogSession log) {
    int frame = Objects.requireNonNull(resolver).fixExclusive(head);
    long base = frames.base(frame);
    int found = PageHeader.type(pages, base);
    long next = Mem.getLong(pages, base + NEXT_FREE);
    boolean mine;
    boolean sound = false;
    long at = 0;
    long left = 0;
    long end = 0;
    lock();
    try {
      mine = freeHead == head;
      sound = found == PageHeader.FREE && next >= 0 && next < highWater;
      if (mine && sound) {
        at = reserve(log, RecordType.ALLOCATE, AllocatorRecord.ALLOCATE_BYTES);
        left = freePages - 1;
        end = highWater;
        freeHead = next;
        freePages = left;
      }
    } catch (RuntimeException | Error e) {
      Latch.releaseExclusiveUnchanged(frames.headers, frame);
      throw e;
    } finally {
      unlock();
    }
    if (!mine || !sound) {
      Latch.releaseExclusiveUnchanged(frames.headers, frame);
      if (mine) {
        throw new CorruptionException(
            "a page of the free list", head, head << frames.pageShift, PageHeader.FREE, found);
      }
      return -1;
    }
    logAllocate(log, at, head, treeId, type, next, left, end);
    init(frame, type, head, treeId, PageHeader.pageLsn(pages, base), recordEnd(log));
    frames.markDirty(frame, recordStart(log));
    return frame;
  }

  /**
   * Takes a page that was never used; -1 where the list has pages again. The frame is claimed
   * first: where none is to be had, no page id is lost.
   */
  private int extend(int treeId, int type, LogSession log) {
    long pid = highWater;
    ensureFile(pid + 1);
    int frame = replacement.acquire(frames.translator.preferred(pid));
    boolean room;
    long at = 0;
    lock();
    try {
      room = freeHead == 0 && highWater < filePages;
      if (room) {
        at = reserve(log, RecordType.ALLOCATE, AllocatorRecord.ALLOCATE_BYTES);
        pid = highWater;
        highWater = pid + 1;
      }
    } catch (RuntimeException | Error e) {
      frames.giveBack(frame);
      throw e;
    } finally {
      unlock();
    }
    if (!room) {
      frames.giveBack(frame);
      return -1;
    }
    logAllocate(log, at, pid, treeId, type, 0, 0, pid + 1);
    // Another thread may have had the page whose home was claimed.
    int home = frames.translator.preferred(pid);
    if (home >= 0 && home != frame && replacement.claimHome(home)) {
      frames.giveBack(frame);
      frame = home;
    }
    frame = loader.create(pid, frame);
    init(frame, type, pid, treeId, 0, recordEnd(log));
    frames.markDirty(frame, recordStart(log));
    return frame;
  }

  /** Writes a new page's header into its exclusively latched frame, over zeros. */
  private void init(int frame, int type, long pid, int treeId, long oldLsn, long newLsn) {
    long base = frames.base(frame);
    frames.zero(frame);
    PageHeader.init(pages, base, type, pid, treeId);
    PageHeader.raisePageLsn(pages, base, Math.max(oldLsn, newLsn));
    FrameHeader.setUsed(frames.headers, frame, true);
    frames.markDirty(frame, 0);
  }

  // ------------------------------------------------------------------------------------ the log

  /** Under the spin latch, before anything changes. Never waits. */
  private static long reserve(LogSession log, int type, int bytes) {
    return log.logging() ? log.reserve(type, bytes) : 0;
  }

  /** Only stores: nothing that throws or waits comes between a reservation and its completion. */
  private static void logAllocate(
      LogSession log,
      long at,
      long pid,
      int treeId,
      int type,
      long freeHead,
      long freePages,
      long highWater) {
    if (log.logging()) {
      AllocatorRecord.putAllocate(
          log.buffer(), at, pid, treeId, type, freeHead, freePages, highWater);
      log.complete();
    }
  }

  private static long recordStart(LogSession log) {
    return log.logging() ? log.recordStart() : 0;
  }

  private static long recordEnd(LogSession log) {
    return log.logging() ? log.recordEnd() : 0;
  }

  // ------------------------------------------------------------------------------------ taking

  /** See {@link BufferPool#free}. */
  void free(int frame, LogSession log) {
    long pid = frames.pid(frame);
    if (PageHeader.type(pages, frames.base(frame)) == PageHeader.FREE) {
      Latch.releaseExclusiveUnchanged(frames.headers, frame);
      throw new CorruptionException(
          "a page that is freed twice",
          pid,
          pid << frames.pageShift,
          PageHeader.LEAF,
          PageHeader.FREE);
    }
    push(frame, pid, log);
  }

  /** Puts the page of an exclusively latched frame onto the list; the latch is consumed. */
  private void push(int frame, long pid, LogSession log) {
    long at;
    long next;
    long length;
    long end;
    lock();
    try {
      at = reserve(log, RecordType.FREE, AllocatorRecord.FREE_BYTES);
      next = freeHead;
      length = freePages + 1;
      end = highWater;
      freeHead = pid;
      freePages = length;
    } catch (RuntimeException | Error e) {
      Latch.releaseExclusiveUnchanged(frames.headers, frame);
      throw e;
    } finally {
      unlock();
    }
    if (log.logging()) {
      AllocatorRecord.putFree(log.buffer(), at, pid, next, length, end);
      log.complete();
    }
    // Who wants the new head latches its page first: it sees the link.
    link(frame, pid, next, recordStart(log), recordEnd(log));
    Latch.releaseExclusive(frames.headers, frame);
  }

  private void link(int frame, long pid, long next, long recLsn, long pageLsn) {
    long base = frames.base(frame);
    PageHeader.init(pages, base, PageHeader.FREE, pid, 0);
    frames.poisonBody(frame);
    Mem.putLong(pages, base + NEXT_FREE, next);
    PageHeader.raisePageLsn(pages, base, pageLsn);
    frames.markDirty(frame, recLsn);
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

  // ---------------------------------------------------------------------------------- recovery

  /**
   * See {@link BufferPool#recover}. The growth of the file is not in the log, and may be lost where
   * a record of the page that it was for is not: so it is made up for.
   */
  void recover(AllocatorState state) {
    checkState(state);
    ensureFile(state.highWater());
    lock();
    highWater = Math.max(highWater, state.highWater());
    freeHead = state.freeHead();
    freePages = state.freePages();
    unlock();
  }

  /** Raises the high-water mark for an image of a page; the file has room for it. */
  void raise(long wanted) {
    if (wanted > highWater) {
      ensureFile(wanted);
      lock();
      highWater = Math.max(highWater, wanted);
      unlock();
    }
  }

  /** See {@link BufferPool#reclaim}. */
  void reclaim(long pid, LogSession log) {
    if (pid < AllocatorState.FIRST_PID || pid >= highWater) {
      throw new CorruptionException("a page that nobody uses", pid, -1, highWater, pid);
    }
    // What is there may be anything: the free page that it was before it was given out, even.
    push(Objects.requireNonNull(resolver).fixForImage(pid), pid, log);
  }

  /** See {@link AllocatorRecord#replayPage}. */
  void replayFree(long pid, long next, long recLsn, long pageLsn) {
    int frame = Objects.requireNonNull(resolver).fixForImage(pid);
    if (PageHeader.pageLsn(pages, frames.base(frame)) < pageLsn) {
      link(frame, pid, next, recLsn, pageLsn);
      Latch.releaseExclusive(frames.headers, frame);
    } else {
      Latch.releaseExclusiveUnchanged(frames.headers, frame);
    }
  }

  // ---------------------------------------------------------------------------------- the file

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
