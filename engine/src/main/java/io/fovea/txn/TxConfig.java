package io.fovea.txn;

/**
 * The settings of a {@link TxEngine}.
 *
 * @param contexts how many transactions may be active at once; others wait to begin
 * @param scratchBytesMax how many bytes of keys and values one transaction may write
 * @param itemsMax how many items one transaction may read or write
 * @param timestamps where timestamps are
 * @param revalidateAll whether a commit checks every read against now, not against its timestamp:
 *     strict serializability for more aborts
 * @param placesRemembered whether read and write sets remember where records were
 * @param durability what a commit waits for, where there is a log
 * @param commitPartBytes a commit with more bytes of changes is appended in parts of about so many;
 *     at most an eighth of the log's buffer
 * @param protocol what makes transactions serializable
 * @param protocolBytes native memory of what a protocol keeps for all transactions, where it keeps
 *     any: lock words, write sets or versions of the past; a power of two
 */
public record TxConfig(
    int contexts,
    long scratchBytesMax,
    int itemsMax,
    TimestampConfig timestamps,
    boolean revalidateAll,
    boolean placesRemembered,
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

  /** The most records that one transaction reads and writes, where nobody says otherwise. */
  public static final int ITEMS_MAX = 4 << 20;

  /**
   * Focus-Sketch with two rows of 2,048 columns, 32 KiB, as in the dissertation; {@link
   * Durability#SYNC} and parts for a log's buffer of 16 MiB.
   */
  public static final TxConfig DEFAULT =
      new TxConfig(
          128,
          64L << 20,
          ITEMS_MAX,
          TimestampConfig.sketch(
              TimestampConfig.exactBytes(StoreKind.FOCUS_SKETCH),
              256L << 20,
              2,
              2048,
              Timestamps.Release.EPOCH),
          false,
          true,
          Durability.SYNC,
          2 << 20,
          ProtocolKind.TICTOC,
          8L << 20);

  /** Refuses what a commit can't number. */
  public TxConfig {
    if (itemsMax < 1 || itemsMax >= Commit.ENTRIES_MAX) {
      throw new IllegalArgumentException(
          "A transaction has at least one item, not " + itemsMax + ".");
    }
  }

  /** The same with other bounds. */
  public TxConfig withLimits(int contexts, long scratchBytesMax, int itemsMax) {
    return new TxConfig(
        contexts,
        scratchBytesMax,
        itemsMax,
        timestamps,
        revalidateAll,
        placesRemembered,
        durability,
        commitPartBytes,
        protocol,
        protocolBytes);
  }

  /** The same with other timestamps. */
  public TxConfig with(TimestampConfig other) {
    return new TxConfig(
        contexts,
        scratchBytesMax,
        itemsMax,
        other,
        revalidateAll,
        placesRemembered,
        durability,
        commitPartBytes,
        protocol,
        protocolBytes);
  }

  /** The same with or without {@link #revalidateAll}. */
  public TxConfig withRevalidation(boolean all) {
    return new TxConfig(
        contexts,
        scratchBytesMax,
        itemsMax,
        timestamps,
        all,
        placesRemembered,
        durability,
        commitPartBytes,
        protocol,
        protocolBytes);
  }

  /** The same with or without {@link #placesRemembered}. */
  public TxConfig withPlaces(boolean remembered) {
    return new TxConfig(
        contexts,
        scratchBytesMax,
        itemsMax,
        timestamps,
        revalidateAll,
        remembered,
        durability,
        commitPartBytes,
        protocol,
        protocolBytes);
  }

  /** The same with another durability, and parts that suit a log's buffer. */
  public TxConfig with(Durability other, int logBufferBytes) {
    return new TxConfig(
        contexts,
        scratchBytesMax,
        itemsMax,
        timestamps,
        revalidateAll,
        placesRemembered,
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
        timestamps,
        revalidateAll,
        placesRemembered,
        durability,
        commitPartBytes,
        other,
        bytes);
  }
}
