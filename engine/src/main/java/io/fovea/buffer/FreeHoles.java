package io.fovea.buffer;

import io.fovea.error.CorruptionException;
import io.fovea.error.FoveaException;
import io.fovea.error.StorageFullException;
import io.fovea.memory.LongList;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.util.Objects;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The height up to which the pages of the free list may be holes in the file, and the reservation
 * of space for them before they are used.
 *
 * <pre>
 *   heights     7     6     5     4     3     2     1
 *   list      ─► 9 ──► 4 ──► 20 ──► 21 ──► 22 ──► 23 ──► 0
 *              have space  │ may be holes                        top = 5, head = 20
 *   fill                   └► 20, 21: reserve ─► top = 3
 * </pre>
 *
 * <p><b>The rule:</b> pages at the top height and below are not allocated, and back no reservation.
 * So an allocated page has space in the file system, and writing it can't fail on a full disk: a
 * caller that needs more is refused before its point of no return, as when the file can't grow
 * ({@link PageReservations}).
 *
 * <pre>
 *   pages above the top + free space of the file  >=  reserved         always
 * </pre>
 *
 * <p>A punch records its pages as possible holes; in a file that had holes when it was opened, any
 * page of the list may be one. The top is an upper bound: a page below it that has space costs a
 * call without effect.
 *
 * <p><b>A page below the top stays while it is read</b>: it is not allocated, and {@link #changes}
 * counts changes in the middle of the list. An unchanged count after the read shows that the link
 * was right; under the allocator's latch, that the walked part is still there.
 *
 * <p>Pages in the list that may be holes are written only if {@link FreeListWalk} changes their
 * links: these pages get space first ({@link #prepare}), or stay as they are.
 *
 * <p>A crash may undo the reservation of space. Recovery then writes into holes, and needs the
 * space again.
 *
 * <p>Thread-safe; one thread at a time fills. The numbers are written under the allocator's latch.
 *
 * <p><b>No deadlock.</b> A thread that has taken one page and wants another waits for the owner of
 * {@link #filling} with the first page latched. The owner waits for no page: {@link #fill} checks
 * {@link #changes} in each round, as a page may have been cut off the list and taken since the last
 * check; a punch skips latched pages. The owner may wait for a frame, a device, and the allocator's
 * latch, whose holders do not wait for it.
 */
final class FreeHoles {
  private static final int FILL_PAGES = 64;

  private static final int BODY = PageAllocator.NEXT_FREE + Long.BYTES;

  private final Frames frames;
  private final MemorySegment pages;
  private final PageAllocator allocator;
  private final FileExtent extent;

  /**
   * A thread that has a fresh page latched may wait for this lock: for the other page of a split.
   * So its owner never waits for a page latch: it tries the latch, or validates ({@link
   * Resolver#frameOf}).
   */
  private final ReentrantLock filling = new ReentrantLock();

  private volatile long top;
  private volatile long head;
  private volatile int changes;

  FreeHoles(Frames frames, PageAllocator allocator, FileExtent extent) {
    this.frames = frames;
    this.pages = frames.pages;
    this.allocator = allocator;
    this.extent = extent;
  }

  /** Returns the height of the highest page that may be a hole; 0 for none. */
  long top() {
    return top;
  }

  /** Under the allocator's latch, when a file is opened in which any free page may be a hole. */
  void assumeHoles(long length, long first, long mark) {
    if (extent.hasHoles()) {
      extent.backed(mark);
      markAll(length, first);
    }
  }

  private void markAll(long length, long first) {
    top = length;
    head = first;
    changes++;
  }

  /**
   * Called before a punch of pages from a height on: they no longer back reservations.
   *
   * @return false if reservations need them
   */
  boolean tryMark(long height, long pid) {
    allocator.lock();
    try {
      boolean can = allocator.unreservedPages() >= Math.max(0, height - top);
      if (can && height > top) {
        top = height;
        head = pid;
      }
      changes++;
      return can;
    } finally {
      allocator.unlock();
    }
  }

  // ---------------------------------------------------------------------------------------- fill

  /**
   * Reserves space for some of the highest pages that may be holes.
   *
   * @return false if there is no space, or there are no such pages
   */
  boolean fill(@Nullable Resolver made) {
    Resolver resolver = Objects.requireNonNull(made);
    filling.lock();
    try {
      long height;
      long pid;
      int seen;
      allocator.lock();
      try {
        height = top;
        pid = head;
        seen = changes;
      } finally {
        allocator.unlock();
      }
      LongList list = new LongList();
      LongList linkOnly = new LongList();
      while (list.size() < FILL_PAGES && list.size() < height) {
        list.add(pid);
        long next = next(resolver, pid, height - list.size() + 1, seen, linkOnly);
        if (next < 0) {
          return true; // there may be pages now
        }
        pid = next;
      }
      int filled = reserve(list, linkOnly);
      long first = filled < list.size() ? list.get(filled) : pid;
      allocator.lock();
      try {
        if (changes == seen && filled > 0) {
          top = height - filled; // nothing fails between the two
          head = first;
        }
        return filled > 0 || changes != seen;
      } finally {
        allocator.unlock();
      }
    } finally {
      filling.unlock();
    }
  }

  /**
   * {@link #fill} without exceptions, for callers that may be past their point of no return, and
   * that extend the file if this fails: low pages come first.
   */
  boolean tryFill(@Nullable Resolver resolver) {
    try {
      return fill(resolver);
    } catch (FoveaException e) {
      return false; // a page that is damaged or can't be read is reported when pages are reserved
    }
  }

  /** Returns the link of a page; -1 if the list was changed. */
  private long next(Resolver resolver, long pid, long height, int seen, LongList linkOnly) {
    for (int round = 0; ; round = frames.pause(round)) {
      if (changes != seen) {
        return -1;
      }
      int frame = resolver.frameOf(pid);
      long version = Latch.optimistic(frames.headers, frame);
      long base = frames.base(frame);
      int type = PageHeader.type(pages, base);
      long next = Mem.getLong(pages, base + PageAllocator.NEXT_FREE);
      boolean isLinkOnly =
          next == pid + 1 && Mem.isZero(pages, base + BODY, frames.pageSize - BODY);
      boolean here = frames.pid(frame) == pid;
      VarHandle.acquireFence(); // reads before this belong to the version, if it validates
      if (version == Latch.LATCHED || !here || !Latch.validate(frames.headers, frame, version)) {
        continue;
      }
      if (changes != seen) {
        return -1;
      }
      if (type != PageHeader.FREE || next < 0 || (next == 0) != (height == 1)) {
        throw new CorruptionException(
            "a page of the free list", pid, pid << frames.pageShift, PageHeader.FREE, type);
      }
      linkOnly.add(isLinkOnly ? 1 : 0);
      return next;
    }
  }

  /**
   * Runs an action while no page that may be a hole gets space. The caller holds no latch, and the
   * action waits for no page latch.
   */
  <T> T withoutFilling(Supplier<T> work) {
    filling.lock();
    try {
      return work.get();
    } finally {
      filling.unlock();
    }
  }

  /** Returns how many pages, counted from the first, have space now. */
  private int reserve(LongList list, LongList linkOnly) {
    int done = 0;
    while (done < list.size()) {
      int to = done + 1;
      if (linkOnly.get(done) == 0) {
        done = to; // it was written since it was freed
        continue;
      }
      while (to < list.size() && linkOnly.get(to) != 0 && list.get(to) == list.get(to - 1) + 1) {
        to++;
      }
      int got = reserve(list.get(done), to - done);
      done += got;
      if (got == 0) {
        break;
      }
    }
    return done;
  }

  /** Reserves space for all of the pages, or for the first ones; returns their number. */
  private int reserve(long pid, int n) {
    for (int some = n; some > 0; some >>>= 1) {
      try {
        extent.reserve(pid, some);
        return some;
      } catch (StorageFullException e) {
        // There may be space for fewer.
      }
    }
    return 0;
  }

  // -------------------------------------------------------------------------------------- changes

  /**
   * Called before a change of the list. Reserves space for pages that get another link and may be
   * holes, and for all reservations, because any page of the list may be a hole after the change.
   *
   * @return false if there is no space
   */
  boolean prepare(FreeListChange change) {
    if (top == 0) {
      return true;
    }
    long reserved = allocator.reservedPages();
    try {
      LongList linkOnly = change.linkOnlyPages();
      for (int i = 0, to; i < linkOnly.size(); i = to) {
        to = i + 1;
        while (to < linkOnly.size() && linkOnly.get(to) == linkOnly.get(to - 1) + 1) {
          to++;
        }
        extent.reserve(linkOnly.get(i), to - i);
      }
      if (change.cut > 0) {
        // The pages cut off may be holes, and would count as free space.
        long space = reserved + FILL_PAGES;
        if (space > change.cut) {
          extent.ensure(change.mark + space);
        }
        extent.reserve(change.mark, Math.min(change.cut, space));
        change.backed = change.mark + space;
      } else {
        extent.ensure(allocator.highWater() + 2 * reserved); // reservations may grow
      }
      return true;
    } catch (StorageFullException e) {
      return false;
    }
  }

  /** Under the allocator's latch: whether reservations are backed after a change. */
  boolean allow(FreeListChange c, long reserved, long mark) {
    return top == 0 || reserved <= (c.cut > 0 ? c.backed - c.mark : extent.backed() - mark);
  }

  /** Under the allocator's latch: after a change pages at any height may be holes. */
  void rearranged(FreeListChange c, long length, long first) {
    if (top > 0) {
      extent.backed(c.cut > 0 ? c.backed : Long.MAX_VALUE);
      markAll(length, first);
    }
  }
}
