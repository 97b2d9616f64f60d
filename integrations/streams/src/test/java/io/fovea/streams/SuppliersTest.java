package io.fovea.streams;

import static io.fovea.streams.TestContext.bytes;
import static io.fovea.streams.TestContext.key;
import static io.fovea.streams.TestContext.text;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.errors.ProcessorStateException;
import org.apache.kafka.streams.errors.TopologyException;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.state.KeyValueBytesStoreSupplier;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.StoreSupplier;
import org.apache.kafka.streams.state.Stores;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Suppliers that are called or passed more than once. */
class SuppliersTest {
  private static final Duration DAY = Duration.ofDays(1);
  private static final Duration HOUR = Duration.ofHours(1);

  @TempDir Path directory;

  private static List<StoreSupplier<? extends StateStore>> all() {
    return List.of(
        FoveaStores.keyValueStore("a"),
        FoveaStores.timestampedKeyValueStore("b"),
        FoveaStores.keyValueStoreWithHeaders("c"),
        FoveaStores.windowStore("d", DAY, HOUR, false),
        FoveaStores.timestampedWindowStore("e", DAY, HOUR, true),
        FoveaStores.windowStoreWithHeaders("f", DAY, HOUR, false),
        FoveaStores.sessionStore("g", DAY),
        FoveaStores.sessionStoreWithHeaders("h", DAY),
        FoveaStores.versionedStore("i", DAY));
  }

  /** Kafka Streams calls it once for each task. */
  @Test
  void eachGetReturnsNewStore() {
    TestContext zero = new TestContext(directory, "0_0");
    TestContext one = new TestContext(directory, "0_1");
    for (StoreSupplier<? extends StateStore> supplier : all()) {
      StateStore first = supplier.get();
      StateStore second = supplier.get();
      assertNotSame(first, second, supplier.name());
      zero.open(first);
      one.open(second);
      assertTrue(first.isOpen() && second.isOpen(), supplier.name());
      first.close();
      assertTrue(second.isOpen(), supplier.name());
      second.close();
    }

    KeyValueBytesStoreSupplier supplier = FoveaStores.keyValueStore("a");
    KeyValueStore<Bytes, byte[]> here = zero.open(supplier.get());
    KeyValueStore<Bytes, byte[]> there = one.open(supplier.get());
    here.put(key("k"), bytes("here"));
    there.put(key("k"), bytes("there"));
    here.commit(Map.of());
    there.commit(Map.of());
    assertEquals("here", text(here.get(key("k"))));
    assertEquals("there", text(there.get(key("k"))));
    here.close();
    there.close();
  }

  /** Otherwise the writes of one task would go to the other's table. */
  @Test
  void oneStoreIsNotOpenInTwoTasks() {
    TestContext zero = new TestContext(directory, "0_0");
    TestContext one = new TestContext(directory, "0_1");
    for (StoreSupplier<? extends StateStore> supplier : all()) {
      StateStore store = zero.open(supplier.get());
      var e = assertThrows(ProcessorStateException.class, () -> one.open(store));
      assertTrue(
          e.getMessage().contains("is open in " + zero.stateDir())
              && e.getMessage().contains(one.stateDir().toString())
              && e.getMessage().contains("a new store each time"),
          e.getMessage());
      assertTrue(store.isOpen(), "the task that owns the store continues");
      store.close();
    }
    KeyValueStore<Bytes, byte[]> store = zero.open(FoveaStores.keyValueStore("a").get());
    store.put(key("k"), bytes("v"));
    store.commit(Map.of());
    assertThrows(ProcessorStateException.class, () -> one.open(store));
    assertEquals("v", text(store.get(key("k"))));
    store.close();

    // A closed store may be opened by another task, and then belongs to that task.
    one.open(store);
    assertNull(store.get(key("k")));
    store.close();
    zero.open(store);
    assertEquals("v", text(store.get(key("k"))));
    store.close();
  }

  /** As when a task is recycled, or its stores were opened at the start of the instance. */
  @Test
  void oneStoreIsOpenedAgainInItsTask() {
    TestContext context = new TestContext(directory);
    KeyValueStore<Bytes, byte[]> store = context.open(FoveaStores.keyValueStore("a").get());
    store.put(key("k"), bytes("v"));
    store.commit(Map.of());
    context.open(store);
    assertEquals("v", text(store.get(key("k"))));
    store.close();
    assertFalse(store.isOpen());
  }

  @Test
  void oneSupplierInTwoApplications() {
    KeyValueBytesStoreSupplier supplier = FoveaStores.keyValueStore("a");
    KeyValueStore<Bytes, byte[]> first =
        new TestContext(directory.resolve("one")).open(supplier.get());
    KeyValueStore<Bytes, byte[]> second =
        new TestContext(directory.resolve("two")).open(supplier.get());
    first.put(key("k"), bytes("v"));
    first.commit(Map.of());
    assertNull(second.get(key("k")));
    first.close();
    second.close();
  }

  /** Kafka Streams refuses this itself, for all kinds of stores: names are unique. */
  @Test
  void oneSupplierForTwoStoresOfATopology() {
    KeyValueBytesStoreSupplier supplier = FoveaStores.timestampedKeyValueStore("a");
    StreamsBuilder tables = new StreamsBuilder();
    for (String topic : List.of("one", "two")) {
      tables.table(
          topic, Consumed.with(Serdes.String(), Serdes.String()), Materialized.as(supplier));
    }
    var e = assertThrows(TopologyException.class, tables::build);
    assertTrue(e.getMessage().contains("already been added with the name a"), e.getMessage());

    StreamsBuilder stores = new StreamsBuilder();
    for (int i = 0; i < 2; i++) {
      stores.addStateStore(
          Stores.timestampedKeyValueStoreBuilder(supplier, Serdes.String(), Serdes.String()));
    }
    e = assertThrows(TopologyException.class, stores::build);
    assertTrue(e.getMessage().contains("already been added with the name a"), e.getMessage());
  }
}
