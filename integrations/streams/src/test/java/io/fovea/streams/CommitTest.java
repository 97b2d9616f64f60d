package io.fovea.streams;

import static io.fovea.streams.TestContext.CHANGELOG;
import static io.fovea.streams.TestContext.bytes;
import static io.fovea.streams.TestContext.key;
import static io.fovea.streams.TestContext.text;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Database;
import io.fovea.Options;
import io.fovea.Table;
import io.fovea.schema.TableSpec;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.streams.errors.InvalidStateStoreException;
import org.apache.kafka.streams.errors.ProcessorStateException;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.kstream.internals.SessionWindow;
import org.apache.kafka.streams.query.Position;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.WindowStore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The effects of commits, spills, closes and wipes. */
class CommitTest {
  @TempDir Path directory;

  private static KeyValueStore<Bytes, byte[]> store(String name) {
    return FoveaStores.keyValueStore(name).get();
  }

  private static void fill(KeyValueStore<Bytes, byte[]> store, int from, int to) {
    for (int i = from; i < to; i++) {
      store.put(key("key" + i), new byte[1000]);
    }
  }

  private static long count(KeyValueStore<Bytes, byte[]> store) {
    long n = 0;
    try (var all = store.all()) {
      while (all.hasNext()) {
        all.next();
        n++;
      }
    }
    return n;
  }

  private StoreState state(KeyValueStore<Bytes, byte[]> store) {
    return ((AbstractStore) store).open();
  }

  @Test
  void commitKeepsRowsOffsetAndPosition() {
    TestContext context = new TestContext(directory);
    var store = context.open(store("a"));
    context.offset(7);
    store.put(key("k"), bytes("v"));
    store.commit(Map.of(CHANGELOG, 3L));
    context.offset(8);
    store.put(key("k"), bytes("lost"));
    store.close();

    store = context.open(store("a"));
    assertEquals("v", text(store.get(key("k"))));
    assertEquals(3L, store.committedOffset(CHANGELOG));
    assertEquals(
        Position.emptyPosition().withComponent(TestContext.SOURCE, 0, 7), store.getPosition());
    store.close();
  }

  @Test
  void exactlyOnceStoresNoOffsetWithUncommittedRows() {
    TestContext context = new TestContext(directory).exactlyOnce().littlePending();
    var store = context.open(store("a"));
    fill(store, 0, 10);
    store.commit(Map.of(CHANGELOG, 3L));
    fill(store, 10, 1000);
    assertTrue(state(store).table().count() > 100, "nothing was spilled");
    assertNull(store.committedOffset(CHANGELOG));
    store.close();

    store = context.open(store("a"));
    assertTrue(count(store) > 100);
    assertNull(store.committedOffset(CHANGELOG));
    store.commit(Map.of(CHANGELOG, 9L));
    store.close();
    store = context.open(store("a"));
    assertEquals(9L, store.committedOffset(CHANGELOG));
    store.close();
  }

  @Test
  void exactlyOnceKeepsTheOffsetAsLongAsNothingWasSpilled() {
    TestContext context = new TestContext(directory).exactlyOnce();
    var store = context.open(store("a"));
    fill(store, 0, 10);
    store.commit(Map.of(CHANGELOG, 3L));
    fill(store, 10, 100);
    store.close();

    store = context.open(store("a"));
    assertEquals(10, count(store));
    assertEquals(3L, store.committedOffset(CHANGELOG));
    store.close();
  }

  /** Twice as many rows as the timestamp memory allows in one transaction. */
  @Test
  void commitsLargePendingWrites() {
    TestContext context =
        new TestContext(directory).with(FoveaStores.PENDING_BYTES_CONFIG, 8L << 20);
    var store = context.open(store("a"));
    int rows = 30_000;
    for (int i = 0; i < rows; i++) {
      store.put(key("key" + i * 0x9E3779B97F4A7C15L), bytes("" + i));
    }
    assertEquals(rows, state(store).pending().size(), "some were spilled");
    context.offset(8);
    store.put(key("last"), bytes("v"));
    store.commit(Map.of(CHANGELOG, 3L));
    assertEquals(rows + 1, state(store).table().count());
    store.close();

    store = context.open(store("a"));
    assertEquals(rows + 1, count(store));
    assertEquals(3L, store.committedOffset(CHANGELOG));
    assertEquals(
        Position.emptyPosition().withComponent(TestContext.SOURCE, 0, 8), store.getPosition());
    store.close();
  }

  /** Commits first read the pages to which they will write. */
  @Test
  void largerThanTheMemory() {
    TestContext context = new TestContext(directory);
    var store = context.open(store("a"));
    Random random = new Random(1);
    Map<Integer, Integer> model = new HashMap<>();
    for (int i = 0; i < 30_000; i++) {
      int k = random.nextInt(40_000);
      if (random.nextInt(8) == 0) {
        store.put(scattered(k), null);
        model.remove(k);
      } else {
        store.put(scattered(k), ByteBuffer.allocate(900).putInt(i).array());
        model.put(k, i);
      }
      if (i % 4000 == 3999) {
        store.commit(Map.of(CHANGELOG, (long) i));
      }
    }
    assertTrue(((AbstractStore) store).open().pagesAreMissing(), "all pages were in memory");
    store.commit(Map.of(CHANGELOG, 30_000L));
    store.close();

    store = context.open(store("a"));
    assertEquals(30_000L, store.committedOffset(CHANGELOG));
    assertEquals(model.size(), state(store).table().count());
    for (int k = 0; k < 40_000; k++) {
      byte[] row = store.get(scattered(k));
      assertEquals(model.get(k), row == null ? null : ByteBuffer.wrap(row).getInt());
    }
    store.close();
  }

  private static Bytes scattered(int k) {
    return Bytes.wrap(ByteBuffer.allocate(8).putLong(k * 0x9E3779B97F4A7C15L).array());
  }

  @Test
  void spillsLargePendingWrites() {
    TestContext context =
        new TestContext(directory).exactlyOnce().with(FoveaStores.PENDING_BYTES_CONFIG, 8L << 20);
    var store = context.open(store("a"));
    store.commit(Map.of(CHANGELOG, 3L));
    int rows = 60_000;
    for (int i = 0; i < rows; i++) {
      store.put(key("key" + i * 0x9E3779B97F4A7C15L), bytes("" + i));
    }
    assertTrue(state(store).table().count() > rows / 2, "nothing was spilled");
    assertNull(store.committedOffset(CHANGELOG));
    assertEquals(rows, count(store));
    store.close();

    store = context.open(store("a"));
    assertNull(store.committedOffset(CHANGELOG));
    store.close();
  }

  @Test
  void commitsRestoredRecords() {
    TestContext context = new TestContext(directory).exactlyOnce().littlePending();
    var store = context.open(store("a"));
    store.commit(Map.of(CHANGELOG, 3L));
    List<ConsumerRecord<byte[], byte[]>> records = new ArrayList<>();
    for (int i = 0; i < 1000; i++) {
      records.add(TestContext.record(i, bytes("key" + i), new byte[1000]));
    }
    context.restore("a", records);
    assertTrue(state(store).table().count() > 100, "nothing was spilled");
    assertEquals(3L, store.committedOffset(CHANGELOG));
    assertEquals(1000, count(store));
    store.close();
  }

  @Test
  void atLeastOnceKeepsTheOffsetWhenItSpills() {
    TestContext context = new TestContext(directory).littlePending();
    var store = context.open(store("a"));
    store.commit(Map.of(CHANGELOG, 3L));
    fill(store, 0, 1000);
    store.close();

    store = context.open(store("a"));
    assertTrue(count(store) > 100);
    assertEquals(3L, store.committedOffset(CHANGELOG));
    store.close();
  }

  @Test
  void forgetsOneOffsetOrAll() {
    TopicPartition other = new TopicPartition("other", 4);
    TestContext context = new TestContext(directory, "global").exactlyOnce().littlePending();
    var store = context.open(store("a"));
    store.commit(Map.of(CHANGELOG, 3L, other, 5L));
    Map<TopicPartition, Long> one = new HashMap<>();
    one.put(other, null);
    store.commit(one);
    store.close();
    store = context.open(store("a"));
    assertEquals(3L, store.committedOffset(CHANGELOG));
    assertNull(store.committedOffset(other));
    fill(store, 0, 1000);
    assertEquals(3L, store.committedOffset(CHANGELOG), "a global store has only committed rows");
    store.commit(Map.of());
    store.close();
    store = context.open(store("a"));
    assertNull(store.committedOffset(CHANGELOG));
    store.close();
  }

  @Test
  void storesOfATaskCommitTogether() {
    TestContext context = new TestContext(directory);
    var a = context.open(store("a"));
    var b = context.open(store("b"));
    var c = new TestContext(directory, "0_1").open(store("a"));
    a.put(key("k"), bytes("a"));
    b.put(key("k"), bytes("b"));
    long before = state(a).database().stats().commits();
    a.commit(Map.of(CHANGELOG, 1L));
    assertEquals(before, state(a).database().stats().commits());
    b.commit(Map.of(CHANGELOG, 2L));
    assertEquals(before + 1, state(a).database().stats().commits());

    a.commit(Map.of(CHANGELOG, 3L));
    a.put(key("k"), bytes("later")); // the staged stores are committed without it
    assertEquals(before + 2, state(a).database().stats().commits());
    assertEquals(1, state(a).pending().size());
    b.commit(Map.of(CHANGELOG, 3L));
    a.close();
    b.close();
    c.close();
    a = context.open(store("a"));
    b = context.open(store("b"));
    assertEquals("a", text(a.get(key("k"))));
    assertEquals(3L, a.committedOffset(CHANGELOG));
    assertEquals(3L, b.committedOffset(CHANGELOG));
    a.close();
    b.close();
  }

  @Test
  void storeWithoutMarkerIsEmpty() throws Exception {
    TestContext context = new TestContext(directory);
    TestContext other = new TestContext(directory, "0_1");
    var store = context.open(store("a"));
    var kept = other.open(store("a"));
    store.put(key("k"), bytes("v"));
    kept.put(key("k"), bytes("kept"));
    store.commit(Map.of(CHANGELOG, 3L));
    kept.commit(Map.of(CHANGELOG, 4L));
    store.close();

    Utils.delete(
        context.taskDirectory().toFile()); // as Kafka Streams wipes a task, while the other is open
    store = context.open(store("a"));
    assertNull(store.get(key("k")));
    assertNull(store.committedOffset(CHANGELOG));
    store.put(key("k"), bytes("new"));
    store.commit(Map.of(CHANGELOG, 1L));
    assertEquals(3, state(store).database().tables().size(), "the old table is dropped");
    store.close();
    kept.close();

    Utils.delete(context.taskDirectory().toFile()); // the same with all stores closed
    kept = other.open(store("a"));
    assertEquals("kept", text(kept.get(key("k"))));
    assertEquals(4L, kept.committedOffset(CHANGELOG));
    assertEquals(2, state(kept).database().tables().size(), "the wiped table is dropped");
    kept.close();
  }

  @Test
  void markerOfAnotherTableIsIgnored() throws Exception {
    TestContext context = new TestContext(directory);
    var store = context.open(store("a"));
    store.put(key("k"), bytes("v"));
    store.commit(Map.of(CHANGELOG, 3L));
    store.close();
    Path marker = Marker.path(context.taskDirectory(), "a");
    byte[] bytes = Files.readAllBytes(marker);
    bytes[31]++;
    Files.write(marker, bytes);
    store = context.open(store("a"));
    assertNull(store.get(key("k")));
    assertNull(store.committedOffset(CHANGELOG));
    store.close();
  }

  @Test
  void refusesOtherFormat() {
    TestContext context = new TestContext(directory);
    context.open(store("a")).close();
    var e =
        assertThrows(
            ProcessorStateException.class,
            () -> context.open(FoveaStores.timestampedKeyValueStore("a").get()));
    assertTrue(e.getMessage().contains("restored from its changelog"), e.getMessage());
    context.open(store("a")).close();
  }

  /** Kafka's cache merges by an order that older versions did not have. */
  @Test
  void restoresOlderLayout() {
    TestContext context = new TestContext(directory);
    var keys = context.open(store("a"));
    keys.put(key("k"), bytes("v"));
    keys.commit(Map.of(CHANGELOG, 3L));
    keys.close();
    WindowStore<Bytes, byte[]> windows = context.open(windows(1));
    windows.put(key("k"), bytes("v"), 1000);
    windows.commit(Map.of(CHANGELOG, 3L));
    windows.close();
    SessionStore<Bytes, byte[]> sessions = context.open(sessions());
    sessions.put(new Windowed<>(key("k"), new SessionWindow(1, 2)), bytes("v"));
    sessions.commit(Map.of(CHANGELOG, 3L));
    sessions.close();

    windows = context.open(windows(1));
    assertEquals(3L, windows.committedOffset(CHANGELOG));
    windows.close();

    try (Database database =
        Database.open(
            directory.resolve("fovea").resolve("stores.fovea"),
            Options.defaults().bufferBytes(16L << 20))) {
      Table<byte[], byte[]> stores = database.table(TableSpec.bytes("stores", 512)).bytes();
      database.run(
          tx -> {
            for (String name : List.of("a", "w", "s")) {
              byte[] row = stores.get(tx, bytes("0_0/" + name));
              assertEquals(2, row[0]);
              row[0] = 1;
              stores.put(tx, bytes("0_0/" + name), row);
            }
          });
    }

    keys = context.open(store("a"));
    assertEquals("v", text(keys.get(key("k"))));
    assertEquals(3L, keys.committedOffset(CHANGELOG));
    windows = context.open(windows(1));
    assertNull(windows.committedOffset(CHANGELOG), "it is restored from the beginning");
    assertNull(windows.fetch(key("k"), 1000));
    context.restore(
        "w",
        List.of(
            TestContext.record(
                0,
                ByteBuffer.allocate(13).put((byte) 'k').putLong(1000).putInt(0).array(),
                bytes("restored"))));
    windows.commit(Map.of(CHANGELOG, 3L));
    sessions = context.open(sessions());
    assertNull(sessions.committedOffset(CHANGELOG));
    assertEquals(4, state(keys).database().tables().size(), "the old tables are dropped");
    keys.close();
    windows.close();
    sessions.close();

    windows = context.open(windows(1));
    assertEquals("restored", text(windows.fetch(key("k"), 1000)));
    assertEquals(3L, windows.committedOffset(CHANGELOG));
    windows.close();

    // A different retention has different segments, and Kafka's cache follows it.
    windows = context.open(windows(9));
    assertNull(windows.committedOffset(CHANGELOG));
    windows.close();
  }

  private static WindowStore<Bytes, byte[]> windows(int hours) {
    return FoveaStores.windowStore("w", Duration.ofHours(hours), Duration.ofSeconds(1), false)
        .get();
  }

  private static SessionStore<Bytes, byte[]> sessions() {
    return FoveaStores.sessionStore("s", Duration.ofHours(1)).get();
  }

  @Test
  void lastOpenerOwnsStore() {
    TestContext context = new TestContext(directory);
    var first = context.open(store("a"));
    var second = context.open(store("a"));
    assertFalse(first.isOpen());
    assertThrows(InvalidStateStoreException.class, () -> first.put(key("k"), bytes("v")));
    first.close();
    second.put(key("k"), bytes("v"));
    second.close();
  }

  @Test
  void allKindsOfKeys() {
    TestContext context = new TestContext(directory);
    var store = context.open(store("a"));
    byte[][] keys = {
      {},
      {0},
      {0, 0},
      new byte[510],
      new byte[511],
      new byte[512],
      new byte[100_000],
      {0, 1},
      {1},
      {1, 0},
      {-1},
      {-1, -1}
    };
    for (byte[] k : keys) {
      store.put(Bytes.wrap(k), k);
    }
    for (int round = 0; round < 2; round++) {
      int n = 0;
      try (var all = store.all()) {
        while (all.hasNext()) {
          var e = all.next();
          assertEquals(Bytes.wrap(keys[n]), e.key);
          assertEquals(Bytes.wrap(keys[n++]), Bytes.wrap(e.value));
        }
      }
      assertEquals(keys.length, n);
      store.commit(Map.of());
    }
    assertNull(store.get(Bytes.wrap(new byte[5000])));
    try (var none = store.range(Bytes.wrap(new byte[5000]), Bytes.wrap(new byte[5001]))) {
      assertFalse(none.hasNext());
    }
    store.close();
  }
}
