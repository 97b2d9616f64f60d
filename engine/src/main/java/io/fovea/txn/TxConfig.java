package io.fovea.txn;

import io.fovea.config.Durability;
import io.fovea.config.Protocol;
import io.fovea.config.TimestampStore;
import java.util.function.Consumer;

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

  private static final long LITTLE_BYTES = 64 << 10;

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
          8L << 20,
          true,
          false,
          true);

  /** Refuses what a commit can't number. */
  public TxConfig {
    if (itemsMax < 1 || itemsMax >= ENTRIES_MAX) {
      throw new IllegalArgumentException(
          "A transaction has at least one item, not " + itemsMax + ".");
    }
  }

  /** The same with other bounds. */
  public TxConfig withLimits(int contexts, long scratchBytesMax, int itemsMax) {
    return with(
        draft -> {
          draft.contexts = contexts;
          draft.scratchBytesMax = scratchBytesMax;
          draft.itemsMax = itemsMax;
        });
  }

  /** The same with other timestamps. */
  public TxConfig with(TimestampConfig other) {
    return with(draft -> draft.timestamps = other);
  }

  /** The same with or without {@link #revalidateAll}. */
  public TxConfig withRevalidation(boolean all) {
    return with(draft -> draft.revalidateAll = all);
  }

  /** The same with or without {@link #wholeValues}. */
  public TxConfig withWholeValues(boolean whole) {
    return with(draft -> draft.wholeValues = whole);
  }

  /**
   * The same for one transaction at a time, with nothing to tell several apart.
   *
   * @throws IllegalArgumentException where there may be more than one
   */
  public TxConfig withoutIsolation() {
    if (contexts != 1) {
      throw new IllegalArgumentException(
          "Without isolation one transaction runs at a time, and not " + contexts + ".");
    }
    return with(
        draft -> {
          draft.protocol = Protocol.OCC;
          draft.protocolBytes = LITTLE_BYTES;
          draft.isolated = false;
        });
  }

  /** The same with or without {@link #placesRemembered}. */
  public TxConfig withPlaces(boolean remembered) {
    return with(draft -> draft.placesRemembered = remembered);
  }

  /** The same with another durability, and parts that suit a log's buffer. */
  public TxConfig with(Durability other, int logBufferBytes) {
    return with(
        draft -> {
          draft.durability = other;
          draft.commitPartBytes = logBufferBytes / 8;
        });
  }

  /** The same under another protocol. */
  public TxConfig with(Protocol other) {
    return with(other, protocolBytes);
  }

  /** The same under another protocol, with so much memory for what it keeps. */
  TxConfig with(Protocol other, long bytes) {
    return with(
        draft -> {
          draft.protocol = other;
          draft.protocolBytes = bytes;
        });
  }

  /**
   * The same for data that nobody writes: under the protocol that has nothing to do then, with as
   * little memory as it takes.
   */
  public TxConfig withoutWriters() {
    return with(
        draft -> {
          draft.protocol = Protocol.OCC;
          draft.protocolBytes = LITTLE_BYTES;
          draft.durability = Durability.NONE;
          draft.writers = false;
        });
  }

  /** The same but for what the change does to a copy. */
  private TxConfig with(Consumer<Draft> change) {
    Draft draft = new Draft(this);
    change.accept(draft);
    return draft.build();
  }

  /** A config that can be changed: the components in one place, for all of the methods above. */
  private static final class Draft {
    int contexts;
    long scratchBytesMax;
    int itemsMax;
    TimestampConfig timestamps;
    boolean revalidateAll;
    boolean placesRemembered;
    Durability durability;
    int commitPartBytes;
    Protocol protocol;
    long protocolBytes;
    boolean writers;
    boolean wholeValues;
    boolean isolated;

    Draft(TxConfig of) {
      contexts = of.contexts;
      scratchBytesMax = of.scratchBytesMax;
      itemsMax = of.itemsMax;
      timestamps = of.timestamps;
      revalidateAll = of.revalidateAll;
      placesRemembered = of.placesRemembered;
      durability = of.durability;
      commitPartBytes = of.commitPartBytes;
      protocol = of.protocol;
      protocolBytes = of.protocolBytes;
      writers = of.writers;
      wholeValues = of.wholeValues;
      isolated = of.isolated;
    }

    TxConfig build() {
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
          protocolBytes,
          writers,
          wholeValues,
          isolated);
    }
  }
}
