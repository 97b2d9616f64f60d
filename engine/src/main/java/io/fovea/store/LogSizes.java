package io.fovea.store;

import io.fovea.error.InvalidUseException;
import io.fovea.wal.LogConfig;
import org.jspecify.annotations.Nullable;

/**
 * Constraints between the sizes of a log, checked together so that one message lists all
 * corrections.
 *
 * <pre>
 *   page size ──x 16──► buffer ──/ 4, and three blocks──► segment
 *                          └──────────x 4──────────► maximum ◄──x 4──┘
 * </pre>
 *
 * <p>The buffer holds the page images of a structure change. The largest group takes a quarter of
 * the buffer and must fit into a segment, in addition to the segment's first and last block. The
 * maximum leaves room for further segments and buffers during a checkpoint.
 *
 * @param bufferBytes the size of the log's buffer, LogOptions.bufferBytes
 * @param segmentBytes the size of a segment, LogOptions.segmentBytes
 * @param maxBytes the maximum size of the whole log, LogOptions.maxBytes
 */
public record LogSizes(long bufferBytes, long segmentBytes, long maxBytes) {
  private static final int PAGES = 16;
  private static final long BLOCK = 4096;
  private static final int PARTS = 4;
  private static final long BUFFER_MIN = 64 << 10;
  private static final long SEGMENT_MIN = 64 << 10;

  static LogSizes of(LogConfig log) {
    return new LogSizes(log.bufferBytes(), log.segmentBytes(), log.keepBytes());
  }

  /**
   * Checks all sizes.
   *
   * @throws InvalidUseException if the sizes do not fit together; the message names sizes that do
   */
  public static void check(LogConfig log, int pageSize) {
    LogSizes is = of(log);
    LogSizes larger = is.raised(pageSize);
    if (larger.equals(is)) {
      return;
    }
    LogSizes smaller = is.lowered(pageSize);
    throw new InvalidUseException(
        "The sizes of the log do not fit together: pages of "
            + pageSize
            + " bytes, Options"
            + is
            + ". The buffer must hold "
            + PAGES
            + " pages, a segment a quarter of the buffer and three blocks of "
            + BLOCK
            + " bytes, and the maximum four segments and four buffers. These do: Options"
            + larger
            + (smaller == null ? "" : ", or with less Options" + smaller)
            + '.');
  }

  /** Returns these sizes, raised where they are too small for the others. */
  public LogSizes raised(int pageSize) {
    long buffer = Math.max(bufferBytes, bufferMin(pageSize));
    long segment = Math.max(segmentBytes, segmentMin(buffer));
    return new LogSizes(buffer, segment, Math.max(maxBytes, maxMin(buffer, segment)));
  }

  /** Lowers the sizes to fit the maximum; returns null if that is impossible or unnecessary. */
  private @Nullable LogSizes lowered(int pageSize) {
    long max = maxBytes / PARTS;
    long buffer = Math.min(bufferBytes, Long.highestOneBit(max));
    long segment = Math.min(segmentBytes, max & -BLOCK);
    LogSizes smaller = new LogSizes(buffer, segment, maxBytes);
    return smaller.equals(this) || !smaller.raised(pageSize).equals(smaller) ? null : smaller;
  }

  // Written out, because the JVM would otherwise generate classes for these methods at the first
  // opening.
  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof LogSizes s
        && bufferBytes == s.bufferBytes
        && segmentBytes == s.segmentBytes
        && maxBytes == s.maxBytes;
  }

  @Override
  public int hashCode() {
    return Long.hashCode(bufferBytes + 31 * segmentBytes + 961 * maxBytes);
  }

  private static long bufferMin(int pageSize) {
    return Math.max(BUFFER_MIN, (long) PAGES * pageSize);
  }

  private static long segmentMin(long buffer) {
    return Math.max(SEGMENT_MIN, buffer / PARTS + 3 * BLOCK);
  }

  private static long maxMin(long buffer, long segment) {
    return PARTS * Math.max(buffer, segment);
  }

  /** Returns the sizes as calls of setters. */
  @Override
  public String toString() {
    return ".log(log -> log.bufferBytes("
        + bufferBytes
        + ").segmentBytes("
        + segmentBytes
        + ").maxBytes("
        + maxBytes
        + "))";
  }
}
