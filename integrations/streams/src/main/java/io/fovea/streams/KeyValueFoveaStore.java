package io.fovea.streams;

import java.util.List;
import java.util.Objects;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.serialization.Serializer;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.DslStoreFormat;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.query.KeyQuery;
import org.apache.kafka.streams.query.Query;
import org.apache.kafka.streams.query.RangeQuery;
import org.apache.kafka.streams.query.ResultOrder;
import org.apache.kafka.streams.state.HeadersBytesStore;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.TimestampedBytesStore;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A key-value store.
 *
 * <p>Kafka Streams recognizes the format of values by marker interfaces, and wraps a store without
 * one in an adapter that drops timestamps and headers. So there is a class for each format.
 *
 * <p>Threading as {@link AbstractStore}.
 */
class KeyValueFoveaStore extends AbstractStore implements KeyValueStore<Bytes, byte[]> {
  private static final Logger LOG = LoggerFactory.getLogger(KeyValueFoveaStore.class);

  private KeyValueFoveaStore(String name, DslStoreFormat format) {
    super(name, StoreKind.KEY_VALUE, format.name());
  }

  static KeyValueFoveaStore of(String name, DslStoreFormat format) {
    return switch (format) {
      case PLAIN -> new KeyValueFoveaStore(name, format);
      case TIMESTAMPED -> new Timestamped(name);
      case HEADERS -> new WithHeaders(name);
    };
  }

  /** Values with timestamps. */
  private static final class Timestamped extends KeyValueFoveaStore
      implements TimestampedBytesStore {
    Timestamped(String name) {
      super(name, DslStoreFormat.TIMESTAMPED);
    }
  }

  /** Values with timestamps and headers. */
  private static final class WithHeaders extends KeyValueFoveaStore implements HeadersBytesStore {
    WithHeaders(String name) {
      super(name, DslStoreFormat.HEADERS);
    }
  }

  @Override
  void restore(StoreState to, ConsumerRecord<byte[], byte[]> record) {
    to.restore(ByteKeys.encode(record.key()), record.value());
  }

  @Override
  public void put(Bytes key, byte @Nullable [] value) {
    put(open(), key, value);
  }

  private void put(StoreState to, Bytes key, byte @Nullable [] value) {
    Objects.requireNonNull(key, "key cannot be null");
    to.put(ByteKeys.encode(key.get()), value, this);
  }

  @Override
  public byte @Nullable [] putIfAbsent(Bytes key, byte @Nullable [] value) {
    Objects.requireNonNull(key, "key cannot be null");
    byte[] old = get(key);
    if (old == null && value != null) {
      put(key, value);
    }
    return old;
  }

  @Override
  public void putAll(List<KeyValue<Bytes, byte[]>> entries) {
    StoreState to = open();
    for (KeyValue<Bytes, byte[]> entry : entries) {
      put(to, entry.key, entry.value);
    }
  }

  @Override
  public byte @Nullable [] delete(Bytes key) {
    Objects.requireNonNull(key, "key cannot be null");
    byte[] old = get(key);
    put(key, null);
    return old;
  }

  @Override
  public byte @Nullable [] get(Bytes key) {
    StoreState from = open();
    Objects.requireNonNull(key, "key cannot be null");
    return from.get(ByteKeys.encode(key.get()));
  }

  @Override
  public KeyValueIterator<Bytes, byte[]> range(@Nullable Bytes from, @Nullable Bytes to) {
    return iterate(open(), state -> range(state, from, to, true));
  }

  @Override
  public KeyValueIterator<Bytes, byte[]> reverseRange(@Nullable Bytes from, @Nullable Bytes to) {
    return iterate(open(), state -> range(state, from, to, false));
  }

  @Override
  @Nullable Object answer(Query<?> query, RowSource from) {
    if (query instanceof KeyQuery<?, ?> q) {
      return from.get(ByteKeys.encode(((Bytes) q.getKey()).get()));
    }
    if (query instanceof RangeQuery<?, ?> q) {
      return range(
          from,
          (Bytes) q.getLowerBound().orElse(null),
          (Bytes) q.getUpperBound().orElse(null),
          q.resultOrder() != ResultOrder.DESCENDING);
    }
    return Queries.UNKNOWN;
  }

  private StoreIterator<Bytes> range(
      @Nullable RowSource state, @Nullable Bytes from, @Nullable Bytes to, boolean forward) {
    if (from != null && to != null && from.compareTo(to) > 0) {
      LOG.warn(StoreIterator.INVERTED_RANGE);
      return StoreIterator.ofKeys(this, state, List.of(), forward);
    }
    return StoreIterator.ofKeys(this, state, List.of(interval(from, to)), forward);
  }

  private static ByteInterval interval(@Nullable Bytes from, @Nullable Bytes to) {
    return new ByteInterval(
        from == null ? null : ByteKeys.encode(from.get()),
        to == null ? null : ByteInterval.behind(ByteKeys.encode(to.get())));
  }

  @Override
  public KeyValueIterator<Bytes, byte[]> all() {
    return iterate(open(), state -> range(state, null, null, true));
  }

  @Override
  public KeyValueIterator<Bytes, byte[]> reverseAll() {
    return iterate(open(), state -> range(state, null, null, false));
  }

  @Override
  public <PS extends Serializer<P>, P> KeyValueIterator<Bytes, byte[]> prefixScan(
      P prefix, PS prefixKeySerializer) {
    StoreState open = open();
    Objects.requireNonNull(prefix, "prefix cannot be null");
    Objects.requireNonNull(prefixKeySerializer, "prefixKeySerializer cannot be null");
    byte[] bytes = prefixKeySerializer.serialize(null, prefix);
    ByteInterval interval =
        bytes.length == 0 ? ByteInterval.ALL : ByteInterval.ofPrefix(ByteKeys.encode(bytes));
    return iterate(open, state -> StoreIterator.ofKeys(this, state, List.of(interval), true));
  }

  @Override
  public long approximateNumEntries() {
    return open().approximateCount();
  }
}
