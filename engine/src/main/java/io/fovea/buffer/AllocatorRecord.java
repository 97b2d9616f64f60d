package io.fovea.buffer;

import io.fovea.error.CorruptionException;
import io.fovea.memory.Mem;
import io.fovea.wal.LogSession;
import io.fovea.wal.RecordType;
import java.lang.foreign.MemorySegment;

/**
 * A log record of one page that was allocated or freed.
 *
 * <pre>
 *   ALLOCATE  0     8        12     16        24         32          40
 *             | pid | treeId | type | freeHead| freePages| highWater |      after it
 *   FREE      0     8        16         24          32
 *             | pid | next   | freePages| highWater |                       after it; freeHead = pid
 * </pre>
 *
 * <p>A record is reserved under the allocator's spin latch together with the change of its state.
 * So the order of the log is the order of the changes, and the last record contains the allocator's
 * state. Its body is filled in after the latch is released.
 *
 * @param pid the page
 * @param treeId the tree that owns it; 0 for a freed page
 * @param pageType the type that the page has now
 * @param next for a freed page, the next page of the free list; otherwise 0
 * @param after the allocator's state after the change
 * @since 0.1.0
 */
public record AllocatorRecord(long pid, int treeId, int pageType, long next, AllocatorState after) {
  /** The length of the body of an ALLOCATE record, in bytes. */
  public static final int ALLOCATE_BYTES = 40;

  /** The length of the body of a FREE record, in bytes. */
  public static final int FREE_BYTES = 32;

  /** The log space that {@link BufferPool#allocate} takes from a grant. */
  public static final long ALLOCATE_SPACE = LogSession.space(ALLOCATE_BYTES);

  /**
   * The log space that {@link BufferPool#free} and {@link PoolRecovery#reclaim} take of a grant.
   */
  public static final long FREE_SPACE = LogSession.space(FREE_BYTES);

  /** Reserves a record under the spin latch, before anything changes. Never waits. */
  static long reserve(LogSession log, int type, int bytes) {
    return log.isLogging() ? log.reserve(type, bytes) : 0;
  }

  /** Only stores: nothing between a reservation and its completion throws or waits. */
  static void logAllocate(
      LogSession log,
      long at,
      long pid,
      int treeId,
      int type,
      long freeHead,
      long freePages,
      long highWater) {
    if (log.isLogging()) {
      putAllocate(log.buffer(), at, pid, treeId, type, freeHead, freePages, highWater);
      log.complete();
    }
  }

  static long recordStart(LogSession log) {
    return log.isLogging() ? log.recordStart() : 0;
  }

  static long recordEnd(LogSession log) {
    return log.isLogging() ? log.recordEnd() : 0;
  }

  static void putAllocate(
      MemorySegment dst,
      long at,
      long pid,
      int treeId,
      int pageType,
      long freeHead,
      long freePages,
      long highWater) {
    Mem.putLong(dst, at, pid);
    Mem.putInt(dst, at + 8, treeId);
    Mem.putInt(dst, at + 12, pageType);
    Mem.putLong(dst, at + 16, freeHead);
    Mem.putLong(dst, at + 24, freePages);
    Mem.putLong(dst, at + 32, highWater);
  }

  static void putFree(
      MemorySegment dst, long at, long pid, long next, long freePages, long highWater) {
    Mem.putLong(dst, at, pid);
    Mem.putLong(dst, at + 8, next);
    Mem.putLong(dst, at + 16, freePages);
    Mem.putLong(dst, at + 24, highWater);
  }

  /**
   * Reads the body of a record.
   *
   * @param type ALLOCATE or FREE
   * @param length the length of the body
   * @throws CorruptionException if it is damaged
   */
  public static AllocatorRecord parse(int type, MemorySegment src, long at, int length) {
    AllocatorRecord record;
    if (type == RecordType.ALLOCATE) {
      checkLength(length, ALLOCATE_BYTES);
      AllocatorState after =
          new AllocatorState(
              Mem.getLong(src, at + 32), Mem.getLong(src, at + 16), Mem.getLong(src, at + 24));
      int pageType = Mem.getInt(src, at + 12);
      record =
          new AllocatorRecord(Mem.getLong(src, at), Mem.getInt(src, at + 8), pageType, 0, after);
    } else {
      checkLength(length, FREE_BYTES);
      long pid = Mem.getLong(src, at);
      AllocatorState after =
          new AllocatorState(Mem.getLong(src, at + 24), pid, Mem.getLong(src, at + 16));
      record = new AllocatorRecord(pid, 0, PageHeader.FREE, Mem.getLong(src, at + 8), after);
    }
    record.check();
    return record;
  }

  private static void checkLength(int length, int expected) {
    if (length != expected) {
      throw new CorruptionException(
          "length of a log record of a page's allocation", -1, -1, expected, length);
    }
  }

  private void check() {
    after.check();
    if (pid < AllocatorState.FIRST_PID || pid >= after.highWater()) {
      throw new CorruptionException(
          "page of a log record of its allocation", pid, -1, after.highWater(), pid);
    }
    if (next < 0 || next >= after.highWater()) {
      throw new CorruptionException(
          "next free page in a log record", pid, -1, after.highWater(), next);
    }
  }
}
