package io.fovea.streams.bench;

import io.fovea.streams.broker.Broker;
import io.fovea.streams.broker.Child;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Compares Fovea's stores with RocksDB's, with default settings and with bounded memory; prints the
 * table of docs/benchmarks/streams.md.
 *
 * <p>The three alternate, each measurement in its own process. Arguments: folder, rounds (as many
 * as fit into the minutes), minutes, records in a store, records through the broker, and seconds
 * for measuring gets. A failed run prints the figures obtained so far.
 */
public final class StreamsBench {
  private static final String TOPIC = "records";
  private static final int PARTITIONS = 2;
  private static final int VALUE = 100;
  private static final Duration PATIENCE = Duration.ofMinutes(5);
  private static final List<String> JVM =
      List.of("-XX:TieredStopAtLevel=4", "-da", "-Xms384m", "-Xmx384m", "-XX:+AlwaysPreTouch");

  /** A line of the table: name and format. */
  private enum Figure {
    LOAD("in-load", "**fits into the memory:** puts of new keys a second", "%,.0f"),
    PUTS("in-puts", "puts of old keys a second", "%,.0f"),
    PUT_CPU("in-put-cpu", "processor time of one, µs", "%.1f"),
    GETS("in-gets", "gets a second", "%,.0f"),
    GET_CPU("in-get-cpu", "processor time of one, µs", "%.1f"),
    P99("in-p99", "get, 99th percentile, µs", "%.1f"),
    RSS("in-rss", "memory after that, MiB", "%.0f"),
    PEAK("in-peak", "memory at most, MiB", "%.0f"),
    OUT_LOAD("out-load", "**does not fit:** puts of new keys a second", "%,.0f"),
    OUT_PUTS("out-puts", "puts of old keys a second", "%,.0f"),
    OUT_PUT_CPU("out-put-cpu", "processor time of one, µs", "%.1f"),
    OUT_GETS("out-gets", "gets a second", "%,.0f"),
    OUT_GET_CPU("out-get-cpu", "processor time of one, µs", "%.1f"),
    OUT_P99("out-p99", "get, 99th percentile, µs", "%.1f"),
    OUT_RSS("out-rss", "memory after that, MiB", "%.0f"),
    OUT_PEAK("out-peak", "memory at most, MiB", "%.0f"),
    MANY_PEAK("many-peak", "**200 stores:** memory at most, MiB", "%.0f"),
    MANY_CLOSE("many-close", "time to close them, s", "%.2f"),
    RECORDS("records", "**application:** records a second", "%,.0f"),
    RESTORE("restored", "records restored, a second", "%,.0f"),
    KILLED("killed", "first answer after kill -9, s", "%.1f"),
    TAIL("tail", "records restored after kill -9", "%,.0f");

    final String word;
    final String title;
    final String format;

    Figure(String word, String title, String format) {
      this.word = word;
      this.title = title;
      this.format = format;
    }
  }

  private final Path folder;
  private final int stored;
  private final int sent;
  private final String seconds;
  private final Map<StoreType, Map<Figure, List<Double>>> figures = new EnumMap<>(StoreType.class);

  private StreamsBench(Path folder, int stored, int sent, String seconds) {
    this.folder = folder;
    this.stored = stored;
    this.sent = sent;
    this.seconds = seconds;
    for (StoreType type : StoreType.values()) {
      figures.put(type, new LinkedHashMap<>());
    }
  }

  private void add(StoreType type, Figure figure, double value) {
    System.err.printf(Locale.ROOT, "%s: %s: " + figure.format + "%n", type, figure.title, value);
    figures.get(type).computeIfAbsent(figure, f -> new ArrayList<>()).add(value);
  }

  /** Without a broker: each line of the child is a figure. */
  private void stores(StoreType type, String work, int records) throws Exception {
    Path state = Files.createDirectories(folder.resolve("state"));
    try (Child child =
        Child.start(
            folder.resolve("children.log"),
            JVM,
            StoreBench.class.getName(),
            type.name(),
            state.toString(),
            Integer.toString(records),
            work,
            seconds)) {
      child.await(
          "done",
          PATIENCE,
          line -> {
            String[] words = line.split(" ");
            for (Figure f : Figure.values()) {
              if (f.word.equals(words[0])) {
                add(type, f, Double.parseDouble(words[1]));
              }
            }
            return true;
          });
    }
    Broker.delete(state);
  }

  private Child app(StoreType type, Broker broker, Path state) throws IOException {
    return Child.start(
        folder.resolve("children.log"),
        JVM,
        AppBench.class.getName(),
        type.name(),
        broker.address(),
        state.toString(),
        TOPIC,
        Integer.toString(PARTITIONS),
        Integer.toString(sent));
  }

  private void write(Broker broker) {
    Properties p = new Properties();
    p.put(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, broker.address());
    p.put(ProducerConfig.LINGER_MS_CONFIG, "20");
    SplittableRandom random = new SplittableRandom(1);
    try (KafkaProducer<byte[], byte[]> producer =
        new KafkaProducer<>(p, new ByteArraySerializer(), new ByteArraySerializer())) {
      for (int i = 0; i < sent; i++) {
        byte[] value = new byte[VALUE];
        random.nextBytes(value);
        int key = random.nextInt(sent / 2);
        producer.send(new ProducerRecord<>(TOPIC, key % PARTITIONS, StoreBench.key(key), value));
      }
      producer.send(new ProducerRecord<>(TOPIC, 0, StoreBench.key(0), new byte[VALUE]));
    }
  }

  /** With a broker: all records, full restoration, and a kill under load. */
  private void application(StoreType type, Broker broker) throws Exception {
    Path state = folder.resolve("state");
    try (Child child = app(type, broker, state)) {
      String line = child.await("records", PATIENCE, l -> true);
      add(type, Figure.RECORDS, sent / Double.parseDouble(line.split(" ")[1]));
      child.say("stop");
      child.await("stopped", PATIENCE, l -> true);
    }
    Broker.delete(state);
    try (Child child = app(type, broker, state)) {
      String[] words = child.await("restored", PATIENCE, l -> true).split(" ");
      add(type, Figure.RESTORE, Double.parseDouble(words[2]) / Double.parseDouble(words[1]));
      child.await("state RUNNING", PATIENCE, l -> true);
      // until commit intervals have passed
      for (long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(3); System.nanoTime() < end; ) {
        child.next(Duration.ofNanos(Math.max(1, end - System.nanoTime())));
      }
      child.kill();
    }
    long start = System.nanoTime();
    try (Child child = app(type, broker, state)) {
      double[] tail = {0};
      child.await(
          "got",
          PATIENCE,
          line -> {
            if (line.startsWith("restored")) {
              tail[0] = Double.parseDouble(line.split(" ")[2]);
            }
            return true;
          });
      add(type, Figure.KILLED, (System.nanoTime() - start) / 1e9);
      add(type, Figure.TAIL, tail[0]);
      child.say("stop");
      child.await("stopped", PATIENCE, l -> true);
    }
    Broker.delete(state);
  }

  private void round() throws Exception {
    for (StoreType type : StoreType.values()) {
      stores(type, "in", stored / 3);
    }
    for (StoreType type : StoreType.values()) {
      stores(type, "out", stored);
    }
    for (StoreType type : StoreType.values()) {
      stores(type, "many", stored / 2);
    }
    Path files = Files.createDirectories(folder.resolve("kafka"));
    try (Broker broker = Broker.start(files)) {
      broker.create(TOPIC, PARTITIONS);
      write(broker);
      for (StoreType type : StoreType.values()) {
        application(type, broker);
      }
    }
    Broker.delete(files);
  }

  /** The median, minimum and maximum. */
  private static String text(Figure figure, List<Double> values) {
    double[] sorted = values.stream().mapToDouble(v -> v).sorted().toArray();
    int last = sorted.length - 1;
    double median = (sorted[last / 2] + sorted[sorted.length / 2]) / 2;
    String f = figure.format;
    return String.format(
        Locale.ROOT, f + " (" + f + "-" + f + ")", median, sorted[0], sorted[last]);
  }

  private void print(PrintStream out, int rounds) {
    StringBuilder b = new StringBuilder("| |");
    for (StoreType type : StoreType.values()) {
      b.append(' ').append(type.title).append(" |");
    }
    b.append("\n|---|").append("---|".repeat(StoreType.values().length)).append('\n');
    for (Figure f : Figure.values()) {
      b.append("| ").append(f.title).append(" |");
      for (StoreType type : StoreType.values()) {
        List<Double> values = figures.get(type).get(f);
        b.append(' ').append(values == null ? "-" : text(f, values)).append(" |");
      }
      b.append('\n');
    }
    out.print(b);
    out.printf(
        "%n%d rounds; %,d and %,d records in a store, %,d in 200, %,d through the broker%n",
        rounds, stored / 3, stored, stored / 2, sent);
  }

  /** Runs the rounds and prints the table. */
  public static void main(String[] args) throws Exception {
    if (args.length != 6) {
      System.err.println(
          "folder, rounds, minutes, records in a store, records through the broker, seconds of gets: "
              + Arrays.toString(args));
      System.exit(2);
    }
    // Kafka's loggers write to standard output.
    PrintStream out = System.out;
    System.setOut(System.err);
    Path folder = Files.createDirectories(Path.of(args[0])).toAbsolutePath();
    int rounds = Integer.parseInt(args[1]);
    long nanos = (long) (Double.parseDouble(args[2]) * 60e9);
    StreamsBench bench =
        new StreamsBench(folder, Integer.parseInt(args[3]), Integer.parseInt(args[4]), args[5]);
    long start = System.nanoTime();
    int done = 0;
    try {
      // Starts another round only if one of average length would end in time.
      while (done < rounds
          && (System.nanoTime() - start) * (done + 1.0) / Math.max(1, done) <= nanos) {
        bench.round();
        done++;
      }
    } finally {
      bench.print(out, done);
    }
  }
}
