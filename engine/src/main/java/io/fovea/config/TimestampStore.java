package io.fovea.config;

/**
 * Where the timestamps of records are that no transaction uses at the moment. Those in use are kept
 * exactly, in memory, whatever is chosen here.
 *
 * <p>All give the same isolation. They differ in speed, in memory, and in needless aborts: a bound
 * that several records share lets transactions meet that have nothing to do with each other. {@link
 * #FOCUS_SKETCH} is the one to use; the others are there to be measured against.
 *
 * <p>Source: Hwang, High-Performance Transaction Processing in Disk-based Databases, University of
 * Washington 2025, chapter 3: approximate timestamp storage.
 *
 * @since 0.1.0
 */
public enum TimestampStore {
  /**
   * In pages of a file beside the database, which exists while that is open. A pool of an eighth of
   * the buffer's size keeps such pages, beside the buffer or {@linkplain
   * io.fovea.ExperimentOptions#timestampsInBuffer() as a part of it}. Each transaction reads and
   * writes its pages again.
   */
  DISK,
  /**
   * In such pages, with a cache of timestamps in memory, {@link
   * io.fovea.MemoryOptions#sketchBytesMin()} large.
   */
  DISK_CACHE,
  /**
   * In memory for every record that was ever used, 32 bytes for each; {@link
   * io.fovea.MemoryOptions#timestampBytes()} has to be enough, and transactions are aborted where
   * it is not.
   */
  MEMORY,
  /**
   * As one bound for all, with a cache of timestamps in memory, {@link
   * io.fovea.MemoryOptions#sketchBytesMin()} large.
   */
  FOCUS_COUNTER,
  /**
   * As bounds in a sketch of {@link io.fovea.MemoryOptions#sketchBytesMin()} and more. The default.
   */
  FOCUS_SKETCH
}
