package io.fovea.streams.example;

import io.fovea.streams.FoveaStores;
import java.time.Duration;
import java.util.Arrays;
import java.util.Locale;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.TimeWindows;

/**
 * The word count of Kafka's tutorial with Fovea's stores: the example of
 * docs/guide/kafka-streams.md.
 *
 * <p>{@code java io.fovea.streams.example.WordCount localhost:9092} runs it against a broker with
 * the topics {@code text} and {@code counts}.
 */
public final class WordCount {
  private WordCount() {}

  /** Counts words, in total and per minute. */
  static Topology topology() {
    StreamsBuilder builder = new StreamsBuilder();
    var words =
        builder.stream("text", Consumed.with(Serdes.String(), Serdes.String()))
            .flatMapValues(line -> Arrays.asList(line.toLowerCase(Locale.ROOT).split("\\W+")))
            .groupBy((key, word) -> word, Grouped.with(Serdes.String(), Serdes.String()));
    words
        .count(Materialized.as("counts-store"))
        .toStream()
        .to("counts", Produced.with(Serdes.String(), Serdes.Long()));
    words
        .windowedBy(TimeWindows.ofSizeWithNoGrace(Duration.ofMinutes(1)))
        .count(
            Materialized.as(
                FoveaStores.timestampedWindowStore(
                    "by-minute", Duration.ofHours(1), Duration.ofMinutes(1), false)));
    return builder.build();
  }

  /** The configuration of Fovea. */
  static Properties fovea() {
    Properties props = new Properties();
    props.put(StreamsConfig.DSL_STORE_SUPPLIERS_CLASS_CONFIG, FoveaStores.class);
    props.put(FoveaStores.BUFFER_BYTES_CONFIG, 512L << 20);
    return props;
  }

  /**
   * Runs until the process is ended.
   *
   * @param arguments the address of a broker
   */
  public static void main(String[] arguments) {
    Properties props = fovea();
    props.put(StreamsConfig.APPLICATION_ID_CONFIG, "word-count");
    props.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, arguments[0]);
    KafkaStreams streams = new KafkaStreams(topology(), props);
    Runtime.getRuntime().addShutdownHook(new Thread(streams::close));
    streams.start();
  }
}
