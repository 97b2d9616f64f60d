package io.fovea.buffer;

import io.fovea.error.CorruptionException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.StorageFullException;
import io.fovea.io.BlockDevice;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;

/**
 * How many pages the data file has room for.
 *
 * <p>The file grows ahead of need, by an eighth of its size. Where there is no space for that the
 * attempt is repeated with less; where there is none for what is needed now, nothing has changed.
 * Of a file that has had holes, what is behind the high-water mark may be some: it is no room
 * before it has space again.
 *
 * <p>Any thread; one at a time makes the file larger or shorter, and others go on meanwhile.
 */
final class FileExtent {
  private static final long GROW_MIN = 1L << 20;
  private static final long GROW_MAX = 64L << 20;
  private static final long MAX_RESERVE = 1L << 30;

  private final BlockDevice device;
  private final int pageShift;

  /** How many pages there may be: more than a file ever has, where the pool does not say so. */
  private final long pagesMax;

  private final ReentrantLock growing = new ReentrantLock();

  private volatile long pages;

  /**
   * So far there is room: from here on the file may have holes, of pages that were cut off. A cut
   * sets it back while the file grows, for it has another lock. So each change is one
   * compare-and-set: growth sets it forward only from where it has begun to make room, and else
   * looks again. With a plain store growth would count holes as room that were cut off since. No
   * value comes back meanwhile, as only growth sets it forward, one thread at a time.
   */
  private final AtomicLong backed = new AtomicLong();

  private volatile boolean full;

  /** See {@link AllocatorState#holes}: from the first time on for good. */
  private volatile boolean holes;

  FileExtent(BlockDevice device, int pageShift, long pagesMax) {
    this.device = device;
    this.pageShift = pageShift;
    this.pagesMax = pagesMax;
    this.pages = Math.min(pagesMax, device.size() >>> pageShift);
    backed.set(pages);
  }

  /** A file that is too short is damaged: recovery says so by {@link #recover}. */
  void check(AllocatorState state) {
    state.check();
    long needed = Math.max(state.highWater(), state.highWaterMax());
    if (needed > pagesMax) {
      throw new InvalidUseException(
          "The file has "
              + needed
              + " pages, and with this buffer and translation it may have "
              + pagesMax
              + ": enlarge Options.bufferBytes, or choose Translation.PREDICTIVE.");
    }
    holes = state.holes();
    boolean fresh = state.highWater() == AllocatorState.FIRST_PID;
    long pages = this.pages;
    if (!fresh && state.highWater() > pages) {
      throw new CorruptionException(
          "the file ends before its last page", -1, pages << pageShift, state.highWater(), pages);
    }
    if (holes) {
      backed.set(Math.min(pages, state.highWater()));
    }
  }

  /** Whether a free page of the file may be zeros. */
  boolean hasHoles() {
    return holes;
  }

  /** From now on free pages may be zeros, once a superblock that says so is durable. */
  void allowHoles() {
    holes = true;
  }

  /** Gives the space of pages back; false if the device can't. */
  boolean punch(long pid, int n) {
    return device.punch(pid << pageShift, n << pageShift);
  }

  /**
   * Sees to it that pages which may be holes have space.
   *
   * @throws StorageFullException where there is none; some of them may have it
   */
  void reserve(long pid, long n) {
    long most = MAX_RESERVE >>> pageShift;
    for (long done = 0; done < n; done += most) {
      device.reserve((pid + done) << pageShift, (int) Math.min(most, n - done) << pageShift);
    }
  }

  /** How many pages the file has, those included that were never given out. */
  long pages() {
    return pages;
  }

  /** How many pages the file has room for, with space for all that were never given out. */
  long backed() {
    return backed.get();
  }

  /** The owner of the allocator's latch, in a cut: behind these pages there may be holes. */
  void backed(long limit) {
    backed.accumulateAndGet(limit, Math::min);
  }

  /** Whether the last attempt to make the file larger found no space. */
  boolean isFull() {
    return full;
  }

  /**
   * Makes the file long enough for so many pages.
   *
   * @throws StorageFullException where there is no space for them
   */
  void ensure(long wanted) {
    if (wanted <= backed.get()) {
      return;
    }
    growing.lock();
    try {
      boolean done;
      do {
        done = grow(wanted);
      } while (!done); // pages were cut off meanwhile
    } finally {
      growing.unlock();
    }
  }

  /**
   * Makes the file shorter.
   *
   * @param limit says how many pages must stay; asked while the file does not grow, and it sets the
   *     room to that ({@link #leave}) before it lets anybody count on more
   * @return whether it was made shorter
   */
  boolean shrink(LongSupplier limit) {
    growing.lock();
    try {
      long stay = limit.getAsLong();
      if (stay <= 0 || device.size() >>> pageShift <= stay) {
        return false;
      }
      device.resize(stay << pageShift);
      return true;
    } finally {
      growing.unlock();
    }
  }

  /** The owner of the allocator's latch, in {@link #shrink}: there is room for so many. */
  void leave(long stay) {
    pages = Math.min(pages, stay);
    backed.accumulateAndGet(stay, Math::min);
  }

  /** How much more room there may be than is needed: as much as the file grows by at a time. */
  long slack() {
    return chunk() >>> pageShift;
  }

  private long chunk() {
    return Math.max(GROW_MIN, Math.min(GROW_MAX, (pages << pageShift) >>> 3));
  }

  /** Whether there is room now; not so if a cut has set back meanwhile what there was before. */
  private boolean grow(long wanted) {
    if (wanted > pagesMax) {
      full = true;
      throw new StorageFullException(
          "resize",
          device.toString(),
          wanted << pageShift,
          "with this buffer and translation the file may have "
              + pagesMax
              + " pages: enlarge Options.bufferBytes, or choose Translation.PREDICTIVE");
    }
    long from = backed.get();
    if (wanted <= from) {
      return true;
    }
    long least = (wanted - from) << pageShift;
    long chunk = chunk();
    while (true) {
      long end = Math.min(pagesMax, from + (Math.max(least, chunk) >>> pageShift));
      try {
        if (from < pages) {
          reserve(from, Math.min(end, pages) - from);
        }
        if (end > pages) {
          device.resize(end << pageShift);
          pages = end;
        }
        full = false;
        return backed.compareAndSet(from, end);
      } catch (StorageFullException e) {
        if (chunk <= least) {
          full = true;
          throw e;
        }
        chunk >>>= 1;
      }
    }
  }
}
