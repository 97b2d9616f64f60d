package io.fovea.streams;

import static io.fovea.streams.TestContext.CHANGELOG;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Random;
import java.util.TreeMap;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.kstream.internals.SessionWindow;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.VersionedBytesStore;
import org.apache.kafka.streams.state.WindowStore;

/**
 * Random operations on a store of each kind, compared with a sorted map: commits, spills, closes
 * that lose uncommitted writes, wipes, restores from a changelog, and iterators held across all of
 * them.
 *
 * <p>jqwik prints the seed of a failing run, and repeats it.
 */
class StoreModelTest {
  private static final int STEPS = 300;
  private static final long RETENTION = 100_000;
  private static final byte[][] KEYS = {
    {0},
    {0, 0},
    {1},
    {'a'},
    {'a', 0},
    {'a', 0, 'b'},
    {'a', 'a'},
    {(byte) 0xFF},
    longKey(511, 'b'),
    longKey(600, 'b'),
    longKey(600, 'c'),
    longKey(2000, 'b')
  };

  /** Longer than the longest key of a table; keys differ in the last byte. */
  private static byte[] longKey(int length, char last) {
    byte[] key = new byte[length];
    Arrays.fill(key, (byte) 'a');
    key[length - 1] = (byte) last;
    return key;
  }

  /** A store, its contents, its contents at the last commit, and its changelog. */
  private abstract static class Model<S extends StateStore> {
    final Random random;
    final TestContext context;
    final Path directory;
    final List<ConsumerRecord<byte[], byte[]>> changelog = new ArrayList<>();
    final List<KeyValueIterator<?, ?>> held = new ArrayList<>();
    S store;
    NavigableMap<String, String> rows = new TreeMap<>();
    long time = 1;
    long streamTime = -1;
    Long offset;

    Model(long seed, String name) {
      random = new Random(seed);
      try {
        directory = Files.createTempDirectory(name);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
      context = new TestContext(directory).littlePending();
    }

    abstract S open();

    abstract void write();

    abstract void check();

    abstract KeyValueIterator<?, ?> iterator();

    /** Removes expired rows from the model. */
    void expire() {}

    void run() throws IOException {
      store = open();
      try {
        for (int i = 0; i < STEPS; i++) {
          int what = random.nextInt(40);
          if (what == 0) {
            commit();
          } else if (what == 1) {
            reopen();
          } else if (what == 2) {
            wipe();
          } else if (what == 3) {
            expire();
            check();
          } else if (what == 4) {
            KeyValueIterator<?, ?> it = iterator();
            if (it.hasNext() && random.nextBoolean()) {
              it.next();
            }
            held.add(it);
          } else if (what == 5 && !held.isEmpty()) {
            use(held.remove(random.nextInt(held.size())));
          } else {
            write();
          }
        }
        expire();
        check();
        commit();
        reopen();
        check();
      } finally {
        store.close();
        held.forEach(KeyValueIterator::close);
        Utils.delete(directory.toFile());
      }
    }

    /** An iterator that is held for long must end in order, or report that its store was closed. */
    private void use(KeyValueIterator<?, ?> it) {
      try (it) {
        for (int n = 0; it.hasNext(); n++) {
          it.next();
          if (n > 10 * STEPS) {
            throw new AssertionError("an iterator does not end");
          }
        }
      } catch (org.apache.kafka.streams.errors.InvalidStateStoreException e) {
        // the store was closed in the meantime
      }
    }

    private void commit() {
      offset = changelog.isEmpty() ? null : (long) changelog.size() - 1;
      store.commit(offset == null ? Map.of() : Map.of(CHANGELOG, offset));
    }

    /** Closes without a commit and restores the tail of the changelog, as Kafka Streams does. */
    private void reopen() {
      store.close();
      held.clear();
      store = open();
      assertEquals(offset, store.committedOffset(CHANGELOG));
      int from = offset == null ? 0 : (int) (offset + 1);
      context.restore(store.name(), List.copyOf(changelog.subList(from, changelog.size())));
      expire();
      check();
    }

    private void wipe() throws IOException {
      store.close();
      held.clear();
      Utils.delete(context.taskDirectory().toFile());
      offset = null;
      reopen();
    }

    void log(byte[] key, byte[] value, long timestamp) {
      changelog.add(
          new ConsumerRecord<>(
              CHANGELOG.topic(),
              0,
              changelog.size(),
              timestamp,
              TimestampType.CREATE_TIME,
              key.length,
              value == null ? 0 : value.length,
              key,
              value,
              new RecordHeaders(),
              java.util.Optional.empty()));
    }

    /** Few keys, with prefixes of others among them, and zero bytes. */
    byte[] key() {
      return KEYS[random.nextInt(KEYS.length)];
    }

    byte[] value() {
      byte[] value = new byte[random.nextInt(20) == 0 ? 5000 : random.nextInt(50)];
      random.nextBytes(value);
      return value;
    }

    static String hex(byte[] bytes) {
      return bytes == null ? null : java.util.HexFormat.of().formatHex(bytes);
    }

    /** Time advances; many records are late, some only just in time. */
    long timestamp() {
      time += 1000 * random.nextInt(4);
      int late = random.nextInt(5);
      long at =
          late == 0
              ? streamTime - RETENTION + random.nextInt(3) - 1
              : late < 3 ? time - 1000 * random.nextInt(120) : time;
      return Math.max(0, at);
    }
  }

  private static String text(KeyValueIterator<?, byte[]> all, boolean sorted) {
    List<String> lines = new ArrayList<>();
    try (all) {
      while (all.hasNext()) {
        KeyValue<?, byte[]> row = all.next();
        Object k = row.key;
        String key =
            k instanceof Windowed<?> w
                ? Model.hex(((Bytes) w.key()).get())
                    + "@"
                    + w.window().start()
                    + "-"
                    + w.window().end()
                : k instanceof Bytes b ? Model.hex(b.get()) : k.toString();
        lines.add(key + "=" + Model.hex(row.value));
      }
    }
    if (sorted) {
      lines.sort(null);
    }
    return String.join("\n", lines);
  }

  private static String text(NavigableMap<String, String> rows) {
    List<String> lines = new ArrayList<>();
    rows.forEach((k, v) -> lines.add(k + "=" + v));
    return String.join("\n", lines);
  }

  private static String sorted(NavigableMap<String, String> rows) {
    List<String> lines = new ArrayList<>();
    rows.forEach((k, v) -> lines.add(k + "=" + v));
    lines.sort(null);
    return String.join("\n", lines);
  }

  // ------------------------------------------------------------------------------------ key-value

  private static final class KeyValueModel extends Model<KeyValueStore<Bytes, byte[]>> {
    KeyValueModel(long seed) {
      super(seed, "kv");
    }

    @Override
    KeyValueStore<Bytes, byte[]> open() {
      return context.open(FoveaStores.keyValueStore("a").get());
    }

    @Override
    void write() {
      byte[] key = key();
      byte[] value = random.nextInt(4) == 0 ? null : value();
      store.put(Bytes.wrap(key), value);
      log(key, value, 0);
      if (value == null) {
        rows.remove(hex(key));
      } else {
        rows.put(hex(key), hex(value));
      }
    }

    @Override
    KeyValueIterator<?, ?> iterator() {
      return random.nextBoolean() ? store.all() : store.reverseAll();
    }

    @Override
    void check() {
      assertEquals(text(rows), text(store.all(), false));
      byte[] a = key();
      byte[] b = key();
      if (Arrays.compareUnsigned(a, b) > 0) {
        byte[] c = a;
        a = b;
        b = c;
      }
      NavigableMap<String, String> between = rows.subMap(hex(a), true, hex(b), true);
      assertEquals(text(between), text(store.range(Bytes.wrap(a), Bytes.wrap(b)), false));
      assertEquals(
          text(between.descendingMap()),
          text(store.reverseRange(Bytes.wrap(a), Bytes.wrap(b)), false));
      assertEquals(rows.get(hex(a)), hex(store.get(Bytes.wrap(a))));
      NavigableMap<String, String> begin = new TreeMap<>(rows);
      String prefix = hex(a);
      begin.keySet().removeIf(k -> !k.startsWith(prefix));
      assertEquals(
          text(begin),
          text(
              store.prefixScan(a, new org.apache.kafka.common.serialization.ByteArraySerializer()),
              false));
    }
  }

  @Property(tries = 3)
  void keyValueStoresAreMaps(@ForAll long seed) throws IOException {
    new KeyValueModel(seed).run();
  }

  // --------------------------------------------------------------------------------------- windows

  private static final class WindowModel extends Model<WindowStore<Bytes, byte[]>> {
    private static final long SIZE = 1000;

    WindowModel(long seed) {
      super(seed, "win");
    }

    @Override
    WindowStore<Bytes, byte[]> open() {
      return context.open(
          FoveaStores.windowStore("a", Duration.ofMillis(RETENTION), Duration.ofMillis(SIZE), false)
              .get());
    }

    private static String name(byte[] key, long start) {
      return hex(key) + "@" + start + "-" + (start + SIZE);
    }

    @Override
    void write() {
      byte[] key = key();
      long start = timestamp();
      byte[] value = random.nextInt(4) == 0 ? null : value();
      store.put(Bytes.wrap(key), value, start);
      log(
          ByteBuffer.allocate(key.length + 12).put(key).putLong(start).putInt(0).array(),
          value,
          start);
      streamTime = Math.max(streamTime, start);
      if (start > streamTime - RETENTION) {
        if (value == null) {
          rows.remove(name(key, start));
        } else {
          rows.put(name(key, start), hex(value));
        }
      }
    }

    static long start(String name) {
      return Long.parseLong(name.substring(name.indexOf('@') + 1, name.lastIndexOf('-')));
    }

    @Override
    void expire() {
      rows.keySet().removeIf(name -> start(name) <= streamTime - RETENTION);
    }

    @Override
    KeyValueIterator<?, ?> iterator() {
      return random.nextBoolean() ? store.all() : store.backwardAll();
    }

    @Override
    void check() {
      assertEquals(sorted(rows), text(store.all(), true));
      byte[] key = key();
      long from = time - random.nextInt(120_000);
      long to = from + random.nextInt(60_000);
      List<String> times = new ArrayList<>();
      for (long t : starts(key, from, to)) {
        times.add(t + "=" + rows.get(name(key, t)));
        assertEquals(rows.get(name(key, t)), hex(store.fetch(Bytes.wrap(key), t)));
      }
      assertEquals(String.join("\n", times), text(store.fetch(Bytes.wrap(key), from, to), false));
      java.util.Collections.reverse(times);
      assertEquals(
          String.join("\n", times), text(store.backwardFetch(Bytes.wrap(key), from, to), false));
    }

    private List<Long> starts(byte[] key, long from, long to) {
      List<Long> starts = new ArrayList<>();
      for (String name : rows.keySet()) {
        long start = start(name);
        if (name.startsWith(hex(key) + "@") && start >= from && start <= to) {
          starts.add(start);
        }
      }
      starts.sort(null);
      return starts;
    }
  }

  @Property(tries = 3)
  void windowStoresAreMapsThatExpire(@ForAll long seed) throws IOException {
    new WindowModel(seed).run();
  }

  // -------------------------------------------------------------------------------------- sessions

  private static final class SessionModel extends Model<SessionStore<Bytes, byte[]>> {
    SessionModel(long seed) {
      super(seed, "ses");
    }

    @Override
    SessionStore<Bytes, byte[]> open() {
      return context.open(FoveaStores.sessionStore("a", Duration.ofMillis(RETENTION)).get());
    }

    private static String name(byte[] key, long start, long end) {
      return hex(key) + "@" + start + "-" + end;
    }

    @Override
    void write() {
      byte[] key = key();
      long end = timestamp();
      long start = Math.max(0, end - random.nextInt(3) * 500);
      byte[] value = random.nextInt(4) == 0 ? null : value();
      store.put(new Windowed<>(Bytes.wrap(key), new SessionWindow(start, end)), value);
      log(
          ByteBuffer.allocate(key.length + 16).put(key).putLong(end).putLong(start).array(),
          value,
          end);
      streamTime = Math.max(streamTime, end);
      if (end > streamTime - RETENTION) {
        if (value == null) {
          rows.remove(name(key, start, end));
        } else {
          rows.put(name(key, start, end), hex(value));
        }
      }
    }

    private static long end(String name) {
      return Long.parseLong(name.substring(name.lastIndexOf('-') + 1));
    }

    @Override
    void expire() {
      rows.keySet().removeIf(name -> end(name) <= streamTime - RETENTION);
    }

    @Override
    KeyValueIterator<?, ?> iterator() {
      return random.nextBoolean()
          ? store.findSessions(0, Long.MAX_VALUE)
          : store.backwardFetch(null, null);
    }

    @Override
    void check() {
      assertEquals(sorted(rows), text(store.findSessions(0, Long.MAX_VALUE), true));
      byte[] key = key();
      long earliestEnd = time - random.nextInt(120_000);
      long latestStart = earliestEnd + random.nextInt(60_000);
      NavigableMap<String, String> found = new TreeMap<>(rows);
      found
          .keySet()
          .removeIf(
              name ->
                  !name.startsWith(hex(key) + "@")
                      || end(name) < earliestEnd
                      || WindowModel.start(name) > latestStart);
      assertEquals(
          sorted(found), text(store.findSessions(Bytes.wrap(key), earliestEnd, latestStart), true));
      for (String name : rows.keySet()) {
        byte[] k = java.util.HexFormat.of().parseHex(name.substring(0, name.indexOf('@')));
        assertEquals(
            rows.get(name),
            hex(store.fetchSession(Bytes.wrap(k), WindowModel.start(name), end(name))));
      }
    }
  }

  @Property(tries = 3)
  void sessionStoresAreMapsThatExpire(@ForAll long seed) throws IOException {
    new SessionModel(seed).run();
  }

  // -------------------------------------------------------------------------------------- versions

  /** Everything ever put for each key, by time, which determines what was valid when. */
  private static final class VersionedModel extends Model<VersionedBytesStore> {
    private final Map<String, TreeMap<Long, String>> versions = new TreeMap<>();

    VersionedModel(long seed) {
      super(seed, "ver");
    }

    @Override
    VersionedBytesStore open() {
      return (VersionedBytesStore)
          context.open(FoveaStores.versionedStore("a", Duration.ofMillis(RETENTION)).get());
    }

    @Override
    void write() {
      byte[] key = key();
      long at = random.nextInt(10) == 0 ? time : timestamp();
      byte[] value = random.nextInt(4) == 0 ? null : value();
      long to = store.put(Bytes.wrap(key), value, at);
      if (at < streamTime - RETENTION) {
        assertEquals(Long.MIN_VALUE, to);
        return;
      }
      log(key, value, at);
      streamTime = Math.max(streamTime, at);
      TreeMap<Long, String> of = versions.computeIfAbsent(hex(key), k -> new TreeMap<>());
      of.put(at, value == null ? "" : "=" + hex(value));
      Long next = of.higherKey(at);
      if (next == null || isLive(next)) {
        assertEquals(next == null ? -1 : next, to, "valid to");
      }
    }

    private boolean isLive(long at) {
      return at >= streamTime - RETENTION;
    }

    @Override
    KeyValueIterator<?, ?> iterator() {
      return new KeyValueIterator<>() {
        @Override
        public void close() {}

        @Override
        public Object peekNextKey() {
          return null;
        }

        @Override
        public boolean hasNext() {
          return false;
        }

        @Override
        public KeyValue<Object, Object> next() {
          return null;
        }
      };
    }

    @Override
    void check() {
      for (Map.Entry<String, TreeMap<Long, String>> e : versions.entrySet()) {
        Bytes key = Bytes.wrap(java.util.HexFormat.of().parseHex(e.getKey()));
        assertEquals(text(e.getValue().lastEntry()), text(store.get(key)), "latest");
        for (int i = 0; i < 5; i++) {
          long at = Math.max(0, streamTime - random.nextInt(130_000));
          Map.Entry<Long, String> then = e.getValue().floorEntry(at);
          boolean latest = then != null && then.equals(e.getValue().lastEntry());
          String expected = isLive(at) || latest ? text(then) : null;
          assertEquals(expected, text(store.get(key, at)), () -> "as of " + at);
        }
      }
    }

    private static String text(Map.Entry<Long, String> version) {
      return version == null || version.getValue().isEmpty()
          ? null
          : version.getKey() + version.getValue();
    }

    private static String text(byte[] row) {
      return row == null
          ? null
          : ByteBuffer.wrap(row).getLong() + "=" + hex(Arrays.copyOfRange(row, 8, row.length));
    }
  }

  @Property(tries = 3)
  void versionedStoresReturnPastValues(@ForAll long seed) throws IOException {
    new VersionedModel(seed).run();
  }
}
