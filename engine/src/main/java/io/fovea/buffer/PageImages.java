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
 * What lies between from and to means nothing and is zero after replay. Checksum and page LSN are
 * those of the moment; replay sets the LSN to the end of the record.
 */
public final class PageImages {
  /** The bytes of an image before the page's. */
  public static final int HEADER = 16;

  private PageImages() {}

  /** How many bytes an image takes. */
  public static int bytes(int pageSize, int from, int to) {
    return HEADER + pageSize - (to - from);
  }

  /** Writes an image, without the hints that are in it; returns where it ends. */
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
    PageCopy.forgetFrames(dst, at + HEADER, pageSize, from, to);
    return at + HEADER + from + pageSize - to;
  }

  /**
   * Replays an image, where the page is older: where its LSN is less than the end of the record. A
   * page that was never written, or is damaged, counts as LSN 0.
   *
   * <p>The LSN decides, for the record was reserved with the page latched: what the page has of
   * records that begin later came later, and moved its LSN beyond the end of this one.
   *
   * @param pool its high-water mark is raised, and its file grown, where the page needs it
   * @param src the log's memory
   * @param at where the image begins
   * @param limit where the record ends in the memory: nothing from there on is read
   * @param recLsn where the record begins in the log
   * @param pageLsn where it ends in the log
   * @return where the image ends
   * @throws CorruptionException where it is none
   */
  public static long apply(
      BufferPool pool, MemorySegment src, long at, long limit, long recLsn, long pageLsn) {
    int pageSize = pool.pageSize();
    long room = limit - at;
    if (at < 0 || room < HEADER) {
      throw new CorruptionException("length of an image in the log", -1, -1, HEADER, room);
    }
    long pid = Mem.getLong(src, at);
    int from = Mem.getInt(src, at + 8);
    int to = Mem.getInt(src, at + 12);
    if (from < PageHeader.BYTES || from > to || to > pageSize) {
      throw new CorruptionException("hole of an image in the log", pid, -1, pageSize, from);
    }
    int bytes = bytes(pageSize, from, to);
    if (bytes > room) {
      throw new CorruptionException("length of an image in the log", pid, -1, bytes, room);
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
    pool.swizzling().disown(frame);
    Mem.copy(src, head, pages, base, from);
    Mem.zero(pages, base + from, to - from);
    Mem.copy(src, head + from, pages, base + to, pageSize - to);
    // The LSN of the moment is less: it was that of a record before this one.
    Mem.putLong(pages, base + PageHeader.PAGE_LSN, pageLsn);
    pool.swizzling().arrived(frame);
    pool.markDirty(frame, recLsn, pageLsn);
    pool.releaseExclusive(frame);
    return at + bytes;
  }
}
