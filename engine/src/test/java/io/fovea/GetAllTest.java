package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.buffer.PageGroup;
import io.fovea.buffer.PoolConfig;
import io.fovea.config.Replacement;
import io.fovea.config.Translation;
import io.fovea.error.CorruptionException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.StorageException;
import io.fovea.io.BlockDevice;
import io.fovea.io.MemoryDevice;
import io.fovea.io.Storage;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import io.fovea.support.HeldDevice;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongPredicate;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Batch reads of keys whose pages are not in memory. */
@Timeout(60)
class GetAllTest {
  private static final int ROWS = 8000;
  private static final long SMALLEST =
      PoolConfig.bytesMin(4096, Translation.PREDICTIVE, Replacement.SECOND_CHANCE);
  private static final Layout.Definition B = Layout.define();
  private static final Field NUMBER = B.int32("number");
  private static final Field TEXT = B.text("text", 80);
  private static final TableSpec SPEC = TableSpec.of("t", KeySpec.of(FieldType.INT32), B.build());

  /** Files in memory that survive a close. */
  private static final class Files implements Storage {
    final Map<String, MemoryDevice> files = new HashMap<>();
    HeldDevice data = new HeldDevice();
    long seed;

    @Override
    public BlockDevice open(String suffix) {
      MemoryDevice below = files.computeIfAbsent(suffix, s -> new MemoryDevice());
      HeldDevice device = new HeldDevice(below, seed++);
      if (suffix.equals(DATA)) {
        data = device;
      }
      return device;
    }

    @Override
    public boolean exists(String suffix) {
      return files.containsKey(suffix);
    }

    @Override
    public void delete(String suffix) {
      files.remove(suffix);
    }

    @Override
    public String name() {
      return "files";
    }
  }

  private final Files files = new Files();
  private Database db;
  private RowTable table;

  private void open(long bufferBytes) {
    db = SimDatabase.open(files, Options.defaults().bufferBytes(bufferBytes));
    table = db.table(SPEC);
  }

  /** Writes rows with even keys below twice {@link #ROWS} and evicts them. */
  private void fill(long bufferBytes) {
    open(16 << 20);
    Row row = table.row();
    Key key = table.key();
    for (int from = 0; from < ROWS; from += 1000) {
      int first = from;
      db.run(
          tx -> {
            for (int i = first; i < first + 1000; i++) {
              row.clear().setInt(NUMBER, i).setText(TEXT, "row " + i);
              table.insert(tx, key.set(2 * i), row);
            }
          });
    }
    db.close();
    open(bufferBytes);
    files.data.forget();
  }

  @AfterEach
  void close() {
    files.data.readFails = offset -> false;
    db.close();
  }

  private int check(Transaction tx, Batch batch) {
    int found = table.getAll(tx, batch);
    int seen = 0;
    for (int i = 0; i < batch.size(); i++) {
      int key = batch.key(i).getInt(0);
      boolean there = key % 2 == 0 && key >= 0 && key < 2 * ROWS;
      assertEquals(there, batch.found(i), "key " + key);
      if (there) {
        assertEquals(key / 2, batch.row(i).getInt(NUMBER));
        assertEquals("row " + key / 2, batch.row(i).getText(TEXT));
        seen++;
      }
    }
    assertEquals(seen, found);
    return found;
  }

  private int check(Batch batch) {
    return db.read(tx -> check(tx, batch));
  }

  @Test
  void coldLeavesAreReadInBatches() {
    fill(16 << 20);
    Batch batch = table.batch(64);
    batch.add().set(0);
    check(batch);
    files.data.forget();
    batch.clear();
    for (int i = 1; i <= 64; i++) {
      batch.add().set(2 * (ROWS / 65 * i));
    }
    assertEquals(64, check(batch));
    assertEquals(List.of(16, 16, 16, 16), files.data.batches);
    assertEquals(64, files.data.reads());
    assertEquals(64, check(batch));
    assertEquals(64, files.data.reads(), "all leaves are cached now");
  }

  @Test
  void keysKeepTheirOrder() {
    fill(16 << 20);
    Random random = new Random(3);
    Batch batch = table.batch(300);
    for (int turn = 0; turn < 20; turn++) {
      batch.clear();
      int n = 1 + random.nextInt(300);
      for (int i = 0; i < n; i++) {
        batch.add().set(random.nextInt(2 * ROWS + 100) - 50);
      }
      check(batch);
    }
    assertTrue(files.data.batches.getFirst() > 1, files.data.batches.toString());
  }

  /** Inner nodes are also missing: one round per level, and no page is read twice. */
  @Test
  void fromTheRootDown() {
    fill(16 << 20);
    Batch batch = table.batch(40);
    for (int i = 0; i < 40; i++) {
      batch.add().set(2 * (i * 200));
    }
    assertEquals(40, check(batch));
    assertTrue(files.data.batches.size() <= 3, files.data.batches.toString());
    files.data.readsAt.forEach((offset, n) -> assertEquals(1, n.get(), "reads at " + offset));
  }

  @Test
  void ownWritesAreSeen() {
    fill(16 << 20);
    Batch batch = table.batch(50);
    Key key = table.key();
    Row row = table.row();
    try (Transaction tx = db.begin()) {
      row.clear().setInt(NUMBER, -1).setText(TEXT, "own");
      table.insert(tx, key.set(2001), row);
      table.delete(tx, key.set(4000));
      for (int i = 0; i < 50; i++) {
        batch.add().set(i == 10 ? 2001 : i == 20 ? 4000 : i * 300);
      }
      assertEquals(49, table.getAll(tx, batch));
      assertEquals(-1, batch.row(10).getInt(NUMBER));
      assertFalse(batch.found(20));
      assertEquals(30 * 150, batch.row(30).getInt(NUMBER));
    }
  }

  @Test
  void inTheSmallestPool() {
    fill(SMALLEST);
    Random random = new Random(5);
    Batch batch = table.batch(100);
    for (int turn = 0; turn < 30; turn++) {
      batch.clear();
      for (int i = 0; i < 100; i++) {
        batch.add().set(random.nextInt(2 * ROWS));
      }
      check(batch);
    }
    assertTrue(files.data.batches.stream().anyMatch(n -> n > 1));
  }

  @Test
  void unreadablePagesAreReported() {
    fill(16 << 20);
    Batch batch = table.batch(64);
    batch.add().set(0);
    check(batch);
    for (int i = 1; i < 64; i++) {
      batch.add().set(2 * (ROWS / 64 * i));
    }
    // Every batched read fails, then each single read.
    files.data.readFails = offset -> true;
    assertThrows(StorageException.class, () -> check(batch));
    files.data.readFails = offset -> false;
    assertEquals(64, check(batch));
  }

  /**
   * Failed reads are repeated together: all second reads are in progress while the first of them is
   * held. How they are divided into batches depends on the order in which the first reads end.
   */
  @Test
  void failedReadsAreRetriedTogether() throws Exception {
    fill(16 << 20);
    Batch batch = table.batch(64);
    batch.add().set(0);
    check(batch);
    for (int i = 1; i < 64; i++) {
      batch.add().set(2 * (ROWS / 64 * i));
    }
    files.data.forget();
    // The first read of a page fails, in the batch; the second succeeds.
    LongPredicate fails = offset -> offset / 4096 % 3 == 0;
    files.data.readFails =
        offset -> files.data.readsAt.get(offset).get() == 1 && fails.test(offset);
    files.data.hold(offset -> files.data.readsAt.get(offset).get() == 2);
    AtomicInteger found = new AtomicInteger();
    Thread reader = Thread.ofPlatform().start(() -> found.set(check(batch)));
    int again = 0;
    try {
      // Until as many reads are held as have failed.
      for (int i = 0; i < 10_000 && (again == 0 || files.data.held.get() < again); i++) {
        Thread.sleep(1);
        again = files.data.readsAt.size() < 63 ? 0 : failing(fails);
      }
      assertTrue(again > 10, "pages that fail: " + again);
      assertEquals(again, files.data.held.get());
    } finally {
      files.data.release();
    }
    reader.join();
    assertEquals(64, found.get());
    files.data.readsAt.forEach(
        (offset, n) -> assertEquals(fails.test(offset) ? 2 : 1, n.get(), "reads at " + offset));
  }

  private int failing(LongPredicate fails) {
    return (int) files.data.readsAt.keySet().stream().filter(fails::test).count();
  }

  /** The reads of the next batch are in progress while the current one is processed. */
  @Test
  void severalBatchesAreInProgress() throws Exception {
    fill(16 << 20);
    Batch batch = table.batch(256);
    batch.add().set(0);
    check(batch);
    batch.clear();
    for (int i = 1; i <= 256; i++) {
      batch.add().set(2 * (ROWS / 257 * i));
    }
    files.data.forget();
    files.data.hold(offset -> true);
    AtomicInteger found = new AtomicInteger();
    Thread reader = Thread.ofPlatform().start(() -> found.set(check(batch)));
    try {
      for (int i = 0; i < 10_000 && files.data.held.get() <= PageGroup.CAPACITY; i++) {
        Thread.sleep(1);
      }
      assertTrue(files.data.held.get() > PageGroup.CAPACITY);
    } finally {
      files.data.release();
    }
    reader.join();
    assertEquals(256, found.get());
  }

  @Test
  void damageIsReported() {
    fill(16 << 20);
    Batch batch = table.batch(8);
    batch.add().set(0);
    check(batch);
    files.data.forget();
    batch.clear();
    batch.add().set(2 * (ROWS / 2));
    check(batch);
    long offset = files.data.readsAt.keySet().iterator().next();
    db.close();
    MemorySegment bytes = Arena.ofAuto().allocate(4096, 4096);
    bytes.fill((byte) 3);
    files.data.below().write(offset, bytes, 0, 4096);
    open(16 << 20);
    Batch again = table.batch(8);
    for (int i = 0; i < 8; i++) {
      again.add().set(2 * (ROWS / 2 - 400 + 100 * i));
    }
    assertThrows(CorruptionException.class, () -> check(again));
    again.clear();
    for (int i = 0; i < 8; i++) {
      again.add().set(2 * (100 + i));
    }
    assertEquals(8, check(again), "the other keys are unaffected");
  }

  /** Slow, reordered and failing reads, by several threads in a pool that is far too small. */
  @Test
  void onAnUnreliableDevice() throws Exception {
    fill(SMALLEST);
    files.data.yieldsMax = 4;
    files.data.readFails =
        offset -> java.util.concurrent.ThreadLocalRandom.current().nextInt(200) == 0;
    Throwable[] failure = new Throwable[1];
    Thread[] threads = new Thread[4];
    for (int t = 0; t < threads.length; t++) {
      int seed = t;
      Runnable body =
          () -> {
            Random random = new Random(seed);
            Batch batch = table.batch(100);
            int done = 0;
            while (done < 20) {
              batch.clear();
              for (int i = 0; i < 100; i++) {
                batch.add().set(random.nextInt(2 * ROWS));
              }
              try {
                check(batch);
                done++;
              } catch (StorageException e) {
              } catch (Throwable e) {
                failure[0] = e;
                return;
              }
            }
          };
      threads[t] = t < 2 ? Thread.ofPlatform().start(body) : Thread.startVirtualThread(body);
    }
    for (Thread thread : threads) {
      thread.join();
    }
    if (failure[0] != null) {
      throw new AssertionError("in a thread", failure[0]);
    }
  }

  /** The batch is cleared by another thread, or by a retried body that shares it. */
  @Test
  void aBatchThatIsClearedMeanwhile() {
    fill(SMALLEST);
    Batch batch = table.batch(100);
    Random random = new Random(7);
    for (int i = 0; i < 100; i++) {
      batch.add().set(random.nextInt(2 * ROWS));
    }
    LongPredicate before = files.data.readFails;
    files.data.readFails =
        offset -> {
          batch.clear();
          return false;
        };
    InvalidUseException e =
        assertThrows(InvalidUseException.class, () -> db.read(tx -> table.getAll(tx, batch)));
    assertTrue(e.getMessage().contains("cleared"), e::toString);
    files.data.readFails = before;
    for (int i = 0; i < 100; i++) {
      batch.add().set(random.nextInt(2 * ROWS));
    }
    check(batch);
  }
}
