package io.fovea.streams;

import java.time.Duration;
import java.util.Objects;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.DslStoreFormat;
import org.apache.kafka.streams.state.DslKeyValueParams;
import org.apache.kafka.streams.state.DslSessionParams;
import org.apache.kafka.streams.state.DslStoreSuppliers;
import org.apache.kafka.streams.state.DslWindowParams;
import org.apache.kafka.streams.state.KeyValueBytesStoreSupplier;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.SessionBytesStoreSupplier;
import org.apache.kafka.streams.state.VersionedBytesStoreSupplier;
import org.apache.kafka.streams.state.WindowBytesStoreSupplier;

/**
 * State stores of Kafka Streams in a Fovea database.
 *
 * <p>One line of configuration gives them to all operators of the DSL:
 *
 * <pre>{@code
 * props.put(StreamsConfig.DSL_STORE_SUPPLIERS_CLASS_CONFIG, FoveaStores.class);
 * }</pre>
 *
 * <p>The static methods give one store:
 *
 * <pre>{@code
 * builder.table("orders", Materialized.as(FoveaStores.timestampedKeyValueStore("orders")));
 * }</pre>
 *
 * <p>All stores of a Streams instance are in one database, {@code
 * <state.dir>/<application.id>/fovea/stores.fovea}. Settings are read from the configuration of
 * Kafka Streams: {@link #BUFFER_BYTES_CONFIG} and {@link #PENDING_BYTES_CONFIG}.
 *
 * <p>Any thread.
 *
 * @since 0.1.0
 */
public final class FoveaStores implements DslStoreSuppliers {
  /**
   * Configuration key of the memory for all stores of the instance together, in bytes. The default
   * is 256 MiB.
   */
  public static final String BUFFER_BYTES_CONFIG = "fovea.buffer.bytes";

  /**
   * Configuration key of the part of that memory which may hold what was written and not committed
   * yet, in bytes. The default is an eighth of {@link #BUFFER_BYTES_CONFIG}.
   */
  public static final String PENDING_BYTES_CONFIG = "fovea.pending.bytes";

  /** In names of sensors and meters of Kafka Streams. */
  private static final String SCOPE = "fovea";

  /** Made by Kafka Streams, where {@code dsl.store.suppliers.class} names this class. */
  public FoveaStores() {}

  @Override
  public KeyValueBytesStoreSupplier keyValueStore(DslKeyValueParams params) {
    return new KeyValueSupplier(params.name(), params.dslStoreFormat());
  }

  @Override
  public WindowBytesStoreSupplier windowStore(DslWindowParams params) {
    throw new UnsupportedOperationException("not yet");
  }

  @Override
  public SessionBytesStoreSupplier sessionStore(DslSessionParams params) {
    throw new UnsupportedOperationException("not yet");
  }

  /**
   * A store of keys and values, for {@link
   * org.apache.kafka.streams.state.Stores#keyValueStoreBuilder}. Kafka Streams keeps no timestamps
   * in it: where a table needs them, use {@link #timestampedKeyValueStore}.
   *
   * @param name the store's name
   * @return its supplier
   */
  public static KeyValueBytesStoreSupplier keyValueStore(String name) {
    return new KeyValueSupplier(name, DslStoreFormat.PLAIN);
  }

  /**
   * A store of keys, values and their timestamps, for {@link
   * org.apache.kafka.streams.state.Stores#timestampedKeyValueStoreBuilder} and {@link
   * org.apache.kafka.streams.kstream.Materialized}.
   *
   * @param name the store's name
   * @return its supplier
   */
  public static KeyValueBytesStoreSupplier timestampedKeyValueStore(String name) {
    return new KeyValueSupplier(name, DslStoreFormat.TIMESTAMPED);
  }

  /**
   * A store of the windows of keys.
   *
   * @param name the store's name
   * @param retention how long a window is kept after its start, in stream time, to the millisecond
   * @param size how long a window is
   * @param retainDuplicates whether a key may have several values at one time
   * @return its supplier
   */
  public static WindowBytesStoreSupplier windowStore(
      String name, Duration retention, Duration size, boolean retainDuplicates) {
    throw new UnsupportedOperationException("not yet");
  }

  /**
   * A store of sessions.
   *
   * @param name the store's name
   * @param retention how long a session is kept after its end, in stream time, to the millisecond
   * @return its supplier
   */
  public static SessionBytesStoreSupplier sessionStore(String name, Duration retention) {
    throw new UnsupportedOperationException("not yet");
  }

  /**
   * A store that keeps versions of values.
   *
   * @param name the store's name
   * @param historyRetention how long a version is kept after it was replaced, in stream time
   * @return its supplier
   */
  public static VersionedBytesStoreSupplier versionedStore(String name, Duration historyRetention) {
    throw new UnsupportedOperationException("not yet");
  }

  /** Of key-value stores. */
  private record KeyValueSupplier(String name, DslStoreFormat format)
      implements KeyValueBytesStoreSupplier {
    KeyValueSupplier {
      Objects.requireNonNull(name, "name");
      Objects.requireNonNull(format, "format");
    }

    @Override
    public KeyValueStore<Bytes, byte[]> get() {
      return KeyValueFoveaStore.of(name, format);
    }

    @Override
    public String metricsScope() {
      return SCOPE;
    }
  }
}
