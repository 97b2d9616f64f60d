package io.fovea.buffer;

import io.fovea.error.CorruptionException;
import io.fovea.memory.Mem;
import io.fovea.wal.LogSession;
import io.fovea.wal.RecordType;
import java.lang.foreign.MemorySegment;

/**
 * A log record of a change in the middle of the free list: MOVED moves pages to its top, and
 * TRUNCATED removes the pages at the end of the file.
 *
 * <pre>
 *   0          8           16          24      28     32
 *   | freeHead | freePages | highWater | links | zero | page, next | page, next | ...
 *     after it                                          the pages whose link has changed
 * </pre>
 *
 * <p>Like ALLOCATE and FREE records, it is reserved under the allocator's spin latch, together with
 * the change of the state. The pages of all links stay latched until they are changed.
 *
 * @since 0.1.0
 */
public final class FreeListRecord {
  static final int HEADER = 32;
  static final int LINK = 16;

  /** Receives the links of a record. */
  @FunctionalInterface
  public interface Visitor {
    /**
     * Receives a page of the free list whose link has changed.
     *
     * @param pid the page
     * @param next the next free page; 0 for none
     */
    void link(long pid, long next);
  }

  private FreeListRecord() {}

  /** Returns whether a log record is one of these. */
  public static boolean is(int type) {
    return type == RecordType.MOVED || type == RecordType.TRUNCATED;
  }

  static int bytes(int links) {
    return HEADER + LINK * links;
  }

  static long space(int links) {
    return LogSession.space(bytes(links));
  }

  static void put(MemorySegment dst, long at, AllocatorState after, FreeListChange change) {
    Mem.putLong(dst, at, after.freeHead());
    Mem.putLong(dst, at + 8, after.freePages());
    Mem.putLong(dst, at + 16, after.highWater());
    Mem.putInt(dst, at + 24, change.links());
    Mem.putInt(dst, at + 28, 0);
    for (int i = 0; i < change.links(); i++) {
      long link = at + HEADER + (long) LINK * i;
      Mem.putLong(dst, link, change.pid(i));
      Mem.putLong(dst, link + 8, change.next(i));
    }
  }

  /**
   * Reads the body of a record.
   *
   * @param src the memory
   * @param at the offset of the body
   * @param length the length of the body
   * @param visitor receives the links
   * @return the allocator's state after the change
   * @throws CorruptionException if it is damaged
   */
  public static AllocatorState visit(MemorySegment src, long at, int length, Visitor visitor) {
    int links = length < HEADER ? -1 : Mem.getInt(src, at + 24);
    if (links < 0 || length - HEADER != (long) LINK * links) {
      throw new CorruptionException(
          "length of a log record of the free list", -1, -1, HEADER + (long) LINK * links, length);
    }
    AllocatorState after =
        new AllocatorState(
            Mem.getLong(src, at + 16), Mem.getLong(src, at), Mem.getLong(src, at + 8));
    after.check();
    for (int i = 0; i < links; i++) {
      long link = at + HEADER + (long) LINK * i;
      long pid = page(Mem.getLong(src, link), after, false);
      visitor.link(pid, page(Mem.getLong(src, link + 8), after, true));
    }
    return after;
  }

  private static long page(long pid, AllocatorState after, boolean none) {
    boolean is = pid >= AllocatorState.FIRST_PID && pid < after.highWater();
    if (!is && !(none && pid == 0)) {
      throw new CorruptionException(
          "free page in a log record of the free list", pid, -1, after.highWater(), pid);
    }
    return pid;
  }
}
