package io.fovea.buffer;

import io.fovea.error.CorruptionException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.StorageFullException;
import io.fovea.io.BlockDevice;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;

/**
 * The length of the data file, and the number of pages that it has space for.
 *
 * <p>The file grows ahead of need, by an eighth of its size, 1 to 64 MiB. If there is no space for
 * that, it tries less; if there is not enough for the current need, nothing changes. In a file that
 * has had holes, pages above the high-water mark may be holes too, and count only once they have
 * space again.
 *
 * <p>Thread-safe; one thread at a time grows or shortens the file, without blocking others.
 */
final class FileExtent {
  private static final long GROW_MIN = 1L << 20;
  private static final long GROW_MAX = 64L << 20;
  private static final long MAX_RESERVE = 1L << 30;

  private final BlockDevice device;
  private final int pageShift;

  private final long pagesMax;

  private final ReentrantLock growing = new ReentrantLock();

  private volatile long pages;

  /**
   * The number of pages with space; pages above it, which were cut off, may be holes. A cut, which
   * holds another lock, may lower it while the file grows. So each change is one compare-and-set:
   * growth raises it only from the value from which it began to reserve space, and otherwise starts
   * again. Excluded: with a plain store growth would count holes that were cut off since. There is
   * no ABA, because only growth raises it, one thread at a time.
   */
  private final AtomicLong backed = new AtomicLong();

  private volatile boolean full;

  private volatile boolean holes;

  FileExtent(BlockDevice device, int pageShift, long pagesMax) {
    this.device = device;
    this.pageShift = pageShift;
    this.pagesMax = pagesMax;
    this.pages = Math.min(pagesMax, device.size() >>> pageShift);
    backed.set(pages);
  }

  /** Checks a state against the file. A file that is too short is damaged. */
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

  boolean hasHoles() {
    return holes;
  }

  /** Allows free pages to be zeros, once a superblock that says so is durable. */
  void allowHoles() {
    holes = true;
  }

  boolean punch(long pid, int n) {
    return device.punch(pid << pageShift, n << pageShift);
  }

  /**
   * Reserves space for pages that may be holes.
   *
   * @throws StorageFullException if there is too little; some of the pages may have space
   *     afterwards
   */
  void reserve(long pid, long n) {
    long max = MAX_RESERVE >>> pageShift;
    for (long done = 0; done < n; done += max) {
      device.reserve((pid + done) << pageShift, (int) Math.min(max, n - done) << pageShift);
    }
  }

  /** Returns the number of pages of the file, including those never allocated. */
  long pages() {
    return pages;
  }

  /** Returns the number of pages from the beginning that all have space or were allocated. */
  long backed() {
    return backed.get();
  }

  /**
   * Called during a cut by the owner of the allocator's latch: pages above the limit may be holes.
   */
  void backed(long limit) {
    backed.accumulateAndGet(limit, Math::min);
  }

  boolean isFull() {
    return full;
  }

  /**
   * Grows the file to a number of pages.
   *
   * @throws StorageFullException if there is no space for them
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
      } while (!done); // repeats if pages were cut off concurrently
    } finally {
      growing.unlock();
    }
  }

  /**
   * Shortens the file.
   *
   * @param limit returns how many pages must stay; called while the file does not grow, and calls
   *     {@link #leave} before other threads can count on more
   * @return whether the file was shortened
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

  /** Called in {@link #shrink} by the owner of the allocator's latch: sets the number of pages. */
  void leave(long stay) {
    pages = Math.min(pages, stay);
    backed.accumulateAndGet(stay, Math::min);
  }

  /** Returns the free space that the file may keep, in pages: as much as it grows by at a time. */
  long slack() {
    return chunk() >>> pageShift;
  }

  private long chunk() {
    return Math.max(GROW_MIN, Math.min(GROW_MAX, (pages << pageShift) >>> 3));
  }

  /** Grows the file; returns false if a cut has lowered {@link #backed} concurrently. */
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
    long min = (wanted - from) << pageShift;
    long chunk = chunk();
    while (true) {
      long end = Math.min(pagesMax, from + (Math.max(min, chunk) >>> pageShift));
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
        if (chunk <= min) {
          full = true;
          throw e;
        }
        chunk >>>= 1;
      }
    }
  }
}
