package io.fovea.btree;

import io.fovea.buffer.PageImages;
import io.fovea.error.CorruptionException;
import io.fovea.memory.Mem;
import io.fovea.wal.RecordType;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * Rebuilds the long values of a commit from page images in the log, since the pages themselves may
 * be reused by now.
 *
 * <pre>
 *   collect(pid) ...   the pages that the commit adopts
 *   add(record) ...    CHAIN records before the commit, in order: the last image of a page counts
 *   value(first, n)    the value that begins in a page
 * </pre>
 *
 * <p>Used by one thread.
 */
public final class LoggedChains {
  private record Part(long next, byte[] bytes) {}

  private final int pageSize;
  private final Set<Long> requested = new HashSet<>();
  private final Map<Long, Part> parts = new HashMap<>();

  /** Creates an instance without pages. */
  public LoggedChains(int pageSize) {
    this.pageSize = pageSize;
  }

  /** Adds a page to collect. */
  public void collect(long pid) {
    requested.add(pid);
  }

  /** Returns whether there are pages to collect. */
  public boolean isWanted() {
    return !requested.isEmpty();
  }

  /** Collects the requested images from the body of a CHAIN record. */
  public void add(MemorySegment s, long at, int length, long lsn) {
    StructureRecord.visit(
        RecordType.CHAIN,
        s,
        at,
        length,
        pageSize,
        lsn,
        new StructureRecord.Visitor() {
          @Override
          public void image(long pid, long image, long end) {
            if (requested.contains(pid)) {
              parts.put(pid, part(s, image + PageImages.HEADER, end, pid));
            }
          }

          @Override
          public void released(long pid) {}
        });
  }

  private static Part part(MemorySegment s, long page, long end, long pid) {
    int length = end - page < OverflowChain.DATA ? -1 : Mem.getInt(s, page + OverflowChain.BYTES);
    if (length < 0 || length > end - page - OverflowChain.DATA) {
      throw new CorruptionException(
          "bytes of a long value in the log", pid, -1, end - page - OverflowChain.DATA, length);
    }
    byte[] bytes = Mem.bytes(s, page + OverflowChain.DATA, length);
    return new Part(Mem.getLong(s, page + OverflowChain.NEXT), bytes);
  }

  /**
   * Returns the value that begins in a page; throws {@link CorruptionException} if a part is
   * missing.
   */
  public byte[] value(long first, int length) {
    if (length > OverflowChain.VALUE_BYTES_MAX) {
      throw new CorruptionException(
          "length of a long value in the log", first, -1, OverflowChain.VALUE_BYTES_MAX, length);
    }
    byte[] value = new byte[length];
    int done = 0;
    for (long pid = first; done < length; ) {
      Part part = parts.get(pid);
      if (part == null || part.bytes.length == 0 || part.bytes.length > length - done) {
        throw new CorruptionException("a page of a long value in the log", pid, -1, length, done);
      }
      System.arraycopy(part.bytes, 0, value, done, part.bytes.length);
      done += part.bytes.length;
      pid = part.next;
    }
    return value;
  }

  /** Removes all pages. */
  public void clear() {
    requested.clear();
    parts.clear();
  }
}
