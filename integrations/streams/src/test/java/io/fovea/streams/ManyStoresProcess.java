package io.fovea.streams;

import static io.fovea.streams.TestContext.CHANGELOG;

import io.fovea.streams.broker.ParentPipe;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.state.KeyValueStore;

/**
 * Many stores in a process with a preallocated heap, so that the stores account for the growth of
 * its memory. Arguments: folder, tasks, stores per task, budget in bytes.
 *
 * <p>First runs everything with the smallest budget, to allocate the JVM's own memory. Then prints
 * {@code grown BYTES}: the largest growth of the memory that Linux counts (Pss), and the pending
 * bytes on the heap.
 */
final class ManyStoresProcess {
  private static final int KEYS = 600;
  private static final int VALUE = 500;

  private final List<List<KeyValueStore<Bytes, byte[]>>> tasks = new ArrayList<>();

  private ManyStoresProcess(Path folder, int taskCount, int storeCount, long budget) {
    for (int t = 0; t < taskCount; t++) {
      TestContext context =
          new TestContext(folder, "0_" + t).with(FoveaStores.BUFFER_BYTES_CONFIG, budget);
      List<KeyValueStore<Bytes, byte[]>> stores = new ArrayList<>();
      for (int s = 0; s < storeCount; s++) {
        stores.add(context.open(FoveaStores.keyValueStore("store" + s).get()));
      }
      tasks.add(stores);
    }
  }

  /** Puts, gets and commits in all stores; returns the largest growth. */
  private long work(int rounds, long before) throws IOException {
    Random random = new Random(1);
    long most = 0;
    for (int round = 1; round <= rounds; round++) {
      for (List<KeyValueStore<Bytes, byte[]>> stores : tasks) {
        for (KeyValueStore<Bytes, byte[]> store : stores) {
          byte[] value = new byte[VALUE];
          random.nextBytes(value);
          store.put(key(random.nextInt(KEYS)), value);
          store.get(key(random.nextInt(KEYS)));
        }
      }
      if (round % 25 == 0) {
        most = Math.max(most, pss() - before + pending());
      }
      if (round % 100 == 0) {
        for (List<KeyValueStore<Bytes, byte[]>> stores : tasks) {
          for (KeyValueStore<Bytes, byte[]> store : stores) {
            store.commit(Map.of(CHANGELOG, (long) round));
          }
        }
        most = Math.max(most, pss() - before);
      }
    }
    return most;
  }

  private long pending() {
    return tasks.stream()
        .flatMap(List::stream)
        .mapToLong(store -> ((AbstractStore) store).open().pending().bytes())
        .sum();
  }

  private static Bytes key(int i) {
    return Bytes.wrap(ByteBuffer.allocate(8).putLong(i * 0x9E3779B97F4A7C15L).array());
  }

  private static long pss() throws IOException {
    for (String line : Files.readAllLines(Path.of("/proc/self/smaps_rollup"))) {
      if (line.startsWith("Pss:")) {
        return Long.parseLong(line.replaceAll("\\D", "")) << 10;
      }
    }
    throw new IOException("no Pss");
  }

  private void close() {
    tasks.forEach(stores -> stores.forEach(KeyValueStore::close));
  }

  public static void main(String[] args) throws IOException {
    ParentPipe mouth = new ParentPipe();
    Path folder = Path.of(args[0]);
    ManyStoresProcess first = new ManyStoresProcess(folder.resolve("first"), 2, 10, 32L << 20);
    first.work(300, 0);
    first.close();
    long before = pss();
    ManyStoresProcess process =
        new ManyStoresProcess(
            folder.resolve("second"),
            Integer.parseInt(args[1]),
            Integer.parseInt(args[2]),
            Long.parseLong(args[3]));
    long grown = process.work(400, before);
    long start = System.nanoTime();
    process.close();
    mouth.say("closed " + (System.nanoTime() - start) / 1e9);
    mouth.say("grown " + grown);
    Runtime.getRuntime().halt(0);
  }
}
