package io.fovea.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TestInputTopic;
import org.apache.kafka.streams.TestOutputTopic;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.state.BuiltInDslStoreSuppliers;
import org.apache.kafka.streams.state.KeyValueBytesStoreSupplier;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.ReadOnlyKeyValueStore;
import org.apache.kafka.streams.state.ReadOnlySessionStore;
import org.apache.kafka.streams.state.ReadOnlyWindowStore;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.VersionedBytesStoreSupplier;
import org.apache.kafka.streams.state.VersionedKeyValueStore;
import org.apache.kafka.streams.test.TestRecord;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Topologies with random records, some of them late, on Fovea, on RocksDB and in memory: outputs,
 * store contents and changelogs are equal.
 *
 * <p>{@code -Dtopologies.seed=N} replays a run.
 */
class TopologiesTest {
  private static final int RECORDS = Integer.getInteger("topologies.records", 200);

  private static final Pattern WINDOW = Pattern.compile("^\\[[^@]*@([0-9]+)/");

  @TempDir Path directory;

  /** Which stores. */
  private enum Kind implements Topologies.Suppliers {
    FOVEA(FoveaStores.class) {
      @Override
      public KeyValueBytesStoreSupplier keyValue(String name) {
        return FoveaStores.keyValueStore(name);
      }

      @Override
      public VersionedBytesStoreSupplier versioned(String name, Duration retention) {
        return FoveaStores.versionedStore(name, retention);
      }
    },
    ROCKSDB(BuiltInDslStoreSuppliers.RocksDBDslStoreSuppliers.class) {
      @Override
      public KeyValueBytesStoreSupplier keyValue(String name) {
        return Stores.persistentKeyValueStore(name);
      }
    },
    MEMORY(BuiltInDslStoreSuppliers.InMemoryDslStoreSuppliers.class) {
      @Override
      public KeyValueBytesStoreSupplier keyValue(String name) {
        return Stores.inMemoryKeyValueStore(name);
      }
    };

    final Class<?> suppliers;

    Kind(Class<?> suppliers) {
      this.suppliers = suppliers;
    }

    @Override
    public VersionedBytesStoreSupplier versioned(String name, Duration retention) {
      return Stores.persistentVersionedKeyValueStore(name, retention);
    }
  }

  /** The result of a run: lines of text by topic or store. */
  private record Outcome(Map<String, List<String>> topics, Map<String, List<String>> stores) {}

  @ParameterizedTest
  @EnumSource(Topologies.class)
  void isEqualOnAllStores(Topologies topology) throws Exception {
    long seed = Long.getLong("topologies.seed", new Random().nextLong());
    String replay = topology + ": -Dtopologies.seed=" + seed;
    boolean caching = new Random(seed).nextBoolean();
    Outcome fovea = run(topology, Kind.FOVEA, seed, caching, Map.of());
    Outcome spilling =
        run(
            topology,
            Kind.FOVEA,
            seed,
            caching,
            Map.of(
                FoveaStores.PENDING_BYTES_CONFIG,
                1 << 16,
                StreamsConfig.PROCESSING_GUARANTEE_CONFIG,
                StreamsConfig.EXACTLY_ONCE_V2));
    // RocksDB's store of a join ignores the time of a record without a value until it is restored;
    // the in-memory store and Fovea's do not. So the two are compared on records with values.
    boolean withNull = topology != Topologies.JOIN_OF_STREAMS;
    Outcome rocks = run(topology, Kind.ROCKSDB, seed, caching, Map.of(), withNull);
    Outcome besideRocks =
        withNull ? fovea : run(topology, Kind.FOVEA, seed, caching, Map.of(), false);
    Outcome memory = run(topology, Kind.MEMORY, seed, caching, Map.of());
    assertFalse(fovea.topics().get(Topologies.OUT).isEmpty(), replay);
    assertSame(rocks, besideRocks, "RocksDB", replay, topology);
    assertSame(memory, fovea, "memory", replay, topology);
    assertSame(fovea, spilling, "Fovea", replay, topology);
  }

  private static void assertSame(
      Outcome expected, Outcome actual, String what, String replay, Topologies topology) {
    for (String topic : expected.topics().keySet()) {
      List<String> there = actual.topics().get(topic);
      if (topology
          == Topologies.EMIT_ON_CLOSE) { // windows that close together may arrive in any order
        assertEquals(
            new TreeSet<>(expected.topics().get(topic)),
            new TreeSet<>(there),
            replay + ": topic " + topic + ": " + what);
      } else {
        assertEquals(
            expected.topics().get(topic), there, replay + ": topic " + topic + ": " + what);
      }
    }
    assertEquals(expected.topics().keySet(), actual.topics().keySet(), replay);
    for (String store : expected.stores().keySet()) {
      List<String> there = content(expected, store, topology);
      List<String> here = content(actual, store, topology);
      if (what.equals("RocksDB") && topology == Topologies.JOIN_OF_STREAMS) {
        there = withoutExpired(there, here);
      }
      assertEquals(there, here, replay + ": store " + store + ": " + what);
    }
    assertEquals(expected.stores().keySet(), actual.stores().keySet(), replay);
  }

  /**
   * RocksDB shows expired rows as long as their segment exists. Rows that begin before all of
   * Fovea's may be such rows.
   */
  private static List<String> withoutExpired(List<String> rocks, List<String> fovea) {
    long first = fovea.stream().mapToLong(TopologiesTest::start).min().orElse(Long.MAX_VALUE);
    long last = rocks.stream().mapToLong(TopologiesTest::start).max().orElse(0);
    assertTrue(fovea.isEmpty() || first > last - 20_000, "an expired row is returned");
    return rocks.stream().filter(line -> start(line) >= first || start(line) < 0).toList();
  }

  /** The start of a line's window; -1 without a window. */
  private static long start(String line) {
    Matcher matcher = WINDOW.matcher(line);
    return matcher.find() ? Long.parseLong(matcher.group(1)) : -1;
  }

  /**
   * The rows of a store as lines. A stream join uses stores without timestamps; the in-memory ones
   * have them anyway.
   */
  private static List<String> content(Outcome of, String store, Topologies topology) {
    List<String> lines = of.stores().get(store);
    return topology == Topologies.JOIN_OF_STREAMS
        ? lines.stream().map(line -> line.replaceAll("timestamp=-?[0-9]+", "")).toList()
        : lines;
  }

  private Outcome run(
      Topologies topology, Kind kind, long seed, boolean caching, Map<String, Object> more)
      throws Exception {
    return run(topology, kind, seed, caching, more, true);
  }

  private Outcome run(
      Topologies topology,
      Kind kind,
      long seed,
      boolean caching,
      Map<String, Object> more,
      boolean withNull)
      throws Exception {
    File state = java.nio.file.Files.createTempDirectory(directory, kind.name()).toFile();
    Properties props = new Properties();
    props.put(StreamsConfig.APPLICATION_ID_CONFIG, "app");
    props.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "nowhere:1");
    props.put(StreamsConfig.STATE_DIR_CONFIG, state.toString());
    props.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
    props.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
    props.put(StreamsConfig.DSL_STORE_SUPPLIERS_CLASS_CONFIG, kind.suppliers);
    props.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, caching ? 10L << 20 : 0L);
    props.put(FoveaStores.BUFFER_BYTES_CONFIG, 32L << 20);
    props.putAll(more);
    Random random = new Random(seed);
    long time = 1_000_000;
    try (TopologyTestDriver driver =
        new TopologyTestDriver(topology.topology(kind), props, Instant.ofEpochMilli(time))) {
      TestInputTopic<String, String> left =
          driver.createInputTopic(Topologies.LEFT, new StringSerializer(), new StringSerializer());
      TestInputTopic<String, String> right =
          driver.createInputTopic(Topologies.RIGHT, new StringSerializer(), new StringSerializer());
      boolean both = driver.producedTopicNames() != null && needsRight(topology);
      for (int i = 0; i < RECORDS; i++) {
        time += random.nextInt(1200);
        long at = random.nextInt(4) == 0 ? time - random.nextInt(25_000) : time;
        String key = "key" + random.nextInt(10);
        String value = random.nextInt(8) == 0 && withNull ? null : "v" + random.nextInt(1000);
        boolean toRight = random.nextInt(3) == 0;
        if (both && toRight) {
          right.pipeInput(new TestRecord<>(key, value, Instant.ofEpochMilli(at)));
        } else {
          left.pipeInput(new TestRecord<>(key, value, Instant.ofEpochMilli(at)));
        }
        if (random.nextInt(20) == 0) {
          driver.advanceWallClockTime(Duration.ofMillis(random.nextInt(4000)));
        }
      }
      return new Outcome(topics(driver), stores(driver, time));
    }
  }

  private static boolean needsRight(Topologies topology) {
    return topology.name().startsWith("JOIN");
  }

  private static Map<String, List<String>> topics(TopologyTestDriver driver) {
    Map<String, List<String>> topics = new TreeMap<>();
    topics.put(Topologies.OUT, List.of());
    for (String topic : driver.producedTopicNames()) {
      Deserializer<byte[]> plain = Serdes.ByteArray().deserializer();
      TestOutputTopic<byte[], byte[]> out = driver.createOutputTopic(topic, plain, plain);
      List<String> lines = new ArrayList<>();
      while (!out.isEmpty()) {
        TestRecord<byte[], byte[]> record = out.readRecord();
        lines.add(
            line(record.key(), record.value())
                + " at "
                + record.timestamp()
                + new RecordHeaders(record.headers()).toArray().length);
      }
      topics.put(topic, lines);
    }
    return topics;
  }

  private static String line(byte[] key, byte[] value) {
    return Bytes.wrap(key) + " = " + (value == null ? null : Bytes.wrap(value));
  }

  /** The rows of all stores; for versioned stores also the values at earlier times. */
  private static Map<String, List<String>> stores(TopologyTestDriver driver, long now) {
    Map<String, List<String>> stores = new TreeMap<>();
    for (Map.Entry<String, StateStore> e : driver.getAllStateStores().entrySet()) {
      List<String> lines = new ArrayList<>();
      StateStore store = e.getValue();
      if (store instanceof ReadOnlyWindowStore<?, ?> windows) {
        add(lines, windows.all());
        lines.sort(null);
      } else if (store instanceof ReadOnlySessionStore<?, ?> sessions) {
        add(lines, sessionsOf(sessions));
        lines.sort(null);
      } else if (store instanceof ReadOnlyKeyValueStore<?, ?> rows) {
        add(lines, rows.all());
      } else if (store instanceof VersionedKeyValueStore<?, ?> versions) {
        addVersions(lines, versions, now);
      } else if (store.persistent()) { // the buffer of a suppression is Kafka's own, in memory
        throw new AssertionError("a store of another kind: " + store);
      }
      stores.put(e.getKey(), lines);
    }
    return stores;
  }

  @SuppressWarnings("unchecked")
  private static KeyValueIterator<?, ?> sessionsOf(ReadOnlySessionStore<?, ?> sessions) {
    return ((ReadOnlySessionStore<String, Object>) sessions).fetch("key0", "key9");
  }

  @SuppressWarnings("unchecked")
  private static void addVersions(
      List<String> lines, VersionedKeyValueStore<?, ?> versions, long now) {
    VersionedKeyValueStore<String, Object> store =
        (VersionedKeyValueStore<String, Object>) versions;
    for (int k = 0; k < 10; k++) {
      String key = "key" + k;
      lines.add(key + " = " + store.get(key));
      for (long at = now - 30_000; at <= now; at += 250) {
        lines.add(key + " at " + at + " = " + store.get(key, at));
      }
    }
  }

  private static void add(List<String> lines, KeyValueIterator<?, ?> all) {
    try (all) {
      while (all.hasNext()) {
        KeyValue<?, ?> row = all.next();
        lines.add(row.key + " = " + row.value);
      }
    }
  }
}
