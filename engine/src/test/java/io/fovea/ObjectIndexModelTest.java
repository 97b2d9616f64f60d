package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Durability;
import io.fovea.config.Protocol;
import io.fovea.error.DuplicateKeyException;
import io.fovea.schema.Dropped;
import io.fovea.schema.Formerly;
import io.fovea.schema.Id;
import io.fovea.schema.Initial;
import io.fovea.support.PowerCuts;
import io.fovea.support.SimCrash;
import io.fovea.support.SimDisk;
import io.fovea.support.SimStorage;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiFunction;
import java.util.function.Function;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.ShrinkingMode;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Compares objects with component indexes with sorted maps, while the class changes, the file is
 * closed and reopened without the class, the power fails, and other threads write.
 */
@Tag("slow")
@net.jqwik.api.Tag("slow")
class ObjectIndexModelTest {
  private static final int KEYS = 60;

  /** The components that all classes of the table have in common. */
  private record Item(String name, Integer rank, String city, long code) {}

  record Home(String city) {}

  record V1(@Id long id, String name, int code, Home home) {}

  @Dropped("unused")
  record V2(
      @Id long id,
      Home home,
      @Initial("7") Integer rank,
      @Formerly("name") String title,
      long code) {}

  record V3(
      @Id long id,
      long code,
      @Initial("7") Optional<Integer> rank,
      @Formerly({"title", "name"}) String label,
      @Formerly("home") Optional<Home> place) {}

  /** A class of the table, and how its objects are created and compared. */
  private record Version<V>(
      ObjectSpec<Long, V> spec, BiFunction<Long, Item, V> make, Function<V, Item> item) {}

  private static ObjectSpec<Long, V1> first() {
    return ObjectSpec.of("t", Long.class, V1.class)
        .index("byName", "name", "code")
        .index("byCity", "home.city")
        .unique("byCode", "code");
  }

  private static final List<Version<?>> VERSIONS =
      List.of(
          new Version<>(
              first(),
              (k, i) -> new V1(k, i.name, (int) i.code, home(i)),
              v -> new Item(v.name, 7, v.home == null ? null : v.home.city, v.code)),
          new Version<>(
              ObjectSpec.of("t", Long.class, V2.class)
                  .index("byName", "title", "code")
                  .index("byCity", "home.city")
                  .unique("byCode", "code")
                  .index("byRank", "rank", "title"),
              (k, i) -> new V2(k, home(i), i.rank, i.name, i.code),
              v -> new Item(v.title, v.rank, v.home == null ? null : v.home.city, v.code)),
          new Version<>(
              ObjectSpec.of("t", Long.class, V3.class)
                  .index("byName", "label", "code")
                  .index("byCity", "place")
                  .unique("byCode", "code")
                  .index("byRank", "rank", "label"),
              (k, i) ->
                  new V3(
                      k, i.code, Optional.ofNullable(i.rank), i.name, Optional.ofNullable(home(i))),
              v ->
                  new Item(
                      v.label, v.rank.orElse(null), v.place.map(Home::city).orElse(null), v.code)));

  private static Home home(Item i) {
    return i.city == null ? null : new Home(i.city);
  }

  private static final Options SMALL =
      Options.defaults()
          .bufferBytes(4 << 20)
          .durability(Durability.SYNC)
          .device(dev -> dev.pageSize(4096))
          .memory(mem -> mem.timestampBytes(2 << 20))
          .log(log -> log.bufferBytes(256 << 10).segmentBytes(256 << 10).maxBytes(2 << 20));

  private static final class Run {
    private final Random r;
    private final TreeMap<Long, Item> model = new TreeMap<>();
    private SimDisk disk;
    private Database db;
    private int version;

    Run(long seed) {
      r = new Random(seed);
      disk = new SimDisk(seed);
      open();
    }

    private void open() {
      Protocol p = Protocol.values()[r.nextInt(Protocol.values().length)];
      db = Database.open(new SimStorage(disk), SMALL.experiments(exp -> exp.protocol(p)));
    }

    private Item any() {
      String[] names = {null, "", "a", "b", "b\0c", "ü"};
      return new Item(
          names[r.nextInt(names.length)],
          rank(),
          names[r.nextInt(names.length)],
          r.nextInt(KEYS) - KEYS / 2);
    }

    private Integer rank() {
      if (version == 0) {
        return 7;
      }
      return r.nextInt(4) == 0 ? null : Integer.valueOf(r.nextInt(5) - 2);
    }

    private boolean taken(long key, Item item) {
      return model.entrySet().stream()
          .anyMatch(e -> e.getKey() != key && e.getValue().code == item.code);
    }

    @SuppressWarnings("unchecked")
    <V> void step() {
      Version<V> v = (Version<V>) VERSIONS.get(version);
      Table<Long, V> t = db.table(v.spec);
      long key = r.nextInt(KEYS);
      switch (r.nextInt(10)) {
        case 0, 1, 2, 3, 4 -> {
          Item item = any();
          boolean taken = taken(key, item);
          boolean failed = false;
          try {
            db.run(tx -> t.put(tx, key, v.make.apply(key, item)));
          } catch (DuplicateKeyException e) {
            failed = true;
          }
          assertEquals(taken, failed);
          if (!taken) {
            model.put(key, item);
          }
        }
        case 5 -> {
          db.run(tx -> assertEquals(model.containsKey(key), t.delete(tx, key)));
          model.remove(key);
        }
        case 6 -> {
          long to = key + r.nextInt(5);
          db.run(tx -> assertEquals(model.subMap(key, to).size(), t.deleteRange(tx, key, to)));
          model.subMap(key, to).clear();
        }
        case 7 -> load(v, t);
        case 8 -> reopen();
        default -> {
          if (version < VERSIONS.size() - 1 && r.nextInt(4) == 0) {
            version++;
            if (r.nextInt(2) == 0) {
              reopen();
            }
          }
        }
      }
    }

    private <V> void load(Version<V> v, Table<Long, V> t) {
      List<Map.Entry<Long, V>> source = new ArrayList<>();
      TreeMap<Long, Item> more = new TreeMap<>();
      for (int i = 0; i < 5; i++) {
        long key = 1000 + r.nextInt(1000);
        if (!model.containsKey(key)) {
          Item any = any();
          more.put(key, new Item(any.name, any.rank, any.city, 1_000_000 + key));
        }
      }
      more.forEach((k, i) -> source.add(Map.entry(k, v.make.apply(k, i))));
      t.load(LoadOptions.defaults(), source.iterator());
      model.putAll(more);
    }

    /** Closes or crashes, and reopens; sometimes after use by a program without the class. */
    private void reopen() {
      if (r.nextInt(2) == 0) {
        db.close();
      } else {
        SimDisk crashed = disk.crash(SimCrash.RANDOM);
        db.abandon();
        disk = crashed;
      }
      open();
      if (db.describe("t") != null && !model.isEmpty() && r.nextInt(3) == 0) {
        Table<byte[], byte[]> bytes = db.table(db.describe("t")).bytes();
        db.run(tx -> assertTrue(bytes.delete(tx, bytes.first(tx).getKey())));
        model.remove(model.firstKey());
      }
    }

    @SuppressWarnings("unchecked")
    <V> void look() {
      Version<V> v = (Version<V>) VERSIONS.get(version);
      Table<Long, V> t = db.table(v.spec);
      Comparator<String> texts = Comparator.nullsFirst(Comparator.naturalOrder());
      Comparator<Integer> numbers = Comparator.nullsFirst(Comparator.naturalOrder());
      Comparator<Item> byName = Comparator.comparing(Item::name, texts);
      same(t, v, "byName", String.class, byName.thenComparing(Item::code));
      same(t, v, "byCity", String.class, Comparator.comparing(Item::city, texts));
      same(t, v, "byCode", Long.class, Comparator.comparing(Item::code));
      if (version > 0) {
        Comparator<Item> byRank = Comparator.comparing(Item::rank, numbers);
        same(t, v, "byRank", Integer.class, byRank.thenComparing(byName));
      }
      Index<Long, Long, V> byCode = t.index("byCode", Long.class);
      db.run(
          tx ->
              model.forEach(
                  (k, i) -> {
                    Map.Entry<Long, V> found = byCode.get(tx, i.code);
                    assertEquals(k, found.getKey());
                    assertEquals(i, v.item.apply(found.getValue()));
                  }));
      assertEquals(List.of(), db.verify().problems());
    }

    private <I, V> void same(
        Table<Long, V> t, Version<V> v, String name, Class<I> keys, Comparator<Item> by) {
      List<Map.Entry<Long, Item>> expected = new ArrayList<>(model.entrySet());
      expected.sort(Map.Entry.<Long, Item>comparingByValue(by).thenComparing(Map.Entry::getKey));
      List<Map.Entry<Long, Item>> found = new ArrayList<>();
      db.run(
          tx -> {
            found.clear();
            t.index(name, keys)
                .forEach(tx, null, null, (k, o) -> found.add(Map.entry(k, v.item.apply(o))));
          });
      assertEquals(expected, found, name);
    }
  }

  @Property(tries = 12, shrinking = ShrinkingMode.OFF)
  void agreesWithSortedMaps(@ForAll long seed) {
    Run run = new Run(seed);
    for (int i = 0; i < 250; i++) {
      run.step();
      if (i % 25 == 0) {
        run.look();
      }
    }
    run.look();
    run.db.close();
  }

  @ParameterizedTest
  @EnumSource(Protocol.class)
  void indexIsBuiltDuringWrites(Protocol protocol) throws Exception {
    Options options =
        Options.defaults().bufferBytes(16 << 20).experiments(exp -> exp.protocol(protocol));
    try (Database db = Database.inMemory(options)) {
      ObjectSpec<Long, V1> plain = ObjectSpec.of("t", Long.class, V1.class);
      Table<Long, V1> t = db.table(plain);
      db.run(
          tx -> {
            for (long k = 0; k < 3_000; k++) {
              t.insert(tx, new V1(k, "n" + k % 10, (int) k, k % 3 == 0 ? null : new Home("c")));
            }
          });
      AtomicBoolean stop = new AtomicBoolean();
      AtomicReference<Throwable> failure = new AtomicReference<>();
      List<Thread> threads = new ArrayList<>();
      for (int w = 0; w < 2; w++) {
        long own = w;
        threads.add(
            Thread.ofPlatform()
                .start(
                    () -> {
                      Random r = new Random(own);
                      try {
                        while (!stop.get()) {
                          long k = 2L * r.nextInt(1_600) + own;
                          db.run(
                              tx -> {
                                if (r.nextInt(3) == 0) {
                                  t.delete(tx, k);
                                } else {
                                  t.put(tx, new V1(k, "m" + r.nextInt(9), (int) k, null));
                                }
                              });
                        }
                      } catch (Throwable e) {
                        failure.set(e);
                      }
                    }));
      }
      ObjectSpec<Long, V1> with = plain;
      for (int i = 0; i < 3; i++) {
        with = i == 1 ? with.unique("i" + i, "code") : with.index("i" + i, "name");
        db.table(with);
      }
      db.dropIndex("t", "i0");
      stop.set(true);
      for (Thread thread : threads) {
        thread.join();
      }
      assertEquals(null, failure.get());
      assertEquals(List.of(), db.verify().problems());
      assertEquals(t.database().tableSizes().get("t").records(), count(db, "t", "i1"));
    }
  }

  @ParameterizedTest
  @EnumSource(Protocol.class)
  void aUniqueValueHasOneObject(Protocol protocol) throws Exception {
    Options options =
        Options.defaults().bufferBytes(16 << 20).experiments(exp -> exp.protocol(protocol));
    try (Database db = Database.inMemory(options)) {
      Table<Long, V1> t = db.table(first());
      Index<Integer, Long, V1> byCode = t.index("byCode", Integer.class);
      AtomicReference<Throwable> failure = new AtomicReference<>();
      List<Thread> threads = new ArrayList<>();
      for (int w = 0; w < 3; w++) {
        long seed = w;
        threads.add(
            Thread.ofPlatform()
                .start(
                    () -> {
                      Random r = new Random(seed);
                      try {
                        for (int i = 0; i < 1_500; i++) {
                          long key = r.nextInt(40);
                          int code = r.nextInt(20);
                          try {
                            db.run(tx -> t.put(tx, new V1(key, "n" + r.nextInt(3), code, null)));
                          } catch (DuplicateKeyException e) {
                            db.run(
                                tx -> {
                                  Map.Entry<Long, V1> other = byCode.get(tx, code);
                                  if (other != null) {
                                    assertEquals(code, other.getValue().code());
                                    t.delete(tx, other.getKey());
                                  }
                                });
                          }
                        }
                      } catch (Throwable e) {
                        failure.set(e);
                      }
                    }));
      }
      for (Thread thread : threads) {
        thread.join();
      }
      assertEquals(null, failure.get());
      assertEquals(List.of(), db.verify().problems());
      List<Integer> codes =
          db.call(
              tx ->
                  t.stream(tx, null, null, ScanOrder.ASCENDING)
                      .map(e -> e.getValue().code())
                      .toList());
      assertEquals(codes.size(), codes.stream().distinct().count());
      assertEquals(codes.size(), byCode.count());
    }
  }

  private static long count(Database db, String table, String index) {
    return db.table(db.describe(table)).index(index).count();
  }

  /** The power fails at any operation while indexes are built, evolve, are renamed and dropped. */
  @Test
  void crashesLeaveAConsistentState() {
    Options options =
        Options.defaults()
            .bufferBytes(600_000)
            .transactions(x -> x.maxActive(2))
            .log(l -> l.checkpointInterval(Duration.ZERO));
    SimDisk disk = new SimDisk(1);
    int[] done = {0};
    PowerCuts<Integer> cuts = new PowerCuts<>(disk, () -> done[0]);
    ObjectSpec<Long, V1> plain = ObjectSpec.of("t", Long.class, V1.class);
    ObjectSpec<Long, V2> second =
        ObjectSpec.of("t", Long.class, V2.class).index("byName", "title").unique("byCode", "code");
    List<java.util.function.Consumer<Database>> way =
        List.of(
            db -> db.table(plain.index("byName", "name")),
            db -> db.table(plain.index("byName", "name").unique("byCode", "code")),
            db -> {
              Table<Long, V2> t = db.table(second);
              db.run(tx -> t.put(tx, new V2(1, null, 3, "second", -5)));
            },
            db -> assertTrue(db.renameIndex("t", "byName", "byTitle")),
            Database::checkpoint,
            db -> assertTrue(db.dropIndex("t", "byCode")));
    try (Database db = Database.open(new SimStorage(disk), options)) {
      Table<Long, V1> t = db.table(plain);
      db.run(
          tx -> {
            for (long k = 0; k < 200; k++) {
              t.insert(tx, new V1(k, "n" + k % 10, (int) k, null));
            }
          });
      db.checkpoint();
      cuts.during(
          () -> {
            for (var step : way) {
              step.accept(db);
              done[0]++;
            }
          });
    }
    assertTrue(cuts.size() > 15, cuts.size() + " cuts");
    cuts.forEach(
        (left, steps) -> {
          // The log is replayed and all entries are checked without the class.
          try (Database db = Database.open(new SimStorage(left), options)) {
            assertEquals(List.of(), db.verify().problems());
            List<String> names =
                db.describe("t").indexes().stream().map(x -> x.name()).sorted().toList();
            assertTrue(
                steps >= 6
                    ? names.equals(List.of("byTitle"))
                    : steps >= 4 ? names.contains("byTitle") : names.size() >= Math.min(steps, 2),
                steps + ": " + names);
            for (String name : names) {
              assertEquals(200, count(db, "t", name));
            }
            if (steps < 2) {
              way.get(1).accept(db);
              assertEquals(200, count(db, "t", "byCode"));
              assertEquals(List.of(), db.verify().problems());
            }
          }
        });
  }
}
