package io.fovea.streams.broker;

import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StoreQueryParameters;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.errors.InvalidStateStoreException;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KGroupedStream;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.processor.StateRestoreListener;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.QueryableStoreTypes;
import org.apache.kafka.streams.state.ReadOnlyKeyValueStore;

/**
 * A Kafka Streams application that counts, in a process that tests kill.
 *
 * <p>Its messages: {@code state S} on a change of state, {@code restore TOPIC PARTITION FROM TO},
 * {@code restored TOPIC PARTITION RECORDS}, and {@code error E}. Its requests:
 *
 * <ul>
 *   <li>{@code dump}: answers {@code entry KEY COUNT} for each key, then {@code end};
 *   <li>{@code first KEY}: answers {@code got COUNT} as soon as its store answers;
 *   <li>{@code stop}: closes and answers {@code stopped}.
 * </ul>
 */
public final class CountApp {
  /** The store of the counts. */
  public static final String STORE = "counts";

  private CountApp() {}

  /** What is counted. */
  public enum Counted {
    /** Words of the values, as in Kafka's tutorial; repartitioned by word. */
    WORDS,
    /** Keys of the records: the store has offsets of the input topic itself. */
    KEYS
  }

  /** Counts records of one topic into another. */
  public static Topology topology(Counted counted, String in, String out) {
    StreamsBuilder builder = new StreamsBuilder();
    KStream<String, String> lines =
        builder.stream(in, Consumed.with(Serdes.String(), Serdes.String()));
    KGroupedStream<String, String> grouped =
        counted == Counted.KEYS
            ? lines.groupByKey()
            : lines
                .flatMapValues(line -> Arrays.asList(line.split(" ")))
                .groupBy(
                    (key, word) -> word,
                    Grouped.<String, String>as("words")
                        .withKeySerde(Serdes.String())
                        .withValueSerde(Serdes.String()));
    grouped
        .count(Materialized.as(STORE))
        .toStream()
        .to(out, Produced.with(Serdes.String(), Serdes.Long()));
    return builder.build();
  }

  /** The changelog topic of the store. */
  public static String changelog(String application) {
    return application + "-" + STORE + "-changelog";
  }

  /** Properties common to all applications. */
  public static Properties properties(
      String address, String application, Path state, String suppliers, String guarantee) {
    Properties p = new Properties();
    p.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, address);
    p.put(StreamsConfig.APPLICATION_ID_CONFIG, application);
    p.put(StreamsConfig.STATE_DIR_CONFIG, state.toString());
    p.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, guarantee);
    p.put(StreamsConfig.DSL_STORE_SUPPLIERS_CLASS_CONFIG, suppliers);
    p.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class.getName());
    p.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class.getName());
    p.put(StreamsConfig.REPLICATION_FACTOR_CONFIG, "1");
    // Emit each count, so that the output shows lost or repeated ones.
    p.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, "0");
    p.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, "100");
    p.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
    p.put("fovea.buffer.bytes", Long.toString(64L << 20));
    return p;
  }

  /** Arguments: properties file, what is counted, input and output topic. */
  public static void main(String[] args) throws IOException, InterruptedException {
    ParentPipe mouth = new ParentPipe();
    Properties p = new Properties();
    try (Reader file = Files.newBufferedReader(Path.of(args[0]))) {
      p.load(file);
    }
    KafkaStreams streams =
        new KafkaStreams(topology(Counted.valueOf(args[1]), args[2], args[3]), p);
    streams.setStateListener((now, before) -> mouth.say("state " + now));
    streams.setUncaughtExceptionHandler(
        e -> {
          e.printStackTrace();
          mouth.say("error " + e);
          return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
    streams.setGlobalStateRestoreListener(new Restored(mouth));
    streams.start();
    for (; ; ) {
      String[] words = mouth.next().split(" ");
      switch (words[0]) {
        case "dump" -> dump(streams, mouth);
        case "first" -> mouth.say("got " + first(streams, words[1]));
        case "stop" -> {
          mouth.say(streams.close(Duration.ofMinutes(1)) ? "stopped" : "error no end");
          System.exit(0);
        }
        default -> throw new IllegalArgumentException(words[0]);
      }
    }
  }

  private static ReadOnlyKeyValueStore<String, Long> store(KafkaStreams streams) {
    return streams.store(
        StoreQueryParameters.fromNameAndType(STORE, QueryableStoreTypes.keyValueStore()));
  }

  private static void dump(KafkaStreams streams, ParentPipe mouth) {
    try (KeyValueIterator<String, Long> all = store(streams).all()) {
      while (all.hasNext()) {
        KeyValue<String, Long> next = all.next();
        mouth.say("entry " + next.key + " " + next.value);
      }
    }
    mouth.say("end");
  }

  private static Long first(KafkaStreams streams, String key) throws InterruptedException {
    for (; ; ) {
      try {
        return store(streams).get(key);
      } catch (InvalidStateStoreException e) {
        Thread.sleep(1);
      }
    }
  }

  private record Restored(ParentPipe mouth) implements StateRestoreListener {
    @Override
    public void onRestoreStart(TopicPartition changelog, String store, long from, long to) {
      mouth.say(
          "restore " + changelog.topic() + " " + changelog.partition() + " " + from + " " + to);
    }

    @Override
    public void onBatchRestored(TopicPartition changelog, String store, long end, long records) {}

    @Override
    public void onRestoreEnd(TopicPartition changelog, String store, long records) {
      mouth.say("restored " + changelog.topic() + " " + changelog.partition() + " " + records);
    }
  }
}
