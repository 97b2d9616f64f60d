package io.fovea.txn;

/**
 * The settings of {@link Timestamps}.
 *
 * @param kind where the timestamps of items out of use are
 * @param release how it is known that an entry of the exact table is out of use; without effect
 *     with {@link StoreKind#MEMORY}, always {@link Release#IMMEDIATE} with {@link StoreKind#DISK}
 * @param activeTimestampBytes memory of the exact table that is always used: 32 bytes an entry,
 *     best twice as many as contexts times keys of a transaction; with {@link StoreKind#MEMORY}
 *     half of the budget is taken instead
 * @param budgetBytes what the exact table may take when transactions pin more than that; it costs
 *     address space until then
 * @param sketchRows of a sketch: 1 to 8
 * @param sketchColumns of a sketch: a power of two, with which it begins and below which it never
 *     falls
 * @param sketchColumnsMax a power of two up to which it may grow; equal to {@code sketchColumns}
 *     for one of fixed size
 */
public record TimestampConfig(
    StoreKind kind,
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
  public static long activeTimestampBytes(StoreKind kind) {
    return kind.isCache() ? EXACT_BESIDE_CACHE_BYTES : EXACT_BYTES;
  }

  /** Focus-Sketch of a fixed size. */
  public static TimestampConfig sketch(
      long activeTimestampBytes, long budgetBytes, int rows, int columns, Release release) {
    return new TimestampConfig(
        StoreKind.FOCUS_SKETCH, release, activeTimestampBytes, budgetBytes, rows, columns, columns);
  }

  /**
   * Of a size in bytes: two rows, as in the dissertation, where they fit.
   *
   * @param bytesMin what a sketch or, at least, a cache takes, the exact table apart; columns are
   *     rounded down, a cache and the entries in use together up to a power of two
   * @param maxBytes up to which a sketch may grow
   */
  public static TimestampConfig of(
      StoreKind kind,
      Release release,
      long activeTimestampBytes,
      long budgetBytes,
      long bytesMin,
      long maxBytes) {
    int rows = rows(bytesMin);
    return new TimestampConfig(
        kind,
        release,
        kind.isCache()
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
    return kind == StoreKind.MEMORY
        ? budgetBytes
        : activeTimestampBytes + (kind == StoreKind.FOCUS_SKETCH ? sketchBytesMax() : 0);
  }

  /** The bytes that the sketch may take. */
  public long sketchBytesMax() {
    return (long) Long.BYTES * sketchRows * sketchColumnsMax;
  }

  Release effectiveRelease() {
    return kind == StoreKind.DISK ? Release.IMMEDIATE : release;
  }

  /** How wide columns of the table are in level 0: see {@link TimestampTable}. */
  int wideBits() {
    return kind == StoreKind.MEMORY ? 6 : 0;
  }

  /** Level 0 of the table. */
  long firstBytes() {
    return kind == StoreKind.MEMORY
        ? Math.max(activeTimestampBytes, budgetBytes / 2)
        : activeTimestampBytes;
  }
}
