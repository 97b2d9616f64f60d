package io.fovea.streams.broker;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Writes lines of words to a topic, at a constant rate, and records the offset of each line.
 *
 * <p>The key of a line is its first word, which determines the partition. The writer has its own
 * thread; all methods are thread-safe.
 */
final class Writer implements AutoCloseable {
  private static final int LINES_AT_ONCE = 20;

  private final String topic;
  private final KafkaProducer<String, String> producer;
  private final Thread thread;
  private final List<List<String>> partitions = new ArrayList<>();
  private volatile boolean stopped;
  private volatile Exception failed;

  Writer(Broker broker, String topic, int partitions, int words, int linesPerSecond, long seed) {
    this.topic = topic;
    for (int i = 0; i < partitions; i++) {
      this.partitions.add(new ArrayList<>());
    }
    Properties p = broker.properties();
    p.put(ProducerConfig.ACKS_CONFIG, "all");
    p.put(ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG, "true");
    producer = new KafkaProducer<>(p, new StringSerializer(), new StringSerializer());
    thread = new Thread(() -> write(new Random(seed), words, linesPerSecond), "writer of " + topic);
    thread.setDaemon(true);
    thread.start();
  }

  /** The partition of a key. */
  int partition(String key) {
    return Math.floorMod(key.hashCode(), partitions.size());
  }

  static String word(int i) {
    return "w" + i;
  }

  private void write(Random r, int words, int linesPerSecond) {
    long next = System.nanoTime();
    while (!stopped && failed == null) {
      for (int i = 0; i < LINES_AT_ONCE; i++) {
        // Some words are frequent, most are not.
        int n = 1 + r.nextInt(4);
        List<String> line = new ArrayList<>();
        for (int j = 0; j < n; j++) {
          double d = r.nextDouble();
          line.add(word((int) (d * d * d * words)));
        }
        String key = line.getFirst();
        int partition = partition(key);
        String text = String.join(" ", line);
        producer.send(
            new ProducerRecord<>(topic, partition, key, text),
            (at, e) -> {
              if (e != null) {
                failed = e;
              } else {
                written(partition, at.offset(), text);
              }
            });
      }
      next += LINES_AT_ONCE * 1_000_000_000L / linesPerSecond;
      // A rate limit, not a wait for an event.
      LockSupport.parkNanos(next - System.nanoTime());
    }
    producer.flush();
  }

  private void written(int partition, long offset, String line) {
    List<String> lines = partitions.get(partition);
    synchronized (lines) {
      if (lines.size() != offset) {
        failed = new IllegalStateException(partition + ": " + offset + ", not " + lines.size());
      }
      lines.add(line);
    }
  }

  /** The number of acknowledged lines of a partition; their offsets are all lower ones. */
  long acknowledged(int partition) {
    List<String> lines = partitions.get(partition);
    synchronized (lines) {
      return lines.size();
    }
  }

  /** How often a key occurs in its partition up to and including an offset. */
  long count(String key, long offset) {
    List<String> lines = partitions.get(partition(key));
    synchronized (lines) {
      if (offset >= lines.size()) {
        return -1;
      }
      String start = key + " ";
      return lines.subList(0, (int) offset + 1).stream()
          .filter(line -> line.startsWith(start) || line.equals(key))
          .count();
    }
  }

  /** Stops writing; waits until all lines are acknowledged. */
  void stop() throws InterruptedException {
    stopped = true;
    thread.join();
    if (failed != null) {
      throw new AssertionError("the writer failed", failed);
    }
  }

  /** Occurrences of each word; after {@link #stop}. */
  Map<String, Long> words() {
    Map<String, Long> counts = new HashMap<>();
    for (List<String> lines : partitions) {
      for (String line : lines) {
        for (String word : line.split(" ")) {
          counts.merge(word, 1L, Long::sum);
        }
      }
    }
    return counts;
  }

  /** Occurrences of each key; after {@link #stop}. */
  Map<String, Long> keys() {
    Map<String, Long> counts = new HashMap<>();
    for (List<String> lines : partitions) {
      lines.forEach(line -> counts.merge(line.split(" ")[0], 1L, Long::sum));
    }
    return counts;
  }

  @Override
  public void close() {
    stopped = true;
    producer.close();
  }
}
