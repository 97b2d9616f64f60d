package io.fovea.streams;

import io.fovea.Options;
import io.fovea.config.Durability;
import java.util.Map;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.streams.StreamsConfig;
import org.jspecify.annotations.Nullable;

/**
 * Settings of the stores in the configuration of Kafka Streams. Immutable and thread-safe.
 *
 * <p>The memory of an instance is divided as follows:
 *
 * <pre>
 *   1/8    pending writes, on the Java heap
 *   1/8    pending writes while a transaction writes them, off-heap
 *   1/16   timestamps of records in use
 *   1/16   log buffer, scratch memory of tables
 *   rest   buffer of pages
 * </pre>
 *
 * @param bufferBytes memory for all stores of the instance
 * @param pendingBytes the part of it for uncommitted writes
 * @param pageBytes page size of a new database
 * @param exactlyOnce whether uncommitted rows must never be taken for committed ones
 * @param positions whether changelog records carry positions
 * @param internals whether internals of Kafka Streams are used
 * @param registry the registry for the engine's meters; null for none
 */
record FoveaConfig(
    long bufferBytes,
    long pendingBytes,
    int pageBytes,
    boolean exactlyOnce,
    boolean positions,
    boolean internals,
    @Nullable Object registry) {
  /** An internal setting of Kafka Streams, a constant of a nested class of StreamsConfig. */
  private static final String POSITIONS = "__iq.consistency.offset.vector.enabled__";

  private static final long BUFFER_BYTES_DEFAULT = 256L << 20;
  private static final long BUFFER_BYTES_MIN = 32L << 20;
  private static final long PENDING_BYTES_MIN = 1L << 16;

  /** A commit is one transaction, which has at most four million records. */
  private static final long PENDING_BYTES_MAX = 512L << 20;

  private static final long TIMESTAMP_BYTES_OF_ROW = 512;
  private static final long SNAPSHOT_BYTES = 4L << 20;
  private static final long TRANSACTION_BYTES_MIN = 64L << 20;

  static FoveaConfig of(Map<String, ?> configs) {
    long buffer = number(configs, FoveaStores.BUFFER_BYTES_CONFIG, BUFFER_BYTES_DEFAULT);
    if (buffer < BUFFER_BYTES_MIN) {
      throw new ConfigException(
          FoveaStores.BUFFER_BYTES_CONFIG,
          buffer,
          "The stores of an instance need at least " + BUFFER_BYTES_MIN + " bytes.");
    }
    long pending =
        number(configs, FoveaStores.PENDING_BYTES_CONFIG, Math.min(buffer / 8, PENDING_BYTES_MAX));
    if (pending < PENDING_BYTES_MIN || pending > Math.min(buffer / 4, PENDING_BYTES_MAX)) {
      throw new ConfigException(
          FoveaStores.PENDING_BYTES_CONFIG,
          pending,
          "Must be between "
              + PENDING_BYTES_MIN
              + " and "
              + PENDING_BYTES_MAX
              + " bytes, and at most a quarter of "
              + FoveaStores.BUFFER_BYTES_CONFIG
              + ", which is "
              + buffer
              + ".");
    }
    long page = number(configs, FoveaStores.PAGE_BYTES_CONFIG, 4096);
    if (page < 4096 || page > 65536 || Long.bitCount(page) != 1) {
      throw new ConfigException(
          FoveaStores.PAGE_BYTES_CONFIG, page, "Must be 4096, 8192, 16384, 32768 or 65536.");
    }
    return new FoveaConfig(
        buffer,
        pending,
        (int) page,
        StreamsConfig.EXACTLY_ONCE_V2.equals(
            configs.get(StreamsConfig.PROCESSING_GUARANTEE_CONFIG)),
        flag(configs, POSITIONS, false),
        flag(configs, FoveaStores.KAFKA_INTERNALS_CONFIG, true),
        configs.get(FoveaStores.METER_REGISTRY_CONFIG));
  }

  /**
   * Options of the database. Commits do not wait for the disk: rows and offset are in one
   * transaction, so a crash loses both or neither, and the changelog restores them. The flush
   * window is the whole log buffer: with less, a commit of many rows would wait for its own log
   * writes.
   */
  Options options(String name) {
    int log = bufferBytes < 128L << 20 ? 1 << 20 : 4 << 20;
    return Options.defaults()
        .name(name)
        .durability(Durability.ASYNC)
        .bufferBytes(bufferBytes - 2 * pendingBytes - timestampBytes() - bufferBytes / 16)
        .memory(m -> m.timestampBytes(timestampBytes()))
        .log(l -> l.bufferBytes(log).maxFlushDelay(l.maxFlushDelay(), log))
        .snapshots(s -> s.bufferBytes(SNAPSHOT_BYTES).memoryBytes(SNAPSHOT_BYTES))
        .device(d -> d.pageSize(pageBytes))
        .transactions(t -> t.maxBytes(Math.max(TRANSACTION_BYTES_MIN, 4 * pendingBytes)));
  }

  private long timestampBytes() {
    return bufferBytes / 16;
  }

  /**
   * The maximum number of rows in a transaction. A new row takes two timestamps of 32 bytes, in a
   * table that is half empty at worst; the rest is for concurrent transactions.
   */
  int rowsMax() {
    return (int) Math.min(Integer.MAX_VALUE, timestampBytes() / TIMESTAMP_BYTES_OF_ROW);
  }

  /** The maximum if each row may be on a page that must be read and stay in memory. */
  int rowsMaxMissing() {
    return (int) Math.min(Integer.MAX_VALUE, bufferBytes / 4 / pageBytes);
  }

  private static long number(Map<String, ?> configs, String key, long otherwise) {
    Object value = configs.get(key);
    if (value == null) {
      return otherwise;
    }
    if (value instanceof Number n) {
      return n.longValue();
    }
    try {
      return Long.parseLong(value.toString().trim());
    } catch (NumberFormatException e) {
      throw new ConfigException(key, value, "Must be a number of bytes.");
    }
  }

  private static boolean flag(Map<String, ?> configs, String key, boolean otherwise) {
    Object value = configs.get(key);
    return value == null ? otherwise : Boolean.parseBoolean(value.toString());
  }
}
