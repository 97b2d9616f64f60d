package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Protocol;
import io.fovea.error.AbortCause;
import io.fovea.error.TransactionAbortedException;
import io.fovea.schema.TableSpec;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Transactions return their memory: docs/guide/operations.md, "Memory". */
@Tag("slow")
@Timeout(value = 10, unit = TimeUnit.MINUTES)
@Isolated("uses up the JVM's direct memory")
class MemoryTest {
  private static final int THREADS = 8;
  private static final int MIB = 1 << 20;

  private static Options options(Protocol protocol) {
    return Options.defaults()
        .bufferBytes(64 * MIB)
        .memory(mem -> mem.timestampBytes(4 * MIB))
        .experiments(exp -> exp.protocol(protocol))
        .transactions(txs -> txs.maxActive(2 * THREADS));
  }

  /** Returns the memory that the JVM counts against MaxDirectMemorySize. */
  private static long direct() {
    return ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
        .filter(b -> b.getName().equals("direct"))
        .mapToLong(BufferPoolMXBean::getTotalCapacity)
        .sum();
  }

  private static byte[] key(int i) {
    return new byte[] {(byte) (i >> 16), (byte) (i >> 8), (byte) i};
  }

  private interface Body {
    void run(int thread) throws Exception;
  }

  private static void together(Body body) throws Exception {
    List<Throwable> thrown = new ArrayList<>();
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < THREADS; i++) {
      int thread = i;
      threads.add(
          Thread.ofPlatform()
              .start(
                  () -> {
                    try {
                      body.run(thread);
                    } catch (Throwable t) {
                      synchronized (thrown) {
                        thrown.add(t);
                      }
                    }
                  }));
    }
    for (Thread t : threads) {
      t.join();
    }
    for (Throwable t : thrown) {
      throw new AssertionError(t);
    }
  }

  /**
   * An application may exhaust the JVM's direct memory, which is small if the heap is small.
   * Transactions use none of it: large ones, values of all sizes, splits, merges, cursors.
   */
  @ParameterizedTest
  @EnumSource
  void transactionsTakeNoDirectMemory(Protocol protocol) throws Exception {
    try (Database db = Database.inMemory(options(protocol))) {
      Table<byte[], byte[]> t = db.table(TableSpec.bytes("t", 16)).bytes();
      db.run(tx -> t.put(tx, key(0), new byte[1]));
      long before = direct();
      CyclicBarrier all = new CyclicBarrier(THREADS);
      together(
          thread -> {
            Random random = new Random(thread);
            db.run(tx -> all.await());
            for (int round = 0; round < 4; round++) {
              int from = (thread * 4 + round) * 1000;
              db.run(
                  tx -> {
                    for (int i = 0; i < 300; i++) {
                      t.put(tx, key(from + i), new byte[random.nextInt(4000)]);
                    }
                    t.put(tx, key(from + 300), new byte[MIB]);
                  });
              db.run(
                  tx -> {
                    List<Cursor<byte[], byte[]>> open = new ArrayList<>();
                    for (int i = 0; i < 20; i++) {
                      Cursor<byte[], byte[]> c = t.scan(tx, key(from), key(from + 301), order(i));
                      c.next();
                      open.add(c);
                    }
                    Cursor<byte[], byte[]> last = open.getFirst();
                    while (last.next()) {
                      last.value();
                    }
                  });
              db.run(
                  tx -> {
                    for (int i = 0; i < 300; i++) {
                      t.delete(tx, key(from + i));
                    }
                  });
            }
          });
      long taken = direct() - before;
      assertTrue(taken < 64 << 10, "direct memory taken: " + taken);
    }
  }

  private static ScanOrder order(int i) {
    return i % 2 == 0 ? ScanOrder.ASCENDING : ScanOrder.DESCENDING;
  }

  /** Reading long values and opening cursors leaves almost nothing allocated. */
  @ParameterizedTest
  @EnumSource
  void memoryOfTransactionsIsReturned(Protocol protocol) throws Exception {
    try (Database db = Database.inMemory(options(protocol))) {
      Table<byte[], byte[]> t = db.table(TableSpec.bytes("t", 16)).bytes();
      db.run(tx -> t.put(tx, key(0), new byte[5 * MIB]));
      for (int i = 1; i < 100; i++) {
        int k = i;
        db.run(tx -> t.put(tx, key(k), new byte[100]));
      }
      CyclicBarrier all = new CyclicBarrier(THREADS);
      long[] most = {0};
      together(
          thread ->
              db.read(
                  tx -> {
                    List<Cursor<byte[], byte[]>> open = new ArrayList<>();
                    for (int i = 0; i < 25; i++) {
                      Cursor<byte[], byte[]> c = t.scan(tx, null, null, order(i));
                      c.next();
                      open.add(c);
                    }
                    Cursor<byte[], byte[]> first = open.getFirst();
                    assertEquals(5 * MIB, first.value().length);
                    t.get(tx, key(0));
                    if (all.await() == 0) {
                      most[0] = db.stats().memory().transactionBytes();
                    }
                    all.await();
                    if (thread % 2 == 0) {
                      open.forEach(Cursor<byte[], byte[]>::close);
                    }
                    return null;
                  }));
      long left = db.stats().memory().transactionBytes();
      long protocols = most[0] > 0 && protocol == Protocol.MVTO ? 10 * MIB : 9 * MIB;
      assertTrue(most[0] > 100 * MIB, "memory was not accounted for: " + most[0]);
      // The cache of free blocks, at most 8 MiB, and the memory of each context.
      assertTrue(
          left <= protocols + 8L * MIB + THREADS * (3L * MIB / 2),
          "left: " + left + " of " + most[0]);
    }
  }

  @Test
  void oversizedTransactionsAbort() {
    try (Database db =
        Database.inMemory(options(Protocol.TICTOC).transactions(txs -> txs.maxBytes(4 * MIB)))) {
      Table<byte[], byte[]> t = db.table(TableSpec.bytes("t", 16)).bytes();
      for (int bytes : new int[] {5 * MIB, 60 * MIB}) {
        TransactionAbortedException e =
            assertThrows(
                TransactionAbortedException.class,
                () -> db.run(tx -> t.put(tx, key(1), new byte[bytes])));
        assertEquals(AbortCause.TOO_LARGE, e.abortCause());
        assertTrue(e.getMessage().contains("TransactionOptions.maxBytes"), e.getMessage());
      }
      db.run(tx -> t.put(tx, key(1), new byte[3 * MIB]));
    }
  }
}
