package io.fovea.streams.broker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.examples.wordcount.WordCountDemo;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/**
 * The word count of Kafka's tutorial, from Kafka's jar, with the one line of the guide in its
 * configuration. The second run has no RocksDB on its class path.
 */
@Tag("slow")
@Timeout(value = 5, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@ExtendWith(WithBroker.class)
class TutorialTest {
  private static final String SUPPLIERS =
      System.getProperty("streams.suppliers", "io.fovea.streams.FoveaStores");
  private static final Duration PATIENCE = Duration.ofMinutes(2);

  private static final List<String> LINES =
      List.of("all streams lead to kafka", "hello kafka streams", "join kafka summit");

  private static final Map<String, Long> COUNTS =
      Map.of(
          "all", 1L, "streams", 2L, "lead", 1L, "to", 1L, "kafka", 3L, "hello", 1L, "join", 1L,
          "summit", 1L);

  @TempDir Path dir;

  private void run(Broker broker, String application, List<String> classPath, long times)
      throws Exception {
    Properties p = new Properties();
    p.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, broker.address());
    p.put(StreamsConfig.STATE_DIR_CONFIG, dir.resolve("state").toString());
    p.put(StreamsConfig.APPLICATION_ID_CONFIG, application);
    // the one line
    p.put("dsl.store.suppliers.class", SUPPLIERS);
    Path file = dir.resolve(application + ".properties");
    try (OutputStream out = Files.newOutputStream(file)) {
      p.store(out, null);
    }
    try (KafkaProducer<String, String> producer =
        new KafkaProducer<>(broker.properties(), new StringSerializer(), new StringSerializer())) {
      for (String line : LINES) {
        producer.send(new ProducerRecord<>(WordCountDemo.INPUT_TOPIC, line));
      }
    }
    Map<String, Long> expected = new HashMap<>();
    COUNTS.forEach((word, n) -> expected.put(word, n * times));
    Map<String, Long> counts = new HashMap<>();
    Path log = dir.resolve(application + ".log");
    try (Topic out = new Topic(broker, WordCountDemo.OUTPUT_TOPIC, 1);
        Child demo =
            Child.start(
                log, classPath, List.of(), WordCountDemo.class.getName(), file.toString())) {
      // Each run counts everything from the beginning: its counts come after the old ones.
      long records = times * (times + 1) / 2 * COUNTS.values().stream().mapToLong(n -> n).sum();
      long seen = 0;
      long end = System.nanoTime() + PATIENCE.toNanos();
      while (seen < records) {
        var more = out.more();
        more.forEach(r -> counts.put(Topic.text(r.key()), Topic.number(r.value())));
        seen += more.size();
        assertTrue(demo.alive() && System.nanoTime() < end, () -> counts + " " + demo.tail());
      }
      assertEquals(expected, counts);
      demo.kill();
    }
  }

  private boolean isFovea() {
    return SUPPLIERS.startsWith("io.fovea");
  }

  @Test
  void withOneLine(Broker broker) throws Exception {
    broker.create(WordCountDemo.INPUT_TOPIC, 1);
    broker.create(WordCountDemo.OUTPUT_TOPIC, 1);
    run(broker, "one-line", Child.classPath(), 1);
    if (isFovea()) {
      try (Stream<Path> files = Files.walk(dir.resolve("state"))) {
        assertTrue(files.anyMatch(f -> f.getFileName().toString().equals("fovea")));
      }
      try (Stream<Path> files = Files.walk(dir.resolve("state"))) {
        assertFalse(files.anyMatch(f -> f.getFileName().toString().equals("rocksdb")));
      }
      List<String> without =
          Child.classPath().stream().filter(entry -> !entry.contains("rocksdbjni")).toList();
      assertTrue(without.size() < Child.classPath().size(), "RocksDB was not on the class path");
      run(broker, "without-rocksdb", without, 2);
    }
  }
}
