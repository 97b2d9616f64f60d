package io.fovea.streams;

import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.common.utils.MockTime;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.StreamsMetrics;
import org.apache.kafka.streams.processor.BatchingStateRestoreCallback;
import org.apache.kafka.streams.processor.CommitCallback;
import org.apache.kafka.streams.processor.StateRestoreCallback;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.api.RecordMetadata;
import org.apache.kafka.streams.processor.internals.RecordBatchingStateRestoreCallback;
import org.apache.kafka.streams.processor.internals.metrics.StreamsMetricsImpl;

/** A task of a Streams instance in a directory, as seen by stores. */
final class TestContext implements StateStoreContext {
  static final TopicPartition CHANGELOG = new TopicPartition("changelog", 0);
  static final String SOURCE = "source";

  private final Path instance;
  private final String task;
  private final Map<String, Object> configs = new HashMap<>();
  private final Map<String, StateRestoreCallback> callbacks = new HashMap<>();
  private final StreamsMetricsImpl metrics =
      new StreamsMetricsImpl(new Metrics(), "test", new MockTime());
  private long offset = -1;

  TestContext(Path instance) {
    this(instance, "0_0");
  }

  TestContext(Path instance, String task) {
    this.instance = instance;
    this.task = task;
    configs.put(FoveaStores.BUFFER_BYTES_CONFIG, 32L << 20);
  }

  TestContext with(String key, Object value) {
    configs.put(key, value);
    return this;
  }

  TestContext exactlyOnce() {
    return with(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
  }

  /** Makes stores spill often. */
  TestContext littlePending() {
    return with(FoveaStores.PENDING_BYTES_CONFIG, 1L << 16);
  }

  /** Sets the offset in {@link #SOURCE} of records processed from now on. */
  void offset(long of) {
    offset = of;
  }

  Path taskDirectory() {
    return instance.resolve(task);
  }

  <S extends StateStore> S open(S store) {
    store.init(this, store);
    return store;
  }

  /** Restores changelog records to a store. */
  void restore(String store, List<ConsumerRecord<byte[], byte[]>> records) {
    StateRestoreCallback callback = callbacks.get(store);
    if (callback instanceof RecordBatchingStateRestoreCallback all) {
      all.restoreBatch(records);
    } else {
      List<KeyValue<byte[], byte[]>> pairs = new ArrayList<>();
      records.forEach(r -> pairs.add(KeyValue.pair(r.key(), r.value())));
      ((BatchingStateRestoreCallback) callback).restoreAll(pairs);
    }
  }

  static ConsumerRecord<byte[], byte[]> record(long offset, byte[] key, byte[] value) {
    return new ConsumerRecord<>(CHANGELOG.topic(), 0, offset, key, value);
  }

  static Bytes key(String text) {
    return Bytes.wrap(bytes(text));
  }

  static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  static String text(byte[] bytes) {
    return bytes == null ? null : new String(bytes, StandardCharsets.UTF_8);
  }

  @Override
  public String applicationId() {
    return "test";
  }

  @Override
  public TaskId taskId() {
    return task.equals("global") ? new TaskId(-1, -1) : TaskId.parse(task);
  }

  @Override
  public Optional<RecordMetadata> recordMetadata() {
    if (offset < 0) {
      return Optional.empty();
    }
    long of = offset;
    return Optional.of(
        new RecordMetadata() {
          @Override
          public String topic() {
            return SOURCE;
          }

          @Override
          public int partition() {
            return 0;
          }

          @Override
          public long offset() {
            return of;
          }
        });
  }

  @Override
  public Serde<?> keySerde() {
    return Serdes.ByteArray();
  }

  @Override
  public Serde<?> valueSerde() {
    return Serdes.ByteArray();
  }

  @Override
  public File stateDir() {
    File directory = taskDirectory().toFile();
    directory.mkdirs();
    return directory;
  }

  @Override
  public StreamsMetrics metrics() {
    return metrics;
  }

  @Override
  public void register(StateStore store, StateRestoreCallback callback) {
    callbacks.put(store.name(), callback);
  }

  @Override
  public void register(StateStore store, StateRestoreCallback callback, CommitCallback commit) {
    register(store, callback);
  }

  @Override
  public Map<String, Object> appConfigs() {
    return configs;
  }

  @Override
  public Map<String, Object> appConfigsWithPrefix(String prefix) {
    return Map.of();
  }
}
