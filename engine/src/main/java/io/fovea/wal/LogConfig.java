package io.fovea.wal;

/**
 * The sizes and times of a log.
 *
 * @param segmentBytes the size of a segment of the file
 * @param bufferBytes the size of the buffer in memory, a power of two
 * @param windowNanos of commits that do not wait, how long a record may stay in memory
 * @param windowBytes of commits that do not wait, how many bytes may stay in memory
 * @param keepBytes how much of the file may be needed as a rule. A file that has become larger, for
 *     something held the log back, is cut to that, and to what must be ready beside it, when the
 *     segments at its end are not needed any more. {@link Long#MAX_VALUE}: it never is
 * @param changeRetentionBytes how much of the log stays that no recovery needs, for who follows
 *     changes; 0: nothing
 */
public record LogConfig(
    long segmentBytes,
    int bufferBytes,
    long windowNanos,
    int windowBytes,
    long keepBytes,
    long changeRetentionBytes) {
  /** 64 MiB segments, a buffer of 16 MiB, a window of 5 ms or 1 MiB. */
  public static final LogConfig DEFAULT = new LogConfig(64L << 20, 16 << 20, 5_000_000, 1 << 20);

  /** A log of which nothing stays that no recovery needs. */
  public LogConfig(
      long segmentBytes, int bufferBytes, long windowNanos, int windowBytes, long keepBytes) {
    this(segmentBytes, bufferBytes, windowNanos, windowBytes, keepBytes, 0);
  }

  /** A log whose file is never cut. */
  public LogConfig(long segmentBytes, int bufferBytes, long windowNanos, int windowBytes) {
    this(segmentBytes, bufferBytes, windowNanos, windowBytes, Long.MAX_VALUE);
  }
}
