package io.fovea.txn;

/**
 * The settings of {@link Timestamps}.
 *
 * @param kind where the timestamps of items out of use are
 * @param release how it is known that an exact entry is out of use; without effect with {@link
 *     StoreKind#MEMORY}, always {@link Timestamps.Release#IMMEDIATE} with {@link StoreKind#DISK}
 * @param exactBytes memory of the exact entries that is always used: 32 bytes for each, best twice
 *     as many as contexts times keys of a transaction; with {@link StoreKind#MEMORY} half of the
 *     budget is taken instead
 * @param budgetBytes what the exact entries may take when transactions pin more than that; it costs
 *     address space until then
 * @param sketchRows of a sketch: 1 to 8
 * @param sketchColumns of a sketch: a power of two, with which it begins and below which it never
 *     falls
 * @param sketchColumnsMax a power of two up to which it may grow; equal to {@code sketchColumns}
 *     for one of fixed size
 */
public record TimestampConfig(
    StoreKind kind,
    Timestamps.Release release,
    long exactBytes,
    long budgetBytes,
    int sketchRows,
    int sketchColumns,
    int sketchColumnsMax) {
  /** Twice the keys of 128 transactions of 64 keys each. */
  private static final long EXACT_BYTES = 512L << 10;

  /** The same for transactions of 16 keys: what a cache has beside what it was asked to have. */
  private static final long EXACT_BESIDE_CACHE_BYTES = 128L << 10;

  /** How large the exact entries of a store are by default. */
  public static long exactBytes(StoreKind kind) {
    return kind.isCache() ? EXACT_BESIDE_CACHE_BYTES : EXACT_BYTES;
  }

  /** Focus-Sketch of a fixed size. */
  public static TimestampConfig sketch(
      long exactBytes, long budgetBytes, int rows, int columns, Timestamps.Release release) {
    return new TimestampConfig(
        StoreKind.FOCUS_SKETCH, release, exactBytes, budgetBytes, rows, columns, columns);
  }

  /**
   * Of a size in bytes: two rows, as in the dissertation, where they fit.
   *
   * @param bytesMin what a sketch or, at least, a cache takes, exact entries apart; columns are
   *     rounded down, a cache and the entries in use together up to a power of two
   * @param bytesMax up to which a sketch may grow
   */
  public static TimestampConfig of(
      StoreKind kind,
      Timestamps.Release release,
      long exactBytes,
      long budgetBytes,
      long bytesMin,
      long bytesMax) {
    int rows = rows(bytesMin);
    return new TimestampConfig(
        kind,
        release,
        kind.isCache() ? withCache(exactBytes, bytesMin, budgetBytes) : exactBytes,
        budgetBytes,
        rows,
        columns(bytesMin, rows),
        columns(bytesMax, rows));
  }

  /**
   * A cache is a part of the exact entries, whose number is a power of two: the next larger one, so
   * that what was asked for is there.
   */
  private static long withCache(long exactBytes, long cacheBytes, long budgetBytes) {
    long bytes = exactBytes + cacheBytes;
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

  Timestamps.Release effectiveRelease() {
    return kind == StoreKind.DISK ? Timestamps.Release.IMMEDIATE : release;
  }

  /** How wide columns of the table are in level 0: see {@link TimestampTable}. */
  int wideBits() {
    return kind == StoreKind.MEMORY ? 6 : 0;
  }

  /** Level 0 of the table. */
  long firstBytes() {
    return kind == StoreKind.MEMORY ? Math.max(exactBytes, budgetBytes / 2) : exactBytes;
  }
}
