package io.fovea.buffer;

import io.fovea.error.CorruptionException;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;

/**
 * Images of pages in log records.
 *
 * <pre>
 *   0      8        12       16
 *   +------+--------+--------+---------------------+--------------------+
 *   | pid  | from   | to     | bytes 0 .. from     | bytes to .. end    |
 *   +------+--------+--------+---------------------+--------------------+
 * </pre>
 *
 * The bytes between from and to are unused, and zero after replay. Checksum and page LSN are those
 * at the time of the record; replay sets the LSN to the end of the record.
 */
public final class PageImages {
  /** The size of an image's header, in bytes. */
  public static final int HEADER = 16;

  private PageImages() {}

  /** Returns the size of an image, in bytes. */
  public static int bytes(int pageSize, int from, int to) {
    return HEADER + pageSize - (to - from);
  }

  /** Writes an image, with its frame hints cleared; returns the offset of its end. */
  public static long put(
      MemorySegment dst,
      long at,
      long pid,
      MemorySegment pages,
      long base,
      int pageSize,
      int from,
      int to) {
    Mem.putLong(dst, at, pid);
    Mem.putInt(dst, at + 8, from);
    Mem.putInt(dst, at + 12, to);
    Mem.copy(pages, base, dst, at + HEADER, from);
    Mem.copy(pages, base + to, dst, at + HEADER + from, pageSize - to);
    PageCopy.clearFrameHints(dst, at + HEADER, pageSize, from, to);
    return at + HEADER + from + pageSize - to;
  }

  /**
   * Replays an image, if the page's LSN is less than the end of the record. A page that was never
   * written, or is damaged, counts as LSN 0.
   *
   * <p>The LSN decides, because the record was reserved with the page latched: changes by records
   * that begin later were made later, and raised its LSN beyond the end of this one.
   *
   * @param pool the pool; its high-water mark is raised, and its file grown, if the page needs it
   * @param src the log's memory
   * @param at the offset of the image
   * @param limit the end of the record in the memory: nothing at or after it is read
   * @param recLsn the start of the record in the log
   * @param pageLsn the end of the record in the log
   * @return the offset of the image's end
   * @throws CorruptionException if it is damaged
   */
  public static long apply(
      BufferPool pool, MemorySegment src, long at, long limit, long recLsn, long pageLsn) {
    int pageSize = pool.pageSize();
    long remaining = limit - at;
    if (at < 0 || remaining < HEADER) {
      throw new CorruptionException("length of an image in the log", -1, -1, HEADER, remaining);
    }
    long pid = Mem.getLong(src, at);
    int from = Mem.getInt(src, at + 8);
    int to = Mem.getInt(src, at + 12);
    if (from < PageHeader.BYTES || from > to || to > pageSize) {
      throw new CorruptionException("hole of an image in the log", pid, -1, pageSize, from);
    }
    int bytes = bytes(pageSize, from, to);
    if (bytes > remaining) {
      throw new CorruptionException("length of an image in the log", pid, -1, bytes, remaining);
    }
    long head = at + HEADER;
    if (PageHeader.pid(src, head) != pid) {
      throw new CorruptionException(
          "page of an image in the log", pid, -1, pid, PageHeader.pid(src, head));
    }
    int frame = pool.recovery().fixForImage(pid);
    long base = pool.base(frame);
    MemorySegment pages = pool.pages();
    if (PageHeader.pageLsn(pages, base) >= pageLsn) {
      pool.releaseExclusiveUnchanged(frame);
      return at + bytes;
    }
    pool.swizzling().clearParents(frame);
    Mem.copy(src, head, pages, base, from);
    Mem.zero(pages, base + from, to - from);
    Mem.copy(src, head + from, pages, base + to, pageSize - to);
    // The image's LSN is less: that of an earlier record.
    Mem.putLong(pages, base + PageHeader.PAGE_LSN, pageLsn);
    pool.swizzling().arrived(frame);
    pool.markDirty(frame, recLsn, pageLsn);
    pool.releaseExclusive(frame);
    return at + bytes;
  }
}
