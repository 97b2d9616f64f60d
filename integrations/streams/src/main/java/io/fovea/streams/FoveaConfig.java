package io.fovea.streams;

import io.fovea.Options;
import io.fovea.config.Durability;
import java.util.Map;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.streams.StreamsConfig;
import org.jspecify.annotations.Nullable;

/**
 * What the configuration of Kafka Streams says about stores. Immutable; any thread.
 *
 * <p>The memory of an instance is divided so that all of it stays within its budget:
 *
 * <pre>
 *   1/8    pending writes, on the Java heap
 *   1/8    the same while a transaction writes them, outside of it
 *   1/16   timestamps of records in use
 *   1/16   the log's buffer, scratch memory of tables
 *   rest   the buffer of pages
 * </pre>
 *
 * @param bufferBytes for all stores of the instance
 * @param pendingBytes the part of it for what is not committed
 * @param pageBytes of a page of the database, if it is created
 * @param exactlyOnce whether what is not committed must never be taken for committed
 * @param positions whether changelog records carry positions
 * @param internals whether internals of Kafka Streams are used
 * @param registry where the meters of the engine go; null for nowhere
 */
record FoveaConfig(
    long bufferBytes,
    long pendingBytes,
    int pageBytes,
    boolean exactlyOnce,
    boolean positions,
    boolean internals,
    @Nullable Object registry) {
  /** The name of Kafka Streams' internal setting, a constant of a nested class of StreamsConfig. */
  private static final String POSITIONS = "__iq.consistency.offset.vector.enabled__";

  private static final long BUFFER_BYTES_DEFAULT = 256L << 20;
  private static final long BUFFER_BYTES_MIN = 32L << 20;
  private static final long PENDING_BYTES_MIN = 1L << 16;

  /** A commit is one transaction, and that has at most four million records. */
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
          "It is between "
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
          FoveaStores.PAGE_BYTES_CONFIG, page, "It is 4096, 8192, 16384, 32768 or 65536.");
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
   * How the database is opened. No commit waits for the disk: rows and offset are one transaction,
   * so what a crash loses is lost of both, and restored from the changelog. As much of the log as
   * its buffer has room for may be on its way to the disk: with less, a commit of many rows would
   * wait for its own.
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
   * How many rows one transaction writes. A new row takes two timestamps of 32 bytes, in a table
   * that is half empty at worst; the rest is for transactions beside it.
   */
  int rowsMax() {
    return (int) Math.min(Integer.MAX_VALUE, timestampBytes() / TIMESTAMP_BYTES_OF_ROW);
  }

  /** The same where each row may be in a page that has to be read, and is to stay. */
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
      throw new ConfigException(key, value, "It is a number of bytes.");
    }
  }

  private static boolean flag(Map<String, ?> configs, String key, boolean otherwise) {
    Object value = configs.get(key);
    return value == null ? otherwise : Boolean.parseBoolean(value.toString());
  }
}
