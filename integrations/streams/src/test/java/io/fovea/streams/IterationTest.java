package io.fovea.streams;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TestInputTopic;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.errors.InvalidStateStoreException;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.kstream.internals.SessionWindow;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.WindowStore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Random writes under open iterators, to a Fovea store, a RocksDB store and an in-memory store.
 *
 * <p>Several iterators are open at a time. Between their steps the test writes and deletes the
 * record at an iterator's position, records before and after it, commits, and spills; it closes
 * iterators in any order, or never. It checks that
 *
 * <ul>
 *   <li>an iterator returns what RocksDB's returns, step by step, with and without Kafka's cache;
 *   <li>without a cache it returns the contents at its creation, which a second iterator read at
 *       that time;
 *   <li>these contents are those of RocksDB and of the in-memory store.
 * </ul>
 *
 * <p>RocksDB's windows and sessions use one snapshot per segment, taken when the iterator reaches
 * it. So they are compared step by step only if all records are in one segment.
 *
 * <p>RocksDB's window stores omit some windows of a key range ({@link #rocksDbOmits}). The
 * in-memory store returns them, as {@link WindowStore} specifies, and so does Fovea's. The test
 * predicts them: without them Fovea's rows equal RocksDB's, with them those of the in-memory store.
 *
 * <p>{@code -Diteration.seed=N} replays a run. {@code -Diteration.rounds=N} runs more of them.
 */
class IterationTest {
  private static final int ROUNDS = Integer.getInteger("iteration.rounds", 1);
  private static final int STEPS = 500;
  private static final int OPEN_MAX = 6;
  private static final long SEGMENT = Duration.ofHours(20).toMillis();
  private static final Duration RETENTION = Duration.ofMillis(2 * SEGMENT);
  private static final long START = 20_000 * SEGMENT;

  @TempDir Path directory;

  enum Mode {
    KEYS,
    CACHED_KEYS,
    WINDOWS,
    CACHED_WINDOWS,
    WINDOWS_IN_SEGMENTS,
    SESSIONS,
    CACHED_SESSIONS,
    SESSIONS_IN_SEGMENTS;

    boolean isCached() {
      return name().startsWith("CACHED");
    }

    boolean hasSegments() {
      return name().endsWith("SEGMENTS");
    }

    boolean isWindows() {
      return name().contains("WINDOWS");
    }

    boolean isSessions() {
      return name().contains("SESSIONS");
    }

    boolean isKeys() {
      return !isWindows() && !isSessions();
    }
  }

  private enum Kind {
    FOVEA,
    ROCKSDB,
    MEMORY
  }

  /**
   * An iterator.
   *
   * @param how the method that opens it
   * @param a the lower key, or the prefix, or the only key
   * @param b the upper key
   * @param from the first time
   * @param to the last time
   */
  private record Scan(int how, Bytes a, Bytes b, long from, long to) {
    /** Whether it reads windows of a key range. */
    boolean isRangeOfWindows(Mode mode) {
      return mode.isWindows() && (how % 8 == 4 || how % 8 == 5);
    }
  }

  /**
   * Returns whether RocksDB's window store omits a window within the keys and times of a range.
   *
   * <p>Its rows are ordered by the bytes of key, time (8 bytes) and sequence number (4). The last
   * row of a range is {@code upper}, time and sequence number, where {@code upper} is the upper key
   * up to its first byte that is less than the first byte of the time. The first byte of the time
   * is 0, so {@code upper} is the whole key. But a prefix of {@code upper} may have rows above this
   * bound: the row of <i>a</i> is <i>a</i> 00 00 01 8F …, and the bound of <i>a</i> 00 is <i>a</i>
   * 00 00 00 01 8F ….
   */
  private static boolean rocksDbOmits(Bytes upper, long to, Windowed<?> window) {
    byte[] bytes = upper.get();
    int n = Math.min(1, bytes.length);
    while (n < bytes.length && (bytes[n] & 0xFF) >= to >>> 56) {
      n++;
    }
    byte[] bound =
        ByteBuffer.allocate(n + 12).put(bytes, 0, n).putLong(to).putInt(Integer.MAX_VALUE).array();
    byte[] key = ((Bytes) window.key()).get();
    byte[] row =
        ByteBuffer.allocate(key.length + 12).put(key).putLong(window.window().start()).array();
    return Arrays.compareUnsigned(row, bound) > 0;
  }

  /** One store, in its own topology. */
  private final class Side implements AutoCloseable {
    private final Kind kind;
    private final Mode mode;
    private final TopologyTestDriver driver;
    private final TestInputTopic<byte[], byte[]> input;
    private final StateStore store;

    Side(Kind kind, Mode mode, boolean exactlyOnce) throws IOException {
      this.kind = kind;
      this.mode = mode;
      Properties props = new Properties();
      props.put(StreamsConfig.APPLICATION_ID_CONFIG, "app");
      props.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "nowhere:1");
      props.put(
          StreamsConfig.STATE_DIR_CONFIG,
          Files.createTempDirectory(directory, kind.name()).toString());
      props.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, 12_000L);
      props.put(FoveaStores.BUFFER_BYTES_CONFIG, 32L << 20);
      props.put(FoveaStores.PENDING_BYTES_CONFIG, 1L << 16);
      if (exactlyOnce) {
        props.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
      }
      StoreBuilder<? extends StateStore> builder = builder().withLoggingDisabled();
      Topology topology = new Topology();
      topology.addSource(
          "source", Serdes.ByteArray().deserializer(), Serdes.ByteArray().deserializer(), "in");
      topology.addProcessor("processor", Idle::new, "source");
      if (mode.isCached()) {
        builder.withCachingEnabled();
      }
      topology.addStateStore(builder, "processor");
      driver = new TopologyTestDriver(topology, props);
      input = driver.createInputTopic("in", new ByteArraySerializer(), new ByteArraySerializer());
      store = driver.getAllStateStores().get("store");
    }

    private StoreBuilder<?> builder() {
      Duration size = Duration.ofSeconds(1);
      if (mode.isWindows()) {
        return Stores.windowStoreBuilder(
            switch (kind) {
              case FOVEA -> FoveaStores.windowStore("store", RETENTION, size, false);
              case ROCKSDB -> Stores.persistentWindowStore("store", RETENTION, size, false);
              case MEMORY -> Stores.inMemoryWindowStore("store", RETENTION, size, false);
            },
            Serdes.Bytes(),
            Serdes.ByteArray());
      }
      if (mode.isSessions()) {
        return Stores.sessionStoreBuilder(
            switch (kind) {
              case FOVEA -> FoveaStores.sessionStore("store", RETENTION);
              case ROCKSDB -> Stores.persistentSessionStore("store", RETENTION);
              case MEMORY -> Stores.inMemorySessionStore("store", RETENTION);
            },
            Serdes.Bytes(),
            Serdes.ByteArray());
      }
      return Stores.keyValueStoreBuilder(
          switch (kind) {
            case FOVEA -> FoveaStores.keyValueStore("store");
            case ROCKSDB -> Stores.persistentKeyValueStore("store");
            case MEMORY -> Stores.inMemoryKeyValueStore("store");
          },
          Serdes.Bytes(),
          Serdes.ByteArray());
    }

    @SuppressWarnings("unchecked")
    private KeyValueStore<Bytes, byte[]> keys() {
      return (KeyValueStore<Bytes, byte[]>) store;
    }

    @SuppressWarnings("unchecked")
    private WindowStore<Bytes, byte[]> windows() {
      return (WindowStore<Bytes, byte[]>) store;
    }

    @SuppressWarnings("unchecked")
    private SessionStore<Bytes, byte[]> sessions() {
      return (SessionStore<Bytes, byte[]>) store;
    }

    void put(Bytes key, long time, byte[] value) {
      if (mode.isWindows()) {
        windows().put(key, value, time);
      } else if (mode.isSessions()) {
        sessions().put(new Windowed<>(key, new SessionWindow(time - time % 3, time)), value);
      } else {
        keys().put(key, value);
      }
    }

    KeyValueIterator<?, byte[]> open(Scan scan) {
      if (mode.isWindows()) {
        return windows(scan);
      }
      return mode.isSessions() ? sessions(scan) : keys(scan);
    }

    private KeyValueIterator<?, byte[]> keys(Scan s) {
      return switch (s.how % 5) {
        case 0 -> keys().all();
        case 1 -> keys().reverseAll();
        case 2 -> keys().range(s.a, s.b);
        case 3 -> keys().reverseRange(s.a, s.b);
        default -> prefixScan(s.a);
      };
    }

    /**
     * Kafka's cache and in-memory store can't increment a prefix of bytes 0xFF to get an upper
     * bound.
     */
    private KeyValueIterator<Bytes, byte[]> prefixScan(Bytes prefix) {
      boolean unbounded = true;
      for (byte b : prefix.get()) {
        unbounded &= b == (byte) 0xFF;
      }
      return unbounded && (kind == Kind.MEMORY || mode.isCached())
          ? keys().range(prefix, null)
          : keys().prefixScan(prefix.get(), new ByteArraySerializer());
    }

    private KeyValueIterator<?, byte[]> windows(Scan s) {
      return switch (s.how % 8) {
        case 0 -> windows().all();
        case 1 -> windows().backwardAll();
        case 2 -> windows().fetch(s.a, s.from, s.to);
        case 3 -> windows().backwardFetch(s.a, s.from, s.to);
        case 4 -> windows().fetch(s.a, s.b, s.from, s.to);
        case 5 -> windows().backwardFetch(s.a, s.b, s.from, s.to);
        case 6 -> windows().fetchAll(s.from, s.to);
        default -> windows().backwardFetchAll(s.from, s.to);
      };
    }

    private KeyValueIterator<?, byte[]> sessions(Scan s) {
      return switch (s.how % 7) {
        case 0 -> sessions().fetch(s.a, s.b);
        case 1 -> sessions().backwardFetch(s.a, s.b);
        case 2 -> sessions().fetch(s.a);
        case 3 -> sessions().backwardFetch(s.a);
        case 4 -> sessions().findSessions(s.a, s.from, s.to);
        case 5 -> sessions().findSessions(s.a, s.b, s.from, s.to);
        default -> sessions().backwardFindSessions(s.a, s.b, s.from, s.to);
      };
    }

    /** The driver commits after each record. */
    void commit() {
      input.pipeInput(new byte[] {1}, new byte[] {1});
    }

    @Override
    public void close() {
      driver.close();
    }
  }

  /** Does nothing: the test itself writes. */
  private static final class Idle implements Processor<byte[], byte[], Void, Void> {
    @Override
    public void process(Record<byte[], byte[]> record) {}
  }

  /** The same iterator on several stores. */
  private static final class Held {
    final Scan scan;
    final List<KeyValueIterator<?, byte[]>> on = new ArrayList<>();

    /** The expected contents; null if RocksDB's rows are expected. */
    List<String> contents;

    int at;
    Bytes key;

    Held(Scan scan) {
      this.scan = scan;
    }
  }

  private final class Run implements AutoCloseable {
    private final Mode mode;
    private final Random random;
    private final List<Side> sides = new ArrayList<>();
    private final List<Held> held = new ArrayList<>();
    private final List<Bytes> keys = new ArrayList<>();
    private long opened;
    private long steps;
    private long writes;
    private long commits;

    Run(Mode mode, long seed) throws IOException {
      this.mode = mode;
      this.random = new Random(seed);
      boolean exactlyOnce = random.nextBoolean();
      for (Kind kind : Kind.values()) {
        if (kind != Kind.MEMORY || !mode.isCached()) {
          sides.add(new Side(kind, mode, exactlyOnce));
        }
      }
      byte[][] odd = {
        {0}, {0, 0}, {1}, {1, 0}, {1, 0, 0}, {'a'}, {'a', 0}, {'a', 0, 'b'}, {'a', 'a'}, {-1}
      };
      for (byte[] key : odd) {
        keys.add(Bytes.wrap(key));
      }
      for (int length : new int[] {511, 512, 513, 1006, 1007, 3000}) {
        byte[] key = new byte[length];
        Arrays.fill(key, (byte) 'b');
        keys.add(Bytes.wrap(key));
        keys.add(Bytes.wrap(Arrays.copyOf(key, length + 1)));
      }
      for (int i = 0; i < 30; i++) {
        keys.add(Bytes.wrap(String.format("k%02d", i).getBytes()));
      }
    }

    private Bytes key() {
      return keys.get(random.nextInt(keys.size()));
    }

    private long time() {
      long range = mode.hasSegments() ? 2 * SEGMENT : SEGMENT;
      return START + random.nextLong(range / 1000) % 40 * (range / 40);
    }

    private byte[] value() {
      byte[] value = new byte[random.nextInt(8) == 0 ? 3000 : 10 + random.nextInt(300)];
      random.nextBytes(value);
      return value;
    }

    void run() {
      for (int i = 0; i < 60; i++) {
        put(key());
      }
      for (int i = 0; i < STEPS; i++) {
        int what = random.nextInt(20);
        if (what == 0) {
          commits++;
          sides.forEach(Side::commit);
        } else if (what < 3 && held.size() < OPEN_MAX) {
          open();
        } else if (what == 3 && !held.isEmpty()) {
          close(held.remove(random.nextInt(held.size())));
        } else if (what < 12 && !held.isEmpty()) {
          step(held.get(random.nextInt(held.size())));
        } else if (what < 15 && !held.isEmpty()) {
          Bytes current = held.get(random.nextInt(held.size())).key;
          put(current == null ? key() : near(current));
        } else {
          put(key());
        }
      }
      while (!held.isEmpty()) {
        Held last = held.remove(random.nextInt(held.size()));
        while (step(last)) {
          if (random.nextInt(4) == 0) {
            put(key());
          }
        }
        close(last);
      }
      open();
      Held last = held.remove(0);
      while (step(last)) {}
      close(last);
    }

    /** A key itself, or one close to it. */
    private Bytes near(Bytes key) {
      byte[] bytes = key.get();
      byte[] result =
          switch (random.nextInt(3)) {
            case 0 -> bytes;
            case 1 -> Arrays.copyOf(bytes, bytes.length + 1);
            default -> Arrays.copyOf(bytes, Math.max(1, bytes.length - 1));
          };
      return Bytes.wrap(result);
    }

    private void put(Bytes key) {
      long time = time();
      byte[] value = random.nextInt(3) == 0 ? null : value();
      writes++;
      sides.forEach(side -> side.put(key, time, value));
    }

    private void open() {
      Bytes a = key();
      Bytes b = key();
      if (a.compareTo(b) > 0) {
        Bytes c = a;
        a = b;
        b = c;
      }
      long from = time();
      Scan any = new Scan(random.nextInt(1000), a, b, from, from + random.nextLong(SEGMENT));
      Scan scan = mode.isCached() && any.isRangeOfWindows(mode) ? toTheEnd(any) : any;
      Held h = new Held(scan);
      if (!mode.isCached()) {
        List<List<String>> read = new ArrayList<>();
        Set<String> omitted = new HashSet<>();
        for (Side side : sides) {
          List<String> rows = new ArrayList<>();
          try (KeyValueIterator<?, byte[]> it = side.open(scan)) {
            it.forEachRemaining(
                row -> {
                  String text = text(row);
                  rows.add(text);
                  if (side.kind == Kind.FOVEA && isOmitted(scan, row)) {
                    omitted.add(text);
                  }
                });
          }
          if (!mode.isKeys()) {
            rows.sort(null); // the in-memory store orders by time
          }
          read.add(rows);
        }
        assertEquals(read.get(2), read.get(0), () -> scan + ": contents of the store in memory");
        List<String> inRocksDb = new ArrayList<>(read.get(0));
        inRocksDb.removeAll(omitted);
        assertEquals(read.get(1), inRocksDb, () -> scan + ": contents of RocksDB");
      }
      if (!mode.isCached()) {
        h.contents = new ArrayList<>();
        try (KeyValueIterator<?, byte[]> it = sides.get(0).open(scan)) {
          it.forEachRemaining(row -> h.contents.add(text(row)));
        }
      }
      for (Side side : sides) {
        if (side.kind == Kind.FOVEA || side.kind == Kind.ROCKSDB && !mode.hasSegments()) {
          KeyValueIterator<?, byte[]> it = side.open(scan);
          if (it.hasNext()) {
            it.peekNextKey(); // RocksDB opens the iterator of a segment when it reaches the segment
          }
          h.on.add(it);
        }
      }
      held.add(h);
      opened++;
    }

    /** Advances an iterator; returns false at its end. */
    private boolean step(Held h) {
      String expected = null;
      boolean first = true;
      for (int i = h.on.size() - 1; i >= 0; i--) { // RocksDB's first
        KeyValue<?, byte[]> row = i == 0 ? fovea(h) : next(h.on.get(i));
        String text = text(row);
        if (!first) {
          assertEquals(expected, text, () -> "row " + h.at + " of " + h.scan + " in RocksDB");
        }
        first = false;
        expected = text;
        if (row != null) {
          h.key = row.key instanceof Bytes b ? b : row.key instanceof Windowed<?> w ? key(w) : null;
        }
      }
      steps++;
      return !"the end".equals(expected);
    }

    /** The next row of Fovea's iterator, without those that RocksDB omits. */
    private KeyValue<?, byte[]> fovea(Held h) {
      while (true) {
        KeyValue<?, byte[]> row = next(h.on.get(0));
        if (h.contents != null) {
          String then = h.at < h.contents.size() ? h.contents.get(h.at) : "the end";
          assertEquals(
              then, text(row), () -> "row " + h.at + " of " + h.scan + " when it was opened");
        }
        h.at++;
        if (row == null || h.on.size() == 1 || !isOmitted(h.scan, row)) {
          return row;
        }
      }
    }

    private static KeyValue<?, byte[]> next(KeyValueIterator<?, byte[]> it) {
      return it.hasNext() ? it.next() : null;
    }

    /**
     * The same scan beyond all keys, so that RocksDB omits nothing: rows that only one side reads
     * through Kafka's cache would change which entries that side evicts.
     */
    private static Scan toTheEnd(Scan scan) {
      byte[] last = new byte[4000];
      Arrays.fill(last, (byte) 0xFF);
      return new Scan(scan.how, scan.a, Bytes.wrap(last), scan.from, scan.to);
    }

    private boolean isOmitted(Scan scan, KeyValue<?, byte[]> row) {
      return scan.isRangeOfWindows(mode) && rocksDbOmits(scan.b, scan.to, (Windowed<?>) row.key);
    }

    private static Bytes key(Windowed<?> windowed) {
      return (Bytes) windowed.key();
    }

    private void close(Held h) {
      h.on.forEach(KeyValueIterator::close);
    }

    private static String text(KeyValue<?, byte[]> row) {
      if (row == null) {
        return "the end";
      }
      HexFormat hex = HexFormat.of();
      String key =
          row.key instanceof Bytes b
              ? hex.formatHex(b.get())
              : row.key instanceof Windowed<?> w
                  ? hex.formatHex(key(w).get()) + "@" + w.window().start() + "-" + w.window().end()
                  : String.valueOf(row.key);
      return key + "=" + (row.value == null ? null : Arrays.hashCode(row.value));
    }

    @Override
    public void close() {
      sides.forEach(Side::close);
    }
  }

  @ParameterizedTest
  @EnumSource(Mode.class)
  void iteratorsSeeTheStateOfTheirCreation(Mode mode) throws IOException {
    long first = Long.getLong("iteration.seed", new Random().nextLong());
    long opened = 0;
    long steps = 0;
    long writes = 0;
    long commits = 0;
    for (int round = 0; round < ROUNDS; round++) {
      long seed = first + round;
      try (Run run = new Run(mode, seed)) {
        try {
          run.run();
        } catch (RuntimeException | AssertionError e) {
          throw new AssertionError(
              mode + ": replay with -Dtest=IterationTest -Diteration.seed=" + seed, e);
        }
        opened += run.opened;
        steps += run.steps;
        writes += run.writes;
        commits += run.commits;
      }
    }
    assertTrue(opened > 0 && steps > 0);
    report(
        mode
            + " from seed "
            + first
            + ": "
            + ROUNDS
            + " rounds, "
            + opened
            + " iterators, "
            + steps
            + " steps, "
            + writes
            + " writes, "
            + commits
            + " commits");
  }

  /** Kafka's own stores disagree: RocksDB's omits a window that the in-memory store returns. */
  @Test
  void windowRangeHasAllKeys() throws IOException {
    Bytes key = Bytes.wrap(new byte[] {'a'});
    Bytes upper = Bytes.wrap(new byte[] {'a', 0});
    Scan scan = new Scan(4, key, upper, START, START);
    for (Kind kind : Kind.values()) {
      try (Side side = new Side(kind, Mode.WINDOWS, false)) {
        side.put(key, START, new byte[] {1});
        try (KeyValueIterator<?, byte[]> it = side.open(scan)) {
          boolean omits = kind == Kind.ROCKSDB;
          assertEquals(!omits, it.hasNext(), kind.name());
          if (it.hasNext()) {
            Windowed<?> window = (Windowed<?>) it.next().key;
            assertEquals(key, window.key());
            assertTrue(rocksDbOmits(upper, START, window));
          }
        }
      }
    }
  }

  /**
   * Kafka's cache has the bound of RocksDB's store. Beyond it, a store that omits nothing shows the
   * last flushed value. Fovea's behaves like Kafka's in-memory store.
   */
  @Test
  void cacheHidesKeyOutsideItsBound() throws IOException {
    Scan scan =
        new Scan(4, Bytes.wrap(new byte[] {'a'}), Bytes.wrap(new byte[] {'a', 0}), START, START);
    for (Kind kind : Kind.values()) {
      try (Side side = new Side(kind, Mode.CACHED_WINDOWS, false)) {
        side.put(scan.a, START, new byte[] {1});
        side.commit();
        side.put(scan.a, START, new byte[] {2});
        try (KeyValueIterator<?, byte[]> it = side.open(scan)) {
          byte[] value = it.hasNext() ? it.next().value : null;
          assertArrayEquals(kind == Kind.ROCKSDB ? null : new byte[] {1}, value, kind.name());
        }
      }
    }
  }

  /** Each commit that finds an iterator open takes a snapshot; the oldest are evicted. */
  @Test
  void openIteratorsDoNotStopCommits() {
    TestContext context = new TestContext(directory);
    KeyValueStore<Bytes, byte[]> store = context.open(FoveaStores.keyValueStore("a").get());
    for (int i = 0; i < 100; i++) {
      store.put(TestContext.key("key" + i), TestContext.bytes("-1"));
    }
    int over = 3;
    List<KeyValueIterator<Bytes, byte[]>> forgotten = new ArrayList<>();
    for (int i = 0; i < SharedSnapshot.Pool.OPEN_MAX + over; i++) {
      forgotten.add(store.all());
      for (int k = 0; k < 100; k++) {
        store.put(TestContext.key("key" + k), TestContext.bytes("" + i));
      }
      store.commit(Map.of());
    }
    for (int i = 0; i < forgotten.size(); i++) {
      KeyValueIterator<Bytes, byte[]> it = forgotten.get(i);
      if (i < over) {
        var e = assertThrows(InvalidStateStoreException.class, it::hasNext);
        assertTrue(e.getMessage().contains("Close iterators after use"), e.getMessage());
      } else {
        String then = "" + (i - 1);
        int rows = 0;
        for (; it.hasNext(); rows++) {
          assertEquals(then, TestContext.text(it.next().value));
        }
        assertEquals(100, rows);
      }
      it.close();
    }
    assertEquals("" + (forgotten.size() - 1), TestContext.text(store.get(TestContext.key("key7"))));
    store.close();
  }

  /**
   * Pending writes keep only the versions of a frequently written key that an iterator may need.
   */
  @Test
  void openIteratorKeepsOneVersion() {
    TestContext context = new TestContext(directory);
    KeyValueStore<Bytes, byte[]> store = context.open(FoveaStores.keyValueStore("a").get());
    store.put(TestContext.key("k"), new byte[100]);
    try (KeyValueIterator<Bytes, byte[]> first = store.all()) {
      for (int i = 0; i < 10_000; i++) {
        store.put(TestContext.key("k"), new byte[200]);
      }
      try (KeyValueIterator<Bytes, byte[]> second = store.all()) {
        for (int i = 0; i < 10_000; i++) {
          store.put(TestContext.key("k"), new byte[300]);
        }
        assertEquals(100, first.next().value.length);
        assertEquals(200, second.next().value.length);
        assertEquals(300, store.get(TestContext.key("k")).length);
        long bytes = ((AbstractStore) store).open().pending().bytes();
        assertTrue(bytes < 2000, bytes + " bytes are pending");
      }
    }
    store.close();
  }

  /** An iterator of another thread sees one state, whatever is committed meanwhile. */
  @Test
  void otherThreadSeesOneState() throws Exception {
    int keys = 1000;
    TestContext context = new TestContext(directory).littlePending();
    KeyValueStore<Bytes, byte[]> store = context.open(FoveaStores.keyValueStore("a").get());
    AtomicBoolean done = new AtomicBoolean();
    AtomicInteger read = new AtomicInteger();
    ExecutorService thread = Executors.newSingleThreadExecutor();
    try {
      Future<?> reader =
          thread.submit(
              () -> {
                for (int i = 0; !done.get(); i++) {
                  long[] values = new long[keys];
                  long newest = -1;
                  try (KeyValueIterator<Bytes, byte[]> it =
                      i % 2 == 0 ? store.all() : store.reverseAll()) {
                    Arrays.fill(values, -1);
                    while (it.hasNext()) {
                      KeyValue<Bytes, byte[]> row = it.next();
                      long value = ByteBuffer.wrap(row.value).getInt();
                      values[ByteBuffer.wrap(row.key.get()).getInt(1)] = value;
                      newest = Math.max(newest, value);
                    }
                  }
                  for (int k = 0; k < keys; k++) {
                    long last = newest - Math.floorMod(newest - k, (long) keys);
                    assertEquals(last < 0 ? -1 : last, values[k], "key " + k + " at " + newest);
                  }
                  read.incrementAndGet();
                }
                return null;
              });
      for (int n = 0; n < 60_000 || read.get() < 20 && !reader.isDone(); n++) {
        byte[] key = ByteBuffer.allocate(5).put((byte) 'k').putInt(n % keys).array();
        store.put(Bytes.wrap(key), ByteBuffer.allocate(100).putInt(n).array());
        if (n % 5000 == 4999) {
          store.commit(Map.of());
        }
      }
      done.set(true);
      reader.get();
    } finally {
      done.set(true);
      thread.shutdownNow();
      store.close();
    }
  }

  private static synchronized void report(String tried) throws IOException {
    if (System.getProperty("iteration.rounds") != null) {
      Files.writeString(
          Path.of("target", "soak-report.txt"),
          "IterationTest: " + tried + "\n",
          StandardOpenOption.CREATE,
          StandardOpenOption.APPEND);
    }
  }
}
