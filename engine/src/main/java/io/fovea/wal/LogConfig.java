package io.fovea.wal;

/**
 * The sizes and time limits of a log.
 *
 * @param segmentBytes the size of a segment of the file
 * @param bufferBytes the size of the buffer in memory, a power of two
 * @param windowNanos the longest time that the record of an asynchronous commit stays in memory
 * @param windowBytes the maximum number of bytes that asynchronous commits may leave in memory
 * @param keepBytes the size that the file normally needs. A file that has grown beyond it because
 *     something held back recycling is cut to this size plus the slots made ahead, once the
 *     segments at its end are free. {@link Long#MAX_VALUE}: never
 * @param changeRetentionBytes the log retained for change subscribers beyond the needs of recovery;
 *     0 for none
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

  /** Creates a configuration that retains nothing for change subscribers. */
  public LogConfig(
      long segmentBytes, int bufferBytes, long windowNanos, int windowBytes, long keepBytes) {
    this(segmentBytes, bufferBytes, windowNanos, windowBytes, keepBytes, 0);
  }

  /** Creates a configuration of a log whose file is never cut. */
  public LogConfig(long segmentBytes, int bufferBytes, long windowNanos, int windowBytes) {
    this(segmentBytes, bufferBytes, windowNanos, windowBytes, Long.MAX_VALUE);
  }
}
