package io.fovea.streams.bench;

import io.fovea.streams.broker.ParentPipe;
import java.time.Duration;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StoreQueryParameters;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.errors.InvalidStateStoreException;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.processor.StateRestoreListener;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.QueryableStoreTypes;
import org.apache.kafka.streams.state.ReadOnlyKeyValueStore;

/**
 * A Kafka Streams application with a broker that keeps the last value of each key: a get and a put
 * per record. Arguments: store type, broker, folder, topic, its partitions, and the number of
 * records to report.
 *
 * <p>Its messages: {@code state S}; {@code restored SECONDS RECORDS} when all partitions are
 * restored; {@code records SECONDS} after that number of records, from the first one on; {@code
 * got} as soon as its store answers for a key, which it queries from the start. {@code stop} closes
 * it.
 */
final class AppBench {
  private static final String STORE = "last";

  private final ParentPipe mouth;
  private final int partitions;
  private final long awaited;
  private final AtomicLong processed = new AtomicLong();
  private volatile long begun;

  private AppBench(ParentPipe mouth, int partitions, long awaited) {
    this.mouth = mouth;
    this.partitions = partitions;
    this.awaited = awaited;
  }

  private KafkaStreams streams(StoreType type, String broker, String folder, String topic) {
    Properties p = new Properties();
    p.put(StreamsConfig.APPLICATION_ID_CONFIG, "bench-" + type);
    p.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, broker);
    p.put(StreamsConfig.STATE_DIR_CONFIG, folder);
    p.put(StreamsConfig.REPLICATION_FACTOR_CONFIG, "1");
    p.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, "0");
    p.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, "1000");
    p.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
    // The successor of a killed process need not wait for the group's session timeout.
    p.put("main.consumer.group.instance.id", "one");
    type.configure(p);
    KafkaStreams streams = new KafkaStreams(topology(topic), p);
    streams.setStateListener((now, before) -> mouth.say("state " + now));
    streams.setGlobalStateRestoreListener(new Restoration());
    return streams;
  }

  private Topology topology(String topic) {
    StreamsBuilder builder = new StreamsBuilder();
    builder.stream(topic, Consumed.with(Serdes.ByteArray(), Serdes.ByteArray()))
        .peek((key, value) -> seen())
        .groupByKey()
        .aggregate(
            () -> new byte[0],
            (key, value, last) -> value,
            Materialized.<byte[], byte[], KeyValueStore<Bytes, byte[]>>as(STORE)
                .withKeySerde(Serdes.ByteArray())
                .withValueSerde(Serdes.ByteArray()));
    return builder.build();
  }

  private void seen() {
    long n = processed.incrementAndGet();
    if (n == 1) {
      begun = System.nanoTime();
    }
    if (n == awaited) {
      mouth.say("records " + (System.nanoTime() - begun) / 1e9);
    }
  }

  /** Times restoration, from the first partition's start to the last one's end. */
  private final class Restoration implements StateRestoreListener {
    private final ConcurrentHashMap<TopicPartition, Long> records = new ConcurrentHashMap<>();
    private volatile long start;

    @Override
    public void onRestoreStart(TopicPartition changelog, String store, long from, long to) {
      if (start == 0) {
        start = System.nanoTime();
      }
    }

    @Override
    public void onBatchRestored(TopicPartition changelog, String store, long end, long n) {}

    @Override
    public void onRestoreEnd(TopicPartition changelog, String store, long n) {
      records.put(changelog, n);
      if (records.size() == partitions) {
        long all = records.values().stream().mapToLong(r -> r).sum();
        mouth.say("restored " + (System.nanoTime() - start) / 1e9 + " " + all);
      }
    }
  }

  /** Queries until the store answers. */
  private void awaitAnswer(KafkaStreams streams) {
    for (; ; ) {
      try {
        ReadOnlyKeyValueStore<byte[], byte[]> store =
            streams.store(
                StoreQueryParameters.fromNameAndType(STORE, QueryableStoreTypes.keyValueStore()));
        if (store.get(StoreBench.key(0)) != null) {
          mouth.say("got");
          return;
        }
      } catch (InvalidStateStoreException e) {
        // not yet
      }
      try {
        Thread.sleep(5);
      } catch (InterruptedException e) {
        return;
      }
    }
  }

  public static void main(String[] args) throws InterruptedException {
    ParentPipe mouth = new ParentPipe();
    AppBench bench = new AppBench(mouth, Integer.parseInt(args[4]), Long.parseLong(args[5]));
    KafkaStreams streams = bench.streams(StoreType.valueOf(args[0]), args[1], args[2], args[3]);
    streams.start();
    Thread asking = new Thread(() -> bench.awaitAnswer(streams), "asking");
    asking.setDaemon(true);
    asking.start();
    if (mouth.next().equals("stop")) {
      streams.close(Duration.ofMinutes(1));
      mouth.say("stopped");
    }
    Runtime.getRuntime().halt(0);
  }
}
