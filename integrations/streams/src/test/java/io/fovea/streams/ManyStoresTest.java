package io.fovea.streams;

import static io.fovea.streams.TestContext.CHANGELOG;
import static io.fovea.streams.TestContext.key;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.DatabaseStats;
import io.fovea.streams.broker.Child;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.state.KeyValueStore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** Two hundred stores of an instance, in one budget. */
class ManyStoresTest {
  private static final int TASKS = 20;
  private static final int STORES = 10;
  private static final long BUDGET = 256L << 20;

  @TempDir Path directory;

  @Test
  void stayWithinBudget() {
    List<TestContext> contexts = new ArrayList<>();
    List<List<KeyValueStore<Bytes, byte[]>>> tasks = new ArrayList<>();
    for (int t = 0; t < TASKS; t++) {
      TestContext context =
          new TestContext(directory, "0_" + t)
              .with(FoveaStores.BUFFER_BYTES_CONFIG, BUDGET)
              .with(FoveaStores.PENDING_BYTES_CONFIG, 16L << 20);
      List<KeyValueStore<Bytes, byte[]>> stores = new ArrayList<>();
      for (int s = 0; s < STORES; s++) {
        stores.add(context.open(FoveaStores.keyValueStore("store" + s).get()));
      }
      contexts.add(context);
      tasks.add(stores);
    }
    Random random = new Random(1);
    byte[] value = new byte[500];
    long most = 0;
    for (int round = 0; round < 400; round++) {
      for (List<KeyValueStore<Bytes, byte[]>> stores : tasks) {
        for (KeyValueStore<Bytes, byte[]> store : stores) {
          random.nextBytes(value);
          store.put(key("key" + random.nextInt(100_000)), value.clone());
        }
      }
      if (round % 20 == 19) {
        most = Math.max(most, memory(tasks));
      }
      if (round % 100 == 99) {
        for (List<KeyValueStore<Bytes, byte[]>> stores : tasks) {
          for (KeyValueStore<Bytes, byte[]> store : stores) {
            store.commit(Map.of(CHANGELOG, (long) round));
          }
        }
      }
    }
    assertTrue(
        most <= BUDGET + BUDGET / 10,
        most + " bytes of " + BUDGET + ": " + state(tasks, 0).database().stats().memory());
    assertTrue(most > BUDGET / 8, "the stores are in memory: " + most);

    DatabaseStats before = state(tasks, 0).database().stats();
    long start = System.nanoTime();
    tasks.forEach(stores -> stores.forEach(KeyValueStore::close));
    System.out.println("closing took " + (System.nanoTime() - start) / 1_000_000 + " ms");
    KeyValueStore<Bytes, byte[]> again =
        contexts.get(7).open(FoveaStores.keyValueStore("store3").get());
    assertEquals(399L, again.committedOffset(CHANGELOG));
    assertTrue(again.approximateNumEntries() > 0);
    assertEquals(0, ((AbstractStore) again).open().database().stats().recovery().records());
    again.close();
    assertTrue(before.checkpoints().failed() == 0);
  }

  /** Resident memory, in a separate process. */
  @Test
  @EnabledOnOs(OS.LINUX)
  void stayWithinSmallBudget() throws Exception {
    long budget = 64L << 20;
    try (Child child =
        Child.start(
            directory.resolve("log"),
            List.of("-Xms256m", "-Xmx256m", "-XX:+AlwaysPreTouch"),
            ManyStoresProcess.class.getName(),
            directory.toString(),
            "" + TASKS,
            "" + STORES,
            "" + budget)) {
      String line = child.await("grown", Duration.ofMinutes(5), l -> true);
      long grown = Long.parseLong(line.split(" ")[1]);
      System.out.println("200 stores took " + (grown >> 10) + " KiB of " + (budget >> 10));
      assertTrue(grown <= budget + budget / 10, grown + " bytes of " + budget);
      assertTrue(grown > budget / 2, "the stores are in memory: " + grown);
    }
  }

  private static StoreState state(List<List<KeyValueStore<Bytes, byte[]>>> tasks, int task) {
    return ((AbstractStore) tasks.get(task).get(0)).open();
  }

  /** The engine's stated maximum plus the pending bytes. */
  private static long memory(List<List<KeyValueStore<Bytes, byte[]>>> tasks) {
    long bytes = state(tasks, 0).database().stats().memory().maxBytes();
    for (List<KeyValueStore<Bytes, byte[]>> stores : tasks) {
      for (KeyValueStore<Bytes, byte[]> store : stores) {
        bytes += ((AbstractStore) store).open().pending().bytes();
      }
    }
    return bytes;
  }
}
