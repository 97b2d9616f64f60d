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
 * use it, and free it again in between. Any thread that has it keeps it latched while it becomes a
 * node of a tree, so others wait for the latch only as long as the page is the head.
 *
 * <p><b>The log.</b> A record is reserved under the spin latch, before the numbers change:
 * reserving never waits, and where it throws (the caller has granted too little) nothing has
 * changed. So the order of the records is the order of the changes, and a snapshot under the latch
 * has all that begin before the log's tail and none that begins later. The body is filled in right
 * after the latch, by nothing but stores, before anything that may wait: a thread that needs the
 * log to become durable waits for it. Pages with fixed ids ({@link #allocateAt}) have no record:
 * they are not in these numbers, and what makes them a tree has an image.
 *
 * <p><b>Page LSNs</b> never go back for a page id, or replay would take an old image for a new one:
 * a page that is used again keeps the LSN of the free page, and one above the high-water mark was
 * never written. What that means for a hole, whose LSN is 0: {@link FreeRuns}.
 *
 * <p><b>The file</b> grows ahead of the high-water mark ({@link FileExtent}); no page id is given
 * out before the file has room for it.
 *
 * <p><b>Promises</b> of pages are described at {@link PageReservations}, and what is changed in the
 * middle of the list at {@link FreeListWalk}.
 *
 * <p><b>The mark goes back</b> when pages are cut off. Who has read a reference before may ask for
 * such a page later, and finds a free page ({@link #isCut}), and then that the reference is gone.
 * So {@code limit}, up to which references can be right, never goes back while the pool is open.
 *
 * <p>The file has more than 600 lines because all that the spin latch guards is in it.
 */
final class PageAllocator {
  /** Where a free page has the next one. */
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

  /** Set once the parts are wired up. */
  private @Nullable Resolver resolver;

  @SuppressWarnings("unused") // through its VarHandle
  private int latch;

  private volatile long highWater;
  private volatile long freeHead;
  private volatile long freePages;

  /** How many pages sessions may take that they have not taken yet. */
  private volatile long promised;

  /** How long the list was at least since it was walked. Written under the latch. */
  private volatile long untouched;

  /** Above every page that was ever given out, as far as this pool knows. */
  private volatile long limit;

  /** From here on pages were cut off. */
  private volatile long cutFrom = Long.MAX_VALUE;

  /** How many need every page to stay below the mark: see {@link PoolSpace#keep}. */
  final AtomicInteger keepers = new AtomicInteger();

  /**
   * How many pages the mark has passed that are in no frame yet. It rises under the latch, with the
   * mark, and falls when the page is entered: see {@link #awaitEntered}.
   */
  final AtomicInteger entering = new AtomicInteger();

  /**
   * Where the last TRUNCATED begins, and the highest mark of the log until then. Under the latch.
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
    frames.residency.fileHas(this::limit); // memory that was touched does not come back
    holes.found(freePages, freeHead, highWater);
  }

  void wire(Resolver resolver) {
    this.resolver = resolver;
  }

  long highWater() {
    return highWater;
  }

  /** Above every page that a reference can name. */
  long limit() {
    return limit;
  }

  /**
   * Whether a page may have been cut off, so that zeros in its place are a free page. Who asks has
   * entered the page, and has read it since.
   */
  boolean isCut(long pid) {
    return pid >= cutFrom || pid >= highWater;
  }

  /** Whether a page is the next to leave the free list: a moment's truth. */
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

  /** See {@link PoolCheckpoint#snapshot}. */
  AllocatorSnapshot snapshot(Log log, long redo) {
    lock();
    try {
      long head = freeHead;
      long length = freePages;
      long end = highWater;
      if (cutLsn < redo) {
        markBeforeCut = 0; // the log that counts begins behind all that was cut off
      }
      long max = Math.max(end, markBeforeCut);
      AllocatorState state = new AllocatorState(end, head, length, max, extent.hasHoles());
      // Under the latch, as reservations are: what began before this has changed the numbers.
      return new AllocatorSnapshot(state, log.tail());
    } finally {
      unlock();
    }
  }

  // ---------------------------------------------------------------------------------- promises

  /** See {@link PageReservations#promise}. */
  void promise(LogSession log, int pages) {
    int has = Math.max(0, log.pagesPromised());
    int more = pages - has;
    while (more > 0) {
      lock();
      boolean done;
      try {
        done = unpromised() >= more;
        if (done) {
          log.pagesPromised(has + more);
          promised = promised + more; // nothing fails between the two
          has += more;
          more = 0;
        }
      } finally {
        unlock();
      }
      if (!done) {
        makeRoom(more);
      }
    }
    log.pagesPromised(has);
  }

  /** See {@link PageReservations#release}. */
  void release(LogSession log, int keep) {
    int has = log.pagesPromised();
    int stays = extent.isFull() ? 0 : keep;
    if (has > stays) {
      lock();
      try {
        promised = promised - (has - stays);
      } finally {
        unlock();
      }
    }
    if (has >= 0) {
      log.pagesPromised(stays == 0 ? -1 : Math.min(has, stays));
    }
  }

  /** How many pages are promised to sessions: a moment's truth. */
  long promised() {
    return promised;
  }

  /** How many pages could be given out that were promised to nobody. */
  long unpromised() {
    return freePages - holes.top() + extent.backed() - highWater - promised;
  }

  /** Tries to have so many pages that are promised to nobody; others may be faster. */
  private void makeRoom(int pages) {
    if (holes.top() == 0 || !holes.fill(resolver)) {
      extent.ensure(highWater + promised + pages - (freePages - holes.top()));
    }
  }

  /** Under the latch: whether there is a page for a session. */
  private boolean mayTake(LogSession log) {
    return log.pagesPromised() > 0 || unpromised() > 0;
  }

  /** Under the latch: a session has taken a page. */
  private void taken(LogSession log) {
    int has = log.pagesPromised();
    if (has > 0) {
      log.pagesPromised(has - 1);
      promised = promised - 1;
    }
  }

  // ------------------------------------------------------------------------------------ giving

  /** See {@link BufferPool#allocate}. */
  int allocate(int treeId, int type, LogSession log) {
    frames.requireRunning();
    while (true) {
      if (log.pagesPromised() <= 0 && unpromised() <= 0) {
        makeRoom(1);
      }
      long head = freeHead;
      boolean free = head != 0 && (freePages > holes.top() || holes.fillOrNot(resolver));
      int frame = free ? reuse(head, treeId, type, log) : extend(treeId, type, log);
      if (frame >= 0) {
        return frame;
      }
    }
  }

  /** See {@link BufferPool#allocateAt}. */
  int allocateAt(long pid, int treeId, int type) {
    extent.ensure(Math.max(pid + 1, highWater));
    Residency residency = frames.residency;
    int reserved = residency.reserve(pid);
    try {
      int frame = loader.create(pid, residency.use(reserved, pid));
      init(frame, type, pid, treeId, 0, 0);
      return frame;
    } catch (Error e) {
      throw frames.stop(e);
    }
  }

  /** Takes the head of the free list; -1 where another thread was faster, or has all promised. */
  private int reuse(long head, int treeId, int type, LogSession log) {
    int frame = Objects.requireNonNull(resolver).fixFreeHead(head);
    if (frame < 0) {
      return -1;
    }
    int found;
    long next;
    boolean mine;
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
      mine = freeHead == head && freePages > holes.top();
      sound = found == PageHeader.FREE && next >= 0 && next < highWater && next != head;
      // The list ends where its length says; one that runs in a circle does not.
      sound &= (next == 0) == (freePages == 1);
      mine &= !sound || mayTake(log);
      if (mine && sound) {
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
    if (!mine || !sound) {
      Latch.releaseExclusiveUnchanged(frames.headers, frame);
      if (mine) {
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
      throw frames.stop(e); // a page that is neither free nor given out
    }
  }

  /**
   * Takes a page that was never used; -1 where the list has pages again. Its memory is reserved
   * first: where none is to be had, no page id is lost. After the id is taken nothing throws but in
   * a pool that has stopped: the wait for a reader of the page is firm ({@link
   * Frames#pauseUntilStopped}).
   */
  private int extend(int treeId, int type, LogSession log) {
    long pid = highWater;
    Residency residency = frames.residency;
    int reserved = residency.reserve(pid);
    boolean room;
    long at = 0;
    long head = 0;
    long left = 0;
    boolean locked = false;
    try {
      lock();
      locked = true;
      room = freePages <= holes.top() && highWater < extent.backed() && mayTake(log);
      if (room) {
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
    if (!room) {
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
      throw frames.stop(e); // a page that is neither free nor given out
    }
  }

  /**
   * Waits until each page that lies below the mark now has been in a frame. {@link #extend} moves
   * the mark first and enters the page then; in between the page is neither in a frame nor in the
   * file, and whoever reads pages by their ids would take it for one that the device has lost.
   *
   * <p>Of two numbers, what is seen to be zero once is enough: the mark that the caller knows moved
   * before this was called, so each page below it had raised {@link #entering} by then, and has
   * lowered it again behind its entry. Where others extend the file all the time this looks again;
   * a page is on its way for less than a microsecond, unless its thread loses the processor.
   *
   * @throws io.fovea.error.DatabaseClosedException if the pool has stopped
   */
  void awaitEntered() {
    for (int round = 0; entering.get() != 0; ) {
      round = frames.pause(round);
    }
  }

  /** The numbers may be half changed: an exception is that of a reservation, before all of them. */
  private void stopAfter(Throwable e, boolean locked) {
    if (locked && e instanceof Error) {
      frames.stop(e);
    }
  }

  /** Writes a new page's header into its exclusively latched frame, over zeros. */
  private void init(int frame, int type, long pid, int treeId, long oldLsn, long newLsn) {
    long base = frames.base(frame);
    frames.swizzling.begin(frame);
    frames.zero(frame);
    PageHeader.init(pages, base, type, pid, treeId);
    PageHeader.raisePageLsn(pages, base, Math.max(oldLsn, newLsn));
    FrameHeader.setUsed(frames.headers, frame, true);
    frames.markDirty(frame, 0);
  }

  // ------------------------------------------------------------------------------------ taking

  /** See {@link BufferPool#free}. */
  void free(int frame, LogSession log) {
    long pid;
    boolean free;
    try {
      pid = frames.pid(frame);
      free = PageHeader.type(pages, frames.base(frame)) == PageHeader.FREE;
    } catch (Error e) {
      frames.stop(e); // a page that is in no tree, and not free
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

  /** See {@link BufferPool#giveBack}. */
  void giveBack(int frame, LogSession log) {
    push(frame, frames.pid(frame), log, log.pagesPromised() >= 0);
  }

  /**
   * See {@link BufferPool#freeUnread}. The LSN of the page, which is not known, is below that of
   * the FREE record, like that of every change of it so far.
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
        // A latch that is released without a change would leave zeros in the place of the page.
        PageHeader.init(pages, base, PageHeader.LEAF, pid, treeId);
        frames.markDirty(frame, 0);
      }
    } catch (RuntimeException | Error e) {
      if (e instanceof Error) {
        frames.stop(e);
      }
      Latch.releaseExclusiveUnchanged(frames.headers, frame);
      throw e;
    }
    push(frame, pid, log, false);
  }

  /**
   * Puts the page of an exclusively latched frame onto the list; the latch is consumed.
   *
   * <p>Who calls has cut it loose from its tree. An error on the way, be it before the numbers are
   * changed, leaves a page that is in no tree and not free: the pool stops.
   */
  void push(int frame, long pid, LogSession log, boolean promise) {
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
      if (promise) {
        promised = promised + 1;
        log.pagesPromised(log.pagesPromised() + 1);
      }
    } catch (RuntimeException | Error e) {
      if (e instanceof Error) {
        frames.stop(e);
      }
      Latch.releaseExclusiveUnchanged(frames.headers, frame);
      throw e;
    } finally {
      if (locked) {
        unlock();
      }
    }
    try {
      if (log.logging()) {
        AllocatorRecord.putFree(log.buffer(), at, pid, next, length, end);
        log.complete();
      }
      // Who wants the new head latches its page first: it sees the link.
      link(frame, pid, next, AllocatorRecord.recordStart(log), AllocatorRecord.recordEnd(log));
    } catch (Error e) {
      throw frames.stop(e); // a list whose head has no link
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

  /** A walk begins: from here on {@link #untouched} says what of it is still so. */
  AllocatorState walk() {
    lock();
    try {
      untouched = freePages;
      return new AllocatorState(highWater, freeHead, freePages);
    } finally {
      unlock();
    }
  }

  /** Whether nobody has taken the page at a height, nor one below it, since the walk began. */
  boolean isUntouched(long height) {
    return height <= untouched;
  }

  /**
   * Makes a change, and appends its record. All its pages are latched, and get their links
   * afterwards.
   *
   * @return false if the list or the mark is not what the change was made for
   */
  boolean rearrange(FreeListChange c, LogSession log) {
    long at = 0;
    boolean locked = false;
    try {
      lock();
      locked = true;
      boolean fits = c.highest <= untouched && (c.head == 0 || c.head == freeHead);
      if (c.cut > 0) {
        fits &= keepers.get() == 0 && highWater == c.mark + c.cut;
      }
      fits &= holes.allow(c, promised, highWater);
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
        untouched = c.stays; // heights above have changed
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
      if (log.logging()) {
        FreeListRecord.put(log.buffer(), at, c.after, c);
        log.complete();
      }
      return true;
    } catch (Error e) {
      throw frames.stop(e);
    }
  }

  /**
   * Gives room at the end of the file back.
   *
   * @param durable the mark of the superblock that counts: no page below it goes
   * @param slack how many pages of room stay
   */
  boolean shrink(long durable, long slack) {
    return extent.shrink(
        () -> {
          lock();
          try {
            long needed = highWater + Math.max(0, promised - (freePages - holes.top()));
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
   * See {@link PoolRecovery#recover}. The growth of the file is not in the log, and may be lost
   * where a record of the page that it was for is not: so it is made up for.
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
      holes.found(freePages, freeHead, highWater);
    } finally {
      unlock();
    }
  }

  /** Raises the high-water mark for an image of a page; the file has room for it. */
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
