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
 * @param durability what a commit waits for, where there is a log
 * @param commitPartBytes a commit with more bytes of changes is appended in parts of about so many;
 *     at most an eighth of the log's buffer
 * @param protocol what makes transactions serializable
 * @param protocolBytes native memory of what a protocol keeps for all transactions, where it keeps
 *     any: lock words, or write sets of the past; a power of two
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
    boolean revalidateAll,
    Durability durability,
    int commitPartBytes,
    ProtocolKind protocol,
    long protocolBytes) {

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
  private static final long PROTOCOL_BYTES = 8L << 20;

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

  /** With {@link Durability#SYNC} and parts for a log's buffer of 16 MiB. */
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
        sketchRows,
        sketchColumns,
        release,
        revalidateAll,
        Durability.SYNC,
        PART_BYTES,
        ProtocolKind.TICTOC,
        PROTOCOL_BYTES);
  }

  /** The same with another durability, and parts that suit a log's buffer. */
  public TxConfig with(Durability other, int logBufferBytes) {
    return new TxConfig(
        contexts,
        scratchBytesMax,
        itemsMax,
        exactBytes,
        exactBytesMax,
        sketchRows,
        sketchColumns,
        release,
        revalidateAll,
        other,
        logBufferBytes / 8,
        protocol,
        protocolBytes);
  }

  /** The same under another protocol. */
  public TxConfig with(ProtocolKind other) {
    return with(other, protocolBytes);
  }

  /** The same under another protocol, with so much memory for what it keeps. */
  TxConfig with(ProtocolKind other, long bytes) {
    return new TxConfig(
        contexts,
        scratchBytesMax,
        itemsMax,
        exactBytes,
        exactBytesMax,
        sketchRows,
        sketchColumns,
        release,
        revalidateAll,
        durability,
        commitPartBytes,
        other,
        bytes);
  }
}
