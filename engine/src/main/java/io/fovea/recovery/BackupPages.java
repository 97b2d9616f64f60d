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
 * Reads the pages of a database that is in use, each whole: checksum, page id and LSN are right, or
 * the page is damaged and this throws.
 *
 * <p><b>A torn page</b>, read while it was written, does not check out and is read again; a page
 * that never does is asked for in the pool, which has it or says that it is damaged.
 *
 * <p><b>A page of zeros</b> is one that was never written, or one that the device has lost. From a
 * page id on, the high-water mark of a checkpoint, it may be either, and is read as zeros. Below it
 * the file must have it, unless it is in the pool and was not written yet: then that is what is
 * read. If neither has it, it is damaged; unless free pages of the file may be holes, and it is
 * free: then it is one, and read as zeros. No page becomes a hole while a backup runs. So each was
 * one before its redo point, and is among those that are in the free list when the backup begins.
 *
 * <p><b>Without the pool</b>, of a database that another process has open, a page that never checks
 * out is damaged, and zeros are taken for what they are anywhere: a page that was not written yet,
 * whose changes the log has. What the device has lost is found where the copy is verified.
 *
 * <p>One thread.
 */
final class BackupPages {
  /** How often a page that does not check out is read again before the pool is asked. */
  private static final int READS = 20;

  private static final long READ_PAUSE_NANOS = 200_000;

  private final BlockDevice device;

  /** What is in memory; null where another process has that. */
  private final @Nullable BufferPool pool;

  private final int pageSize;
  private final long newFrom;
  private final LongSupplier lsnLimit;
  private final boolean holes;

  /** Those that are free, and more; null where all may be. */
  private final @Nullable PageBits free;

  private final MemorySegment chunk;
  private long torn;
  private long maxLsn;

  /**
   * A reader.
   *
   * @param pool what is in memory; null where another process has that
   * @param newFrom from which page on zeros are right
   * @param lsnLimit the largest LSN that a page may have which was read before this is asked
   * @param chunk where pages are read to
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
      // A page that a thread has given out and not entered yet would look like one that is lost.
      pool.checkpoint().space().awaitEntered();
    }
    this.holes = pool != null && pool.allocatorState().holes();
    PageBits bits = holes ? new PageBits(newFrom) : null;
    // Where others take pages all the time, it may not come to the end: any may be free then.
    boolean known =
        bits != null
            && pool != null
            && pool.checkpoint()
                .space()
                .freePages(pid -> add(bits, pid), () -> Thread.currentThread().isInterrupted());
    this.free = known ? bits : null;
    this.chunk = chunk;
  }

  /** How many pages were read again, because they were being written. */
  long torn() {
    return torn;
  }

  /** The largest LSN of all pages that were read. */
  long maxLsn() {
    return maxLsn;
  }

  /** How many pages are read at a time at most. */
  int atATime() {
    return (int) (chunk.byteSize() / pageSize);
  }

  /** Reads pages that follow each other to the beginning of the chunk. */
  void read(long pid, int n) {
    device.read(pid * pageSize, chunk, 0, n * pageSize);
    long limit = lsnLimit.getAsLong();
    for (int i = 0; i < n; i++) {
      long at = (long) i * pageSize;
      boolean unread = pid + i >= newFrom && Mem.isZero(chunk, at, pageSize);
      boolean known = PageHeader.pageLsn(chunk, at) <= limit;
      if (!unread && !(known && whole(at, pid + i))) {
        again(pid + i, at);
      }
      maxLsn = Math.max(maxLsn, PageHeader.pageLsn(chunk, at));
    }
  }

  /**
   * Whether a page that was just read was changed since a position, or is one of zeros. That may be
   * a hole, and have been anything then; so may a free page that the pool has made of one, whose
   * LSN is 0.
   */
  boolean changed(int i, long since) {
    long at = (long) i * pageSize;
    long lsn = PageHeader.pageLsn(chunk, at);
    int type = PageHeader.type(chunk, at);
    return lsn > since || type == PageHeader.NEVER_WRITTEN || holes && isMadeOfZeros(at);
  }

  /** Whether it is a free page as the pool makes it of zeros. */
  private boolean isMadeOfZeros(long at) {
    return PageHeader.pageLsn(chunk, at) == 0 && PageHeader.type(chunk, at) == PageHeader.FREE;
  }

  private boolean whole(long at, long pid) {
    return PageHeader.checksum(chunk, at) == PageHeader.sum(chunk, at, pageSize)
        && PageHeader.pid(chunk, at) == pid
        && PageHeader.type(chunk, at) != PageHeader.NEVER_WRITTEN;
  }

  /** A page that was being written while it was read, most likely, or was never written yet. */
  private void again(long pid, long at) {
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
          "a page of a file in use",
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

  /** Memory may have what the device has lost; if it has not, this says what is damaged. */
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
    PageCopy.forgetFrames(chunk, at, pageSize);
    PageHeader.seal(chunk, at, pageSize);
  }
}
