package io.fovea.streams;

import java.util.Map;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.streams.StreamsConfig;

/**
 * What the configuration of Kafka Streams says about stores. Immutable; any thread.
 *
 * @param bufferBytes for all stores of the instance
 * @param pendingBytes the part of it for what is not committed
 * @param pageBytes of a page of the database; an eighth of it is the longest key
 * @param exactlyOnce whether what is not committed must never be taken for committed
 * @param positions whether changelog records carry positions
 * @param internals whether internals of Kafka Streams are used
 */
record FoveaConfig(
    long bufferBytes,
    long pendingBytes,
    int pageBytes,
    boolean exactlyOnce,
    boolean positions,
    boolean internals) {
  static final String PAGE_BYTES = "fovea.page.bytes";
  static final String KAFKA_INTERNALS = "fovea.kafka.internals";

  /** The name of Kafka Streams' internal setting, a constant of a nested class of StreamsConfig. */
  private static final String POSITIONS = "__iq.consistency.offset.vector.enabled__";

  private static final long BUFFER_BYTES_DEFAULT = 256L << 20;
  private static final long BUFFER_BYTES_MIN = 32L << 20;
  private static final long PENDING_BYTES_MIN = 1L << 16;

  static FoveaConfig of(Map<String, ?> configs) {
    long buffer = number(configs, FoveaStores.BUFFER_BYTES_CONFIG, BUFFER_BYTES_DEFAULT);
    if (buffer < BUFFER_BYTES_MIN) {
      throw new ConfigException(
          FoveaStores.BUFFER_BYTES_CONFIG,
          buffer,
          "The stores of an instance need at least " + BUFFER_BYTES_MIN + " bytes.");
    }
    long pending = number(configs, FoveaStores.PENDING_BYTES_CONFIG, buffer / 8);
    if (pending < PENDING_BYTES_MIN || pending > buffer / 2) {
      throw new ConfigException(
          FoveaStores.PENDING_BYTES_CONFIG,
          pending,
          "It is between "
              + PENDING_BYTES_MIN
              + " bytes and half of "
              + FoveaStores.BUFFER_BYTES_CONFIG
              + ", which is "
              + buffer
              + ".");
    }
    long page = number(configs, PAGE_BYTES, 4096);
    if (page < 4096 || page > 65536 || Long.bitCount(page) != 1) {
      throw new ConfigException(PAGE_BYTES, page, "It is 4096, 8192, 16384, 32768 or 65536.");
    }
    return new FoveaConfig(
        buffer,
        pending,
        (int) page,
        StreamsConfig.EXACTLY_ONCE_V2.equals(
            configs.get(StreamsConfig.PROCESSING_GUARANTEE_CONFIG)),
        flag(configs, POSITIONS, false),
        flag(configs, KAFKA_INTERNALS, true));
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
