package io.fovea.streams.bench;

import com.sun.management.OperatingSystemMXBean;
import io.fovea.streams.broker.ParentPipe;
import java.io.IOException;
import java.lang.management.ManagementFactory;
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
 * Stores in a task of Kafka Streams, without a broker: cost of puts and gets, their memory, and
 * memory and closing time of two hundred stores.
 *
 * <p>The stores are wrapped by Kafka Streams' meters and serializers. Changes are not logged,
 * because the driver would keep the log in memory. A commit follows every fifty thousand puts.
 * Arguments: store type, folder, number of records, {@code many} or a prefix for the names of the
 * figures, and seconds of measured reads; it first writes for one and a half times as long, to warm
 * up.
 */
final class StoreBench {
  private static final int COMMIT = 50_000;
  private static final int VALUE = 100;
  private static final int MANY = 200;

  /** Records of the store used for warm-up, until the JVM has compiled everything. */
  private static final int WARM = 50_000;

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

  /** Sixteen scattered bytes. */
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

  /** Puts the records, and commits after every fifty thousand. */
  private Rate put(int count, boolean inOrder, long seed) {
    long cpu = cpuNanos();
    long start = System.nanoTime();
    for (int i = 0; i < count; i += COMMIT) {
      ByteBuffer order = ByteBuffer.allocate(21);
      order.putInt(records).putLong(seed + i).putInt(i).putInt(Math.min(count, i + COMMIT));
      order.put((byte) (inOrder ? 1 : 0));
      orders.pipeInput(null, order.array());
    }
    return new Rate(
        count / ((System.nanoTime() - start) / 1e9), (cpuNanos() - cpu) / 1e3 / count, 0);
  }

  /**
   * The speed of an operation.
   *
   * @param perSecond operations per second
   * @param cpuMicros processor time per operation, of all threads
   * @param p99Micros the 99th percentile of its latency
   */
  private record Rate(double perSecond, double cpuMicros, double p99Micros) {}

  /** Processor time of this process, including the compiler. */
  private static long cpuNanos() {
    return ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
        .getProcessCpuTime();
  }

  /** Gets random keys for a time. */
  private Rate get(Duration time) {
    KeyValueStore<byte[], ValueAndTimestamp<byte[]>> store =
        driver.getTimestampedKeyValueStore(name(0));
    SplittableRandom random = new SplittableRandom(7);
    long[] nanos = new long[1 << 22];
    int n = 0;
    long cpu = cpuNanos();
    long start = System.nanoTime();
    long last = start;
    while (n < nanos.length && last - start < time.toNanos()) {
      if (store.get(key(random.nextInt(records))) == null) {
        throw new AssertionError("a record is missing");
      }
      long now = System.nanoTime();
      nanos[n++] = now - last;
      last = now;
    }
    double cpuMicros = (cpuNanos() - cpu) / 1e3 / n;
    Arrays.sort(nanos, 0, n);
    return new Rate(n / ((last - start) / 1e9), cpuMicros, nanos[(int) (n * 0.99)] / 1e3);
  }

  /** A memory figure of this process according to Linux, in MiB. */
  static double memory(String what) throws IOException {
    for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
      if (line.startsWith(what + ":")) {
        return Long.parseLong(line.replaceAll("\\D", "")) / 1024.0;
      }
    }
    throw new IOException("no " + what);
  }

  /** Uses another store, which is closed afterward. */
  private static void warmUp(StoreType type, Path folder, int records, Duration time) {
    StoreBench bench = new StoreBench(type, folder, records, 1);
    bench.put(records, true, 1);
    long start = System.nanoTime();
    for (int i = 0; System.nanoTime() - start < time.toNanos() * 3 / 2; i++) {
      bench.put(records, false, i);
    }
    bench.get(time.dividedBy(2));
    bench.driver.close();
  }

  public static void main(String[] args) throws IOException {
    ParentPipe mouth = new ParentPipe();
    StoreType type = StoreType.valueOf(args[0]);
    Path folder = Path.of(args[1]);
    int records = Integer.parseInt(args[2]);
    String what = args[3];
    Duration time = Duration.ofMillis((long) (Double.parseDouble(args[4]) * 1000));
    double before = memory("VmRSS");
    if (what.equals("many")) {
      StoreBench bench = new StoreBench(type, folder, records, MANY);
      bench.put(records, true, 1);
      mouth.say("many-peak " + (memory("VmHWM") - before));
      long start = System.nanoTime();
      bench.driver.close();
      mouth.say("many-close " + (System.nanoTime() - start) / 1e9);
    } else {
      warmUp(type, folder.resolve("warm"), Math.min(records, WARM), time);
      StoreBench bench = new StoreBench(type, folder.resolve("work"), records, 1);
      mouth.say(what + "-load " + bench.put(records, true, 1).perSecond());
      bench.put(records / 4, false, 2);
      Rate puts = bench.put(records / 2, false, 3);
      mouth.say(what + "-puts " + puts.perSecond());
      mouth.say(what + "-put-cpu " + puts.cpuMicros());
      bench.get(time.dividedBy(2));
      Rate gets = bench.get(time);
      mouth.say(what + "-gets " + gets.perSecond());
      mouth.say(what + "-get-cpu " + gets.cpuMicros());
      mouth.say(what + "-p99 " + gets.p99Micros());
      mouth.say(what + "-rss " + (memory("VmRSS") - before));
      mouth.say(what + "-peak " + (memory("VmHWM") - before));
      bench.driver.close();
    }
    mouth.say("done");
    System.exit(0);
  }
}
