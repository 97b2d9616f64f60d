package io.fovea.copies;

import io.fovea.error.FoveaException;
import io.fovea.io.BlockDevice;
import io.fovea.memory.Mem;
import io.fovea.memory.NativeRegion;
import java.lang.foreign.MemorySegment;
import java.util.BitSet;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The storage of page copies: slots of memory, then slots of a file.
 *
 * <pre>
 *   location   1 2 3 ... n       slots of memory
 *             -1 -2 -3 ...       slots of the file, which is created when the first one is taken
 *              0                 none: there is no space
 * </pre>
 *
 * <p>A copy goes to memory if there is space, otherwise directly to the file. {@link CopySpiller}
 * keeps memory available.
 *
 * <p>Any thread; the lock is held for a few instructions, and while the file is created.
 */
final class CopyArea {
  private final CopyLimits limits;
  private final PageSeal seal;
  private final int pageSize;
  private final NativeRegion region;
  private final MemorySegment memory;
  private final ReentrantLock lock = new ReentrantLock();

  // Per slot of memory: the page and label of its copy, 0 for none; and the free slots.
  private final long[] pids;
  private final long[] labels;
  private final int[] free;
  private int freeCount;

  /** The slots of the file that hold a copy. */
  private final BitSet used = new BitSet();

  private int usedCount;
  private int usedFrom;
  private volatile @Nullable BlockDevice file;

  CopyArea(CopyLimits limits, int pageSize, PageSeal seal) {
    this.limits = limits;
    this.seal = seal;
    this.pageSize = pageSize;
    int slots = (int) Math.max(1, Math.min(limits.memoryBytes() / pageSize, 1 << 28));
    this.region = NativeRegion.reserve((long) slots * pageSize, false, "copies for snapshots");
    this.memory = region.segment();
    this.pids = new long[slots];
    this.labels = new long[slots];
    this.free = new int[slots];
    for (int i = 0; i < slots; i++) {
      free[i] = slots - 1 - i;
    }
    this.freeCount = slots;
  }

  int slots() {
    return pids.length;
  }

  /** Returns the number of free memory slots; may be outdated immediately. */
  int freeSlots() {
    return freeCount;
  }

  /** Returns the memory used by copies; may be outdated immediately. */
  long memoryBytes() {
    return (long) (slots() - freeCount) * pageSize;
  }

  long fileBytes() {
    return (long) usedCount * pageSize;
  }

  /** Returns the offset of a location in {@link #memory}; only for memory locations. */
  long offset(long location) {
    return (location - 1) * pageSize;
  }

  MemorySegment memory() {
    return memory;
  }

  /**
   * Returns the page of a memory slot's copy; 0 for none. Only a hint without the stripe's lock.
   */
  long pid(int slot) {
    return pids[slot];
  }

  long label(int slot) {
    return labels[slot];
  }

  static long locationOf(int slot) {
    return slot + 1L;
  }

  // -------------------------------------------------------------------------- taking and returning

  /**
   * Stores a copy of a page.
   *
   * @return its location, or 0 if there is no space
   */
  long put(MemorySegment pages, long base, long pid, long label) {
    int slot = take(pid, label);
    if (slot >= 0) {
      Mem.copy(pages, base, memory, (long) slot * pageSize, pageSize);
      return locationOf(slot);
    }
    long location = takeInFile();
    if (location == 0) {
      return 0;
    }
    try {
      // The page stays as it is until its latch is released, except for the seal.
      seal.seal(pages, base);
      write(location, pages, base);
      return location;
    } catch (FoveaException e) {
      release(location);
      return 0;
    }
  }

  private int take(long pid, long label) {
    lock.lock();
    try {
      if (freeCount == 0) {
        return -1;
      }
      int slot = free[--freeCount];
      labels[slot] = label;
      pids[slot] = pid;
      return slot;
    } finally {
      lock.unlock();
    }
  }

  /** Takes a slot of the file; returns 0 if there is no file, or it has reached its limit. */
  long takeInFile() {
    lock.lock();
    try {
      if ((usedCount + 1L) * pageSize > limits.fileBytes()) {
        return 0;
      }
      BlockDevice f = file;
      if (f == null) {
        f = limits.file().get();
        file = f;
      }
      if (f == null) {
        return 0;
      }
      int slot = used.nextClearBit(usedFrom);
      used.set(slot);
      usedFrom = slot + 1;
      usedCount++;
      return -1L - slot;
    } catch (FoveaException e) {
      return 0; // the file could not be created
    } finally {
      lock.unlock();
    }
  }

  /** Frees a location. */
  void release(long location) {
    lock.lock();
    try {
      if (location > 0) {
        int slot = (int) (location - 1);
        pids[slot] = 0;
        free[freeCount++] = slot;
      } else {
        int slot = (int) (-1 - location);
        used.clear(slot);
        usedFrom = Math.min(usedFrom, slot);
        usedCount--;
      }
    } finally {
      lock.unlock();
    }
  }

  // -------------------------------------------------------------------------------------- the file

  /** Returns the offset of a location in the file. */
  long fileOffset(long location) {
    return (-1 - location) * pageSize;
  }

  /** Returns the file; it exists once a location in it was taken. */
  BlockDevice file() {
    BlockDevice f = file;
    if (f == null) {
      throw new IllegalStateException("There is no file of copies.");
    }
    return f;
  }

  private void write(long location, MemorySegment pages, long base) {
    file().write(fileOffset(location), pages, base, pageSize);
  }

  void read(long location, MemorySegment to, long at) {
    file().read(fileOffset(location), to, at, pageSize);
  }

  /** Releases the memory and the file if there is no copy; the next copy allocates again. */
  void releaseStorage() {
    region.clear();
    deleteFile();
  }

  /** Releases everything for good. */
  void end() {
    region.release();
    deleteFile();
  }

  private void deleteFile() {
    usedFrom = 0;
    BlockDevice f = file;
    file = null;
    if (f != null) {
      f.close();
      limits.delete().run();
    }
  }
}
