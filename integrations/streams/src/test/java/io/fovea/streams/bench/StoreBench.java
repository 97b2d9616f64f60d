package io.fovea.streams.bench;

import io.fovea.streams.broker.Mouth;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Properties;
import java.util.SplittableRandom;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.DslStoreFormat;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TestInputTopic;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.DslKeyValueParams;
import org.apache.kafka.streams.state.DslStoreSuppliers;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.TimestampedKeyValueStore;
import org.apache.kafka.streams.state.ValueAndTimestamp;

/**
 * Stores in a task of Kafka Streams, without a broker: what a put and a get cost, what memory that
 * takes, and how long a hundred stores take to close.
 *
 * <p>The stores are those that Kafka Streams makes, with its meters and serializers around them.
 * Their changes are not logged, because the driver would keep the log in memory. A commit comes
 * after every ten thousand puts. Arguments: type of the store, folder, number of records, {@code
 * work} or {@code close}.
 */
final class StoreBench {
  private static final int COMMIT = 10_000;
  private static final int VALUE = 100;
  private static final String TOPIC = "orders";

  private static final class Work implements Processor<byte[], byte[], Void, Void> {
    private final int stores;
    private TimestampedKeyValueStore<byte[], byte[]>[] all;

    Work(int stores) {
      this.stores = stores;
    }

    @Override
    @SuppressWarnings({"unchecked", "rawtypes"})
    public void init(ProcessorContext<Void, Void> context) {
      all = new TimestampedKeyValueStore[stores];
      for (int i = 0; i < stores; i++) {
        all[i] = context.getStateStore(name(i));
      }
    }

    @Override
    public void process(Record<byte[], byte[]> record) {
      ByteBuffer order = ByteBuffer.wrap(record.value());
      int records = order.getInt();
      SplittableRandom random = new SplittableRandom(order.getLong());
      int from = order.getInt();
      int to = order.getInt();
      boolean inOrder = order.get() == 1;
      byte[] value = new byte[VALUE];
      for (int i = from; i < to; i++) {
        random.nextBytes(value);
        byte[] key = key(inOrder ? i : random.nextInt(records));
        all[i % stores].put(key, ValueAndTimestamp.make(value, i));
      }
    }
  }

  /** Sixteen bytes, scattered. */
  static byte[] key(int i) {
    long mixed = i * 0x9E3779B97F4A7C15L;
    mixed = (mixed ^ (mixed >>> 32)) * 0xD6E8FEB86659FD93L;
    return ByteBuffer.allocate(16).putLong(mixed).putLong(i).array();
  }

  private static String name(int i) {
    return "store-" + i;
  }

  private final TopologyTestDriver driver;
  private final TestInputTopic<byte[], byte[]> orders;
  private final int records;

  private StoreBench(StoreType type, Path folder, int records, int stores) {
    this.records = records;
    DslStoreSuppliers suppliers = type.suppliers();
    Topology topology = new Topology();
    topology.addSource("source", TOPIC);
    topology.addProcessor("work", () -> new Work(stores), "source");
    for (int i = 0; i < stores; i++) {
      topology.addStateStore(
          Stores.timestampedKeyValueStoreBuilder(
                  suppliers.keyValueStore(
                      new DslKeyValueParams(name(i), DslStoreFormat.TIMESTAMPED)),
                  Serdes.ByteArray(),
                  Serdes.ByteArray())
              .withLoggingDisabled()
              .withCachingDisabled(),
          "work");
    }
    Properties p = new Properties();
    p.put(StreamsConfig.APPLICATION_ID_CONFIG, "bench");
    p.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "none:1");
    p.put(StreamsConfig.STATE_DIR_CONFIG, folder.toString());
    p.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.ByteArraySerde.class.getName());
    p.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.ByteArraySerde.class.getName());
    type.configure(p);
    driver = new TopologyTestDriver(topology, p);
    orders =
        driver.createInputTopic(
            TOPIC, Serdes.ByteArray().serializer(), Serdes.ByteArray().serializer());
  }

  /** Puts so many records, and commits after each ten thousand; returns those a second. */
  private double put(int count, boolean inOrder, long seed) {
    long start = System.nanoTime();
    for (int i = 0; i < count; i += COMMIT) {
      ByteBuffer order = ByteBuffer.allocate(21);
      order.putInt(records).putLong(seed + i).putInt(i).putInt(Math.min(count, i + COMMIT));
      order.put((byte) (inOrder ? 1 : 0));
      orders.pipeInput(null, order.array());
    }
    return count / ((System.nanoTime() - start) / 1e9);
  }

  /** Gets at random for a time; returns gets a second and the 99th percentile in microseconds. */
  private double[] get(Duration time) {
    KeyValueStore<byte[], ValueAndTimestamp<byte[]>> store =
        driver.getTimestampedKeyValueStore(name(0));
    SplittableRandom random = new SplittableRandom(7);
    long[] nanos = new long[1 << 22];
    int n = 0;
    long start = System.nanoTime();
    long last = start;
    while (n < nanos.length && last - start < time.toNanos()) {
      if (store.get(key(random.nextInt(records))) == null) {
        throw new AssertionError("a record is not there");
      }
      long now = System.nanoTime();
      nanos[n++] = now - last;
      last = now;
    }
    Arrays.sort(nanos, 0, n);
    return new double[] {n / ((last - start) / 1e9), nanos[(int) (n * 0.99)] / 1e3};
  }

  /** What Linux says of this process, in MiB. */
  static double memory(String what) throws IOException {
    for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
      if (line.startsWith(what + ":")) {
        return Long.parseLong(line.replaceAll("\\D", "")) / 1024.0;
      }
    }
    throw new IOException("no " + what);
  }

  public static void main(String[] args) throws IOException {
    Mouth mouth = new Mouth();
    StoreType type = StoreType.valueOf(args[0]);
    Path folder = Path.of(args[1]);
    int records = Integer.parseInt(args[2]);
    if (args[3].equals("close")) {
      StoreBench bench = new StoreBench(type, folder, records, 100);
      bench.put(records, true, 1);
      long start = System.nanoTime();
      bench.driver.close();
      mouth.say("close " + (System.nanoTime() - start) / 1e9);
    } else {
      double before = memory("VmRSS");
      StoreBench bench = new StoreBench(type, folder, records, 1);
      mouth.say("load " + bench.put(records, true, 1));
      bench.put(records / 4, false, 2);
      mouth.say("puts " + bench.put(records, false, 3));
      bench.get(Duration.ofSeconds(2));
      double[] gets = bench.get(Duration.ofSeconds(4));
      mouth.say("gets " + gets[0]);
      mouth.say("p99 " + gets[1]);
      mouth.say("rss " + (memory("VmRSS") - before));
      mouth.say("peak " + (memory("VmHWM") - before));
      bench.driver.close();
    }
    mouth.say("done");
    System.exit(0);
  }
}
