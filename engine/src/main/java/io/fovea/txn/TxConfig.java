package io.fovea.txn;

import io.fovea.config.Durability;
import io.fovea.config.Protocol;
import io.fovea.config.TimestampStore;

/**
 * The settings of a {@link TxEngine}.
 *
 * @param contexts the maximum number of active transactions; others wait to begin
 * @param scratchBytesMax the maximum bytes of keys and values that a transaction may write
 * @param itemsMax the maximum number of items that a transaction may read or write
 * @param timestamps the timestamp store
 * @param revalidateAll whether a commit validates every read against the present instead of its
 *     timestamp: strict serializability, with more aborts
 * @param keepsLocations whether read and write sets remember the locations of records
 * @param durability what a commit waits for, if there is a log
 * @param commitPartBytes a commit with more bytes of changes is appended in parts of about this
 *     size; at most an eighth of the log's buffer
 * @param protocol the concurrency control protocol
 * @param protocolBytes native memory that the protocol shares among transactions, if any: lock
 *     words, write sets or old versions; a power of two
 * @param writers whether any transaction writes; otherwise {@code itemsMax} is the number of reads
 *     that a transaction remembers, and no limit
 * @param wholeValues whether commits log whole values even for patches, for change subscribers
 * @param isolated whether transactions are isolated at all: {@link NoIsolation}
 */
public record TxConfig(
    int contexts,
    long scratchBytesMax,
    int itemsMax,
    TimestampConfig timestamps,
    boolean revalidateAll,
    boolean keepsLocations,
    Durability durability,
    int commitPartBytes,
    Protocol protocol,
    long protocolBytes,
    boolean writers,
    boolean wholeValues,
    boolean isolated) {

  /** The default memory of a protocol. */
  public static final long PROTOCOL_BYTES = 8L << 20;

  /** The memory of a protocol without writers. */
  public static final long LITTLE_BYTES = 64 << 10;

  /** Greater than the index of any entry of a write set. */
  static final int ENTRIES_MAX = 1 << 24;

  /** The default maximum number of records that a transaction reads and writes. */
  public static final int ITEMS_MAX = 4 << 20;

  /**
   * Focus-Sketch with 2 x 2,048 columns, 32 KiB, as in the dissertation; {@link Durability#SYNC};
   * parts for a log buffer of 16 MiB.
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

  /** Checks the limits. */
  public TxConfig {
    if (itemsMax < 1 || itemsMax >= ENTRIES_MAX) {
      throw new IllegalArgumentException(
          "A transaction must have at least one item, not " + itemsMax + ".");
    }
    if (!isolated && contexts != 1) {
      throw new IllegalArgumentException(
          "Without isolation there is one context, not " + contexts + ".");
    }
  }

  /** Returns these settings with another durability, and parts for a log buffer of this size. */
  public TxConfig with(Durability other, int logBufferBytes) {
    return new TxConfig(
        contexts,
        scratchBytesMax,
        itemsMax,
        timestamps,
        revalidateAll,
        keepsLocations,
        other,
        logBufferBytes / 8,
        protocol,
        protocolBytes,
        writers,
        wholeValues,
        isolated);
  }

  /**
   * Returns these settings for data without writers: OCC, which then has nothing to do, with
   * minimal memory. {@code least} are settings of timestamps that are never used.
   */
  public TxConfig withoutWriters(long maxBytes, int readsMax, TimestampConfig least) {
    return new TxConfig(
        contexts,
        maxBytes,
        readsMax,
        least,
        revalidateAll,
        keepsLocations,
        Durability.NONE,
        commitPartBytes,
        Protocol.OCC,
        LITTLE_BYTES,
        false,
        wholeValues,
        isolated);
  }
}
