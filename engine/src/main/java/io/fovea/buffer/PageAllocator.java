package io.fovea.buffer;

import io.fovea.error.CorruptionException;
import io.fovea.io.BlockDevice;
import io.fovea.memory.Mem;
import io.fovea.wal.Log;
import io.fovea.wal.LogSession;
import io.fovea.wal.RecordType;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Allocates and frees pages of the file.
 *
 * <pre>
 *   0 1 2   3                          highWater          pages of the file
 *   |S|S|C| used, or in the free list  | never allocated  |
 *
 *   free list:  freeHead ──► page FREE ──► page FREE ──► 0        a stack through the pages
 *                            32: next      32: next
 * </pre>
 *
 * <p>Head, length and high-water mark are in the superblock; the links are in the pages, so the
 * list has no maximum length. A free page is an image of type FREE like any other: it is dirty, is
 * written before its frame is dropped, and is loaded like any page.
 *
 * <p><b>Latches.</b> The spin latch guards the numbers of this class, and its holders wait for
 * nothing. To take a page off the list, whose link is needed, latch the page exclusively first,
 * then check under the spin latch that it is still the head. While the page is latched, no other
 * thread can take it off, use it, and free it again. A thread that takes it keeps it latched while
 * it becomes a node of a tree, so others wait for the latch only while the page is the head.
 *
 * <p><b>The log.</b> A record is reserved under the spin latch, before the numbers change:
 * reserving never waits, and if it throws (the grant is too small) nothing has changed. So the
 * order of the records is the order of the changes, and a snapshot under the latch includes exactly
 * the records that begin before the log's tail. The body is filled in right after the latch is
 * released, only by stores, because a thread that makes the log durable waits for it. Pages with
 * fixed ids ({@link #allocateAt}) have no record: these numbers exclude them, and an image makes
 * them a tree.
 *
 * <p><b>Page LSNs</b> never decrease for a page id; otherwise replay would mistake an old image for
 * a new one: a page that is reused keeps the LSN of the free page, and one above the high-water
 * mark was never written. For holes, whose LSN is 0, see {@link FreeRuns}.
 *
 * <p><b>The file</b> grows ahead of the high-water mark ({@link FileExtent}); no page id is
 * allocated before the file has space for it.
 *
 * <p>For reservations of pages see {@link PageReservations}, for changes in the middle of the list
 * {@link FreeListWalk}.
 *
 * <p><b>The mark decreases</b> when pages are cut off. A thread that has read a reference before
 * may then request such a page; it finds a free page ({@link #isCut}), and then that the reference
 * is gone. So {@code limit}, the bound of valid references, never decreases while the pool is open.
 */
final class PageAllocator {
  /** The offset of the next page's id in a free page. */
  static final int NEXT_FREE = PageHeader.BYTES;

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
  private final Loader loader;
  private final FileExtent extent;
  private final FreeHoles holes;

  private @Nullable Resolver resolver;

  @SuppressWarnings("unused") // through its VarHandle
  private int latch;

  private volatile long highWater;
  private volatile long freeHead;
  private volatile long freePages;

  /** The number of pages reserved by sessions and not yet taken. */
  private volatile long reservedPages;

  /** The minimum length of the list since the walk began. Written under the latch. */
  private volatile long untouched;

  /** Above every page id that was ever allocated, before or since this pool was opened. */
  private volatile long limit;

  /** The lowest page that was cut off. */
  private volatile long cutFrom = Long.MAX_VALUE;

  /**
   * The number of callers that need every page to stay below the mark: see {@link
   * PoolSpace#blockCuts}.
   */
  final AtomicInteger shrinkBlockers = new AtomicInteger();

  /**
   * The number of pages below the mark that are not yet in a frame. It rises under the latch, with
   * the mark, and falls when the page is entered: see {@link #awaitEntered}.
   */
  final AtomicInteger entering = new AtomicInteger();

  /**
   * The start of the last TRUNCATED record, and the highest mark of the log until then. Under the
   * latch.
   */
  private long cutLsn;

  private long markBeforeCut;

  PageAllocator(Frames frames, Loader loader, BlockDevice device, AllocatorState state) {
    this.frames = frames;
    this.pages = frames.pages;
    this.loader = loader;
    this.extent = new FileExtent(device, frames.pageShift, frames.residency.filePagesMax());
    this.highWater = state.highWater();
    this.freeHead = state.freeHead();
    this.freePages = state.freePages();
    this.limit = state.highWaterMax();
    this.holes = new FreeHoles(frames, this, extent);
    extent.check(state);
    frames.residency.setFilePages(this::limit); // touched headers keep their memory
    holes.assumeHoles(freePages, freeHead, highWater);
  }

  void wire(Resolver resolver) {
    this.resolver = resolver;
  }

  long highWater() {
    return highWater;
  }

  long limit() {
    return limit;
  }

  /**
   * Returns whether a page may have been cut off, so that zeros in the file are a free page. The
   * caller has entered the page, and has read it since.
   */
  boolean isCut(long pid) {
    return pid >= cutFrom || pid >= highWater;
  }

  /** Returns whether a page is the head of the free list; may change at any time. */
  boolean isFreeHead(long pid) {
    return freeHead == pid;
  }

  AllocatorState state() {
    lock();
    try {
      return new AllocatorState(highWater, freeHead, freePages, highWater, extent.hasHoles());
    } finally {
      unlock();
    }
  }

  AllocatorSnapshot snapshot(Log log, long redo) {
    lock();
    try {
      long head = freeHead;
      long length = freePages;
      long end = highWater;
      if (cutLsn < redo) {
        markBeforeCut = 0; // the log that counts begins after all cuts
      }
      long max = Math.max(end, markBeforeCut);
      AllocatorState state = new AllocatorState(end, head, length, max, extent.hasHoles());
      // Under the latch, as reservations are: records before the tail have changed the numbers.
      return new AllocatorSnapshot(state, log.tail());
    } finally {
      unlock();
    }
  }

  // ------------------------------------------------------------------------------- reservations

  void reserve(LogSession log, int pages) {
    int has = Math.max(0, log.reservedPages());
    int more = pages - has;
    while (more > 0) {
      lock();
      boolean done;
      try {
        done = unreservedPages() >= more;
        if (done) {
          log.reservedPages(has + more);
          reservedPages = reservedPages + more; // nothing fails between the two
          has += more;
          more = 0;
        }
      } finally {
        unlock();
      }
      if (!done) {
        provide(more);
      }
    }
    log.reservedPages(has);
  }

  void release(LogSession log, int keep) {
    int has = log.reservedPages();
    int stays = extent.isFull() ? 0 : keep;
    if (has > stays) {
      lock();
      try {
        reservedPages = reservedPages - (has - stays);
      } finally {
        unlock();
      }
    }
    if (has >= 0) {
      log.reservedPages(stays == 0 ? -1 : Math.min(has, stays));
    }
  }

  /** Returns the number of pages reserved by sessions; may change at any time. */
  long reservedPages() {
    return reservedPages;
  }

  /** Returns the number of pages that are neither used nor reserved. */
  long unreservedPages() {
    return freePages - holes.top() + extent.backed() - highWater - reservedPages;
  }

  private void provide(int pages) {
    if (holes.top() == 0 || !holes.fill(resolver)) {
      extent.ensure(highWater + reservedPages + pages - (freePages - holes.top()));
    }
  }

  private boolean mayTake(LogSession log) {
    return log.reservedPages() > 0 || unreservedPages() > 0;
  }

  private void taken(LogSession log) {
    int has = log.reservedPages();
    if (has > 0) {
      log.reservedPages(has - 1);
      reservedPages = reservedPages - 1;
    }
  }

  // --------------------------------------------------------------------------------- allocation

  int allocate(int treeId, int type, LogSession log) {
    frames.poolStop.requireRunning();
    while (true) {
      if (log.reservedPages() <= 0 && unreservedPages() <= 0) {
        provide(1);
      }
      long head = freeHead;
      boolean free = head != 0 && (freePages > holes.top() || holes.tryFill(resolver));
      int frame = free ? reuse(head, treeId, type, log) : extend(treeId, type, log);
      if (frame >= 0) {
        return frame;
      }
    }
  }

  int allocateAt(long pid, int treeId, int type) {
    extent.ensure(Math.max(pid + 1, highWater));
    Residency residency = frames.residency;
    int reserved = residency.reserve(pid);
    try {
      int frame = loader.create(pid, residency.use(reserved, pid));
      init(frame, type, pid, treeId, 0, 0);
      return frame;
    } catch (Error e) {
      throw frames.poolStop.stop(e);
    }
  }

  /**
   * Takes the head of the free list; -1 if another thread was faster, or all pages are reserved.
   */
  private int reuse(long head, int treeId, int type, LogSession log) {
    int frame = Objects.requireNonNull(resolver).fixFreeHead(head);
    if (frame < 0) {
      return -1;
    }
    int found;
    long next;
    boolean owned;
    boolean sound = false;
    long at = 0;
    long left = 0;
    long end = 0;
    boolean locked = false;
    try {
      long base = frames.base(frame);
      found = PageHeader.type(pages, base);
      next = Mem.getLong(pages, base + NEXT_FREE);
      lock();
      locked = true;
      owned = freeHead == head && freePages > holes.top();
      sound = found == PageHeader.FREE && next >= 0 && next < highWater && next != head;
      // A sound list ends where its length says; a circular one does not.
      sound &= (next == 0) == (freePages == 1);
      owned &= !sound || mayTake(log);
      if (owned && sound) {
        at = AllocatorRecord.reserve(log, RecordType.ALLOCATE, AllocatorRecord.ALLOCATE_BYTES);
        left = freePages - 1;
        end = highWater;
        freeHead = next;
        freePages = left;
        untouched = Math.min(untouched, left);
        taken(log);
      }
    } catch (RuntimeException | Error e) {
      stopAfter(e, locked);
      Latch.releaseExclusiveUnchanged(frames.headers, frame);
      throw e;
    } finally {
      if (locked) {
        unlock();
      }
    }
    if (!owned || !sound) {
      Latch.releaseExclusiveUnchanged(frames.headers, frame);
      if (owned) {
        throw damage("a page of the free list", head, PageHeader.FREE, found);
      }
      return -1;
    }
    try {
      AllocatorRecord.logAllocate(log, at, head, treeId, type, next, left, end);
      long lsn = PageHeader.pageLsn(pages, frames.base(frame));
      init(frame, type, head, treeId, lsn, AllocatorRecord.recordEnd(log));
      frames.markDirty(frame, AllocatorRecord.recordStart(log));
      return frame;
    } catch (Error e) {
      throw frames.poolStop.stop(e); // a page that is neither free nor allocated
    }
  }

  /**
   * Takes a page that was never used; -1 if the list contains pages again. Its memory is reserved
   * first, so that no page id is lost if there is none. After the id is taken nothing throws unless
   * the pool has stopped: no deadline ends the wait for a reader of the page ({@link
   * Frames#pauseUntilStopped}).
   */
  private int extend(int treeId, int type, LogSession log) {
    long pid = highWater;
    Residency residency = frames.residency;
    int reserved = residency.reserve(pid);
    boolean available;
    long at = 0;
    long head = 0;
    long left = 0;
    boolean locked = false;
    try {
      lock();
      locked = true;
      available = freePages <= holes.top() && highWater < extent.backed() && mayTake(log);
      if (available) {
        at = AllocatorRecord.reserve(log, RecordType.ALLOCATE, AllocatorRecord.ALLOCATE_BYTES);
        pid = highWater;
        head = freeHead;
        left = freePages;
        highWater = pid + 1;
        limit = Math.max(limit, pid + 1);
        entering.incrementAndGet();
        taken(log);
      }
    } catch (RuntimeException | Error e) {
      stopAfter(e, locked);
      residency.cancel(reserved);
      throw e;
    } finally {
      if (locked) {
        unlock();
      }
    }
    if (!available) {
      residency.cancel(reserved);
      return -1;
    }
    try {
      AllocatorRecord.logAllocate(log, at, pid, treeId, type, head, left, pid + 1);
      int frame = loader.create(pid, residency.use(reserved, pid));
      entering.decrementAndGet();
      init(frame, type, pid, treeId, 0, AllocatorRecord.recordEnd(log));
      frames.markDirty(frame, AllocatorRecord.recordStart(log));
      return frame;
    } catch (Error e) {
      throw frames.poolStop.stop(e); // a page that is neither free nor allocated
    }
  }

  /**
   * Waits until each page below the present mark has been in a frame. {@link #extend} raises the
   * mark first and then enters the page; in between the page is neither in a frame nor in the file,
   * and a thread that reads pages by their ids would take it for one that the device has lost.
   *
   * <p>Reading zero once is enough: the mark that the caller knows was raised before this call, so
   * each page below it had raised {@link #entering} by then, and lowers it after its entry. Polls
   * while others keep extending the file; each page takes less than a microsecond, unless its
   * thread is descheduled.
   *
   * @throws io.fovea.error.DatabaseClosedException if the pool has stopped
   */
  void awaitEntered() {
    for (int round = 0; entering.get() != 0; ) {
      round = frames.pause(round);
    }
  }

  /** An error may leave the numbers half changed; exceptions come from the reservation before. */
  private void stopAfter(Throwable e, boolean locked) {
    if (locked && e instanceof Error) {
      frames.poolStop.stop(e);
    }
  }

  private void init(int frame, int type, long pid, int treeId, long oldLsn, long newLsn) {
    long base = frames.base(frame);
    frames.swizzling.begin(frame);
    frames.zero(frame);
    PageHeader.init(pages, base, type, pid, treeId);
    PageHeader.raisePageLsn(pages, base, Math.max(oldLsn, newLsn));
    FrameHeader.setUsed(frames.headers, frame, true);
    frames.markDirty(frame, 0);
  }

  // ------------------------------------------------------------------------------------ freeing

  void free(int frame, LogSession log) {
    long pid;
    boolean free;
    try {
      pid = frames.pid(frame);
      free = PageHeader.type(pages, frames.base(frame)) == PageHeader.FREE;
    } catch (Error e) {
      frames.poolStop.stop(e); // a page that is in no tree, and not free
      Latch.releaseExclusiveUnchanged(frames.headers, frame);
      throw e;
    }
    if (free) {
      Latch.releaseExclusiveUnchanged(frames.headers, frame);
      throw damage("a page that is freed twice", pid, PageHeader.LEAF, PageHeader.FREE);
    }
    push(frame, pid, log, false);
  }

  private CorruptionException damage(String what, long pid, int expected, int found) {
    return new CorruptionException(what, pid, pid << frames.pageShift, expected, found);
  }

  void returnUnused(int frame, LogSession log) {
    push(frame, frames.pid(frame), log, log.reservedPages() >= 0);
  }

  /**
   * See {@link BufferPool#freeUnread}. The page's unknown LSN is below that of the FREE record, as
   * are those of all its changes so far.
   */
  void freeUnread(long pid, int treeId, LogSession log) {
    if (pid < AllocatorState.FIRST_PID || pid >= highWater) {
      throw new CorruptionException("a page of tree " + treeId, pid, -1, highWater, pid);
    }
    int frame = Objects.requireNonNull(resolver).fixUnread(pid);
    try {
      long base = frames.base(frame);
      boolean unread = PageHeader.type(pages, base) == PageHeader.NEVER_WRITTEN;
      int owner = PageHeader.treeId(pages, base);
      if (!unread && owner != treeId) {
        throw new CorruptionException("owner of a node", pid, -1, treeId, owner);
      }
      if (unread) {
        // Releasing the latch without a change would leave zeros in the page.
        PageHeader.init(pages, base, PageHeader.LEAF, pid, treeId);
        frames.markDirty(frame, 0);
      }
    } catch (RuntimeException | Error e) {
      if (e instanceof Error) {
        frames.poolStop.stop(e);
      }
      Latch.releaseExclusiveUnchanged(frames.headers, frame);
      throw e;
    }
    push(frame, pid, log, false);
  }

  /**
   * Pushes the page of an exclusively latched frame onto the list; the latch is consumed.
   *
   * <p>The caller has removed the page from its tree. So any error, even before the numbers change,
   * leaves a page that is in no tree and not free: the pool stops.
   */
  void push(int frame, long pid, LogSession log, boolean keepReserved) {
    long at;
    long next;
    long length;
    long end;
    boolean locked = false;
    try {
      lock();
      locked = true;
      at = AllocatorRecord.reserve(log, RecordType.FREE, AllocatorRecord.FREE_BYTES);
      next = freeHead;
      length = freePages + 1;
      end = highWater;
      freeHead = pid;
      freePages = length;
      if (keepReserved) {
        reservedPages = reservedPages + 1;
        log.reservedPages(log.reservedPages() + 1);
      }
    } catch (RuntimeException | Error e) {
      if (e instanceof Error) {
        frames.poolStop.stop(e);
      }
      Latch.releaseExclusiveUnchanged(frames.headers, frame);
      throw e;
    } finally {
      if (locked) {
        unlock();
      }
    }
    try {
      if (log.isLogging()) {
        AllocatorRecord.putFree(log.buffer(), at, pid, next, length, end);
        log.complete();
      }
      // A thread that wants the new head latches its page first, and so sees the link.
      link(frame, pid, next, AllocatorRecord.recordStart(log), AllocatorRecord.recordEnd(log));
    } catch (Error e) {
      throw frames.poolStop.stop(e); // a list whose head has no link
    } finally {
      Latch.releaseExclusive(frames.headers, frame);
    }
  }

  void link(int frame, long pid, long next, long recLsn, long pageLsn) {
    long base = frames.base(frame);
    frames.swizzling.begin(frame);
    PageHeader.init(pages, base, PageHeader.FREE, pid, 0);
    frames.poisonBody(frame);
    Mem.putLong(pages, base + NEXT_FREE, next);
    PageHeader.raisePageLsn(pages, base, pageLsn);
    frames.markDirty(frame, recLsn);
  }

  // ------------------------------------------------------------------------ the middle of the list

  /** Begins a walk; {@link #untouched} then shows which part of it is still valid. */
  AllocatorState walk() {
    lock();
    try {
      untouched = freePages;
      return new AllocatorState(highWater, freeHead, freePages);
    } finally {
      unlock();
    }
  }

  /** Returns whether the list was never shorter than the given height since the walk began. */
  boolean isUntouched(long height) {
    return height <= untouched;
  }

  /**
   * Makes a change, and appends its record. All its pages are latched, and get their links
   * afterwards.
   *
   * @return false if the list or the mark has changed since the change was prepared
   */
  boolean rearrange(FreeListChange c, LogSession log) {
    long at = 0;
    boolean locked = false;
    try {
      lock();
      locked = true;
      boolean fits = c.highest <= untouched && (c.head == 0 || c.head == freeHead);
      if (c.cut > 0) {
        fits &= shrinkBlockers.get() == 0 && highWater == c.mark + c.cut;
      }
      fits &= holes.allow(c, reservedPages, highWater);
      if (!fits) {
        return false;
      }
      long left = c.head == 0 ? freeHead : c.below;
      c.end(left);
      int type = c.cut > 0 ? RecordType.TRUNCATED : RecordType.MOVED;
      at = AllocatorRecord.reserve(log, type, FreeListRecord.bytes(c.links()));
      freeHead = c.top == 0 ? left : c.top;
      freePages = freePages - c.cut;
      if (c.cut > 0) {
        untouched = untouched - c.cut;
        cutLsn = AllocatorRecord.recordStart(log);
        markBeforeCut = Math.max(markBeforeCut, highWater);
        cutFrom = Math.min(cutFrom, c.mark); // before the mark: partner of isCut
        highWater = c.mark;
      } else if (!c.sorts) {
        untouched = c.unchangedHeight; // heights above have changed
      }
      holes.rearranged(c, freePages, freeHead);
      c.after = new AllocatorState(highWater, freeHead, freePages);
    } catch (RuntimeException | Error e) {
      stopAfter(e, locked);
      throw e;
    } finally {
      if (locked) {
        unlock();
      }
    }
    try {
      if (log.isLogging()) {
        FreeListRecord.put(log.buffer(), at, c.after, c);
        log.complete();
      }
      return true;
    } catch (Error e) {
      throw frames.poolStop.stop(e);
    }
  }

  /**
   * Releases free space at the end of the file.
   *
   * @param durable the mark of the superblock that counts: no page below it is removed
   * @param slack the number of pages of free space that stay
   */
  boolean shrink(long durable, long slack) {
    return extent.shrink(
        () -> {
          lock();
          try {
            long needed = highWater + Math.max(0, reservedPages - (freePages - holes.top()));
            long stay = Math.max(durable, needed) + slack;
            extent.leave(stay);
            return stay;
          } finally {
            unlock();
          }
        });
  }

  FileExtent extent() {
    return extent;
  }

  FreeHoles holes() {
    return holes;
  }

  // ---------------------------------------------------------------------------------- recovery

  /**
   * See {@link PoolRecovery#recover}. The growth of the file is not logged, and may be lost even if
   * a record of the page that needed it survives, so it is repeated.
   */
  void recover(AllocatorState state, long truncated) {
    state.check();
    extent.ensure(state.highWater());
    lock();
    try {
      if (truncated != 0 || state.highWater() < highWater) {
        cutLsn = truncated;
        markBeforeCut = Math.max(limit, Math.max(highWater, state.highWaterMax()));
        cutFrom = Math.min(cutFrom, state.highWater());
      }
      highWater = state.highWater();
      limit = Math.max(limit, highWater);
      freeHead = state.freeHead();
      freePages = state.freePages();
      holes.assumeHoles(freePages, freeHead, highWater);
    } finally {
      unlock();
    }
  }

  /** Raises the high-water mark for an image of a page, and grows the file if necessary. */
  void raise(long wanted) {
    if (wanted > highWater) {
      extent.ensure(wanted);
      lock();
      try {
        highWater = Math.max(highWater, wanted);
        limit = Math.max(limit, highWater);
      } finally {
        unlock();
      }
    }
  }

  void lock() {
    for (int round = 0; !LATCH.compareAndSet(this, 0, 1); ) {
      round = Math.min(Backoff.pause(round), Backoff.PARK_FROM - 1);
    }
  }

  void unlock() {
    LATCH.setRelease(this, 0);
  }
}
