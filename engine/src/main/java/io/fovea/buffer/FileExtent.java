package io.fovea.buffer;

import io.fovea.error.StorageFullException;
import io.fovea.io.BlockDevice;
import java.util.concurrent.locks.ReentrantLock;

/**
 * How many pages the data file has room for.
 *
 * <p>The file grows ahead of need, by an eighth of its size. Where there is no space for that the
 * attempt is repeated with less; where there is none for what is needed now, nothing has changed.
 *
 * <p>Any thread; one at a time makes the file larger, and others go on meanwhile.
 */
final class FileExtent {
  private static final long GROW_MIN = 1L << 20;
  private static final long GROW_MAX = 64L << 20;

  private final BlockDevice device;
  private final int pageShift;
  private final ReentrantLock growing = new ReentrantLock();

  private volatile long pages;
  private volatile boolean full;

  FileExtent(BlockDevice device, int pageShift) {
    this.device = device;
    this.pageShift = pageShift;
    this.pages = device.size() >>> pageShift;
  }

  /** How many pages the file has room for; only grows. */
  long pages() {
    return pages;
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
    if (wanted <= pages) {
      return;
    }
    growing.lock();
    try {
      if (wanted > pages) {
        grow(wanted);
      }
    } finally {
      growing.unlock();
    }
  }

  private void grow(long wanted) {
    long least = (wanted - pages) << pageShift;
    long chunk = Math.max(GROW_MIN, Math.min(GROW_MAX, (pages << pageShift) >>> 3));
    while (true) {
      long more = Math.max(least, chunk) >>> pageShift;
      try {
        device.resize((pages + more) << pageShift);
        pages += more;
        full = false;
        return;
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
