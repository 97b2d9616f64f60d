package io.fovea.txn;

import io.fovea.config.Durability;
import io.fovea.config.Protocol;
import io.fovea.config.TimestampStore;

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
 * @param writers whether anybody writes; where nobody does, {@code itemsMax} is what a transaction
 *     remembers of its reads, and no limit
 * @param wholeValues whether commits log values as a whole where they change a part of them, for
 *     who follows changes
 * @param isolated whether transactions are told apart at all: {@link NoIsolation}
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
    Protocol protocol,
    long protocolBytes,
    boolean writers,
    boolean wholeValues,
    boolean isolated) {

  /** What a protocol keeps, unless said otherwise. */
  public static final long PROTOCOL_BYTES = 8L << 20;

  /** What it keeps where there is nothing to tell apart. */
  public static final long LITTLE_BYTES = 64 << 10;

  /** Above the number of every entry of a write set. */
  static final int ENTRIES_MAX = 1 << 24;

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
              TimestampConfig.activeTimestampBytes(TimestampStore.FOCUS_SKETCH),
              256L << 20,
              2,
              2048,
              TimestampConfig.Release.EPOCH),
          false,
          true,
          Durability.SYNC,
          2 << 20,
          Protocol.TICTOC,
          PROTOCOL_BYTES,
          true,
          false,
          true);

  /** Refuses what a commit can't number. */
  public TxConfig {
    if (itemsMax < 1 || itemsMax >= ENTRIES_MAX) {
      throw new IllegalArgumentException(
          "A transaction has at least one item, not " + itemsMax + ".");
    }
    if (!isolated && contexts != 1) {
      throw new IllegalArgumentException(
          "Without isolation one transaction runs at a time, and not " + contexts + ".");
    }
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
        protocolBytes,
        writers,
        wholeValues,
        isolated);
  }

  /**
   * The same for data that nobody writes: under the protocol that has nothing to do then, with as
   * little memory as it takes.
   *
   * @param maxBytes of keys and values, where anything takes them
   * @param remembered how many reads a transaction remembers
   * @param least timestamps that are never used
   */
  public TxConfig withoutWriters(long maxBytes, int remembered, TimestampConfig least) {
    return new TxConfig(
        contexts,
        maxBytes,
        remembered,
        least,
        revalidateAll,
        placesRemembered,
        Durability.NONE,
        commitPartBytes,
        Protocol.OCC,
        LITTLE_BYTES,
        false,
        wholeValues,
        isolated);
  }
}
