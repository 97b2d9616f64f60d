package io.fovea.txn;

/**
 * The settings of a {@link TxEngine}.
 *
 * @param contexts how many transactions may be active at once; others wait to begin
 * @param scratchBytesMax how many bytes of keys and values one transaction may write
 * @param itemsMax how many items one transaction may read or write
 * @param exactBytes memory that the exact entries of {@link Timestamps} always take
 * @param exactBytesMax memory that they may take while long transactions use many
 * @param sketchRows rows of the sketch
 * @param sketchColumns columns of the sketch, a power of two
 * @param release when an exact entry may go back to the sketch
 * @param revalidateAll whether a commit checks every read against now, not against its timestamp:
 *     strict serializability for more aborts
 */
public record TxConfig(
    int contexts,
    long scratchBytesMax,
    int itemsMax,
    long exactBytes,
    long exactBytesMax,
    int sketchRows,
    int sketchColumns,
    Timestamps.Release release,
    boolean revalidateAll) {

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
}
