package org.apache.kafka.streams.state.internals;

import io.fovea.streams.FoveaStores;
import java.lang.reflect.Field;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.query.MultiVersionedKeyQuery;
import org.apache.kafka.streams.query.Position;
import org.apache.kafka.streams.query.PositionBound;
import org.apache.kafka.streams.query.Query;
import org.apache.kafka.streams.query.QueryConfig;
import org.apache.kafka.streams.query.QueryResult;
import org.apache.kafka.streams.query.ResultOrder;
import org.apache.kafka.streams.query.VersionedKeyQuery;
import org.apache.kafka.streams.state.VersionedBytesStore;
import org.apache.kafka.streams.state.VersionedRecord;
import org.apache.kafka.streams.state.VersionedRecordIterator;
import org.apache.kafka.test.InternalMockProcessorContext;
import org.junit.jupiter.api.BeforeEach;

/**
 * Kafka's own tests of its versioned store. They create the store by its class, so they get a
 * subclass that delegates to ours.
 */
class FoveaVersionedStoreTest extends RocksDBVersionedStoreTest {
  private static final long RETENTION = 300_000;

  /** Runs after that of the superclass. */
  @BeforeEach
  void replace() throws ReflectiveOperationException {
    Field context = RocksDBVersionedStoreTest.class.getDeclaredField("context");
    Field store = RocksDBVersionedStoreTest.class.getDeclaredField("store");
    context.setAccessible(true);
    store.setAccessible(true);
    ((StateStore) store.get(this)).close();
    InternalMockProcessorContext<?, ?> in = (InternalMockProcessorContext<?, ?>) context.get(this);
    Ours ours = new Ours(in);
    ours.init(in, ours);
    store.set(this, ours);
  }

  /** Delegates to our store. */
  private static final class Ours extends RocksDBVersionedStore {
    private final VersionedBytesStore store =
        (VersionedBytesStore)
            FoveaStores.versionedStore("myversionedrocks", Duration.ofMillis(RETENTION)).get();
    private final InternalMockProcessorContext<?, ?> context;

    Ours(InternalMockProcessorContext<?, ?> context) {
      super("myversionedrocks", "scope", RETENTION, RETENTION / 3);
      this.context = context;
    }

    @Override
    public void init(StateStoreContext in, StateStore root) {
      store.init(in, root);
    }

    @Override
    public String name() {
      return store.name();
    }

    @Override
    public boolean isOpen() {
      return store.isOpen();
    }

    @Override
    public void close() {
      store.close();
    }

    @Override
    public void commit(Map<TopicPartition, Long> offsets) {
      store.commit(offsets);
    }

    @Override
    public Position getPosition() {
      return store.getPosition();
    }

    @Override
    public long put(Bytes key, byte[] value, long timestamp) {
      return store.put(key, value, timestamp);
    }

    @Override
    public VersionedRecord<byte[]> delete(Bytes key, long timestamp) {
      VersionedRecord<byte[]> before = get(key, timestamp);
      byte[] deleted = store.delete(key, timestamp);
      return deleted == null ? null : before;
    }

    @Override
    public VersionedRecord<byte[]> get(Bytes key) {
      return ask(VersionedKeyQuery.withKey(key));
    }

    @Override
    public VersionedRecord<byte[]> get(Bytes key, long asOfTimestamp) {
      return ask(
          VersionedKeyQuery.<Bytes, byte[]>withKey(key).asOf(Instant.ofEpochMilli(asOfTimestamp)));
    }

    @Override
    VersionedRecordIterator<byte[]> get(Bytes key, long from, long to, ResultOrder order) {
      MultiVersionedKeyQuery<Bytes, byte[]> query =
          MultiVersionedKeyQuery.<Bytes, byte[]>withKey(key)
              .fromTime(Instant.ofEpochMilli(from))
              .toTime(Instant.ofEpochMilli(to));
      return ask(order == ResultOrder.ASCENDING ? query.withAscendingTimestamps() : query);
    }

    private <R> R ask(Query<R> query) {
      QueryResult<R> result = store.query(query, PositionBound.unbounded(), new QueryConfig(false));
      return result.getResult();
    }

    @Override
    void restoreBatch(Collection<ConsumerRecord<byte[], byte[]>> records) {
      context.restoreWithHeaders(name(), List.copyOf(records));
    }
  }
}
