package io.fovea.wal;

/**
 * The sizes and times of a log.
 *
 * @param segmentBytes the size of a segment of the file
 * @param bufferBytes the size of the buffer in memory, a power of two
 * @param windowNanos of commits that do not wait, how long a record may stay in memory
 * @param windowBytes of commits that do not wait, how many bytes may stay in memory
 */
public record LogConfig(long segmentBytes, int bufferBytes, long windowNanos, int windowBytes) {
  /** 64 MiB segments, a buffer of 16 MiB, a window of 5 ms or 1 MiB. */
  public static final LogConfig DEFAULT = new LogConfig(64L << 20, 16 << 20, 5_000_000, 1 << 20);
}
