package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.LocationCacheLayout;
import io.fovea.config.Protocol;
import io.fovea.error.DatabaseClosedException;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Tables and indexes with cached key locations. */
@Timeout(value = 2, unit = java.util.concurrent.TimeUnit.MINUTES)
@Tag("slow")
class CachedKeyLocationsTest {
  private static final int N = 20_000;

  private static final Layout.Definition B = Layout.define();
  private static final Field NUMBER = B.int64("number");
  private static final Field BALANCE = B.int64("balance");
  private static final Layout LAYOUT = B.build();
  private static final TableSpec PLAIN = TableSpec.of("t", KeySpec.of(FieldType.INT32), LAYOUT);
  private static final IndexSpec BY_NUMBER = IndexSpec.unique("by_number", NUMBER);
  private static final TableSpec SPEC = PLAIN.cacheLocations().with(BY_NUMBER.cacheLocations());

  @TempDir Path dir;

  private static Options options() {
    return Options.defaults().bufferBytes(16 << 20).memory(mem -> mem.timestampBytes(4 << 20));
  }

  private static void fill(Database db, RowTable t, int n) {
    for (int from = 0; from < n; from += 1000) {
      int begin = from;
      db.run(
          tx -> {
            for (int i = begin; i < Math.min(n, begin + 1000); i++) {
              t.put(tx, t.key().set(i), t.row().setLong(NUMBER, number(i)).setLong(BALANCE, 100));
            }
          });
    }
  }

  private static long number(int i) {
    return i * 7919L % 1_000_003;
  }

  private static void read(Database db, RowTable t, int from, int to) {
    db.read(
        tx -> {
          Row row = t.row();
          for (int i = from; i < to; i++) {
            assertTrue(t.get(tx, t.key().set(i), row));
            assertEquals(number(i), row.getLong(NUMBER));
          }
          return null;
        });
  }

  /** A read through a valid key location takes no descent. */
  @Test
  void readsUseCachedLocations() {
    try (Database db = Database.inMemory(options())) {
      RowTable t = db.table(SPEC);
      fill(db, t, N);
      read(db, t, 0, 2000);
      DatabaseStats before = db.stats();
      read(db, t, 0, 2000);
      DatabaseStats after = db.stats();
      long asked = after.descents().cachedLocations() - before.descents().cachedLocations();
      long right =
          after.descents().cachedLocationsRight() - before.descents().cachedLocationsRight();
      assertEquals(2000, asked);
      assertTrue(right > 1900, () -> right + " of " + asked);
      long steps = after.descents().steps() - before.descents().steps();
      assertTrue(steps <= (asked - right) * 3, () -> "descent steps: " + steps);
      assertTrue(after.memory().locationCacheBytes() >= 256 << 10);
      assertEquals(1 << 20, after.memory().locationCacheBytesMax(), "a sixteenth of the buffer");
    }
  }

  @Test
  void theDefaultIsRoundedUp() {
    try (Database db = Database.inMemory(options().bufferBytes(17 << 20))) {
      RowTable t = db.table(SPEC);
      fill(db, t, 100);
      read(db, t, 0, 100);
      assertEquals(2 << 20, db.stats().memory().locationCacheBytesMax());
    }
  }

  /** The shortcut directory of locations; its mappings are released with the database. */
  @Test
  void withAShortcutDirectory() {
    Options options =
        options().experiments(exp -> exp.locationCacheLayout(LocationCacheLayout.SHORTCUT));
    try (Database db = Database.inMemory(options)) {
      RowTable t = db.table(SPEC);
      fill(db, t, N);
      for (int round = 0; round < 20; round++) {
        read(db, t, 0, N);
      }
      DatabaseStats before = db.stats();
      read(db, t, 0, N);
      DatabaseStats after = db.stats();
      long right =
          after.descents().cachedLocationsRight() - before.descents().cachedLocationsRight();
      assertTrue(right > N * 0.9, () -> right + " of " + N);
      assertTrue(after.memory().locationCacheBytes() >= 256 << 10);
      assertEquals(1 << 20, after.memory().locationCacheBytesMax(), "a sixteenth of the buffer");
    }
  }

  @Test
  void insertedKeysAreCached() {
    try (Database db = Database.inMemory(options())) {
      RowTable t = db.table(SPEC);
      fill(db, t, 1000);
      long right = db.stats().descents().cachedLocationsRight();
      read(db, t, 900, 1000);
      assertTrue(db.stats().descents().cachedLocationsRight() - right > 50);
    }
  }

  @Test
  void lookupsInUniqueIndexes() {
    try (Database db = Database.inMemory(options())) {
      RowTable t = db.table(SPEC);
      fill(db, t, N);
      RowIndex index = t.index("by_number");
      for (int round = 0; round < 2; round++) {
        long right = db.stats().descents().cachedLocationsRight();
        long steps = db.stats().descents().steps();
        db.read(
            tx -> {
              Row row = t.row();
              for (int i = 0; i < 1000; i++) {
                assertTrue(index.get(tx, index.key().set(number(i)), row));
                assertEquals(number(i), row.getLong(NUMBER));
              }
              assertFalse(index.get(tx, index.key().set(-5L), row));
              return null;
            });
        if (round == 1) {
          assertTrue(db.stats().descents().cachedLocationsRight() - right > 900);
          assertTrue(db.stats().descents().steps() - steps < 400);
        }
      }
    }
  }

  @Test
  void manyKeysAtOnce() {
    try (Database db = Database.inMemory(options())) {
      RowTable t = db.table(SPEC);
      fill(db, t, N);
      Random random = new Random(3);
      for (int round = 0; round < 6; round++) {
        long right = db.stats().descents().cachedLocationsRight();
        db.read(
            tx -> {
              Batch batch = t.batch(50);
              for (int group = 0; group < 20; group++) {
                batch.clear();
                int[] keys = random.ints(50, 0, 2500).toArray();
                for (int k : keys) {
                  batch.add(t.key().set(k < 2000 ? k : k + N));
                }
                t.getAll(tx, batch);
                for (int i = 0; i < keys.length; i++) {
                  assertEquals(keys[i] < 2000, batch.found(i));
                  assertTrue(
                      !batch.found(i) || batch.row(i).getLong(NUMBER) == number(keys[i]),
                      "another record");
                }
              }
              return null;
            });
        if (round == 5) {
          assertTrue(db.stats().descents().cachedLocationsRight() - right > 600);
        }
        SimDatabase.poisonPlaces(db, round < 4 ? random : new Random(0));
        if (round == 4) {
          read(db, t, 0, 2000);
        }
      }
    }
  }

  @Test
  void onlyDeclaredTablesAreCached() {
    try (Database db = Database.inMemory(options())) {
      RowTable t = db.table(PLAIN);
      fill(db, t, 100);
      read(db, t, 0, 100);
      assertEquals(0, db.stats().descents().cachedLocations());
      assertEquals(0, db.stats().memory().locationCacheBytes());
      assertEquals(0, db.stats().memory().locationCacheBytesMax());
      RowTable same = db.table(PLAIN.cacheLocations());
      read(db, same, 0, 100);
      assertEquals(100, db.stats().descents().cachedLocations(), "cached from now on");
      read(db, t, 0, 100);
      assertEquals(200, db.stats().descents().cachedLocations(), "cached under each handle");
    }
  }

  @Test
  void locationsAreNotStored() {
    Path file = dir.resolve("t.fovea");
    try (Database db = Database.open(file, options())) {
      fill(db, db.table(SPEC), 1000);
    }
    try (Database db = Database.open(file, options())) {
      RowTable t = db.table(PLAIN.with(BY_NUMBER));
      read(db, t, 0, 1000);
      assertEquals(0, db.stats().descents().cachedLocations());
    }
    try (Database db = Database.open(file, options())) {
      RowTable t = db.table(SPEC);
      read(db, t, 0, 1000);
      assertEquals(1000, db.stats().descents().cachedLocations());
      assertEquals(0, db.stats().descents().cachedLocationsRight(), "the cache starts empty");
    }
  }

  @Test
  void aTableOfTheSameNameStartsEmpty() {
    try (Database db = Database.inMemory(options())) {
      for (int round = 0; round < 3; round++) {
        RowTable t = db.table(SPEC);
        db.read(
            tx -> {
              for (int i = 0; i < 500; i++) {
                assertFalse(t.get(tx, t.key().set(i), t.row()));
              }
              return null;
            });
        fill(db, t, 2000);
        read(db, t, 0, 2000);
        db.dropTable("t");
      }
    }
  }

  @Test
  void aLoadKeepsTheCache() {
    try (Database db = Database.inMemory(options())) {
      RowTable t = db.table(SPEC);
      fill(db, t, 1000);
      read(db, t, 0, 1000);
      t.load(
          LoadOptions.defaults(),
          load -> {
            for (int i = 1000; i < 3000; i++) {
              load.add(t.key().set(i), t.row().setLong(NUMBER, number(i)).setLong(BALANCE, 100));
            }
          });
      long asked = db.stats().descents().cachedLocations();
      read(db, t, 0, 3000);
      read(db, t, 0, 3000);
      assertEquals(6000, db.stats().descents().cachedLocations() - asked);
    }
  }

  @Test
  void objectsAndByteStrings() {
    record Item(int id, String name) {}
    try (Database db = Database.inMemory(options())) {
      Table<Integer, Item> items =
          db.table(ObjectSpec.of("items", Integer.class, Item.class).cacheLocations());
      Table<byte[], byte[]> bytes = db.table(TableSpec.bytes("bytes", 20).cacheLocations()).bytes();
      db.run(
          tx -> {
            for (int i = 0; i < 500; i++) {
              items.put(tx, i, new Item(i, "item " + i));
              bytes.put(tx, new byte[] {(byte) (i >> 8), (byte) i}, new byte[] {(byte) i});
            }
          });
      for (int round = 0; round < 2; round++) {
        db.read(
            tx -> {
              for (int i = 0; i < 500; i++) {
                assertEquals(new Item(i, "item " + i), items.get(tx, i));
                byte[] value = bytes.get(tx, new byte[] {(byte) (i >> 8), (byte) i});
                assertEquals((byte) i, value == null ? -1 : value[0]);
              }
              return null;
            });
      }
      assertEquals(2000, db.stats().descents().cachedLocations());
    }
  }

  /** Money is transferred while another thread poisons all key locations. */
  @ParameterizedTest
  @EnumSource(Protocol.class)
  void wrongLocationsAreHarmless(Protocol protocol) throws Exception {
    int accounts = 3000;
    Options options =
        options()
            .bufferBytes(2 << 20)
            .experiments(exp -> exp.protocol(protocol).cacheAllKeyLocations(true));
    try (Database db = Database.open(dir.resolve("t.fovea"), options)) {
      RowTable t = db.table(PLAIN.with(BY_NUMBER));
      fill(db, t, accounts);
      AtomicReference<Throwable> failure = new AtomicReference<>();
      AtomicBoolean stop = new AtomicBoolean();
      List<Thread> threads = new ArrayList<>();
      for (int id = 0; id < 3; id++) {
        Random random = new Random(id);
        threads.add(
            start(
                failure,
                () -> {
                  for (int i = 0; i < 700; i++) {
                    move(db, t, random.nextInt(accounts), random.nextInt(accounts));
                  }
                }));
      }
      Thread poisoner =
          start(
              failure,
              () -> {
                Random random = new Random(9);
                while (!stop.get()) {
                  SimDatabase.poisonPlaces(db, random);
                }
              });
      for (Thread thread : threads) {
        thread.join();
      }
      stop.set(true);
      poisoner.join();
      assertNull(failure.get(), () -> String.valueOf(failure.get()));
      long sum = db.read(tx -> sum(tx, t, accounts));
      assertEquals(100L * accounts, sum);
      assertTrue(db.verify().ok());
    }
  }

  private static void move(Database db, RowTable t, int from, int to) {
    db.run(
        tx -> {
          Row row = t.row();
          RowIndex index = t.index("by_number");
          assertTrue(index.get(tx, index.key().set(number(from)), row));
          long balance = row.getLong(BALANCE);
          t.update(tx, row.setLong(BALANCE, balance - 1));
          assertTrue(t.get(tx, t.key().set(to), row));
          t.update(tx, row.setLong(BALANCE, row.getLong(BALANCE) + 1));
          if (from % 50 == 0 && from != to) {
            // Deletes and reinserts records, so that locations also become wrong naturally.
            assertTrue(t.get(tx, t.key().set(from), row));
            long there = row.getLong(BALANCE);
            assertTrue(t.delete(tx, t.key().set(from)));
            assertFalse(t.get(tx, t.key().set(from), row));
            t.insert(
                tx,
                t.key().set(from),
                row.clear().setLong(NUMBER, number(from)).setLong(BALANCE, there));
          }
        });
  }

  private static long sum(Transaction tx, RowTable t, int accounts) {
    long sum = 0;
    Row row = t.row();
    for (int i = 0; i < accounts; i++) {
      assertTrue(t.get(tx, t.key().set(i), row));
      sum += row.getLong(BALANCE);
    }
    return sum;
  }

  @Test
  void closingUnderReaders() throws Exception {
    for (int round = 0; round < 5; round++) {
      Database db =
          Database.inMemory(
              options().transactions(txs -> txs.closeTimeout(java.time.Duration.ZERO)));
      RowTable t = db.table(SPEC);
      fill(db, t, 3000);
      AtomicReference<Throwable> failure = new AtomicReference<>();
      List<Thread> threads = new ArrayList<>();
      for (int id = 0; id < 3; id++) {
        Random random = new Random(id);
        threads.add(
            start(
                failure,
                () ->
                    assertThrows(
                        DatabaseClosedException.class,
                        () -> {
                          while (true) {
                            int i = random.nextInt(3000);
                            read(db, t, i, i + 1);
                          }
                        })));
      }
      Thread.sleep(20);
      db.close();
      for (Thread thread : threads) {
        thread.join();
      }
      assertNull(failure.get(), () -> String.valueOf(failure.get()));
    }
  }

  private static Thread start(AtomicReference<Throwable> failure, Runnable work) {
    return Thread.ofPlatform()
        .start(
            () -> {
              try {
                work.run();
              } catch (Throwable e) {
                failure.compareAndSet(null, e);
              }
            });
  }
}
