package io.fovea.streams.broker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.FileReport;
import io.fovea.Options;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.DslStoreFormat;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.api.MockProcessorContext;
import org.apache.kafka.streams.state.DslKeyValueParams;
import org.apache.kafka.streams.state.DslStoreSuppliers;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;

/**
 * What an application left of one partition of its store: the entries, and the changelog offset
 * committed with them.
 *
 * @param changelog the partition of the changelog
 * @param offset the offset of the last changelog record that the store claims to have; null if none
 * @param entries timestamp and count by word
 */
record Left(TopicPartition changelog, Long offset, Map<String, Value> entries) {

  /** A count and its time. */
  record Value(long timestamp, long count) {}

  /**
   * Opens a copy of the folder of an application that was killed or closed.
   *
   * @param p the application's properties
   * @param copy a folder that does not exist
   */
  static List<Left> in(Properties p, Path copy) throws Exception {
    Path state = Path.of(p.getProperty(StreamsConfig.STATE_DIR_CONFIG));
    copy(state, copy);
    String application = p.getProperty(StreamsConfig.APPLICATION_ID_CONFIG);
    Path database = copy.resolve(application).resolve("fovea").resolve("stores.fovea");
    if (Files.exists(database)) {
      Options options = Options.defaults().bufferBytes(32L << 20);
      assertEquals(List.of(), FileReport.verify(database, options).problems());
    }
    List<Left> all = new ArrayList<>();
    List<Path> tasks = new ArrayList<>();
    try (Stream<Path> folders = Files.list(copy.resolve(application))) {
      folders.filter(f -> f.getFileName().toString().matches("\\d+_\\d+")).forEach(tasks::add);
    }
    Properties there = new Properties();
    there.putAll(p);
    there.put(StreamsConfig.STATE_DIR_CONFIG, copy.toString());
    for (Path task : tasks) {
      TaskId id = TaskId.parse(task.getFileName().toString());
      try (Stream<Path> stores = Files.list(task)) {
        if (stores.findAny().isEmpty()) {
          continue;
        }
      }
      all.add(
          of(
              there,
              id,
              task.toFile(),
              new TopicPartition(CountApp.changelog(application), id.partition())));
    }
    Broker.delete(copy);
    return all;
  }

  private static Left of(Properties p, TaskId id, File folder, TopicPartition changelog)
      throws Exception {
    DslStoreSuppliers suppliers =
        (DslStoreSuppliers)
            Class.forName(p.getProperty(StreamsConfig.DSL_STORE_SUPPLIERS_CLASS_CONFIG))
                .getDeclaredConstructor()
                .newInstance();
    KeyValueStore<Bytes, byte[]> store =
        suppliers
            .keyValueStore(new DslKeyValueParams(CountApp.STORE, DslStoreFormat.TIMESTAMPED))
            .get();
    MockProcessorContext<Void, Void> context = new MockProcessorContext<>(p, id, folder);
    store.init(context.getStateStoreContext(), store);
    try {
      Map<String, Value> entries = new HashMap<>();
      try (KeyValueIterator<Bytes, byte[]> rows = store.all()) {
        rows.forEachRemaining(
            row -> {
              ByteBuffer value = ByteBuffer.wrap(row.value);
              entries.put(Topic.text(row.key.get()), new Value(value.getLong(), value.getLong()));
            });
      }
      Long offset = store.committedOffset(changelog);
      return new Left(changelog, offset == null || offset < 0 ? null : offset, entries);
    } finally {
      store.close();
    }
  }

  /**
   * A store with an offset must have the contents of the committed changelog up to that offset. It
   * may also have later records, all up to one of them, because a killed restoration writes ahead
   * of its offset. It must have nothing uncommitted.
   *
   * @param spilled whether rows may have been spilled before the changelog had them, as with at
   *     least once: then no row may be older than the changelog up to the offset
   */
  void check(List<ConsumerRecord<byte[], byte[]>> log, String about, boolean spilled) {
    if (offset == null) {
      return;
    }
    Map<String, Value> there = entries(log, changelog.partition(), offset);
    Map<String, Value> first = Map.copyOf(there);
    int differ = 0;
    Set<String> words = new HashSet<>(there.keySet());
    words.addAll(entries.keySet());
    for (String word : words) {
      differ += Objects.equals(there.get(word), entries.get(word)) ? 0 : 1;
    }
    for (ConsumerRecord<byte[], byte[]> r : log) {
      if (differ == 0) {
        return;
      }
      if (r.partition() == changelog.partition() && r.offset() > offset) {
        String word = Topic.text(r.key());
        Value now = new Value(r.timestamp(), Topic.number(r.value()));
        Value has = entries.get(word);
        differ -= Objects.equals(there.put(word, now), has) ? 0 : 1;
        differ += now.equals(has) ? 0 : 1;
      }
    }
    if (differ > 0 && spilled) {
      first.forEach(
          (word, value) -> {
            Value has = entries.get(word);
            assertTrue(
                has != null && has.count >= value.count,
                () -> about + ": " + changelog + " at offset " + offset + ": " + word + ' ' + has);
          });
    } else if (differ > 0) {
      assertEquals(first, entries, () -> about + ": " + changelog + " at offset " + offset);
    }
  }

  /** The contents of a changelog up to and including an offset. */
  static Map<String, Value> entries(
      List<ConsumerRecord<byte[], byte[]>> log, int partition, long offset) {
    Map<String, Value> entries = new HashMap<>();
    for (ConsumerRecord<byte[], byte[]> r : log) {
      if (r.partition() == partition && r.offset() <= offset) {
        entries.put(Topic.text(r.key()), new Value(r.timestamp(), Topic.number(r.value())));
      }
    }
    return entries;
  }

  private static void copy(Path from, Path to) throws IOException {
    List<Path> all = new ArrayList<>();
    try (Stream<Path> files = Files.walk(from)) {
      files.forEach(all::add);
    }
    for (Path p : all) {
      Path target = to.resolve(from.relativize(p).toString());
      if (Files.isDirectory(p)) {
        Files.createDirectories(target);
      } else {
        Files.copy(p, target);
      }
    }
  }
}
