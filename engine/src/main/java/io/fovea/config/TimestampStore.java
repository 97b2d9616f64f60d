package io.fovea.config;

/**
 * Where the timestamps of records that no transaction uses are kept. The timestamps of records in
 * use are always exact and in memory.
 *
 * <p>All choices give the same isolation. They differ in speed, memory and false conflicts: a bound
 * shared by several records can make unrelated transactions conflict. Use {@link #FOCUS_SKETCH};
 * the others exist for comparison.
 *
 * <p>Source: Hwang, High-Performance Transaction Processing in Disk-based Databases, University of
 * Washington 2025, chapter 3: approximate timestamp storage.
 *
 * @since 0.1.0
 */
public enum TimestampStore {
  /**
   * In pages of a temporary file next to the database. Their pool has an eighth of the buffer's
   * size, in addition to the buffer or {@linkplain io.fovea.ExperimentOptions#timestampsInBuffer()
   * as part of it}. Each transaction reads and writes these pages.
   */
  DISK,
  /**
   * Like {@link #DISK}, with an in-memory cache of timestamps whose size is {@link
   * io.fovea.MemoryOptions#sketchBytesMin()}.
   */
  DISK_CACHE,
  /**
   * In memory, for every record ever used. {@link io.fovea.MemoryOptions#timestampBytes()} must be
   * 64 bytes per record; if it is too small, transactions are aborted.
   */
  MEMORY,
  /**
   * As one bound for all records, with an in-memory cache of timestamps whose size is {@link
   * io.fovea.MemoryOptions#sketchBytesMin()}.
   */
  FOCUS_COUNTER,
  /**
   * As bounds in a sketch of at least {@link io.fovea.MemoryOptions#sketchBytesMin()}. The default.
   */
  FOCUS_SKETCH
}
