package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Durability;
import io.fovea.config.Protocol;
import io.fovea.error.InvalidUseException;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import io.fovea.support.SimDisk;
import io.fovea.support.SimStorage;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableMap;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Random catalog changes mixed with record changes: from one thread, compared with sorted maps,
 * across close, kill and open; from several threads, with invariants between tables.
 */
@Tag("slow")
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class CatalogModelTest {
  private static final long SEED = Long.getLong("models.seed", 1);
  private static final Layout.Definition B = Layout.define();
  private static final Field V = B.int64("v");
  private static final Layout LAYOUT = B.build();
  private static final KeySpec KEY = KeySpec.of(FieldType.INT64);
  private static final int ROWS = 20;

  private static TableSpec spec(String name) {
    return TableSpec.of(name, KEY, LAYOUT).with(IndexSpec.on("by_v", V));
  }

  private static Options options(Protocol protocol) {
    return Options.defaults()
        .bufferBytes(8 << 20)
        .device(dev -> dev.pageSize(4096))
        .durability(Durability.ASYNC)
        .experiments(exp -> exp.protocol(protocol));
  }

  private static void put(RowTable t, Transaction tx, long key, long value) {
    t.put(tx, t.key().set(key), t.row().clear().setLong(V, value));
  }

  private static long get(RowTable t, Transaction tx, long key) {
    Row row = t.row();
    return t.get(tx, t.key().set(key), row) ? row.getLong(V) : -1;
  }

  private static NavigableMap<Long, Long> records(RowTable t, Transaction tx) {
    NavigableMap<Long, Long> found = new TreeMap<>();
    try (RowCursor c = t.scan(tx, Range.all(), ScanOrder.ASCENDING)) {
      while (c.next()) {
        found.put(c.key().getLong(0), c.row().getLong(V));
      }
    }
    return found;
  }

  private static NavigableMap<String, NavigableMap<Long, Long>> copy(
      NavigableMap<String, NavigableMap<Long, Long>> of) {
    NavigableMap<String, NavigableMap<Long, Long>> copy = new TreeMap<>();
    of.forEach((name, records) -> copy.put(name, new TreeMap<>(records)));
    return copy;
  }

  @ParameterizedTest
  @EnumSource
  void oneThreadAgainstMaps(Protocol protocol) {
    Random r = new Random(SEED * 31 + protocol.ordinal());
    SimDisk disk = new SimDisk(SEED);
    NavigableMap<String, NavigableMap<Long, Long>> model = new TreeMap<>();
    for (int session = 0; session < 6; session++) {
      Database db = SimDatabase.open(new SimStorage(disk), options(protocol));
      check(db, model);
      for (int i = 0; i < 40; i++) {
        NavigableMap<String, NavigableMap<Long, Long>> local = copy(model);
        try (Transaction tx = db.begin()) {
          for (int k = r.nextInt(12); k >= 0; k--) {
            step(r, tx, local);
          }
          assertEquals(List.copyOf(local.keySet()), tx.tables());
          if (r.nextInt(4) > 0) {
            tx.commit();
            model = local;
          }
        }
        if (r.nextInt(10) == 0) {
          db.checkpoint();
        }
      }
      check(db, model);
      if (session % 2 == 0) {
        db.close();
      } else {
        db.checkpoint(); // everything up to here is durable
        SimDatabase.abandon(db);
      }
    }
    try (Database db = SimDatabase.open(new SimStorage(disk), options(protocol))) {
      check(db, model);
    }
  }

  private static void step(
      Random r, Transaction tx, NavigableMap<String, NavigableMap<Long, Long>> local) {
    String name = "t" + r.nextInt(5);
    String other = "t" + r.nextInt(5);
    NavigableMap<Long, Long> there = local.get(name);
    switch (r.nextInt(8)) {
      case 0 -> {
        assertEquals(there != null, tx.dropTable(name));
        local.remove(name);
      }
      case 1 -> {
        boolean taken = there != null && !name.equals(other) && local.containsKey(other);
        try {
          assertEquals(there != null, tx.renameTable(name, other));
          assertTrue(!taken, "the name is taken");
          if (there != null) {
            local.remove(name);
            local.put(other, there);
          }
        } catch (InvalidUseException e) {
          assertTrue(taken, e::getMessage);
        }
      }
      case 2 -> assertEquals(List.copyOf(local.keySet()), tx.tables());
      default -> {
        RowTable t = tx.table(spec(name));
        NavigableMap<Long, Long> records = local.computeIfAbsent(name, n -> new TreeMap<>());
        long key = r.nextInt(ROWS);
        if (r.nextInt(3) == 0) {
          assertEquals(records.remove(key) != null, t.delete(tx, t.key().set(key)));
        } else {
          long value = r.nextInt(1000);
          put(t, tx, key, value);
          records.put(key, value);
        }
        assertEquals(records, records(t, tx));
      }
    }
  }

  private static void check(Database db, NavigableMap<String, NavigableMap<Long, Long>> model) {
    assertEquals(List.copyOf(model.keySet()), db.tables());
    db.read(
        tx -> {
          model.forEach(
              (name, records) -> assertEquals(records, records(tx.table(spec(name)), tx)));
          return null;
        });
    VerifyReport report = db.verify();
    assertTrue(report.ok(), report::toString);
  }

  /**
   * The table {@code current} is replaced repeatedly, and a record in another table holds the
   * number of the current one. All of its records have that number, whether the table was found by
   * name or by an old handle.
   */
  @ParameterizedTest
  @EnumSource
  void allSeeOneCatalog(Protocol protocol) throws Exception {
    ExecutorService threads = Executors.newCachedThreadPool();
    AtomicBoolean stop = new AtomicBoolean();
    AtomicLong byName = new AtomicLong();
    AtomicLong byHandle = new AtomicLong();
    AtomicLong written = new AtomicLong();
    try (Database db = Database.inMemory(options(protocol))) {
      RowTable number = db.table(spec("number"));
      db.run(tx -> replace(tx, number));
      List<Future<?>> all = new ArrayList<>();
      all.add(threads.submit(() -> until(stop, () -> byName(db, number, byName))));
      all.add(threads.submit(() -> until(stop, () -> byHandle(db, number, byHandle))));
      all.add(threads.submit(() -> until(stop, () -> write(db, number, written))));
      all.add(threads.submit(() -> until(stop, () -> otherTables(db))));
      for (int i = 0; i < 2; i++) {
        all.add(
            threads.submit(
                () -> {
                  for (int n = 0; n < 25; n++) {
                    db.run(tx -> replace(tx, number));
                  }
                }));
      }
      try {
        all.get(4).get(2, TimeUnit.MINUTES);
        all.get(5).get(2, TimeUnit.MINUTES);
      } finally {
        stop.set(true);
      }
      for (Future<?> f : all) {
        f.get(1, TimeUnit.MINUTES);
      }
      assertEquals(50L, (long) db.read(tx -> get(number, tx, 0)));
      VerifyReport report = db.verify();
      assertTrue(report.ok(), report::toString);
    } finally {
      stop.set(true);
      threads.shutdown();
      assertTrue(threads.awaitTermination(60, TimeUnit.SECONDS), "a thread does not finish");
    }
  }

  private static void until(AtomicBoolean stop, Runnable what) {
    while (!stop.get()) {
      what.run();
    }
  }

  private static void replace(Transaction tx, RowTable number) {
    long next = get(number, tx, 0) + 1;
    put(number, tx, 0, next);
    RowTable t = tx.table(spec("next"));
    for (long k = 0; k < ROWS; k++) {
      put(t, tx, k, next);
    }
    tx.dropTable("current");
    tx.renameTable("next", "current");
  }

  private record Seen(long number, NavigableMap<Long, Long> records) {}

  private static void same(Seen seen) {
    assertNotNull(seen);
    assertEquals(ROWS, seen.records.size());
    seen.records.values().forEach(v -> assertEquals(seen.number, v));
  }

  /** Opens the table by name, before or after reading the number. */
  private static void byName(Database db, RowTable number, AtomicLong count) {
    boolean first = count.get() % 2 == 0;
    same(
        db.read(
            tx -> {
              long before = first ? get(number, tx, 0) : 0;
              NavigableMap<Long, Long> records = records(tx.table(spec("current")), tx);
              return new Seen(first ? before : get(number, tx, 0), records);
            }));
    count.incrementAndGet();
  }

  /** Uses a handle of a table that is dropped meanwhile. */
  private static void byHandle(Database db, RowTable number, AtomicLong count) {
    RowTable current = db.table(spec("current"));
    try {
      same(
          db.read(
              tx -> {
                NavigableMap<Long, Long> records = records(current, tx);
                Thread.yield();
                return new Seen(get(number, tx, 0), records);
              }));
      count.incrementAndGet();
    } catch (InvalidUseException gone) {
      assertTrue(gone.getMessage().contains("was dropped"), gone::getMessage);
    }
  }

  /** The same, and writes the number into the table. */
  private static void write(Database db, RowTable number, AtomicLong count) {
    RowTable current = db.table(spec("current"));
    try {
      long[] read = new long[2];
      db.run(
          tx -> {
            read[0] = get(current, tx, 7);
            Thread.yield();
            read[1] = get(number, tx, 0);
            put(current, tx, count.get() % ROWS, read[1]);
          });
      assertEquals(read[1], read[0]);
      count.incrementAndGet();
    } catch (InvalidUseException gone) {
      assertTrue(gone.getMessage().contains("was dropped"), gone::getMessage);
    }
  }

  private static void otherTables(Database db) {
    db.run(tx -> put(tx.table(spec("other")), tx, 1, 1));
    db.dropTable("other");
    Thread.yield();
  }
}
