package io.fovea.txn;

import io.fovea.config.TimestampStore;

/**
 * The settings of {@link Timestamps}.
 *
 * @param kind where the timestamps of unused items are kept
 * @param release when an entry of the exact table is unused; ignored with {@link
 *     TimestampStore#MEMORY}, always {@link Release#IMMEDIATE} with {@link TimestampStore#DISK}
 * @param activeTimestampBytes memory of the exact table that is always used: 32 bytes per entry,
 *     best sized for twice the number of contexts times the keys of a transaction; with {@link
 *     TimestampStore#MEMORY} at least half of the budget
 * @param budgetBytes limit of the exact table; costs only address space until used
 * @param sketchRows 1 to 8
 * @param sketchColumns the initial and minimum size of a sketch, a power of two
 * @param sketchColumnsMax the maximum size, a power of two; equal to {@code sketchColumns} if fixed
 */
public record TimestampConfig(
    TimestampStore kind,
    Release release,
    long activeTimestampBytes,
    long budgetBytes,
    int sketchRows,
    int sketchColumns,
    int sketchColumnsMax) {
  /** When an entry of the exact table counts as unused. */
  public enum Release {
    /** No running transaction is as old as the last use. */
    EPOCH,
    /** Every user has dropped its reference. */
    REFERENCE_COUNT,
    /**
     * Every user has dropped its reference, and the last one releases the entry: the dissertation's
     * algorithm 2.
     */
    IMMEDIATE
  }

  /** Entries for twice the keys of 128 transactions of 64 keys each. */
  private static final long EXACT_BYTES = 512L << 10;

  /**
   * Entries for twice the keys of 128 transactions of 16 keys each: added to the size of a cache.
   */
  private static final long EXACT_WITH_CACHE_BYTES = 128L << 10;

  /** Returns the default size of a store's exact table. */
  public static long activeTimestampBytes(TimestampStore kind) {
    return isCache(kind) ? EXACT_WITH_CACHE_BYTES : EXACT_BYTES;
  }

  /** Returns whether timestamps are in pages. */
  public static boolean onDisk(TimestampStore kind) {
    return kind == TimestampStore.DISK || kind == TimestampStore.DISK_CACHE;
  }

  /** Returns whether timestamps are in pages. */
  public boolean onDisk() {
    return onDisk(kind);
  }

  /** Returns whether the least recently used entry is replaced, rather than the nearest. */
  static boolean isCache(TimestampStore kind) {
    return kind == TimestampStore.DISK_CACHE || kind == TimestampStore.FOCUS_COUNTER;
  }

  /** Returns settings for a sketch of fixed size. */
  public static TimestampConfig sketch(
      long activeTimestampBytes, long budgetBytes, int rows, int columns, Release release) {
    return new TimestampConfig(
        TimestampStore.FOCUS_SKETCH,
        release,
        activeTimestampBytes,
        budgetBytes,
        rows,
        columns,
        columns);
  }

  /**
   * Returns settings for sizes in bytes, with two rows, as in the dissertation, if they fit.
   *
   * @param bytesMin the minimum size of a sketch, rounded down to a power of two, or the size of a
   *     cache, rounded up together with the entries in use
   * @param maxBytes the maximum size of a sketch
   */
  public static TimestampConfig of(
      TimestampStore kind,
      Release release,
      long activeTimestampBytes,
      long budgetBytes,
      long bytesMin,
      long maxBytes) {
    int rows = rows(bytesMin);
    return new TimestampConfig(
        kind,
        release,
        isCache(kind)
            ? withCache(activeTimestampBytes, bytesMin, budgetBytes)
            : activeTimestampBytes,
        budgetBytes,
        rows,
        columns(bytesMin, rows),
        columns(maxBytes, rows));
  }

  /** Adds a cache to the exact table, whose size is a power of two, rounded up. */
  private static long withCache(long activeTimestampBytes, long cacheBytes, long budgetBytes) {
    long bytes = activeTimestampBytes + cacheBytes;
    return Math.min(Long.highestOneBit(2 * bytes - 1), budgetBytes);
  }

  static int rows(long bytes) {
    return bytes >= 2 * Long.BYTES ? 2 : 1;
  }

  /** Returns the number of columns of a sketch of a given size: a power of two, rounded down. */
  public static int columns(long bytes, int rows) {
    return (int) Long.highestOneBit(Math.max(1, bytes / Long.BYTES / rows));
  }

  /** Returns the memory use, without pages, if the working set fits the exact table. */
  public long memoryBytes() {
    return kind == TimestampStore.MEMORY
        ? budgetBytes
        : activeTimestampBytes + (kind == TimestampStore.FOCUS_SKETCH ? sketchBytesMax() : 0);
  }

  /** Returns the maximum size of the sketch, in bytes. */
  public long sketchBytesMax() {
    return (long) Long.BYTES * sketchRows * sketchColumnsMax;
  }

  Release effectiveRelease() {
    return kind == TimestampStore.DISK ? Release.IMMEDIATE : release;
  }

  int wideBits() {
    return kind == TimestampStore.MEMORY ? 6 : 0;
  }

  long firstBytes() {
    return kind == TimestampStore.MEMORY
        ? Math.max(activeTimestampBytes, budgetBytes / 2)
        : activeTimestampBytes;
  }
}
