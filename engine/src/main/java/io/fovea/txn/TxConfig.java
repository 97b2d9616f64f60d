package io.fovea.txn;

/**
 * The settings of a {@link TxEngine}.
 *
 * @param contexts how many transactions may be active at once; others wait to begin
 * @param scratchBytesMax how many bytes of keys and values one transaction may write
 * @param itemsMax how many items one transaction may read or write
 * @param exactBytes memory that the exact entries of {@link Timestamps} always take
 * @param exactBytesMax memory that they may take while long transactions use many
 * @param timestamps where the timestamps of items out of use are
 * @param sketchRows rows of the sketch
 * @param sketchColumns columns of the sketch, a power of two
 * @param sketchColumnsMax a power of two up to which it may grow
 * @param release when an exact entry may go back to the sketch
 * @param revalidateAll whether a commit checks every read against now, not against its timestamp:
 *     strict serializability for more aborts
 * @param durability what a commit waits for, where there is a log
 * @param commitPartBytes a commit with more bytes of changes is appended in parts of about so many;
 *     at most an eighth of the log's buffer
 */
public record TxConfig(
    int contexts,
    long scratchBytesMax,
    int itemsMax,
    long exactBytes,
    long exactBytesMax,
    StoreKind timestamps,
    int sketchRows,
    int sketchColumns,
    int sketchColumnsMax,
    Timestamps.Release release,
    boolean revalidateAll,
    Durability durability,
    int commitPartBytes) {

  /** What a commit waits for. */
  public enum Durability {
    /** Until its own changes, and those that it read, are on stable storage. */
    SYNC,
    /** Only where more than the log's window is not there yet. */
    ASYNC,
    /** Nothing. */
    NONE
  }

  private static final int PART_BYTES = 2 << 20;

  /** Two rows of 2,048 columns: 32 KiB, as in the dissertation. */
  public static final TxConfig DEFAULT =
      new TxConfig(
          128,
          64L << 20,
          4 << 20,
          128L << 10,
          256L << 20,
          2,
          2048,
          Timestamps.Release.EPOCH,
          false);

  /** Focus-Sketch with {@link Durability#SYNC} and parts for a log's buffer of 16 MiB. */
  public TxConfig(
      int contexts,
      long scratchBytesMax,
      int itemsMax,
      long exactBytes,
      long exactBytesMax,
      int sketchRows,
      int sketchColumns,
      Timestamps.Release release,
      boolean revalidateAll) {
    this(
        contexts,
        scratchBytesMax,
        itemsMax,
        exactBytes,
        exactBytesMax,
        StoreKind.FOCUS_SKETCH,
        sketchRows,
        sketchColumns,
        sketchColumns,
        release,
        revalidateAll,
        Durability.SYNC,
        PART_BYTES);
  }

  /** The same with another durability, and parts that suit a log's buffer. */
  public TxConfig with(Durability other, int logBufferBytes) {
    return new TxConfig(
        contexts,
        scratchBytesMax,
        itemsMax,
        exactBytes,
        exactBytesMax,
        timestamps,
        sketchRows,
        sketchColumns,
        sketchColumnsMax,
        release,
        revalidateAll,
        other,
        logBufferBytes / 8);
  }

  /**
   * The same with another place for the timestamps of items out of use.
   *
   * @param kind the place
   * @param bytesMin what a cache or a sketch takes, exact entries apart
   * @param bytesMax up to which a sketch may grow
   */
  public TxConfig with(StoreKind kind, long bytesMin, long bytesMax) {
    int rows = TimestampConfig.rows(bytesMin);
    return new TxConfig(
        contexts,
        scratchBytesMax,
        itemsMax,
        kind.isCache() ? Math.min(exactBytes + bytesMin, exactBytesMax) : exactBytes,
        exactBytesMax,
        kind,
        rows,
        TimestampConfig.columns(bytesMin, rows),
        TimestampConfig.columns(bytesMax, rows),
        release,
        revalidateAll,
        durability,
        commitPartBytes);
  }

  /** What of it the timestamps are made from. */
  TimestampConfig timestampConfig() {
    return new TimestampConfig(
        timestamps,
        release,
        exactBytes,
        exactBytesMax,
        sketchRows,
        sketchColumns,
        sketchColumnsMax);
  }
}
