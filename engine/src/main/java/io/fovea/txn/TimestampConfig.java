package io.fovea.txn;

import io.fovea.config.TimestampStore;

/**
 * The settings of {@link Timestamps}.
 *
 * @param kind where the timestamps of items out of use are
 * @param release how it is known that an entry of the exact table is out of use; without effect
 *     with {@link TimestampStore#MEMORY}, always {@link Release#IMMEDIATE} with {@link
 *     TimestampStore#DISK}
 * @param activeTimestampBytes memory of the exact table that is always used: 32 bytes an entry,
 *     best twice as many as contexts times keys of a transaction; with {@link
 *     TimestampStore#MEMORY} half of the budget is taken instead
 * @param budgetBytes what the exact table may take when transactions pin more than that; it costs
 *     address space until then
 * @param sketchRows of a sketch: 1 to 8
 * @param sketchColumns of a sketch: a power of two, with which it begins and below which it never
 *     falls
 * @param sketchColumnsMax a power of two up to which it may grow; equal to {@code sketchColumns}
 *     for one of fixed size
 */
public record TimestampConfig(
    TimestampStore kind,
    Release release,
    long activeTimestampBytes,
    long budgetBytes,
    int sketchRows,
    int sketchColumns,
    int sketchColumnsMax) {
  /** How it is known that an entry of the exact table is no longer in use. */
  public enum Release {
    /** No transaction is running that is as old as the last use. */
    EPOCH,
    /** Each user has added one and taken it away again. */
    REFERENCE_COUNT,
    /**
     * The same, and any transaction that takes the last one away releases the entry: the
     * dissertation's algorithm 2.
     */
    IMMEDIATE
  }

  /** Twice the keys of 128 transactions of 64 keys each. */
  private static final long EXACT_BYTES = 512L << 10;

  /** The same for transactions of 16 keys: what a cache has beside what it was asked to have. */
  private static final long EXACT_BESIDE_CACHE_BYTES = 128L << 10;

  /** How large the exact table of a store is by default. */
  public static long activeTimestampBytes(TimestampStore kind) {
    return isCache(kind) ? EXACT_BESIDE_CACHE_BYTES : EXACT_BYTES;
  }

  /** Whether there are pages. */
  public static boolean onDisk(TimestampStore kind) {
    return kind == TimestampStore.DISK || kind == TimestampStore.DISK_CACHE;
  }

  /** Whether there are pages. */
  public boolean onDisk() {
    return onDisk(kind);
  }

  /** Whether the entry that is longest out of use makes room, rather than the nearest. */
  static boolean isCache(TimestampStore kind) {
    return kind == TimestampStore.DISK_CACHE || kind == TimestampStore.FOCUS_COUNTER;
  }

  /** Focus-Sketch of a fixed size. */
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
   * Of a size in bytes: two rows, as in the dissertation, where they fit.
   *
   * @param bytesMin what a sketch or, at least, a cache takes, the exact table apart; columns are
   *     rounded down, a cache and the entries in use together up to a power of two
   * @param maxBytes up to which a sketch may grow
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

  /**
   * A cache is a part of the exact table, whose size is a power of two: the next larger one, so
   * that what was asked for is there.
   */
  private static long withCache(long activeTimestampBytes, long cacheBytes, long budgetBytes) {
    long bytes = activeTimestampBytes + cacheBytes;
    return Math.min(Long.highestOneBit(2 * bytes - 1), budgetBytes);
  }

  /** How many rows a sketch of so many bytes has: two, as in the dissertation, where they fit. */
  static int rows(long bytes) {
    return bytes >= 2 * Long.BYTES ? 2 : 1;
  }

  /** How many columns a sketch of so many bytes has: a power of two, rounded down. */
  public static int columns(long bytes, int rows) {
    return (int) Long.highestOneBit(Math.max(1, bytes / Long.BYTES / rows));
  }

  /**
   * What all of this takes, pages apart, where transactions use no more records at a time than the
   * region of exact timestamps is for; all of the budget where entries stay for ever.
   */
  public long memoryBytes() {
    return kind == TimestampStore.MEMORY
        ? budgetBytes
        : activeTimestampBytes + (kind == TimestampStore.FOCUS_SKETCH ? sketchBytesMax() : 0);
  }

  /** The bytes that the sketch may take. */
  public long sketchBytesMax() {
    return (long) Long.BYTES * sketchRows * sketchColumnsMax;
  }

  Release effectiveRelease() {
    return kind == TimestampStore.DISK ? Release.IMMEDIATE : release;
  }

  /** How wide columns of the table are in level 0: see {@link TimestampTable}. */
  int wideBits() {
    return kind == TimestampStore.MEMORY ? 6 : 0;
  }

  /** Level 0 of the table. */
  long firstBytes() {
    return kind == TimestampStore.MEMORY
        ? Math.max(activeTimestampBytes, budgetBytes / 2)
        : activeTimestampBytes;
  }
}
