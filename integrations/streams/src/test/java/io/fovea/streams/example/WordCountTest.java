package io.fovea.streams.example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Arrays;
import java.util.Map;
import java.util.Properties;
import java.util.stream.Collectors;
import org.apache.kafka.common.serialization.LongDeserializer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.state.WindowStore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the example; PagesTest compares it with docs/guide/kafka-streams.md. */
class WordCountTest {
  @TempDir Path directory;

  @Test
  void counts() {
    Properties props = WordCount.fovea();
    props.put(StreamsConfig.APPLICATION_ID_CONFIG, "word-count");
    props.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "nowhere:1");
    props.put(StreamsConfig.STATE_DIR_CONFIG, directory.toString());
    Instant start = Instant.ofEpochMilli(0);
    try (TopologyTestDriver driver = new TopologyTestDriver(WordCount.topology(), props, start)) {
      var text = driver.createInputTopic("text", new StringSerializer(), new StringSerializer());
      text.pipeInput(null, "the quick fox, the lazy dog", start);
      text.pipeInput(null, "The fox", start.plusSeconds(70));
      var counts =
          driver.createOutputTopic("counts", new StringDeserializer(), new LongDeserializer());
      Map<String, Long> last = counts.readKeyValuesToMap();
      assertEquals(Map.of("the", 3L, "quick", 1L, "fox", 2L, "lazy", 1L, "dog", 1L), last);
      WindowStore<String, ?> byMinute = driver.getWindowStore("by-minute");
      try (var fox = byMinute.fetch("fox", start, start.plusSeconds(120))) {
        assertEquals(0L, fox.next().key);
        assertEquals(60_000L, fox.next().key);
      }
      assertTrue(Files.exists(directory.resolve("word-count/fovea/stores.fovea")));
    }
  }

  /** The process of {@link #withoutRocksDb}. */
  static final class Counting {
    public static void main(String[] arguments) {
      Properties props = WordCount.fovea();
      props.put(StreamsConfig.APPLICATION_ID_CONFIG, "word-count");
      props.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "nowhere:1");
      props.put(StreamsConfig.STATE_DIR_CONFIG, arguments[0]);
      try (TopologyTestDriver driver = new TopologyTestDriver(WordCount.topology(), props)) {
        driver
            .createInputTopic("text", new StringSerializer(), new StringSerializer())
            .pipeInput(null, "one two one");
        System.out.println("one: " + driver.getKeyValueStore("counts-store").get("one"));
      }
    }
  }

  /** The guide says that RocksDB's library may be excluded. */
  @Test
  void withoutRocksDb() throws Exception {
    String path =
        Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
            .filter(jar -> !jar.contains("rocksdbjni"))
            .collect(Collectors.joining(File.pathSeparator));
    assertTrue(path.length() < System.getProperty("java.class.path").length());
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                path,
                Counting.class.getName(),
                directory.toString())
            .redirectErrorStream(true)
            .start();
    String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(0, process.waitFor(), said);
    assertTrue(said.contains("one: 2"), said);
  }
}
