package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Durability;
import io.fovea.config.TimestampStore;
import io.fovea.error.PoolTooSmallException;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Databases with each kind of {@link TimestampStore}. */
@Tag("slow")
class TimestampStoreTest {
  private static final int RECORDS = 400;
  private static final Layout.Definition B = Layout.define();
  private static final Field COUNT = B.int64("count");
  private static final TableSpec SPEC = TableSpec.of("t", KeySpec.of(FieldType.INT32), B.build());

  @TempDir Path directory;

  private static Options options(TimestampStore store) {
    return Options.defaults()
        .bufferBytes(8 << 20)
        .experiments(exp -> exp.timestamps(store))
        .memory(mem -> mem.timestampBytes(1 << 20).sketchBytes(64));
  }

  private static void load(Database db) {
    RowTable t = db.table(SPEC);
    Key key = t.key();
    Row row = t.row();
    db.run(
        tx -> {
          for (int i = 0; i < RECORDS; i++) {
            t.insert(tx, key.set(i), row.clear().setLong(COUNT, 0));
          }
        });
  }

  private static long sum(Database db) {
    RowTable t = db.table(SPEC);
    Key key = t.key();
    Row row = t.row();
    long[] sum = new long[1];
    db.run(
        tx -> {
          sum[0] = 0;
          for (int i = 0; i < RECORDS; i++) {
            t.get(tx, key.set(i), row);
            sum[0] += row.getLong(COUNT);
          }
        });
    return sum[0];
  }

  /** Transfers amounts between records from several threads; the sum is constant. */
  private static void transfer(Database db) throws InterruptedException {
    RowTable t = db.table(SPEC);
    AtomicReference<Throwable> failure = new AtomicReference<>();
    List<Thread> threads = new ArrayList<>();
    for (int n = 0; n < 3; n++) {
      int seed = n;
      Thread thread =
          new Thread(
              () -> {
                try {
                  Key key = t.key();
                  Row row = t.row();
                  for (int i = 0; i < 1500; i++) {
                    int from = (i * 7 + seed * 13) % RECORDS;
                    int to = (i * 11 + seed + 1) % RECORDS;
                    db.run(
                        tx -> {
                          add(t, tx, key.set(from), row, -1);
                          add(t, tx, key.set(to), row, 1);
                        });
                  }
                } catch (Throwable e) {
                  failure.set(e);
                }
              });
      threads.add(thread);
      thread.start();
    }
    for (Thread thread : threads) {
      thread.join();
    }
    if (failure.get() != null) {
      throw new AssertionError(failure.get());
    }
  }

  private static void add(RowTable t, Transaction tx, Key key, Row row, long by) {
    assertTrue(t.get(tx, key, row));
    row.setLong(COUNT, row.getLong(COUNT) + by);
    t.put(tx, key, row);
  }

  @ParameterizedTest
  @EnumSource
  void inMemory(TimestampStore store) throws InterruptedException {
    try (Database db = Database.inMemory(options(store))) {
      load(db);
      transfer(db);
      assertEquals(0, sum(db));
      DatabaseStats stats = db.stats();
      DatabaseStats.Timestamps t = stats.timestamps();
      boolean disk = store == TimestampStore.DISK || store == TimestampStore.DISK_CACHE;
      assertEquals(store == TimestampStore.FOCUS_SKETCH ? 64 : cell(store), t.sketchBytes());
      assertTrue(t.materialised() >= RECORDS, t.toString());
      assertTrue(!disk || t.approximate() == 0, t.toString());
      assertTrue(store != TimestampStore.MEMORY || t.released() == 0, t.toString());
      assertTrue(
          stats.memory().bufferBytes() <= stats.memory().bufferBytesMax(),
          stats.memory().toString());
      assertEquals(8 << 20, stats.memory().bufferBytesMax(), "timestamps are not in the buffer");
      assertTrue(stats.memory().maxBytes() <= (8 << 20) + (1 << 20) + (4 << 20));
    }
  }

  /** Timestamps are deducted from the buffer, whatever the store. */
  @ParameterizedTest
  @EnumSource
  void inTheBuffer(TimestampStore store) throws InterruptedException {
    Options options =
        options(store)
            .memory(mem -> mem.activeTimestampBytes(64 << 10).sketchBytes(64 << 10))
            .experiments(exp -> exp.timestampsInBuffer(true));
    try (Database db = Database.inMemory(options)) {
      load(db);
      transfer(db);
      assertEquals(0, sum(db));
      long taken =
          switch (store) {
            case DISK -> (1 << 20) + (64 << 10);
            case DISK_CACHE -> (1 << 20) + (128 << 10);
            case MEMORY -> 1 << 20;
            case FOCUS_COUNTER, FOCUS_SKETCH -> 128 << 10;
          };
      assertEquals((8 << 20) - taken, db.stats().memory().bufferBytesMax());
    }
    long least = least(options(store));
    long more = least(options);
    assertTrue(more > least, more + " and " + least);
    Database.inMemory(options.bufferBytes(more)).close();
    assertThrows(
        PoolTooSmallException.class, () -> Database.inMemory(options.bufferBytes(more - 1)));
  }

  private static long least(Options options) {
    return assertThrows(
            PoolTooSmallException.class,
            () -> Database.inMemory(options.bufferBytes(4 << 10)).close())
        .bytesNeeded();
  }

  /** Each entry is removed when its last user ends: the dissertation's Focus-Sketch. */
  @Test
  void immediateEvictionRemovesAllEntries() {
    Options usual = options(TimestampStore.FOCUS_SKETCH);
    try (Database db = Database.inMemory(usual)) {
      load(db);
      assertTrue(db.stats().timestamps().live() > 0);
    }
    try (Database db = Database.inMemory(usual.experiments(exp -> exp.evictImmediately(true)))) {
      load(db);
      assertEquals(0, db.stats().timestamps().live());
      assertTrue(db.stats().timestamps().released() >= RECORDS);
    }
  }

  private static long cell(TimestampStore store) {
    return store == TimestampStore.FOCUS_COUNTER ? 8 : 0;
  }

  /** The file of timestamps exists only while its database is open. */
  @ParameterizedTest
  @EnumSource(names = {"DISK", "DISK_CACHE"})
  void theFileIsDeletedWithTheDatabase(TimestampStore store) throws Exception {
    Path file = directory.resolve("shop.fovea");
    Path timestamps = directory.resolve("shop.fovea.ts");
    try (Database db = Database.open(file, options(store))) {
      load(db);
      assertTrue(Files.exists(timestamps));
      transfer(db);
    }
    assertFalse(Files.exists(timestamps));
    Files.write(timestamps, new byte[100]);
    try (Database db = Database.open(file, options(store))) {
      assertEquals(0, sum(db));
      transfer(db);
    }
    assertFalse(Files.exists(timestamps));
    Files.write(timestamps, new byte[100]);
    try (Database db = Database.open(file, options(TimestampStore.FOCUS_SKETCH))) {
      assertFalse(Files.exists(timestamps));
      assertEquals(0, sum(db));
    }
    assertEquals(List.of(), FileReport.verify(file, Options.defaults()).problems());
  }

  @Test
  void withoutALog() throws Exception {
    Path file = directory.resolve("shop.fovea");
    Options options = options(TimestampStore.DISK).durability(Durability.NONE);
    try (Database db = Database.open(file, options)) {
      load(db);
      transfer(db);
    }
    try (Database db = Database.open(file, options)) {
      assertEquals(0, sum(db));
    }
    assertFalse(Files.exists(directory.resolve("shop.fovea.ts")));
  }

  @Test
  void optionsAreChecked() {
    Options o = Options.defaults();
    assertEquals(TimestampStore.FOCUS_SKETCH, o.experiments().timestamps());
    assertEquals(32 << 10, o.memory().sketchBytesMin());
    assertEquals(32 << 10, o.memory().sketchBytesMax());
    Options adaptive = o.memory(mem -> mem.sketchBytes(8, 1 << 20));
    assertEquals(8, adaptive.memory().sketchBytesMin());
    assertEquals(1 << 20, adaptive.memory().sketchBytesMax());
    assertTrue(adaptive.toString().contains("sketchBytesMax=1048576"));
    assertThrows(IllegalArgumentException.class, () -> o.memory(mem -> mem.sketchBytes(7)));
    assertThrows(IllegalArgumentException.class, () -> o.memory(mem -> mem.sketchBytes(1024, 512)));
    assertThrows(
        IllegalArgumentException.class, () -> o.memory(mem -> mem.sketchBytes(8, (1L << 30) + 1)));
    assertThrows(NullPointerException.class, () -> o.experiments(exp -> exp.timestamps(null)));
    assertEquals(0, o.memory().activeTimestampBytes());
    Options small = o.memory(mem -> mem.activeTimestampBytes(64 << 10));
    assertEquals(
        64 << 10, small.toStoreConfig().transactions().timestamps().activeTimestampBytes());
    assertEquals(512 << 10, o.toStoreConfig().transactions().timestamps().activeTimestampBytes());
    assertTrue(small.toString().contains("activeTimestampBytes=65536"));
    assertThrows(
        IllegalArgumentException.class, () -> o.memory(mem -> mem.activeTimestampBytes(1023)));
    assertThrows(
        IllegalArgumentException.class, () -> o.memory(mem -> mem.activeTimestampBytes(1L << 31)));
    assertFalse(o.experiments().evictImmediately());
    assertFalse(o.experiments().timestampsInBuffer());
    assertTrue(
        o.experiments(exp -> exp.evictImmediately(true))
            .toString()
            .contains("evictImmediately=true"));
  }
}
