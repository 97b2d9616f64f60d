package io.fovea.buffer;

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

  /** Writes an image; returns where it ends. */
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
    return at + HEADER + from + pageSize - to;
  }

  /** Replays an image, where the page is older; returns where it ends. */
  public static long apply(
      BufferPool pool, MemorySegment src, long at, long limit, long recLsn, long pageLsn) {
    throw new UnsupportedOperationException();
  }
}
