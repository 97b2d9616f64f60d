package io.fovea.recovery;

import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageCopy;
import io.fovea.buffer.PageHeader;
import io.fovea.error.CorruptionException;
import io.fovea.io.BlockDevice;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Reads the pages of a database in use, each of them whole. Throws if the checksum, page id or LSN
 * of a page is wrong.
 *
 * <p><b>A torn page</b>, read during its write, fails its check and is read again. A page that
 * keeps failing is requested from the pool, which provides it or reports it as damaged.
 *
 * <p><b>A page of zeros</b> was never written, or was lost by the device. At or above the
 * high-water mark of a checkpoint it may be either, and is read as zeros. Below that mark the file
 * must contain the page, unless the page is in the pool and not yet written: then the pool's copy
 * is read. Otherwise it is damaged, unless free pages of the file may be holes and it is free: then
 * it is read as zeros. No page becomes a hole during a backup, so each hole existed before the redo
 * point, and is in the free list when the backup begins.
 *
 * <p><b>Without the pool</b>, for a database open in another process, a page that keeps failing is
 * damaged, and zeros are accepted anywhere, as a page that is not yet written and whose changes are
 * in the log. Verifying the copy finds pages lost by the device.
 *
 * <p>Used by one thread.
 */
final class BackupPages {
  /** How often a page that fails its check is read before the pool is asked. */
  private static final int READS = 20;

  private static final long READ_PAUSE_NANOS = 200_000;

  private final BlockDevice device;

  /** The pages in memory; null if another process has them. */
  private final @Nullable BufferPool pool;

  private final int pageSize;
  private final long newFrom;
  private final LongSupplier lsnLimit;
  private final boolean holes;

  /** A superset of the free pages; null if any page may be free. */
  private final @Nullable PageBits free;

  private final MemorySegment chunk;
  private long torn;
  private long maxLsn;

  /**
   * Creates a reader.
   *
   * @param pool the pages in memory; null if another process has them
   * @param newFrom the first page that may be zeros
   * @param lsnLimit returns the largest LSN of any page read before the call
   * @param chunk the memory that pages are read into
   */
  BackupPages(
      BlockDevice device,
      @Nullable BufferPool pool,
      int pageSize,
      long newFrom,
      LongSupplier lsnLimit,
      MemorySegment chunk) {
    this.device = device;
    this.pool = pool;
    this.pageSize = pageSize;
    this.newFrom = newFrom;
    this.lsnLimit = lsnLimit;
    if (pool != null) {
      // A page that a thread has allocated but not entered yet would look like a lost page.
      pool.checkpoint().space().awaitEntered();
    }
    this.holes = pool != null && pool.allocatorState().holes();
    PageBits bits = holes ? new PageBits(newFrom) : null;
    // With constant allocations this may not finish: then any page may be free.
    boolean known =
        bits != null
            && pool != null
            && pool.checkpoint()
                .space()
                .freePages(pid -> add(bits, pid), () -> Thread.currentThread().isInterrupted());
    this.free = known ? bits : null;
    this.chunk = chunk;
  }

  /** Returns the number of pages that were read again because they were being written. */
  long torn() {
    return torn;
  }

  /** Returns the largest LSN of all pages read. */
  long maxLsn() {
    return maxLsn;
  }

  /** Returns the maximum number of pages per read. */
  int pagesPerRead() {
    return (int) (chunk.byteSize() / pageSize);
  }

  /** Reads a run of pages to the beginning of the chunk. */
  void read(long pid, int n) {
    device.read(pid * pageSize, chunk, 0, n * pageSize);
    long limit = lsnLimit.getAsLong();
    for (int i = 0; i < n; i++) {
      long at = (long) i * pageSize;
      boolean unread = pid + i >= newFrom && Mem.isZero(chunk, at, pageSize);
      boolean known = PageHeader.pageLsn(chunk, at) <= limit;
      if (!unread && !(known && whole(at, pid + i))) {
        reread(pid + i, at);
      }
      maxLsn = Math.max(maxLsn, PageHeader.pageLsn(chunk, at));
    }
  }

  /**
   * Returns whether a page just read was changed since a position, or is zeros. Zeros may be a hole
   * that had other contents then, and so may a free page with LSN 0 that the pool made from a hole.
   */
  boolean changed(int i, long since) {
    long at = (long) i * pageSize;
    long lsn = PageHeader.pageLsn(chunk, at);
    int type = PageHeader.type(chunk, at);
    return lsn > since || type == PageHeader.NEVER_WRITTEN || holes && isMadeOfZeros(at);
  }

  /** Returns whether a page is a free page that the pool made from zeros. */
  private boolean isMadeOfZeros(long at) {
    return PageHeader.pageLsn(chunk, at) == 0 && PageHeader.type(chunk, at) == PageHeader.FREE;
  }

  private boolean whole(long at, long pid) {
    return PageHeader.checksum(chunk, at) == PageHeader.sum(chunk, at, pageSize)
        && PageHeader.pid(chunk, at) == pid
        && PageHeader.type(chunk, at) != PageHeader.NEVER_WRITTEN;
  }

  /** Reads a page again that was probably being written, or was never written. */
  private void reread(long pid, long at) {
    BufferPool memory = pool;
    if (Mem.isZero(chunk, at, pageSize)) {
      if (memory == null) {
        return;
      }
      if (memory.resident(pid) >= 0) {
        fromPool(memory, pid, at);
        return;
      }
      if (isHole(pid)) {
        return;
      }
    }
    torn++;
    for (int i = 0; i < READS; i++) {
      LockSupport.parkNanos(READ_PAUSE_NANOS);
      device.read(pid * pageSize, chunk, at, pageSize);
      if (PageHeader.pageLsn(chunk, at) <= lsnLimit.getAsLong() && whole(at, pid)) {
        return;
      }
    }
    if (memory == null) {
      throw new CorruptionException(
          "checksum of a page of a file in use",
          pid,
          pid * pageSize,
          PageHeader.sum(chunk, at, pageSize),
          PageHeader.checksum(chunk, at));
    }
    fromPool(memory, pid, at);
  }

  private void add(PageBits bits, long pid) {
    if (pid < newFrom) {
      bits.add(pid);
    }
  }

  private boolean isHole(long pid) {
    PageBits bits = free;
    return holes && (bits == null || pid < newFrom && bits.first(pid) == pid);
  }

  /** Takes a page from memory, or reports it as damaged: the device may have lost it. */
  private void fromPool(BufferPool memory, long pid, long at) {
    int frame = memory.fixShared(pid);
    try {
      Mem.copy(memory.pages(), memory.base(frame), chunk, at, pageSize);
    } finally {
      memory.releaseShared(frame);
    }
    if (holes && isMadeOfZeros(at) && !isHole(pid)) {
      throw new CorruptionException("a page that was never written", pid, pid * pageSize, pid, 0);
    }
    PageCopy.clearFrameHints(chunk, at, pageSize);
    PageHeader.seal(chunk, at, pageSize);
  }
}
