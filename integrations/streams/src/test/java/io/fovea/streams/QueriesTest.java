package io.fovea.streams;

import static io.fovea.streams.TestContext.CHANGELOG;
import static io.fovea.streams.TestContext.bytes;
import static io.fovea.streams.TestContext.key;
import static io.fovea.streams.TestContext.text;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.kstream.internals.SessionWindow;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.query.FailureReason;
import org.apache.kafka.streams.query.KeyQuery;
import org.apache.kafka.streams.query.Position;
import org.apache.kafka.streams.query.PositionBound;
import org.apache.kafka.streams.query.Query;
import org.apache.kafka.streams.query.QueryConfig;
import org.apache.kafka.streams.query.QueryResult;
import org.apache.kafka.streams.query.RangeQuery;
import org.apache.kafka.streams.query.WindowKeyQuery;
import org.apache.kafka.streams.query.WindowRangeQuery;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.WindowStoreIterator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Interactive queries: results, and that rows and position belong to the same state. */
class QueriesTest {
  @TempDir Path directory;

  private static <R> QueryResult<R> ask(StateStore store, Query<R> query, PositionBound bound) {
    return store.query(query, bound, new QueryConfig(false));
  }

  private static <R> R ask(StateStore store, Query<R> query) {
    QueryResult<R> result = ask(store, query, PositionBound.unbounded());
    assertTrue(result.isSuccess(), () -> result.getFailureMessage());
    return result.getResult();
  }

  private static Bytes numbered(int n) {
    return Bytes.wrap(ByteBuffer.allocate(5).put((byte) 'k').putInt(n).array());
  }

  /**
   * A writer puts the offset under key (offset modulo KEYS), so the position determines the value
   * of each key. Queries of single keys and of all keys check that while the store commits and
   * spills.
   */
  @Test
  void resultMatchesPosition() throws Exception {
    int keys = 1000; // more than are read at once
    int records = 60_000;
    TestContext context = new TestContext(directory).littlePending();
    KeyValueStore<Bytes, byte[]> store = context.open(FoveaStores.keyValueStore("a").get());
    AtomicBoolean done = new AtomicBoolean();
    AtomicInteger answers = new AtomicInteger();
    ExecutorService threads = Executors.newFixedThreadPool(3);
    try {
      List<Future<?>> readers = new ArrayList<>();
      for (int r = 0; r < 2; r++) {
        boolean ranges = r == 0;
        readers.add(
            threads.submit(
                () -> {
                  for (int i = 0; !done.get(); i++) {
                    if (ranges) {
                      range(store, keys, i % 2 == 0);
                    } else {
                      point(store, keys, i % keys);
                    }
                    answers.incrementAndGet();
                  }
                  return null;
                }));
      }
      for (int offset = 0; offset < records; offset++) {
        context.offset(offset);
        store.put(numbered(offset % keys), ByteBuffer.allocate(100).putInt(offset).array());
        if (offset % 5000 == 4999) {
          store.commit(Map.of(CHANGELOG, (long) offset));
        }
      }
      int enough = 50;
      while (answers.get() < enough && readers.stream().noneMatch(Future::isDone)) {
        Thread.onSpinWait();
      }
      done.set(true);
      for (Future<?> reader : readers) {
        reader.get();
      }
    } finally {
      done.set(true);
      threads.shutdownNow();
      store.close();
    }
  }

  private static long offset(QueryResult<?> result) {
    return result.getPosition().getPartitionPositions(TestContext.SOURCE).getOrDefault(0, -1L);
  }

  /** The value of a key when the store is at an offset; -1 for none. */
  private static long expected(long offset, int keys, int key) {
    long last = offset - Math.floorMod(offset - key, keys);
    return last < 0 ? -1 : last;
  }

  private static void point(KeyValueStore<Bytes, byte[]> store, int keys, int n) {
    QueryResult<byte[]> result =
        ask(store, KeyQuery.withKey(numbered(n)), PositionBound.unbounded());
    byte[] value = result.getResult();
    assertEquals(
        expected(offset(result), keys, n), value == null ? -1 : ByteBuffer.wrap(value).getInt());
  }

  private static void range(KeyValueStore<Bytes, byte[]> store, int keys, boolean ascending) {
    RangeQuery<Bytes, byte[]> all = RangeQuery.withNoBounds();
    QueryResult<KeyValueIterator<Bytes, byte[]>> result =
        ask(
            store,
            ascending ? all.withAscendingKeys() : all.withDescendingKeys(),
            PositionBound.unbounded());
    assertTrue(result.isSuccess(), () -> result.getFailureMessage());
    long at = offset(result);
    int rows = 0;
    try (KeyValueIterator<Bytes, byte[]> it = result.getResult()) {
      while (it.hasNext()) {
        KeyValue<Bytes, byte[]> row = it.next();
        int n = ByteBuffer.wrap(row.key.get()).getInt(1);
        assertEquals(expected(at, keys, n), ByteBuffer.wrap(row.value).getInt(), "key " + n);
        rows++;
      }
    }
    assertEquals(Math.min(keys, at + 1), rows);
  }

  @Test
  void heldResultDoesNotChange() {
    TestContext context = new TestContext(directory).littlePending();
    KeyValueStore<Bytes, byte[]> store = context.open(FoveaStores.keyValueStore("a").get());
    for (int i = 0; i < 1000; i++) {
      store.put(numbered(i), bytes("old"));
    }
    KeyValueIterator<Bytes, byte[]> held = ask(store, RangeQuery.withNoBounds());
    held.next();
    for (int i = 0; i < 1000; i++) {
      store.put(numbered(i), bytes("new"));
    }
    store.commit(Map.of());
    for (int i = 0; i < 1000; i += 2) {
      store.delete(numbered(i));
    }
    store.commit(Map.of());
    for (int i = 1; i < 1000; i++) {
      assertEquals("old", text(held.next().value));
    }
    assertFalse(held.hasNext());
    held.close();
    held.close();
    assertEquals("new", text(store.get(numbered(1))));
    store.close();
  }

  /** Nothing is written to the table: the replaced rows are pending ones. */
  @Test
  void heldPendingResultDoesNotChange() {
    TestContext context = new TestContext(directory);
    KeyValueStore<Bytes, byte[]> store = context.open(FoveaStores.keyValueStore("a").get());
    for (int i = 0; i < 600; i++) {
      store.put(numbered(i), bytes("old"));
    }
    KeyValueIterator<Bytes, byte[]> held = ask(store, RangeQuery.withNoBounds());
    for (int round = 0; round < 3; round++) {
      for (int i = 0; i < 700; i++) {
        store.put(numbered(i), bytes("new" + round));
      }
    }
    for (int i = 0; i < 600; i++) {
      assertEquals("old", text(held.next().value), "row " + i);
    }
    assertFalse(held.hasNext());
    held.close();
    store.put(numbered(0), bytes("last"));
    assertEquals("last", text(ask(store, KeyQuery.withKey(numbered(0)))));
    store.close();
  }

  @Test
  void respectsBounds() {
    TestContext context = new TestContext(directory);
    KeyValueStore<Bytes, byte[]> store = context.open(FoveaStores.keyValueStore("a").get());
    context.offset(10);
    store.put(key("k"), bytes("v"));
    Position seen = Position.emptyPosition().withComponent(TestContext.SOURCE, 0, 10);
    Position later = Position.emptyPosition().withComponent(TestContext.SOURCE, 0, 11);
    Position elsewhere = Position.emptyPosition().withComponent(TestContext.SOURCE, 3, 11);
    KeyQuery<Bytes, byte[]> query = KeyQuery.withKey(key("k"));
    assertEquals("v", text(ask(store, query, PositionBound.at(seen)).getResult()));
    assertEquals("v", text(ask(store, query, PositionBound.at(elsewhere)).getResult()));
    QueryResult<byte[]> refused = ask(store, query, PositionBound.at(later));
    assertEquals(FailureReason.NOT_UP_TO_BOUND, refused.getFailureReason());
    assertEquals(seen, ask(store, query, PositionBound.unbounded()).getPosition());
    QueryResult<?> unknown =
        ask(
            store,
            WindowKeyQuery.withKeyAndWindowStartRange(key("k"), Instant.EPOCH, Instant.EPOCH),
            PositionBound.unbounded());
    assertEquals(FailureReason.UNKNOWN_QUERY_TYPE, unknown.getFailureReason());
    store.close();
  }

  /**
   * The query as a store gets it. Kafka's class swaps the two times when a query is created, and
   * its wrappers of stores, which create it again, swap them back.
   */
  private static WindowKeyQuery<Bytes, byte[]> windowKey(Bytes key, Instant from, Instant to) {
    WindowKeyQuery<Bytes, byte[]> once = WindowKeyQuery.withKeyAndWindowStartRange(key, from, to);
    return WindowKeyQuery.withKeyAndWindowStartRange(
        key, once.getTimeFrom().get(), once.getTimeTo().get());
  }

  @Test
  void windowsAndSessionsAnswer() {
    TestContext context = new TestContext(directory);
    var windows =
        context.open(
            FoveaStores.windowStore("w", Duration.ofHours(1), Duration.ofSeconds(1), false).get());
    var sessions = context.open(FoveaStores.sessionStore("s", Duration.ofHours(1)).get());
    for (int i = 0; i < 10; i++) {
      windows.put(key("k" + i % 2), bytes("v" + i), i * 1000L);
      sessions.put(
          new Windowed<>(key("k" + i % 2), new SessionWindow(i * 1000L, i * 1000L + 500)),
          bytes("v" + i));
    }
    try (WindowStoreIterator<byte[]> of =
        ask(
            windows,
            windowKey(key("k1"), Instant.ofEpochMilli(2000), Instant.ofEpochMilli(5000)))) {
      assertEquals(3000L, of.next().key);
      assertEquals("v5", text(of.next().value));
      assertFalse(of.hasNext());
    }
    try (KeyValueIterator<Windowed<Bytes>, byte[]> of =
        ask(
            windows,
            WindowRangeQuery.withWindowStartRange(
                Instant.ofEpochMilli(2000), Instant.ofEpochMilli(4000)))) {
      List<String> values = new ArrayList<>();
      of.forEachRemaining(row -> values.add(text(row.value)));
      assertEquals(List.of("v2", "v4", "v3"), values);
    }
    try (KeyValueIterator<Windowed<Bytes>, byte[]> of =
        ask(sessions, WindowRangeQuery.withKey(key("k0")))) {
      assertEquals("v0", text(of.next().value));
      assertEquals(2500L, of.next().key.window().end());
    }
    windows.close();
    sessions.close();
  }

  @Test
  void withoutInternalsOfKafka() {
    TestContext context =
        new TestContext(directory).with(FoveaStores.KAFKA_INTERNALS_CONFIG, false);
    KeyValueStore<Bytes, byte[]> store = context.open(FoveaStores.keyValueStore("a").get());
    context.restore("a", List.of(TestContext.record(1, bytes("k"), bytes("v"))));
    context.offset(5);
    assertEquals("v", text(store.get(key("k"))));
    store.put(key("k"), bytes("w"));
    assertEquals(5L, offset(ask(store, KeyQuery.withKey(key("k")), PositionBound.unbounded())));
    store.close();
    var windows =
        context.open(
            FoveaStores.windowStore("w", Duration.ofSeconds(9), Duration.ofSeconds(1), false)
                .get());
    windows.put(key("k"), bytes("v"), 1000);
    windows.put(key("k"), bytes("w"), 20_000);
    windows.put(key("k"), bytes("late"), 1000);
    try (var all = windows.all()) {
      assertEquals(21_000L, all.next().key.window().end());
      assertFalse(all.hasNext());
    }
    windows.close();
    assertNull(KafkaInternals.of(false).droppedRecords(context));
    assertTrue(KafkaInternals.of(true).givesRecords());
  }
}
