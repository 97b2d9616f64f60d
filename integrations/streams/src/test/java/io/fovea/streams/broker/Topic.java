package io.fovea.streams.broker;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.LongDeserializer;
import org.apache.kafka.common.serialization.StringDeserializer;

/** Reads all committed records of a topic, in the order of each partition. */
final class Topic implements AutoCloseable {
  private final KafkaConsumer<byte[], byte[]> consumer;
  private final List<TopicPartition> partitions;

  Topic(Broker broker, String name, int partitions) {
    Properties p = broker.properties();
    p.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
    consumer = new KafkaConsumer<>(p, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    this.partitions =
        IntStream.range(0, partitions).mapToObj(i -> new TopicPartition(name, i)).toList();
    consumer.assign(this.partitions);
    consumer.seekToBeginning(this.partitions);
  }

  /** The end of the committed part of each partition. */
  Map<Integer, Long> ends() {
    Map<Integer, Long> ends = new HashMap<>();
    consumer.endOffsets(partitions).forEach((p, end) -> ends.put(p.partition(), end));
    return ends;
  }

  /** Records since the last call. */
  List<ConsumerRecord<byte[], byte[]>> more() {
    List<ConsumerRecord<byte[], byte[]>> all = new ArrayList<>();
    Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
    while (partitions.stream().anyMatch(p -> consumer.position(p) < ends.get(p))) {
      consumer.poll(Duration.ofMillis(200)).forEach(all::add);
    }
    return all;
  }

  static String text(byte[] bytes) {
    try (StringDeserializer d = new StringDeserializer()) {
      return d.deserialize(null, bytes);
    }
  }

  static long number(byte[] bytes) {
    try (LongDeserializer d = new LongDeserializer()) {
      return d.deserialize(null, bytes);
    }
  }

  @Override
  public void close() {
    consumer.close();
  }
}
