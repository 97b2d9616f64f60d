package io.fovea.streams;

import java.time.Duration;
import java.util.Objects;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.DslStoreFormat;
import org.apache.kafka.streams.state.DslKeyValueParams;
import org.apache.kafka.streams.state.DslSessionParams;
import org.apache.kafka.streams.state.DslStoreSuppliers;
import org.apache.kafka.streams.state.DslWindowParams;
import org.apache.kafka.streams.state.HeadersBytesStoreSupplier;
import org.apache.kafka.streams.state.KeyValueBytesStoreSupplier;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.SessionBytesStoreSupplier;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.VersionedBytesStoreSupplier;
import org.apache.kafka.streams.state.WindowBytesStoreSupplier;
import org.apache.kafka.streams.state.WindowStore;

/**
 * State stores of Kafka Streams in a Fovea database.
 *
 * <p>One line of configuration selects them for all operators of the DSL:
 *
 * <pre>{@code
 * props.put(StreamsConfig.DSL_STORE_SUPPLIERS_CLASS_CONFIG, FoveaStores.class);
 * }</pre>
 *
 * <p>The static methods create suppliers of single stores:
 *
 * <pre>{@code
 * builder.table("orders", Materialized.as(FoveaStores.timestampedKeyValueStore("orders")));
 * }</pre>
 *
 * <p>All stores of a Streams instance share one database, {@code
 * <state.dir>/<application.id>/fovea/stores.fovea}. Settings are read from the configuration of
 * Kafka Streams, under the keys defined here.
 *
 * <p>Each {@code get()} of a supplier returns a new store for one task. A supplier may be used in
 * several topologies, but only for one store in each, because stores are identified by name: Kafka
 * Streams refuses a second one with a {@code TopologyException}. A store belongs to one task until
 * it is closed; opening it in another task before throws a {@code ProcessorStateException}.
 *
 * <p>Thread-safe.
 *
 * @since 0.1.0
 */
public final class FoveaStores implements DslStoreSuppliers {
  /** Configuration key: memory for all stores of the instance, in bytes. 256 MiB by default. */
  public static final String BUFFER_BYTES_CONFIG = "fovea.buffer.bytes";

  /**
   * Configuration key: the part of that memory for uncommitted writes, in bytes. An eighth of
   * {@link #BUFFER_BYTES_CONFIG} by default, at most 512 MiB.
   */
  public static final String PENDING_BYTES_CONFIG = "fovea.pending.bytes";

  /**
   * Configuration key: page size of a new database, in bytes: 4096, 8192, 16384, 32768 or 65536.
   * 4096 by default. Keys longer than an eighth of a page take more than one lookup.
   */
  public static final String PAGE_BYTES_CONFIG = "fovea.page.bytes";

  /**
   * Configuration key: a Micrometer {@code MeterRegistry}, as an object, for the engine's meters.
   * Needs {@code fovea-micrometer}. None by default.
   */
  public static final String METER_REGISTRY_CONFIG = "fovea.meter.registry";

  /**
   * Configuration key: whether to use internals of Kafka Streams. True by default. If false,
   * dropped records are not counted, positions of restored records are unknown, and there are no
   * versioned stores.
   */
  public static final String KAFKA_INTERNALS_CONFIG = "fovea.kafka.internals";

  /** The metrics scope of Kafka Streams. */
  private static final String SCOPE = "fovea";

  /** Called by Kafka Streams if {@code dsl.store.suppliers.class} names this class. */
  public FoveaStores() {
    KafkaVersion.require();
  }

  @Override
  public KeyValueBytesStoreSupplier keyValueStore(DslKeyValueParams params) {
    return keyValue(params.name(), params.dslStoreFormat());
  }

  @Override
  public WindowBytesStoreSupplier windowStore(DslWindowParams params) {
    DslStoreFormat format = params.dslStoreFormat();
    return window(
        params.name(),
        format == null ? DslStoreFormat.TIMESTAMPED : format,
        params.retentionPeriod(),
        params.windowSize(),
        params.retainDuplicates());
  }

  @Override
  public SessionBytesStoreSupplier sessionStore(DslSessionParams params) {
    return session(
        params.name(),
        params.storeFormat() == DslStoreFormat.HEADERS
            ? DslStoreFormat.HEADERS
            : DslStoreFormat.PLAIN,
        params.retentionPeriod());
  }

  /**
   * Returns the supplier of a key-value store, for {@link
   * org.apache.kafka.streams.state.Stores#keyValueStoreBuilder}. The store keeps no timestamps; a
   * table needs {@link #timestampedKeyValueStore}.
   *
   * @param name the store's name
   * @return the supplier
   */
  public static KeyValueBytesStoreSupplier keyValueStore(String name) {
    KafkaVersion.require();
    return keyValue(name, DslStoreFormat.PLAIN);
  }

  /**
   * Returns the supplier of a key-value store with timestamps, for {@link
   * org.apache.kafka.streams.state.Stores#timestampedKeyValueStoreBuilder} and {@link
   * org.apache.kafka.streams.kstream.Materialized}.
   *
   * @param name the store's name
   * @return the supplier
   */
  public static KeyValueBytesStoreSupplier timestampedKeyValueStore(String name) {
    KafkaVersion.require();
    return keyValue(name, DslStoreFormat.TIMESTAMPED);
  }

  /**
   * Returns the supplier of a key-value store with timestamps and headers, for {@link
   * org.apache.kafka.streams.state.Stores#timestampedKeyValueStoreWithHeadersBuilder}.
   *
   * @param name the store's name
   * @return the supplier
   */
  public static KeyValueBytesStoreSupplier keyValueStoreWithHeaders(String name) {
    KafkaVersion.require();
    return keyValue(name, DslStoreFormat.HEADERS);
  }

  /**
   * Returns the supplier of a window store, for {@link
   * org.apache.kafka.streams.state.Stores#windowStoreBuilder}. The store keeps no timestamps; an
   * aggregation that needs them uses {@link #timestampedWindowStore}.
   *
   * @param name the store's name
   * @param retention how long a window is kept after its start, in stream time, exact to the
   *     millisecond; at least its size
   * @param size the size of a window
   * @param retainDuplicates whether a key may have several values at one time
   * @return the supplier
   * @throws IllegalArgumentException if a duration is negative, or the retention is shorter than
   *     the size
   */
  public static WindowBytesStoreSupplier windowStore(
      String name, Duration retention, Duration size, boolean retainDuplicates) {
    KafkaVersion.require();
    return window(name, DslStoreFormat.PLAIN, retention, size, retainDuplicates);
  }

  /**
   * Returns the supplier of a window store with timestamps, for {@link
   * org.apache.kafka.streams.state.Stores#timestampedWindowStoreBuilder} and {@link
   * org.apache.kafka.streams.kstream.Materialized}.
   *
   * @param name the store's name
   * @param retention how long a window is kept after its start, in stream time, exact to the
   *     millisecond; at least its size
   * @param size the size of a window
   * @param retainDuplicates whether a key may have several values at one time
   * @return the supplier
   * @throws IllegalArgumentException if a duration is negative, or the retention is shorter than
   *     the size
   */
  public static WindowBytesStoreSupplier timestampedWindowStore(
      String name, Duration retention, Duration size, boolean retainDuplicates) {
    KafkaVersion.require();
    return window(name, DslStoreFormat.TIMESTAMPED, retention, size, retainDuplicates);
  }

  /**
   * Returns the supplier of a window store with timestamps and headers, for {@link
   * org.apache.kafka.streams.state.Stores#timestampedWindowStoreWithHeadersBuilder}.
   *
   * @param name the store's name
   * @param retention how long a window is kept after its start, in stream time, exact to the
   *     millisecond; at least its size
   * @param size the size of a window
   * @param retainDuplicates whether a key may have several values at one time
   * @return the supplier
   * @throws IllegalArgumentException if a duration is negative, or the retention is shorter than
   *     the size
   */
  public static WindowBytesStoreSupplier windowStoreWithHeaders(
      String name, Duration retention, Duration size, boolean retainDuplicates) {
    KafkaVersion.require();
    return window(name, DslStoreFormat.HEADERS, retention, size, retainDuplicates);
  }

  /**
   * Returns the supplier of a session store, for {@link
   * org.apache.kafka.streams.state.Stores#sessionStoreBuilder} and {@link
   * org.apache.kafka.streams.kstream.Materialized}.
   *
   * @param name the store's name
   * @param retention how long a session is kept after its end, in stream time, exact to the
   *     millisecond
   * @return the supplier
   * @throws IllegalArgumentException if the retention is negative
   */
  public static SessionBytesStoreSupplier sessionStore(String name, Duration retention) {
    KafkaVersion.require();
    return session(name, DslStoreFormat.PLAIN, retention);
  }

  /**
   * Returns the supplier of a session store with headers, for {@link
   * org.apache.kafka.streams.state.Stores#sessionStoreWithHeadersBuilder}.
   *
   * @param name the store's name
   * @param retention how long a session is kept after its end, in stream time, exact to the
   *     millisecond
   * @return the supplier
   * @throws IllegalArgumentException if the retention is negative
   */
  public static SessionBytesStoreSupplier sessionStoreWithHeaders(String name, Duration retention) {
    KafkaVersion.require();
    return session(name, DslStoreFormat.HEADERS, retention);
  }

  /**
   * Returns the supplier of a versioned key-value store, for {@link
   * org.apache.kafka.streams.state.Stores#versionedKeyValueStoreBuilder} and {@link
   * org.apache.kafka.streams.kstream.Materialized}.
   *
   * @param name the store's name
   * @param historyRetention how long a version is kept after it was replaced, in stream time
   * @return the supplier
   * @throws IllegalArgumentException if the retention is negative
   */
  public static VersionedBytesStoreSupplier versionedStore(String name, Duration historyRetention) {
    KafkaVersion.require();
    Objects.requireNonNull(name, "name cannot be null");
    return new Versioned(name, millis(name, "history retention", historyRetention));
  }

  // ------------------------------------------------------------------------------------ suppliers

  // No conditional expressions here: to verify one, the JVM loads the classes of both values. An
  // old Kafka Streams lacks their interfaces, and must be refused with a message instead.

  private static KeyValueBytesStoreSupplier keyValue(String name, DslStoreFormat format) {
    Objects.requireNonNull(name, "name cannot be null");
    if (format == DslStoreFormat.HEADERS) {
      return new KeyValueWithHeaders(name);
    }
    return new KeyValue(name, format);
  }

  private static WindowBytesStoreSupplier window(
      String name, DslStoreFormat format, Duration retention, Duration size, boolean duplicates) {
    Objects.requireNonNull(name, "name cannot be null");
    long retentionMillis = millis(name, "retention", retention);
    long sizeMillis = millis(name, "window size", size);
    if (sizeMillis > retentionMillis) {
      throw new IllegalArgumentException(
          "The retention of window store "
              + name
              + " must be at least the size of a window, "
              + size
              + ", but is "
              + retention
              + ".");
    }
    WindowOf window = new WindowOf(name, format, retentionMillis, sizeMillis, duplicates);
    if (format == DslStoreFormat.HEADERS) {
      return new WindowWithHeaders(window);
    }
    return window;
  }

  private static SessionBytesStoreSupplier session(
      String name, DslStoreFormat format, Duration retention) {
    Objects.requireNonNull(name, "name cannot be null");
    long millis = millis(name, "retention", retention);
    if (format == DslStoreFormat.HEADERS) {
      return new SessionWithHeaders(name, millis);
    }
    return new SessionOf(name, millis);
  }

  private static long millis(String name, String what, Duration duration) {
    Objects.requireNonNull(duration, what);
    if (duration.isNegative()) {
      throw new IllegalArgumentException(
          "The " + what + " of store " + name + " must not be negative, but is " + duration + ".");
    }
    try {
      return duration.toMillis();
    } catch (ArithmeticException e) {
      throw new IllegalArgumentException(
          "The " + what + " of store " + name + " is too long: " + duration + ".", e);
    }
  }

  // Kafka Streams recognizes suppliers of values with headers by a marker interface.

  private record KeyValue(String name, DslStoreFormat format)
      implements KeyValueBytesStoreSupplier {
    @Override
    public KeyValueStore<Bytes, byte[]> get() {
      return KeyValueFoveaStore.of(name, format);
    }

    @Override
    public String metricsScope() {
      return SCOPE;
    }
  }

  private record KeyValueWithHeaders(String name)
      implements KeyValueBytesStoreSupplier, HeadersBytesStoreSupplier {
    @Override
    public KeyValueStore<Bytes, byte[]> get() {
      return KeyValueFoveaStore.of(name, DslStoreFormat.HEADERS);
    }

    @Override
    public String metricsScope() {
      return SCOPE;
    }
  }

  private record WindowOf(
      String name,
      DslStoreFormat format,
      long retentionPeriod,
      long windowSize,
      boolean retainDuplicates)
      implements WindowBytesStoreSupplier {
    @Override
    public WindowStore<Bytes, byte[]> get() {
      return WindowFoveaStore.of(name, format, retentionPeriod, windowSize, retainDuplicates);
    }

    @Override
    public long segmentIntervalMs() {
      return SegmentedStore.segmentMillis(retentionPeriod);
    }

    @Override
    public String metricsScope() {
      return SCOPE;
    }
  }

  private record WindowWithHeaders(WindowOf of)
      implements WindowBytesStoreSupplier, HeadersBytesStoreSupplier {
    @Override
    public String name() {
      return of.name();
    }

    @Override
    public WindowStore<Bytes, byte[]> get() {
      return of.get();
    }

    @Override
    public long segmentIntervalMs() {
      return of.segmentIntervalMs();
    }

    @Override
    public long windowSize() {
      return of.windowSize();
    }

    @Override
    public boolean retainDuplicates() {
      return of.retainDuplicates();
    }

    @Override
    public long retentionPeriod() {
      return of.retentionPeriod();
    }

    @Override
    public String metricsScope() {
      return SCOPE;
    }
  }

  private record SessionOf(String name, long retentionPeriod) implements SessionBytesStoreSupplier {
    @Override
    public SessionStore<Bytes, byte[]> get() {
      return SessionFoveaStore.of(name, DslStoreFormat.PLAIN, retentionPeriod);
    }

    @Override
    public long segmentIntervalMs() {
      return SegmentedStore.segmentMillis(retentionPeriod);
    }

    @Override
    public String metricsScope() {
      return SCOPE;
    }
  }

  private record SessionWithHeaders(String name, long retentionPeriod)
      implements SessionBytesStoreSupplier, HeadersBytesStoreSupplier {
    @Override
    public SessionStore<Bytes, byte[]> get() {
      return SessionFoveaStore.of(name, DslStoreFormat.HEADERS, retentionPeriod);
    }

    @Override
    public long segmentIntervalMs() {
      return SegmentedStore.segmentMillis(retentionPeriod);
    }

    @Override
    public String metricsScope() {
      return SCOPE;
    }
  }

  private record Versioned(String name, long historyRetentionMs)
      implements VersionedBytesStoreSupplier {
    @Override
    public KeyValueStore<Bytes, byte[]> get() {
      return new VersionedFoveaStore(name, historyRetentionMs);
    }

    @Override
    public String metricsScope() {
      return SCOPE;
    }
  }
}
