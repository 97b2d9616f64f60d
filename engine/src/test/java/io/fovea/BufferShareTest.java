package io.fovea;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Durability;
import io.fovea.config.Replacement;
import io.fovea.error.CorruptionException;
import io.fovea.error.DatabaseLockedException;
import io.fovea.error.InvalidUseException;
import io.fovea.schema.TableSpec;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Databases that share a buffer: together they stay below the limit, each gets its fair share, and
 * memory moves to those that need it.
 */
@Isolated // reads the mappings of the process
@Tag("slow")
@Timeout(value = 3, unit = TimeUnit.MINUTES)
class BufferShareTest {
  private static final int PAGE = 4096;
  private static final long MIB = 1 << 20;
  private static final int VALUE = 400;

  @TempDir Path folder;

  private final List<Database> open = new ArrayList<>();

  /**
   * Held exclusively while the kernel counts resident pages. It counts mapping by mapping, so a
   * page that moves to another database in the meantime would count twice. Background work of the
   * databases only releases memory.
   */
  private final ReentrantReadWriteLock working = new ReentrantReadWriteLock(true);

  private static Options options(BufferShare share) {
    return Options.defaults()
        .bufferBytes(8 * MIB)
        .durability(Durability.ASYNC)
        .device(dev -> dev.pageSize(PAGE))
        .log(log -> log.maxBytes(64 * MIB))
        .bufferShare(share, MIB);
  }

  private Database open(int n, Options options) {
    Database db = Database.open(folder.resolve("db" + n), options);
    open.add(db);
    return db;
  }

  /** Databases left open by a failed test would count in the next one. */
  @AfterEach
  void close() {
    open.forEach(Database::close);
    open.clear();
  }

  private static Table<byte[], byte[]> table(Database db) {
    return db.table(TableSpec.bytes("t", 8)).bytes();
  }

  private static byte[] key(int i) {
    return ByteBuffer.allocate(4).putInt(i).array();
  }

  private static byte[] value(int i) {
    byte[] value = new byte[VALUE];
    new Random(i).nextBytes(value);
    return value;
  }

  private void fill(Database db, int records) {
    Table<byte[], byte[]> t = table(db);
    for (int from = 0; from < records; from += 100) {
      int first = from;
      working(
          () ->
              db.run(
                  tx -> {
                    for (int i = first; i < first + 100; i++) {
                      t.put(tx, key(i), value(i));
                    }
                  }));
    }
  }

  private void read(Database db, int records, Random random, int times) {
    Table<byte[], byte[]> t = table(db);
    for (int n = 0; n < times; n++) {
      int i = random.nextInt(records);
      working(() -> assertArrayEquals(value(i), db.read(tx -> t.get(tx, key(i)))));
    }
  }

  private void working(Runnable work) {
    Lock lock = working.readLock();
    lock.lock();
    try {
      work.run();
    } finally {
      lock.unlock();
    }
  }

  private static long bytes(Database db) {
    return db.stats().memory().bufferBytes();
  }

  private static void until(BooleanSupplier so, Runnable work) {
    while (!so.getAsBoolean()) {
      work.run();
    }
  }

  /** Returns the kernel's count of resident shared buffers; negative if unknown. */
  private static long residentBytes() throws IOException {
    Path smaps = Path.of("/proc/self/smaps");
    if (!Files.isReadable(smaps)) {
      return -1;
    }
    long all = 0;
    long rss = 0;
    boolean flags = false;
    for (String line : Files.readAllLines(smaps)) {
      if (line.startsWith("Rss:")) {
        rss = Long.parseLong(line.replaceAll("[^0-9]", "")) << 10;
      } else if (line.startsWith("VmFlags:")) {
        flags = true;
        // Only shared buffers have all three: no fork, no dump, no huge pages.
        if (line.contains(" dc") && line.contains(" dd") && line.contains(" nh")) {
          all += rss;
        }
      }
    }
    return flags ? all : -1;
  }

  @ParameterizedTest
  @EnumSource
  void allTogetherStayBelowTheLimit(Replacement replacement) throws Exception {
    BufferShare share = BufferShare.of(14 * MIB);
    int databases = 5;
    int records = 12_000; // about 6 MiB each
    for (int i = 0; i < databases; i++) {
      open(i, options(share).experiments(exp -> exp.replacement(replacement)));
    }
    assertEquals(databases, share.databases());
    AtomicBoolean over = new AtomicBoolean();
    AtomicBoolean end = new AtomicBoolean();
    long resident = 0;
    try (ExecutorService pool = Executors.newCachedThreadPool()) {
      List<Future<?>> all = new ArrayList<>();
      for (int i = 0; i < databases; i++) {
        Database db = open.get(i);
        int seed = i;
        all.add(
            pool.submit(
                () -> {
                  fill(db, records);
                  read(db, records, new Random(seed), 5_000);
                  fill(db, records);
                }));
      }
      Future<Long> look =
          pool.submit(
              () -> {
                long most = 0;
                while (!end.get()) {
                  if (share.used() > share.bytes()) {
                    over.set(true);
                  }
                  working.writeLock().lock();
                  try {
                    most = Math.max(most, residentBytes());
                  } finally {
                    working.writeLock().unlock();
                  }
                  LockSupport.parkNanos(10_000_000); // lets the others make progress
                }
                return most;
              });
      for (Future<?> f : all) {
        f.get();
      }
      end.set(true);
      resident = look.get();
    }
    assertTrue(!over.get(), "more is used than the limit");
    assertTrue(resident <= share.bytes(), "resident: " + resident + " of " + share.bytes());
    assertTrue(resident < 0 || resident > 8 * MIB, "resident: " + resident);
    long sum = open.stream().mapToLong(BufferShareTest::bytes).sum();
    assertTrue(sum <= share.used() && sum > 10 * MIB, sum + " of " + share);
    for (Database db : open) {
      assertTrue(db.verify().ok());
      read(db, records, new Random(1), 1_000);
    }
    close();
    assertEquals(0, share.used());
    assertEquals(0, share.databases());
    assertTrue(residentBytes() <= 0);
  }

  @Test
  void aNewDatabaseGetsItsFairShare() {
    BufferShare share = BufferShare.of(8 * MIB);
    int records = 14_000;
    Database first = open(0, options(share));
    fill(first, records);
    read(first, records, new Random(1), 20_000);
    assertTrue(bytes(first) > 6 * MIB, "alone: " + bytes(first));
    Database second = open(1, options(share));
    fill(second, records);
    Random random = new Random(2);
    until(
        () -> bytes(second) > 3_500_000,
        () -> {
          read(second, records, random, 500);
          read(first, records, random, 500);
        });
    assertTrue(bytes(first) < 5 * MIB, "the first one: " + bytes(first));
    read(first, records, random, 1_000);
    second.close();
    until(() -> bytes(first) > 6 * MIB, () -> read(first, records, random, 500));
    close();
    assertEquals(0, share.used());
  }

  /** Idle memory moves to a database that needs it, even beyond its fair share. */
  @Test
  void idleMemoryMoves() {
    BufferShare share = BufferShare.of(8 * MIB);
    int records = 14_000;
    Database idle = open(0, options(share));
    Database busy = open(1, options(share));
    fill(idle, records);
    fill(busy, records);
    Random random = new Random(2);
    until(() -> bytes(busy) > 5_500_000, () -> read(busy, records, random, 500));
    read(idle, records, random, 2_000);
    assertTrue(idle.verify().ok());
    close();
    assertEquals(0, share.used());
  }

  /** Memory in constant use stays where it is, whatever other databases need. */
  @Test
  void usedMemoryStays() {
    BufferShare share = BufferShare.of(8 * MIB);
    int records = 14_000;
    int few = 4_000; // about 2 MiB
    Database small = open(0, options(share));
    Database large = open(1, options(share));
    fill(small, few);
    fill(large, records);
    Random random = new Random(3);
    read(small, few, random, 10_000);
    long before = small.stats().buffer().misses();
    for (int i = 0; i < 200; i++) {
      read(large, records, random, 200);
      read(small, few, random, 200);
    }
    long misses = small.stats().buffer().misses() - before;
    assertTrue(misses < 10_000, misses + " misses of 40,000 reads");
    close();
  }

  @Test
  void overcommitmentIsRefused() {
    BufferShare share = BufferShare.of(3 * MIB);
    open(0, options(share));
    open(1, options(share));
    long used = share.used();
    String refusal =
        assertThrows(InvalidUseException.class, () -> open(2, options(share))).getMessage();
    assertTrue(refusal.contains("are reserved for others. Enlarge the BufferShare"), refusal);
    assertEquals(used, share.used());
    assertEquals(2, share.databases());
    assertThrows(DatabaseLockedException.class, () -> open(1, options(share)));
    assertEquals(used, share.used(), "the failed opening took no memory");
    close();
    assertEquals(0, share.used());
    assertThrows(IllegalArgumentException.class, () -> BufferShare.of(0));
    assertThrows(
        IllegalArgumentException.class, () -> options(BufferShare.of(1)).bufferShare(share, -1));
    assertNull(Options.defaults().bufferShare());
    assertSame(share, options(share).bufferShare());
  }

  @Test
  void failedOpeningTakesNoMemory() throws IOException {
    BufferShare share = BufferShare.of(4 * MIB);
    fill(open(0, options(share)), 2_000);
    close();
    Path file = folder.resolve("db0");
    byte[] bytes = Files.readAllBytes(file);
    for (int i = 2 * PAGE + 100; i < 3 * PAGE; i++) {
      bytes[i] ^= 1; // damages the root of the catalog
    }
    Files.write(file, bytes);
    assertThrows(CorruptionException.class, () -> open(0, options(share)));
    assertEquals(0, share.used());
    assertEquals(0, share.databases());
  }

  /** Only the memory that each database needs for itself. */
  @Test
  void minimumSize() {
    BufferShare share = BufferShare.of(2 * MIB);
    Options least = options(share).bufferShare(share, 1);
    for (int i = 0; i < 3; i++) {
      fill(open(i, least), 3_000);
    }
    for (Database db : open) {
      read(db, 3_000, new Random(1), 1_000);
      assertTrue(db.verify().ok());
    }
    assertTrue(share.used() <= share.bytes());
    close();
    assertEquals(0, share.used());
  }

  @Test
  void afterACrash() {
    BufferShare share = BufferShare.of(4 * MIB);
    Database db = open(0, options(share).durability(Durability.SYNC));
    fill(db, 5_000);
    db.abandon();
    open.clear();
    assertEquals(0, share.used());
    Database again = open(0, options(share));
    read(again, 5_000, new Random(1), 1_000);
    try (Database then = again.snapshot()) {
      read(then, 5_000, new Random(1), 100);
    }
    close();
    assertEquals(0, share.used());
    try (Database memory = Database.inMemory(options(share))) {
      fill(memory, 5_000);
      read(memory, 5_000, new Random(1), 1_000);
    }
    assertEquals(0, share.used());
  }
}
