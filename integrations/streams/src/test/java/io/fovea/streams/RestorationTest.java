package io.fovea.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.state.KeyValueStore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A restored changelog is written to the table in parts, as soon as the pending limit is reached,
 * and nothing of it stays on the heap.
 */
class RestorationTest {
  private static final int RECORDS = 120_000;
  private static final int POLL = 1000;
  private static final int VALUE = 100;
  private static final long PENDING = 2L << 20;

  /** Per record, excluding key and value; 383 bytes were measured, including commits. */
  private static final long ALLOCATED_MAX = 500;

  private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  @TempDir Path directory;

  private static byte[] key(int i) {
    long mixed = i * 0x9E3779B97F4A7C15L;
    return ByteBuffer.allocate(16).putLong(mixed ^ mixed >>> 32).putLong(i).array();
  }

  private static List<ConsumerRecord<byte[], byte[]>> poll(int from) {
    List<ConsumerRecord<byte[], byte[]>> records = new ArrayList<>();
    for (int i = from; i < from + POLL; i++) {
      byte[] value = ByteBuffer.allocate(VALUE).putInt(i).array();
      records.add(TestContext.record(i, key(i), value));
    }
    return records;
  }

  @Test
  void isInPartsAndBounded() {
    TestContext context =
        new TestContext(directory).exactlyOnce().with(FoveaStores.PENDING_BYTES_CONFIG, PENDING);
    KeyValueStore<Bytes, byte[]> store = context.open(FoveaStores.keyValueStore("a").get());
    StoreState state = ((AbstractStore) store).open();
    long most = 0;
    int parts = 0;
    long inTable = 0;
    long allocated = 0;
    for (int i = 0; i < RECORDS; i += POLL) {
      List<ConsumerRecord<byte[], byte[]>> records = poll(i);
      long before = THREADS.getCurrentThreadAllocatedBytes();
      context.restore("a", records);
      if (i >= RECORDS / 2) {
        allocated += THREADS.getCurrentThreadAllocatedBytes() - before;
      }
      most = Math.max(most, state.pending().bytes());
      long now = state.table().count();
      parts += now > inTable ? 1 : 0;
      inTable = now;
    }
    long each = allocated / (RECORDS / 2);
    assertTrue(most <= PENDING, most + " bytes were pending");
    assertTrue(parts >= 10, "only " + parts + " parts");
    assertTrue(each <= ALLOCATED_MAX, each + " bytes of heap for each record");
    store.commit(Map.of(TestContext.CHANGELOG, RECORDS - 1L));
    assertEquals(RECORDS, state.table().count());
    store.close();
  }
}
